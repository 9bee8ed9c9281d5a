"""Measures what reading remote logs costs, from moto's server, which is an S3 on this machine.

    python benchmarks/scale.py [--runs 2000] [--rounds 5]

Prints the requests and bytes of the first reading, of a scan without changes, and of one after one
file has grown. Compares the time until all runs are loaded with the time in which the server sends
the same files to a program that does nothing with them, in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT), str(ROOT / "tests" / "shared")]

from storages import CREDENTIALS, free_port, wait_for_port

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore_testing import EventFileWriter, write_run

BUCKET = "bucket"


def start_server() -> subprocess.Popen[bytes]:
    """moto's server in a process of its own, so that it takes no time of the reader's."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_port(process, port)
    os.environ.update(CREDENTIALS, FSSPEC_S3_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    return process


def send_all(uri: str) -> float:
    """Seconds in which the server lists all files and sends them, 64 at a time."""
    import fsspec

    system, root = fsspec.core.url_to_fs(uri, skip_instance_cache=True)
    system.find(root)  # connects
    system.invalidate_cache()
    started = time.perf_counter()
    paths = list(system.find(root, detail=True))
    assert all(system.cat_ranges(paths, 0, 1 << 20, batch_size=64))
    return time.perf_counter() - started


def load(uri: str) -> tuple[float, Loader, Any]:
    """Seconds until all runs are loaded, with the loader and its storage."""
    from tbcore_remote import connection

    connection._connections.clear()
    board = Board()
    loader = Loader(board, [LogdirSpec(None, uri)], reload_interval=0)
    found = connection.connection_of(uri)
    assert found.has_flat_listings  # connects
    started = time.perf_counter()
    loader.load_once()
    return time.perf_counter() - started, loader, found


def counted(storage: Any) -> tuple[list[int], list[int]]:
    """Lists that get the number of bytes of each range that is read: many at once, and alone."""
    many: list[int] = []
    single: list[int] = []
    read_many, read = storage.read_many, storage.read

    def new_read_many(ranges: Any) -> Any:
        many.extend(each.end - each.begin for each in ranges)
        return read_many(ranges)

    def new_read(wanted: Any) -> Any:
        single.append(wanted.end - wanted.begin)
        return read(wanted)

    storage.read_many, storage.read = new_read_many, new_read
    return many, single


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    server = start_server()
    import fsspec  # reads the address of the server from the environment

    try:
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder, "runs")
            for number in range(arguments.runs):
                points = [float(step) for step in range(50)]
                write_run(logs, f"sweep/{number:05}", scalars={"loss": points, "acc": points})
            system = fsspec.filesystem("s3")
            system.mkdir(BUCKET)
            system.put(str(logs), f"{BUCKET}/runs", recursive=True)
            num_bytes = sum(path.stat().st_size for path in logs.rglob("*tfevents*"))
            uri = f"s3://{BUCKET}/runs"

            sent, loaded = [], []
            for _ in range(arguments.rounds):
                sent.append(send_all(uri))
                loaded.append(load(uri)[0])
            print(f"{arguments.runs} runs, {num_bytes / 1e6:.1f} MB")
            print(f"sent to a program that does nothing  {statistics.median(sent):6.2f} s")
            ratio = statistics.median(b / a for a, b in zip(sent, loaded, strict=True))
            print(f"loaded                              {statistics.median(loaded):6.2f} s")
            print(f"ratio                               {ratio:6.2f}")

            _, loader, storage = load(uri)
            print(f"first reading:    {storage.num_requests:5} requests")
            many, single = counted(storage)
            path = next((logs / "sweep" / "00007").iterdir())
            for what, grows in (("nothing changed:", False), ("one file grew:", True)):
                if grows:
                    with EventFileWriter(path) as writer:
                        writer.add_scalar("loss", 1.0, 50)
                    system.put(str(path), f"{BUCKET}/runs/sweep/00007/{path.name}")
                before = storage.num_requests
                many.clear()
                single.clear()
                started = time.perf_counter()
                loader.load_once()
                seconds = time.perf_counter() - started
                num_requests, num_fetched = storage.num_requests - before, sum(single or many)
                print(f"{what:17} {num_requests:5} requests, {num_fetched} bytes, {seconds:.2f} s")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
