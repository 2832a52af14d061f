"""GoogleSQL.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/overview
"""

from .dialect import GOOGLESQL

__all__ = ["GOOGLESQL"]
