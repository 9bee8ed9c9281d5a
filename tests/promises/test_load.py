"""Load: P10 responses stay fast during heavy writing, many requests and the first load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter

SOAK = Path(__file__).resolve().parents[2] / "benchmarks" / "soak.py"

pytestmark = pytest.mark.release


def soak(out: Path, **options: float) -> dict[str, Any]:
    """The results of a minute with a writer and clients in processes of their own."""
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    subprocess.run(
        [sys.executable, str(SOAK), str(out), "--seconds", "60", "--life", "20", *arguments],
        check=True, timeout=300,
    )  # fmt: skip
    figures: dict[str, Any] = json.loads((out / "soak.json").read_text())
    assert figures["tbcore"]["errors"] == {}
    assert figures["tbcore"]["wrong"] == 0
    assert figures["tbcore"]["warnings"] == 0
    return figures


def test_p10_50_mb_a_second_and_50_clients(tmp_path: Path) -> None:
    """The 99th percentile of response times and the age of the newest point are bounded."""
    figures = soak(tmp_path, rate=50, clients=50)
    assert figures["writer"]["rate_mb_s"] > 45, "this machine cannot write so much"
    assert figures["tbcore"]["p99_ms"] < 2000
    assert figures["tbcore"]["max_lag_s"] < 30


def test_p10_200_clients(tmp_path: Path) -> None:
    figures = soak(tmp_path, rate=2, clients=200)
    assert figures["tbcore"]["p99_ms"] < 5000
    assert figures["tbcore"]["max_lag_s"] < 30


def test_p10_requests_succeed_while_logs_are_loaded(start: Any, tmp_path: Path) -> None:
    """Responses have the data so far: lists, curves and the page."""
    one = tmp_path / "one"
    with EventFileWriter(one) as writer:
        for step in range(100_000):
            writer.add_scalar(f"tag {step * step % 101}", step, step)
    logs = tmp_path / "logs"
    for number in range(150):
        (logs / f"{number}").mkdir(parents=True)
        (logs / f"{number}" / "a.tfevents").hardlink_to(one)
    server = start(logs)
    seconds = []
    while (status := server.get("/data/status").json())["loading"] or not status["passes"]:
        for path in ("/", "/data/runs", "/data/plugin/scalars/tags", "/legacy/data/runs"):
            seconds.append(server.request(path).seconds)
        runs = server.get("/data/runs").json()
        query = {"run": runs[len(seconds) % len(runs)] if runs else "", "tag": "tag 0"}
        seconds.append(server.get("/data/plugin/scalars/scalars", **query).seconds)
    print(f"{len(seconds)} responses while loading, at most {max(seconds):.2f} s")
    assert len(seconds) > 50
    assert server.num_descriptors() < 64  # P8, with a helper process
    assert max(seconds) < 2
