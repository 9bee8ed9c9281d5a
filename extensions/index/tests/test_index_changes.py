"""Files that change while they are read, and an index of many commits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from disk import Disk
from same_answers import check_same, loaded, state_of, update

from tbcore_index.tables import COLUMNS, Place, Tables
from tbcore_testing import EventFileWriter, write_run

NUM_COMMITS = 120


def log(path: Path, *losses: float) -> None:
    """Adds losses to a file."""
    with EventFileWriter(path, wall_time=1000.0) as writer:
        for step, loss in enumerate(losses):
            writer.add_scalar("loss", loss, step=step)


@pytest.mark.parametrize("when", ["before it is opened", "after it is opened"])
@pytest.mark.parametrize("what", ["grows", "is replaced", "vanishes", "is cut"])
def test_a_file_that_changes_while_it_is_read_is_right_after_the_next_update(
    tmp_path: Path, disk: Disk, when: str, what: str
) -> None:
    """What is committed first is what the file had at some time; the other runs are whole."""
    logdir, index = tmp_path / "logs", tmp_path / "index"
    for run in "abc":
        write_run(logdir, run, scalars={"loss": [3.0, 2.0, 1.0]}, wall_time=1000.0)
    (path,) = (logdir / "b").iterdir()
    is_changed = False

    def change() -> None:
        nonlocal is_changed
        is_changed = True
        if what == "grows":
            log(path, 0.5)
        elif what == "is replaced":
            log(path.with_name("copy"), 9.0, 8.0)
            os.replace(path.with_name("copy"), path)
        elif what == "vanishes":
            path.unlink()
        else:
            os.truncate(path, path.stat().st_size - 10)

    def change_if_due(opened: str) -> None:
        if opened == str(path) and not is_changed:
            change()

    if when.startswith("before"):
        disk.before_open = change_if_due
    else:
        disk.after_open = change_if_due
    update(logdir, index)
    assert is_changed

    found = loaded(None, index)
    assert {"a", "c"} <= set(found.runs())
    for run in found.runs():
        # A file that vanished before it was opened leaves a run without tags.
        has_tag = "loss" in state_of(found).run(run).schema.tags
        values = list(found.scalars(run, "loss").value) if has_tag else []
        assert has_tag or (run, what) == ("b", "vanishes")
        assert not has_tag or values in (
            [3.0, 2.0, 1.0],
            [3.0, 2.0, 1.0, 0.5],
            [9.0, 8.0],
            [3.0, 2.0],
        ), run

    update(logdir, index)

    check_same(loaded(logdir), loaded(None, index))
    assert update(logdir, index) == 0


def test_an_index_of_many_commits_is_opened_from_a_checkpoint(tmp_path: Path) -> None:
    """The number of commits that are read to open it has a bound."""
    logdir, index = tmp_path / "logs", tmp_path / "index"
    write_run(logdir, "a", scalars={"loss": [3.0, 2.0]}, wall_time=1000.0)
    update(logdir, index)
    tables = Tables(Place(str(index)))

    for _ in range(NUM_COMMITS):
        tables.commit([], [])

    for name in COLUMNS:
        log_of = index / name / "_delta_log"
        last = json.loads((log_of / "_last_checkpoint").read_text(encoding="utf-8"))
        version = Place(str(index)).delta(name).version()
        assert version > NUM_COMMITS
        assert version - last["version"] < 100, name
    check_same(loaded(logdir), loaded(None, index))
