"""The routes of charts and downloads: /window, /bands and /download."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tbcore_scalars
from tbcore_testing import TbcoreClient, make_client, read_columns, write_run

MakeClient = Callable[..., TbcoreClient]


class Columns(NamedTuple):
    """The content of a `columns_response`."""

    header: dict[str, Any]
    tables: list[dict[str, NDArray[np.float64]]]


def post(client: TbcoreClient, route: str = "window", **body: Any) -> Columns:
    response = client.post(f"data/plugin/scalars/{route}", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/octet-stream"
    return Columns(*read_columns(response.content))


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    write_run(
        tbcore_logdir, "a", scalars={"loss": [(10, 4.0, 100.0), (20, 2.0, 101.5), (30, 0.1, 104.0)]}
    )
    write_run(tbcore_logdir, "b", scalars={"loss": [(10, 8.0, 200.0), (20, 6.0, 203.0)]})
    write_run(tbcore_logdir, "c", scalars={"other": [1.0]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])


def test_short_series_are_returned_whole(client: TbcoreClient) -> None:
    """Float32 values are widened, and runs without the tag are omitted."""
    header, tables = post(client, tag="loss", runs=["a", "c", "missing", "b"])
    assert [entry["run"] for entry in header["runs"]] == ["a", "b"]
    assert (header["from"], header["to"]) == (10, 30)
    assert {name: column.tolist() for name, column in tables[0].items()} == {
        "step": [10, 20, 30],
        "wall_time": [100, 101.5, 104],
        "value": [4, 2, float(np.float32(0.1))],
    }
    entry = header["runs"][0]
    assert (entry["num_points"], entry["num_inside"], entry["segments"]) == (3, 3, [0])
    assert entry["start_time"] == 100


def test_a_range_of_each_axis(client: TbcoreClient) -> None:
    """The rows next to the range are included, so that lines do not end inside the chart."""
    part = {"tag": "loss", "runs": ["a", "b"], "pixels": 100}
    for x, bounds, expected in [
        ("step", (12, 22), ([10, 20, 30], [10, 20])),
        ("relative", (3.5, 9), ([20, 30], [20])),
        ("wall", (102, 110), ([20, 30], [10])),
    ]:
        header, tables = post(client, **part, x=x, **dict(zip(("from", "to"), bounds, strict=True)))
        assert tuple(table["step"].tolist() for table in tables) == expected
        assert (header["from"], header["to"]) == bounds


def test_unchanged_runs_are_not_sent_again(client: TbcoreClient, tbcore_logdir: Path) -> None:
    body = {"tag": "loss", "runs": ["a", "b"]}
    first = post(client, **body)
    known = {entry["run"]: entry["generation"] for entry in first.header["runs"]}
    again = post(client, **body, known=known)
    assert [entry["unchanged"] for entry in again.header["runs"]] == [True, True]
    assert again.tables == [{}, {}]

    write_run(tbcore_logdir, "b", scalars={"loss": [(40, 5.0)]})
    client.reload()
    later = post(client, **body, known=known)
    assert [entry["unchanged"] for entry in later.header["runs"]] == [True, False]
    assert later.tables[1]["step"].tolist() == [10, 20, 40]


def test_long_series_are_smoothed_and_then_reduced(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The minimum and maximum of all points are kept, and all points are smoothed."""
    rng = np.random.default_rng(0)
    value = rng.normal(size=30_000)
    value[12_345], value[20_000] = 99, math.nan
    write_run(tbcore_logdir, "long", scalars={"loss": value})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    header, (table,) = post(client, tag="loss", runs=["long"], pixels=200, smoothing=0.9)

    entry = header["runs"][0]
    assert entry["num_points"] == entry["num_inside"] == 30_000
    assert len(table["step"]) <= 4 * 200 + 1
    assert np.nanmax(table["value"]) == 99
    assert np.isnan(table["value"]).sum() == 1
    weight, last, smooth, count = 0.9, 0.0, {}, 0
    for step, each in enumerate(value.astype(np.float32).tolist()):
        if math.isfinite(each):
            last, count = last * weight + (1 - weight) * each, count + 1
            smooth[step] = last / (1 - weight**count)
    finite = np.isfinite(table["value"])
    expected = [smooth[int(step)] for step in table["step"][finite]]
    np.testing.assert_allclose(table["smoothed"][finite], expected, rtol=1e-6)


def test_a_whole_line_does_not_depend_on_other_runs(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The front end may later draw it without them."""
    write_run(tbcore_logdir, "short", scalars={"loss": np.random.default_rng(3).random(5000)})
    write_run(tbcore_logdir, "far", scalars={"loss": [(10**8, 1.0)]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    alone = post(client, tag="loss", runs=["short"], pixels=500).tables[0]
    beside = post(client, tag="loss", runs=["short", "far"], pixels=500).tables[0]
    assert beside["step"].tolist() == alone["step"].tolist()
    assert len(alone["step"]) > 1000


def test_a_margin_is_included_but_not_counted(client: TbcoreClient) -> None:
    """With it, lines are complete at once when the user moves the range a little."""
    body = {"tag": "loss", "runs": ["a"], "from": 19, "to": 21}
    header, tables = post(client, **body, margin=1)
    assert tables[0]["step"].tolist() == [10, 20, 30]
    assert (header["runs"][0]["num_inside"], header["runs"][0]["num_shown"]) == (1, 1)
    assert (header["from"], header["to"]) == (19, 21)


def test_segments_of_a_restarted_job(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    steps = [0, 1, 2, 3, 4, 2, 3, 4, 5, 6]
    write_run(tbcore_logdir, "r", scalars={"loss": [(step, float(step)) for step in steps]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], purge_orphaned_data=False)
    header, (table,) = post(client, tag="loss", runs=["r"])
    assert header["runs"][0]["segments"] == [0, 5]
    assert table["step"].tolist() == steps
    _, (table,) = post(client, tag="loss", runs=["r"], smoothing=0.5)
    # Smoothing starts from scratch after the restart.
    assert table["smoothed"][[0, 5]].tolist() == [0, 2]
    how = {"smoothing": 0.5, "smoothing_kind": "window"}
    _, (table,) = post(client, tag="loss", runs=["r"], **how)
    assert table["smoothed"].tolist() == [0.5, 1, 2, 3, 3.5, 2.5, 3, 4, 5, 5.5]
    _, (table,) = post(client, "bands", tag="loss", groups={"one": ["r"]}, **how)
    assert table["average"].tolist() == [0.5, 1, 2.5, 3, 4, 5, 5.5]
    header, (table,) = post(client, tag="loss", runs=["r"], **{"from": 5.5, "to": 6.5})
    assert table["step"].tolist() == [4, 5, 6]
    assert header["runs"][0]["segments"] == [0, 1]


def test_bands_of_groups(client: TbcoreClient) -> None:
    header, tables = post(
        client, "bands", tag="loss", groups={"both": ["a", "b", "a"], "none": ["c"]}, spread="range"
    )
    assert [(group["group"], group["num_runs"]) for group in header["groups"]] == [
        ("both", 2),
        ("none", 0),
    ]
    assert tables[0]["x"].tolist() == [10, 20, 30]
    assert tables[0]["average"].tolist() == [6, 4, float(np.float32(0.1))]
    assert tables[0]["count"].tolist() == [2, 2, 1]
    assert tables[0]["nonfinite"].tolist() == [0, 0, 0]
    assert tables[1]["x"].tolist() == []


def groups_of(client: TbcoreClient, tag: str, **body: Any) -> dict[str, dict[str, Any]]:
    """The headers of the groups by name, for the groups "a" and "b" of runs such as "a/1"."""
    runs = client.multiplexer.runs()
    groups = {name: [run for run in runs if run.startswith(name)] for name in ("a", "b")}
    header, _ = post(client, "bands", tag=tag, groups=groups, **body)
    return {group["group"]: group for group in header["groups"]}


def test_the_final_value_of_a_group_is_over_the_last_values_of_its_runs(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Wherever these are, whatever part is shown, and without smoothing."""
    last = {"a/1": 0.25, "a/2": 0.5, "a/3": 1.5, "b/1": math.nan, "b/2": 3.0, "b/3": -math.inf}
    for index, (run, value) in enumerate(last.items()):
        write_run(tbcore_logdir, run, scalars={"loss": [9.0] * (3 + index) + [value]})
    write_run(tbcore_logdir, "a/other", scalars={"accuracy": [1.0]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    values = np.array([0.25, 0.5, 1.5])
    part = {"from": 0, "to": 1, "smoothing": 0.9}
    for more in ({}, part, {"x": "wall"}, {"x": "relative"}, {"spread": "error"}):
        body = {"spread": "deviation", **more}
        final = groups_of(client, "loss", **body)["a"]["final"]
        assert final["average"] == values.mean()
        deviation = values.std(ddof=1) / (math.sqrt(3) if body["spread"] == "error" else 1)
        assert final["high"] - final["average"] == pytest.approx(deviation)
        assert final["average"] - final["low"] == pytest.approx(deviation)
        assert (final["count"], final["nonfinite"], final["live"]) == (3, 0, 0)
    nonfinite = groups_of(client, "loss")["b"]["final"]
    assert "common" not in nonfinite
    assert (nonfinite["average"], nonfinite["count"], nonfinite["nonfinite"]) == (3, 1, 2)

    median = groups_of(client, "loss", average="median", spread="quartiles")["a"]["final"]
    assert median["average"] == 0.5
    assert [median["low"], median["high"]] == np.quantile(values, [0.25, 0.75]).tolist()
    for run, values in {
        "a/1": [1.0, math.inf],
        "a/2": [math.inf],
        "b/1": [math.nan, -math.inf, math.nan],
    }.items():
        write_run(tbcore_logdir, run, scalars={"bad": values})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    infinite = groups_of(client, "bad")["a"]["final"]
    assert (infinite["common"], infinite["average"]) == ("Infinity", "NaN")
    assert groups_of(client, "bad")["b"]["final"]["common"] == "NaN"
    nothing = groups_of(client, "missing")["a"]["final"]
    assert (nothing["average"], nothing["count"], nothing["nonfinite"]) == ("NaN", 0, 0)


def test_runs_that_are_being_written_are_counted(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    write_run(tbcore_logdir, "a/1", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "a/2", scalars={"loss": [(0, 2.0, time.time())]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    final = groups_of(client, "loss")["a"]["final"]
    assert (final["average"], final["count"], final["live"]) == (1.5, 2, 1)


def test_groups_of_runs_with_one_point_have_a_bar_and_no_line(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """At the mean of the runs' steps, also if a run has logged its step again."""
    for run, step, value in [("a/1", 90, 1.0), ("a/2", 100, 3.0), ("a/3", 140, math.nan)]:
        write_run(tbcore_logdir, run, scalars={"best": [(step, value)]})
    write_run(tbcore_logdir, "b/1", scalars={"best": [(7, 8.0), (7, 2.0)]})
    write_run(tbcore_logdir, "b/2", scalars={"best": [(8, 4.0)]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], purge_orphaned_data=False)
    groups = {"a": ["a/1", "a/2", "a/3"], "b": ["b/1", "b/2"], "none": []}
    header, tables = post(client, "bands", tag="best", groups=groups)
    assert [group["drawn"] for group in header["groups"]] == ["points"] * 3
    assert [sum(table["count"]) for table in tables] == [2, 2, 0]
    bars = [
        [table[name][0] for name in ("x", "average", "low", "high", "nonfinite")]
        for table in tables[:2]
    ]
    assert bars == [[110, 2, 1, 3, 1], [7.5, 3, 2, 4, 0]]
    _, tables = post(client, "bands", tag="best", groups=groups, **{"from": 0, "to": 50})
    assert [table["x"].tolist() for table in tables] == [[], [7.5], []]
    header, tables = post(client, "bands", tag="best", groups=groups, x="wall")
    assert [group["drawn"] for group in header["groups"]] == ["points", "runs", "points"]
    assert [len(table["x"]) for table in tables] == [1, 0, 0]


def test_runs_that_share_no_x_have_no_mean(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """A line would lead from run to run; over wall time also where runs were written at once."""
    for run, first in [("a/1", 0), ("a/2", 3), ("b/1", 0), ("b/2", 2)]:
        points = [(step, float(step), 1e9 + step) for step in range(first, first + 3)]
        write_run(tbcore_logdir, run, scalars={"loss": points})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    for axis, a, b in [("step", "runs", "mean"), ("relative", "mean", "mean")]:
        groups = groups_of(client, "loss", x=axis)
        assert [groups[name]["drawn"] for name in "ab"] == [a, b]
    groups = {"a": ["a/1", "a/2"], "b": ["b/1", "b/2"]}
    for axis, lengths in [("step", [0, 5]), ("wall", [0, 0])]:
        _, tables = post(client, "bands", tag="loss", groups=groups, x=axis)
        assert [len(table["x"]) for table in tables] == lengths


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body must be JSON"),
        (b"[]", "the body must be a JSON object"),
        (b"{}", '"tag" must be a string, got null'),
        (b'{"tag": "t"}', '"runs" must be an array of strings, got null'),
        (b'{"tag": "t", "runs": [1]}', '"runs" must be an array of strings, got [1]'),
        (b'{"tag": "t", "runs": [], "x": "time"}', '"x" must be one of step, relative, wall'),
        (b'{"tag": "t", "runs": [], "x": []}', '"x" must be one of step, relative, wall'),
        (b'{"tag": "t", "runs": [], "pixels": 0}', '"pixels" must be an integer from 1 to 20000'),
        (b'{"tag": "t", "runs": [], "pixels": true}', '"pixels" must be an integer'),
        (b'{"tag": "t", "runs": [], "smoothing": 1}', '"smoothing" must be a number from 0'),
        (b'{"tag": "t", "runs": [], "from": 1e301}', '"from" must be a number or null, got'),
        (b'{"tag": "t", "runs": [], "margin": 2}', '"margin" must be a number from 0 to 1, got 2'),
        (b'{"tag": "t", "runs": [], "from": "1"}', '"from" must be a number or null, got "1"'),
        (b'{"tag": "t", "runs": [], "from": 2, "to": 1}', '"from" must not be greater than "to"'),
        (b'{"tag": "t", "runs": [], "known": {"a": 1}}', '"known" must be an object'),
        (
            b'{"tag": "t", "runs": [], "colour": 1}',
            'unknown field "colour"; expected one of from',
        ),
    ],
)
def test_invalid_requests_are_a_one_line_error(
    client: TbcoreClient, body: bytes, message: str
) -> None:
    response = client.post("data/plugin/scalars/window", content=body)
    assert response.status_code == 400
    assert response.text.startswith(message)
    assert "\n" not in response.text


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["step", "log", "wall", "range", "loss", "a", "b", "json", "\n", "\x00", "\u2028"]
    )
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
bounds = st.one_of(
    st.none(), st.sampled_from([0, -0.0, 5e-324, 10, 20.5, 1e300, -1e300, 2**63, 1e19]), st.floats()
)
fields = {
    "tag": st.sampled_from(["loss", "odd"]),
    "tags": st.lists(st.sampled_from(["loss", "odd"])),
    "runs": st.lists(st.sampled_from(["a", "b", "c", "missing"])),
    "groups": st.dictionaries(st.text(max_size=2), st.lists(st.sampled_from(["a", "b", "c"]))),
    "x": st.sampled_from(["step", "relative", "wall"]),
    "from": bounds,
    "to": bounds,
    "pixels": st.integers(1, 30) | st.just(20_000),
    "scale": st.sampled_from(["linear", "log", "symlog"]),
    "smoothing_kind": st.sampled_from(["exponential", "window", "gaussian"]),
    "smoothing": st.sampled_from([0, 0.5, 0.999, math.nextafter(1, 0), 5e-324]),
    "margin": st.sampled_from([0, 0.5, 1]),
    "known": st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3)),
    "spread": st.sampled_from(["range", "deviation", "quartiles", "error", "interval"]),
    "average": st.sampled_from(["mean", "median", "iqm"]),
    "format": st.sampled_from(["csv", "json"]),
}
OWN_FIELDS = {
    "window": [
        *["tag", "runs", "x", "from", "to", "pixels", "scale", "smoothing"],
        *["smoothing_kind", "margin", "known"],
    ],
    "bands": [
        *["tag", "groups", "x", "from", "to", "pixels", "scale", "smoothing"],
        *["smoothing_kind", "average", "spread"],
    ],
    "download": ["tags", "runs", "format"],
}

SMALLEST_FLOAT = {
    "tag": "loss", "groups": {"": []}, "x": "step", "from": None, "to": 5e-324, "pixels": 9,
    "scale": "log", "smoothing": 0, "spread": "range",
}  # fmt: skip
"""A request in which a thousandth of `to` underflows to 0, which a logarithmic axis cannot show."""


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, bytes]:
    """A route and a body, which is valid or has one of several faults."""
    route = draw(st.sampled_from(sorted(OWN_FIELDS)))
    body = {name: draw(fields[name]) for name in OWN_FIELDS[route]}
    fault = draw(st.sampled_from(["none", "none", "value", "missing", "unknown", "bytes"]))
    if fault == "value":
        body[draw(st.sampled_from(OWN_FIELDS[route]))] = draw(json_values)
    elif fault == "missing":
        del body[draw(st.sampled_from(OWN_FIELDS[route]))]
    elif fault == "unknown":
        body[draw(st.text()) * draw(st.sampled_from([1, 1000]))] = draw(json_values)
    text = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if fault == "bytes":
        text = text[: draw(st.integers(0, len(text)))] + draw(st.binary(max_size=3))
    return route, text


@pytest.fixture(scope="module")
def unusual_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TbcoreClient]:
    """Serves runs with all kinds of extreme steps, wall times and values."""
    logdir = tmp_path_factory.mktemp("odd")
    many = [(step, math.sin(step)) for step in range(500)]
    extremes = [(-(2**63), 1.7e308), (-5, -1.7e308), (0, math.nan), (2**63 - 1, 1.7e308)]
    clocks = [(0, 1.0, math.nan), (1, math.inf, math.inf), (2, 3.0, -1e300), (2, 4.0, 1e300)]
    write_run(logdir, "a", scalars={"loss": many + many[:40], "odd": extremes})
    write_run(logdir, "b", scalars={"loss": clocks, "odd": [(7, -math.inf)]})
    write_run(logdir, "c", scalars={"other": [1.0]})
    with make_client(logdir, plugins=[tbcore_scalars], purge_orphaned_data=False) as client:
        yield client


@settings(deadline=None, max_examples=150)
@given(request_=requests())
@example(request_=("bands", json.dumps(SMALLEST_FLOAT).encode()))
@example(request_=("window", json.dumps({"\U0002ebe1" * 1000: None}).encode()))
def test_no_body_causes_a_server_error(
    unusual_client: TbcoreClient, request_: tuple[str, bytes]
) -> None:
    """The response is the requested data, or a one-line error."""
    route, content = request_
    response = unusual_client.post(f"data/plugin/scalars/{route}", content=content)
    assert response.status_code in (200, 400), response.text
    if response.status_code == 400:
        assert response.text.strip()
        assert len(response.text.strip().splitlines()) == 1
        assert len(response.text) < 1000
    elif route != "download":
        _, tables = read_columns(response.content)
        assert all(len({len(column) for column in table.values()}) <= 1 for table in tables)


def test_invalid_requests_for_bands(client: TbcoreClient) -> None:
    for body, message in [
        ({"tag": "t"}, '"groups" must be an object'),
        ({"tag": "t", "groups": {}, "spread": "all"}, '"spread" must be one of range'),
        ({"tag": "t", "groups": {}, "average": "mode"}, '"average" must be one of mean'),
        (
            {"tag": "t", "groups": {}, "average": "median", "spread": "interval"},
            '"spread" must be range or quartiles with "average" median, got "interval"',
        ),
    ]:
        response = client.post("data/plugin/scalars/bands", json=body)
        assert (response.status_code, response.text[: len(message)]) == (400, message)


def test_downloads_have_all_points(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Of every requested series, with names quoted as CSV and JSON require, across all pieces."""
    value = np.random.default_rng(2).normal(size=120_001)
    value[70_000] = math.nan
    write_run(tbcore_logdir, 'r,"1"', scalars={"loss": value, "few": [1.0, math.inf]})
    write_run(tbcore_logdir, "r2", scalars={"loss": [0.5]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    body = {"runs": ['r,"1"', "no such run", "r2"], "tags": ["loss", "no such tag", "few"]}

    response = client.post("data/plugin/scalars/download", json=body)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(io.StringIO(response.text, newline="")))
    assert lines[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(lines) == 1 + 120_001 + 2 + 1
    assert [line[2] for line in lines[1:120_002]] == [str(step) for step in range(120_001)]
    assert [*lines[70_001][:3], lines[70_001][4]] == ['r,"1"', "loss", "70000", "nan"]
    assert {tuple(line[:2]) for line in lines[1:]} == {
        ('r,"1"', "loss"), ('r,"1"', "few"), ("r2", "loss"),
    }  # fmt: skip

    response = client.post("data/plugin/scalars/download", json={**body, "format": "json"})
    data = response.json()
    assert {run: list(tags) for run, tags in data.items()} == {
        'r,"1"': ["loss", "few"], "r2": ["loss"],
    }  # fmt: skip
    rows = data['r,"1"']["loss"]
    assert [row[1] for row in rows] == list(range(120_001))
    assert rows[70_000][2] == "NaN"
    assert rows[5][2] == float(np.float32(value[5]))

    nothing = client.post(
        "data/plugin/scalars/download", json={"runs": [], "tags": [], "format": "json"}
    )
    assert nothing.json() == {}


def test_a_request_can_set_the_number_of_points(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """`samples` in the request overrides the option."""
    write_run(tbcore_logdir, "r", scalars={"loss": [1.0] * 1500})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    path = "data/plugin/scalars/scalars?run=r&tag=loss"
    counts = [len(client.get(path + more).json()) for more in ("", "&samples=0", "&samples=7")]
    assert counts == [1000, 1500, 7]
    assert client.get(path + "&samples=-1").status_code == 400


def test_pixel_columns_follow_the_scale_of_the_axis(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """On a logarithmic axis small steps take most of the width, so most of their rows are kept."""
    write_run(tbcore_logdir, "r", scalars={"loss": np.random.default_rng(0).random(20_000)})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    body = {"tag": "loss", "runs": ["r"], "pixels": 100}
    small = [
        int((post(client, **body, scale=scale).tables[0]["step"] < 200).sum())
        for scale in ("linear", "log", "symlog")
    ]
    assert small[0] <= 8
    assert small[1] > 80
    assert small[2] > 80


def test_charts_require_post(client: TbcoreClient) -> None:
    assert client.get("data/plugin/scalars/window").status_code == 405
