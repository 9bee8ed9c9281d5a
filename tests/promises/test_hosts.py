"""P14: only requests for the hosts of the server succeed, on real sockets."""

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
"""Names and addresses that look like this machine, or resolve to it."""

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

PATHS = ["/", "/data/runs", "/static/tbcore/shell/boot.js", "/data/updates", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
def test_p14_look_alikes_are_rejected(server: Any, path: str) -> None:
    """With and without the port; the response has nothing of the content."""
    for name in LOOK_ALIKES:
        for host in (name, f"{name}:{server.port}"):
            response = server.request(path, host=host)
            assert response.status in (400, 403), host
            assert b"train" not in response.body


@pytest.mark.parametrize("path", PATHS[:2])
def test_p14_ambiguous_requests_are_rejected(server: Any, path: str) -> None:
    """Requests that other programs may parse differently are rejected."""
    for name, request in CONFUSIONS.items():
        response = server.raw(request.format(path=path).encode())
        assert response.status in (400, 403), name
        assert b"train" not in response.body


def test_p14_names_of_this_machine_are_accepted(server: Any) -> None:
    """All names work, with any port, since there may be a tunnel; also IPv6 if available."""
    for host in ("localhost", "127.0.0.1", "[::1]", socket.gethostname()):
        for port in ("", f":{server.port}", ":1"):
            assert server.request("/data/runs", host=host + port).json()
    try:
        connection = socket.create_connection(("::1", server.port), timeout=10)
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    connection.close()
