"""Transactions that write, one after the other, and the mutations of queues."""
