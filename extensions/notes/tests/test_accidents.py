"""A note that is confirmed counts, whatever else happens to the files of notes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from noted_servers import own_folder

from tbcore_notes.changes import NotesError
from tbcore_notes.records import line_of
from tbcore_notes.store import Store

GARBAGE = bytes(random.Random(1).choices([*range(10), *range(11, 256)], k=250))


def opened(logdir: Path) -> Store:
    found = Store(str(logdir))
    found.refresh()
    return found


def notes(found: Store) -> dict[str, Any]:
    return {run: fields["note"].value for run, fields in found.runs.items()}


def cut(num_bytes: int) -> Callable[[Path], None]:
    """Takes bytes away from the end."""
    return lambda path: os.truncate(path, max(0, path.stat().st_size - num_bytes))


def append(data: bytes) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        with path.open("ab") as file:
            file.write(data)

    return act


def replace(data: bytes) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        path.with_name("new").write_bytes(data)
        path.with_name("new").replace(path)

    return act


def remove_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


def overwrite(path: Path) -> None:
    """Other bytes in the same file, of the same length."""
    length = path.stat().st_size
    with path.open("rb+") as file:
        file.write(GARBAGE * (length // len(GARBAGE) + 1))
        file.truncate(length)


OTHER = line_of(5, "x@y", "other", {"note": "other"})
ACCIDENTS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "bytes without a line end": (append(GARBAGE), {"a", "b"}),
    "bytes with a line end": (append(GARBAGE + b"\n"), {"a", "b"}),
    "half of a line": (append(OTHER[:30]), {"a", "b"}),
    "a whole line without its end": (append(OTHER[:-1]), {"a", "b", "other"}),
    "zeros": (append(bytes(300_000)), {"a", "b"}),
    "a line end taken away": (cut(1), {"a", "b"}),
    "half a line taken away": (cut(20), {"a"}),
    "a line taken away": (cut(len(OTHER)), {"a"}),
    "all taken away": (cut(10_000), set()),
    "overwritten": (overwrite, set()),
    "replaced": (replace(OTHER), {"other"}),
    "replaced by half a line": (replace(OTHER[:30]), set()),
    "replaced by a long file": (replace(OTHER * 100 + GARBAGE), {"other"}),
    "removed": (Path.unlink, set()),
    "removed with its directory": (remove_folder, set()),
    "renamed": (lambda path: path.rename(path.with_name("y.jsonl")) and None, {"a", "b"}),
}
"""What happens to the file, and the runs whose notes are still there."""


@pytest.mark.parametrize("name", ACCIDENTS)
def test_a_note_after_an_accident_is_kept(logdir: Path, name: str) -> None:
    """In the process that writes, in one that has read the file before, and in a new one."""
    accident, rest = ACCIDENTS[name]
    writer = opened(logdir)
    for run in ("a", "b"):
        writer.change([run], {"note": run}, is_own=True)
    reader = opened(logdir)
    [path] = own_folder(logdir).iterdir()
    accident(path)
    writer.change(["c"], {"note": "after"}, is_own=True)
    writer.change(["d"], {"note": "later"}, is_own=True)
    expected = {run: run for run in rest if name != "a line taken away" or run == "a"}
    expected |= {"c": "after", "d": "later"}
    for found in (writer, reader, opened(logdir)):
        found.refresh()
        missing = expected.items() - notes(found).items()
        assert not missing, found.problems
        assert notes(found).keys() - expected.keys() <= {"b"}
    assert notes(writer) == notes(reader) == notes(opened(logdir))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/null", path)])
def test_what_is_no_file_is_not_written_to(logdir: Path, make: Callable[[Path], None]) -> None:
    """A note that would go there is refused in a line, and later ones are kept."""
    writer = opened(logdir)
    writer.change(["a"], {"note": "a"}, is_own=True)
    [path] = own_folder(logdir).iterdir()
    path.unlink()
    make(path)
    with pytest.raises(NotesError, match="the note cannot be kept: "):
        writer.change(["b"], {"note": "b"}, is_own=True)
    path.rmdir() if path.is_dir() else path.unlink()
    writer.change(["c"], {"note": "c"}, is_own=True)
    assert notes(writer) == notes(opened(logdir)) == {"c": "c"}


def test_a_file_that_is_removed_while_it_is_written_is_made_again(
    logdir: Path, opening: Callable[..., None]
) -> None:
    """Else the note would be in a file without a name. If that never ends, it is an error."""
    writer = opened(logdir)
    writer.change(["a"], {"note": "a"}, is_own=True)
    is_removed = [True]

    def opened_and_removed(path: str, flags: int, open_file: Callable[[], int]) -> int:
        descriptor = open_file()
        if flags & os.O_CREAT and is_removed and is_removed.pop():
            os.unlink(path)
        return descriptor

    opening(opened_and_removed)
    writer.change(["b"], {"note": "b"}, is_own=True)
    assert notes(writer) == notes(opened(logdir)) == {"b": "b"}
    is_removed.extend([True] * 9)
    with pytest.raises(NotesError, match="the note cannot be kept: No such file or directory"):
        writer.change(["c"], {"note": "c"}, is_own=True)


def test_a_file_that_is_renamed_while_others_read_is_read(
    logdir: Path, opening: Callable[..., None]
) -> None:
    """Another process continues or compacts it, after this one has seen its name."""
    writer = opened(logdir)
    writer.change(["a"], {"note": "a"}, is_own=True)
    [path] = own_folder(logdir).iterdir()
    content = path.read_bytes()

    def renamed(path: str, flags: int, open_file: Callable[[], int]) -> int:
        if os.path.exists(path) and not path.endswith("later.jsonl"):
            os.rename(path, os.path.join(os.path.dirname(path), "later.jsonl"))
        return open_file()

    def compacted(path: str, flags: int, open_file: Callable[[], int]) -> int:
        if not path.endswith("new.jsonl"):
            Path(path).with_name("new.jsonl").write_bytes(content)
            Path(path).unlink()
        return open_file()

    for replacing in (renamed, compacted):
        opening(replacing)
        assert notes(opened(logdir)) == {"a": "a"}
