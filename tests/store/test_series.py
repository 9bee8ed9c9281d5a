"""Series: columns of a tag, made from a few tables when somebody asks for them."""

from __future__ import annotations

import gc
import math
import tracemalloc
import weakref
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import image_event, scalar_event, table_of

from tbcore.eventfiles.table import Table
from tbcore.kinds import Claim, Kind
from tbcore.store import series as series_module
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run import RunData
from tbcore.store.sampling import sampled_rows_of
from tbcore.store.series import MIN_ROWS_TO_CACHE, Point, ScalarSeries, Series, extreme_rows
from tbcore.store.smoothing import smoothed
from tbcore.store.view import EMPTY_SCHEMA, LoadedView, RunView

SCALAR = Kind("simple_value", "", True)
ANY = (Claim(),)


def new_data() -> RunData:
    data = RunData(purge_orphaned_data=False)
    data.add_file("1.tfevents")
    return data


def series_of(*tables: Table) -> Series:
    """The only series of a tag that is the first column of these tables."""
    return Series(SCALAR, [(table, 0) for table in tables])


def with_ordinals(steps: Sequence[int], ordinals: Sequence[int]) -> Table:
    return table_of(scalar_event("a", step) for step in steps).with_ordinals(
        {0: np.array(ordinals, np.int64)}
    )


VALUES = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e300, math.nan, math.inf, -math.inf])


@given(
    st.lists(st.tuples(st.booleans(), st.lists(VALUES, max_size=6)), max_size=12),
    st.sampled_from([1, 5, 1 << 22]),
)
def test_extremes_of_many_columns(columns: list[tuple[bool, list[float]]], limit: int) -> None:
    """They are those of each series: the first with the lowest or highest finite value."""
    with np.errstate(over="ignore"):
        values = [np.array(v, np.float64 if wide else np.float32) for wide, v in columns]
    for stat in ("min", "max"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(series_module, "_MAX_ROWS_SEARCHED", limit)
            rows = extreme_rows(values, stat)
        for value, row in zip(values, rows, strict=True):
            n = np.arange(len(value))
            expected = getattr(ScalarSeries(n, n, n.astype(float), value), stat)
            assert row == (None if expected is None else expected.step)


@given(
    st.lists(st.integers(0, 60), unique=True, max_size=30),
    st.sets(st.integers(1, 29)),
    st.sets(st.integers(0, 29)),
    st.integers(0, 9),
    st.booleans(),
)
def test_a_series_of_several_tables_is_like_one(
    numbers: list[int], cuts: set[int], picked: set[int], samples: int, is_full: bool
) -> None:
    """Columns, some of their rows, samples, and the row of an ordinal."""
    ordinals = [*range(len(numbers))] if is_full else sorted(numbers)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(numbers)), len(numbers)]
    tables = []
    for start, stop in pairwise(bounds) if numbers else ():
        part = with_ordinals(numbers[start:stop], ordinals[start:stop])
        tables.append(part.with_ordinals({}) if is_full else part)
    series = series_of(*tables)
    expected = {
        "ordinal": ordinals,
        "step": numbers,
        "wall_time": [step + 0.25 for step in numbers],
        "value": [0.5] * len(numbers),
    }
    rows = np.array(sorted(row for row in picked if row < len(numbers)), np.int64)
    for name, column in expected.items():
        assert series.column(name).tolist() == column
        assert series.column_at(name, rows).tolist() == [column[row] for row in rows]
        assert series.column_at(name, rows).dtype == series.column(name).dtype
    assert len(series) == len(numbers)
    assert series.has_all_ordinals == (is_full or not numbers)
    sample = sampled_rows_of(np.array(ordinals, np.int64), samples)
    assert series.sampled_rows(samples).tolist() == sample.tolist()
    for ordinal in (-1, *range(62), 2**63 - 1, 2**63, 10**30):
        row = ordinals.index(ordinal) if ordinal in ordinals else None
        assert series.row_of(ordinal) == row


def test_references_have_columns_of_their_own() -> None:
    """The store adds the file of each table's references."""
    data = new_data()
    data.add_file("2.tfevents")
    for file_index in (1, 0):
        events = [image_event("a", 0), scalar_event("b", 1), image_event("a", 2)]
        data.add_item(table_of(events, range(file_index, 9)), file_index)
    [series] = data.commit().series("a")
    assert series.kind == Kind("image")
    expected = {
        "step": [0, 2, 0, 2],
        "file": [1, 1, 0, 0],
        "offset": [100, 300, 0, 200],
        "length": [101, 301, 1, 201],
        "index": [0, 0, 0, 0],
        "crc": [102, 302, 2, 202],
        "ordinal": [0, 1, 2, 3],
    }
    assert {name: series.column(name).tolist() for name in expected} == expected


def test_columns_are_read_only_views_if_possible() -> None:
    """Plugins get the store's own memory."""
    one = table_of(scalar_event("a", step) for step in (4, 2, 7))
    for series in (series_of(one), series_of(one, one)):
        for name in ("ordinal", "step", "wall_time", "value"):
            with pytest.raises(ValueError):
                series.column(name)[0] = 3
    for name in ("step", "wall_time", "value"):
        assert np.shares_memory(series_of(one).column(name), series_of(one).column(name))
    assert one.value.flags.writeable, "only the view is read-only"


@pytest.mark.parametrize("is_wide", [False, True])
def test_all_values_of_a_series_are_float64_if_one_needs_it(is_wide: bool) -> None:
    """Other series of the same table stay float32. A sample has the type of the whole series."""
    data = new_data()
    for value in (0.5, 0.1 if is_wide else 2.0):
        data.add_item(table_of([scalar_event("a", 0, value, field="tensor")]), 0)
        data.add_item(table_of([scalar_event("b", 0, 1e300, field="tensor")]), 0)
        data.add_item(table_of([scalar_event("c", 0, 0.5, field="tensor")]), 0)
    for _ in range(2):
        view = data.commit()
        dtype = np.float64 if is_wide else np.float32
        [a], [b], [c] = (view.series(tag) for tag in "abc")
        assert a.column("value").dtype == a.column_at("value", np.array([0])).dtype == dtype
        assert a.column("value").tolist() == [0.5, 0.1 if is_wide else 2.0]
        assert b.column("value").dtype == np.float64
        assert c.column("value").dtype == np.float32
        data.end_loading()  # merges all tables


@pytest.mark.parametrize(("is_even", "max_row_bytes"), [(True, 14), (False, 22)])
def test_points_cost_little_memory(is_even: bool, max_row_bytes: int) -> None:
    """A loaded series takes 20 bytes per row, 8 bytes less if its steps ascend evenly."""
    columns = table_of([scalar_event("a", 0)]).columns
    step = np.arange(50_000, dtype=np.int64) * 10
    step[5] += not is_even
    data = new_data()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for start in range(0, 1_000_000, 50_000):
        wall_time, value = step.astype(np.float64), np.ones(50_000, np.float32)
        table = Table.of(
            columns, (0, 50_000), step + start * 10, wall_time, value, None,
            position=lambda: step, last_wall_time=0.0,
        )  # fmt: skip
        data.add_item(table, 0)
    del table, wall_time, value
    data.end_loading()
    view = data.commit()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(view.series("a")[0]) == 1_000_000
    assert used <= max_row_bytes * 1_000_000


def test_columns_of_a_long_series_are_cached_until_the_next_commit() -> None:
    """A page requests the same series again and again. The memory of a run that is gone is free."""
    num_rows = MIN_ROWS_TO_CACHE // 2
    board = Board()
    multiplexer = Multiplexer(board=board)
    one = table_of(scalar_event("a", step) for step in range(num_rows))
    schema = EMPTY_SCHEMA.extended(one.columns)
    views = (LoadedView(schema, tables=(one,) * count) for count in (1, 2))
    board.commit(dict(zip(("short", "long"), views, strict=True)))
    assert multiplexer.scalars("short", "a") is not multiplexer.scalars("short", "a")
    long = multiplexer.scalars("long", "a")
    assert multiplexer.scalars("long", "a") is long
    columns = [weakref.ref(column) for column in (long.step, long.wall_time, long.value)]
    assert all(column() is not None for column in columns)
    board.commit({"long": LoadedView(schema, tables=(one, one, one))})
    assert len(multiplexer.scalars("long", "a").step) == 3 * num_rows
    columns += [weakref.ref(multiplexer.scalars("long", "a").value)]
    board.commit({}, ["long"])
    del long
    gc.collect()
    assert [column() for column in columns] == [None] * 4


def events_of(tag: str, *fields: str) -> Table:
    """A table of a tag; its scalars are 0.5, 1.5, ... at the steps 0, 1, ..."""
    return table_of(
        image_event(tag, step)
        if field == "image"
        else scalar_event(tag, step, step + 0.5, field=field)
        for step, field in enumerate(fields)
    )


def last_values(view: RunView, *claims: Claim) -> dict[str, float]:
    found = view.last_points(claims)
    assert found.step.tolist() == [value - 0.5 for value in found.value.tolist()]
    assert found.wall_time.tolist() == [value - 0.25 for value in found.value.tolist()]
    return dict(zip(found.tags, found.value.tolist(), strict=True))


def test_the_last_point_of_a_tag_may_be_of_any_of_its_kinds() -> None:
    """It is the last among those kinds that are scalars, and that a claim matches."""
    data = new_data()
    data.add_item(events_of("b", "simple_value"), 0)
    data.add_item(events_of("a", "simple_value", "tensor", "simple_value", "tensor", "image"), 0)
    data.add_item(events_of("c", "image"), 0)
    for _ in range(2):
        view = data.commit()
        assert last_values(view, *ANY) == {"b": 0.5, "a": 3.5}
        assert list(last_values(view, *ANY)) == ["b", "a"]
        assert last_values(view, Claim("simple_value")) == {"b": 0.5, "a": 2.5}
        assert last_values(view, Claim("tensor")) == {"a": 3.5}
        assert last_values(view, Claim("image")) == {}
        data.end_loading()
    data.add_item(events_of("a", "simple_value"), 0)
    data.add_item(events_of("c", "image", "tensor"), 0)
    view = data.commit()
    assert last_values(view, *ANY) == {"b": 0.5, "a": 0.5, "c": 1.5}
    assert last_values(view, Claim("tensor")) == {"a": 3.5, "c": 1.5}


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.sampled_from([0.5, 1e300, np.nan, np.inf])),
            min_size=1,
        )
    ),
    st.booleans(),
)
def test_tags_with_nonfinite_values_are_known(
    blocks: list[list[tuple[str, float]]], ends: bool
) -> None:
    """In the order of tags, however the rows are divided into tables."""
    data = new_data()
    for block in blocks:
        data.add_item(table_of(scalar_event(t, 0, v, field="tensor") for t, v in block), 0)
    if ends:
        data.end_loading()
    rows = [row for block in blocks for row in block]
    tags = dict.fromkeys(tag for tag, _ in rows)
    affected = {tag for tag, value in rows if not np.isfinite(value)}
    assert data.commit().nonfinite_tags == tuple(tag for tag in tags if tag in affected)


def points_of(steps: Sequence[int], values: Sequence[float]) -> ScalarSeries:
    """A series of these points, with the wall times 100, 101, 102, ..."""
    size = len(steps)
    return ScalarSeries(
        np.arange(size),
        np.array(steps, np.int64),
        100.0 + np.arange(size),
        np.array(values, np.float32),
    )


def test_first_last_lowest_and_highest_point() -> None:
    """The lowest and highest are those of finite values, and the first of equal ones."""
    series = points_of([0, 5, 10, 15, 20], [math.nan, 2, 1, 2, math.inf])

    assert series.first is not None
    assert (series.first.step, series.first.wall_time) == (0, 100.0)
    assert math.isnan(series.first.value)
    assert series.last == Point(20, 104.0, math.inf)
    assert series.min == Point(10, 102.0, 1.0)
    assert series.max == Point(5, 101.0, 2.0)
    assert series.num_nonfinite == 2
    last = "Point(step=20, wall_time=104.0, value=inf)"
    assert repr(series) == f"ScalarSeries(num_points=5, last={last})"


def test_without_finite_values_there_is_no_lowest_point() -> None:
    only_nan, empty = points_of([0], [math.nan]), points_of([], [])

    assert (only_nan.min, only_nan.max, only_nan.num_nonfinite) == (None, None, 1)
    assert (empty.first, empty.last, empty.min, empty.max, empty.at(3)) == (None,) * 5
    assert repr(empty) == "ScalarSeries(num_points=0, last=None)"


def test_the_point_at_a_step_is_the_last_one_at_or_before_it() -> None:
    series = points_of([10, 20, 20, 40], [1, 2, 3, 4])

    assert [series.at(step) for step in (9, 10, 39, 1000)] == [
        None,
        Point(10, 100.0, 1.0),
        Point(20, 102.0, 3.0),
        Point(40, 103.0, 4.0),
    ]


def test_the_points_between_two_steps_include_both() -> None:
    part = points_of([10, 20, 20, 40], [1, 2, 3, 4]).between(20, 40)

    assert part.step.tolist() == [20, 20, 40]
    assert part.ordinal.tolist() == [1, 2, 3]
    assert part.wall_time.tolist() == [101.0, 102.0, 103.0]
    assert part.value.tolist() == [2, 3, 4]
    assert not part.value.flags.writeable
    assert len(part.between(41, 50)) == 0


def test_smoothing_starts_again_where_the_training_did() -> None:
    series = points_of([0, 1, 2, 0, 1, 2], [0, 1, 1, 0, 1, 1])
    smooth = series.smooth(0.5)

    assert smooth.value.tolist() == [*smoothed(np.array([0.0, 1, 1]), 0.5)] * 2
    assert smooth.step.tolist() == series.step.tolist()
    assert not smooth.value.flags.writeable
    assert series.smooth(0).value.tolist() == series.value.tolist()
    for weight in (1, -0.1, math.nan):
        with pytest.raises(ValueError, match="from 0 to below 1"):
            series.smooth(weight)


def test_points_of_several_writers_are_smoothed_in_the_order_of_steps() -> None:
    """The step decreases at each second point, so these are no restarts."""
    series = points_of([0, 10, 1, 11, 2, 12, 3, 13], [0, 10, 1, 11, 2, 12, 3, 13])
    smooth = series.smooth(0.5)

    assert smooth.step.tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert smooth.value.tolist() == smoothed(np.sort(series.value), 0.5).tolist()
