"""What a log directory from somebody else brings: its notes have limits of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import piped

from tbcore.engine import LogdirSpec
from tbcore_notes import files, store
from tbcore_notes.changes import NotesError
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import line_of
from tbcore_notes.store import Store
from tbcore_testing import write_run

NOW = time.time_ns() // 1000


def opened(logdir: Path) -> Store:
    found = Store(str(logdir))
    found.refresh()
    return found


def notes_of(logdir: Path) -> RunNotes:
    return RunNotes([LogdirSpec(None, str(logdir))])


def shared(logdir: Path, name: str, content: bytes) -> Path:
    path = logdir.joinpath(*store.SHARED, f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def line(run: str, **values: Any) -> bytes:
    return line_of(NOW, "bob@far", run, values or {"starred": True})


# -- how much is read ------------------------------------------------------------------------------


def test_files_above_four_megabytes_are_left_out_with_a_line(logdir: Path) -> None:
    """The smallest ones are read. This user's own notes have another limit."""
    small = shared(logdir, "small", line("a") * 10)
    large = shared(logdir, "large", b"".join(line(f"x{n}", note="x" * 9000) for n in range(450)))
    found = opened(logdir)
    assert found.runs.keys() == {"a"}
    [problem] = found.problems
    assert problem == f"{large}, 4.1 MB, is left out: there are more than 4.0 MB of notes"
    os.truncate(large, 1_900_000)
    found.refresh()
    assert found.problems == []
    assert len(found.runs) > 200
    with small.open("ab") as file:
        file.write(line("b") * 40_000)
    found.refresh()
    assert found.runs.keys() == opened(logdir).runs.keys(), "also of what was read before"
    assert not {"a", "b"} & found.runs.keys()
    found.change(["own"], {"note": "x" * 9000}, is_own=True)
    assert "own" in found.runs.keys() == opened(logdir).runs.keys()


def test_many_notes_on_names_that_are_no_runs_are_left_out(
    logdir: Path, limits: Callable[..., None]
) -> None:
    """With a line that has their number. Those on runs are read, wherever they are."""
    limits(files, MAX_UNCHECKED_BYTES=10_000)
    for run in ("first", "sweep/last", "plain file"):
        logdir.joinpath(run).mkdir(parents=True)
    logdir.joinpath("plain file").rmdir()
    logdir.joinpath("plain file").write_text("")
    lines = [line(f"x{n:04}") for n in range(1000)]
    view = line_of(NOW, "bob@far", "seeds", {"address": "#x"})
    rest = line("sweep/last") + line(".") + line("plain file") + view
    path = shared(logdir, "bob", line("first") + b"".join(lines) + rest)
    found = opened(logdir)
    kept = 10_000 // len(lines[0])
    assert {"first", "sweep/last", "."} <= found.runs.keys()
    assert "plain file" not in found.runs
    assert kept <= len(found.runs) <= kept + 6
    assert found.views.keys() == {"seeds"}
    num_left_out = 1004 - len(found.runs)
    assert found.problems == [
        f"{path.parent}: {num_left_out} notes on names that are no runs here are left out: there "
        "are more than 10 kB of notes"
    ]
    found.refresh()
    assert len(found.problems) == 1
    path.write_bytes(b"".join(lines[:50]))
    found.refresh()
    assert (len(found.runs), found.problems) == (50, [])


@pytest.mark.parametrize(
    "name", ["../outside", "/outside", "a/../../outside", "..", "a/..", "a//b", "./a", "", "a\0b"]
)
def test_no_name_makes_this_look_elsewhere(
    logdir: Path, tmp_path: Path, name: str, limits: Callable[..., None]
) -> None:
    limits(files, MAX_UNCHECKED_BYTES=0)
    for folder in (tmp_path / "outside", logdir / "a" / "b"):
        folder.mkdir(parents=True)
    wanted = name.replace("/outside", str(tmp_path / "outside")) if name[:1] == "/" else name
    (logdir / "link").symlink_to(tmp_path / "outside")
    shared(logdir, "bob", line(wanted) + line("link") + line("a/b"))
    assert opened(logdir).runs.keys() == {"a/b"}


def test_many_bad_files_are_few_lines(logdir: Path) -> None:
    """Each of ten thousand files would be a line of each command, and of each response."""
    write_run(logdir, "a", scalars={"loss": [1.0]})
    for number in range(300):
        shared(logdir, f"{number}", b"rubbish\n")
    result = piped("ls", logdir)
    assert (result.returncode, result.stderr.count("\n")) == (0, 11)
    assert "290 more problems" in result.stderr


def test_what_others_note_through_a_server_has_a_limit_of_its_own(
    logdir: Path, limits: Callable[..., None]
) -> None:
    """They cannot use up what this user may note."""
    limits(store, MAX_SERVER_BYTES=10_000)
    found = opened(logdir)
    found.change(["a"], {"note": "x" * 9000}, is_own=False)
    with pytest.raises(NotesError, match=r"there are 10 kB of notes; `tbcore notes compact`"):
        found.change(["b"], {"note": "x" * 9000}, is_own=False)
    found.change(["c"], {"note": "x" * 9000}, is_own=True)
    assert found.runs.keys() == opened(logdir).runs.keys() == {"a", "c"}


def test_processes_that_reach_the_limit_together_lose_nothing(
    logdir: Path, monkeypatch: pytest.MonkeyPatch, limits: Callable[..., None]
) -> None:
    """Each has seen that there is room for its note."""
    limits(files, MAX_BYTES=10_000)
    processes = [opened(logdir), opened(logdir)]
    processes[0].change(["a"], {"note": "x" * 5000}, is_own=True)
    with monkeypatch.context() as patch:
        patch.setattr(files.Directory, "sizes", lambda _: [0])
        processes[1].change(["b"], {"note": "x" * 5100}, is_own=True)
    assert opened(logdir).runs.keys() == {"a", "b"}


# -- sharing ---------------------------------------------------------------------------------------


def test_more_notes_than_others_read_are_not_shared(logdir: Path) -> None:
    """With a line; a copy that is replaced does not count."""
    own = notes_of(logdir)
    own.change([f"run{n}" for n in range(300)], {"note": "x" * 9000})
    [(path, *_)] = own.share()
    assert own.share()[0][0] == path
    own.change([f"other{n}" for n in range(150)], {"note": "x" * 9000})
    result = piped("notes", "share", logdir)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("tbcore: the notes cannot be shared: with 4.1 MB, there")
    assert result.stderr.count("\n") == 1
    shared(logdir, "bob", line("run", note="x" * 9000) * 200)
    with pytest.raises(NotesError, match=r"with 4\.1 MB, there would be 5\.9 MB in "):
        own.share()
    assert "other0" not in Path(path).read_text()


def test_sharing_says_what_others_leave_out(logdir: Path) -> None:
    """Notes on runs that are gone, if they are many."""
    logdir.joinpath("run0").mkdir()
    notes_of(logdir).change([f"run{n}" for n in range(300)], {"note": "x" * 9000})
    result = piped("notes", "share", logdir)
    assert result.returncode == 0
    assert result.stdout.startswith("notes on 300 runs are shared in ")
    assert "notes on names that are no runs here are left out" in result.stderr
    assert result.stderr.count("\n") == 1
