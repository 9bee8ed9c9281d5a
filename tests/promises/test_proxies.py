"""The proxies in docs/proxies.md work, and behind them P14, P15, P16 and P28 hold."""

from __future__ import annotations

import base64
import copy
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import storages
from common_fixtures import WAIT_SECONDS
from drawn_charts import DRAWN, LABEL, zoom
from server_fixtures import browsers

from tbcore_testing import write_run

pytestmark = pytest.mark.services

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proxies.md"
HOST, FOREIGN = "logs.example.com", "evil.example"
TOKEN, PASSWORD = "secret", "a password"


class Case(NamedTuple):
    """A configuration of nginx, from a section of the page."""

    section: str
    cookie_path: str = ""
    """The path that the cookie is for; "" without a token."""
    left_out: str = ""
    """Lines of the configuration that contain this are left out; "" for none."""
    is_plain: bool = False
    """Whether the browser uses http, and the server has no token."""


CASES = {
    "kept": Case("Path kept", "/logs"),
    "stripped": Case("Path stripped", "/logs"),
    "stripped, without its path": Case("Path stripped", "/", left_out="X-Forwarded-Prefix"),
    "own host": Case("Own Host", "/"),
    "own host, without TLS": Case("Own Host", is_plain=True),
    "password": Case("Password"),
    "unix socket": Case("Unix socket"),
}


class Proxied(NamedTuple):
    """A server behind an nginx."""

    case: Case
    server: Any
    """The server, by the port of nginx that has no TLS."""
    direct: Any
    """The server, not by nginx."""
    direct_path: str
    """The path of the server itself, without the slash at the end."""
    login: tuple[str, ...]
    """The header lines of who is let in."""
    url: str
    """The address in a browser, without the slash at the end."""
    framing_port: int
    """With TLS, the port of pages that have the address in a frame, by any name."""
    data: Path
    """The data directory of the user who started the server."""


def configuration(section: str) -> tuple[str, list[str]]:
    """The command and the blocks of nginx's configuration in a section of the page."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    [command] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    return command, re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    old = time.time() - 3 * 86400
    values = [1 / (n + 1) for n in range(20_000)]
    path = write_run(folder, "train", scalars={"loss": values}, wall_time=old)
    os.utime(path, (old, old))
    return folder


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def proxied(
    request: pytest.FixtureRequest, service: Any, start_server: Any, logdir: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxied]:  # fmt: skip
    """A server that is started as in a section, behind an nginx that is configured as there."""
    tls = pytest.importorskip("tbcore_index.tls")
    pytest.importorskip("cryptography")
    program, case = service("nginx"), request.param
    folder = tmp_path_factory.mktemp("nginx")
    tls.make_keys(str(folder / "tls"))
    (folder / "logs.htpasswd").write_text(f"me:{{PLAIN}}{PASSWORD}\n")

    command, [location, *others] = configuration(case.section)
    given_variables, _, options = command.partition("tbcore serve --logdir runs ")
    has_token = "TBCORE_TOKEN" in given_variables and not case.is_plain
    given = shlex.split(options.replace("--port 6006", "").replace("/run/tbcore", str(folder)))
    given += ["--allowed_host", HOST] if case.is_plain else []
    variables = {"TBCORE_TOKEN": TOKEN} if has_token else {}
    server = start_server(logdir, *given, XDG_DATA_HOME=str(folder / "data"), **variables)

    def url(port: int, tls_port: int) -> str:
        return f"http://{HOST}:{port}/logs" if case.is_plain else f"https://{HOST}:{tls_port}/logs"

    _, [site] = configuration("Path kept")
    if case.section != "Path kept":
        site = re.sub(r"  location .*\n  }\n", lambda _: location, site, flags=re.DOTALL)
    if case.left_out:
        site = re.sub(f".*{case.left_out}.*\n", "", site)
    [keys] = re.findall(r"( *ssl_certificate .*\n *ssl_certificate_key .*\n)", site)

    def blocks(port: int, tls_port: int, framing_port: int) -> str:
        html = f"<iframe src='{url(port, tls_port)}/'>"
        framing = f'listen 443 ssl; {keys} default_type text/html; return 200 "{html}";'
        servers = f"{site} server {{ {framing} }}".replace("443", str(tls_port), 1)
        servers += "".join(others if case.is_plain else ())
        for old, new in {
            f"listen {tls_port} ssl;": f"listen 127.0.0.1:{tls_port} ssl; listen 127.0.0.1:{port};",
            "listen 443 ": f"listen 127.0.0.1:{framing_port} ",
            "listen 80 ": f"listen 127.0.0.1:{port} ",
            "/etc/ssl/logs.pem": f"{folder}/tls/cert.pem",
            "/etc/ssl/logs.key": f"{folder}/tls/key.pem",
            "/etc/nginx/logs.htpasswd": f"{folder}/logs.htpasswd",
            "/run/tbcore": str(folder),
            ":6006": f":{server.port}",
        }.items():
            servers = servers.replace(old, new)
        return servers

    login = [f"Authorization: Bearer {TOKEN}"] if has_token else []
    if "auth_basic " in location:
        login = [f"Authorization: Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"]

    process, ports = storages.nginx(program, folder, blocks, num_ports=3)
    port, tls_port, framing_port = ports
    by_nginx = copy.copy(server)
    by_nginx.port = port
    path = "/logs" if "--path_prefix" in given else ""
    login_lines, address = tuple(login), url(port, tls_port)
    yield Proxied(case, by_nginx, server, path, login_lines, address, framing_port, folder / "data")
    process.terminate()
    process.wait(10)


# Who is let in -----------------------------------------------------------------------------------


POSTED = "/data/plugin/images/steps"
BODY = b'{"runs": [], "tags": []}'


def test_who_is_let_in_reads_and_posts(proxied: Proxied) -> None:
    """Others get a 401. The token in an address becomes a cookie; updates are not kept back."""
    server, case = proxied.server, proxied.case
    assert server.request("/logs/data/runs", *proxied.login, host=HOST).json() == ["train"]
    if proxied.login:
        assert server.request("/logs/data/runs", host=HOST).status == 401
    if case.cookie_path:
        welcome = server.request("/logs/?token=secret", host=HOST)
        assert (welcome.status, welcome.headers["location"]) == (303, "?_")
        cookie, path, *_ = re.split("; (?:Max-Age=[0-9]+; )?", welcome.headers["set-cookie"])
        assert path == f"Path={case.cookie_path}"
        assert b"<title>" in server.request("/logs/", f"Cookie: {cookie}", host=HOST).body

    own = ["Sec-Fetch-Site: same-origin", f"Origin: https://{HOST}"]
    path, headers = f"/logs{POSTED}", [*proxied.login, *own]
    assert server.request(path, *headers, method="POST", host=HOST, body=BODY).status == 200

    connection = server.connect()
    lines = ["GET /logs/data/updates HTTP/1.1", f"Host: {HOST}", *proxied.login, "", ""]
    connection.socket.sendall("\r\n".join(lines).encode())
    received = b""
    while b"data: " not in received:
        piece = connection.socket.recv(1 << 16)
        assert piece, received
        received += piece
    connection.close()


# Who is kept out ---------------------------------------------------------------------------------


def test_p14_other_names_are_rejected_behind_a_proxy(proxied: Proxied) -> None:
    """A page whose own name leads to the proxy, or to the server, has neither cookie nor password.

    Where the proxy sends a name of its own, and there is no token, it must reject others itself.
    """
    forwarded = ["X-Forwarded-Host: localhost", f"Forwarded: host={HOST}"]
    for headers in ([], forwarded):
        response = proxied.direct.request(
            f"{proxied.direct_path}/data/runs", *headers, host=FOREIGN
        )
        assert response.status == (401 if proxied.case.cookie_path else 403)
        if proxied.case.is_plain:
            with pytest.raises(ConnectionError):
                proxied.server.request("/logs/data/runs", *headers, host=FOREIGN)
            continue
        response = proxied.server.request("/logs/data/runs", *headers, host=FOREIGN)
        assert response.status == 401
        if not proxied.case.cookie_path:  # somebody enters the password there, too
            response = proxied.server.request(
                "/logs/data/runs", *headers, *proxied.login, host=FOREIGN
            )
            assert response.status == 403


SENDERS = {
    "another site": [f"Origin: https://{FOREIGN}", "Sec-Fetch-Site: cross-site"],
    "an old browser": [f"Origin: http://{FOREIGN}"],
    "a sandbox": ["Origin: null", "Sec-Fetch-Site: cross-site"],
    "another port": [f"Origin: https://{HOST}:1", "Sec-Fetch-Site: same-site"],
    "another name": [f"Origin: https://www.{HOST}", "Sec-Fetch-Site: same-site"],
    "a look-alike": [f"Origin: https://{HOST}.{FOREIGN}"],
}


@pytest.mark.parametrize("sender", SENDERS)
def test_p15_posts_of_other_sites_are_rejected_behind_a_proxy(
    proxied: Proxied, sender: str
) -> None:
    """By the proxy and directly, with the login of who is let in."""
    headers = [*proxied.login, *SENDERS[sender], "Content-Type: text/plain"]
    for server, path in ((proxied.server, "/logs"), (proxied.direct, proxied.direct_path)):
        host = HOST if server is proxied.server else "localhost"
        response = server.request(f"{path}{POSTED}", *headers, method="POST", host=host, body=BODY)
        assert response.status == 403
        assert "may not send such requests" in response.text
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_p16_frames_of_other_pages_are_rejected_behind_a_proxy(proxied: Proxied, site: str) -> None:
    """The header arrives, and a browser that says what it asks for gets no page."""
    frame = [f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]
    for headers, status in (([], 200), (frame, 403)):
        response = proxied.server.request("/logs/", *proxied.login, *headers, host=HOST)
        assert response.status == status
        assert response.headers["content-security-policy"].endswith("; frame-ancestors 'self'")


# Whose notes these are ---------------------------------------------------------------------------


def test_p28_what_visitors_archive_is_not_named_for_deletion(
    proxied: Proxied, logdir: Path
) -> None:
    """Whatever their requests say; what the owner archives by a command is named."""
    pytest.importorskip("tbcore_notes")
    own = ["Sec-Fetch-Site: same-origin", f"Origin: https://{HOST}"]
    local = ["Sec-Fetch-Site: same-origin", "Origin: http://localhost:6006"]
    statuses = set()
    for host, headers in itertools.product((HOST, "localhost", "127.0.0.1:6006"), (own, local)):
        token = ["Content-Type: application/json", "X-Tbcore-Write-Token: guessed"]
        lines = [*proxied.login, *headers, *token]
        body = b'{"runs": ["train"], "set": {"archived": true}}'
        for server, path in ((proxied.server, "/logs"), (proxied.direct, proxied.direct_path)):
            if proxied.case.is_plain and server is proxied.server and host != HOST:
                continue  # nginx closes the connection.
            address = f"{path}/data/notes"
            response = server.request(address, *lines, method="POST", host=host, body=body)
            statuses.add(response.status)
            assert response.status != 200 or not response.json()["owns"]
    needs_write_token = not (proxied.case.cookie_path or proxied.case.section == "Unix socket")
    assert statuses == ({403} if needs_write_token else {200} | (statuses - {401}))

    def listed() -> bytes:
        environment = {**os.environ, "XDG_DATA_HOME": str(proxied.data)}
        command = [sys.executable, "-m", "tbcore", "notes", "files", str(logdir), "--format=names"]
        return subprocess.run(command, env=environment, capture_output=True, check=False).stdout

    assert listed() == b""
    for option in ("--archive", "--no_archive"):
        command = [sys.executable, "-m", "tbcore", "notes", "set", str(logdir), "train", option]
        subprocess.run(command, env={**os.environ, "XDG_DATA_HOME": str(proxied.data)}, check=True)
        assert listed().count(b"\0") == (option == "--archive")


# In a browser ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from browsers()


@pytest.fixture
def page(browser: Any, proxied: Proxied) -> Iterator[Any]:
    """A tab that has been sent to the address, without its slash, by somebody who is let in."""
    password = {"username": "me", "password": PASSWORD}
    context = browser.new_context(ignore_https_errors=True, http_credentials=password)
    context.set_default_timeout(WAIT_SECONDS * 1000)
    page = context.new_page()
    page.goto(f"{proxied.url}{f'?token={TOKEN}' if proxied.case.cookie_path else ''}")
    yield page
    context.close()


@pytest.mark.browser
def test_the_page_works_behind_a_proxy(proxied: Proxied, page: Any, logdir: Path) -> None:
    """A chart is drawn, zooming into it takes a POST request, and a new run shows."""
    page.wait_for_function(DRAWN)
    assert page.url.partition("#")[0] == f"{proxied.url}/"
    zoom(page, page)

    write_run(logdir, "later", scalars={"loss": [2.0, 3.0]})
    page.wait_for_function(f"() => ({LABEL})().includes('later')")
    shutil.rmtree(logdir / "later")


@pytest.mark.browser
@pytest.mark.parametrize("proxied", [CASES["kept"]], ids=["kept"], indirect=True)
def test_p16_a_browser_shows_the_page_in_no_frame_of_another_origin(
    proxied: Proxied, page: Any
) -> None:
    """Neither of another site nor of another port of this host, but of its own origin."""
    page.wait_for_function(DRAWN)
    for host in (HOST, FOREIGN):
        page.goto(f"https://{host}:{proxied.framing_port}/")
        page.wait_for_function("() => document.querySelector('iframe').contentDocument === null")
        assert page.frames[1].url.startswith("chrome-error:")

    page.goto(f"{proxied.url}x")  # nginx's own 404
    frame = f"<iframe width=1000 height=700 src='{proxied.url}/'></iframe>"
    page.evaluate("(frame) => { document.body.innerHTML = frame; }", frame)
    page.wait_for_function("() => document.querySelector('iframe').contentDocument?.title")
    page.frames[1].wait_for_function(DRAWN)
