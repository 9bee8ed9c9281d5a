"""Listen: which addresses and port a server listens on, and what its URL is."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple

from tbcore.config import DEFAULT_PORT
from tbcore.errors import TbcoreError

BACKLOG = 2048
MAX_TRIES = 100
"""Ports that are tried, from the default one upwards."""

LOCALHOST = "localhost"


class Listening(NamedTuple):
    """Sockets that listen already: who connects from now on is served once the server runs."""

    sockets: list[socket.socket]
    host: str
    """For a URL, IPv6 addresses in brackets."""
    port: int
    is_loopback: bool
    """Whether only this machine can connect."""

    def url(self, path: str) -> str:
        port = "" if self.port == 80 else f":{self.port}"
        return f"http://{self.host}{port}{path}"

    def close(self) -> None:
        """Turns away who connects from now on."""
        for listener in self.sockets:
            listener.close()


def listen(host: str | None, port: int | None, *, bind_all: bool) -> Listening:
    """Listens on an address of this machine, by default loopback in both forms of IP.

    Without a port it is the first free one from 6006 on; port 0 is any free one. Raises TbcoreError
    with one line that says what to do when that is impossible.
    """
    host = host or LOCALHOST
    if bind_all:
        sockets = _bind_all(port)
    else:
        sockets = _bind_first(_addresses(host), port)
    bound = [ipaddress.ip_address(s.getsockname()[0].partition("%")[0]) for s in sockets]
    if any(address.is_unspecified for address in bound):
        # Nobody can connect to the address that stands for all.
        host = socket.gethostname()
    elif ":" in host:
        host = f"[{host}]"
    return Listening(
        sockets=sockets,
        host=host,
        port=sockets[0].getsockname()[1],
        is_loopback=all(address.is_loopback for address in bound),
    )


class _Address(NamedTuple):
    family: socket.AddressFamily
    host: str
    required: bool = True
    """Whether the server cannot do without it."""


def _addresses(host: str) -> list[_Address]:
    if host == LOCALHOST:
        # Browsers try both. A machine without IPv6 does without.
        return [
            _Address(socket.AF_INET, "127.0.0.1"),
            _Address(socket.AF_INET6, "::1", required=False),
        ]
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise TbcoreError(f"--host {host!r} is no address of this machine: {error}") from error
    return list(dict.fromkeys(_Address(family, str(address[0])) for family, *_, address in found))


def _bind_all(port: int | None) -> list[socket.socket]:
    if socket.has_dualstack_ipv6():
        try:
            # Takes connections of IPv4, too.
            return _bind_first([_Address(socket.AF_INET6, "::", required=False)], port)
        except _NoAddressError:
            # The system could, and was told not to.
            pass
    return _bind_first([_Address(socket.AF_INET, "0.0.0.0")], port)


def _bind_first(addresses: Sequence[_Address], port: int | None) -> list[socket.socket]:
    """Listens on a given port, or on the first free one from the default on."""
    if port is not None:
        return _bind(addresses, port)
    for number in range(DEFAULT_PORT, DEFAULT_PORT + MAX_TRIES):
        try:
            return _bind(addresses, number)
        except _PortTakenError:
            continue
    raise TbcoreError(
        f"ports {DEFAULT_PORT} to {DEFAULT_PORT + MAX_TRIES - 1} are all in use; "
        f"give a free one with --port"
    )


class _NoAddressError(TbcoreError):
    """None of the addresses can be listened on."""


class _PortTakenError(TbcoreError):
    """Another program listens there."""


def _bind(addresses: Sequence[_Address], port: int) -> list[socket.socket]:
    """One listening socket for each address, all on one port."""
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            # Port 0 lets the system choose, once.
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            try:
                sockets.append(
                    socket.create_server(
                        (address.host, chosen),
                        family=address.family,
                        backlog=BACKLOG,
                        dualstack_ipv6=address.host == "::",
                    )
                )
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise _PortTakenError(
                        f"port {chosen} is in use by another program; "
                        f"give another one with --port, or leave out --port to get a free one"
                    ) from error
                if address.required:
                    raise _cannot_listen(address, chosen, error) from error
    except TbcoreError:
        for listener in sockets:
            listener.close()
        raise
    if not sockets:
        raise _NoAddressError(f"cannot listen on {', '.join(a.host for a in addresses)}")
    return sockets


def _cannot_listen(address: _Address, port: int, error: OSError) -> TbcoreError:
    if error.errno == errno.EADDRNOTAVAIL:
        return TbcoreError(f"{address.host} is not an address of this machine; see --host")
    if error.errno == errno.EACCES:
        return TbcoreError(f"port {port} may not be used by you; ports from 1024 on may")
    reason = error.strerror or str(error)
    return TbcoreError(f"cannot listen on {address.host} port {port}: {reason}")
