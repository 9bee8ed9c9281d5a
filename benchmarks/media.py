"""Measures response times of histograms, distributions and images, and memory per image.

    python benchmarks/media.py [LOGS] [--images N]

The histograms are 1,000 steps of one tag, in both forms that writers use and in two sizes. Requests
are sent in this process without a socket. The images are 200 tags x 1,000 steps x 50 kB: 10 GB of
logs in a sparse file, which takes 0.8 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), *map(str, sorted((ROOT / "plugins").glob("*/")))]

import tbcore_distributions
import tbcore_histograms
import tbcore_images
from tbcore.eventfiles.crc32c import masked_crc
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore_testing import EventFileWriter, TbcoreClient, make_client, summaries

NUM_STEPS = 1000
NUM_TAGS = 200
IMAGE_BYTES = 50_000
NUM_REQUESTS = 20


def write_histograms(logdir: Path) -> None:
    """Writes the runs `field-30`, `tensor-30`, `field-800` and `tensor-800`: form and number of
    buckets."""
    rng = np.random.default_rng(0)
    for form in ("field", "tensor"):
        for num_buckets in (30, 800):
            path = logdir / f"{form}-{num_buckets}" / "a.tfevents"
            if path.exists():
                continue
            with EventFileWriter(path) as writer:
                for step in range(NUM_STEPS):
                    samples = rng.normal(step / NUM_STEPS, 1.0, 2000)
                    value = summaries.histogram(
                        "h", samples, num_buckets=num_buckets, as_tensor=form == "tensor"
                    )
                    writer.add_summary(step, value)


def measure_histograms(logdir: Path) -> None:
    plugins = [tbcore_distributions, tbcore_histograms]
    for samples, title in ((None, "default samples"), (0, f"all {NUM_STEPS} steps")):
        config = (
            {} if samples is None else {"samples_per_plugin": {"histograms": 0, "distributions": 0}}
        )
        client = make_client(logdir, plugins=plugins, **config)
        client.headers["Accept-Encoding"] = "identity"
        for run in client.get("data/runs").json():
            for route in ("histograms/histograms", "distributions/distributions"):
                path = f"data/plugin/{route}?run={run}&tag=h"
                milliseconds, response = measure(client, path)
                size = len(response.content) / 1e6
                print(
                    f"{title:16}{run:12}{route:30}{milliseconds:8.1f} ms{size:8.2f} MB", flush=True
                )


def measure(client: TbcoreClient, path: str) -> tuple[float, Any]:
    """The median of several requests in milliseconds, and the response."""
    times = []
    for _ in range(NUM_REQUESTS):
        started = time.perf_counter()
        response = client.get(path)
        times.append((time.perf_counter() - started) * 1000)
        assert response.status_code == 200
    return statistics.median(times), response


def write_images(path: Path, num_steps: int) -> None:
    """Writes a sparse file in which each record has an image whose pixels are a hole."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    header = summaries.png(128, 128)[:33]
    zeros = bytes(IMAGE_BYTES - len(header))
    with path.open("wb") as file:
        for step in range(num_steps):
            for tag in range(NUM_TAGS):
                value = summaries.image(f"images/{tag}", header + zeros, width=128, height=128)
                event = Event(wall_time=1.7e9 + step, step=step)
                event.summary.value.append(value)
                payload = event.SerializeToString()
                length = struct.pack("<Q", len(payload))
                start, _, end = payload.partition(zeros)
                file.write(length + struct.pack("<I", masked_crc(length)) + start)
                file.seek(len(zeros), 1)
                file.write(end + struct.pack("<I", masked_crc(payload)))


def measure_images(logdir: Path) -> None:
    """Loads the images in a separate process, whose memory grows by nothing else."""
    output = subprocess.run(
        [sys.executable, __file__, str(logdir), "--load"],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(output.stdout)
    print("images: " + ", ".join(f"{key} {value}" for key, value in found.items()))


def load(logdir: Path) -> None:
    def resident() -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    # Load everything that only the first run and the first request need.
    with tempfile.TemporaryDirectory() as small:
        with EventFileWriter(Path(small) / "a.tfevents") as writer:
            for step in range(100):
                writer.add_image("i", summaries.png(), step)
        make_client(small, plugins=[tbcore_images]).get("data/plugin/images/images?run=.&tag=i")
    before = resident()
    started = time.perf_counter()
    client = make_client(logdir, plugins=[tbcore_images], samples_per_plugin={"images": 0})
    seconds = time.perf_counter() - started
    grown = resident() - before
    (run,) = client.get("data/runs").json()
    num_images = sum(
        len(client.multiplexer.items(run, tag, tbcore_images.CLAIMS))
        for tag in client.multiplexer.tags(tbcore_images.CLAIMS)[run]
    )
    times = {}
    for name, path in {
        "listing of all steps, ms": f"images?run={run}&tag=images/7",
        "last step, ms": f"step?run={run}&tag=images/7",
        "one image, ms": f"individualImage?run={run}&tag=images/7&index={num_images // 400}",
    }.items():
        milliseconds, _ = measure(client, f"data/plugin/images/{path}")
        times[name] = round(milliseconds, 1)
    print(
        json.dumps(
            {
                "number": num_images,
                "seconds to load": round(seconds, 1),
                "bytes per image": round(grown / num_images, 1),
                **times,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--images", type=int, default=NUM_STEPS, help="steps of each tag")
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    if arguments.load:
        load(logs)
        return
    write_histograms(logs / "histograms")
    measure_histograms(logs / "histograms")
    if arguments.images:
        folder = logs / f"images-{arguments.images}"
        write_images(folder / "run" / "a.tfevents", arguments.images)
        measure_images(folder)


if __name__ == "__main__":
    main()
