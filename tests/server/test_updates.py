"""The progress of loading, as JSON and as a stream of events."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import scope_of
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, patient_tuning
from starlette.routing import Route

from tbcore import LegacyApi
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.http import json_response
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.status import LoadStatus
from tbcore_testing import write_run

Make = Callable[..., Any]


class Stream:
    """A client of data/updates, called as uvicorn would call the application."""

    def __init__(self) -> None:
        self.start: Any = None
        self.chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.times: list[float] = []
        """Times at which the chunks arrived, in seconds of the monotonic clock."""
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.start = message
            return
        if message.get("body"):
            self.times.append(time.monotonic())
            self.chunks.put_nowait(message["body"])
        if not message.get("more_body"):
            self.chunks.put_nowait(None)

    async def chunk(self) -> bytes | None:
        """The next part of the body; None after the last."""
        return await asyncio.wait_for(self.chunks.get(), WAIT_SECONDS)

    async def message(self) -> Any:
        """The next message of the stream, which must be a status."""
        chunk = await self.chunk()
        assert chunk is not None
        *_, data = chunk.removesuffix(b"\n\n").split(b"\n")
        return json.loads(data.removeprefix(b"data: "))


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[Stream]:
    """Opens a stream of updates, and disconnects at the end."""
    stream = Stream()
    scope = scope_of("GET /data/updates", [("accept-encoding", "gzip")])
    task = asyncio.ensure_future(app(scope, stream.receive, stream.send))
    try:
        yield stream
    finally:
        stream.gone.set()
        await asyncio.wait_for(task, WAIT_SECONDS)


@pytest.fixture
def empty_store(tmp_path: Path) -> tuple[Board, Loader]:
    """An empty board, and a loader that will load one run into it."""
    write_run(tmp_path, "train", scalars={"loss": [1.0]})
    board = Board()
    return board, Loader(board, [LogdirSpec(None, str(tmp_path))])


def test_the_status_of_an_empty_server(make_client: Make) -> None:
    """The status of an empty server has all fields."""
    status = make_client().get("data/status").json()

    assert len(status.pop("instance")) == 16
    assert status == {
        "generation": 0,
        "runs_generation": 0,
        "loading": False,
        "passes": 0,
        "num_runs": 0,
        "num_files": 0,
        "num_directories": 0,
        "bytes_read": 0,
        "bytes_total": 0,
        "logdirs": [],
        "looked_for": [],
        "missing": [],
        "problems": [],
        "problems_since": [],
        "past_problems": [],
        "other_files": [],
        "num_reloads": 0,
        "num_requests": 0,
        "num_requests_per_scan": 0,
        "scanned_at": None,
    }


def test_the_status_after_loading(
    make_client: Make, empty_store: tuple[Board, Loader], tmp_path: Path
) -> None:
    """`runs_generation` increases only when the list of runs and tags changes."""
    board, loader = empty_store
    client = make_client(board=board)
    loader.load_once()

    first = client.get("data/status").json()
    assert (first["num_runs"], first["num_files"], first["passes"]) == (1, 1, 1)
    assert first["bytes_read"] == first["bytes_total"] > 0
    assert first["runs_generation"] == first["generation"] > 0
    assert "runs" not in first
    assert time.time() - WAIT_SECONDS < first["scanned_at"] <= time.time()
    assert first["logdirs"] == [str(tmp_path)]

    write_run(tmp_path, "train", scalars={"loss": [(5, 2.0)]})
    loader.load_once()
    second = client.get("data/status?runs=true").json()
    assert second["generation"] > first["generation"]
    assert second["runs_generation"] == first["runs_generation"]
    assert second["runs"] == {"train": second["generation"]}
    assert second["instance"] == first["instance"]


def test_names_that_are_not_valid_unicode_do_not_break_the_status(make_client: Make) -> None:
    """Names that are not valid Unicode, as file systems may have, are escaped in the status."""
    board = Board()
    board.set_status(LoadStatus(missing=("/logs/\udcff",), problems=("bad \ud800",)))

    status = make_client(board=board).get("data/status").json()

    assert status["missing"] == ["/logs/\\xff"]
    assert status["problems"] == ["bad \ufffd"]


def test_a_stream_sends_the_status_at_once_and_when_it_changes(
    make_client: Make, empty_store: tuple[Board, Loader]
) -> None:
    """A stream sends the status at once, and again when another thread has changed it."""
    board, loader = empty_store
    tuning = patient_tuning(min_update_interval_seconds=0.05)
    app = make_client(board=board, tuning=tuning).app

    async def run() -> None:
        async with listening(app) as stream:
            first = await stream.chunk()
            assert first is not None
            assert first.startswith(b'retry: 2000\ndata: {"instance":')
            assert first.endswith(b"}\n\n")
            headers = dict(stream.start["headers"])
            assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
            assert headers[b"cache-control"] == b"no-store"
            assert headers[b"x-accel-buffering"] == b"no"
            assert b"content-encoding" not in headers
            assert b"content-security-policy" in headers

            threading.Thread(target=loader.load_once).start()
            status = await stream.message()
            while not status["passes"]:
                status = await stream.message()
            assert status["num_runs"] == 1
            board.set_status(board.status)
            assert stream.chunks.empty()

    asyncio.run(run())


def test_messages_are_a_second_apart(make_client: Make) -> None:
    """Messages are a second apart however often the status changes, and have the newest one."""
    board = Board()
    app = make_client(board=board).app

    async def run() -> None:
        async with listening(app) as stream:
            await stream.message()
            for passes in range(1, 101):
                board.set_status(replace(board.status, passes=passes))
            message = await stream.message()
            first, second = stream.times
            assert second - first > 0.9
            assert message["passes"] == 100

    asyncio.run(run())


def test_a_stream_without_messages_sends_heartbeats(make_client: Make) -> None:
    """Without messages, a stream sends comments, so that no proxy closes it."""
    tuning = patient_tuning(heartbeat_seconds=0.05, min_update_interval_seconds=0.0)
    app = make_client(tuning=tuning).app

    async def run() -> None:
        async with listening(app) as stream:
            await stream.message()
            assert [await stream.chunk() for _ in range(3)] == [b":\n\n"] * 3

    asyncio.run(run())


def test_streams_end_when_the_server_does(make_client: Make) -> None:
    """Streams end at once, even between two messages. Streams that start later end as well."""
    app = make_client(tuning=patient_tuning(min_update_interval_seconds=3600.0)).app

    async def run() -> None:
        async with listening(app) as stream, listening(app) as other:
            await stream.message()
            await other.message()
            app.close_streams()
            async with asyncio.timeout(AT_ONCE_SECONDS):
                assert await stream.chunk() is None
                assert await other.chunk() is None
        async with listening(app) as late:
            assert await late.chunk() is None

    asyncio.run(run())


def test_the_stream_of_a_closed_page_is_removed(make_client: Make) -> None:
    """The task of a stream ends with its client. Later changes do no harm."""
    board = Board()
    app = make_client(board=board).app

    async def run() -> None:
        for _ in range(3):
            async with listening(app) as stream:
                await stream.message()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    board.set_status(LoadStatus(passes=1))
    asyncio.run(run())


def test_a_page_that_is_closed_while_it_is_sent_a_message_is_not_counted(
    make_client: Make,
) -> None:
    """The server may rest at once: the garbage collector is not needed."""
    board = Board()
    app = make_client(board=board).app

    async def run() -> None:
        is_sent = asyncio.Event()

        async def receive() -> Any:
            await is_sent.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                assert board.num_viewers == 1
                is_sent.set()
                await asyncio.sleep(WAIT_SECONDS)

        await app(scope_of("GET /data/updates"), receive, send)
        assert board.num_viewers == 0

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        ("data/runs", True),
        ("data/run_details", True),
        ("legacy/data/runs", True),
        ("data/run_attributes", True),
        ("data/plugin/mine/points", True),
        ("data/old_points", True),
        ("data/status?visible=true", True),
        ("data/status?runs=true", False),
        ("data/plugin/other/points", False),
        ("data/environment", False),
        ("data/logdir", False),
        ("data/plugins", False),
        ("data/plugins_listing", False),
        ("data/frontends", False),
        ("data/nothing", False),
        ("static/tbcore/icon.svg", False),
        ("", False),
    ],
)
def test_requests_for_logged_data_end_a_rest(
    make_client: Make, make_plugin: Make, path: str, asks: bool
) -> None:
    """Those that probes and monitors send do not."""

    def points(request: Any) -> Any:
        return json_response([])

    plugin = make_plugin(
        routes=lambda: [Route("/points", points)],
        legacy_api=lambda: LegacyApi(routes=[Route("/old_points", points)]),
    )
    board = Board()
    scans: list[None] = []
    board.scan_soon = lambda: scans.append(None)
    client = make_client({"mine": plugin}, board=board)
    for is_idle, num in ((True, 1), (False, 0)):
        board.is_idle = is_idle
        board.last_request_at = -math.inf
        scans.clear()
        client.get(path)
        assert (board.idle_seconds < WAIT_SECONDS) == asks
        assert len(scans) == (num if asks else 0)


def test_an_open_stream_counts_as_asking(make_client: Make) -> None:
    """And so do the minutes after its end."""
    board = Board()
    app = make_client(board=board).app

    async def run() -> None:
        async with listening(app) as stream:
            await stream.message()
            assert board.idle_seconds == 0

    assert board.idle_seconds == math.inf
    asyncio.run(run())
    assert 0 < board.idle_seconds < WAIT_SECONDS
