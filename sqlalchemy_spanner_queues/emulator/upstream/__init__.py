"""The official emulator: found, started, called."""
