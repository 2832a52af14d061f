"""The sockets that a server listens on: every address of a host, with one port."""

from __future__ import annotations

import errno
import socket
from typing import Final

_TRIES: Final = 20
_BACKLOG: Final = 1024
_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on all addresses of a host; port 0 takes one that is free on all of them.

    Raises OSError when it is not free, or the host has no address here.
    """
    # A port that is free on one address may be taken on another.
    for _ in range(_TRIES if port == 0 else 0):
        try:
            return _listen_on_all(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _listen_on_all(host, port)


def _listen_on_all(host: str, port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                sockets.append(_listen_on(family, (str(address[0]), port)))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                continue
            port = port_of(sockets[0])
    except BaseException:
        for listening in sockets:
            listening.close()
        raise
    if not sockets:
        raise OSError(errno.EADDRNOTAVAIL, f"{host} has no address here")
    return sockets


def _listen_on(family: int, address: tuple[str, int]) -> socket.socket:
    # asyncio sends without delay only where the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def port_of(listening: socket.socket) -> int:
    """Return the port of a socket."""
    return int(listening.getsockname()[1])


def peer_name(address: object) -> str:
    """Return where a peer is, as gRPC writes it: ``ipv4:127.0.0.1:5000``."""
    match address:
        case (str() as host, int() as port):
            return f"ipv4:{host}:{port}"
        case (str() as host, int() as port, int(), int()):
            return f"ipv6:[{host}]:{port}"
        case _:
            return "unknown"
