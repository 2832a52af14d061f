"""The sessions of clients: which there are, and which of them run one transaction at a time.

https://docs.cloud.google.com/spanner/docs/sessions
"""

from __future__ import annotations

from typing import Final

import grpc

from .. import _protos as pb
from ..transport import RpcError
from ..upstream.api import SPANNER, UpstreamApi

NO_SUCH: Final = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
"""What upstream says of a session or database that there is not; the second of a name that can be none."""


class ClientSessions:
    """What is known of the sessions of one database."""

    def __init__(self, api: UpstreamApi) -> None:
        self._api = api
        self._multiplexed: dict[str, bool] = {}

    def made(self, name: str, *, multiplexed: bool) -> None:
        """Note a session that a client has made."""
        self._multiplexed[name] = multiplexed

    def forget(self, name: str) -> None:
        """Note that a session is deleted."""
        self._multiplexed.pop(name, None)

    def has_one_transaction(self, name: str) -> bool:
        """Tell whether a session is known to be no multiplexed one: a new transaction replaces its last."""
        return self._multiplexed.get(name) is False

    async def exists(self, name: str) -> bool:
        """Ask upstream once whether there is a session."""
        if name in self._multiplexed:
            return True
        request = pb.GetSessionRequest()
        request.name = name
        try:
            await self._api.unary(SPANNER + "GetSession", request)
        except RpcError as error:
            if error.code not in NO_SUCH:
                raise
            return False
        # It may be of either kind: nothing is replaced in it.
        self._multiplexed[name] = True
        return True
