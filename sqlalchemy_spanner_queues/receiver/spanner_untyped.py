"""The functions of Google's libraries that have no types, given some."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import grpc
from google.api_core.exceptions import GoogleAPICallError

_exceptions: Any = import_module("google.api_core.exceptions")
_datetime_helpers: Any = import_module("google.api_core.datetime_helpers")
_parse_utils: Any = import_module("google.cloud.spanner_dbapi.parse_utils")

from_grpc_error: Callable[[grpc.RpcError], GoogleAPICallError] = _exceptions.from_grpc_error
to_rfc3339: Callable[..., str] = _datetime_helpers.to_rfc3339
to_named_parameters: Callable[[str, list[Any]], tuple[str, dict[str, Any] | None]] = (
    _parse_utils.sql_pyformat_args_to_spanner
)
get_param_types: Callable[[dict[str, Any]], dict[str, Any]] = _parse_utils.get_param_types
