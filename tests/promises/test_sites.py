"""P15: pages of other sites can neither change nor read anything; tests/page uses a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

SENDERS = {
    "another site": ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"],
    "another site over TLS": ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"],
    "an old browser": ["Origin: http://evil.example"],
    "a sandbox": ["Origin: null", "Sec-Fetch-Site: cross-site"],
    "a sandbox in an old browser": ["Origin: null"],
    "a form": ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
    "another port": ["Origin: http://localhost:1", "Sec-Fetch-Site: same-site"],
    "another name": ["Origin: http://127.0.0.1:{port}", "Sec-Fetch-Site: cross-site"],
    "a look-alike": ["Origin: http://localhost.evil.example:{port}"],
    "two origins": ["Origin: http://localhost:{port}", "Origin: http://evil.example"],
    "an extension": ["Origin: chrome-extension://localhost:{port}"],
    "a file": ["Origin: file://"],
}

BODIES = {
    "application/x-www-form-urlencoded": b"run=train&tag=loss",
    "multipart/form-data; boundary=x": b"--x--\r\n",
    "text/plain": b"{}",
    "application/json": b"{}",
    "": b"",
}


@pytest.fixture(scope="module")
def posted() -> list[str]:
    """The addresses of all installed plugins that accept POST."""
    listed = subprocess.run(
        [sys.executable, "-m", "tbcore", "plugins", "--json"], capture_output=True, check=True
    )
    return [
        f"/{route['path']}"
        for plugin in json.loads(listed.stdout)
        for route in plugin["routes"]
        if "POST" in route["methods"]
    ]


@pytest.mark.parametrize("sender", SENDERS)
def test_p15_posts_of_other_sites_are_rejected(server: Any, sender: str, posted: list[str]) -> None:
    """Every address that accepts POST, with every kind of request that a page can send."""
    headers = [line.format(port=server.port) for line in SENDERS[sender]]
    assert posted
    for path in (*posted, "/data/plugin/faulty/count", "/data/runs", "/"):
        for content_type, body in BODIES.items():
            kind = [f"Content-Type: {content_type}"] if content_type else []
            host = f"localhost:{server.port}"
            response = server.request(path, *headers, *kind, method="POST", host=host, body=body)
            assert response.status == 403, (path, content_type, response.text)
            assert not [name for name in response.headers if name.startswith("access-control")]
    assert server.request("/data/plugin/faulty/count").body == b"0"


@pytest.mark.parametrize("sender", SENDERS)
def test_p15_no_response_is_readable_for_another_site(server: Any, sender: str) -> None:
    """Neither a request nor its preflight gets permission, so browsers withhold the response."""
    headers = [line.format(port=server.port) for line in SENDERS[sender]]
    for path in ("/data/runs", "/data/plugin/scalars/tags", "/static/tbcore/shell/boot.js", "/x"):
        response = server.request(path, *headers, "Access-Control-Request-Private-Network: true")
        assert not [name for name in response.headers if name.startswith("access-control")]
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        says_so = "Sec-Fetch-Site: cross-site" in headers or "Sec-Fetch-Site: same-site" in headers
        if says_so and "Sec-Fetch-Mode: navigate" not in headers:
            assert response.status == 403, path
        question = ["Access-Control-Request-Method: POST"]
        response = server.request(path, *headers, *question, method="OPTIONS")
        assert response.status == 403
        assert not [name for name in response.headers if name.startswith("access-control")]
