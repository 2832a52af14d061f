"""A local Spanner with queues: Google's official emulator, and a gateway in front of it that adds them.

The official emulator knows no queues. The gateway speaks the same gRPC interface, adds CREATE QUEUE, RECEIVE,
RENEWLEASE and the queue mutations, and passes everything else through untouched. ::

    with Emulator() as emulator:
        engine = emulator.create_engine()

From a shell, for a client in any language: ``spanner-queues emulator --port 9010``.

https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from .emulator import Emulator
from .upstream.find import Upstream, find_emulator

__all__ = ["Emulator", "Upstream", "find_emulator"]
