"""The API before plugins had their own addresses: its index, and routes of plugins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until
from loaded_logs import board_of
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tbcore import LegacyApi, NotFoundError
from tbcore.plugins.types import LoadedPlugin, MountedPlugin
from tbcore.server.legacy import LegacyIndex
from tbcore.server.pool import ThreadPool
from tbcore.store.board import Board
from tbcore_testing import write_run

Make = Callable[..., Any]

EMPTY: dict[str, Any] = {
    "images": [],
    "audio": [],
    "histograms": [],
    "scalars": [],
    "compressedHistograms": [],
    "graph": False,
    "meta_graph": False,
    "run_metadata": [],
}


def text_handler(text: str) -> Callable[[Request], Response]:
    """A handler that responds with this text and the query of the request."""

    def handler(request: Request) -> Response:
        return PlainTextResponse(f"{text} {request.url.query}".strip())

    return handler


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """Two runs: `train` with data at 50 seconds, `eval` at 70."""
    write_run(tmp_path, "train", scalars={"loss": [1.0]}, wall_time=50.0)
    write_run(tmp_path, "eval", scalars={"acc": [1.0]}, wall_time=70.0)
    return board_of(tmp_path)


@pytest.fixture
def make(make_plugin: Make, make_client: Make, board: Board) -> Make:
    """`make({"name": LegacyApi(...)})`: a client of a server; each plugin has a legacy API."""

    def make(apis: dict[str, LegacyApi], **config: Any) -> Any:
        plugins = {name: make_plugin(legacy_api=_returning(api)) for name, api in apis.items()}
        return make_client(plugins, board=board, **config)

    return make


def _returning(api: LegacyApi) -> Callable[[], LegacyApi]:
    return lambda: api


def test_the_index_has_every_run_and_every_type(make: Make) -> None:
    """Each run has all tag types, even without plugins: old pages break on a missing key."""
    assert make({}).get("legacy/data/runs").json() == {
        "train": {**EMPTY, "firstEventTimestamp": 50.0},
        "eval": {**EMPTY, "firstEventTimestamp": 70.0},
    }


def test_plugins_provide_their_types(make: Make) -> None:
    """Plugins provide lists or booleans. For the same type, the first plugin by name is used."""
    tags = {"train": ["loss", "lr"], "eval": []}
    client = make(
        {
            "b": LegacyApi(tag_types={"scalars": lambda run: ["never"], "own": lambda run: ("x",)}),
            "a": LegacyApi(
                tag_types={"scalars": tags.__getitem__, "graph": lambda run: run == "train"}
            ),
        }
    )

    index = client.get("legacy/data/runs").json()

    assert index["train"]["scalars"] == ["loss", "lr"]
    assert index["train"]["graph"] is True
    assert index["eval"]["scalars"] == []
    assert index["eval"]["graph"] is False
    assert index["eval"]["own"] == ["x"]
    assert list(index) == ["train", "eval"]


def test_data_runs_is_the_list_unless_the_api_is_legacy(make: Make) -> None:
    """`data/runs` is the list of runs, or with `--api legacy` the index."""
    assert make({}).get("data/runs").json() == ["train", "eval"]
    swapped = make({}, api="legacy")
    assert swapped.get("data/runs").json() == swapped.get("legacy/data/runs").json()
    assert "firstEventTimestamp" in swapped.get("data/runs").json()["train"]
    assert swapped.get("legacy/data/logdir").json() == {"logdir": "logs"}


def test_a_broken_type_is_left_out(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """A type whose function fails is left out, which is logged once; other types are kept."""

    def broken(run: str) -> list[str]:
        raise KeyError(run)

    client = make(
        {
            "bad": LegacyApi(
                tag_types={
                    "images": broken,
                    "audio": lambda run: None,  # type: ignore[arg-type, return-value]
                    "histograms": lambda run: ["w", object()],  # type: ignore[dict-item]
                    "graph": lambda run: True,
                }
            ),
            "good": LegacyApi(tag_types={"scalars": lambda run: ["loss"]}),
        }
    )

    for _ in range(2):
        index = client.get("legacy/data/runs").json()
        assert index["eval"]["images"] == []
        assert index["eval"]["audio"] == []
        assert index["eval"]["histograms"] == []
        assert index["eval"]["graph"] is True
        assert index["eval"]["scalars"] == ["loss"]
    assert [record.message for record in caplog.records] == [
        "plugin 'bad': tags of type 'images' are left out: KeyError: 'train'",
        "plugin 'bad': tags of type 'audio' are left out: "
        "TypeError: 'NoneType' object is not iterable",
        "plugin 'bad': tags of type 'histograms' are left out: "
        "TypeError: tags must be strings, got object",
    ]


def test_a_blocked_plugin_does_not_block_the_index(
    make: Make, tuning: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The types of a blocked plugin are empty, and it is not called again until it returns."""
    release = threading.Event()
    calls = []

    def block(run: str) -> list[str]:
        calls.append(run)
        release.wait(WAIT_SECONDS)
        return ["late"]

    client = make(
        {
            "bad": LegacyApi(tag_types={"images": block}),
            "good": LegacyApi(tag_types={"scalars": lambda run: ["loss"]}),
        },
        tuning=tuning,
    )

    def index() -> dict[str, Any]:
        found: dict[str, Any] = client.get("legacy/data/runs").json()["train"]
        assert found["images"] == []
        return found

    # Only here: on a busy machine the other plugin might need as long.
    tuning.plugin_timeout_seconds = 0.2
    until(lambda: index()["scalars"] == ["loss"])
    tuning.plugin_timeout_seconds = WAIT_SECONDS
    for _ in range(20):
        assert index()["scalars"] == ["loss"]
    assert caplog.text.count("plugin 'bad' is left out of the index: no result within 0.2 s") == 1
    assert len(calls) == 1

    release.set()
    until(lambda: client.get("legacy/data/runs").json()["eval"]["images"])


def test_a_plugin_that_blocks_two_requests_is_not_called_while_one_is_blocked(
    board: Board, tuning: Any
) -> None:
    """A third request calls it only when the calls of both requests have returned."""
    released = [threading.Event(), threading.Event()]
    calls = []

    def block(run: str) -> list[str]:
        if run == "train":
            calls.append(run)
            if len(calls) <= len(released):
                released[len(calls) - 1].wait(WAIT_SECONDS)
        return ["late"]

    api = LegacyApi(tag_types={"images": block})
    pool = ThreadPool("test", max_threads=2)
    mounted = MountedPlugin(LoadedPlugin("bad", ""), legacy=api)
    plugin: Any = SimpleNamespace(mounted=mounted, pool=pool)
    index = LegacyIndex(board, [plugin], tuning)

    async def ask() -> Any:
        return (await index.as_json(Request({"type": "http"})))["train"]["images"]

    async def ask_thrice() -> None:
        tuning.plugin_timeout_seconds = 0.2
        assert await asyncio.gather(ask(), ask()) == [[], []]
        until(lambda: len(calls) == 2)
        tuning.plugin_timeout_seconds = WAIT_SECONDS
        for num_free, expected in ((1, []), (2, ["late"])):
            released[-num_free].set()
            # Jobs that wait for each other run when this number of threads has no other call.
            meeting = threading.Barrier(num_free)
            await asyncio.gather(*(pool.run(meeting.wait) for _ in range(num_free)))
            assert await ask() == expected

    asyncio.run(ask_thrice())
    assert len(calls) == 3


def test_routes_are_below_data_and_below_legacy(make: Make) -> None:
    """Legacy routes are at both places. Addresses of the core, then of the first plugin, win."""
    first = LegacyApi(
        routes=[
            Route("/things", text_handler("a")),
            Route("/runs", text_handler("never")),
            Route("/p/{x}", text_handler("p")),
        ]
    )
    second = LegacyApi(
        routes=[Route("/things", text_handler("b")), Route("/others", text_handler("b"))]
    )
    client = make({"a": first, "b": second})

    for prefix in ("data", "legacy/data"):
        assert client.get(f"{prefix}/things?x=1").text == "a x=1"
        assert client.get(f"{prefix}/things/").text == "a"
        assert client.get(f"{prefix}/others").text == "b"
        assert client.get(f"{prefix}/p/1").text == "p"
        assert client.get(f"{prefix}/none").status_code == 404
        assert client.post(f"{prefix}/others").status_code == 405
    assert client.get("data/runs").json() == ["train", "eval"]
    assert client.get("things").status_code == 404


def test_bare_routes_are_at_the_root_and_below_legacy(make: Make) -> None:
    """At the address of an old page, only a request with run and tag is a request for data."""
    api = LegacyApi(
        bare_routes=[
            Route("/audio", text_handler("audio")),
            Route("/individualAudio", text_handler("one")),
        ]
    )
    client = make({"a": api}, path_prefix="/p")

    for prefix in ("", "legacy/"):
        assert client.get(f"{prefix}audio?run=a&tag=").text == "audio run=a&tag="
        assert client.get(f"{prefix}individualAudio?index=0").text == "one index=0"
    assert client.get("audio?run=a").headers["location"] == "./"
    assert client.get("audio").headers["location"] == "./"
    assert client.get("legacy/audio").status_code == 404
    assert client.get("data/audio?run=a&tag=b").status_code == 404


@pytest.mark.parametrize(
    ("path", "method", "status", "content_type"),
    [
        ("", "GET", 200, "text/html; charset=utf-8"),
        ("static/tbcore/shell/boot.js", "GET", 200, "text/javascript; charset=utf-8"),
        ("static/none/none.js", "GET", 404, "text/plain; charset=utf-8"),
        ("data/updates", "HEAD", 200, "text/event-stream; charset=utf-8"),
        ("data/updates", "POST", 405, "text/plain; charset=utf-8"),
        ("data/environment", "GET", 200, "application/json"),
        ("data/plugin/a/x", "GET", 404, "text/plain; charset=utf-8"),
        ("data/plugin/none/x", "GET", 404, "text/plain; charset=utf-8"),
        ("events", "GET", 302, None),
        ("events", "POST", 405, "text/plain; charset=utf-8"),
    ],
)
def test_no_plugin_can_replace_an_address_of_the_core(
    make: Make, path: str, method: str, status: int, content_type: str | None
) -> None:
    """Routes that match any path are used only for addresses that the core does not have."""
    routes = [
        Route(path, text_handler("mine"), methods=["GET", "POST"])
        for path in ("/", "/{anything:path}")
    ]
    client = make({"a": LegacyApi(routes=routes, bare_routes=routes)})

    response = client.request(method, path)

    assert (response.status_code, response.headers.get("content-type")) == (status, content_type)
    assert response.text != "mine"
    assert client.get("data/other").text == "mine"
    assert client.get("other").text == "mine"


def test_a_fault_in_a_legacy_route_is_guarded(make: Make) -> None:
    """Errors and faults of legacy routes become responses, as those of other routes do."""

    def unknown(request: Request) -> Response:
        raise NotFoundError("no such run")

    def broken(request: Request) -> Response:
        raise ValueError

    client = make({"a": LegacyApi(routes=[Route("/x", unknown), Route("/y", broken)])})

    assert (client.get("data/x").status_code, client.get("data/x").text) == (404, "no such run")
    assert client.get("data/y").text.startswith("plugin 'a' failed in its route '/y'")


def test_a_failed_plugin_has_no_legacy_routes(make: Make) -> None:
    """If one legacy route is invalid, the plugin has failed, and none of its routes is served."""
    client = make(
        {"a": LegacyApi(routes=[Route("/x", text_handler("x")), Route("/bad/", text_handler("x"))])}
    )

    assert client.get("data/x").status_code == 404
    assert client.get("data/plugin/a/x").status_code == 503
