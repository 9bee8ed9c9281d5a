"""Long use: P8 open files do not grow with runs; P9 nothing grows with time."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run


@contextmanager
def watched(server: Any) -> Iterator[list[int]]:
    """Counts open files repeatedly; yields a list with the largest number."""
    stopping = threading.Event()
    most = [0]

    def count() -> None:
        while not stopping.wait(0.002):
            most[0] = max(most[0], server.num_descriptors())

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield most
    finally:
        stopping.set()
        thread.join()


@pytest.mark.parametrize("num_runs", [600, pytest.param(2000, marks=pytest.mark.release)])
def test_p8_descriptors_do_not_grow_with_runs(start: Any, tmp_path: Path, num_runs: int) -> None:
    """With a limit of 256 open files all runs load and grow, and all pictures can be requested."""
    logs = tmp_path / "logs"
    logs.mkdir()
    server = start(logs, descriptors=256)
    with watched(server) as most:
        path = write_run(tmp_path, "one", scalars={"a": [1.0]}, images={"i": [summaries.png()]})
        for number in range(num_runs):
            (logs / f"{number}").mkdir()
            shutil.copyfile(path, logs / f"{number}" / "a.tfevents")
        server.wait(lambda: len(server.get("/data/runs").json()) == num_runs)
        for number in range(num_runs):
            with EventFileWriter(logs / f"{number}" / "a.tfevents") as writer:
                writer.add_scalar("a", 2.0, 1)
        server.wait_for_scan()
        for number in range(num_runs):
            assert server.steps(f"{number}") == [0, 1]
        for number in range(0, num_runs, 7):
            [entry] = server.get("/data/plugin/images/images", run=number, tag="i").json()
            response = server.get(f"/data/plugin/images/individualImage?{entry['query']}")
            assert response.body == summaries.png()
    print(f"at most {most[0]} descriptors with {num_runs} runs")
    assert most[0] < 64
    assert server.stderr == ""


@pytest.mark.release
def test_p9_nothing_grows_with_time(start: Any, tmp_path: Path) -> None:
    """In 300 cycles a run starts, grows, gets a second file, is truncated and is deleted.

    Clients connect and disconnect all the time.
    """
    logs = tmp_path / "logs"
    write_run(logs, "stays", scalars={"a": [float(step) for step in range(20_000)]})
    server = start(logs)
    figures: list[tuple[int, int, int]] = []
    warm_up = 50
    for cycle in range(warm_up + 300):
        run = f"cycle/{cycle % 7}" if cycle % 2 else f"cycle/new {cycle}"
        with EventFileWriter(logs / run / "1.tfevents") as writer:
            for step in range(500):
                writer.add_scalar("a", step, step)
            writer.add_image("i", summaries.png(8, 8), 0)
            writer.add_histogram("h", [1.0, 2.0], 0)
        server.wait(lambda run=run: server.steps(run)[-1:] == [499])
        with EventFileWriter(logs / run / "2.tfevents") as writer:
            writer.add_scalar("a", 1.0, 500)
            writer.add_bytes(b"half a record")
        if cycle % 3 == 0:
            os.truncate(logs / run / "1.tfevents", 5000)
        # Like a page: an open stream of updates, some requests, and a client that disconnects.
        with socket.create_connection(("127.0.0.1", server.port)) as stream:
            stream.sendall(b"GET /data/updates HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(100)
            for path in ("/", "/data/runs", "/data/plugin/scalars/tags", "/data/frontends"):
                assert server.request(path).status == 200
            server.get("/data/plugin/images/images", run=run, tag="i")
            server.get("/data/plugin/scalars/scalars", run="no such run", tag="a")
            half = socket.create_connection(("127.0.0.1", server.port))
            half.sendall(b"GET /data/runs HT")
            half.close()
        server.wait(lambda run=run: server.steps(run)[-1:] == [500])
        shutil.rmtree(logs / run)
        server.wait(lambda run=run: run not in server.get("/data/runs").json())
        if cycle >= warm_up:
            figures.append(
                (server.status_figure("VmRSS"), server.num_descriptors(),
                 server.status_figure("Threads"))
            )  # fmt: skip
    # The minimum of the first and of the last tenth, to exclude temporary objects.
    first, last = figures[:30], figures[-30:]
    rss, descriptors, threads = (
        (min(column), min(later))
        for column, later in zip(zip(*first, strict=True), zip(*last, strict=True), strict=True)
    )
    print(f"KiB {rss}, descriptors {descriptors}, threads {threads}")
    assert rss[1] - rss[0] <= max(8 << 10, rss[0] // 20)
    assert descriptors[1] - descriptors[0] <= 3
    assert threads[1] - threads[0] <= 3
