"""Servers of remote logs: each answer is that from a disk, and changes show by themselves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
import storages

from tbcore_testing import EventFileWriter, summaries, write_run

TAGS = ("loss", "a/b", "h", "i", "a", "t", "p", "r", "none")
RUNS = ("train", "eval", "media", "none")
OWN = ("instance", "generation", "runs_generation", "bytes_read", "passes", "num_requests",
       "num_requests_per_scan", "num_directories", "logdirs", "looked_for", "other_files", "now",
       "notes_generation", "modified_times", "scanned_at")  # fmt: skip
"""Members of responses that tell about one server, or about one copy of the files."""

IDENTITY = re.compile(rb"(?<![0-9a-f])([0-9a-f]+-[0-9a-f]+)?-(?=[0-9a-f]+-[0-9a-f]{8}-[0-9])")
"""The file in the version of a picture or graph: its device and inode on a disk."""
GENERATION = re.compile(rb'(?:(?<="generation":)|(?<="known":))\s*("[0-9a-f]+[.-])?\d+')


@pytest.fixture
def written(folder: Path) -> Path:
    """Logs with data for every plugin."""
    numbers = [float(step) for step in range(100)]
    write_run(folder, "train", scalars={"loss": numbers, "a/b": numbers}, hparams={"lr": 0.1})
    write_run(folder, "eval", scalars={"loss": numbers[:10]}, hparams={"lr": 0.2})
    write_run(
        folder, "media",
        histograms={"h": [[1.0, 2.0], [3.0]]}, images={"i": [summaries.png()] * 3},
        audio={"a": [summaries.wav()]}, texts={"t": ["*text*", "more"]},
        graph=b"\x0a\x06\x0a\x01x\x12\x01X", run_metadata={"r": b"\x0a\x00"},
        wall_time=1.7e9,
    )  # fmt: skip
    (folder / "media" / "projector_config.pbtxt").write_bytes(b"x")
    with EventFileWriter(folder / "media" / "more.tfevents", wall_time=1.7e9) as writer:
        for step in range(3):
            writer.add_summary(step, summaries.pr_curve("p", [True, False], [0.9, 0.1 * step]))
        charts = {"all": ["Multiline", ["loss", "a/.*"]], "band": ["Margin", ["loss", "a/b", "x"]]}
        writer.add_summary(0, summaries.chart_layout({"charts": charts}))
    return folder


@cache
def routes() -> list[tuple[str, str]]:
    """Method and path of every route of every plugin, and of the core's own data."""
    found = []
    command = [sys.executable, "-m", "tbcore", "plugins", "--json"]
    for plugin in json.loads(subprocess.run(command, capture_output=True, check=True).stdout):
        for route in plugin["routes"]:
            found += [(each, route["path"]) for each in {"GET", "POST"} & set(route["methods"])]
    for path in ("runs", "plugins_listing", "run_details", "status", "plugins"):
        found.append(("GET", f"data/{path}"))
    return [*found, ("POST", "data/run_attributes")]


def requests() -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Method, address and body of the requests that are compared."""
    for method, path in routes():
        if method == "GET":
            yield method, path, None
            for run in RUNS if "/plugin/" in path else ():
                yield method, f"{path}?{urlencode({'run': run})}", None
                for tag in TAGS if run == "media" else TAGS[:1]:
                    for more in ({"index": 1}, {"step": 1, "format": "csv"}):
                        yield method, f"{path}?{urlencode({'run': run, 'tag': tag, **more})}", None
            continue
        chart = {"x": "step", "from": 0, "to": 90, "pixels": 50, "scale": "linear"}
        bodies: list[dict[str, Any]] = [{}, {"runs": RUNS}, {"runs": RUNS, "tags": TAGS}]
        bodies += [{"runs": RUNS, "tag": tag, **chart} for tag in TAGS]
        bodies += [{"groups": [["g", RUNS]], "tag": "loss", **chart}]
        bodies += [{"runs": RUNS, "tags": ["loss"], "format": form} for form in ("csv", "json")]
        bodies += [{"runs": RUNS, "series": [{"value": "loss", "lower": "a/b", "upper": "a/b"}]}]
        bodies += [{"query": "text", "runs": RUNS, "tags": TAGS}, {"text": "text", "runs": RUNS}]
        bodies += [{"columns": ["lr", "loss:last", "loss:min"]}]
        for body in bodies:
            yield method, path, body


class Served:
    """A server of logs, of which the answers are compared with those of another one."""

    def __init__(self, address: str, place: str) -> None:
        self.place = place
        self.client = httpx.Client(base_url=address, timeout=60)

    def get(self, path: str) -> Any:
        return self.client.get(path).json()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Status and body, without what can differ."""
        response = self.client.request(method, f"/{path}", json=body)
        content = GENERATION.sub(b"", response.content).replace(self.place.encode(), b"LOGDIR")
        content = IDENTITY.sub(b"", content)
        if path in ("data/run_details", "data/status", "data/plugins"):
            found = response.json()
            if path == "data/plugins":
                return response.status_code, [(p["name"], p["state"]) for p in found["plugins"]]
            return response.status_code, {k: v for k, v in found.items() if k not in OWN}
        return response.status_code, content

    def wait(self, is_reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not is_reached():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def wait_for_points(self, run: str, tag: str, number: int) -> None:
        path = f"/data/plugin/scalars/scalars?run={run}&tag={tag}"
        self.wait(lambda: len(self.get(path)) == number)

    def wait_until_loaded(self) -> None:
        self.wait(lambda: self.get("/data/status")["passes"] > 0)


def compare(disk: Served, other: Served, stride: int = 1) -> None:
    """Asks both servers the same. With a stride, makes only some of the requests."""
    asked = list(requests())[::stride]
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda served: [served.answer(*each) for each in asked], (disk, other))
    statuses = []
    for each, expected, found in zip(asked, *answers, strict=True):
        assert found == expected, each
        statuses.append(expected[0])
    assert statuses.count(200) > 150 / stride
    assert 500 not in statuses


@pytest.mark.services
@pytest.mark.parametrize("place", ["s3", "sftp", "index and disk", "index in s3"])
def test_every_answer_is_the_same_as_from_a_disk(
    request: pytest.FixtureRequest, serve: Callable[..., str], written: Path, place: str
) -> None:
    """Also after runs have grown, and new ones were added."""
    s3: storages.S3Server | None = request.getfixturevalue("s3") if "s3" in place else None
    index = f"s3://{storages.BUCKET}/index" if s3 else str(written.parent / "index")
    # TensorBoard's projector shows files, which no index has.
    own: tuple[str, ...] = ("--no_plugin", "tb-projector")
    options = own

    def make_index() -> None:
        if s3:
            s3.upload(written, "runs")
        command = [sys.executable, "-m", "tbcore", "index", uri, "--index", index]
        subprocess.run(command, check=True)

    if "index" in place:
        pytest.importorskip("tbcore_index")
        uri, options = storages.URI if s3 else str(written), (*own, "--index", index)
        make_index()
        sync = (lambda: None) if "disk" in place else make_index
    elif s3:
        uri, sync = storages.URI, lambda: s3.upload(written, "runs")
        sync()
    else:
        copy = written.parent / "copy"
        uri = f"{request.getfixturevalue('ssh')[0]}{copy}"
        sync = lambda: shutil.copytree(written, copy, dirs_exist_ok=True)  # noqa: E731
        sync()
    logdir = None if place == "index in s3" else uri
    disk = Served(serve(written, *own), str(written))
    other = Served(serve(logdir, *options), uri)
    for served in (disk, other):
        served.wait_until_loaded()
        assert len(served.get("/data/runs")) == 3
    if "index" not in place:
        compare(disk, other, stride=4)

    [path] = (written / "train").glob("*tfevents*")
    with EventFileWriter(path) as writer:
        for step in range(100, 120):
            writer.add_scalar("loss", step / 7, step)
            writer.add_summary(step, summaries.image("new", summaries.png()))
    write_run(written, "later", scalars={"loss": [1.0]}, wall_time=1.9e9)
    sync()
    for served in (disk, other):
        served.wait_for_points("train", "loss", 120)
        served.wait(lambda served=served: "later" in served.get("/data/runs"))
    compare(disk, other)
    if place != "index in s3":  # an index has runs only
        for served in (disk, other):
            [files] = served.get("/data/status")["other_files"]
            path = f"{served.place}/media/projector_config.pbtxt"
            assert (files["num_files"], files["example"]) == (1, path)


@pytest.mark.services
def test_opening_a_page_and_reload_scan_at_once(
    s3: storages.S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise the next listing comes after 30 s at the earliest."""
    s3.put(f"runs/a/{storages.FILE}", storages.events(tmp_path / "e", 1))
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", storages.URI, "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        address = next(w for line in process.stdout for w in line.split() if "://" in w)
        served = Served(address, storages.URI)
        served.wait_for_points("a", "loss", 1)
        time.sleep(0.01)
        s3.put(f"runs/a/{storages.FILE}", storages.events(tmp_path / "e", 1, 2))
        with served.client.stream("GET", "/data/updates"):
            served.wait_for_points("a", "loss", 2)
            s3.put(f"runs/a/{storages.FILE}", storages.events(tmp_path / "e", 1, 2, 3))
            served.wait(lambda: _scanned(served) and len(_points(served)) == 3)
        status = served.get("/data/status")
        assert status["logdirs"] == [storages.URI]
        assert status["num_requests"] >= 4
    finally:
        process.terminate()
        process.wait(20)


def _points(served: Served) -> Any:
    return served.get(f"/data/plugin/scalars/scalars?run=a&tag={quote('loss')}")


def _scanned(served: Served) -> bool:
    served.get("/data/status?scan=true")
    return True
