"""Restarts of a training job: which rows are dropped, case by case, through real files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, summaries

ANY = (Claim(),)
SCALAR = (Claim(is_scalar=True),)


def write(logdir: Path, script: str, *, version: str | None = "brain.Event:2") -> None:
    """Writes the files of a run.

    `a0..a5 S@3 b7 | G@2 a6` writes steps 0 to 5 of tag a, a START at step 3 and step 7 of tag b;
    then, in a second file, a graph at step 2 and step 6 of tag a.
    """
    for number, part in enumerate(script.split("|")):
        with EventFileWriter(logdir / "run" / f"{number}.tfevents", file_version=version) as writer:
            for word in part.split():
                if word[1] == "@":
                    write_event(writer, word[0], int(word[2:]))
                    continue
                match = re.fullmatch(r"([a-z]+)(-?\d+)'*(?:\.\.[a-z]*(\d+))?'*", word)
                assert match is not None, word
                first = int(match[2])
                for step in range(first, int(match[3] or first) + 1):
                    writer.add_scalar(match[1], step, step)


def write_event(writer: EventFileWriter, what: str, step: int) -> None:
    """Writes one event, whose kind is the letter `what`."""
    match what:
        case "S":
            writer.add_session_log("START", step)
        case "C":
            writer.add_session_log("CHECKPOINT", step)
        case "G":
            writer.add_graph(b"\x0a\x05\x0a\x03abc", step=step)
        case "M":
            writer.add_run_metadata("m", b"\x0a\x00", step=step)
        case "H":
            writer.add_histogram("h", [1.0], step)
        case "T":
            writer.add_summary(step, summaries.tensor("t", [1.0, 2.0], plugin_name="mine"))
        case _:
            raise AssertionError(what)


def load(logdir: Path, *, purge_orphaned_data: bool = True) -> Multiplexer:
    board = Board()
    multiplexer = Multiplexer(board=board)
    specs = [LogdirSpec(None, str(logdir))]
    Loader(board, specs, purge_orphaned_data=purge_orphaned_data).load_once()
    return multiplexer


def steps(multiplexer: Multiplexer) -> dict[str, list[int]]:
    """Steps of all tags: first those of scalars, then those of items."""
    return {
        tag: multiplexer.scalars("run", tag, claims=ANY).step.tolist()
        + [item.step for item in multiplexer.items("run", tag, ANY)]
        for tag in multiplexer.tags(ANY)["run"]
    }


VERSION_2 = [
    # These were verified with TensorBoard's reader, before and after it was changed to ignore the
    # first START.
    ("S@0 a0..a5 b3 | S@3 a3' a4'", {"a": [0, 1, 2, 3, 4], "b": []}),
    ("a0..a5 S@3 a6", {"a": [0, 1, 2, 3, 4, 5, 6]}),
    ("a0..a5 a2'", {"a": [0, 1, 2, 3, 4, 5, 2]}),
    ("S@0 a1 a2 S@2 a3", {"a": [1, 3]}),
    ("a0..a5 | S@3 a3' a4'", {"a": [0, 1, 2, 3, 4]}),
    # These follow from the rule.
    ("a0..a5 | a6 S@3 a7", {"a": [0, 1, 2, 7]}),
    ("a0..a5 S@3 S@3 a6", {"a": [0, 1, 2, 6]}),
    ("a0..a5 C@3 a6", {"a": [0, 1, 2, 3, 4, 5, 6]}),
    ("S@0 a0..a3 S@0 a0'", {"a": [0]}),
    ("S@0 a5 a1 a7 a2 S@3 a9", {"a": [1, 2, 9]}),
    ("S@0 a-2 a-1 a0 S@-1 a3", {"a": [-2, 3]}),
    ("S@0 a0..a9 | S@5 a5'..a9 | S@7 a7''", {"a": [0, 1, 2, 3, 4, 5, 6, 7]}),
    # Rows of all kinds are dropped, except those of graphs.
    ("S@0 a5 H@5 T@5 G@5 M@5 S@3", {"a": [], "h": [], "t": [], "": [5], "m": [5]}),
    ("S@0 H@1 H@2 T@1 T@2 S@2 H@3", {"h": [1, 3], "t": [1]}),
]


@pytest.mark.parametrize(("script", "expected"), VERSION_2)
def test_a_start_in_a_file_of_version_2_drops_rows(
    tmp_path: Path, script: str, expected: dict[str, list[int]]
) -> None:
    """A START drops rows at its step and above, except the first START in the first file."""
    write(tmp_path, script)
    assert steps(load(tmp_path)) == expected


OLD = [
    ("a0..a5 b5 a2' b2' a3'", {"a": [0, 1, 2, 3], "b": [2]}),
    ("a0..a5 a2'", {"a": [0, 1, 2]}),
    ("a0..a5 b3 a4'", {"a": [0, 1, 2, 3, 4], "b": [3]}),
    # A step below the most recent step does not replace it, so each of these drops rows.
    ("a9 a1 a2 a1'", {"a": [1]}),
    ("a9 b1 b2 a3 b2'", {"a": [3], "b": [1, 2]}),
    # An event without a summary lowers the most recent step.
    ("a9 G@0 a1 a2 b1", {"": [0], "a": [9, 1, 2], "b": [1]}),
    ("a9 S@0 a1 a2", {"a": [9, 1, 2]}),
    ("a9 C@3 a2", {"a": [2]}),
    # Rows of all kinds are dropped, except those of graphs, which only lower the most recent step.
    ("H@5 T@5 a9 H@3 T@4", {"h": [3], "t": [4], "a": [9]}),
    ("a9 G@5 G@2 a3", {"a": [9, 3], "": [5, 2]}),
    ("G@5 H@5 H@6 H@4", {"": [5], "h": [4]}),
    ("a0..a5 | a3' a4'", {"a": [0, 1, 2, 3, 4]}),
]


@pytest.mark.parametrize(
    "version", [None, "brain.Event:1", "garbage", "brain.Event:x", "brain.Event:nan"]
)
@pytest.mark.parametrize(("script", "expected"), OLD)
def test_in_older_files_a_lower_step_drops_rows(
    tmp_path: Path, script: str, expected: dict[str, list[int]], version: str | None
) -> None:
    """Only the tags of the event with the lower step lose rows."""
    if version is not None and script == "a0..a5 | a3' a4'":
        # The event with the file version has step 0, which lowers the most recent step.
        expected = {"a": [0, 1, 2, 3, 4, 5, 3, 4]}
    write(tmp_path, script, version=version)
    assert steps(load(tmp_path)) == expected


def test_values_of_one_event_do_not_drop_each_other(tmp_path: Path) -> None:
    """A tag may occur twice in the event, with other tags in between."""
    with EventFileWriter(tmp_path / "run" / "0.tfevents", file_version=None) as writer:
        writer.add_scalar("a", 5, 5)
        many = [summaries.scalar(f"other{i}", 0) for i in range(40)]
        twice = summaries.scalar("a", 2.0), *many, summaries.scalar("a", 2.5)
        writer.add_summary(2, *twice)
        writer.add_summary(2, summaries.scalar("b", 1.0))
    multiplexer = load(tmp_path)
    assert multiplexer.scalars("run", "a").value.tolist() == [2.0, 2.5]
    assert multiplexer.scalars("run", "a").ordinal.tolist() == [1, 2]


def test_an_empty_tag_name_is_a_tag_like_others(tmp_path: Path) -> None:
    """A restart of this tag drops its own rows only, not those of all tags."""
    with EventFileWriter(tmp_path / "run" / "0.tfevents", file_version=None) as writer:
        writer.add_scalar("a", 1, 5)
        writer.add_scalar("", 1, 6)
        writer.add_scalar("", 1, 2)
    assert steps(load(tmp_path)) == {"a": [5], "": [2]}


@pytest.mark.parametrize("version", [None, "brain.Event:2"])
def test_purging_can_be_turned_off(tmp_path: Path, version: str | None) -> None:
    """All rows are shown, in the order in which they were written."""
    write(tmp_path, "S@0 a0..a5 | S@2 a2' a1'", version=version)
    multiplexer = load(tmp_path, purge_orphaned_data=False)
    assert steps(multiplexer) == {"a": [0, 1, 2, 3, 4, 5, 2, 1]}
    assert multiplexer.scalars("run", "a").ordinal.tolist() == list(range(8))


def test_ordinals_are_not_reused_after_a_restart(tmp_path: Path) -> None:
    """No ordinal is used twice, so a link to an item never shows another one."""
    write(tmp_path, "S@0 a0..a3 H@0 H@1 H@2 | S@2 a2' H@2")
    multiplexer = load(tmp_path)
    assert multiplexer.scalars("run", "a").ordinal.tolist() == [0, 1, 4]
    assert [item.ordinal for item in multiplexer.items("run", "h", ANY)] == [0, 1, 3]


def test_a_start_drops_only_rows_that_were_read_before_it(tmp_path: Path) -> None:
    """Rows that an earlier file gets later are appended, whatever their steps are."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
    first = EventFileWriter(tmp_path / "run" / "0.tfevents")
    first.add_scalar("a", 0, 0)
    first.add_scalar("a", 0, 5)
    first.flush()
    loader.load_once()
    with EventFileWriter(tmp_path / "run" / "1.tfevents") as second:
        second.add_session_log("START", 3)
        second.add_scalar("a", 0, 3)
    loader.load_once()
    assert steps(multiplexer) == {"a": [0, 3]}
    first.add_scalar("a", 0, 6)
    first.close()
    loader.load_once()
    assert steps(multiplexer) == {"a": [0, 3, 6]}


def test_each_file_follows_the_rule_of_its_own_version(tmp_path: Path) -> None:
    """An old file may grow after a newer one was read."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
    old = EventFileWriter(tmp_path / "run" / "0.tfevents", file_version="brain.Event:1")
    old.add_scalar("a", 0, 5)
    old.flush()
    with EventFileWriter(tmp_path / "run" / "1.tfevents") as new:
        new.add_scalar("a", 0, 6)
        new.add_scalar("a", 0, 1)
    loader.load_once()
    assert steps(multiplexer) == {"a": [5, 6, 1]}
    old.add_scalar("a", 0, 4)
    old.close()
    loader.load_once()
    assert steps(multiplexer) == {"a": [1, 4]}


def test_a_tag_without_remaining_rows_stays_listed(tmp_path: Path) -> None:
    """The tag keeps its place in the order of tags."""
    write(tmp_path, "S@0 b3 a0 | S@1 a1")
    multiplexer = load(tmp_path)
    assert multiplexer.tags(SCALAR) == {"run": ["b", "a"]}
    assert len(multiplexer.scalars("run", "b")) == 0
