"""Messages on their way: leases, filters, receivers, and the clock that they follow."""
