"""listen: opens the sockets of a server, and makes its URL."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple

from tbcore.config import DEFAULT_PORT
from tbcore.errors import TbcoreError

BACKLOG = 2048
"""Maximum number of connections that the system queues until the server accepts them."""
DEFAULT_PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 100)
"""Ports that are tried, in this order, if the user gives none."""

LOCALHOST = "localhost"


class Listening(NamedTuple):
    """Listening sockets. Connections wait in the system's queue until the server runs."""

    sockets: list[socket.socket]
    host: str
    """Host for the URL. An IPv6 address is in brackets."""
    port: int
    is_loopback: bool
    """Whether only this machine can connect."""

    def url(self, path: str) -> str:
        port = "" if self.port == 80 else f":{self.port}"
        return f"http://{self.host}{port}{path}"

    def close(self) -> None:
        """Closes the sockets, so that new connections are refused."""
        for listener in self.sockets:
            listener.close()


def listen(
    host: str | None, port: int | None, *, bind_all: bool, default_ports: range = DEFAULT_PORTS
) -> Listening:
    """Listens on `host`, by default on loopback (IPv4 and IPv6); on all addresses with `bind_all`.

    If `port` is None, the first free one of the default ports is used; if it is 0, any free port.
    Raises TbcoreError if it cannot listen, with one line that says what to do.
    """
    host = host or LOCALHOST
    addresses = _all_addresses() if bind_all else _addresses(host)
    sockets = _bind_first(addresses, port, default_ports)
    bound = [ipaddress.ip_address(s.getsockname()[0].partition("%")[0]) for s in sockets]
    if any(address.is_unspecified for address in bound):
        # Browsers cannot connect to 0.0.0.0 or ::, which mean all addresses.
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
    """An address to listen on, without a port."""

    family: socket.AddressFamily
    host: str
    is_required: bool = True
    """Whether the server fails if it cannot listen on this address."""
    is_fallback: bool = False
    """Whether the server listens on this address only if it listens on no other."""


def _addresses(host: str) -> list[_Address]:
    """The addresses of a host name, each once."""
    if host == LOCALHOST:
        # Browsers try both addresses. IPv6 is optional, since some machines lack it.
        return [
            _Address(socket.AF_INET, "127.0.0.1"),
            _Address(socket.AF_INET6, "::1", is_required=False),
        ]
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise TbcoreError(f"--host {host!r} is not an address of this machine: {error}") from error
    return list(dict.fromkeys(_Address(family, str(address[0])) for family, *_, address in found))


def _all_addresses() -> list[_Address]:
    """All addresses of the machine, IPv6 and IPv4, or only IPv4 if there is no IPv6."""
    # The socket for `::` accepts IPv4 connections, too. IPv6 may be supported, but disabled.
    all_ipv6 = _Address(socket.AF_INET6, "::", is_required=False)
    all_ipv4 = _Address(socket.AF_INET, "0.0.0.0", is_fallback=True)
    return [all_ipv6, all_ipv4] if socket.has_dualstack_ipv6() else [all_ipv4]


def _bind_first(
    addresses: Sequence[_Address], port: int | None, default_ports: range
) -> list[socket.socket]:
    """Listens on the given port, or on the first of the default ports that is free."""
    if port is not None:
        return _bind(addresses, port)
    for candidate in default_ports:
        try:
            return _bind(addresses, candidate)
        except _PortTakenError:
            continue
    raise TbcoreError(
        f"ports {default_ports[0]} to {default_ports[-1]} are all in use; "
        f"choose a free one with --port"
    )


class _PortTakenError(TbcoreError):
    """Another program listens on the port."""


def _bind(addresses: Sequence[_Address], port: int) -> list[socket.socket]:
    """One listening socket for each address, all with the same port."""
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            if address.is_fallback and sockets:
                continue
            # With port 0 the system chooses the first socket's port, and the others get it, too.
            chosen_port = port or (sockets[0].getsockname()[1] if sockets else 0)
            try:
                sockets.append(
                    socket.create_server(
                        (address.host, chosen_port),
                        family=address.family,
                        backlog=BACKLOG,
                        dualstack_ipv6=address.host == "::",
                    )
                )
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise _PortTakenError(
                        f"port {chosen_port} is in use by another program; "
                        f"choose another with --port, or omit --port to use a free one"
                    ) from error
                # An optional address is left out if the system refuses it.
                if address.is_required:
                    raise _cannot_listen(address, chosen_port, error) from error
    except TbcoreError:
        for listener in sockets:
            listener.close()
        raise
    if not sockets:
        raise TbcoreError(f"cannot listen on {', '.join(a.host for a in addresses)}")
    return sockets


def _cannot_listen(address: _Address, port: int, error: OSError) -> TbcoreError:
    """The error for the user: one line, which says what to do if that is known."""
    if error.errno == errno.EADDRNOTAVAIL:
        return TbcoreError(f"{address.host} is not an address of this machine; see --host")
    if error.errno == errno.EACCES:
        return TbcoreError(f"no permission to use port {port}; ports from 1024 on need none")
    reason = error.strerror or str(error)
    return TbcoreError(f"cannot listen on {address.host} port {port}: {reason}")
