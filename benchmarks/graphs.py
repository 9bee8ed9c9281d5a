"""Measures responses for a graph of 100,000 nodes, and a server that prints a graph of 100 MB.

    python benchmarks/graphs.py [LOGS]

The first part runs in this process without a socket. The second part starts a server, and requests
`data/runs` all the time while another client requests a large graph. The important figure is the
longest of these response times.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), *map(str, sorted((ROOT / "plugins").glob("*/")))]

import tbcore_graphs
from tbcore_graphs.proto.graph_pb2 import GraphDef, NodeDef
from tbcore_testing import make_client, write_run

NUM_NODES = 100_000
LARGE_BYTES = 100_000_000
NUM_REQUESTS = 20
OPS = ("MatMul", "Add", "Relu", "Const", "Identity", "Mul", "Conv2D", "Reshape")


def nodes(number: int) -> Iterator[NodeDef]:
    """A model of blocks, layers and units. Each node has two earlier nodes as inputs."""
    pick = random.Random(0)
    names: list[str] = []
    for index in range(number):
        block, layer, unit = index // 1000, index // 100 % 10, index // 10 % 10
        name = f"model/block_{block}/layer_{layer}/unit_{unit}/op_{index % 10}"
        node = NodeDef(name=name, op=OPS[index % len(OPS)], device=f"/device:GPU:{block % 4}")
        node.input.extend([names[-1], pick.choice(names[-50:])] if names else [])
        node.attr["T"].type = 1
        shape = node.attr["_output_shapes"].list.shape.add()
        shape.dim.add(size=-1)
        shape.dim.add(size=(index % 7 + 1) * 32)
        names.append(name)
        yield node


def write_logs(logs: Path) -> None:
    """Runs `nodes`, `many` (100 MB of nodes) and `constants` (100 MB of their attributes)."""
    if (logs / "nodes").exists():
        return
    write_run(logs, "constants", graph=GraphDef(node=constants()).SerializeToString())
    size = len(GraphDef(node=nodes(1000)).SerializeToString()) / 1000
    write_run(logs, "many", graph=GraphDef(node=nodes(int(LARGE_BYTES / size))).SerializeToString())
    write_run(logs, "nodes", graph=GraphDef(node=nodes(NUM_NODES)).SerializeToString())


def constants() -> Iterator[NodeDef]:
    content = random.Random(0).randbytes(1_000_000)
    for index in range(LARGE_BYTES // len(content)):
        node = NodeDef(name=f"layer_{index}/weights", op="Const")
        node.attr["dtype"].type = 1
        node.attr["value"].tensor.tensor_content = content
        yield node


def measure_pages(logs: Path) -> None:
    """Prints the first response time and the median of the others."""
    client = make_client(logs, plugins=[tbcore_graphs])
    client.headers["Accept-Encoding"] = "identity"
    unit = "model/block_5/layer_1/unit_2"
    for title, query in {
        "overview": "overview?",
        "scope of the root": "scope?path=",
        "scope with 100 children": "scope?path=model",
        "scope with 10 nodes": f"scope?path={unit}",
        "one node": f"node?name={unit}/op_3",
        "totals of a scope": "node?name=model",
        "search in names": "search?text=unit_7",
    }.items():
        times = []
        for _ in range(NUM_REQUESTS):
            started = time.perf_counter()
            response = client.get(f"data/plugin/graphs/{query}&run=nodes")
            times.append((time.perf_counter() - started) * 1000)
            assert response.status_code == 200, response.text
        first, median = times[0], statistics.median(times[1:])
        print(f"{title:28}first {first:8.1f} ms, median {median:8.1f} ms", flush=True)


def measure_server(logs: Path) -> None:
    """Prints times of `data/runs`, alone and while a large graph is requested."""
    limit = "limit_attr_size=1024&large_attrs_key=_too_large_attrs"
    with served(logs) as address:
        print(f"{'data/runs':44}{times_during(address, lambda: time.sleep(3))}", flush=True)
        for run in ("many", "constants"):
            for title, path in {
                "text": f"graph?run={run}",
                "text without large attributes": f"graph?run={run}&{limit}",
                "cached text": f"graph?run={run}&{limit}",
                "overview": f"overview?run={run}",
            }.items():
                sizes: list[int] = []

                def request(path: str = path, sizes: list[int] = sizes) -> None:
                    sizes.append(fetch(f"{address}/data/plugin/graphs/{path}"))

                started = time.perf_counter()
                times = times_during(address, request)
                seconds = time.perf_counter() - started
                print(
                    f"{run:10}{title:30}{seconds:6.1f} s {sizes[0] / 1e6:8.1f} MB  {times}",
                    flush=True,
                )


def times_during(address: str, work: Callable[[], None]) -> str:
    """Response times of `data/runs` while `work` runs in another thread, as text."""
    worker = threading.Thread(target=work)
    worker.start()
    times = []
    while worker.is_alive():
        started = time.perf_counter()
        fetch(f"{address}/data/runs")
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.005)
    worker.join()
    times.sort()
    return f"data/runs: median {statistics.median(times):6.1f} ms, slowest {times[-1]:6.1f} ms"


def fetch(address: str) -> int:
    """Reads a response to its end; returns its size in bytes."""
    size = 0
    with urllib.request.urlopen(address, timeout=600) as response:
        while piece := response.read(1 << 20):
            size += len(piece)
    return size


@contextmanager
def served(logs: Path) -> Iterator[str]:
    """Starts a server; yields its address once it has loaded the logs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = os.pathsep.join(sys.path[: 1 + len(list((ROOT / "plugins").glob("*/")))])
    process = subprocess.Popen(
        [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logs), "--port", str(port)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        while not is_loaded(address):
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def is_loaded(address: str) -> bool:
    try:
        return fetch(f"{address}/data/plugin/graphs/runs") >= len('["constants","many","nodes"]')
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs" / "graphs"
    write_logs(logs)
    measure_pages(logs)
    measure_server(logs)


if __name__ == "__main__":
    main()
