"""Access control by host names, origins and tokens, as a table of requests and answers.

test_http_contract.py has the other rows, and describes them. Raw sockets are in test_serve.py.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import socket
import time
from collections.abc import Callable
from string import Template
from typing import Any

import pytest
from asking import ask
from common_fixtures import WAIT_SECONDS
from tables_of_http import SECRET_PATH, Row, apps, check, lines, row_id

from tbcore.server.login import Login, WrongTokens

Make = Callable[..., Any]

# Hosts -------------------------------------------------------------------------------------------

OWN_NAMES = [
    "localhost", "LocalHost:6006", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:6006",
    socket.gethostname(), f"{socket.gethostname().upper()}:6006",
]  # fmt: skip
LOOK_ALIKES = [
    "localhost.example.com", "127.0.0.1.example.com", "localhost.", "127.0.0.1.", "127.0.0.2",
    "127.1", "0.0.0.0", "2130706433", "0x7f.0.0.1", "[::]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "evil-localhost", "xn--lcalhost-p0a", "example.com",
]  # fmt: skip
MALFORMED = [
    "", " ", "localhost, example.com", "localhost example.com", "user@localhost",
    "example.com/localhost", "localhost:6006:6006", "localhost:", "localhost:port",
    "localhost:123456", "[::1", "::1", "[::1]localhost", "[]", "localhost#", "localhost?",
    "localhost\\", "local\u00fehost",
]  # fmt: skip
HOSTS = [
    *(Row("plain", "GET /data/runs", (("host", host),), 200, "[]") for host in OWN_NAMES),
    *(
        Row(
            "plain", f"GET {path}", (("host", f"{name}{port}"),), 403,
            f"host {name!r} is not allowed; start the server with --allowed_host {name} to allow",
        )
        for name in LOOK_ALIKES
        for port in (("", ":6006") if name == "example.com" else ("",))
        for path in ("/data/runs", "/", "/static/tbcore/index.html", "/nothing")
    ),
    *(
        Row(
            server, "GET /data/runs", (("host", host), ("authorization", "Bearer secret")), 400,
            "the Host header is malformed",
        )
        for host in MALFORMED
        for server in ("allowed", "token, allowed")
    ),
    *lines("plain", """
GET /data/runs | host: localhost | host: localhost 400 a request needs exactly one Host header, not
GET /data/runs | host: example.com | x-forwarded-host: localhost | forwarded: host=localhost 403
GET /data/runs | x-forwarded-host: example.com     200 []
"""),
    *lines("named", """
GET /data/runs | host: logs.lan:6006               200 []
GET /data/runs | host: x.logs.lan                  403 host 'x.logs.lan' is not allowed
"""),
    *lines("allowed", """
GET /data/runs | host: logs.example.com            200 []
GET /data/runs | host: LOGS.example.com:80         200 []
GET /data/runs | host: example.org:8443            200 []
GET /data/runs | host: [fd00::1]:6006              200 []
GET /data/runs | host: example.org                 403 host 'example.org' is not allowed
GET /data/runs | host: x.logs.example.com          403 host 'x.logs.example.com' is not allowed
"""),
    *lines("any host", """
GET /data/runs | host: any.example:1               200 []
POST /data/runs | host: any.example | origin: http://evil.example 403 pages of 'http://evil.example'
"""),
    *lines("token", """
GET /data/runs | host: logs.example.com | authorization: Bearer secret  200 []
"""),
]  # fmt: skip

# Other sites -------------------------------------------------------------------------------------

OF_THE_PAGE = lines("plain", """
POST /data/plugin/made/x                                     200 POST hello
POST /data/plugin/made/x | origin: http://localhost:6006     200 POST hello
POST /data/plugin/made/x | origin: https://localhost:6006    200 POST hello
POST /data/plugin/made/x | origin: http://localhost:6006 | sec-fetch-site: same-origin    200
POST /data/plugin/made/x | sec-fetch-site: none              200 POST hello
POST /data/plugin/made/x | origin: https://logs.example.com | sec-fetch-site: same-origin 200
POST /data/plugin/made/x | origin: http://logs.example.com   403 pages of 'http://logs.example.com'
GET /data/runs | origin: http://example.com                  200 []
""") + lines("allowed", """
POST /data/plugin/made/x | origin: http://logs.example.com   200 POST hello
""")  # fmt: skip
"""Programs send no such headers. Behind a proxy that sends a Host header of its own, over plain
HTTP, browsers do not say `same-origin`."""
OTHER_ORIGINS = [
    "http://example.com", "http://localhost:3000", "http://localhost", "http://127.0.0.1:6006",
    "http://localhost:6006.example.com", "http://user@localhost:6006", "null", "", "file://",
    "chrome-extension://localhost:6006",
]  # fmt: skip
OF_OTHERS = [
    Row(
        server, f"{method} /data/plugin/made/x", (*pairs, ("authorization", "Bearer secret")), 403,
        f"pages of {named} may not send such requests",
    )
    for named, *pairs in (
        *((repr(origin), ("origin", origin)) for origin in OTHER_ORIGINS),
        *(
            ("other sites", ("sec-fetch-site", site))
            for site in ("cross-site", "same-site", "nonsense")
        ),
        ("other sites", ("origin", "http://localhost:6006"), ("sec-fetch-site", "cross-site")),
    )
    for method in ("POST", "DELETE", "OPTIONS")
    for server in ("plain", "token")
]  # fmt: skip
LINKS = [
    row
    for path in ("/data/runs", "/data/plugin/made/x", "/data/updates")
    for row in lines("plain", f"""
GET {path} | sec-fetch-site: cross-site | sec-fetch-mode: no-cors                                403
GET {path} | sec-fetch-site: same-site | sec-fetch-mode: cors | sec-fetch-dest: empty            403
GET {path} | sec-fetch-site: cross-site | sec-fetch-mode: no-cors | sec-fetch-dest: image        403
GET {path} | sec-fetch-site: cross-site | sec-fetch-mode: navigate | sec-fetch-dest: iframe      403
""")
] + [
    row
    for path in ("/data/runs", "/data/plugin/made/x", "/")
    for row in lines("plain", f"""
GET {path} | sec-fetch-site: cross-site | sec-fetch-mode: navigate | sec-fetch-dest: document    200
GET {path} | sec-fetch-site: cross-site | sec-fetch-mode: navigate                               200
GET {path} | sec-fetch-site: same-origin | sec-fetch-mode: cors | sec-fetch-dest: empty          200
GET {path} | sec-fetch-site: none | sec-fetch-mode: navigate | sec-fetch-dest: document          200
""")
]  # fmt: skip
"""Links of other sites are accepted. Other requests would only keep the server busy."""
FRAMES = [
    Row(
        server, f"GET {path}",
        (("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")),
        status,
    )
    for server, path, site, status in (
        ("framed", "/", "same-site", 200),
        ("framed", "/data/runs", "same-site", 403),
        ("framed", "/", "cross-site", 403),
        ("secret, framed", f"{SECRET_PATH}/", "cross-site", 200),
        ("secret", f"{SECRET_PATH}/", "cross-site", 403),
        ("plain", "/", "same-site", 403),
    )
]  # fmt: skip

# Tokens ------------------------------------------------------------------------------------------

LOGIN = Login("secret")
NAME = LOGIN.cookie_name
REQUIRED = (
    "this server requires a token; "
    "add ?token=TOKEN to the address, or open the address that tbcore gave at its start"
)


def cookie(*, days: float, token: str = "secret") -> str:
    """The value of a token's cookie that is valid for this long; negative if it has expired."""
    return Login(token).cookie_value(int(time.time() + days * 86400))


VALUES = {
    "name": NAME,
    "other_name": Login("other").cookie_name,
    "week": cookie(days=7),
    "day": cookie(days=1),
    "cut": cookie(days=1)[:-1],
    "unsigned": cookie(days=1).partition(".")[0] + ".",
    "other": cookie(days=1, token="other"),
    "expired": cookie(days=-1),
    "just_expired": cookie(days=-0.001),
    "no_time": LOGIN.cookie_value("name"),  # type: ignore[arg-type]
}
"""What words with a dollar sign stand for in rows, whose names must not depend on the time."""
TOKENS = [
    *(
        Row("token", f"GET {path}", (), 401, answer)
        for path in ("/", "/data/runs", "/static/tbcore/shell/boot.js", "/data/updates", "/x")
        for answer in (REQUIRED, "www-authenticate: Bearer")
    ),
    *lines("token", """
GET /healthz                                          200 ok\\n
GET /readyz                                           503
GET /metrics                                          401
GET /data/runs | authorization: Bearer secret         200 []
GET /data/runs | authorization: Bearer secret2        401 the token is wrong; add ?token=
GET /data/runs | authorization: Bearer                401
GET /data/runs | authorization: Basic secret          401
GET /data/runs | authorization: Bearer s\u00e9cret    401
GET /data/runs | cookie: a=b; $name=$week             200 []
GET /data/runs | cookie: $name="$week"                200 []
GET /data/runs | cookie: $name=old; $name=$week       200 []
GET /data/runs | cookie: $name=$expired; $name=$day   200 []
GET /data/runs | cookie: $name=old                    401
GET /data/runs | cookie: $name=secret                 401
GET /data/runs | cookie: $name=$just_expired          401
GET /data/runs | cookie: $name=9$day                  401
GET /data/runs | cookie: $name=$cut                   401
GET /data/runs | cookie: $name=$unsigned              401
GET /data/runs | cookie: $name=$other                 401
GET /data/runs | cookie: $name=$no_time              401
GET /data/runs | cookie: $other_name=$day             401
GET /data/runs | cookie: x$name=$day                  401
GET /data/runs | cookie: =; ;$name                    401
GET /data/runs?token=wrong                            401 the token is wrong; add ?token=
GET /data/runs?token=wrong | cookie: $name=$week      200 []
GET /data/runs?token= | cookie: $name=$week           200 []
GET /?tbcore_token=secret                             303 location: ?_
POST /data/plugin/made/x?token=secret                 200 POST hello
POST /data/plugin/made/x?token=wrong                  401
GET /data/plugin/made/who | authorization: Bearer secret   200 the owner
"""),
    Row("token", "GET /data/runs", (("authorization", "bearer  secret "),), 200, "[]"),
    *lines("two tokens", """
GET /data/plugin/made/who | authorization: Bearer secret   200 the owner
GET /data/plugin/made/who | authorization: Bearer reading  200 a reader
"""),
]  # fmt: skip
"""The cookie is valid until it expires. With it, `token` may be a plugin's parameter. A POST with
the token in its address is not redirected, which would lose its body."""
TABLE = [*HOSTS, *OF_THE_PAGE, *OF_OTHERS, *LINKS, *FRAMES, *TOKENS]


@pytest.fixture(scope="module")
def app_of(tmp_path_factory: pytest.TempPathFactory, make_client: Make, make_plugin: Make) -> Any:
    """`app_of("token")`: the application of a server; one for all its rows."""
    return apps(make_client, make_plugin, tmp_path_factory.mktemp("package"))


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_the_answers(app_of: Make, row: Row) -> None:
    headers = tuple((name, Template(value).safe_substitute(VALUES)) for name, value in row.headers)
    check(row._replace(headers=headers), app_of(row.server))


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
    app_of: Make, server: str, host: str, status: int
) -> None:
    """The address of the connection is accepted as a host, since DNS cannot redirect it."""
    headers = [("host", host)]
    answer = ask(app_of("plain"), "GET /data/runs", headers, server=(server, 6006))
    assert answer.status == status


def days_of(set_cookie: str) -> float:
    """For how long the value in a Set-Cookie header is valid."""
    expiry = re.search(r"=(\d+)\.[0-9a-f]{64}; Max-Age=604800; ", set_cookie)
    assert expiry, set_cookie
    return (int(expiry[1]) - time.time()) / 86400


def test_the_token_in_the_address_becomes_a_cookie(app_of: Make) -> None:
    """The token is moved from the address to a cookie, so that no copied link contains it."""
    answer = ask(app_of("token"), "GET /?a=1&token=secret&b=%2F&tbcore_token=x")

    assert (answer.status, answer.headers["location"]) == (303, "?a=1&b=%2F")
    set_cookie = answer.headers["set-cookie"]
    assert re.match(r"tbcore_[0-9a-f]{8}=", set_cookie)
    assert set_cookie.endswith("; Path=/; HttpOnly; SameSite=Lax")
    assert "secret" not in set_cookie
    assert 6.9 < days_of(set_cookie) <= 7
    sent = [("cookie", set_cookie.partition(";")[0])]
    assert ask(app_of("token"), "GET /data/runs", sent).status == 200


@pytest.mark.parametrize(
    ("prefix", "forwarded", "path"),
    [
        ("", [], "/"),
        ("", ["/hub/proxy/6006"], "/hub/proxy/6006"),
        ("", ["/hub/"], "/hub"),
        ("", ["//example.com"], "/"),
        ("", ["/a; Domain=example.com"], "/"),
        ("", ["hub"], "/"),
        ("", ["/hub", "/other"], "/"),
        ("/logs", [], "/logs"),
        ("/logs", ["/hub"], "/hub/logs"),
        ("/logs", ["/hub/"], "/hub/logs"),
        ("/logs", ["/hub/logs"], "/hub/logs"),
        ("/logs", ["/logs"], "/logs"),
        ("/logs", ["no"], "/logs"),
    ],
)
def test_the_cookie_is_for_the_path_of_a_proxy(
    make_client: Make, prefix: str, forwarded: list[str], path: str
) -> None:
    """The proxy may say what it has cut off, or all that the browser has: it only narrows this."""
    app = make_client(token="secret", path_prefix=prefix).app
    headers = [("x-forwarded-prefix", each) for each in forwarded]
    answer = ask(app, f"GET {prefix}/data/runs?token=secret", headers)

    assert answer.headers["location"] == "?_"
    assert f"; Path={path}; HttpOnly" in answer.headers["set-cookie"]


@pytest.mark.parametrize("path", ["/s" + "x" * 32, SECRET_PATH])
def test_outside_the_secret_path_all_responses_are_the_same(make_client: Make, path: str) -> None:
    """Neither the address nor the headers change the response, which tells nothing."""
    app = make_client(path_prefix=path, has_secret_prefix=True).app
    parent = path.rpartition("/")[0]
    addresses = ("/", "/data/runs", f"{path[:-1]}", f"{path}x", f"{parent}/", "/healthz")
    for address, headers in itertools.product(
        addresses, ([], [("host", "example.com")], [("host", "!")], [("sec-fetch-site", "x")])
    ):
        assert ask(app, f"GET {address}", headers) == ask(app, "GET /")
    assert (ask(app, "GET /").status, ask(app, "GET /").text) == (404, "Not found")
    assert ask(app, f"GET {path}/data/runs", [("host", "hub.lan")]).text == "[]"
    assert ask(app, f"GET {path}/healthz").text == "ok\n"


@pytest.mark.parametrize("path", ["data/runs", "static/tbcore/shell/boot.js", "nothing"])
def test_a_cookie_is_renewed_when_it_is_used(app_of: Make, path: str) -> None:
    """After a day, one response has a new cookie; before, and without a cookie, none has one."""

    def new_cookie(*headers: tuple[str, str]) -> str | None:
        return ask(app_of("token"), f"GET /{path}", headers).headers.get("set-cookie")

    for days, is_renewed in ((6.9, False), (6.01, False), (5.99, True), (0.01, True)):
        set_cookie = new_cookie(("cookie", f"{NAME}={cookie(days=days)}"))
        assert (set_cookie is not None) == is_renewed, days
        assert set_cookie is None or 6.9 < days_of(set_cookie.removeprefix(NAME)) <= 7
    assert new_cookie(("authorization", "Bearer secret")) is None
    # The request of another site's page is refused before it has an effect on the cookie.
    old = "cookie", f"{NAME}={cookie(days=1)}"
    assert new_cookie(old, ("sec-fetch-site", "cross-site")) is None


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
        "wrong token from many addresses: 4,000 requests, and 1,000 from other addresses",
    ]
