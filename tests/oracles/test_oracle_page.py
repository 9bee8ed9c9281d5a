"""All answers of TensorBoard's routes over our data are those over its own.

TensorBoard runs twice on the same logs: by itself, and as `/tensorboard/` of a server.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tbcore_testing import make_client

PLUGINS = (
    "scalars", "images", "audio", "distributions", "histograms", "text", "pr_curves", "mesh",
)  # fmt: skip
SAMPLES = ",".join(f"{name}=2147483647" for name in PLUGINS)
STATUSES = [f"STATUS_{name}" for name in ("SUCCESS", "FAILURE", "RUNNING", "UNKNOWN")]
RELATIVE = 2e-7
"""Difference of two floats that counts as none: TensorBoard rounds old histograms to float32."""
START_SECONDS = 600
"""Time in which TensorBoard must have read the logs."""

Get = Callable[..., httpx.Response]
Asked = tuple[str, str, Any]
"""What is compared, an address, and the body of a POST or None."""


def difference(ours: Any, theirs: Any, at: str = "") -> str | None:
    """Where two JSON values differ first, or None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            return f"{at}: keys {sorted(ours.keys() ^ theirs.keys())[:3]}"
        pairs = [(f"{at}.{key}", ours[key], theirs[key]) for key in ours]
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{at}: {len(ours)} and {len(theirs)} elements"
        both = enumerate(zip(ours, theirs, strict=True))
        pairs = [(f"{at}[{index}]", *pair) for index, pair in both]
    elif isinstance(ours, float) and isinstance(theirs, float):
        both_nan = math.isnan(ours) and math.isnan(theirs)
        is_same = both_nan or math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=1e-36)
        return None if is_same else f"{at}: {ours!r} and {theirs!r}"
    else:
        is_same = type(ours) is type(theirs) and ours == theirs
        return None if is_same else f"{at}: {str(ours)[:80]!r} and {str(theirs)[:80]!r}"
    return next(filter(None, (difference(a, b, where) for where, a, b in pairs)), None)


def without(value: Any, *names: str) -> Any:
    """JSON without some keys: addresses of blobs, and how a plugin is loaded."""
    if isinstance(value, dict):
        return {key: without(one, *names) for key, one in value.items() if key not in names}
    return [without(one, *names) for one in value] if isinstance(value, list) else value


def asked(theirs: Get) -> Iterator[Asked]:
    """All requests for the data that TensorBoard lists."""

    def listed(address: str) -> Any:
        response = theirs(address)
        return response.json() if response.status_code == 200 else {}

    def query(plugin: str, route: str, **fields: Any) -> Asked:
        return f"{plugin}/{route}", f"data/plugin/{plugin}/{route}?{urlencode(fields)}", None

    yield "runs", "data/runs", None
    yield "plugins_listing", "data/plugins_listing", None
    tags = {name: listed(f"data/plugin/{name}/tags") for name in PLUGINS}
    for name in (*PLUGINS, "timeseries"):
        yield f"{name}/tags", f"data/plugin/{name}/tags", None
    for name in PLUGINS:
        for run, of_run in tags[name].items():
            for tag in of_run:
                series: dict[str, Any] = {"run": run, "tag": tag}
                if name == "mesh":
                    yield query(name, "meshes", **series, sample=0)
                    yield query(name, "data", **series, content_type="VERTEX", sample=0, step=0)
                elif name in ("images", "audio"):
                    for sample in range(min(of_run[tag]["samples"], 3)):
                        yield query(name, name, **series, sample=sample)
                else:
                    yield query(name, name, **series)
    yield "graphs/info", "data/plugin/graphs/info", None
    for run, info in listed("data/plugin/graphs/info").items():
        if info["run_graph"]:
            yield query("graphs", "graph", run=run, conceptual="false")
        for tag, has in info["tags"].items():
            for key, conceptual in (("conceptual_graph", "true"), ("op_graph", "false")):
                if has[key]:
                    yield query("graphs", "graph", run=run, tag=tag, conceptual=conceptual)
            if has["profile"]:
                yield query("graphs", "run_metadata", run=run, tag=tag)
    yield query("custom_scalars", "layout")
    experiment = {"experimentName": ""}
    yield "hparams/experiment", "data/plugin/hparams/experiment", experiment
    groups = {**experiment, "allowedStatuses": STATUSES, "colParams": [], "sliceSize": 100}
    yield "hparams/groups", "data/plugin/hparams/session_groups", {**groups, "startIndex": 0}
    for tag in sorted({tag for of_run in tags["scalars"].values() for tag in of_run})[:50]:
        form = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": tag}])})
        yield "timeseries", "data/plugin/timeseries/timeSeries", form


@pytest.fixture
def tensorboard(tmp_path: Path) -> Iterator[Callable[[Path], Get]]:
    """`tensorboard(logdir)`: sends requests to a TensorBoard that has read all of the logs."""
    processes = []

    def start(logdir: Path) -> Get:
        log = tmp_path / "tensorboard.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir),
                    "--load_fast=false", "--port=0", "--reload_interval=0",
                    f"--samples_per_plugin={SAMPLES}", "--reload_multifile=true",
                ],
                stdout=output, stderr=output,
            )  # fmt: skip
        processes.append(process)
        deadline = time.monotonic() + START_SECONDS
        while not (found := re.search(r" at (http://\S+)", log.read_text("utf-8", "replace"))):
            assert process.poll() is None, log.read_text("utf-8", "replace")
            assert time.monotonic() < deadline
            time.sleep(0.1)
        client = httpx.Client(base_url=found[1], timeout=300, trust_env=False)

        def get(address: str, body: Any = None) -> httpx.Response:
            return sent(client, address, body)

        # Without an interval, its thread ends when it has read all runs once.
        while process_threads(process.pid) > 2 and time.monotonic() < deadline:
            time.sleep(0.2)
        return get

    yield start
    for process in processes:
        process.kill()
        process.wait()


def process_threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def sent(client: httpx.Client, address: str, body: Any) -> httpx.Response:
    if body is None:
        return client.get(address)
    if isinstance(body, dict):
        return client.post(address, json=body)
    return client.post(
        address, content=body, headers={"content-type": "application/x-www-form-urlencoded"}
    )


@pytest.mark.release
@pytest.mark.parametrize("name", ["frameworks", "real"])
def test_all_answers_are_those_over_tensorboards_own_data(
    tensorboard: Callable[[Path], Get], real_logs: Path, name: str
) -> None:
    if importlib.util.find_spec("tensorboard") is None:
        pytest.skip("tensorboard is not installed")
    plugin = pytest.importorskip("tbcore_tensorboard.plugin")
    logdir = real_logs.parent / name
    if not logdir.is_dir():
        pytest.skip(f"there are no logs at {logdir}")
    theirs = tensorboard(logdir)
    client = make_client(logdir, plugins={"tensorboard": plugin}, dev=False)
    counts: Counter[str] = Counter()
    faults: list[str] = []
    try:
        for what, address, body in asked(theirs):
            ours = sent(client, f"tensorboard/{address}", body)
            other = theirs(address, body)
            counts[what] += 1
            if fault := compared(ours, other, is_list=what == "runs"):
                faults.append(f"{address[:200]} {str(body)[:100]}: {fault}")
            elif what == "images/images":
                for one, two in list(zip(ours.json(), other.json(), strict=True))[:3]:
                    image = "data/plugin/images/individualImage?"
                    mine = client.get(f"tensorboard/{image}{one['query']}")
                    counts["images"] += 1
                    if mine.content != theirs(image + two["query"]).content:
                        faults.append(f"{address}: the image of {one['query']}")
    finally:
        client.app.close_plugins()  # type: ignore[attr-defined]
    assert faults == [], f"{len(faults)} of {sum(counts.values())} answers differ"
    assert sum(counts.values()) > 100


def compared(ours: httpx.Response, theirs: httpx.Response, *, is_list: bool) -> str | None:
    """How two responses differ, or None."""
    if ours.status_code != theirs.status_code:
        return f"{ours.status_code} {ours.text[:200]!r} and {theirs.status_code}"
    if ours.content == theirs.content:
        return None
    try:
        both = [without(r.json(), "query", "loading_mechanism", "blob_key") for r in (ours, theirs)]
    except ValueError:
        return f"{len(ours.content)} and {len(theirs.content)} bytes"
    if is_list:
        return difference(*map(sorted, both))
    if "timeseries" in both[0] and "scalars" in both[0]:  # Other plugins have tabs of their own.
        both[1] = {name: both[1].get(name) for name in both[0]}
    return difference(*both)
