"""Short runs, whose files are decoded together, are the same as if decoded event by event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls import Watch
from disk import Clock
from tables import contents

from tbcore.eventfiles import tail
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import Logdir, LogdirSpec
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.tail import FileReader
from tbcore.kinds import Claim
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.store.view import RunView
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter, summaries
from tbcore_testing.tensors import array_proto

# Without it, there is only one way to read.
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
    values[2].tensor.CopyFrom(array_proto(np.array([b"a" * run], object)))
    return values


def restarted(writer: EventFileWriter, run: int, step: int) -> None:
    """A job that restarts and logs a START, and other events without values."""
    if step in (10, 25):
        writer.add_log_message("interrupted")
        writer.add_session_log("START", step - 4)
        writer.add_histogram("weights", np.arange(run + 2), step)
    plain(writer, run, step)


def without_times(writer: EventFileWriter, run: int, step: int) -> None:
    """A clock that fails in the last steps, which are a few or nearly all, or now and then."""
    wall_time = NAN if step >= STEPS - 7 * run or step % 5 == 1 else 500.0 - step
    writer.add_scalar("loss", 0.5, step, wall_time=wall_time)
    writer.add_scalar("lr", 0.1, step, wall_time=NAN if step % 2 else wall_time)


def with_messages(writer: EventFileWriter, run: int, step: int) -> None:
    """Events without values at the beginning, between others, and at the end."""
    writer.add_log_message(f"step {step}")
    if step % (run + 2):
        plain(writer, run, step)


FORMS: dict[str, Write] = {
    f.__name__: f
    for f in (
        plain,
        uneven,
        not_finite,
        tensors,
        doubles,
        mixed,
        restarted,
        without_times,
        with_messages,
    )
}
"""Functions that write one step of a run, by name."""


def write_runs(logdir: Path, write: Write) -> None:
    for run in range(NUM_RUNS):
        with EventFileWriter(logdir / f"{run}" / "1.tfevents", wall_time=100.0 + run) as writer:
            for step in range(STEPS):
                write(writer, run, step)


class Runs:
    """Readers of all runs below a directory; with `fast` false they decode event by event."""

    def __init__(
        self, logdir: Path, *, fast: bool, tuning: Tuning | None = None, **options: Any
    ) -> None:
        self.specs = [LogdirSpec(None, str(logdir))]
        self.small = SmallFileReader(tuning=tuning) if fast else None
        decoder = Decoder(fast=fast, tuning=tuning)
        found = Logdir(self.specs).scan().runs
        self.by_name = {name: RunReader(decoder, found[name], **options) for name in found}

    def read(self) -> Runs:
        for name, files in Logdir(self.specs).scan().runs.items():
            reader = self.by_name[name]
            reader.update(files)
            while reader.has_work:
                if self.small is not None:
                    preload_small_files(self.small, [reader])
                reader.read_slice(1 << 20)
        return self

    def contents(self) -> dict[str, Any]:
        return {name: contents(reader.data.commit()) for name, reader in self.by_name.items()}

    def views(self) -> list[RunView]:
        return [reader.data.commit() for reader in self.by_name.values()]


@pytest.mark.parametrize("small_file_bytes", [0, 1 << 19])
@pytest.mark.parametrize("form", FORMS)
def test_short_runs_are_the_same_as_decoded_event_by_event(
    tmp_path: Path, form: str, small_file_bytes: int
) -> None:
    """Also when they get more rows, new tags, and a restart in a second file.

    Columns, kinds, order of tags, metadata, non-finite tags and times are equal.
    """
    write_runs(tmp_path, FORMS[form])
    tuning = Tuning(small_file_bytes=small_file_bytes)
    fast = Runs(tmp_path, fast=True, tuning=tuning).read()
    plain_ones = Runs(tmp_path, fast=False).read()
    assert fast.contents() == plain_ones.contents()
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
    assert fast.read().contents() == plain_ones.read().contents()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("small_file_bytes", [0, 1 << 19])
def test_the_last_event_time_is_that_of_the_last_event_that_has_one(
    tmp_path: Path, fast: bool, small_file_bytes: int
) -> None:
    """A wall time may be NaN. Times may go back, too."""
    write_runs(tmp_path, without_times)
    runs = Runs(tmp_path, fast=fast, tuning=Tuning(small_file_bytes=small_file_bytes)).read()
    last = [
        max(s for s in range(STEPS) if s < STEPS - 7 * run and s % 5 != 1)
        for run in range(NUM_RUNS)
    ]
    assert [view.last_event_time for view in runs.views()] == [500.0 - step for step in last]


def test_a_restart_drops_rows_of_a_table_that_came_after_restarts(
    tmp_path: Path,
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
    assert {len(view.series("loss")[0]) for view in fast.views()} == {6}
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


def test_rows_of_files_without_a_version_are_dropped_by_step(tmp_path: Path) -> None:
    """In such files, the step of each row may show a restart."""
    for run in range(NUM_RUNS):
        with EventFileWriter(tmp_path / f"{run}" / "1.tfevents", file_version=None) as writer:
            for step in [*range(20), *range(10, 20)]:
                plain(writer, run, step)
    fast = Runs(tmp_path, fast=True).read()
    assert {len(view.series("loss")[0]) for view in fast.views()} == {20}
    assert fast.contents() == Runs(tmp_path, fast=False).read().contents()


def test_max_points_limits_short_runs_too(tmp_path: Path) -> None:
    """The rows are the same as in runs that are decoded event by event."""
    write_runs(tmp_path, plain)
    fast = Runs(tmp_path, fast=True, max_points=10).read()
    assert fast.contents() == Runs(tmp_path, fast=False, max_points=10).read().contents()
    assert {len(view.series("loss")[0]) for view in fast.views()} == {10}


def test_runs_with_equal_tags_share_what_does_not_differ(tmp_path: Path) -> None:
    """A sweep has thousands of runs. Each of them has one table."""
    write_runs(tmp_path, uneven)
    views = Runs(tmp_path, fast=True).read().views()
    assert len({id(view.schema) for view in views}) == 1
    [tables] = zip(*(view.tables for view in views), strict=True)
    for same in [[table.columns for table in tables], [table.step[0] for table in tables]]:
        assert len({id(each) for each in same}) == 1
    assert {len(view.series("loss")[0]) for view in views} == {STEPS}


def test_names_and_kinds_are_those_of_the_run_itself(tmp_path: Path) -> None:
    """They are right before anything is read, while runs share a schema, and with new tags."""

    def listed() -> list[tuple[list[str], list[str]]]:
        return [
            (view.schema.tags_matching(scalars), view.schema.tags_matching(pictures))
            for view in runs.views()
        ]

    scalars, pictures = (Claim("simple_value"),), (Claim(plugin_name="pictures"),)
    write_runs(tmp_path, plain)
    runs = Runs(tmp_path, fast=True)
    assert listed() == [([], [])] * NUM_RUNS
    runs.read()
    assert listed() == [(["loss", "lr"], [])] * NUM_RUNS
    with EventFileWriter(tmp_path / "3" / "1.tfevents") as writer:
        metadata = summaries.metadata("pictures")
        writer.add_summary(STEPS, Summary.Value(tag="lr", simple_value=0.1, metadata=metadata))
    with EventFileWriter(tmp_path / "4" / "1.tfevents") as writer:
        writer.add_scalar("new", 1.0, STEPS)
    runs.read()
    same = [(["loss", "lr"], [])]
    assert listed() == [*same * 3, (["loss", "lr"], ["lr"]), (["loss", "lr", "new"], []), *same]


def test_a_view_of_a_short_run_never_changes(tmp_path: Path) -> None:
    """Whatever happens to its run, and whatever else is read into the same memory."""
    write_runs(tmp_path, mixed)
    runs = Runs(tmp_path, fast=True).read()
    views = runs.views()
    before = [contents(view) for view in views]
    for step in (STEPS, 5, 3):
        with EventFileWriter(tmp_path / "3" / "1.tfevents") as writer:
            writer.add_session_log("START", step)
            mixed(writer, 3, step)
        runs.read()
        views.append(runs.views()[3])
        before.append(contents(views[-1]))
    assert len(views[-1].series("lr")[0]) == 4
    assert [contents(view) for view in views] == before


# -- preloading ---------------------------------------------------------------------------------


def readers(logdir: Path, tuning: Tuning | None = None) -> list[RunReader]:
    """Readers of the runs below a directory that have read nothing yet."""
    decoder, found = Decoder(tuning=tuning), Logdir([LogdirSpec(None, str(logdir))]).scan().runs
    return [RunReader(decoder, files) for files in found.values()]


def test_all_small_files_of_a_run_are_preloaded(tmp_path: Path, calls_of: Watch) -> None:
    """A time slice ends after the preloaded files, so that the next batch reads the next files."""
    calls = calls_of(FileReader.preload)
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
    preloaded = [call.arguments["self"].path for call in calls]
    assert preloaded == sorted(preloaded)
    assert len(preloaded) == 10
    assert len(reader.data.commit().series("loss")[0]) == 10


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


def test_a_file_may_change_after_it_was_preloaded(tmp_path: Path, clock: Clock) -> None:
    """The file is opened again if it was written shortly before it was preloaded."""
    write_runs(tmp_path, plain)
    [reader, *_] = readers(tmp_path)
    [files, *_] = Logdir([LogdirSpec(None, str(tmp_path))]).scan().runs.values()
    clock.rules(tail)
    clock.ahead = 1.0
    preload_small_files(SmallFileReader(), [reader])
    clock.ahead = 10.0
    reader.read_slice(1 << 20)
    reader.update(files)
    assert reader.has_work
    reader.read_slice(1 << 20)
    reader.update(files)
    assert not reader.has_work
