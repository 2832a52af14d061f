"""The parts of the soak: what is stored, the worker's program, the producer, the faults, the processes."""
