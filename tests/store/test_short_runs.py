"""A short run is added as one table, which gives the same result as adding row by row."""

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
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.tail import FileReader
from tbcore.eventfiles.tensors import numpy_to_tensor
from tbcore.kinds import Claim, Kind
from tbcore.store.run import RunData
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.store.series import FLOAT32_NO_STEPS, VALUE, Series, SeriesBlock
from tbcore.store.view import RunView
from tbcore.testing import EventFileWriter, summaries
from tbcore.tuning import Tuning

# Only these modules make tables.
pytest.importorskip("tbcore.eventfiles.fast.small_files")

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
    """A trainer that first logs its configuration and model, and then values of many kinds."""
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
    """Values of several kinds, for one event."""
    values = [Summary.Value(tag=f"both/{n}", simple_value=n) for n in range(3)]
    values.insert(2, Summary.Value(tag="both/text", metadata=summaries.metadata("text")))
    values[2].tensor.CopyFrom(numpy_to_tensor(np.array([b"a" * run], object)))
    return values


def restarted(writer: EventFileWriter, run: int, step: int) -> None:
    """A job that restarts and logs a START, and other events without values."""
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
"""Functions that write one step of a run, by name. Tables of `doubles` are never added as a whole:
each tag may or may not need float64."""


TABLES = {"restarted": [True, False, False]}
"""For forms whose files have several tables: whether each table is added as a whole. Tables after a
START are not."""


def write_runs(logdir: Path, write: Write) -> None:
    for run in range(NUM_RUNS):
        with EventFileWriter(logdir / f"{run}" / "1.tfevents", wall_time=100.0 + run) as writer:
            for step in range(STEPS):
                write(writer, run, step)


class Runs:
    """Readers of all runs below a directory; with `fast` false they decode event by event."""

    def __init__(self, logdir: Path, *, fast: bool, **options: Any) -> None:
        self._specs = [LogdirSpec(None, str(logdir))]
        self._small_files = SmallFileReader() if fast else None
        decoder = Decoder(fast=fast)
        found = scan(self._specs).runs
        self._readers = {name: RunReader(decoder, found[name], **options) for name in found}

    def read(self) -> Runs:
        for name, files in scan(self._specs).runs.items():
            reader = self._readers[name]
            reader.update(files)
            while reader.has_work:
                if self._small_files is not None:
                    preload_small_files(self._small_files, [reader])
                reader.read_slice(1 << 20)
        return self

    def contents(self) -> dict[str, Any]:
        return {name: contents(reader.data) for name, reader in self._readers.items()}

    def views(self) -> list[RunView]:
        return [reader.data.commit() for reader in self._readers.values()]

    def series(self, tag: str) -> list[Series]:
        return [view.tags[tag].series[0] for view in self.views()]


def contents(data: RunData) -> dict[str, Any]:
    """The contents of a run in a form that can be compared."""

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
    """For each table, whether it was added as a whole."""
    results: list[bool] = []

    def append_table(self: RunData, *arguments: Any) -> bool:
        results.append(real(self, *arguments))
        return results[-1]

    real = RunData._append_table
    monkeypatch.setattr(RunData, "_append_table", append_table)
    return results


@pytest.mark.parametrize("form", FORMS)
def test_a_table_gives_the_same_as_its_rows(tmp_path: Path, tables: list[bool], form: str) -> None:
    """Columns, kinds, order of tags, metadata, non-finite tags and times are equal."""
    write_runs(tmp_path, FORMS[form])
    fast = Runs(tmp_path, fast=True).read()
    if form == "doubles":
        assert tables == [False] * (NUM_RUNS - 2), (
            "tables from the third run on, none added as a whole"
        )
    else:
        assert tables == TABLES.get(form, [True]) * NUM_RUNS
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


@pytest.mark.parametrize("form", FORMS)
def test_runs_that_began_with_a_table_can_grow(
    tmp_path: Path, tables: list[bool], form: str
) -> None:
    """The runs get more rows, new tags, and a restart in a second file."""
    write_runs(tmp_path, FORMS[form])
    fast = Runs(tmp_path, fast=True).read()
    plain_ones = Runs(tmp_path, fast=False).read()
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


def test_a_restart_drops_rows_of_a_table_that_came_after_restarts(
    tmp_path: Path, tables: list[bool]
) -> None:
    """A job may start several times before it logs a scalar."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", wall_time=1.0) as writer:
            writer.add_session_log("START", 0)
            writer.add_session_log("START", 0)
            for step in range(STEPS):
                plain(writer, run, step)
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents", wall_time=2.0) as writer:
            writer.add_session_log("START", 5)
            plain(writer, run, 5)
    fast = Runs(tmp_path, fast=True).read()
    assert any(tables)
    assert {len(series) for series in fast.series("loss")} == {6}
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


def test_tables_of_files_without_a_version_are_added_by_column(
    tmp_path: Path, tables: list[bool]
) -> None:
    """In such files, the step of each row may show a restart."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", file_version=None) as writer:
            for step in [*range(20), *range(10, 20)]:
                plain(writer, run, step)
    fast = Runs(tmp_path, fast=True).read()
    assert tables
    assert not any(tables)
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


def test_max_points_limits_short_runs_too(tmp_path: Path) -> None:
    """The rows are the same as in runs that are decoded event by event."""
    write_runs(tmp_path, plain)
    fast = Runs(tmp_path, fast=True, max_points=10).read()
    assert fast.contents() == Runs(tmp_path, fast=False, max_points=10).read().contents()
    assert {len(series) for series in fast.series("loss")} == {10}


def test_series_in_one_block_are_aligned_and_have_little_spare_capacity(
    tmp_path: Path, tables: list[bool]
) -> None:
    """A sweep has tens of thousands of series with a few rows."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", wall_time=1.0) as writer:
            for tag in range(20):
                writer.add_scalar(f"tag{tag}", tag, run)
    runs = Runs(tmp_path, fast=True).read()
    assert any(tables)
    for series in runs.series("tag7"):
        assert series.is_trimmed
        assert series.layout is FLOAT32_NO_STEPS
        assert series.column(0).flags.aligned
        assert series.column(1).flags.aligned


def test_unused_spare_capacity_is_trimmed(tmp_path: Path, tables: list[bool]) -> None:
    """If the next files have other tags, the series of the first file do not grow as expected."""
    write_runs(tmp_path, uneven)
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents", wall_time=200.0) as writer:
            for step in range(4 * STEPS):
                writer.add_scalar("other", step, step)
    runs = Runs(tmp_path, fast=True).read()
    assert any(tables)
    views = runs.views()
    assert all(tag.series[0].is_trimmed for view in views for tag in view.tags.values())
    assert runs.contents() == Runs(tmp_path, fast=False).read().contents()


def test_a_run_with_new_tags_in_many_files_does_not_stay_a_lazy_map(
    tmp_path: Path, tables: list[bool]
) -> None:
    """Extending the schema for each file would take longer than keeping a dictionary of tags."""
    for number in range(100):
        with EventFileWriter(tmp_path / f"{number:02}.tfevents", wall_time=1.0) as writer:
            writer.add_scalar(f"of {number}", 1.0, 0)
    fast = Runs(tmp_path, fast=True).read()
    assert tables == [True] * 65 + [False] * 35
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


def test_names_and_kinds_are_those_of_the_run_itself(tmp_path: Path, tables: list[bool]) -> None:
    """They are right before anything is read, while runs share a schema, and with new tags."""

    def listed() -> list[tuple[list[str], list[str]]]:
        return [
            (view.tags_matching(scalars), view.tags_matching(pictures)) for view in runs.views()
        ]

    scalars, pictures = (Claim("simple_value"),), (Claim(plugin_name="pictures"),)
    write_runs(tmp_path, plain)
    runs = Runs(tmp_path, fast=True)
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


def test_series_are_created_on_access(
    tmp_path: Path, tables: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listing names and kinds creates no series, and each series is created only once."""
    created: list[int] = []
    real = SeriesBlock.series

    def series(self: SeriesBlock, number: int, kind: Kind) -> Series:
        created.append(number)
        return real(self, number, kind)

    monkeypatch.setattr(SeriesBlock, "series", series)
    write_runs(tmp_path, uneven)
    runs = Runs(tmp_path, fast=True).read()
    views = runs.views()[2:]
    assert len({id(view.tag_index) for view in views}) == 1, (
        "runs with equal tags do not share a tag index"
    )
    claims = (Claim(is_scalar=True),)
    assert [view.tags_matching(claims) for view in views] == [list(views[0].tags)] * len(views)
    assert views[0].kinds() == {Kind("simple_value", "", True)}
    assert not created
    assert views[0].tags["loss"] is views[0].tags["loss"]
    assert len(created) == 1
    with pytest.raises(KeyError):
        views[0].tags["no such tag"]


def test_a_series_stays_the_same_object_when_the_run_grows(
    tmp_path: Path, tables: list[bool]
) -> None:
    """By the identity of its block, rows that readers share are found, and not overwritten."""
    path = tmp_path / "1.tfevents"
    with EventFileWriter(path, wall_time=1.0) as writer:
        plain(writer, 0, 0)
    runs = Runs(tmp_path, fast=True).read()
    [before] = runs.series("loss")
    with EventFileWriter(tmp_path / "2.tfevents", wall_time=2.0) as writer:
        writer.add_scalar("new", 1.0, 0)
    assert runs.read().series("loss") == [before]
    assert runs.series("loss")[0] is before
    assert tables == [True, True]


def test_a_view_of_a_short_run_never_changes(tmp_path: Path, tables: list[bool]) -> None:
    """The view's series may be created after the run has grown, or has dropped orphaned rows."""
    write_runs(tmp_path, plain)
    runs = Runs(tmp_path, fast=True).read()
    before = runs.views()
    untouched = Runs(tmp_path, fast=True).read().views()
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


# -- preloading ---------------------------------------------------------------------------------


def readers(logdir: Path, tuning: Tuning | None = None) -> list[RunReader]:
    """Readers of the runs below a directory that have read nothing yet."""
    decoder, found = Decoder(tuning=tuning), scan([LogdirSpec(None, str(logdir))]).runs
    return [RunReader(decoder, files) for files in found.values()]


def test_all_small_files_of_a_run_are_preloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time slice ends after the preloaded files, so that the next batch reads the next files."""
    preloaded: list[str] = []
    real = FileReader.preload

    def preload(self: FileReader, *arguments: Any) -> None:
        preloaded.append(self.path)
        real(self, *arguments)

    monkeypatch.setattr(FileReader, "preload", preload)
    for number in range(10):
        with EventFileWriter(tmp_path / f"{number}.tfevents", wall_time=1.0) as writer:
            plain(writer, 0, number)
    [reader] = readers(tmp_path)
    small_files, num_slices = SmallFileReader(), 0
    while reader.has_work:
        preload_small_files(small_files, [reader])
        reader.read_slice(1 << 20)
        num_slices += 1
    assert num_slices == 2, "batches of four and of up to sixteen files"
    assert preloaded == sorted(preloaded)
    assert len(preloaded) == 10
    assert reader.data.commit().tags["loss"].num_rows == 10


def test_runs_with_a_large_file_are_not_preloaded_early(tmp_path: Path) -> None:
    """The helper process can still read such runs, since none of their files was opened."""
    tuning = Tuning(small_file_bytes=5000)
    write_runs(tmp_path, plain)
    for run in (2, 3):
        with EventFileWriter(tmp_path / f"{run}" / "2.tfevents") as writer:
            writer.add_text("long", "text" * 2000, 0)
    found = readers(tmp_path, tuning)
    preload_small_files(SmallFileReader(tuning=tuning), found)
    assert [reader.is_unread for reader in found] == [False, False, True, True, False, False]
    preload_small_files(SmallFileReader(tuning=tuning), found[2:])
    assert [reader.is_unread for reader in found] == [False, False, False, True, False, False]


def test_a_file_may_change_after_it_was_preloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is opened again if it was written shortly before it was preloaded."""
    write_runs(tmp_path, plain)
    [reader, *_] = readers(tmp_path)
    [files, *_] = scan([LogdirSpec(None, str(tmp_path))]).runs.values()
    written = max(file.ctime_ns for file in files)
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**9)
    preload_small_files(SmallFileReader(), [reader])
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**10)
    reader.read_slice(1 << 20)
    reader.update(files)
    assert reader.has_work
    reader.read_slice(1 << 20)
    reader.update(files)
    assert not reader.has_work
