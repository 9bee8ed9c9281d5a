"""The routes of custom scalars, with real event files."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import ANY

import numpy as np
import pytest

import tbcore_custom_scalars
from tbcore import smoothed
from tbcore_custom_scalars.layouts import TAG
from tbcore_custom_scalars.proto.layout_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from tbcore_testing import EventFileWriter, RouteTests, TbcoreClient, summaries, write_run

BASE = "data/plugin/custom_scalars/"


def multiline(title: str, *tags: str) -> Chart:
    return Chart(title=title, multiline=MultilineChartContent(tag=tags))


def margin(title: str, value: str, lower: str, upper: str) -> Chart:
    series = MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return Chart(title=title, margin=MarginChartContent(series=[series]))


def write_layout(logdir: Path, run: str, content: bytes, step: int = 0) -> None:
    with EventFileWriter(logdir / run / f"layout.{step}.tfevents") as writer:
        writer.add_summary(
            step, summaries.string_tensor(TAG, [content], shape=(), plugin_name="custom_scalars")
        )


def log_layout(logdir: Path, run: str, *categories: Category, step: int = 0) -> None:
    write_layout(logdir, run, Layout(category=categories).SerializeToString(), step)


class TestRoutes(RouteTests):
    plugin = tbcore_custom_scalars
    routes: ClassVar = {
        f"{BASE}layout": [],
        f"{BASE}scalars?run=train&tag=lo": [],
        f"{BASE}download_data?run=train&tag=loss": [],
        f"{BASE}download_data?run=train&tag=loss&format=csv": [],
    }

    def write_logs(self, logdir: Path) -> None:
        write_run(logdir, "train", scalars={"loss": [0.5]})
        log_layout(logdir, "train", Category(title="a", chart=[multiline("b", "loss")]))


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: Callable[..., TbcoreClient]) -> Any:
    return lambda **options: tbcore_client(
        tbcore_logdir, plugins=[tbcore_custom_scalars], **options
    )


def columns(body: bytes) -> tuple[dict[str, Any], list[dict[str, list[float]]]]:
    """Decodes a `columns_response` as `tbcore/requests.js` does."""
    [length] = struct.unpack_from("<I", body)
    head = json.loads(body[4 : 4 + length])
    offset = 4 + length
    tables = []
    for table in head["tables"]:
        tables.append({})
        for name in table["columns"]:
            tables[-1][name] = np.frombuffer(body, "<f8", table["rows"], offset).tolist()
            offset += 8 * table["rows"]
    return head["header"], tables


def titles(layout: dict[str, Any]) -> dict[str, list[str]]:
    return {
        category["title"]: [chart["title"] for chart in category["chart"]]
        for category in layout["category"]
    }


def test_the_plugin_is_active_if_a_layout_was_logged(tbcore_logdir: Path, client: Any) -> None:
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    served = client()
    assert served.get("data/plugins_listing").json() == {"custom_scalars": False}
    assert served.get(BASE + "layout").json() == {}

    log_layout(tbcore_logdir, "train", Category(title="a", chart=[multiline("b", "loss")]))
    served.reload()
    assert served.get("data/plugins_listing").json() == {"custom_scalars": True}
    assert titles(served.get(BASE + "layout").json()) == {"a": ["b"]}


def test_layouts_of_all_runs_are_merged(tbcore_logdir: Path, client: Any) -> None:
    """Categories with the same title become one, with each chart once, in the order of runs."""
    log_layout(tbcore_logdir, "b", Category(title="x", chart=[multiline("2", "b")]))
    log_layout(
        tbcore_logdir, "c",
        Category(title="new", chart=[multiline("4", "d")], closed=True),
        Category(title="x", chart=[multiline("1", "a"), multiline("2", "other")]),
    )  # fmt: skip
    log_layout(tbcore_logdir, "a", Category(title="x", chart=[multiline("1", "a")]))
    log_layout(tbcore_logdir, "d", Category(title="new", chart=[margin("5", "v", "l", "u")]))

    layout = client().get(BASE + "layout").json()

    assert titles(layout) == {"x": ["1", "2", "2"], "new": ["4", "5"]}
    assert [category["closed"] for category in layout["category"]] == [False, True]
    assert layout["category"][1]["chart"][1] == {
        "title": "5",
        "margin": {"series": [{"value": "v", "lower": "l", "upper": "u"}]},
    }


def test_a_layout_in_the_form_of_pytorch(tbcore_logdir: Path, client: Any) -> None:
    """`summaries.chart_layout` writes the same as the plugin's own messages."""
    with EventFileWriter(tbcore_logdir / "a" / "a.tfevents") as writer:
        writer.add_summary(
            0,
            summaries.chart_layout(
                {"x": {"1": ["Multiline", ["a", "b"]], "2": ["Margin", ["v", "l", "u"]]}}
            ),
        )
    log_layout(
        tbcore_logdir, "b",
        Category(title="x", chart=[multiline("1", "a", "b"), margin("2", "v", "l", "u")]),
    )  # fmt: skip

    assert titles(client().get(BASE + "layout").json()) == {"x": ["1", "2"]}


def test_the_newest_layout_of_a_run_is_used(tbcore_logdir: Path, client: Any) -> None:
    log_layout(tbcore_logdir, "a", Category(title="old"))
    served = client()
    assert titles(served.get(BASE + "layout").json()) == {"old": []}

    log_layout(tbcore_logdir, "a", Category(title="new"), step=1)
    served.reload()
    assert titles(served.get(BASE + "layout").json()) == {"new": []}


def test_invalid_layouts_are_ignored(tbcore_logdir: Path, client: Any) -> None:
    write_layout(tbcore_logdir, "broken", b"\xff\xff\xff")
    write_layout(tbcore_logdir, "latin", b"\x12\x03\x0a\x01\xe9")  # The title is not UTF-8.
    log_layout(tbcore_logdir, "whole", Category(title="a"))
    with EventFileWriter(tbcore_logdir / "two" / "a.tfevents") as writer:
        writer.add_summary(
            0, summaries.string_tensor(TAG, [b"", b""], plugin_name="custom_scalars")
        )

    assert titles(client().get(BASE + "layout").json()) == {"a": []}


def test_patterns_match_from_the_start_of_a_tag(tbcore_logdir: Path, client: Any) -> None:
    write_run(tbcore_logdir, "train", scalars={"loss": [(3, 0.5, 1000.0)], "my/loss": [0.25]})
    get = client().get

    def matched(pattern: str) -> Any:
        return get(BASE + "scalars", params={"run": "train", "tag": pattern}).json()

    assert matched("lo") == {"regex_valid": True, "tag_to_events": {"loss": [[1000.0, 3, 0.5]]}}
    assert set(matched(".*loss")["tag_to_events"]) == {"loss", "my/loss"}
    for invalid in ("", "(", r"(a)\1", "x" * 10_001):
        assert matched(invalid) == {"regex_valid": False, "tag_to_events": {}}
    other = get(BASE + "scalars", params={"run": "other", "tag": "loss"}).json()
    assert other == {"regex_valid": True, "tag_to_events": {}}


def test_no_pattern_can_stall_the_server(tbcore_logdir: Path, client: Any) -> None:
    """The first would take Python's `re` years, the second would take any engine minutes."""
    write_run(tbcore_logdir, "train", scalars={"a" * 5000 + "!" * k: [0.5] for k in range(20)})
    served = client()

    query = {"run": "train", "tag": "(a+)+$"}
    assert served.get(BASE + "scalars", params=query).json()["tag_to_events"] == {
        "a" * 5000: [[ANY, 0, 0.5]]
    }
    many = [f"(?i)(.*a){{30}}b{k}" for k in range(5000)]
    response = served.post(BASE + "lines", json={"runs": ["train"], "tags": many})
    assert response.status_code == 400
    assert "takes too long" in response.text


def test_downloads_as_json_and_csv(tbcore_logdir: Path, client: Any) -> None:
    write_run(
        tbcore_logdir, "train", scalars={"loss": [(3, 0.5, 1000.0), (4, float("nan"), 1001.0)]}
    )
    served = client()
    query = {"run": "train", "tag": "loss"}

    assert served.get(BASE + "download_data", params=query).json() == [
        [1000.0, 3, 0.5], [1001.0, 4, "NaN"],
    ]  # fmt: skip
    csv = served.get(BASE + "download_data", params={**query, "format": "csv"})
    assert csv.text == "Wall time,Step,Value\r\n1000.0,3,0.5\r\n1001.0,4,nan\r\n"
    assert served.get(BASE + "download_data", params={**query, "tag": "no"}).status_code == 404


def test_a_multiline_chart_has_all_matching_tags(tbcore_logdir: Path, client: Any) -> None:
    points = [(0, 1.0), (1, 0.5), (0, 0.75), (1, 0.25)]  # The job was restarted after 2 points.
    write_run(tbcore_logdir, "a", scalars={"loss/train": points, "loss/eval": [2.0], "rate": [3.0]})
    write_run(tbcore_logdir, "b", scalars={"loss/train": [4.0]}, as_tensors=True)
    write_run(tbcore_logdir, "c", scalars={"loss/train": [5.0]})

    header, tables = columns(
        client()
        .post(BASE + "lines", json={"runs": ["a", "b", "gone"], "tags": ["loss/t", "(", "rate$"]})
        .content
    )

    assert [(line["run"], line["tag"]) for line in header["lines"]] == [
        ("a", "loss/train"), ("a", "rate"), ("b", "loss/train"),
    ]  # fmt: skip
    assert header["lines"][0]["segments"] == [0, 2]
    assert list(header["invalid"]) == ["("]
    assert [table["value"] for table in tables] == [[1.0, 0.5, 0.75, 0.25], [3.0], [4.0]]


@pytest.mark.parametrize("kind", ["exponential", "window"])
def test_a_smoothed_line_is_computed_from_all_points(
    tbcore_logdir: Path, client: Any, kind: Any
) -> None:
    """Not from the points in the response, which are a few: as in Python and in other charts."""
    value = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    points = [(step % 3000, each) for step, each in enumerate(value.tolist())]  # With a restart.
    write_run(tbcore_logdir, "a", scalars={"loss": points})
    body = {"runs": ["a"], "tags": ["loss"], "smoothing": 0.96, "smoothing_kind": kind}

    header, [table] = columns(client().post(BASE + "lines", json=body).content)

    expected = smoothed(value, 0.96, [0, 3000], kind)
    after_restart = np.arange(1000) >= header["lines"][0]["segments"][1]
    rows = np.array(table["step"]).astype(int) + 3000 * after_restart
    np.testing.assert_allclose(table["value"], value[rows])
    np.testing.assert_allclose(table["smoothed"], expected[rows])
    _, [plain] = columns(client().post(BASE + "lines", json={**body, "smoothing": 0}).content)
    assert plain == {name: table[name] for name in ("step", "wall_time", "value")}


def test_writers_in_turn_are_smoothed_in_the_order_of_steps(
    tbcore_logdir: Path, client: Any
) -> None:
    steps = [0, 10, 1, 11, 2, 12, 3, 13]
    write_run(tbcore_logdir, "a", scalars={"loss": [(step, float(step)) for step in steps]})
    body = {"runs": ["a"], "tags": ["loss"], "smoothing": 0.5}

    _, [table] = columns(client().post(BASE + "lines", json=body).content)

    by_step = dict(zip(sorted(steps), smoothed(np.sort(np.array(steps, float)), 0.5), strict=True))
    assert table["step"] == steps
    assert table["smoothed"] == [by_step[step] for step in steps]


def test_the_number_of_lines_in_a_chart_is_limited(tbcore_logdir: Path, client: Any) -> None:
    write_run(tbcore_logdir, "a", scalars={f"t{k}": [0.5] for k in range(600)})
    body = {"runs": ["a"], "tags": [".*"]}

    header, tables = columns(client().post(BASE + "lines", json=body).content)

    assert (len(tables), header["num_lines"]) == (500, 600)


def test_a_margin_has_the_steps_of_all_three(tbcore_logdir: Path, client: Any) -> None:
    write_run(
        tbcore_logdir, "a",
        scalars={
            "v": [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0), (2, 5.0)],
            "low": [(0, 0.0), (2, 1.0), (3, 2.0)],
            "high": [(3, 9.0), (2, 8.0), (1, 7.0)],
        },
    )  # fmt: skip
    write_run(tbcore_logdir, "b", scalars={"v": [1.0]})
    series = [
        {"value": "v", "lower": "low", "upper": "high"},
        {"value": "v", "lower": "low", "upper": "none"},
    ]

    header, tables = columns(
        client().post(BASE + "margins", json={"runs": ["a", "b"], "series": series}).content
    )

    assert header == {"lines": [{"run": "a", **series[0]}], "num_lines": 1, "missing": ["none"]}
    [table] = tables
    assert (table["step"], table["value"]) == ([2, 3], [5.0, 4.0])
    assert (table["lower"], table["upper"]) == ([1.0, 2.0], [8.0, 9.0])


def test_long_margins_are_thinned_together(tbcore_logdir: Path, client: Any) -> None:
    values = [float(k) for k in range(1000)]
    write_run(tbcore_logdir, "a", scalars={"v": values, "low": values, "high": values})
    series = [{"value": "v", "lower": "low", "upper": "high"}]

    served = client(samples_per_plugin={"custom_scalars": 10})
    _, [table] = columns(
        served.post(BASE + "margins", json={"runs": ["a"], "series": series}).content
    )

    assert len(table["step"]) == 10
    assert (table["step"][0], table["step"][-1]) == (0, 999)
    assert table["step"] == table["value"] == table["lower"] == table["upper"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("lines", b""),
        ("lines", b"[]"),
        ("lines", b'{"runs": ["a"]}'),
        ("lines", b'{"runs": "a", "tags": []}'),
        ("lines", b'{"runs": [], "tags": [], "smoothing": 1}'),
        ("lines", b'{"runs": [], "tags": [], "smoothing": "0.5"}'),
        ("lines", b'{"runs": [], "tags": [], "smoothing": 0.5, "smoothing_kind": ["median"]}'),
        ("margins", b'{"runs": [], "series": [{"value": 1, "lower": "a", "upper": "b"}]}'),
        ("margins", b'{"runs": [], "series": [{"value": "a"}]}'),
        ("margins", b'{"runs": [], "series": [[]]}'),
        ("margins", b'{"runs": [], "series": {}}'),
    ],
)
def test_invalid_requests_are_rejected(client: Any, path: str, body: bytes) -> None:
    assert client().post(BASE + path, content=body).status_code == 400


def test_layouts_are_those_of_tensorboard(tbcore_logdir: Path, client: Any) -> None:
    """The file is written by TensorBoard's writer, and the JSON equals that of its messages."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from google.protobuf import json_format
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.custom_scalar import layout_pb2, metadata
    from tensorboard.summary.writer.event_file_writer import EventFileWriter as Writer
    from tensorboard.util.tensor_util import make_tensor_proto

    def theirs(charts: Sequence[Chart], **fields: Any) -> Any:
        return layout_pb2.Layout.FromString(
            Layout(category=[Category(title="t", chart=charts, **fields)]).SerializeToString()
        )

    layout = theirs([multiline("a", "x", "y"), margin("b", "v", "l", "u"), Chart()], closed=True)
    writer = Writer(str(tbcore_logdir / "a"))
    value = Summary.Value(
        tag=metadata.CONFIG_SUMMARY_TAG,
        metadata=metadata.create_summary_metadata(),
        tensor=make_tensor_proto(layout.SerializeToString()),
    )
    writer.add_event(Event(summary=Summary(value=[value])))
    writer.close()

    # The option has different names in different versions of protobuf.
    try:
        expected = json_format.MessageToDict(layout, always_print_fields_with_no_presence=True)
    except TypeError:
        expected = json_format.MessageToDict(layout, including_default_value_fields=True)
    assert client().get(BASE + "layout").json() == expected
