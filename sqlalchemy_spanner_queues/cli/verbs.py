"""Where the verbs of the command are added."""

from __future__ import annotations

import argparse
from typing import Protocol


class Verbs(Protocol):
    """Where verbs are added."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,
        description: str,
        epilog: str,
        formatter_class: type[argparse.HelpFormatter],
    ) -> argparse.ArgumentParser:
        """Add a verb."""
        ...
