"""Lines by the values of another tag, and by steps since the first one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tbcore_scalars
from tbcore import ScalarSeries
from tbcore_scalars.pairing import ascending, goes_one_way, paired_line
from tbcore_scalars.windows import MAX_TURNS_PER_PIXEL, Line, count_between, select_indices
from tbcore_testing import TbcoreClient, make_client, write_run

MakeClient = Callable[..., TbcoreClient]
FRAMES = {"tag": "frames"}


def series_of(value: Any, step: Any) -> ScalarSeries:
    count = np.arange(len(value))
    return ScalarSeries(
        ordinal=count,
        step=np.asarray(step, np.int64),
        wall_time=1.7e9 + count.astype(np.float64),
        value=np.asarray(value, np.float32),
    )


def post(client: TbcoreClient, route: str, **body: Any) -> tuple[Any, list[Any]]:
    """The header of a response, and its tables."""
    response = client.post(f"data/plugin/scalars/{route}", json=body)
    assert response.status_code == 200, response.text
    length = int.from_bytes(response.content[:4], "little")
    text = json.loads(response.content[4 : 4 + length])
    numbers = iter(np.frombuffer(response.content, "<f8", offset=4 + length).tolist())
    tables = [
        {name: np.array([next(numbers) for _ in range(table["rows"])]) for name in table["columns"]}
        for table in text["tables"]
    ]
    return text["header"], tables


x_values = st.one_of(
    st.integers(-5, 5).map(float), st.sampled_from([math.nan, math.inf, -math.inf])
)


def steps_of(max_size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 4), max_size=max_size).map(
        lambda rises: np.cumsum(rises).tolist()
    )


@settings(deadline=None)
@given(steps_of(30), st.data())
def test_x_is_the_last_value_at_or_before_the_step(steps: list[int], data: st.DataObject) -> None:
    series = series_of(np.arange(len(steps)), steps)
    x_steps = data.draw(steps_of(15))
    x = data.draw(st.lists(x_values, min_size=len(x_steps), max_size=len(x_steps)))
    expected = []
    for row, step in enumerate(steps):
        logged = [value for at, value in zip(x_steps, x, strict=True) if at <= step]
        if logged and math.isfinite(logged[-1]):
            expected.append((row, logged[-1]))

    line = paired_line(series, series_of(x, x_steps))

    rows = line.rows_at(np.arange(len(line)))
    assert list(zip(rows.tolist(), line.x.tolist(), strict=True)) == expected
    assert line.value.tolist() == series.value[rows].tolist()
    xs = [value for _, value in expected]
    assert line.is_sorted == (xs == sorted(xs))
    assert goes_one_way(line) == (xs in (sorted(xs), sorted(xs, reverse=True)))
    in_band = ascending(line, series, line.value)
    assert (in_band is None) == (not goes_one_way(line))
    if in_band:
        assert in_band[0].x.tolist() == sorted(xs)


def test_what_a_restart_logs_again_has_its_own_x() -> None:
    """The old rows keep the x that was logged with them; bands have only the new ones."""
    steps = [0, 1, 2, 3, 1, 2, 3]
    frames = [0, 10, 20, 30, 11, 22, 33]
    series = series_of(np.arange(7), steps)
    line = paired_line(series, series_of(frames, steps))
    assert line.x.tolist() == frames
    assert line.starts.tolist() == [0, 4]
    in_band, value = ascending(line, series, line.value) or pytest.fail("x goes one way")
    assert in_band.x.tolist() == [0, 11, 22, 33]
    assert value.tolist() == [0, 4, 5, 6]

    # Without a restart of its own, x is what was logged at the step.
    line = paired_line(series, series_of([0, 10, 20, 30], [0, 1, 2, 3]))
    assert line.x.tolist() == [0, 10, 20, 30, 10, 20, 30]
    # Of an x that was logged again, without the same restarts, the new values are used.
    line = paired_line(series_of([5, 6, 7], [1, 2, 3]), series_of(frames, steps))
    assert line.x.tolist() == [11, 22, 33]


def test_steps_in_disorder_are_drawn_in_their_order() -> None:
    """As by step, where a writer of several threads logs them."""
    steps = [1, 0, 3, 2, 5, 4]
    series = series_of([1, 0, 3, 2, 5, 4], steps)
    line = paired_line(series, series_of([10, 0, 30, 20, 50, 40], steps))
    assert line.x.tolist() == [0, 10, 20, 30, 40, 50]
    assert line.value.tolist() == [0, 1, 2, 3, 4, 5]


def stretches(x: Any, value: Any, edges: list[float]) -> list[tuple[Any, ...]]:
    """(Pixel column, first, last, extremes) of each part of a line that stays in one column."""
    parts = []
    for at, each in zip(x.tolist(), value.tolist(), strict=True):
        beside = int(at > edges[-1]) - int(at < edges[0])
        parts.append((sum(edge <= at for edge in edges[1:-1]) + beside * len(edges), each))
    result = []
    for column, group in groupby(parts, key=lambda part: part[0]):
        drawn = [each for _, each in group]
        finite = [each for each in drawn if math.isfinite(each)]
        extremes = (min(finite), max(finite)) if finite else ()
        result.append((column, str(drawn[0]), str(drawn[-1]), *extremes))
    return result


@pytest.mark.parametrize("seed", range(60))
def test_a_line_that_goes_back_and_forth_draws_the_same_picture(seed: int) -> None:
    """In each pixel column that it enters: the same first, last, lowest and highest value."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    x = np.clip(rng.normal(0, 0.5, count).cumsum().round(int(rng.integers(0, 3))), -9, 9)
    value = rng.integers(-3, 4, count).astype(np.float32)
    value[rng.random(count) < 0.1] = np.nan
    bounds = sorted(rng.uniform(-3, 3, 2).tolist())
    line = Line(x, value, None, np.zeros(1, np.int64), is_sorted=False)
    start, stop = bounds
    indices = select_indices(line, start, stop, 5)
    edges = np.linspace(start, stop, 6).tolist()
    assert stretches(x[indices], value[indices], edges) == stretches(x, value, edges)
    assert count_between(line, start, stop) == sum(start <= at <= stop for at in x)
    # The points next to the range are found, to walk from one to the next.
    for beyond, nearest in ((x[x < start], max), (x[x > stop], min)):
        assert not len(beyond) or nearest(beyond) in x[indices]


def test_noise_against_noise_is_drawn_in_part() -> None:
    """Its extremes are kept in every pixel column."""
    rng = np.random.default_rng(1)
    x, value = rng.random((2, 200_000))
    line = Line(x, value, None, np.zeros(1, np.int64), is_sorted=False)
    indices = select_indices(line, 0, 1, 50)
    assert 50 * MAX_TURNS_PER_PIXEL <= len(indices) <= 50 * (4 * MAX_TURNS_PER_PIXEL + 4)
    for column in range(50):
        inside = value[(x >= column / 50) & (x < (column + 1) / 50)]
        shown = value[indices][(x[indices] >= column / 50) & (x[indices] < (column + 1) / 50)]
        assert (shown.min(), shown.max()) == (inside.min(), inside.max())


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Two runs with twice and three times as many frames per step, one without, one in circles."""
    steps = range(10, 60, 10)
    for run, factor in (("two", 2), ("three", 3)):
        scalars = {
            "reward": [(step, float(step * factor)) for step in steps],
            "frames": [(step, float(step * factor)) for step in steps if step > 10],
        }
        write_run(tbcore_logdir, run, scalars=scalars)
    write_run(tbcore_logdir, "without", scalars={"reward": [(5, 1.0)]})
    circle = [math.sin(step) for step in range(20)]
    write_run(tbcore_logdir, "circle", scalars={"reward": circle, "frames": circle[::-1]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])


def test_a_window_by_a_tag(client: TbcoreClient) -> None:
    runs = ["two", "three", "without", "circle"]
    header, tables = post(client, "window", tag="reward", runs=runs, x=FRAMES)
    assert header["x"] == FRAMES
    assert [run["num_points"] for run in header["runs"]] == [4, 4, 0, 20]
    assert [run["one_way"] for run in header["runs"]] == [True, True, True, False]
    assert tables[0]["x"].tolist() == [40, 60, 80, 100]
    assert tables[1]["step"].tolist() == [20, 30, 40, 50]
    assert tables[3]["step"].tolist() == list(range(20))
    assert header["to"] == 150

    bounds: dict[str, Any] = {"from": 70, "to": 95}
    header, tables = post(client, "window", tag="reward", runs=runs[:2], x=FRAMES, **bounds)
    assert [table["x"].tolist() for table in tables] == [[60, 80, 100], [60, 90, 120]]
    assert [run["num_inside"] for run in header["runs"]] == [1, 1]


def test_a_window_by_steps_since_the_first(client: TbcoreClient) -> None:
    header, (table, _) = post(
        client, "window", tag="reward", runs=["two", "without"], x="relative_step"
    )
    assert (header["x"], header["from"], header["to"]) == ("relative_step", 0, 40)
    assert table["x"].tolist() == [0, 10, 20, 30, 40]
    assert table["step"].tolist() == [10, 20, 30, 40, 50]
    _, (band,) = post(
        client, "bands", tag="frames", groups={"g": ["two", "three"]}, x="relative_step"
    )
    assert band["x"].tolist() == [0, 10, 20, 30]


def test_bands_by_a_tag_are_means_at_equal_x(client: TbcoreClient) -> None:
    """Runs without the tag are left out, and so are those in which it goes back and forth."""
    groups = {"all": ["two", "three", "without", "circle"]}
    header, (band,) = post(client, "bands", tag="reward", groups=groups, x=FRAMES)
    (group,) = header["groups"]
    assert (group["num_runs"], group["drawn"]) == (2, "mean")
    assert (group["num_without_x"], group["num_back_and_forth"]) == (1, 1)
    assert group["final"]["count"] == 4, "all runs have a last value"
    assert (header["from"], header["to"]) == (40, 150)
    assert band["x"].tolist() == [40, 60, 80, 90, 100, 120, 150]
    assert band["average"].tolist() == band["x"].tolist()


def test_bands_by_a_tag_that_falls(tbcore_logdir: Path) -> None:
    """Such as a learning rate: the order of x, not that of the steps."""
    write_run(tbcore_logdir, "a", scalars={"loss": [3.0, 2.0, 1.0], "lr": [0.5, 0.25, 0.125]})
    write_run(tbcore_logdir, "b", scalars={"loss": [5.0, 4.0, 3.0], "lr": [0.5, 0.25, 0.125]})
    client = make_client(tbcore_logdir, plugins=["scalars"])
    _, (band,) = post(client, "bands", tag="loss", groups={"g": ["a", "b"]}, x={"tag": "lr"})
    assert band["x"].tolist() == [0.125, 0.25, 0.5]
    assert band["average"].tolist() == [2, 3, 4]


@pytest.mark.parametrize("x", [{"tag": 1}, {}, {"tag": "a", "run": "b"}, ["a"], "steps"])
def test_other_axes_are_refused(client: TbcoreClient, x: Any) -> None:
    body = {"tag": "reward", "runs": [], "x": x}
    response = client.post("data/plugin/scalars/window", json=body)
    assert response.status_code == 400
    assert '"x" must be one of step, relative, wall, relative_step' in response.text
