"""Measures the time to load a logdir, for tbcore and TensorBoard's data server on the same files.

    python benchmarks/ingest.py [LOGS] [--workloads S1,S2,S2t] [--rounds 5]

LOGS has one logdir per workload; missing ones are written by `workloads.py`. In each round, each
reader loads each workload once, in a new process, so that other load on the machine affects both.
The peer is the program `server` of the package tensorboard-data-server, with and without
`--checksum`. tbcore always verifies every checksum.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from workloads import generate

LOAD = """
import json, resource, sys, time
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.loader import Loader
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer
board = Board()
multiplexer = Multiplexer(board=board)
loader = Loader(board, [LogdirSpec(None, sys.argv[1])])
base = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
cpu, wall = time.process_time(), time.perf_counter()
loader.load_once()
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
rss = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
claims = [__import__("tbcore").Claim(is_scalar=True)]
points = sum(
    len(multiplexer.scalars(run, tag).step)
    for run, tags in multiplexer.tags(claims).items() for tag in tags
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(dict(cpu=cpu, wall=wall, points=points, rss=rss - base, peak=peak - base)))
"""


def load_tbcore(logdir: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    output = subprocess.run(
        [sys.executable, "-c", LOAD, str(logdir)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(output.stdout)
    return found


def load_peer(server: Path, logdir: Path, *, checksum: bool) -> dict[str, float]:
    """CPU seconds and memory of the peer's process, and the load time that it reports itself."""
    with tempfile.TemporaryFile("w+") as log:
        flags = ["--checksum"] if checksum else []
        process = subprocess.Popen(
            [server, "--logdir", logdir, "--port", "0", "--reload", "once", "-vv", *flags],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            while True:
                time.sleep(0.05)
                log.seek(0)
                text = log.read()
                if done := re.search(r"Finished load cycle \(([\d.]+)(ms|s)\)", text):
                    break
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            rss = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            wall = float(done[1]) * (0.001 if done[2] == "ms" else 1)
            return {"cpu": cpu, "wall": wall, "rss": rss}
        finally:
            process.kill()
            process.wait()


def find_server() -> Path:
    import tensorboard_data_server

    return Path(tensorboard_data_server.server_binary())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--workloads", default="S1,S2,S2t")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument(
        "--peer", type=Path, help="path of the peer's program, if it is not installed here"
    )
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    server = arguments.peer or find_server()
    print(
        f"{'':6}{'tbcore':>24}{'peer':>20}{'peer --checksum':>20}   ratio of wall and CPU time to"
        f"\n{'':6}{'wall    cpu  B/point':>24}{'wall    cpu':>20}{'wall    cpu':>20}"
        "   the peer's (its default)"
    )
    for name in arguments.workloads.split(","):
        generate(logs, name, arguments.scale)
        rounds = [
            (
                load_tbcore(logs / name),
                load_peer(server, logs / name, checksum=False),
                load_peer(server, logs / name, checksum=True),
            )
            for _ in range(arguments.rounds)
        ]
        own, peer, peer_checksum = (
            {k: statistics.median(r[i][k] for r in rounds) for k in rounds[0][i]} for i in range(3)
        )
        print(
            f"{name:6}{own['wall']:8.3f}{own['cpu']:7.3f}{own['rss'] / own['points']:9.1f}"
            f"{peer['wall']:13.3f}{peer['cpu']:7.3f}{peer_checksum['wall']:13.3f}"
            f"{peer_checksum['cpu']:7.3f}   {own['wall'] / peer['wall']:.2f} "
            f"{own['cpu'] / peer['cpu']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
