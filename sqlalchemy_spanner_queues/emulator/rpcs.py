"""The names of Spanner's methods, so that a misspelt one is refused and not waited for in vain.

https://docs.cloud.google.com/spanner/docs/reference/rpc
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module, resources
from typing import Final

from google.protobuf import descriptor_pool

ROW_STREAMS: Final = frozenset({"ExecuteStreamingSql", "StreamingRead"})
"""The methods that answer with a stream of rows."""

_PACKAGES: Final = ("spanner_v1", "spanner_admin_database_v1", "spanner_admin_instance_v1")
_OPERATIONS: Final = "google.longrunning.Operations"


@cache
def method_names() -> frozenset[str]:
    """Return the short names of all methods that the installed official client knows."""
    import_module("google.longrunning.operations_pb2")
    operations = descriptor_pool.Default().FindServiceByName(_OPERATIONS)
    return frozenset(method.name for method in operations.methods).union(*map(_generated, _PACKAGES))


def _generated(package: str) -> Iterator[str]:
    listed = resources.files(f"google.cloud.{package}").joinpath("gapic_metadata.json")
    for service in json.loads(listed.read_text())["services"].values():
        yield from service["clients"]["grpc"]["rpcs"]


def unknown_method(name: str) -> str:
    """Say that there is no such method, and which ones may be meant."""
    close = difflib.get_close_matches(name, method_names(), n=3)
    meant = " or ".join(close) or "a short name such as Commit, ExecuteSql or ExecuteStreamingSql"
    return f"unknown method {name!r}: use {meant}"
