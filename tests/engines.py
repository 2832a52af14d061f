"""What the tests ran on, for the last line of a test run."""

from __future__ import annotations

import sqlite3
from typing import Final

ENGINES: Final = [f"SQLite {sqlite3.sqlite_version}"]
"""Fixtures add what they have started."""
