"""Table: columns of rows, from which rows are selected, and which are joined to longer ones."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import image_event, scalar_event, table_of

from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.steps import step_array
from tbcore.eventfiles.table import Table

NAN, INF = float("nan"), float("inf")
STEPS = st.integers(-3, 20) | st.sampled_from([-(2**63), -1, 2**53 + 1, 2**62, 2**63 - 1])


@st.composite
def logged(draw: st.DrawFn) -> list[Event]:
    """Events with one value each, at steps that often rise evenly, also across several tags."""
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 5))):
        first, stride = draw(STEPS), draw(st.sampled_from([-1, 0, 1, 1, 7, 2**62]))
        if events and draw(st.booleans()):
            first = events[-1].step + stride
        tag, form = (
            draw(st.sampled_from("ab")),
            draw(st.sampled_from(["simple", "tensor", "image"])),
        )
        for step in range(first, first + draw(st.integers(1, 4)) * stride, stride or 1) or [first]:
            if not -(2**63) <= step < 2**63:
                break
            if form == "image":
                events.append(image_event(tag, step))
            elif form == "simple":
                events.append(scalar_event(tag, step, draw(st.sampled_from([0.5, NAN, INF]))))
            else:
                value = draw(st.sampled_from([0.5, 0.1, 1e300, NAN]))
                events.append(scalar_event(tag, step, value, field="tensor"))
            if draw(st.integers(0, 5)) == 0:
                plugin_name = draw(st.sampled_from(["scalars", "mine"]))
                events[-1].summary.value[0].metadata.plugin_data.plugin_name = plugin_name
    return events or [scalar_event("a", 0)]


def columns_of(table: Table) -> dict[tuple[str, str, bool], tuple[Any, ...]]:
    """The rows of each column, and what is known about the column."""
    found: dict[tuple[str, str, bool], tuple[Any, ...]] = {}
    for i, entry in enumerate(table.columns.entries):
        is_reference = i >= table.columns.num_scalar
        found[entry[:3]] = (
            table.step[i],
            step_array(table.step[i]).tolist(),
            table.wall_time[table.rows(i)].tolist(),
            table.value[table.rows(i)].tobytes(),
            [array.tolist() for array in table.references_of(i)] if is_reference else [],
            (i in table.wide, i in table.nonfinite),
            table.ordinals[i].tolist() if i in table.ordinals else None,
        )
        assert table.num_rows_of(i) == len(found[entry[:3]][1]) > 0
    return {key: (isinstance(step, range), *columns) for key, (step, *columns) in found.items()} | {
        ("", "dtype", False): (table.value.dtype,)
    }


@given(logged(), st.sets(st.integers(1, 12)))
@example([scalar_event("a", -(2**63)), scalar_event("a", 2**63 - 1)], {1})
@example([scalar_event("a", -(2**62)), scalar_event("a", 0), scalar_event("a", 2**62)], {1})
def test_joined_tables_are_like_one_table_of_all_events(
    events: list[Event], cuts: set[int]
) -> None:
    """Columns and their order, even steps, types, and which columns have unusual values."""
    whole = table_of(events)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    parts = [table_of(events[a:b], range(a, b)) for a, b in pairwise(bounds)]
    joined = Table.joined(parts)
    assert joined.columns is whole.columns
    assert joined.bounds == whole.bounds
    assert columns_of(joined) == columns_of(whole)
    assert joined.highest_step == whole.highest_step == max(event.step for event in events)


@given(logged(), st.sets(st.integers(0, 19)))
def test_a_selection_is_like_a_table_of_the_other_events(
    events: list[Event], dropped: set[int]
) -> None:
    """Rows keep their ordinals, and columns without rows are gone."""
    kept = [number for number in range(len(events)) if number not in dropped]
    whole = with_positions(table_of(events))
    rows = {
        i: np.flatnonzero(np.isin(positions, 100 * np.array(kept)))
        for i, positions in whole.ordinals.items()
    }
    rows = {i: found for i, found in rows.items() if len(found) < whole.num_rows_of(i)}
    selected = whole.selected(rows)
    if not kept or selected is None:
        assert not kept
        assert selected is None
        return
    expected = with_positions(table_of([events[number] for number in kept], kept))
    assert columns_of(selected) == columns_of(expected)
    assert (selected is whole) == (not rows)
    left = [whole.columns.entries[i] for i in whole.columns.order]
    left = [entry for entry in left if entry in selected.columns.entries]
    assert [selected.columns.entries[i] for i in selected.columns.order] == left


def with_positions(table: Table) -> Table:
    """The table with its positions as ordinals, and with a file, as the store has it."""
    if table.references is not None:
        files = np.zeros(len(table.references.offset), np.uint32)
        table.references = table.references._replace(file=files)
    assert table.position is not None
    position = table.position()
    columns = range(len(table.columns.entries))
    return table.with_ordinals({i: position[table.rows(i)] for i in columns})


@pytest.mark.parametrize(
    ("steps", "is_even"),
    [
        ([5], True),
        ([0, 10, 20], True),
        ([-3, -2, -1], True),
        ([0, 2**62], True),
        ([-(2**63), -1, 2**63 - 2], True),
        ([-(2**63), 2**63 - 1], False),
        ([2**63 - 1, -(2**63)], False),
        ([1, 2, 4], False),
        ([2, 1], False),
        ([7, 7], False),
    ],
)
def test_even_steps_are_a_range(steps: list[int], is_even: bool) -> None:
    """A range takes no memory for each row, however long the column is."""
    events = [scalar_event(tag, step) for step in steps for tag in "ab"]
    table = table_of(events)
    assert [isinstance(step, range) for step in table.step] == [is_even] * 2
    assert [step_array(step).tolist() for step in table.step] == [steps] * 2
    assert (table.step[0] is table.step[1]) == is_even, "columns do not share a range"


@pytest.mark.parametrize(
    ("values", "is_wide"),
    [
        ([0.5, 1.0, -0.0], False),
        ([NAN, INF, -INF], False),
        ([2.0**100, 2.0**-149], False),
        ([0.1], True),
        ([1e300], True),
        ([2.0**24 + 1], True),
        ([float(2**53)], False),
        ([1e-300], True),
    ],
)
def test_values_are_float32_as_long_as_nothing_is_lost(values: list[float], is_wide: bool) -> None:
    """Which columns need float64 is known, too."""
    events = [scalar_event("a", 0), *(scalar_event("b", 0, v, field="tensor") for v in values)]
    table = table_of(events)
    assert table.value.dtype == (np.float64 if is_wide else np.float32)
    assert set(table.wide) == ({1} if is_wide else set())
    assert np.array_equal(table.value, [0.5, *values], equal_nan=True)
    assert set(table.nonfinite) == (set() if np.isfinite(values).all() else {1})


def test_tables_with_equal_columns_share_them_and_few_steps() -> None:
    """The runs of a sweep log the same tags at the same steps."""
    events = [scalar_event("a", step) for step in (3, 5, 6)]
    one, other = table_of(events), table_of(events)
    assert one.columns is other.columns
    assert one.step[0] is other.step[0]


@given(logged())
def test_a_pickled_table_is_what_the_store_keeps(events: list[Event]) -> None:
    """Arrays can be pickled out of band, and columns are shared in the other process, too."""
    table = table_of(events)
    table = table.with_ordinals({0: np.arange(7, 7 + table.num_rows_of(0))})
    arrays: list[Any] = []
    pickled = pickle.dumps(table, 5, buffer_callback=arrays.append)
    copy = pickle.loads(pickled, buffers=arrays)
    assert copy.columns is table.columns
    assert columns_of(copy) == columns_of(table)
    assert copy.position is None


def test_graphs_do_not_count_for_the_highest_step() -> None:
    """A restart never drops them."""
    graph = Event(step=9, graph_def=b"graph")
    assert table_of([scalar_event("a", 5), graph]).highest_step == 5
    assert table_of([graph]).highest_step < -(2**63)
