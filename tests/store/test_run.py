"""RunData follows the rules of event files: it is compared with a model in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from calls import Watch
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import contents

from tbcore.eventfiles.plain import TableBuilder, control_event
from tbcore.eventfiles.proto import event_pb2
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.table import GRAPH_FIELDS, Columns, DecodedItem, TableColumn
from tbcore.kinds import Claim, Kind
from tbcore.store import run as run_module
from tbcore.store.run import RunData
from tbcore.store.series import Series
from tbcore.store.view import EMPTY_SCHEMA, RunView
from tbcore_testing.tensors import array_proto

# -- events, and the items of a file made of them ------------------------------------------------


class Value(NamedTuple):
    tag: str
    field: str
    is_scalar: bool
    plugin_name: str | None = None
    """Plugin name in the metadata; None for a value without metadata."""


class Event(NamedTuple):
    what: str
    """One of summary, graph_def, other, version, start."""
    step: int
    values: tuple[Value, ...] = ()
    version: float = 0.0


class Row(NamedTuple):
    ordinal: int
    step: int
    file: int
    """-1 for a scalar."""
    position: int
    """Offset of the event, plus the index of the value in its event."""


Content = dict[str, dict[Kind, list[Row]]]
"""Rows by tag and kind."""


def offsets_of(events: Sequence[Event], start: int = 0) -> list[int]:
    """Offsets of the records of these events, as if they were as short as possible."""
    offsets = []
    for event in events:
        offsets.append(start)
        start += 16 + 2 * max(len(event.values), 1)
    return offsets


def message_of(event: Event, offset: int) -> event_pb2.Event:
    """The event as it is logged. A scalar is its position, so that each row has another value."""
    message = event_pb2.Event(step=event.step, wall_time=event.step + 0.5)
    match event.what:
        case "version":
            message.file_version = f"brain.Event:{event.version}"
        case "start":
            message.session_log.status = event_pb2.SessionLog.START
        case "graph_def":
            message.graph_def = b"graph"
        case "other":
            message.log_message.message = "other"
        case _:
            message.summary.SetInParent()
    for position, (tag, field, is_scalar, plugin_name) in enumerate(event.values, offset):
        value = message.summary.value.add(tag=tag)
        if field == "simple_value":
            value.simple_value = position
        elif field == "image":
            value.image.height = 1
        else:
            array = np.array(position, np.float64) if is_scalar else np.array([b"text"], object)
            value.tensor.CopyFrom(array_proto(array))
        if plugin_name is not None:
            value.metadata.plugin_data.plugin_name = plugin_name
    return message


def items_of(
    events: Sequence[Event], cuts: Sequence[int] = (), start: int = 0
) -> Iterator[DecodedItem]:
    """The items of one file with these events. A table also begins at each index in `cuts`.

    The length and the checksum of each record follow from its offset.
    """
    builder = TableBuilder()
    for number, (offset, event) in enumerate(zip(offsets_of(events, start), events, strict=True)):
        message = message_of(event, offset)
        control = control_event(message)
        if number in cuts or control is not None:
            yield from builder.tables()
            builder = TableBuilder()
        if control is not None:
            yield control
        else:
            builder.add(message, offset, offset + 1, offset + 2)
    yield from builder.tables()


# -- the model -----------------------------------------------------------------------------------


class Model:
    """The rows of a run, computed event by event in plain Python."""

    def __init__(self, *, purges: bool) -> None:
        self.purges = purges
        self.rows: dict[str, dict[tuple[str, bool], list[Row]]] = {}
        self.num_rows: dict[str, int] = {}
        self.plugin_names: dict[str, str] = {}
        self.version = -1.0
        self.versions: dict[int, float] = {}
        self.most_recent_step = -1
        self.has_started = False
        self.files_read: set[int] = set()

    def add_event(self, event: Event, file: int, offset: int) -> None:
        if event.what == "version":
            self.version = self.versions[file] = event.version
        has_file_before = any(other < file for other in self.files_read)
        self.files_read.add(file)
        is_first_start = event.what == "start" and not self.has_started
        self.has_started |= event.what == "start"
        if self.purges:
            if self.versions.get(file, self.version) >= 2:
                if event.what == "start" and (has_file_before or not is_first_start):
                    self.purge(list(self.rows), event.step)
            elif event.what == "summary" and event.step < self.most_recent_step:
                self.purge([value.tag for value in event.values], event.step)
            else:
                self.most_recent_step = event.step
        if event.what == "graph_def":
            self.add_row(Value("", "graph_def", False), event.step, file, offset, 0)
        for index, value in enumerate(event.values):
            self.add_row(value, event.step, file, offset, index)

    def purge(self, tags: Sequence[str], step: int) -> None:
        for tag in tags:
            for (field, _), rows in self.rows.get(tag, {}).items():
                if field not in GRAPH_FIELDS:
                    rows[:] = [row for row in rows if row.step < step]

    def add_row(self, value: Value, step: int, file: int, offset: int, index: int) -> None:
        ordinal = self.num_rows.get(value.tag, 0)
        self.num_rows[value.tag] = ordinal + 1
        series = self.rows.setdefault(value.tag, {})
        series.setdefault((value.field, value.is_scalar), []).append(
            Row(ordinal, step, -1 if value.is_scalar else file, offset + index)
        )
        if value.plugin_name is not None:
            self.plugin_names.setdefault(value.tag, value.plugin_name)

    def content(self) -> Content:
        """The rows by tag, in the order of tags, and by kind."""
        return {
            tag: {
                Kind(field, self.plugin_names.get(tag, ""), is_scalar): list(rows)
                for (field, is_scalar), rows in series.items()
            }
            for tag, series in self.rows.items()
        }

    def last_rows(self) -> dict[str, Row]:
        """The last scalar of each tag."""
        found = {
            tag: [row for (_, is_scalar), rows in series.items() if is_scalar for row in rows]
            for tag, series in self.rows.items()
        }
        return {tag: max(rows) for tag, rows in found.items() if rows}


def content_of(view: RunView) -> Content:
    """The rows of a view. Columns that follow from others are verified."""
    return {
        tag: {series.kind: rows_of(series) for series in view.series(tag)}
        for tag in view.schema.tags
    }


def rows_of(series: Series) -> list[Row]:
    """The rows of a series, of which every second one is also requested by its number."""
    names = ["value"] if series.kind.is_scalar else ["file", "offset", "index", "length", "crc"]
    found = {name: series.column(name) for name in ("ordinal", "step", "wall_time", *names)}
    picked = np.arange(0, len(series), 2)
    for name, column in found.items():
        part = series.column_at(name, picked)
        assert part.tolist() == column[picked].tolist()
        assert part.dtype == column.dtype
    columns = {name: column.tolist() for name, column in found.items()}
    ordinals = columns["ordinal"]
    numbers = range(max(ordinals, default=0) + 2)
    rows = {ordinal: row for row, ordinal in enumerate(ordinals)}
    assert [series.row_of(number) for number in numbers] == [rows.get(n) for n in numbers]
    assert columns["wall_time"] == [step + 0.5 for step in columns["step"]]
    if series.kind.is_scalar:
        files, positions = [-1] * len(series), columns["value"]
    else:
        assert columns["length"] == [offset + 1 for offset in columns["offset"]]
        assert columns["crc"] == [offset + 2 for offset in columns["offset"]]
        files = columns["file"]
        positions = [sum(pair) for pair in zip(columns["offset"], columns["index"], strict=True)]
    return list(map(Row, ordinals, columns["step"], files, positions))


def assert_equal(view: RunView, model: Model) -> None:
    """The rows, the order of tags, and the last point of each tag are those of the model."""
    content, expected = content_of(view), model.content()
    assert content == expected
    assert list(content) == list(expected)
    last, expected_last = view.last_points((Claim(),)), model.last_rows()
    assert last.tags == [tag for tag in expected if tag in expected_last]
    assert dict(zip(last.tags, last.value.tolist(), strict=True)) == {
        tag: row.position for tag, row in expected_last.items()
    }
    assert last.step.tolist() == [expected_last[tag].step for tag in last.tags]
    assert last.wall_time.tolist() == [expected_last[tag].step + 0.5 for tag in last.tags]
    assert {tag: view.last_point(tag) for tag in expected} == {
        tag: (row.step, row.position) if row else None
        for tag, row in ((tag, expected_last.get(tag)) for tag in expected)
    }


# -- any events ------------------------------------------------------------------------------------

VALUES = st.builds(
    Value,
    st.sampled_from(["a", "b", ""]),
    st.just("tensor"),
    st.booleans(),
    st.sampled_from([None, None, None, "", "scalars", "text"]),
) | st.builds(
    Value, st.sampled_from(["a", "b", "c"]), st.just("simple_value"), st.just(True), st.none()
)
STEPS = st.integers(-2, 6)
EVENTS = st.one_of(
    st.builds(Event, st.just("summary"), STEPS, st.lists(VALUES, max_size=4).map(tuple)),
    st.builds(
        Event, st.just("summary"), STEPS, st.lists(VALUES, min_size=1, max_size=1).map(tuple)
    ),
    st.builds(Event, st.sampled_from(["graph_def", "other", "start"]), STEPS, st.just(())),
    st.builds(
        Event,
        st.just("version"),
        STEPS,
        st.just(()),
        st.sampled_from([2.0, 2.0, 1.0, -1.0, float("nan"), float("inf")]),
    ),
)
PIECES = st.lists(
    st.tuples(st.integers(0, 2), st.lists(EVENTS, max_size=14), st.sets(st.integers(1, 13))),
    max_size=6,
)
"""Each piece has the number of a file, events to append, and indexes at which a table begins."""


@settings(max_examples=400, deadline=None)
@given(
    PIECES,
    st.booleans(),
    st.sets(st.integers(0, 5)),
    st.sampled_from([2, 16]),
    st.sampled_from([4, 1 << 17]),
)
def test_any_stream_of_events_gives_the_rows_of_the_model(
    pieces: list[tuple[int, list[Event], set[int]]],
    purges: bool,
    ends: set[int],
    max_unmerged: int,
    max_merged_rows: int,
) -> None:
    """The stream has files that grow in turn, restarts, and tags of several kinds.

    Tables are merged early or late. Each view has the same rows at the end as when it was made.
    """
    data, model = RunData(purge_orphaned_data=purges), Model(purges=purges)
    indices = [data.add_file(name) for name in ("1.tfevents", "2.tfevents", "3.tfevents")]
    sizes = [0, 0, 0]
    views = []
    for number, (file, events, cuts) in enumerate(pieces):
        with mock.patch.multiple(
            run_module, _MAX_UNMERGED=max_unmerged, _MAX_MERGED_ROWS=max_merged_rows
        ):
            for item in items_of(events, sorted(cuts), sizes[file]):
                data.add_item(item, indices[file])
            if number in ends:
                data.end_loading()
        for offset, event in zip(offsets_of(events, sizes[file]), events, strict=True):
            model.add_event(event, file, offset)
            sizes[file] = offset + 1000
        view = data.commit()
        assert_equal(view, model)
        views.append((view, contents(view)))
    for view, before in views:
        assert contents(view) == before


# -- single rules ----------------------------------------------------------------------------------


def add_events(
    data: RunData, events: Sequence[Event], *, file_index: int = 0, start: int = 0
) -> RunView:
    """Adds the events of a file, whose first record is at offset `start`, and commits them."""
    for item in items_of(events, (), start):
        data.add_item(item, file_index)
    return data.commit()


def new_data(*, max_points: int = 0) -> RunData:
    data = RunData(max_points=max_points)
    data.add_file("1.tfevents")
    return data


def scalar(tag: str, *steps: int) -> list[Event]:
    return [Event("summary", step, (Value(tag, "simple_value", True),)) for step in steps]


def steps_of(view: RunView, tag: str) -> list[int]:
    return [step for series in view.series(tag) for step in series.column("step").tolist()]


def test_a_view_stays_the_same_while_nothing_changes() -> None:
    """An idle run leads to no new generation."""
    data = new_data()
    view = add_events(data, scalar("a", 1, 2))
    assert data.commit() is view
    data.end_loading()
    assert contents(data.commit()) == contents(view)
    assert data.commit() is data.commit()


def test_the_schema_changes_with_tags_and_kinds_and_not_with_rows() -> None:
    """Cached results are used as long as the schema is the same object, also in other runs."""
    data = new_data()
    version = Event("version", 0, (), 2.0)
    first = add_events(data, [version, *scalar("a", 1)])
    assert add_events(new_data(), scalar("a", 5)).schema is first.schema
    more_rows = add_events(data, scalar("a", 2), start=1000)
    assert more_rows.schema is first.schema
    purged = add_events(data, [Event("start", 0), Event("start", 0)], start=2000)
    assert purged.schema is first.schema
    new_tag = add_events(data, scalar("b", 1), start=3000)
    assert new_tag.schema is not first.schema
    new_kind = add_events(data, [Event("summary", 3, (Value("a", "tensor", True),))], start=4000)
    assert new_kind.schema is not new_tag.schema
    described = add_events(
        data, [Event("summary", 4, (Value("a", "tensor", True, "scalars"),))], start=5000
    )
    assert described.schema is not new_kind.schema
    assert described.schema.kinds == {
        Kind("simple_value", "scalars", True),
        Kind("tensor", "scalars", True),
        Kind("simple_value", "", True),
    }


def test_the_first_metadata_of_a_table_is_the_one_written_first() -> None:
    """The first metadata may be in another column than the first one."""
    events = [
        Event("summary", 0, (Value("a", "simple_value", True),)),
        Event("summary", 1, (Value("a", "tensor", True, "early"),)),
        Event("summary", 2, (Value("a", "simple_value", True, "late"),)),
    ]
    view = add_events(new_data(), events)
    metadata = SummaryMetadata.FromString(view.schema.tags["a"].metadata or b"")
    assert metadata.plugin_data.plugin_name == "early"
    assert {kind.plugin_name for kind in view.schema.kinds} == {"early"}


def test_invalid_metadata_has_no_plugin_name() -> None:
    """The invalid bytes are kept as they are."""
    columns = Columns.of((TableColumn("a", "simple_value", True, b"\xff\xff"),), (0,))
    schema = EMPTY_SCHEMA.extended(columns)
    assert schema.kinds == {Kind("simple_value", "", True)}
    assert schema.tags["a"].metadata == b"\xff\xff"


def test_two_kinds_of_a_tag_share_its_ordinals() -> None:
    """Rows of both are numbered together, in the order written, even before the second is known."""
    data = new_data()
    add_events(data, scalar("a", 0, 1))
    events = [
        Event("summary", step, (Value("a", "tensor" if step % 2 else "simple_value", True),))
        for step in range(2, 6)
    ]
    content = content_of(add_events(data, events, start=1000))["a"]
    assert [row.ordinal for row in content[Kind("simple_value", "", True)]] == [0, 1, 2, 4]
    assert [row.ordinal for row in content[Kind("tensor", "", True)]] == [3, 5]


def test_max_points_keeps_the_rows_of_a_sample(limits: Callable[..., None]) -> None:
    """Only scalars are limited, also while there is no commit. The last row is always kept."""
    limits(run_module, _MIN_ROWS_TO_THIN=50)
    data, free = new_data(max_points=10), new_data()
    for some in (data, free):
        add_events(some, [Event("version", 0, (), 2.0)])
    for start in range(0, 400, 25):
        events = scalar("a", *range(start, start + 25))
        events += [Event("summary", start, (Value("image", "image", False),))] * 3
        for item in items_of(events, (), start * 1000):
            data.add_item(item, 0)
        everything = add_events(free, events, start=start * 1000).series("a")[0]
        assert data.num_rows <= 100 + start / 4
        if start % 200 == 175:
            [series] = data.commit().series("a")
            picked = everything.sampled_rows(10)
            assert series.column("ordinal").tolist() == picked.tolist()
            assert series.column("step").tolist() == picked.tolist()
    assert len(data.commit().series("image")[0]) == 48


@pytest.mark.parametrize("grows", [False, True])
def test_a_start_only_looks_at_tables_with_steps_that_it_drops(
    calls_of: Watch, grows: bool
) -> None:
    """A run may have thousands of tags, and thousands of STARTs."""
    calls = calls_of(run_module._rows_below)
    data = new_data()
    add_events(data, [Event("version", 0, (), 2.0)])
    many = tuple(Value(f"tag{i}", "simple_value", True) for i in range(200))
    add_events(data, [Event("summary", 1, many), Event("summary", 2, many)], start=100)
    for number in range(300):
        extended = scalar("tag7", 4 + number) if grows else []
        view = add_events(data, [*extended, Event("start", 3)], start=1000 + 1000 * number)
    assert steps_of(view, "tag7") == steps_of(view, "tag8") == [1, 2]
    assert len(calls) == (300 if grows else 0)


def test_many_events_of_an_old_file_may_step_back() -> None:
    """Later rows replace earlier ones of their tag, however the events are divided into tables."""
    events = [*scalar("a", *range(1000)), *scalar("b", 5), *scalar("a", *range(500, 1000))]
    at_once, one_by_one = new_data(), new_data()
    view = add_events(at_once, events)
    for number, event in enumerate(events):
        last = add_events(one_by_one, [event], start=number * 100)
    assert steps_of(view, "a") == steps_of(last, "a") == list(range(1000))
    assert steps_of(view, "b") == [5]
    assert view.series("a")[0].column("ordinal")[498:502].tolist() == [498, 499, 1000, 1001]


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize("num_rows", [1, 15])
def test_small_tables_are_merged_to_few_larger_ones(
    limits: Callable[..., None], is_live: bool, num_rows: int
) -> None:
    """There is a limit to the length of a merged table, which one more table may exceed."""
    limits(run_module, _MAX_MERGED_ROWS=64)
    data = new_data()
    if is_live:
        data.end_loading()
    for step in range(0, 990, num_rows):
        events = scalar("a", *range(step, step + num_rows))
        view = add_events(data, events, start=step * 100)
        assert len(view.tables) <= step // 32 + (7 if is_live else 7 + 16)
    assert max(table.num_rows for table in view.tables) < 64 + num_rows
    assert steps_of(view, "a") == list(range(990))
    assert all(isinstance(table.step[0], range) for table in view.tables)


def test_a_run_that_was_loaded_copies_few_rows_when_it_grows() -> None:
    """Each row is copied as often as the rows can double, not once for each new row."""
    data = new_data()
    for step in range(20):
        add_events(data, scalar("a", *range(step * 100, step * 100 + 100)), start=step * 10_000)
    assert len(data.commit().tables) > 1
    data.end_loading()
    views = [data.commit()]
    assert len(views[0].tables) == 1
    for step in range(2000, 3000):
        views.append(add_events(data, scalar("a", step), start=step * 100))
    copied = sum(
        table.num_rows
        for before, after in pairwise(views)
        for table in after.tables
        if table not in before.tables
    )
    assert copied < 2 * 2000 + 1000 * 12
    assert views[500].tables[0] is views[0].tables[0]
