"""Access control by host names, origins and the token. Raw sockets are in test_serve.py."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tbcore.server.login import Login, WrongTokens

Make = Callable[..., Any]

LOOK_ALIKES = [
    "localhost.example.com",
    "127.0.0.1.example.com",
    "localhost.",
    "127.0.0.1.",
    "127.0.0.2",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "0x7f.0.0.1",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "evil-localhost",
    "xn--lcalhost-p0a",
    "example.com",
    "example.com:6006",
]

MALFORMED = [
    "",
    " ",
    "localhost, example.com",
    "localhost example.com",
    "user@localhost",
    "example.com/localhost",
    "localhost:6006:6006",
    "localhost:",
    "localhost:port",
    "localhost:123456",
    "[::1",
    "::1",
    "[::1]localhost",
    "[]",
    "localhost#",
    "localhost?",
    "localhost\\",
    "local\u00fehost",
]


@pytest.fixture
def posting(make_plugin: Make, make_client: Make) -> Make:
    """`posting(token=...)`: a client of a server with a plugin that accepts POST at /x."""

    def make(**config: Any) -> Any:
        def handler(request: Request) -> Response:
            return PlainTextResponse(request.method)

        routes = [Route("/x", handler, methods=["GET", "POST", "DELETE"])]
        return make_client({"made": make_plugin(routes=lambda: routes)}, **config)

    return make


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:6006",
        "127.0.0.1",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:6006",
        socket.gethostname(),
        f"{socket.gethostname().upper()}:6006",
    ],
)
def test_names_of_this_machine_are_accepted(make_client: Make, host: str) -> None:
    """Names of this machine are accepted with any port: the client may use a tunnel."""
    assert make_client().get("data/runs", headers={"host": host}).status_code == 200


def test_the_name_of_the_option_host_is_accepted(make_client: Make) -> None:
    """The name given to --host is accepted, since the printed address has it."""
    client = make_client(host="Logs.lan")

    assert client.get("data/runs", headers={"host": "logs.lan:6006"}).status_code == 200
    assert client.get("data/runs", headers={"host": "x.logs.lan"}).status_code == 403


@pytest.mark.parametrize("host", LOOK_ALIKES)
@pytest.mark.parametrize("path", ["data/runs", "", "static/tbcore/index.html", "nothing"])
def test_look_alikes_are_refused(make_client: Make, host: str, path: str) -> None:
    """Host names that resemble loopback are refused, with the option that would allow them."""
    response = make_client().get(path, headers={"host": host})

    name = host.rpartition(":")[0] if host.endswith(":6006") else host
    assert response.status_code == 403
    assert response.text == (
        f"host {name!r} is not allowed; start the server with --allowed_host {name} to allow it"
    )
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("host", MALFORMED)
@pytest.mark.parametrize("token", [None, "secret"])
def test_malformed_hosts_are_refused(make_client: Make, host: str, token: str | None) -> None:
    """A malformed Host header is refused, even with a valid token."""
    client = make_client(token=token, allowed_hosts=("example.com",))
    headers = [(b"host", host.encode("latin-1")), (b"authorization", b"Bearer secret")]

    response = client.get("data/runs", headers=headers)

    assert response.status_code == 400
    assert "\n" not in response.text


def test_two_hosts_are_refused(make_client: Make) -> None:
    """A request with two Host headers is refused: a proxy may have checked the other one."""
    hosts = [("host", "localhost"), ("host", "localhost")]

    response = make_client().get("data/runs", headers=hosts)

    assert response.status_code == 400
    assert response.text == "a request needs exactly one Host header, not 2"


def test_forwarded_hosts_are_ignored(make_client: Make) -> None:
    """Headers about the forwarded host have no effect, since any client can send them."""
    forwarded = {"x-forwarded-host": "localhost", "forwarded": "host=localhost"}
    client = make_client()

    assert client.get("data/runs", headers={"host": "example.com", **forwarded}).status_code == 403
    foreign = {"x-forwarded-host": "example.com"}
    assert client.get("data/runs", headers=foreign).status_code == 200


def test_allowed_hosts_are_accepted(make_client: Make) -> None:
    """A name without a port is allowed with any port."""
    client = make_client(allowed_hosts=("Logs.example.com", "example.org:8443", "[fd00::1]"))

    statuses = {
        host: client.get("data/runs", headers={"host": host}).status_code
        for host in (
            "logs.example.com",
            "LOGS.example.com:80",
            "example.org:8443",
            "[fd00::1]:6006",
            "example.org",
            "x.logs.example.com",
        )
    }

    assert statuses == {
        "logs.example.com": 200,
        "LOGS.example.com:80": 200,
        "example.org:8443": 200,
        "[fd00::1]:6006": 200,
        "example.org": 403,
        "x.logs.example.com": 403,
    }


@pytest.mark.parametrize(
    ("server", "host", "status"),
    [
        ("192.0.2.7", "192.0.2.7:6006", 200),
        ("192.0.2.7", "192.0.2.8:6006", 403),
        ("::ffff:192.0.2.7", "192.0.2.7", 200),
        ("fe80::7%eth0", "[fe80::7]:6006", 200),
        ("2001:db8::7", "[2001:db8:0::7]", 403),
        ("logs.example.com", "logs.example.com", 403),
    ],
)
def test_the_address_that_the_client_connected_to_is_accepted(
    make_client: Make, server: str, host: str, status: int
) -> None:
    """The address of the connection is accepted as a host, since DNS cannot redirect it."""
    app = make_client().app
    statuses = []

    async def asking(scope: Any, receive: Any, send: Any) -> None:
        async def see(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await app({**scope, "server": (server, 6006)}, receive, see)

    client = make_client()
    client.app = client._transport.app = asking
    client.get("data/runs", headers={"host": host})
    assert statuses == [status]


@pytest.mark.parametrize("target", ["http://localhost/data/runs", "*", "data/runs", "localhost:80"])
def test_targets_that_are_not_paths_are_refused(make_client: Make, target: str) -> None:
    """A target must be a path. Requests to a proxy, for example, have whole URLs."""
    app = make_client().app

    async def asking(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "raw_path": target.encode(), "path": target}, receive, send)

    client = make_client()
    client._transport.app = asking
    response = client.get("data/runs")
    assert response.status_code == 400
    assert response.text == "the target of the request must be a path that starts with '/'"


# Other sites -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost:6006"},
        {"origin": "https://localhost:6006"},
        {"origin": "http://localhost:6006", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        # Behind a proxy that sends a Host header of its own.
        {"origin": "https://logs.example.com", "sec-fetch-site": "same-origin"},
    ],
)
def test_the_page_itself_may_post(posting: Make, headers: dict[str, str]) -> None:
    """POST requests of the page are accepted, and of programs, which send no such headers."""
    assert posting().post("data/plugin/made/x", headers=headers).text == "POST"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://example.com"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://localhost"},
        {"origin": "http://127.0.0.1:6006"},
        {"origin": "http://localhost:6006.example.com"},
        {"origin": "http://user@localhost:6006"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "file://"},
        {"origin": "chrome-extension://localhost:6006"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "nonsense"},
        {"origin": "http://localhost:6006", "sec-fetch-site": "cross-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("token", [None, "secret"])
def test_other_sites_may_not_post(
    posting: Make, headers: dict[str, str], method: str, token: str | None
) -> None:
    """POST requests of other sites are refused, without CORS headers."""
    client = posting(token=token)

    response = client.request(
        method, "data/plugin/made/x", headers={"authorization": "Bearer secret", **headers}
    )

    assert response.status_code == 403
    assert "may not send such requests" in response.text
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "no-cors",
                "sec-fetch-dest": "image",
            },
            403,
        ),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "iframe",
            },
            403,
        ),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "document",
            },
            200,
        ),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        (
            {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
            200,
        ),
        (
            {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
            200,
        ),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_other_sites_may_only_link_to_the_page(
    posting: Make, headers: dict[str, str], status: int, method: str
) -> None:
    """Links of other sites are accepted. Other requests would only keep the server busy."""
    for path in ("data/runs", "data/plugin/made/x", "data/updates" if status == 403 else ""):
        assert posting().request(method, path, headers=headers).status_code == status


def test_other_sites_may_not_read_responses(posting: Make) -> None:
    """A GET of an old browser gets a response, which CORP makes unreadable for other sites."""
    response = posting().get("data/runs", headers={"origin": "http://example.com"})

    assert response.status_code == 200
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_proxy_that_replaces_the_host_needs_the_option(posting: Make) -> None:
    """Over plain HTTP browsers do not say "same-origin", so the public name must be allowed."""
    origin = {"origin": "http://logs.example.com"}

    assert posting().post("data/plugin/made/x", headers=origin).status_code == 403
    allowed = posting(allowed_hosts=("logs.example.com",))
    assert allowed.post("data/plugin/made/x", headers=origin).text == "POST"


# The token ---------------------------------------------------------------------------------------


@pytest.fixture
def guarded(posting: Make) -> Any:
    return posting(token="secret")


LOGIN = Login("secret")
NAME = LOGIN.cookie_name


def cookie(*, days: float, token: str = "secret") -> str:
    """The value of a token's cookie that is valid for this long; negative if it has expired."""
    return Login(token).cookie_value(int(time.time() + days * 86400))


def days_of(set_cookie: str) -> float:
    """For how long the value in a Set-Cookie header is valid."""
    expiry = re.search(r"=(\d+)\.[0-9a-f]{64}; Max-Age=604800; ", set_cookie)
    assert expiry, set_cookie
    return (int(expiry[1]) - time.time()) / 86400


@pytest.mark.parametrize(
    "path", ["", "data/runs", "static/tbcore/shell/boot.js", "data/updates", "x"]
)
def test_requests_without_the_token_are_refused(guarded: Any, path: str) -> None:
    """Without the token, the response at any address is one line that says what to do."""
    response = guarded.get(path)

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.text == (
        "this server requires a token; "
        "add ?token=TOKEN to the address, or open the address that tbcore gave at its start"
    )


def test_the_token_in_the_address_becomes_a_cookie(guarded: Any) -> None:
    """The token is moved from the address to a cookie, so that no copied link contains it."""
    response = guarded.get("/?a=1&token=secret&b=%2F&tbcore_token=x")

    assert response.status_code == 303
    assert response.headers["location"] == "?a=1&b=%2F"
    set_cookie = response.headers["set-cookie"]
    assert re.match(r"tbcore_[0-9a-f]{8}=", set_cookie)
    assert set_cookie.endswith("; Path=/; HttpOnly; SameSite=Lax")
    assert "secret" not in set_cookie
    assert 6.9 < days_of(set_cookie) <= 7
    assert response.headers["cache-control"] == "no-store"
    assert guarded.get("data/runs").status_code == 200
    assert guarded.get("/?tbcore_token=secret").headers["location"] == "?_"


def test_the_cookie_is_for_the_path_prefix(make_client: Make) -> None:
    """The cookie is valid only below the path prefix: other servers may have other prefixes."""
    client = make_client(token="secret", path_prefix="/a/b")

    response = client.get("data/runs?token=secret")

    assert response.headers["location"] == "?_"
    assert "; Path=/a/b; " in response.headers["set-cookie"]
    assert client.get("data/runs").status_code == 200


@pytest.mark.parametrize(
    ("forwarded", "path"),
    [
        (["/hub/proxy/6006"], "/hub/proxy/6006"),
        (["/hub/"], "/hub"),
        (["//example.com"], "/"),
        (["/a; Domain=example.com"], "/"),
        (["hub"], "/"),
        (["/hub", "/other"], "/"),
    ],
)
def test_the_cookie_is_for_the_path_of_a_proxy(
    guarded: Any, forwarded: list[str], path: str
) -> None:
    """A proxy's path only narrows the cookie; the server has no other use for the header."""
    headers = [("x-forwarded-prefix", each) for each in forwarded]
    response = guarded.get("/?token=secret", headers=headers)

    assert response.headers["location"] == "?_"
    assert f"; Path={path}; HttpOnly" in response.headers["set-cookie"]


@pytest.mark.parametrize("forwarded", ["/hub", "/hub/", "/hub/logs", "/logs", "no"])
def test_the_path_of_a_proxy_comes_before_the_prefix(make_client: Make, forwarded: str) -> None:
    """Whether the proxy says only what it has cut off, or all that the browser has."""
    client = make_client(token="secret", path_prefix="/logs")
    response = client.get("/logs/?token=secret", headers={"x-forwarded-prefix": forwarded})
    path = "/hub/logs" if "hub" in forwarded else "/logs"
    assert f"; Path={path}; HttpOnly" in response.headers["set-cookie"]


@pytest.mark.parametrize("path", ["/s" + "x" * 32, "/base/s" + "x" * 32])
def test_outside_the_secret_path_all_responses_are_the_same(make_client: Make, path: str) -> None:
    """Neither the address nor the headers change the response, which tells nothing."""
    client = make_client(path_prefix=path, has_secret_prefix=True)
    root = "http://localhost:6006"
    parent = path.rpartition("/")[0]
    seen = set()
    for address in ("/", "/data/runs", f"{path[:-1]}", f"{path}x", f"{parent}/", "/healthz"):
        for headers in ({}, {"host": "example.com"}, {"host": "!"}, {"sec-fetch-site": "x"}):
            response = client.get(root + address, headers=headers)
            seen.add((response.status_code, response.text, str(sorted(response.headers.items()))))
    [(status, text, _)] = seen
    assert (status, text) == (404, "Not found")
    assert client.get(f"{root}{path}/data/runs", headers={"host": "hub.lan"}).json() == []
    assert client.get(f"{root}{path}/healthz").text == "ok\n"


FRAME = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}


@pytest.mark.parametrize(
    ("site", "path", "settings", "status"),
    [
        ("same-site", "", {"embed_in": ("http://localhost:*",)}, 200),
        ("same-site", "data/runs", {"embed_in": ("http://localhost:*",)}, 403),
        ("cross-site", "", {"embed_in": ("http://localhost:*",)}, 403),
        (
            "cross-site",
            "",
            {"embed_in": ("https://a.b",), "path_prefix": "/x", "has_secret_prefix": True},
            200,
        ),
        ("cross-site", "", {"path_prefix": "/x", "has_secret_prefix": True}, 403),
        ("same-site", "", {}, 403),
    ],
)
def test_only_allowed_frames_get_the_page(
    make_client: Make, site: str, path: str, settings: dict[str, Any], status: int
) -> None:
    response = make_client(**settings).get(path, headers={"sec-fetch-site": site, **FRAME})

    assert response.status_code == status
    sources = " ".join(["'self'", *settings.get("embed_in", ())])
    policy = response.headers["content-security-policy"]
    assert policy.endswith(f"; frame-ancestors {sources}")


def test_any_host_is_accepted_if_the_user_says_so(make_client: Make) -> None:
    client = make_client(allowed_hosts=("*",))

    assert client.get("data/runs", headers={"host": "any.example:1"}).status_code == 200
    foreign = {"host": "any.example", "origin": "http://evil.example"}
    assert client.post("data/runs", headers=foreign).status_code == 403


@pytest.mark.parametrize("path", ["healthz", "readyz"])
def test_probes_need_no_token(guarded: Any, path: str) -> None:
    assert guarded.get(path).status_code in (200, 503)
    assert guarded.get("metrics").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer secret"}, 200),
        ({"authorization": "bearer  secret "}, 200),
        ({"authorization": "Bearer secret2"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": "Basic secret"}, 401),
        ({"authorization": "Bearer s\u00e9cret"}, 401),
        ({"cookie": f"a=b; {NAME}={cookie(days=7)}"}, 200),
        ({"cookie": f'{NAME}="{cookie(days=7)}"'}, 200),
        ({"cookie": f"{NAME}=old; {NAME}={cookie(days=7)}"}, 200),
        ({"cookie": f"{NAME}={cookie(days=-1)}; {NAME}={cookie(days=1)}"}, 200),
        ({"cookie": f"{NAME}=old"}, 401),
        ({"cookie": f"{NAME}=secret"}, 401),
        ({"cookie": f"{NAME}={cookie(days=-0.001)}"}, 401),
        ({"cookie": f"{NAME}=9{cookie(days=1)}"}, 401),
        ({"cookie": f"{NAME}={cookie(days=1)[:-1]}"}, 401),
        ({"cookie": f"{NAME}={cookie(days=1).partition('.')[0]}."}, 401),
        ({"cookie": f"{NAME}={cookie(days=1, token='other')}"}, 401),
        ({"cookie": f"{NAME}=name.{LOGIN._signature('name')}"}, 401),
        ({"cookie": f"{Login('other').cookie_name}={cookie(days=1)}"}, 401),
        ({"cookie": f"x{NAME}={cookie(days=1)}"}, 401),
        ({"cookie": f"=; ;{NAME}"}, 401),
    ],
)
def test_other_ways_to_send_the_token(guarded: Any, headers: dict[str, str], status: int) -> None:
    """The token is accepted in the header Authorization; the cookie, until it expires."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    assert guarded.get("data/runs", headers=raw).status_code == status


def test_a_wrong_token_is_reported_as_wrong(guarded: Any) -> None:
    """A wrong token is an error, but with the cookie, `token` may be a plugin's parameter."""
    assert guarded.get("data/runs?token=wrong").text.startswith("the token is wrong; add ?token=")
    headers = {"cookie": f"{NAME}={cookie(days=7)}"}
    assert guarded.get("data/runs?token=wrong", headers=headers).status_code == 200
    assert guarded.get("data/runs?token=", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["data/runs", "static/tbcore/shell/boot.js", "nothing"])
def test_a_cookie_is_renewed_when_it_is_used(guarded: Any, path: str) -> None:
    """After a day, one response has a new cookie; before, and without a cookie, none has one."""
    for days, is_renewed in ((6.9, False), (6.01, False), (5.99, True), (0.01, True)):
        response = guarded.get(path, headers={"cookie": f"{NAME}={cookie(days=days)}"})
        set_cookie = response.headers.get("set-cookie")
        guarded.cookies.clear()
        assert (set_cookie is not None) == is_renewed, days
        if set_cookie is not None:
            assert set_cookie.startswith(f"{NAME}=")
            assert 6.9 < days_of(set_cookie) <= 7
    response = guarded.get(path, headers={"authorization": "Bearer secret"})
    assert "set-cookie" not in response.headers


def test_a_refused_request_does_not_renew_the_cookie(guarded: Any) -> None:
    """A request of another site's page is refused before it has an effect on the cookie."""
    headers = {"cookie": f"{NAME}={cookie(days=1)}", "sec-fetch-site": "cross-site"}

    response = guarded.get("data/runs", headers=headers)

    assert response.status_code == 403
    assert "set-cookie" not in response.headers


def test_wrong_tokens_are_logged_once_per_interval(caplog: pytest.LogCaptureFixture) -> None:
    """The first at once, the others at the end of the interval, with the most frequent address."""

    def lines() -> list[str]:
        return [record.getMessage() for record in caplog.records]

    async def guess() -> None:
        wrong_tokens = WrongTokens(interval_seconds=0.05)
        for address in ("a", "b", "b", "c", "b"):
            wrong_tokens.add(address)
        assert len(lines()) == 1
        while len(lines()) < 2:
            await asyncio.sleep(0.01)
        for number in range(5000):
            wrong_tokens.add(str(number))
        while len(lines()) < 3:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(guess(), WAIT_SECONDS))
    assert lines() == [
        "wrong token from a: 1 request",
        "wrong token from b: 3 requests, and 1 from other addresses",
        "wrong token from many addresses: 4000 requests, and 1000 from other addresses",
    ]


def test_with_a_token_any_name_is_accepted(guarded: Any) -> None:
    """With a token, any host name is accepted, so that proxies work."""
    headers = {"host": "logs.example.com", "authorization": "Bearer secret"}
    assert guarded.get("data/runs", headers=headers).status_code == 200


def test_a_post_with_the_token_in_its_address_is_accepted(guarded: Any) -> None:
    """A POST with the token in its address is not redirected, which would lose its body."""
    assert guarded.post("data/plugin/made/x?token=secret").text == "POST"
    assert guarded.post("data/plugin/made/x?token=wrong").status_code == 401
