"""Servers of an index that are processes: at different versions, and without the logs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from common_fixtures import port_of, until
from same_answers import update

from tbcore.testing import summaries, write_run

SCALARS = "/data/plugin/scalars/scalars?run=a&tag=loss"
IMAGES = "/data/plugin/images/images?run=a&tag=i"
HISTOGRAMS = "/data/plugin/histograms/series?run=a&tag=h"
TEXTS = "/data/plugin/text/text?run=a&tag=t"
Serve = Callable[[Path], httpx.Client]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of an index; returns a client of it when all is loaded."""
    started: list[subprocess.Popen[Any]] = []

    def start(index: Path) -> httpx.Client:
        log = tmp_path / f"server{len(started)}.log"
        command: list[Any] = [sys.executable, "-u", "-m", "tbcore", "serve", "--index", index]
        # One scan: a server stays at the version at which it was started.
        command += ["--reload_interval", "0", "--port", "0"]
        with log.open("wb") as output:
            started.append(subprocess.Popen(command, stdout=output, stderr=output))
        client = httpx.Client(base_url=f"http://127.0.0.1:{port_of(started[-1], log)}", timeout=60)
        until(lambda: client.get("/data/status").json()["passes"] > 0)
        return client

    yield start
    for process in started:
        process.terminate()
        process.wait(60)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A run with points, texts and images."""
    write_run(
        tmp_path / "logs", "a",
        scalars={"loss": [3.0, 2.0, 1.0]}, histograms={"h": [[1.0, 2.0]]},
        texts={"t": ["hello"]}, images={"i": [summaries.png()]},
        wall_time=1.7e9,
    )  # fmt: skip
    return tmp_path / "logs"


def test_without_the_logs_numbers_are_served_and_items_say_why_not(
    logdir: Path, tmp_path: Path, serve: Serve
) -> None:
    update(logdir, tmp_path / "index")
    shutil.rmtree(logdir)

    client = serve(tmp_path / "index")

    assert client.get("/data/runs").json() == ["a"]
    assert [value for _, _, value in client.get(SCALARS).json()] == [3.0, 2.0, 1.0]
    for address in (IMAGES, TEXTS):
        response = client.get(address)
        assert response.status_code == 404
        assert response.text.startswith(f"cannot read {logdir}/a/")
        assert response.text.strip().endswith("No such file or directory")
    assert client.get(SCALARS).status_code == 200


def asked(client: httpx.Client, *, window: str = "", table: str = "", since: str = "") -> Any:
    """The answers of the routes that a page tells which generation it knows of."""
    body = {
        "runs": ["a"], "tag": "loss", "x": "step", "from": None, "to": None, "pixels": 50,
        "scale": "linear", "known": {"a": window},
    }  # fmt: skip
    points = client.post("/data/plugin/scalars/window", json=body)
    [line] = header(points.content)["runs"]
    sessions = header(client.get(f"/data/plugin/hparams/table?known={table}").content)
    columns = client.post("/data/run_attributes", json={"since": since, "last_steps": True}).json()
    return line, sessions, columns


def header(content: bytes) -> Any:
    """The header of a response with tables."""
    size = int.from_bytes(content[:4], "little")
    return json.loads(content[4 : 4 + size])["header"]


def test_what_a_page_knows_of_a_server_says_nothing_about_another_one(
    logdir: Path, tmp_path: Path, serve: Serve
) -> None:
    """Behind one address are servers of two versions of the index, in which a run is replaced."""
    update(logdir, tmp_path / "index")
    old = serve(tmp_path / "index")
    old_histograms = old.get(HISTOGRAMS)
    shutil.rmtree(logdir / "a")
    write_run(logdir, "a", scalars={"loss": [7.0, 8.0, 9.0]}, histograms={"h": [[5.0, 6.0]]})
    update(logdir, tmp_path / "index")
    new = serve(tmp_path / "index")
    assert old.get(SCALARS).json()[0][2] == 3.0
    assert new.get(SCALARS).json()[0][2] == 7.0

    for one, other in ((old, new), (new, old)):
        line, sessions, columns = asked(one)
        known = {
            "window": line["generation"],
            "table": sessions["generation"],
            "since": columns["generation"],
        }
        same = asked(one, **known)
        assert (same[0]["unchanged"], same[1]["unchanged"]) == (True, True)
        assert same[2]["is_delta"]
        line, sessions, columns = asked(other, **known)
        assert not line["unchanged"]
        assert not sessions.get("unchanged")
        assert not columns["is_delta"]

    etag = old_histograms.headers["etag"]
    assert old.get(HISTOGRAMS, headers={"if-none-match": etag}).status_code == 304
    histograms = new.get(HISTOGRAMS, headers={"if-none-match": etag})
    assert histograms.status_code == 200
    assert histograms.headers["etag"] != etag
    assert histograms.json() != old_histograms.json()
