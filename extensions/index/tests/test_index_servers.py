"""Servers of an index that are processes: at different versions, and without the logs."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from common_fixtures import port_of, until
from same_answers import update

from tbcore_index.tables import Place, Tables
from tbcore_testing import EventFileWriter, read_columns, summaries, write_run

SCALARS = "/data/plugin/scalars/scalars?run=a&tag=loss"
IMAGES = "/data/plugin/images/images?run=a&tag=i"
HISTOGRAMS = "/data/plugin/histograms/series?run=a&tag=h"
TEXTS = "/data/plugin/text/text?run=a&tag=t"
Serve = Callable[..., httpx.Client]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[Any]]]:
    """The servers of a test."""
    processes: list[subprocess.Popen[Any]] = []
    yield processes
    for process in processes:
        process.terminate()
        process.wait(60)


@pytest.fixture
def serve(tmp_path: Path, started: list[subprocess.Popen[Any]]) -> Serve:
    """Starts a server of an index; returns a client of it when all is loaded.

    By default it scans once, and so stays at the version of the index at which it was started.
    """
    pytest.importorskip("tbcore_scalars", reason="tbcore-scalars is not installed")

    def start(index: Path, reload_interval: int = 0) -> httpx.Client:
        log = tmp_path / f"server{len(started)}.log"
        command: list[Any] = [sys.executable, "-u", "-m", "tbcore", "serve", "--index", index]
        command += ["--reload_interval", str(reload_interval), "--port", "0"]
        with log.open("wb") as output:
            started.append(subprocess.Popen(command, stdout=output, stderr=output))
        client = httpx.Client(base_url=f"http://127.0.0.1:{port_of(started[-1], log)}", timeout=60)
        until(lambda: client.get("/data/status").json()["passes"] > 0)
        return client

    return start


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
    [line] = read_columns(points.content)[0]["runs"]
    hparams = client.get(f"/data/plugin/hparams/table?known={table}").content
    columns = client.post("/data/run_attributes", json={"since": since, "columns": ["step"]}).json()
    return line, read_columns(hparams)[0], columns


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


def test_a_server_that_slept_through_a_vacuum_goes_on(
    logdir: Path, tmp_path: Path, serve: Serve, started: list[subprocess.Popen[Any]]
) -> None:
    """The files that it knew are gone: what did not change is where the index has it by now."""
    index = tmp_path / "index"
    for name in ("b", "c"):
        write_run(logdir, name, scalars={"loss": [5.0, 4.0]})
        # A file that has just changed would be read again.
        os.utime(next((logdir / name).iterdir()), (1e9, 1e9))
    update(logdir, index)
    client = serve(index, reload_interval=1)
    started[0].send_signal(signal.SIGSTOP)
    with EventFileWriter(next((logdir / "c").iterdir())) as writer:
        writer.add_scalar("loss", 3.0, step=2)
    update(logdir, index)
    assert Tables(Place(str(index))).vacuum(0) >= 4
    started[0].send_signal(signal.SIGCONT)

    def values(run: str) -> list[float] | None:
        response = client.get(f"/data/plugin/scalars/scalars?run={run}&tag=loss")
        if response.status_code == 404:
            assert "was indexed again; ask again" in response.text
            return None
        return [value for _, _, value in response.json()]

    assert values("b") == [5.0, 4.0]
    until(lambda: values("c") == [5.0, 4.0, 3.0])


@pytest.mark.release
def test_commits_each_second_while_50_clients_ask(
    tmp_path: Path, serve: Serve, started: list[subprocess.Popen[Any]]
) -> None:
    """P10 from an index: fast answers without an error, in which points are only added."""
    logdir, index = tmp_path / "logs", tmp_path / "index"
    for number in range(200):
        write_run(logdir, f"run{number}", scalars={"loss": [float(i) for i in range(500)]})
    update(logdir, index)
    client = serve(index, reload_interval=1)
    arguments = str(logdir), "--index", str(index), "--reload_interval", "1"
    coordinator = subprocess.Popen([sys.executable, "-m", "tbcore", "index", *arguments])
    started.append(coordinator)
    stopping = threading.Event()
    seconds: list[float] = []

    def ask(seed: int) -> None:
        numbers = random.Random(seed)
        known: dict[str, int] = {}
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            while not stopping.is_set():
                run = f"run{numbers.randrange(200)}"
                began = time.monotonic()
                response = own.get(f"/data/plugin/scalars/scalars?run={run}&tag=loss")
                seconds.append(time.monotonic() - began)
                if response.status_code == 404 and "ask again" in response.text:
                    continue
                values = [value for _, _, value in response.json()]
                assert values == [float(i) for i in range(len(values))]
                assert len(values) >= known.get(run, 500)
                known[run] = len(values)
                time.sleep(0.1)

    before = Place(str(index)).delta("runs").version()
    with ThreadPoolExecutor(50) as pool:
        asking = [pool.submit(ask, seed) for seed in range(50)]
        lengths = [500] * 200
        for second in range(30):
            for number in range(second % 10, 200, 10):
                with EventFileWriter(next((logdir / f"run{number}").iterdir())) as writer:
                    for step in range(lengths[number], lengths[number] + 50):
                        writer.add_scalar("loss", step, step)
                lengths[number] += 50
            write_run(logdir, f"new{second}", scalars={"loss": [1.0]})
            stopping.wait(1)
        stopping.set()
        for each in asking:
            each.result()

    commits = Place(str(index)).delta("runs").version() - before
    peak = int(re.search(r"VmHWM:\s+(\d+)", status_of(started[0]))[1]) // 1024
    worst = sorted(seconds)[int(len(seconds) * 0.99)]
    print(f"{commits} commits, {len(seconds)} responses, 99 % in {worst:.3f} s, {peak} MB")
    assert commits > 15
    assert len(seconds) > 3000
    assert worst < 2
    assert peak < 400


def status_of(process: subprocess.Popen[Any]) -> str:
    return Path(f"/proc/{process.pid}/status").read_text()
