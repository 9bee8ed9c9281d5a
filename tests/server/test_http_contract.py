"""HTTP as one table: what each server answers to a method, an address and headers.

A line of the table is a request, its headers after `|`, the status, and either the whole body, the
beginning of an error, or `name: value`, a header of the response; `gzip: ` comes before a body that
is compressed. `check` has the rules for all. Lines about access control are in test_gate.py.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
import tables_of_http
from asking import ask
from common_fixtures import until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loaded_logs import board_of
from tables_of_http import Row, check, lines, row_id

import tbcore_scalars
from tbcore_testing import RouteTests, write_run

Make = Callable[..., Any]

POINTS = [
    [1443856985.705543, 1448, 0.7461960315704346],
    [1443857105.704628, 3438, 0.5427092909812927],
    [1443857225.705133, 5417, 0.5457325577735901],
]
"""The rows in the example of the documentation."""


def write_documented_runs(logdir: Path) -> None:
    """Writes the two runs of the documentation, and one without scalars."""
    loss = [(step, value, wall_time) for wall_time, step, value in POINTS]
    scalars = {"xent": [0.5], "loss": loss, "learning_rate": [0.1]}
    write_run(logdir, "train_run", wall_time=1.0, scalars=scalars)
    write_run(logdir, "eval", scalars={"precision": [0.5], "recall": [0.25]}, wall_time=2.0)
    write_run(logdir, "empty", wall_time=3.0)


class TestRoutes(RouteTests):
    """The routes of the core. Those of plugins are in the plugins' tests."""

    plugin = tbcore_scalars
    routes: ClassVar = {
        "data/logdir": ["legacy/data/logdir"],
        "data/scalars": ["legacy/data/scalars"],
        **{
            address: []
            for address in (
                "data/runs", "data/plugins_listing", "data/environment", "data/frontends",
                "data/status", "legacy/data/runs",
            )
        },
    }  # fmt: skip

    def write_logs(self, logdir: Path) -> None:
        write_documented_runs(logdir)


# The table ---------------------------------------------------------------------------------------

DOCUMENTED = lines("documented", r"""
GET /data/runs                 200 ["train_run","eval","empty"]
GET /data/plugin/scalars/tags  200 {"train_run":["xent","loss","learning_rate"],"eval":["precision","recall"],"empty":[]}
GET /data/plugin/scalars/tags?shared= 200 {"":[["xent","loss","learning_rate"],["precision","recall"],[]],"train_run":0,"eval":1,"empty":2}
GET /data/plugin/scalars/scalars?run=train_run&tag=loss 200 [[1443856985.705543,1448,0.7461960315704346],[1443857105.704628,3438,0.5427092909812927],[1443857225.705133,5417,0.5457325577735901]]
GET /data/plugin/scalars/scalars?run=train_run&tag=loss&format=csv 200 content-type: text/csv; charset=utf-8
GET /data/plugin/scalars/scalars?run=train_run&tag=loss&format=csv 200 Wall time,step,value\r\n1443856985.705543,1448,0.7461960315704346\r\n1443857105.704628,3438,0.5427092909812927\r\n1443857225.705133,5417,0.5457325577735901\r\n
GET /data/plugin/scalars/scalars?run=eval&run=train_run&tag=loss 404 no tag 'loss' in run 'eval'
GET /data/runs                            200 vary: Accept-Encoding
GET /data/runs | accept-encoding: gzip    200 gzip: ["train_run","eval","empty"]
GET /data/runs | accept-encoding: deflate, gzip           200 gzip: ["train_run","eval","empty"]
GET /data/runs | accept-encoding: gzip;q=1.0, *;q=0.5     200 gzip: ["train_run","eval","empty"]
GET /data/runs | accept-encoding: identity 200 ["train_run","eval","empty"]
GET /data/runs | accept-encoding: gzip;q=0 200 ["train_run","eval","empty"]
GET /data/runs | accept-encoding: br       200 ["train_run","eval","empty"]
GET /data/runs/                            200 ["train_run","eval","empty"]
GET /data/runs | host: evil.example        403 host 'evil.example' is not allowed; start the server with --allowed_host
GET //data/runs                            404 Not found
GET /data/plugin/scalars/../../runs        404 Not found
GET /data/plugin/scalars/nothing           404 Not found
GET /data/plugin/scalars/tags%2f..         404 Not found
GET /data/plugin/nothing/tags              404 Not found
GET /data/plugin/scalars                   404 Not found
POST /data/runs                            405 allow: GET, HEAD
HEAD /data/runs                            200 content-type: application/json
""")  # noqa: E501  # fmt: skip
"""With the logs of the documentation; a real server has the same answers."""

CORE = lines("documented", r"""
GET /data/plugins_listing           200 {"scalars":true}
""") + lines("plain", r"""
GET /                               200 content-type: text/html; charset=utf-8
GET /data/runs                      200 []
GET /data/runs                      200 content-type: application/json
GET /data/runs/                     200 []
GET /data/logdir                    200 {"logdir":"logs"}
GET /data/logdir/                   200 {"logdir":"logs"}
GET /static/tbcore/index.html       200 content-type: text/html; charset=utf-8
HEAD /data/updates                  200 content-type: text/event-stream; charset=utf-8
GET /data/plugin/made/x             200 GET hello
POST /data/plugin/made/x            200 POST hello
GET /data/plugin/made/csp           200
GET /data/plugin/made/fails         500
GET /data/plugin/bad/x              503 plugin 'bad'
GET /static/plugins/package/index.js          200 content-type: text/javascript; charset=utf-8
GET /static/plugins/package/index.js          200 vary: Accept-Encoding
GET /static/plugins/package/index.js | accept-encoding: gzip     200 gzip: export default {};
GET /static/plugins/package/index.js | accept-encoding: identity 200 export default {};
GET /static/plugins/package/lib/a%20b.mjs     200 content-type: text/javascript; charset=utf-8
GET /static/plugins/package/style.css         200 content-type: text/css; charset=utf-8
GET /static/plugins/package/data.bin          200 content-type: application/octet-stream
""") + lines("dev", r"""
GET /static/plugins/package/index.js          200 cache-control: no-store
""") + lines("prefix", r"""
GET /a/b?x=1                        301 location: b/?x=1
GET /a/b                            301 location: b/
GET /a/b/                           200 content-type: text/html; charset=utf-8
GET /a/b/data/runs/                 200 []
GET /a/b/data/plugin/made/x         200 GET hello
GET /a/b/static/plugins/package/index.js      200 content-type: text/javascript; charset=utf-8
GET /a/b/legacy/data/runs           200 {}
""")  # fmt: skip
METHODS = [
    Row("plain", f"{method} {path}", (), 405, answer)
    for path in ("/", "/data/runs", "/data/updates", "/data/frontends", "/static/tbcore/index.html")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO")
    for answer in ("allow: GET, HEAD", f"method {method} is not allowed here; allowed: GET, HEAD")
]
OLD_PAGES = [
    Row("prefix", f"GET /a/b/{page}{rest}", (), 302, f"location: {location}")
    for page in ("events", "images", "audio", "graphs", "histograms")
    for rest, location in (("", "./"), ("?run=a", "./"), ("?tag=a", "./"), ("/", "../"))
]
UNKNOWN = [
    "nothing", "data", "data/", "data/nothing", "data/runs/x", "data/runs//", "/data/runs",
    "data/plugin", "data/plugin/none/tags", "static", "static/", "static/tbcore",
    "static/tbcore/none.js", "static/plugins/none/index.js", "static/plugins/made/index.js",
    "static/plugins/bad/index.js", "legacy", "legacy/data", "legacy/data/scalars",
    "DATA/RUNS", "data/runs%00", "data/%72uns%00", "%ff",
]  # fmt: skip
OUTSIDE_OF_FOLDER = [
    "../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "lib/../../secret.txt",
    "lib/%2e%2e/%2e%2e/secret.txt", "..%5csecret.txt", "..\\secret.txt", "/etc/passwd",
    "%2fetc%2fpasswd", "//etc/passwd", "./index.js", "lib//a%20b.mjs", ".secret", "code.py",
    "lib", "", "index.js%00", "index.js%00.css", "index.js:stream", "%ff", "x" * 5000,
    "x/" * 2000, "....//secret.txt", "%c0%ae%c0%ae/secret.txt",
]  # fmt: skip
"""Paths below the folder of a plugin's files, which are 404: those that lead out of it, files that
are not for browsers, and odd names."""
NOT_FOUND = [
    *(Row("plain", f"GET /{path}", (), 404, "Not found") for path in UNKNOWN),
    *(
        Row("plain", f"POST /{path}", (), 405 if path.rstrip("/").startswith("static/") else 404)
        for path in UNKNOWN
    ),
    *(
        Row("plain", f"GET /static/plugins/package/{path}", (), 404, "Not found")
        for path in OUTSIDE_OF_FOLDER
    ),
    *(
        Row("prefix", f"GET {path}", (), 404, "Not found")
        for path in ("/", "/a", "/a/", "/a/bc", "/data/runs", "/a/b//", "//a/b/", "/a/bx/data/runs")
    ),
]
TARGETS = [
    Row(
        "plain", f"GET {target}", (), 400,
        "the target of the request must be a path that starts with '/'",
    )
    for target in ("http://localhost/data/runs", "*", "data/runs", "localhost:80")
]  # fmt: skip
TABLE = [*DOCUMENTED, *CORE, *METHODS, *OLD_PAGES, *NOT_FOUND, *TARGETS]


@pytest.fixture(scope="module")
def app_of(
    tmp_path_factory: pytest.TempPathFactory, make_client: Make, make_plugin: Make
) -> Callable[[str], Any]:
    """`app_of("prefix")`: the application of a server; one for all its rows."""
    logdir = tmp_path_factory.mktemp("documented")
    write_documented_runs(logdir)
    documented = {"board": board_of(logdir), "plugins": {"scalars": tbcore_scalars}}
    folder = tmp_path_factory.mktemp("package")
    return tables_of_http.apps(make_client, make_plugin, folder, documented=documented)


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_the_answers(app_of: Make, row: Row) -> None:
    check(row, app_of(row.server))


def test_a_real_server_has_the_same_answers(tmp_path: Path, serve: Callable[..., str]) -> None:
    """Several on one connection, also to requests that clients would change."""
    write_documented_runs(tmp_path)
    server = urlsplit(serve(tmp_path, "--samples_per_plugin", "scalars=0"))
    assert server.hostname is not None
    connection = http.client.HTTPConnection(server.hostname, server.port, timeout=60)

    def answer(row: Row) -> tuple[int, Any, bytes]:
        has_host = any(name == "host" for name, _ in row.headers)
        method, target = row.request.split(" ")
        connection.putrequest(method, target, has_host, skip_accept_encoding=True)
        for name, value in row.headers:
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    until(lambda: answer(DOCUMENTED[0])[2].decode() == DOCUMENTED[0].answer)
    for row in DOCUMENTED:
        status, headers, body = answer(row)
        assert status == row.status, row
        tables_of_http.check_answer(row, headers, body)
    connection.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    path=st.text(st.characters(codec="utf-8"), max_size=30)
    | st.lists(
        st.sampled_from(
            ["data", "plugin", "made", "x", "runs", "legacy", "static", "tbcore", "..", "", "%00"]
        )
    ).map("/".join),
    query=st.binary(max_size=30),
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "OPTIONS"]),
    headers=st.lists(
        st.tuples(
            st.sampled_from(
                ["accept-encoding", "range", "if-none-match", "cookie", "content-length",
                 "content-type", "sec-fetch-site", "origin", "authorization"]
            ),
            st.binary(max_size=20).map(lambda value: value.decode("latin-1")),
        ),
        max_size=3,
    ),
)  # fmt: skip
def test_no_request_causes_a_server_error(
    app_of: Make, path: str, query: bytes, method: str, headers: Any
) -> None:
    """No request to the core or a plugin causes a status 5xx or an exception."""
    if path.strip("/") == "data/updates" and method == "GET":
        return
    raw = {"path": f"/{path}", "raw_path": f"/{path}".encode(), "query_string": query}
    assert ask(app_of("dev"), f"{method} /", headers, **raw).status < 500
