"""Serve the making and deleting of sessions.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from .. import _protos as pb
from ..state import State
from .calls import Call


async def create_session(_: State, call: Call, raw: bytes) -> bytes:
    """Serve CreateSession: a session says that it is multiplexed, which some official emulators leave out."""
    answer = await call.forward(raw)
    if not pb.CreateSessionRequest.FromString(raw).session.multiplexed:
        return answer
    session = pb.Session.FromString(answer)
    session.multiplexed = True
    return session.SerializeToString()


async def delete_session(state: State, call: Call, raw: bytes) -> bytes:
    """Serve DeleteSession: what is open in the session is rolled back."""
    request = pb.DeleteSessionRequest.FromString(raw)
    state.database(request.name).transactions.end_session(request.name)
    return await call.forward(raw)
