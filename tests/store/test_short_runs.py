"""Runs of a sweep are select_rows as one table each: what is kept is what is kept of single rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import LogdirSpec, scan
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.read_ahead import Pile
from tbcore.eventfiles.tail import FileTail
from tbcore.eventfiles.tensors import numpy_to_tensor
from tbcore.kinds import Claim, Kind
from tbcore.store import run_reader as run_reader_module
from tbcore.store.run import RunData
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.store.series import FLOAT32_NO_STEPS, VALUE, Series, SeriesBlock
from tbcore.store.view import RunView
from tbcore.testing import EventFileWriter, summaries

NUM_RUNS = 6
STEPS = 40
NAN, INF = float("nan"), float("inf")

Write = Callable[[EventFileWriter, int, int], object]


def plain(writer: EventFileWriter, run: int, step: int) -> None:
    writer.add_scalar("loss", run / (step + 1), step)
    writer.add_scalar("lr", 0.1, step)


def uneven(writer: EventFileWriter, run: int, step: int) -> None:
    plain(writer, run, step)
    if step % 10 == 0:
        writer.add_scalar("val/loss", run + step, step)
    writer.add_scalar("time", step / 7, step)
    if step == STEPS - 1:
        writer.add_scalar("val/best", run, step)


def not_finite(writer: EventFileWriter, run: int, step: int) -> None:
    writer.add_scalar("loss", NAN if step > 30 + run else 1.0, step)
    if step % 10 == 0:
        writer.add_scalar("val/loss", 1.0, step)
    writer.add_scalar("lr", 0.1, step)
    writer.add_scalar("norm", INF if step == 3 else -INF if step == 4 else step, step)


def tensors(writer: EventFileWriter, run: int, step: int) -> None:
    for tag in ("loss", "lr"):
        writer.add_tensor(tag, np.float32(run + step), step, plugin_name="scalars")


def doubles(writer: EventFileWriter, run: int, step: int) -> None:
    for tag, scale in (("big", 1e300), ("small", 0.5)):
        value = np.float64(scale * (run + step))
        writer.add_tensor(tag, value, step, dtype="float64", plugin_name="scalars")


def mixed(writer: EventFileWriter, run: int, step: int) -> None:
    """What a trainer logs that does all it can: at first what was configured, and its model."""
    if step == 0:
        writer.add_text("config", f"run {run}" * (run + 1), step)
        writer.add_graph(b"graph" * 40)
    plain(writer, run, step)
    if step % 8 == 0:
        writer.add_histogram("weights", np.arange(step + run + 2), step)
        writer.add_image("sample", summaries.png(2 + run, 2), step)
    if step == 20:
        writer.add_summary(step, *several(run))


def several(run: int) -> list[Summary.Value]:
    """Values of one event that are of all kinds."""
    values = [Summary.Value(tag=f"both/{n}", simple_value=n) for n in range(3)]
    values.insert(2, Summary.Value(tag="both/text", metadata=summaries.metadata("text")))
    values[2].tensor.CopyFrom(numpy_to_tensor(np.array([b"a" * run], object)))
    return values


def restarted(writer: EventFileWriter, run: int, step: int) -> None:
    """A job that starts again and says so, and other events that hold no values."""
    if step in (10, 25):
        writer.add_log_message("interrupted")
        writer.add_session_log("START", step - 4)
        writer.add_histogram("weights", np.arange(run + 2), step)
    plain(writer, run, step)


def with_messages(writer: EventFileWriter, run: int, step: int) -> None:
    """Events without values at the beginning, between others, and at the end."""
    writer.add_log_message(f"step {step}")
    if step % (run + 2):
        plain(writer, run, step)


FORMS: dict[str, Write] = {
    f.__name__: f
    for f in (plain, uneven, not_finite, tensors, doubles, mixed, restarted, with_messages)
}
"""Of doubles each tag is looked at by itself: not every one needs them."""


TABLES = {"restarted": [True, False, False]}
"""Whether the tables of each file were select_rows as a whole. What comes after a START is not."""


def write_runs(logdir: Path, write: Write) -> None:
    for run in range(NUM_RUNS):
        with EventFileWriter(logdir / f"{run}" / "1.tfevents", wall_time=100.0 + run) as writer:
            for step in range(STEPS):
                write(writer, run, step)


class Runs:
    """The readers of all runs below a directory."""

    def __init__(self, logdir: Path, *, blocks: bool, **options: Any) -> None:
        self._specs = [LogdirSpec(None, str(logdir))]
        self._pile = Pile() if blocks else None
        decoder = Decoder(blocks=blocks)
        names = scan(self._specs).runs
        self._readers = {name: RunReader(decoder, **options) for name in names}

    def read(self) -> Runs:
        for name, files in scan(self._specs).runs.items():
            reader = self._readers[name]
            reader.update(files)
            while reader.has_work:
                if self._pile is not None:
                    preload_small_files(self._pile, [reader])
                reader.read_slice(1 << 20)
        return self

    def contents(self) -> dict[str, Any]:
        return {name: contents(reader.data) for name, reader in self._readers.items()}

    def views(self) -> list[RunView]:
        return [reader.data.commit() for reader in self._readers.values()]

    def series(self, tag: str) -> list[Series]:
        return [view.tags[tag].series[0] for view in self.views()]


def contents(data: RunData) -> dict[str, Any]:
    """All that is known of a run, in a form that can be compared."""

    def series(one: Series) -> tuple[Any, ...]:
        columns = [one.column(n).tobytes() for n in range(len(one.layout.columns))]
        ordinals = one.ordinals_between(0, one.length).tolist()
        dtypes = [dtype for dtype, _, _ in one.layout.columns]
        return one.kind, dtypes, one.num_nonfinite, ordinals, columns

    view = data.commit()
    return {
        "tags": [
            (tag, found.metadata, found.num_rows, [series(s) for s in found.series])
            for tag, found in view.tags.items()
        ],
        "files": view.files,
        "times": (view.first_event_time, view.last_event_time),
        "nonfinite": view.nonfinite_tags,
    }


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each table that came was select_rows as one."""
    select_rows: list[bool] = []

    def begin(self: RunData, *arguments: Any) -> bool:
        select_rows.append(real(self, *arguments))
        return select_rows[-1]

    real = RunData._append_table
    monkeypatch.setattr(RunData, "_append_table", begin)
    return select_rows


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_what_its_rows_are(tmp_path: Path, tables: list[bool], form: str) -> None:
    """Columns, kinds, order of tags, metadata, what is not finite, times."""
    write_runs(tmp_path, FORMS[form])
    fast = Runs(tmp_path, blocks=True).read()
    if form == "doubles":
        assert tables == [False] * (NUM_RUNS - 2), "from the third on, and of no use"
    else:
        assert tables == TABLES.get(form, [True]) * NUM_RUNS
    assert fast.contents() == Runs(tmp_path, blocks=False).read().contents()


@pytest.mark.parametrize("form", FORMS)
def test_runs_that_began_with_a_table_go_on(tmp_path: Path, tables: list[bool], form: str) -> None:
    """They grow, begin new tags, and start again in a second file."""
    write_runs(tmp_path, FORMS[form])
    fast = Runs(tmp_path, blocks=True).read()
    plain_ones = Runs(tmp_path, blocks=False).read()
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents") as writer:
            for step in range(STEPS, 3 * STEPS):
                FORMS[form](writer, run, step)
                writer.add_scalar("new", step, step)
    assert fast.read().contents() == plain_ones.read().contents()
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents") as writer:
            writer.add_session_log("START", 5)
            FORMS[form](writer, run, 5)
    assert tables
    assert fast.read().contents() == plain_ones.read().contents()


def test_runs_that_began_after_restarts_drop_what_the_next_one_orphans(
    tmp_path: Path, tables: list[bool]
) -> None:
    """A job may start more than once before it logs a number."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", wall_time=1.0) as writer:
            writer.add_session_log("START", 0)
            writer.add_session_log("START", 0)
            for step in range(STEPS):
                plain(writer, run, step)
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents", wall_time=2.0) as writer:
            writer.add_session_log("START", 5)
            plain(writer, run, 5)
    fast = Runs(tmp_path, blocks=True).read()
    assert any(tables)
    assert {len(series) for series in fast.series("loss")} == {6}
    assert fast.contents() == Runs(tmp_path, blocks=False).read().contents()


def test_files_without_a_version_drop_rows_by_their_steps(
    tmp_path: Path, tables: list[bool]
) -> None:
    """So rows are looked at one by one there."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", file_version=None) as writer:
            for step in [*range(20), *range(10, 20)]:
                plain(writer, run, step)
    fast = Runs(tmp_path, blocks=True).read()
    assert tables
    assert not any(tables)
    assert fast.contents() == Runs(tmp_path, blocks=False).read().contents()


def test_a_bound_is_kept_to(tmp_path: Path) -> None:
    """As in runs that are read in any other way."""
    write_runs(tmp_path, plain)
    fast = Runs(tmp_path, blocks=True, max_points=10).read()
    assert fast.contents() == Runs(tmp_path, blocks=False, max_points=10).read().contents()
    assert {len(series) for series in fast.series("loss")} == {10}


def test_series_in_one_block_are_aligned_and_have_little_spare_room(
    tmp_path: Path, tables: list[bool]
) -> None:
    """However few rows they have: a sweep has tens of thousands of them."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", wall_time=1.0) as writer:
            for tag in range(20):
                writer.add_scalar(f"tag{tag}", tag, run)
    runs = Runs(tmp_path, blocks=True).read()
    assert any(tables)
    for series in runs.series("tag7"):
        assert series.is_trimmed
        assert series.layout is FLOAT32_NO_STEPS
        assert series.column(0).flags.aligned
        assert series.column(1).flags.aligned


def test_room_for_rows_that_do_not_come_is_given_back(tmp_path: Path, tables: list[bool]) -> None:
    """The files behind the first one may hold other tags."""
    write_runs(tmp_path, uneven)
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents", wall_time=200.0) as writer:
            for step in range(4 * STEPS):
                writer.add_scalar("other", step, step)
    runs = Runs(tmp_path, blocks=True).read()
    assert any(tables)
    views = runs.views()
    assert all(tag.series[0].is_trimmed for view in views for tag in view.tags.values())
    assert runs.contents() == Runs(tmp_path, blocks=False).read().contents()


def test_a_run_that_begins_new_tags_all_the_time_is_no_longer_kept_as_tables(
    tmp_path: Path, tables: list[bool]
) -> None:
    """To tell its tags anew for each of them would take longer than to keep each by itself."""
    for number in range(100):
        with EventFileWriter(tmp_path / f"{number:02}.tfevents", wall_time=1.0) as writer:
            writer.add_scalar(f"of {number}", 1.0, 0)
    fast = Runs(tmp_path, blocks=True).read()
    assert tables == [True] * 65 + [False] * 35
    assert fast.contents() == Runs(tmp_path, blocks=False).read().contents()


def test_names_and_kinds_are_those_of_the_run_itself(tmp_path: Path, tables: list[bool]) -> None:
    """Before it begins, as long as it is like others, and when it no longer is."""

    def listed() -> list[tuple[list[str], list[str]]]:
        return [
            (view.tags_matching(scalars), view.tags_matching(pictures)) for view in runs.views()
        ]

    scalars, pictures = (Claim("simple_value"),), (Claim(plugin_name="pictures"),)
    write_runs(tmp_path, plain)
    runs = Runs(tmp_path, blocks=True)
    assert listed() == [([], [])] * NUM_RUNS
    runs.read()
    assert any(tables)
    assert listed() == [(["loss", "lr"], [])] * NUM_RUNS
    with EventFileWriter(tmp_path / "3" / "1.tfevents") as writer:
        metadata = summaries.metadata("pictures")
        writer.add_summary(STEPS, Summary.Value(tag="lr", simple_value=0.1, metadata=metadata))
    with EventFileWriter(tmp_path / "4" / "1.tfevents") as writer:
        writer.add_scalar("new", 1.0, STEPS)
    runs.read()
    same = [(["loss", "lr"], [])]
    assert listed() == [*same * 3, (["loss", "lr"], ["lr"]), (["loss", "lr", "new"], []), *same]


def test_series_are_made_when_somebody_asks(
    tmp_path: Path, tables: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for names and kinds of tags; and then one of each, for readers and the loader alike."""
    made: list[int] = []
    real = SeriesBlock.series

    def series(self: SeriesBlock, number: int, kind: Kind) -> Series:
        made.append(number)
        return real(self, number, kind)

    monkeypatch.setattr(SeriesBlock, "series", series)
    write_runs(tmp_path, uneven)
    runs = Runs(tmp_path, blocks=True).read()
    views = runs.views()[2:]
    assert len({id(view.tag_index) for view in views}) == 1, "runs that are alike are asked once"
    claims = (Claim(is_scalar=True),)
    assert [view.tags_matching(claims) for view in views] == [list(views[0].tags)] * len(views)
    assert views[0].kinds() == {Kind("simple_value", "", True)}
    assert not made
    assert views[0].tags["loss"] is views[0].tags["loss"]
    assert len(made) == 1
    with pytest.raises(KeyError):
        views[0].tags["no such tag"]


def test_series_are_made_once_however_a_run_grows(tmp_path: Path, tables: list[bool]) -> None:
    """Rows that a reader holds are told by it from those that may be written over."""
    path = tmp_path / "1.tfevents"
    with EventFileWriter(path, wall_time=1.0) as writer:
        plain(writer, 0, 0)
    runs = Runs(tmp_path, blocks=True).read()
    [before] = runs.series("loss")
    with EventFileWriter(tmp_path / "2.tfevents", wall_time=2.0) as writer:
        writer.add_scalar("new", 1.0, 0)
    assert runs.read().series("loss") == [before]
    assert runs.series("loss")[0] is before
    assert tables == [True, True]


def test_a_view_of_a_short_run_stays_as_it_was(tmp_path: Path, tables: list[bool]) -> None:
    """Whatever is asked for first after the run has extended, or has dropped what was orphaned."""
    write_runs(tmp_path, plain)
    runs = Runs(tmp_path, blocks=True).read()
    before = runs.views()
    untouched = Runs(tmp_path, blocks=True).read().views()
    with EventFileWriter(tmp_path / "3" / "1.tfevents") as writer:
        writer.add_scalar("loss", 7.0, STEPS)
    runs.read()
    after = runs.views()
    assert after[3].tags["loss"].series[0].length == STEPS + 1
    for step in (5, 3):
        with EventFileWriter(tmp_path / "3" / "1.tfevents") as writer:
            writer.add_session_log("START", step)
            writer.add_scalar("loss", -1.0, step)
            writer.add_scalar("lr", -1.0, step)
        runs.read()
    assert runs.views()[3].tags["lr"].series[0].length == 4
    assert after[3].tags["loss"].series[0].last_point()[::2] == (STEPS, 7.0)
    for view, same in zip(before, untouched, strict=True):
        for tag in same.tags:
            found, expected = view.tags[tag].series[0], same.tags[tag].series[0]
            assert found.length == expected.length == STEPS
            assert found.column(VALUE).tolist() == expected.column(VALUE).tolist()


# -- reading ahead --------------------------------------------------------------------------------


def readers(logdir: Path) -> list[RunReader]:
    """Of the runs below a directory, with nothing read."""
    decoder, found = Decoder(), scan([LogdirSpec(None, str(logdir))]).runs
    made = [RunReader(decoder) for _ in found]
    for reader, files in zip(made, found.values(), strict=True):
        reader.update(files)
    return made


def test_all_short_files_of_a_run_are_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: a turn leaves those that come next to the pile."""
    held: list[str] = []
    real = FileTail.hold

    def hold(self: FileTail, *arguments: Any) -> None:
        held.append(self.path)
        real(self, *arguments)

    monkeypatch.setattr(FileTail, "hold", hold)
    for number in range(10):
        with EventFileWriter(tmp_path / f"{number}.tfevents", wall_time=1.0) as writer:
            plain(writer, 0, number)
    [reader] = readers(tmp_path)
    pile, num_turns = Pile(), 0
    while reader.has_work:
        preload_small_files(pile, [reader])
        reader.read_slice(1 << 20)
        num_turns += 1
    assert num_turns == 2, "four, and sixteen"
    assert held == sorted(held)
    assert len(held) == 10
    assert reader.data.commit().tags["loss"].num_rows == 10


def test_of_runs_with_a_long_file_nothing_is_read_before_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They can still be lent then."""
    monkeypatch.setattr(run_reader_module, "MAX_FILE_BYTES", 5000)
    write_runs(tmp_path, plain)
    for run in (2, 3):
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents") as writer:
            writer.add_text("long", "text" * 2000, 0)
    found = readers(tmp_path)
    preload_small_files(Pile(), found)
    assert [reader.not_started for reader in found] == [False, False, True, True, False, False]
    preload_small_files(Pile(), found[2:])
    assert [reader.not_started for reader in found] == [False, False, False, True, False, False]


def test_a_file_may_have_changed_since_it_was_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts when it was read, not when it was its turn: see _UNSETTLED_NS."""
    write_runs(tmp_path, plain)
    [reader, *_] = readers(tmp_path)
    [files, *_] = scan([LogdirSpec(None, str(tmp_path))]).runs.values()
    written = max(file.ctime_ns for file in files)
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**9)
    preload_small_files(Pile(), [reader])
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**10)
    reader.read_slice(1 << 20)
    reader.update(files)
    assert reader.has_work
    reader.read_slice(1 << 20)
    reader.update(files)
    assert not reader.has_work
