"""The addresses and the port that a server listens on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tbcore.errors import TbcoreError
from tbcore.server.listen import Listening, listen
from tbcore_testing.in_thread import Server


@pytest.fixture
def opened() -> Iterator[list[Listening]]:
    """A list for what a test opens. Its sockets are closed when the test ends."""
    found: list[Listening] = []
    yield found
    for listening in found:
        for listener in listening.sockets:
            listener.close()


def test_the_server_listens_on_loopback_by_default(opened: list[Listening]) -> None:
    """By default the server listens on IPv4 and, if available, IPv6, with the same port."""
    listening = listen(None, 0, bind_all=False)
    opened.append(listening)

    assert listening.reach == "machine"
    assert listening.url("/") == f"http://localhost:{listening.port}/"
    assert {s.getsockname()[1] for s in listening.sockets} == {listening.port}
    assert {s.getsockname()[0] for s in listening.sockets} <= {"127.0.0.1", "::1"}
    socket.create_connection(("127.0.0.1", listening.port)).close()


@pytest.mark.parametrize(("host", "bind_all"), [(None, True), ("0.0.0.0", False)])
def test_the_server_listens_on_all_addresses(
    opened: list[Listening], host: str | None, bind_all: bool
) -> None:
    """The URL has the machine's name, since other machines cannot connect to 0.0.0.0."""
    listening = listen(host, 0, bind_all=bind_all)
    opened.append(listening)

    assert listening.reach == "network"
    assert listening.host == socket.gethostname()
    socket.create_connection(("127.0.0.1", listening.port)).close()


class Machine:
    """A machine that may lack IPv4 or IPv6."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lacks = ""
        """A character of the addresses that the machine does not have."""
        self.asked: list[str] = []
        """The addresses at which something was to listen."""
        create_server = socket.create_server

        def create(address: tuple[str, int], **options: Any) -> socket.socket:
            self.asked.append(address[0])
            if self.lacks and self.lacks in address[0]:
                raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
            if ":" in address[0]:  # The machine of this test may lack IPv6.
                return create_server(("127.0.0.1", address[1]))
            return create_server(address, **options)

        monkeypatch.setattr(socket, "create_server", create)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_the_server_listens_without_ipv6(opened: list[Listening], machine: Machine) -> None:
    """Without IPv6, the server listens on IPv4 alone."""
    machine.lacks = ":"
    opened.append(listen(None, 0, bind_all=True))
    opened.append(listen(None, 0, bind_all=False))

    assert [s.getsockname()[0] for s in opened[0].sockets] == ["0.0.0.0"]
    assert [s.getsockname()[0] for s in opened[1].sockets] == ["127.0.0.1"]


def test_the_server_listens_without_ipv4(
    opened: list[Listening], machine: Machine, tmp_path: Path
) -> None:
    """`localhost` is the loopback that there is, also for a server in a thread. Without any, a line
    says so."""
    machine.lacks = "."
    opened.append(listen(None, 0, bind_all=False))
    assert (machine.asked[-1], len(opened[0].sockets), opened[0].reach) == ("::1", 1, "machine")
    assert opened[0].url("/") == f"http://localhost:{opened[0].port}/"
    with pytest.raises(TbcoreError, match=r"^127.0.0.1 is not an address of this machine; see"):
        listen("127.0.0.1", 0, bind_all=False)
    with Server(tmp_path, plugins=()) as server:
        assert server.url == f"http://[::1]:{server.config.port}/"


def test_the_first_free_port_is_used(opened: list[Listening]) -> None:
    """The first default port that is free on all addresses is used; a given port must be free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = range(port, port + 100)
        opened.append(listen(None, None, bind_all=False, default_ports=ports))
        with pytest.raises(TbcoreError, match=f"^ports {port} to {port} are all in use; choose a"):
            listen(None, None, bind_all=False, default_ports=ports[:1])
        with pytest.raises(TbcoreError, match=f"^port {port} is in use by another program; choose"):
            listen("127.0.0.1", port, bind_all=False)

    assert opened[0].port > port


def test_port_80_is_left_out_of_the_url() -> None:
    """The URL has no port 80, as in the address bar of browsers."""
    assert Listening([], "a.example", 80, False).url("/x/") == "http://a.example/x/"
