"""What the embedded mode adds to a SQLite engine: a movable clock, shared memory, wake-ups."""
