"""RunData follows the rules of event files: it is compared with a model in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.eventfiles.batch import (
    BareEvent,
    Batch,
    FileVersion,
    FirstMetadata,
    ReferenceColumn,
    ScalarColumn,
    SessionStart,
)
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import Kind
from tbcore.store.run import GRAPH_FIELDS, RunData
from tbcore.store.series import (
    CRC,
    FILE,
    INDEX,
    LENGTH,
    OFFSET,
    STEP,
    VALUE,
    WALL_TIME,
    Series,
)
from tbcore.store.view import RunView

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
    offset: int
    index_in_event: int
    """Index of the value in its event."""


Content = dict[str, dict[Kind, list[Row]]]
"""Rows by tag and kind."""


def metadata(plugin_name: str) -> bytes:
    message = SummaryMetadata()
    message.plugin_data.plugin_name = plugin_name
    return message.SerializeToString()


def offsets_of(events: Sequence[Event], start: int = 0) -> list[int]:
    """Offsets of the records of these events, as if they were as short as possible."""
    offsets = []
    for event in events:
        offsets.append(start)
        start += 16 + 2 * max(len(event.values), 1)
    return offsets


def batches_of(
    events: Sequence[Event], cuts: Sequence[int] = (), start: int = 0
) -> Iterator[Batch | FileVersion | SessionStart]:
    """The items of one file with these events. A batch also begins at each index in `cuts`."""
    pending: list[tuple[int, Event]] = []
    for number, (offset, event) in enumerate(zip(offsets_of(events, start), events, strict=True)):
        if pending and (number in cuts or event.what in ("version", "start")):
            yield batch_of(pending)
            pending = []
        if event.what == "version":
            yield FileVersion(event.version, event.step, event.step + 0.5)
        elif event.what == "start":
            yield SessionStart(event.step, 0.0)
        else:
            pending.append((offset, event))
    if pending:
        yield batch_of(pending)


def batch_of(events: Sequence[tuple[int, Event]]) -> Batch:
    """A batch of these events, each with the offset of its record."""
    rows: dict[tuple[str, str, bool], list[tuple[int, int, int]]] = {}
    first: dict[tuple[str, str, bool], FirstMetadata] = {}
    batch = Batch()
    for offset, event in events:
        if event.what != "summary":
            batch.bare_events.append(
                BareEvent(offset, event.step, event.step + 0.5, is_summary=False)
            )
        if event.what == "graph_def":
            rows.setdefault(("", "graph_def", False), []).append((offset, 0, event.step))
        if event.what == "summary" and not event.values:
            batch.bare_events.append(
                BareEvent(offset, event.step, event.step + 0.5, is_summary=True)
            )
        for index, value in enumerate(event.values):
            key = (value.tag, value.field, value.is_scalar)
            rows.setdefault(key, []).append((offset, index, event.step))
            if value.plugin_name is not None and key not in first:
                first[key] = FirstMetadata(offset + index, metadata(value.plugin_name))
    for key, found in rows.items():
        tag, field, is_scalar = key
        offset_column, index_column, step = np.array(found, np.int64).T
        position = offset_column + index_column
        if is_scalar:
            # The value is the position, so that each row has another value.
            value = position.astype(np.float64)
            batch.scalars.append(
                ScalarColumn(tag, field, first.get(key), position, step, step + 0.5, value)
            )
        else:
            numbers = offset_column.astype(np.uint32)
            batch.references.append(
                ReferenceColumn(
                    tag,
                    field,
                    first.get(key),
                    position,
                    step,
                    step + 0.5,
                    offset_column,
                    numbers + np.uint32(1),
                    index_column.astype(np.uint32),
                    numbers + np.uint32(2),
                )
            )
    return batch


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
            Row(ordinal, step, file, offset, index)
        )
        if value.plugin_name is not None:
            self.plugin_names.setdefault(value.tag, value.plugin_name)

    def content(self) -> Content:
        return {
            tag: {
                Kind(field, self.plugin_names.get(tag, ""), is_scalar): list(rows)
                for (field, is_scalar), rows in series.items()
            }
            for tag, series in self.rows.items()
        }


def content_of(view: RunView) -> Content:
    """The rows of a view. Columns that follow from others are verified."""
    content: Content = {}
    for tag, tag_view in view.tags.items():
        for series in tag_view.series:
            ordinals = series.ordinals_between(0, len(series)).tolist()
            steps = series.column(STEP).tolist()
            assert series.column(WALL_TIME).tolist() == [step + 0.5 for step in steps]
            if series.kind.is_scalar:
                # The value is the position: the sum of offset and index in the model.
                rows = [
                    Row(ordinal, step, -1, int(position), -1)
                    for ordinal, step, position in zip(
                        ordinals, steps, series.column(VALUE).tolist(), strict=True
                    )
                ]
            else:
                offsets = series.column(OFFSET).tolist()
                assert series.column(LENGTH).tolist() == [offset + 1 for offset in offsets]
                assert series.column(CRC).tolist() == [offset + 2 for offset in offsets]
                files, indices = series.column(FILE).tolist(), series.column(INDEX).tolist()
                rows = list(map(Row, ordinals, steps, files, offsets, indices))
            content.setdefault(tag, {})[series.kind] = rows
    return content


def comparable(content: Content) -> list[tuple[str, Kind, list[Row]]]:
    """Content as a list in the order of tags. Rows of scalars have a position, but no file."""
    return [
        (
            tag,
            kind,
            [Row(r.ordinal, r.step, -1, r.offset + r.index_in_event, -1) for r in rows]
            if kind.is_scalar and rows and rows[0].file >= 0
            else rows,
        )
        for tag, series in content.items()
        for kind, rows in sorted(
            series.items(), key=lambda item: (item[0].field, item[0].is_scalar)
        )
    ]


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
"""Each piece has the number of a file, events to append, and indexes at which a batch begins."""


@settings(max_examples=400, deadline=None)
@given(PIECES, st.booleans(), st.sets(st.integers(0, 5)))
def test_any_stream_of_events_gives_the_rows_of_the_model(
    pieces: list[tuple[int, list[Event], set[int]]], purges: bool, trimmed: set[int]
) -> None:
    """The stream has files that grow in turn, restarts, and tags of several kinds.

    Each view still has the same rows at the end as when it was made.
    """
    data, model = RunData(purge_orphaned_data=purges), Model(purges=purges)
    indices = [data.add_file(name) for name in ("1.tfevents", "2.tfevents", "3.tfevents")]
    ends = [0, 0, 0]
    views = []
    for number, (file, events, cuts) in enumerate(pieces):
        for item in batches_of(events, sorted(cuts), ends[file]):
            if isinstance(item, Batch):
                data.add_batch(item, indices[file])
            elif isinstance(item, FileVersion):
                data.add_file_version(item, indices[file])
            else:
                data.add_session_start(item, indices[file])
        for offset, event in zip(offsets_of(events, ends[file]), events, strict=True):
            model.add_event(event, file, offset)
            ends[file] = offset + 1000
        if number in trimmed:
            data.trim_spare_capacity()
        view = data.commit()
        assert comparable(content_of(view)) == comparable(model.content())
        views.append((view, comparable(model.content())))
    for view, expected in views:
        assert comparable(content_of(view)) == expected


# -- single rules ----------------------------------------------------------------------------------


def add_events(
    data: RunData, events: Sequence[Event], *, file_index: int = 0, start: int = 0
) -> RunView:
    """Adds the events of a file, whose first record is at offset `start`, and commits them."""
    for item in batches_of(events, (), start):
        if isinstance(item, Batch):
            data.add_batch(item, file_index)
        elif isinstance(item, FileVersion):
            data.add_file_version(item, file_index)
        else:
            data.add_session_start(item, file_index)
    return data.commit()


def new_data(*, max_points: int = 0) -> RunData:
    data = RunData(max_points=max_points)
    data.add_file("1.tfevents")
    return data


def scalar(tag: str, *steps: int) -> list[Event]:
    return [Event("summary", step, (Value(tag, "simple_value", True),)) for step in steps]


def steps_of(view: RunView, tag: str) -> list[int]:
    return [row.step for rows in content_of(view)[tag].values() for row in rows]


def test_a_view_stays_the_same_while_nothing_changes() -> None:
    """An idle run leads to no new generation."""
    data = new_data()
    view = add_events(data, scalar("a", 1, 2))
    assert data.commit() is view
    data.trim_spare_capacity()
    assert content_of(data.commit()) == content_of(view)
    assert data.commit() is data.commit()


def test_the_tag_index_changes_with_tags_and_kinds_and_not_with_rows() -> None:
    """Cached results are used as long as the tag index is the same object."""
    data = new_data()
    version = Event("version", 0, (), 2.0)
    first = add_events(data, [version, *scalar("a", 1)])
    more_rows = add_events(data, scalar("a", 2), start=1000)
    assert more_rows.tag_index is first.tag_index
    purged = add_events(data, [Event("start", 0), Event("start", 0)], start=2000)
    assert purged.tag_index is first.tag_index
    new_tag = add_events(data, scalar("b", 1), start=3000)
    assert new_tag.tag_index is not first.tag_index
    new_kind = add_events(data, [Event("summary", 3, (Value("a", "tensor", True),))], start=4000)
    assert new_kind.tag_index is not new_tag.tag_index
    described = add_events(
        data, [Event("summary", 4, (Value("a", "tensor", True, "scalars"),))], start=5000
    )
    assert described.tag_index is not new_kind.tag_index
    assert described.kinds() == {
        Kind("simple_value", "scalars", True),
        Kind("tensor", "scalars", True),
        Kind("simple_value", "", True),
    }


def test_the_first_metadata_of_a_batch_is_the_one_written_first() -> None:
    """The first metadata may be in another column than the first one."""
    events = [
        Event("summary", 0, (Value("a", "simple_value", True),)),
        Event("summary", 1, (Value("a", "tensor", True, "early"),)),
        Event("summary", 2, (Value("a", "simple_value", True, "late"),)),
    ]
    view = add_events(new_data(), events)
    assert view.tags["a"].metadata == metadata("early")
    assert {kind.plugin_name for kind in view.kinds()} == {"early"}


def test_invalid_metadata_has_no_plugin_name() -> None:
    """The invalid bytes are kept as they are."""
    data = new_data()
    batch = batch_of([(0, scalar("a", 1)[0])])
    batch.scalars[0] = batch.scalars[0]._replace(metadata=FirstMetadata(0, b"\xff\xff"))
    data.add_batch(batch, 0)
    assert data.commit().kinds() == {Kind("simple_value", "", True)}


def test_two_kinds_of_a_tag_share_its_ordinals() -> None:
    """Rows of both are numbered together, in the order written."""
    events = [
        Event("summary", step, (Value("a", "tensor" if step % 2 else "simple_value", True),))
        for step in range(6)
    ]
    content = content_of(add_events(new_data(), events))["a"]
    assert [row.ordinal for row in content[Kind("simple_value", "", True)]] == [0, 2, 4]
    assert [row.ordinal for row in content[Kind("tensor", "", True)]] == [1, 3, 5]


def test_max_points_keeps_the_rows_of_a_sample() -> None:
    """Only scalars are limited, and the last row is always kept."""
    data, free = new_data(max_points=10), new_data()
    for some in (data, free):
        add_events(some, [Event("version", 0, (), 2.0)])
    for start in range(0, 400, 25):
        events = scalar("a", *range(start, start + 25))
        events += [Event("summary", start, (Value("image", "image", False),))] * 3
        view = add_events(data, events, start=start * 1000)
        everything = add_events(free, events, start=start * 1000).tags["a"].series[0]
        series = view.tags["a"].series[0]
        assert len(series) <= 10
        picked = everything.sampled_rows(10)
        assert series.ordinals_between(0, len(series)).tolist() == picked.tolist()
    assert len(view.tags["image"].series[0]) == 48


@pytest.mark.parametrize("grows", [False, True])
def test_a_start_only_processes_tags_that_it_may_concern(
    monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    """It examines tags that lose rows, or that grew since the last START."""
    calls: list[str] = []
    for name in ("purged", "highest_step"):
        real = getattr(Series, name)
        monkeypatch.setattr(
            Series, name, lambda *a, real=real, **k: calls.append("") or real(*a, **k)
        )
    data = new_data()
    add_events(data, [Event("version", 0, (), 2.0)])
    many = tuple(Value(f"tag{i}", "simple_value", True) for i in range(200))
    add_events(data, [Event("summary", 1, many), Event("summary", 2, many)], start=100)
    for number in range(300):
        extended = scalar("tag7", 4 + number) if grows else []
        view = add_events(data, [*extended, Event("start", 3)], start=1000 + 1000 * number)
    assert steps_of(view, "tag7") == steps_of(view, "tag8") == [1, 2]
    assert len(calls) <= 2 * 200 + 3 * 300


def test_many_events_of_an_old_file_may_step_back() -> None:
    """Later rows replace earlier ones of their tag, however the events are divided into batches."""
    events = [*scalar("a", *range(1000)), *scalar("b", 5), *scalar("a", *range(500, 1000))]
    at_once, one_by_one = new_data(), new_data()
    view = add_events(at_once, events)
    for number, event in enumerate(events):
        last = add_events(one_by_one, [event], start=number * 100)
    assert steps_of(view, "a") == steps_of(last, "a") == list(range(1000))
    assert steps_of(view, "b") == [5]
    series = view.tags["a"].series[0]
    assert series.ordinals_between(498, 502).tolist() == [498, 499, 1000, 1001]
