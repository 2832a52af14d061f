"""Hold ASSERT_ROWS_MODIFIED where upstream does not know it: count first, and execute only what fits.

As on Spanner the statement fails and the transaction stays open.
"""

from __future__ import annotations

import grpc

from .. import _protos as pb
from ..database import Database
from ..errors import Refusal
from ..text.assertions import Assertion
from ..upstream.api import SPANNER
from .enlist import Enlisted


async def hold(
    database: Database, enlisted: Enlisted, request: pb.ExecuteSqlRequest, assertion: Assertion | None
) -> None:
    """Count the rows that a statement is going to change, in its own transaction.

    Raises Refusal (OUT_OF_RANGE) when they are not as many as it says.
    """
    if assertion is None or not assertion.count or enlisted.transaction is None:
        return
    if request.seqno in enlisted.transaction.held:
        # The client asks again, because it did not hear the answer; upstream gives the same one.
        return
    counting = pb.ExecuteSqlRequest()
    counting.session = enlisted.session
    counting.transaction.CopyFrom(request.transaction)
    counting.sql = assertion.count
    counting.params.CopyFrom(request.params)
    for name in request.param_types:
        counting.param_types[name].CopyFrom(request.param_types[name])
    counted = await database.api.stream(SPANNER + "ExecuteStreamingSql", counting)
    enlisted.begun(counted.metadata)
    check(assertion, int(counted.rows[0][0].string_value))
    enlisted.transaction.held.add(request.seqno)


def check(assertion: Assertion, rows: int) -> None:
    """Compare a number of rows with what a statement says.

    Raises Refusal (OUT_OF_RANGE) when it is another one.
    """
    if rows != assertion.rows:
        raise Refusal(
            grpc.StatusCode.OUT_OF_RANGE,
            f"ASSERT_ROWS_MODIFIED expected {assertion.rows} rows modified, but found {rows}",
        )
