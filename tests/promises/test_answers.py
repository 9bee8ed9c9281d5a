"""Exactness: P5 steps, values and names are exact, and JSON is strict."""

from __future__ import annotations

import csv
import io
import math
import os
import struct
from typing import Any

import numpy as np

from tbcore_testing import EventFileWriter, summaries

TAGS = [
    "loss",
    "train/loss",
    "/loss",
    "loss/",
    "a//b",
    "..",
    "../../etc/passwd",
    " two  blanks ",
    "tab\tand\nnew line\r\n",
    "nul\0byte",
    "escape\x1b[31m\x7f",
    "quotes \"and\" \\back\\ 'slashes'",
    "<script>alert(1)</script>",
    "</script><!--",
    "{{template}} ${it} %(s)s %s",
    "a&tag=b&run=c#d?e=f+g%20h;i",
    "%00%2e%2e%2f",
    "Größe µ 学習率 мера",
    "e\u0301 is not \u00e9",
    "right\u202eto left\u200b and \u2028 lines \ufeff",
    "\U0001f600\U0010ffff",
    "__proto__",
    "null",
    "x" * 5000,
]
"""Various names of tags, all different."""

RUNS: list[bytes] = [
    "über/学習".encode(),
    b"with blank and\ttab",
    b"new\nline",
    b"\"quoted\" 'run' \\ ",
    b"<img src=x onerror=alert(1)>",
    b"a&b=c#d?e+f%2fg;h",
    b"...",
    b"-rf",
    "\U0001f680\u202ertl".encode(),
    b"not utf-8 \xff\xfe",
    b"x" * 255,
]

STEPS = [-(2**63), -1, 0, 2**31, 2**53 + 1, 2**62 + 1, 2**63 - 1]
VALUES = [0.1, -0.0, 1e-45, 3.4028235e38, 16777217.0, math.nan, math.inf, -math.inf]


def test_p5_every_name_of_a_tag_is_served_unchanged(shared: Any) -> None:
    """Each tag is listed, and its value can be requested."""
    assert len(set(TAGS)) == 24
    with EventFileWriter(shared.logdir / "p5" / "tags" / "a.tfevents") as writer:
        for number, tag in enumerate(TAGS):
            writer.add_scalar(tag, number, number)
    shared.wait_for_scan()

    assert shared.get("/data/plugin/scalars/tags").json()["p5/tags"] == TAGS
    for number, tag in enumerate(TAGS):
        [[_, step, value]] = shared.scalars("p5/tags", tag)
        assert (step, value) == (number, number), tag


def test_p5_every_name_of_a_run_is_served_unchanged(shared: Any) -> None:
    r"""Each run is listed, with \xNN for bytes that are not UTF-8, and has its value."""
    folder = os.fsencode(shared.logdir / "p5names")
    for number, name in enumerate(RUNS):
        with EventFileWriter(os.fsdecode(folder + b"/" + name + b"/a.tfevents")) as writer:
            writer.add_scalar("a", number, number)
    shared.wait_for_scan()

    expected = ["p5names/" + name.decode("utf-8", "backslashreplace") for name in RUNS]
    runs = [run for run in shared.get("/data/runs").json() if run.startswith("p5names/")]
    assert sorted(runs) == sorted(expected)
    for number, run in enumerate(expected):
        [[_, step, value]] = shared.scalars(run, "a")
        assert (step, value) == (number, number), run


def test_p5_numbers_are_exact(shared: Any) -> None:
    """Steps in all of int64, all bits of wall times, and every kind of float32, in JSON and CSV."""
    bits = range(0x41D954FC40000001, 0x41D954FC40000009)
    wall_times = list(struct.unpack("<8d", struct.pack("<8Q", *bits)))
    for run, points in {
        "steps": [(step, 0.5) for step in STEPS],
        "values": list(enumerate(VALUES)),
    }.items():
        with EventFileWriter(shared.logdir / "p5" / run / "a.tfevents") as writer:
            for wall_time, (step, value) in zip(wall_times, points, strict=False):
                writer.add_scalar("a", value, step, wall_time=wall_time)
                writer.add_scalar("t", value, step, wall_time=wall_time, dtype="float32")
    shared.wait_for_scan()

    for tag in ("a", "t"):
        rows = shared.scalars("p5/steps", tag)
        assert [step for _, step, _ in rows] == STEPS
        assert [wall_time for wall_time, _, _ in rows] == wall_times[: len(STEPS)]
        # JSON has no NaN and no infinities, so they are strings.
        rows = shared.scalars("p5/values", tag)
        found = [np.float32(value) for _, _, value in rows]
        logged = [np.float32(value) for value in VALUES]
        assert np.array(found).tobytes() == np.array(logged).tobytes()
        assert [value for _, _, value in rows][-3:] == ["NaN", "Infinity", "-Infinity"]

        query = {"run": "p5/steps", "tag": tag, "format": "csv"}
        text = shared.get("/data/plugin/scalars/scalars", **query).text
        [_, *lines] = csv.reader(io.StringIO(text))
        assert [int(line[1]) for line in lines] == STEPS
        assert [float(line[0]) for line in lines] == wall_times[: len(STEPS)]


def test_p5_every_response_is_strict_json(shared: Any) -> None:
    """`HttpResponse.json` rejects NaN, and bytes that are not UTF-8."""
    with EventFileWriter(shared.logdir / "p5" / "strict" / "a.tfevents") as writer:
        writer.add_scalar("nan", math.nan, 1)
        writer.add_histogram("h", [1.0, 2.0], 1)
        buckets = [[-math.inf, 0.0, 1.0], [0.0, math.nan, math.inf]]
        writer.add_summary(2, summaries.tensor("h", buckets, plugin_name="histograms"))
    shared.wait_for_scan()

    run = {"run": "p5/strict"}
    for path, query in [
        ("/data/logdir", {}),
        ("/data/runs", {}),
        ("/data/run_details", {}),
        ("/data/environment", {}),
        ("/data/frontends", {}),
        ("/data/plugins_listing", {}),
        ("/data/status", {}),
        ("/legacy/data/runs", {}),
        ("/data/plugin/scalars/tags", {}),
        ("/data/plugin/histograms/tags", {}),
        ("/data/plugin/scalars/scalars", {**run, "tag": "nan"}),
        ("/data/plugin/histograms/histograms", {**run, "tag": "h"}),
        ("/data/plugin/distributions/distributions", {**run, "tag": "h"}),
    ]:
        response = shared.get(path, **query)
        assert response.status == 200, response
        response.json()
