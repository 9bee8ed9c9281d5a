"""listen: opens the sockets of a server, and makes its URL."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import stat
from collections.abc import Sequence
from typing import Literal, NamedTuple
from urllib.parse import quote_plus

from tbcore.errors import TbcoreError
from tbcore.plugins.config import DEFAULT_PORT

BACKLOG = 2048
"""Maximum number of connections that the system queues until the server accepts them."""
DEFAULT_PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 100)
"""Ports that are tried, in this order, if the user gives none."""

LOCALHOST = "localhost"

Reach = Literal["user", "machine", "network"]
"""Who can connect: this user alone, by a unix socket, this machine, or others, too."""


class Listening(NamedTuple):
    """Listening sockets. Connections wait in the system's queue until the server runs."""

    sockets: list[socket.socket]
    host: str
    """Host for the URL. An IPv6 address is in brackets."""
    port: int
    reach: Reach
    path: str | None = None
    """The path of a unix socket; None with a port."""
    file: tuple[int, int] = (0, 0)
    """Device and inode of the unix socket, to recognise it if another has taken its path."""

    def url(self, path: str, token: str | None = None) -> str:
        """The address of a path, with the token, if there is one, as its query."""
        if self.path is not None:
            return f"unix:{self.path}"
        query = f"?token={quote_plus(token)}" if token else ""
        port = "" if self.port == 80 else f":{self.port}"
        return f"http://{self.host}{port}{path}{query}"

    def close(self) -> None:
        """Closes the sockets, so that new connections are refused."""
        for listener in self.sockets:
            listener.close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                if self.file == _file_of(self.path):
                    os.unlink(self.path)


def _file_of(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


def listen_at(path: str) -> Listening:
    """Listens on a unix socket of mode 0600; replaces one that no program listens on any more.

    Raises TbcoreError if it cannot listen, with one line that says what to do.
    """
    path = os.path.abspath(path)
    if not hasattr(socket, "AF_UNIX"):
        raise TbcoreError("--uds: this system has no unix sockets")
    listener = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        with contextlib.suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as client:
            is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
            if is_socket and client.connect_ex(path) == errno.ECONNREFUSED:
                os.unlink(path)  # Its server was killed.
        listener.bind(path)
        listener.listen(BACKLOG)
        file = _file_of(path)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)  # An error about a long path has no number.
        if error.errno == errno.EADDRINUSE:
            reason = "in use by another program or file; choose another path"
        raise TbcoreError(f"--uds {path}: {reason}") from error
    finally:
        os.umask(mask)
    return Listening([listener], LOCALHOST, 0, "user", path=path, file=file)


def listen(
    host: str | None, port: int | None, *, bind_all: bool, default_ports: range = DEFAULT_PORTS
) -> Listening:
    """Listens on `host`, by default on loopback (IPv4 and IPv6); on all addresses with `bind_all`.

    If `port` is None, the first free one of the default ports is used; if it is 0, any free port.
    Raises TbcoreError if it cannot listen, with one line that says what to do.
    """
    host = host or LOCALHOST
    addresses = [] if bind_all else _addresses(host)
    sockets: list[socket.socket] = []
    for candidate in default_ports if port is None else [port]:
        try:
            sockets = _bind_all(candidate) if bind_all else _bind(addresses, candidate)
            break
        except _PortTakenError:
            if port is not None:
                raise
    if not sockets:
        raise TbcoreError(
            f"ports {default_ports[0]} to {default_ports[-1]} are all in use; "
            f"choose a free one with --port"
        )
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
        reach="machine" if all(address.is_loopback for address in bound) else "network",
    )


def loopback() -> str:
    """This machine's loopback address, which is that of IPv4 unless there is only the other."""
    with contextlib.suppress(OSError):
        socket.create_server(("127.0.0.1", 0)).close()
        return "127.0.0.1"
    return "::1"


class _Address(NamedTuple):
    """An address to listen on, without a port."""

    family: socket.AddressFamily
    host: str
    is_required: bool = True
    """Whether the server fails if it cannot listen on this address."""


def _addresses(host: str) -> list[_Address]:
    """The addresses of a host name, each once."""
    if host == LOCALHOST:
        # Browsers try both addresses. Some machines lack the one or the other.
        ipv6 = _Address(socket.AF_INET6, "::1", is_required=loopback() == "::1")
        return [ipv6] if ipv6.is_required else [_Address(socket.AF_INET, "127.0.0.1"), ipv6]
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise TbcoreError(f"--host {host!r} is not an address of this machine: {error}") from error
    return list(dict.fromkeys(_Address(family, str(address[0])) for family, *_, address in found))


def _bind_all(port: int) -> list[socket.socket]:
    """Listens on all addresses of the machine, or on all IPv4 addresses if there is no IPv6."""
    sockets = []
    if socket.has_dualstack_ipv6():
        # This socket accepts IPv4 connections, too. IPv6 may be supported, but disabled.
        sockets = _bind([_Address(socket.AF_INET6, "::", is_required=False)], port)
    return sockets or _bind([_Address(socket.AF_INET, "0.0.0.0")], port)


class _PortTakenError(TbcoreError):
    """Another program listens on the port."""


def _bind(addresses: Sequence[_Address], port: int) -> list[socket.socket]:
    """One listening socket for each address, all with the same port.

    An optional address is left out if the system refuses it.
    """
    sockets: list[socket.socket] = []
    for family, host, is_required in addresses:
        # With port 0 the system chooses the first socket's port, and the others get it, too.
        chosen_port = port or (sockets[0].getsockname()[1] if sockets else 0)
        try:
            sockets.append(
                socket.create_server(
                    (host, chosen_port), family=family, backlog=BACKLOG, dualstack_ipv6=host == "::"
                )
            )
        except OSError as error:
            if is_required or error.errno == errno.EADDRINUSE:
                for listener in sockets:
                    listener.close()
                raise _cannot_listen(host, chosen_port, error) from error
    return sockets


def _cannot_listen(host: str, port: int, error: OSError) -> TbcoreError:
    """The error for the user: one line, which says what to do if that is known."""
    if error.errno == errno.EADDRINUSE:
        return _PortTakenError(
            f"port {port} is in use by another program; "
            f"choose another with --port, or omit --port to use a free one"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return TbcoreError(f"{host} is not an address of this machine; see --host")
    if error.errno == errno.EACCES:
        return TbcoreError(f"no permission to use port {port}; ports from 1024 on need none")
    return TbcoreError(f"cannot listen on {host} port {port}: {error.strerror or error}")
