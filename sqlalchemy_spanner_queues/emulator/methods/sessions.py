"""Serve the making and deleting of sessions.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from .. import _protos as pb
from ..state import State
from ..upstream.api import OWN_SESSION
from .calls import Call


async def create_session(state: State, call: Call, raw: bytes) -> bytes:
    """Serve CreateSession: a session says that it is multiplexed, which some official emulators leave out."""
    answer = await call.forward(raw)
    multiplexed = pb.CreateSessionRequest.FromString(raw).session.multiplexed
    session = pb.Session.FromString(answer)
    state.database(session.name).sessions.made(session.name, multiplexed=multiplexed)
    if not multiplexed:
        return answer
    session.multiplexed = True
    return session.SerializeToString()


async def batch_create_sessions(state: State, call: Call, raw: bytes) -> bytes:
    """Serve BatchCreateSessions."""
    answer = await call.forward(raw)
    for session in pb.BatchCreateSessionsResponse.FromString(answer).session:
        state.database(session.name).sessions.made(session.name, multiplexed=False)
    return answer


async def list_sessions(_: State, call: Call, raw: bytes) -> bytes:
    """Serve ListSessions: those of the gateway are left out."""
    response = pb.ListSessionsResponse.FromString(await call.forward(raw))
    kept = [
        session
        for session in response.sessions
        if not any(label.startswith(OWN_SESSION) for label in session.labels)
    ]
    del response.sessions[:]
    response.sessions.extend(kept)
    return response.SerializeToString()


async def delete_session(state: State, call: Call, raw: bytes) -> bytes:
    """Serve DeleteSession: what is open in the session is rolled back."""
    request = pb.DeleteSessionRequest.FromString(raw)
    database = state.database(request.name)
    database.transactions.end_session(request.name)
    database.sessions.forget(request.name)
    return await call.forward(raw)
