"""P14: only the hosts it is served as are answered, on real sockets."""

from __future__ import annotations

import socket
from typing import Any

import pytest

LOOK_ALIKES = [
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil-localhost",
    "localhost.",
    "127.0.0.1.",
    "127.0.0.2",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "0x7f.0.0.1",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
]
"""Names and numbers that look like this machine, or even lead to it."""

CONFUSIONS = {
    "two hosts": "GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "a list of hosts": "GET {path} HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n",
    "a user": "GET {path} HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n",
    "absolute": "GET http://localhost{path} HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "absolute, the other way": "GET http://evil.example{path} HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "forwarded": (
        "GET {path} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n"
        "Forwarded: host=localhost\r\nX-Forwarded-For: 127.0.0.1\r\nX-Host: localhost\r\n\r\n"
    ),
    "folded": "GET {path} HTTP/1.1\r\nHost: localhost\r\n evil.example\r\n\r\n",
    "spaced": "GET {path} HTTP/1.1\r\nHost : localhost\r\nHost: evil.example\r\n\r\n",
    "none": "GET {path} HTTP/1.1\r\n\r\n",
    "empty": "GET {path} HTTP/1.1\r\nHost:\r\n\r\n",
}

PATHS = ["/", "/data/runs", "/static/tbcore/shell.js", "/data/updates", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
def test_p14_look_alikes_are_refused(server: Any, path: str) -> None:
    """With and without the port; the answer says nothing of what is there."""
    for name in LOOK_ALIKES:
        for host in (name, f"{name}:{server.port}"):
            answer = server.ask(path, host=host)
            assert answer.status in (400, 403), host
            assert b"train" not in answer.body


@pytest.mark.parametrize("path", PATHS[:2])
def test_p14_confusions_are_refused(server: Any, path: str) -> None:
    """Whoever reads the request in another way must not make us answer."""
    for name, request in CONFUSIONS.items():
        answer = server.raw(request.format(path=path).encode())
        assert answer.status in (400, 403), name
        assert b"train" not in answer.body


def test_p14_this_machine_is_answered(server: Any) -> None:
    """By its names, with any port: there may be a tunnel. By IPv6 too, where there is some."""
    for host in ("localhost", "127.0.0.1", "[::1]", socket.gethostname()):
        for port in ("", f":{server.port}", ":1"):
            assert server.ask("/data/runs", host=host + port).json()
    try:
        connection = socket.create_connection(("::1", server.port), timeout=10)
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    connection.close()
