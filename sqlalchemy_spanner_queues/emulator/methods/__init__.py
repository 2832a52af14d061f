"""The methods of Spanner that queues change, one function for each."""
