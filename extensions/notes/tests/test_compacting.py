"""What all files say is the same before and after they are compacted, and whenever that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import piped
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from noted_servers import name_of

from tbcore.engine import LogdirSpec, size
from tbcore_notes import files, store
from tbcore_notes.changes import NotesError
from tbcore_notes.compacting import compacted
from tbcore_notes.inventory import Inventory
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import line_of
from tbcore_notes.store import Store
from tbcore_testing import write_run

NOW = time.time_ns() // 1000
GONE = 999_999_999
"""The number of no process."""


def opened(logdir: Path) -> Store:
    found = Store(str(logdir))
    found.refresh()
    return found


def said(logdir: Path) -> tuple[Any, ...]:
    """All that the notes on a log directory say."""
    found = opened(logdir)
    return found.runs, found.archived, found.archived_last, found.views, found.inventories


def inventory(of: int) -> Inventory:
    return Inventory(of, "directory"[:8], "")


def folders(logdir: Path) -> list[Path]:
    return [Path(directory.path) for directory in Store(str(logdir)).own_directories]


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*")) if folder.exists() else []


def of_gone_process(folder: Path, content: bytes, name: str = "ab") -> Path:
    """A file of a process that has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name_of(GONE, name)
    path.write_bytes(content)
    return path


def compact(logdir: Path) -> list[tuple[int, ...]]:
    return [tuple(compacted(each)) for each in Store(str(logdir)).own_directories]


@contextmanager
def ended(has_ended: Callable[[int], bool]) -> Iterator[None]:
    """Within a `with` statement, the system says that these processes have ended."""

    def kill(process: int, signal: int, real: Callable[[int, int], None] = os.kill) -> None:
        if has_ended(process):
            raise ProcessLookupError
        real(process, signal)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "kill", kill)
        yield


def compact_again(logdir: Path) -> list[tuple[int, ...]]:
    """As another process, after the one that has compacted them."""
    with ended(os.getpid().__eq__):
        return compact(logdir)


# -- what stays ------------------------------------------------------------------------------------


def test_what_was_replaced_is_left_out_and_lines_stay_as_they_are(logdir: Path) -> None:
    """Byte by byte, also what this version does not know. What was taken away stays taken away."""
    own, server = folders(logdir)
    kept = [
        line_of(NOW, "a@b", "r", {"archived": False}),  # Others may archive it again.
        line_of(NOW + 2, "a@b", "r", {"note": "", "starred": True}),
        line_of(NOW + 1, "a@b", "r", {"archived": True}),
        line_of(NOW + 1, "a@b", "r", {"inventory": inventory(NOW + 1)}),
        b'{"t":5,"by":"a@b","run":"r","dir":17,"set":{"labels":["x"]}}\n',
        b'{"t":6,"by":"a@b","run":"r","set":{"rating":5}}\n',
        line_of(NOW, "a@b", "view", {"address": "#b"}),
    ]
    replaced = [
        line_of(NOW, "a@b", "r", {"note": "long" * 1000, "starred": False}),
        line_of(NOW - 1, "a@b", "r", {"archived": False}),
        line_of(NOW, "a@b", "r", {"inventory": inventory(NOW)}),
        line_of(NOW - 1, "a@b", "view", {"address": "#a"}),
        b"rubbish\n",
        b'{"t":\n',
    ]
    path = of_gone_process(own, b"".join([*replaced[:3], *kept, *replaced[3:], kept[1][:-9]]))
    theirs = line_of(NOW + 9, "c@d", "r", {"note": "theirs"})
    of_gone_process(server, theirs)
    before = said(logdir)
    num_bytes = path.stat().st_size
    after = sum(map(len, kept))
    assert compact(logdir) == [(num_bytes, after, 0), (len(theirs), len(theirs), 0)]
    [found] = files_of(own)
    assert found.read_bytes() == b"".join(kept)
    assert found.stat().st_mode & 0o777 == 0o600
    assert said(logdir) == before
    assert compact_again(logdir)[0] == (after, after, 0)


RUNS = st.sampled_from(["a", "b"])
VALUES = st.one_of(
    st.fixed_dictionaries({"starred": st.booleans(), "note": st.sampled_from(["", "x", "y"])}),
    st.fixed_dictionaries({"labels": st.lists(st.sampled_from("pq"), unique=True)}),
    st.fixed_dictionaries({"archived": st.booleans()}),
    st.fixed_dictionaries({"address": st.sampled_from(["", "#x"])}),
    st.fixed_dictionaries({"inventory": st.integers(NOW - 3, NOW).map(inventory)}),
)
LINES = st.builds(line_of, st.integers(NOW - 3, NOW), st.sampled_from(["a@b", "c@d"]), RUNS, VALUES)
LINE = line_of(NOW, "a@b", "a", {"starred": True})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    contents=st.lists(
        st.lists(LINES | st.binary(max_size=20), max_size=12).map(b"".join), min_size=5, max_size=5
    )
)
@example([LINE, LINE, LINE, LINE, LINE])
@example([LINE[:-1], LINE + LINE, b"", b"\n", LINE])
def test_properties_of_compacting(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    """Whatever is in files of processes that are gone, of those that run, and in copies."""
    logdir = tmp_path_factory.mktemp("runs")
    own, server = folders(logdir)
    for number, folder in enumerate([own, own, server]):
        of_gone_process(folder, contents[number], f"{number}")
    others = [own / "other@far-1-2-3-4.jsonl", logdir.joinpath(*store.SHARED, "bob.jsonl")]
    for path, content in zip(others, contents[3:], strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    before = said(logdir)
    sizes = compact(logdir)
    assert said(logdir) == before
    assert [path.read_bytes() for path in others] == contents[3:]
    assert all(after <= num_bytes for num_bytes, after, _ in sizes)
    again = [(after, after, left) for _, after, left in sizes]
    assert compact_again(logdir) == again


def test_files_of_others_are_left_alone(logdir: Path) -> None:
    """Of processes that run, of other machines and other users; a file of an earlier start of this
    machine is compacted."""
    own = folders(logdir)[0]
    content = LINE + line_of(NOW + 1, "a@b", "a", {"starred": False})
    machine, start = name_of(GONE).rsplit("-", 3)[:2]
    of_others = [
        own / name_of(os.getpid()),
        own / name_of(1),
        own / f"{machine[:-1]}x-{start}-{GONE}-ab.jsonl",
        own / f"other{name_of(GONE)}",
        own / "alice@laptop-3f2a91c0-4711-5be1d2.jsonl",
    ]
    own.mkdir(parents=True)
    earlier = own / f"{machine}-00000000-{os.getpid()}-ab.jsonl"
    for path in (earlier, *of_others):
        path.write_bytes(content)
    rest = len(content) * len(of_others)
    after = rest + len(content) - len(LINE)
    assert compact(logdir)[0] == (rest + len(content), after, len(of_others))
    assert not earlier.exists()
    assert all(path.read_bytes() == content for path in of_others)


def test_a_file_whose_rest_is_not_read_is_left_alone(logdir: Path) -> None:
    """What readers leave out of it must not count afterwards."""
    own = folders(logdir)[0]
    content = b'{"t":1}\n' * 10_001 + line_of(NOW + 1, "a@b", "a", {"starred": False})
    of_gone_process(own, content)
    of_gone_process(own, LINE, "cd")
    before = said(logdir)
    compact(logdir)
    assert said(logdir) == before
    assert sorted(path.read_bytes() for path in files_of(own)) == sorted([content, LINE])


def test_what_decides_about_files_stays(logdir: Path) -> None:
    """A run that was archived has the files that it had then."""
    for run in ("a", "b"):
        write_run(logdir, run, scalars={"loss": [1.0]})
    notes = RunNotes([LogdirSpec(None, str(logdir))])
    for value in (True, False, True):
        notes.change(["a", "b"], {"archived": value})
    notes.change(["b"], {"archived": False})
    [path] = files_of(folders(logdir)[0])
    path.rename(path.with_name(name_of(GONE)))
    before = said(logdir)
    archived = notes.archived("a")
    assert archived.inventory is not None
    [(num_bytes, after, _), _] = compact(logdir)
    assert after < num_bytes * 0.8
    assert said(logdir) == before
    assert RunNotes([LogdirSpec(None, str(logdir))]).archived("a") == archived


# -- beside other processes, and at any end -------------------------------------------------------

KILLED = """
import os, signal, sys
from tbcore_notes.compacting import compacted
from tbcore_notes.store import Store
left = int(sys.argv[2])
def counted(function):
    def call(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*arguments, **options)
    return call
for name in ("open", "rename", "replace", "unlink", "fsync", "fstat", "lstat", "write"):
    setattr(os, name, counted(getattr(os, name)))
for directory in Store(sys.argv[1]).own_directories:
    compacted(directory)
"""


def test_a_kill_at_any_point_loses_nothing(logdir: Path) -> None:
    """Each time, another process goes on with what is there."""
    own, server = folders(logdir)
    for number in range(3):
        lines = [
            line_of(NOW + (number * n) % 7, "a@b", f"run{n % 5}", {"note": f"{number} {n}"})
            for n in range(30)
        ]
        for folder in (own, server):
            of_gone_process(folder, b"".join(lines), f"{number}")
    before = said(logdir)
    sizes = [sum(path.stat().st_size for path in files_of(folder)) for folder in (own, server)]
    for step in range(400):
        done = subprocess.run([sys.executable, "-c", KILLED, str(logdir), str(step)], timeout=60)
        assert said(logdir) == before, step
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert step > 20
    after = [sum(path.stat().st_size for path in files_of(folder)) for folder in (own, server)]
    assert all(new < old for new, old in zip(after, sizes, strict=True))
    assert all(path.suffix == ".jsonl" for folder in (own, server) for path in files_of(folder))


WRITER = """
import sys
from tbcore_notes.changes import NotesError
from tbcore_notes.store import Store
store = Store(sys.argv[1])
for number in range(60):
    run = f"{sys.argv[2]}/{number % 7}"
    while True:
        try:
            store.change([run, "common"], {"note": f"{sys.argv[2]} {number}"}, is_own=True)
            break
        except NotesError:  # The file was deleted each time that it was written to.
            pass
    print(run, number, flush=True)
    if number % 10 == 9:
        store = Store(sys.argv[1])
"""


@pytest.mark.slow
def test_notes_that_are_confirmed_at_the_same_time_are_kept(logdir: Path) -> None:
    """Five processes write, also into files that this one takes for those of ended processes."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(logdir), f"w{n}"], stdout=subprocess.PIPE, text=True
        )
        for n in range(5)
    ]
    reader = opened(logdir)
    rounds = 0
    with ended(os.getpid().__ne__):
        while any(writer.poll() is None for writer in writers):
            compact(logdir)
            reader.refresh()
            rounds += 1
    expected = {}
    for number, writer in enumerate(writers):
        for line in writer.communicate(timeout=60)[0].splitlines():
            run, count = line.split()
            expected[run] = f"w{number} {count}"
    assert len(expected) == 35
    assert rounds > 5
    for found in (reader, opened(logdir)):
        found.refresh()
        notes = {run: fields["note"].value for run, fields in found.runs.items()}
        assert {**expected, "common": notes["common"]} == notes
        assert found.problems == []


def test_a_full_disk_is_a_line_and_changes_nothing(logdir: Path) -> None:
    own = folders(logdir)[0]
    of_gone_process(own, b"".join(line_of(NOW + n, "a@b", "a", {"note": "x"}) for n in range(99)))
    of_gone_process(own, line_of(NOW, "a@b", "b", {"note": "x" * 5000}), "cd")
    before = said(logdir)
    code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from tbcore_notes.printing import compact_notes
from tbcore_notes.changes import NotesError
try:
    compact_notes(sys.argv[1])
except NotesError as error:
    sys.exit(str(error))
"""
    # With -B, since bytecode that is cut off would stay, and end every later command.
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(logdir)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr.startswith("the notes cannot be compacted: File too large: /")
    assert done.stderr.count("\n") == 1
    assert said(logdir) == before
    assert all(path.suffix == ".jsonl" for path in files_of(own))


# -- the command -----------------------------------------------------------------------------------


def test_the_command_says_what_it_saved(logdir: Path) -> None:
    start = f"your notes on {logdir} have"
    assert piped("notes", "compact", logdir).stdout == f"{start} 0 B, as before\n"
    changing = opened(logdir)
    for number in range(50):
        changing.change(["a"], {"note": f"{number:02}" * 450}, is_own=True)
    [path] = files_of(folders(logdir)[0])
    num_bytes = path.stat().st_size
    running = f"{start} {size(num_bytes)}, as before\n1 file of running processes or other machines"
    assert piped("notes", "compact", logdir).stdout.startswith(running)
    path.rename(path.with_name(name_of(GONE)))
    before = said(logdir)
    expected = f"{start} {size(num_bytes // 50)}, before: {size(num_bytes)}\n"
    assert piped("notes", "compact", logdir).stdout == expected
    assert said(logdir) == before
    missing = piped("notes", "compact", logdir / "none")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_the_limit_names_the_command(logdir: Path, limits: Callable[..., None]) -> None:
    """And that helps."""
    limits(files, MAX_BYTES=10_000)
    line = b"".join(line_of(NOW + n, "a@b", "a", {"note": f"{n}"}) for n in range(200))
    of_gone_process(folders(logdir)[0], line)
    with pytest.raises(NotesError, match="there are 10 kB of notes; `tbcore notes compact`"):
        opened(logdir).change(["c"], {"starred": True}, is_own=True)
    compact(logdir)
    opened(logdir).change(["c"], {"starred": True}, is_own=True)
    assert [f["note"].value for f in opened(logdir).runs.values() if "note" in f] == ["199"]
