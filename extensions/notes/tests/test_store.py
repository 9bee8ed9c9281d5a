"""What was confirmed is there, whatever happens to the files; what is not read is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from noted_servers import name_of, own_folder

from tbcore import BadRequestError
from tbcore_notes import files, records, store
from tbcore_notes.changes import NotesError
from tbcore_notes.records import Record, line_of
from tbcore_notes.store import Store, value_of

NOW = time.time_ns() // 1000


def opened(logdir: Path) -> Store:
    found = Store(str(logdir))
    found.refresh()
    return found


def values(found: Store) -> dict[str, dict[str, Any]]:
    return {
        run: {field: record.value for field, record in fields.items()}
        for run, fields in found.runs.items()
    }


def own_files(logdir: Path) -> list[Path]:
    return sorted(own_folder(logdir).glob("*.jsonl"))


def in_process(logdir: Path, code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in another process, where `store` has the notes on the log directory."""
    start = f"from tbcore_notes.store import Store\nstore = Store({str(logdir)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, timeout=60, **options
    )


# -- values ----------------------------------------------------------------------------------------


def test_each_field_has_its_last_value(logdir: Path) -> None:
    """Also in another process, and with other fields of the same run unchanged."""
    first = opened(logdir)
    first.change(["a", "b"], {"starred": True, "note": " why\n\nso "}, is_own=True)
    first.change(["a"], {"starred": False, "labels": ["paper", "paper", "x"]}, is_own=True)
    first.change(["a"], {"color": "#2A78D6", "display_name": "best 😀"}, is_own=True)
    expected = {
        "a": {"starred": False, "note": "why\n\nso", "labels": ["paper", "x"],
              "color": "#2a78d6", "display_name": "best 😀"},
        "b": {"starred": True, "note": "why\n\nso"},
    }  # fmt: skip
    assert values(first) == values(opened(logdir)) == expected
    assert value_of(first.runs["b"], "labels") == []
    assert not (logdir / ".tbcore").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("starred", 1), ("starred", None), ("archived", "yes"), ("labels", "paper"),
        ("labels", ["two words"]), ("labels", ["a,b"]), ("labels", ["#a"]), ("labels", [""]),
        ("labels", [f"l{n}" for n in range(21)]), ("labels", ["x" * 51]), ("labels", [1]),
        ("note", "x" * 10_001), ("note", "a\0b"), ("note", "\ud800"), ("note", ["x"]),
        ("display_name", "x" * 201), ("display_name", "two\nlines"), ("display_name", "\u202e"),
        ("color", "red"), ("color", "#12345"), ("color", 7), ("deleted", True), ("star", True),
    ],
)  # fmt: skip
def test_a_value_that_is_not_valid_is_refused(logdir: Path, field: str, value: Any) -> None:
    """In one line, and nothing is written; a file with it loses only that line."""
    with pytest.raises(BadRequestError) as caught:
        opened(logdir).change(["a"], {"starred": True, field: value}, is_own=True)
    assert str(caught.value).isprintable() or "\n" not in str(caught.value)
    assert own_files(logdir) == []


def test_a_later_change_counts_even_if_a_clock_was_ahead(logdir: Path) -> None:
    """A record replaces what its author saw, whatever the time was elsewhere."""
    found = opened(logdir)
    found.change(["a"], {"note": "first"}, is_own=True)
    ahead = line_of(NOW + 3_600_000_000, "bob@far", "a", {"note": "an hour ahead"})
    (own_folder(logdir) / "bob.jsonl").write_bytes(ahead)
    found.refresh()
    assert value_of(found.runs["a"], "note") == "an hour ahead"
    found.change(["a"], {"note": "last"}, is_own=True)
    assert value_of(opened(logdir).runs["a"], "note") == "last"


# -- properties ------------------------------------------------------------------------------------

FIELD_VALUES = st.one_of(
    st.tuples(st.sampled_from(["starred", "archived"]), st.booleans()),
    st.tuples(st.just("note"), st.text(st.characters(codec="utf-8", exclude_characters="\0")).map(
        str.strip)),
    st.tuples(st.just("labels"), st.lists(st.sampled_from("abc"), unique=True)),
)  # fmt: skip
WRITTEN = st.lists(
    st.tuples(
        st.integers(0, 3),  # the file
        st.integers(NOW - 3, NOW),  # few times, so that authors write at the same moment
        st.sampled_from(["alice@a", "bob@b"]),
        st.sampled_from(["r", "s/t", "."]),
        FIELD_VALUES,
    ),
    max_size=30,
)


def record_of(time: int, by: str, run: str, field: str, value: Any, *, is_own: bool) -> Record:
    [found] = records.records_of(
        line_of(time, by, run, {field: value}), is_own=is_own, latest=records.MAX_TIME
    )
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(written=WRITTEN, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_properties_of_reading(
    tmp_path_factory: pytest.TempPathFactory, written: list[Any], cuts: list[int]
) -> None:
    """Whatever the order in which lines arrive, and wherever a read finds a file cut, all readers
    end with the greatest record of each field."""
    logdir = tmp_path_factory.mktemp("runs")
    incremental = Store(str(logdir))
    folders = [own_folder(logdir), Path(logdir, *store.SHARED)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    expected: dict[tuple[str, str], Record] = {}
    last: dict[str, Record] = {}
    contents = [b""] * 4
    for number, at, by, run, (field, value) in written:
        contents[number] += line_of(at, by, run, {field: value})
        found = record_of(at, by, run, field, value, is_own=number < 2)
        if field == "archived":
            last[run] = max(found, last.get(run, found))
            # Of this user's and others', those of this user count.
            known = expected.get((run, field), found)
            expected[run, field] = max(found, known, key=lambda r: (r.is_own, r))
        else:
            expected[run, field] = max(found, expected.get((run, field), found))
    paths = [folders[number // 2] / f"{number}.jsonl" for number in range(4)]
    for cut in sorted(cuts):
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content[:cut])
        incremental.refresh()
        whole = {run for c in contents for run in lines_before(c[:cut])}
        assert incremental.runs.keys() == whole
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    for reader in (incremental, opened(logdir)):
        reader.refresh()
        found_records = {(r, f): x for r, fields in reader.runs.items() for f, x in fields.items()}
        assert found_records == expected
        own = [r for (_, field), r in expected.items() if field == "archived" and r.is_own]
        assert set(own) <= set(reader.archived.values())
        assert all(record.is_own for record in reader.archived.values())
        assert reader.archived_last == last
        assert reader.problems == []


def lines_before(content: bytes) -> Iterator[str]:
    for line in content.split(b"\n")[:-1]:
        yield json.loads(line)["run"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rubbish=st.binary(max_size=300), line=st.binary(max_size=60))
def test_properties_of_rubbish(
    tmp_path_factory: pytest.TempPathFactory, rubbish: bytes, line: bytes
) -> None:
    """Any bytes between whole lines cost nothing but themselves."""
    logdir = tmp_path_factory.mktemp("runs")
    found = Store(str(logdir))
    own_folder(logdir).mkdir(parents=True)
    good = line_of(NOW, "a@b", "run", {"starred": True})
    false = b'{"t":' + line.replace(b"\n", b"") + b"}\n"
    content = rubbish + b"\n" + good + false + good
    (own_folder(logdir) / "x.jsonl").write_bytes(content)
    found.refresh()
    assert values(found) == {"run": {"starred": True}}


# -- writing ---------------------------------------------------------------------------------------


def test_a_process_continues_the_file_of_one_that_is_gone(logdir: Path) -> None:
    """So a hundred commands leave one file."""
    for number in range(4):
        code = f"store.change(['run{number}'], {{'starred': True}}, is_own=True)"
        assert in_process(logdir, code).returncode == 0
    assert len(own_files(logdir)) == 1
    assert len(opened(logdir).runs) == 4


def test_the_file_of_a_living_process_is_left_alone(logdir: Path) -> None:
    """Two that write at the same time have a file each, also after a fork."""
    first = opened(logdir)
    first.change(["a"], {"starred": True}, is_own=True)
    assert in_process(logdir, "store.change(['b'], {'starred': True}, is_own=True)").stderr == ""
    assert len(own_files(logdir)) == 2
    child = os.fork()
    if child == 0:
        first.change(["c"], {"starred": True}, is_own=True)
        os._exit(0)
    os.waitpid(child, 0)
    first.change(["d"], {"starred": True}, is_own=True)
    assert opened(logdir).runs.keys() == {"a", "b", "c", "d"}
    assert own_files(logdir)[0].stat().st_mode & 0o777 == 0o600


def test_a_line_cut_anywhere_costs_only_itself(logdir: Path) -> None:
    """The writer was killed in the middle of it; the next process goes on in the same file."""
    kept = line_of(NOW, "a@b", "kept", {"starred": True})
    torn = line_of(NOW + 1, "a@b", "torn", {"starred": True})
    folder = own_folder(logdir)
    folder.mkdir(parents=True)
    for cut in range(len(torn)):
        path = folder / name_of(999_999_999)
        path.write_bytes(kept + torn[:cut])
        reader = opened(logdir)
        assert reader.runs.keys() == {"kept"}
        writer = Store(str(logdir))
        writer.change(["next"], {"note": "x"}, is_own=True)
        reader.refresh()
        assert reader.runs.keys() == opened(logdir).runs.keys() == {"kept", "next"}
        assert reader.problems == []
        [found] = own_files(logdir)
        assert found != path
        found.unlink()


KILLED = """
import os, signal
write = os.write
def half(descriptor, data):
    write(descriptor, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
store.change(["before"], {"starred": True}, is_own=True)
print("confirmed", flush=True)
os.write = half
store.change(["torn"], {"starred": True}, is_own=True)
"""
WRITER = """
import sys
for number in range(40):
    runs = [f"{sys.argv[1]}/{number}", "common"]
    store.change(runs, {"note": f"{sys.argv[1]} {number}"}, is_own=True)
    print(f"{sys.argv[1]}/{number}", flush=True)
"""


@pytest.mark.slow
def test_ten_writers_two_readers_and_a_kill(logdir: Path) -> None:
    """Whatever a writer confirmed is there, for readers that read all the time, and others."""
    start = f"from tbcore_notes.store import Store\nstore = Store({str(logdir)!r})\n"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", start + WRITER, f"w{n}"], stdout=subprocess.PIPE, text=True
        )
        for n in range(9)
    ]
    killed = subprocess.Popen([sys.executable, "-c", start + KILLED], stdout=subprocess.PIPE)
    readers, stopping = [opened(logdir), opened(logdir)], threading.Event()

    def read(reader: Store) -> None:
        while not stopping.is_set():
            reader.refresh()

    threads = [threading.Thread(target=read, args=[reader]) for reader in readers]
    for thread in threads:
        thread.start()
    confirmed = {"before"}
    for writer in writers:
        confirmed.update(writer.communicate(timeout=120)[0].split())
        assert writer.returncode == 0
    assert killed.communicate(timeout=60)[0] == b"confirmed\n"
    assert killed.returncode == -signal.SIGKILL
    stopping.set()
    for thread in threads:
        thread.join()
    later = opened(logdir)
    for reader in (*readers, later):
        reader.refresh()
        assert reader.runs.keys() == {*confirmed, "common"}
        assert reader.problems == []
        assert reader.runs == later.runs
    assert len(confirmed) == 9 * 40 + 1


def test_a_full_disk_is_an_error_and_costs_no_earlier_note(logdir: Path) -> None:
    """A limit for files makes the system write a part of a line, as a full disk does."""
    code = """
import resource, sys
from tbcore_notes.changes import NotesError
store.change(["kept"], {"note": "x" * 500}, is_own=True)
sys.dont_write_bytecode = True  # It would be cut off, too, and stay.
resource.setrlimit(resource.RLIMIT_FSIZE, (900, 5000))
try:
    store.change(["lost", "lost too"], {"note": "x" * 250}, is_own=True)
except NotesError as error:
    print(error)
assert store.runs.keys() == {"kept"}
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
store.change(["later"], {"note": "y"}, is_own=True)
"""
    done = in_process(logdir, code)
    assert done.stderr == ""
    assert done.stdout.startswith("the note cannot be kept: ")
    assert done.stdout.count("\n") == 1
    found = opened(logdir)
    assert found.runs.keys() == {"kept", "later"}
    assert found.problems == []


def test_a_directory_that_cannot_be_written_is_an_error_in_a_line(
    logdir: Path, opening: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is read all the same."""
    opened(logdir).change(["a"], {"starred": True}, is_own=True)
    opening(_read_only)
    found = opened(logdir)
    line = "the note cannot be kept: Read-only file system: /"
    with pytest.raises(NotesError, match=line):
        found.change(["a"], {"starred": False}, is_own=True)
    assert values(found) == {"a": {"starred": True}}
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null/x")
    with pytest.raises(NotesError, match="Not a directory: "):
        opened(logdir).change(["a"], {"starred": False}, is_own=True)


def _read_only(path: str, flags: int, open_file: Callable[[], int]) -> int:
    if flags & (os.O_WRONLY | os.O_RDWR):
        raise OSError(30, "Read-only file system", path)
    return open_file()


# -- files of any content --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["zeros", "lines", "false", pytest.param("records", marks=pytest.mark.release)]
)
def test_a_hundred_megabytes_of_rubbish(logdir: Path, kind: str) -> None:
    """They cost seconds, are reported in a line, and what else was noted is there."""
    piece = {
        "zeros": bytes(1 << 20),
        "lines": os.urandom(1 << 20),
        "false": b'{"t":1}\n' * (1 << 17),
        "records": line_of(NOW - 9, "a@b", "r", {"note": "x"}) * 10_000,
    }[kind]
    found = opened(logdir)
    found.change(["before"], {"starred": True}, is_own=True)
    rubbish = own_folder(logdir) / "rubbish.jsonl"
    with rubbish.open("wb") as file:
        for _ in range(100_000_000 // len(piece)):
            file.write(piece)
    found.change(["after"], {"starred": True}, is_own=True)
    began_at = time.process_time()
    again = opened(logdir)
    assert time.process_time() - began_at < 20
    assert {"before", "after"} <= found.runs.keys() == again.runs.keys()
    if kind != "records":
        assert len(again.problems) == 1
        assert str(rubbish) in again.problems[0]


def test_files_above_the_limit_are_left_out_the_largest_first(
    logdir: Path, limits: Callable[..., None]
) -> None:
    """And nothing more is added."""
    limits(files, MAX_BYTES=10_000)
    found = opened(logdir)
    found.change(["a"], {"starred": True}, is_own=True)
    line = line_of(NOW, "x@y", "b", {"note": "z"})
    (own_folder(logdir) / "0.jsonl").write_bytes(line * 200)
    again = opened(logdir)
    assert again.runs.keys() == {"a"}
    assert "left out: there are more than" in again.problems[0]
    with pytest.raises(NotesError, match="of notes"):
        again.change(["c"], {"starred": True}, is_own=True)


def test_a_file_that_is_replaced_is_read_again(logdir: Path) -> None:
    """As by `git checkout`: what is no longer there does not count, and its runs have changed."""
    folder = Path(logdir, *store.SHARED)
    folder.mkdir(parents=True)
    path = folder / "bob.jsonl"
    gone, stays = (line_of(NOW, "bob@b", run, {"note": "x"}) for run in ("gone", "stays"))
    path.write_bytes(gone + stays)
    found = opened(logdir)
    found.change(["own"], {"starred": True}, is_own=True)
    before = found.generation
    (folder / "new").write_bytes(stays)
    (folder / "new").replace(path)
    found.refresh()
    assert values(found) == {"own": {"starred": True}, "stays": {"note": "x"}}
    assert found.generations["gone"] == found.generation == before + 1
    assert found.generations["stays"] <= before
    path.unlink()
    found.refresh()
    assert values(found) == {"own": {"starred": True}}


def test_a_run_above_the_limit_is_refused_and_never_lost(
    logdir: Path, limits: Callable[..., None]
) -> None:
    """What others note through a server is left out from the limit on, so it is not confirmed."""
    limits(store, MAX_RUNS=2)
    found = opened(logdir)
    found.change(["a", "b"], {"starred": True}, is_own=False)
    with pytest.raises(NotesError, match="at most 2 runs"):
        found.change(["c"], {"starred": True}, is_own=False)
    found.change(["mine"], {"starred": True}, is_own=True)
    assert found.runs.keys() == {"a", "b", "mine"}


def test_nobody_sees_a_part_of_what_is_read_again(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that asks while all files are read again gets all notes, or those before."""
    found = opened(logdir)
    found.change(["gone"], {"starred": True}, is_own=True)
    own_files(logdir)[0].unlink()
    opened(logdir).change(["a"], {"starred": True}, is_own=True)
    opened(logdir).change(["b"], {"starred": True}, is_own=True)
    is_reading, goes_on = threading.Event(), threading.Event()
    forget = files.Directory.forget

    def slow(directory: files.Directory) -> None:
        is_reading.set()
        assert goes_on.wait(10)
        forget(directory)

    monkeypatch.setattr(files.Directory, "forget", slow)
    thread = threading.Thread(target=found.refresh)
    thread.start()
    assert is_reading.wait(10)
    threading.Timer(0.2, goes_on.set).start()
    assert {run for run, *_ in found.all()} == {"a", "b"}
    thread.join()
    records = found.runs["a"]
    found.change(["a"], {"note": "x"}, is_own=True)
    assert records.keys() == {"starred"}  # A thread that goes through it is not disturbed.


# -- what others wrote -----------------------------------------------------------------------------


def test_a_shared_copy_is_read_by_others_and_is_never_this_users_own(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says who wrote it; what is noted later replaces it for both."""
    mine = opened(logdir)
    mine.change(["a"], {"archived": True, "note": "mine"}, is_own=True)
    mine.change(["a"], {"note": "newer"}, is_own=True)
    mine.change(["web"], {"starred": True}, is_own=False)
    path, count, _, num_of_server = mine.share()
    assert Path(str(path)).parent == Path(logdir, ".tbcore", "notes")
    assert (count, num_of_server) == (1, 1)
    mine.refresh()
    assert mine.runs["a"]["archived"].is_own

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    other = opened(logdir)
    assert values(other) == {"a": {"archived": True, "note": "newer"}}
    assert other.archived == {}
    assert other.runs["a"]["note"].by == files.author()
    other.change(["a"], {"note": "theirs"}, is_own=True)
    other.share()
    mine.refresh()
    assert value_of(mine.runs["a"], "note") == "theirs"
    assert len(list(Path(path).parent.iterdir())) == 2
    mine.share()
    assert value_of(opened(logdir).runs["a"], "note") == "theirs"


def test_whether_a_run_is_archived_is_not_decided_by_copies(logdir: Path) -> None:
    """What was put away or brought back here stays so, whatever others share, before or later."""
    folder = Path(logdir, *store.SHARED)
    folder.mkdir(parents=True)

    def bob(at: int, run: str, value: bool) -> None:
        with (folder / "bob.jsonl").open("ab") as file:
            file.write(line_of(at, "bob@far", run, {"archived": value}))

    ahead = time.time_ns() // 1000 + 3_600_000_000
    for run in ("mine", "back", "theirs", "server"):
        bob(ahead, run, run != "mine")
    found = opened(logdir)
    found.change(["mine"], {"archived": True}, is_own=True)
    found.change(["back"], {"archived": False}, is_own=True)
    # Of this user's own and that of others through this user's server, the last one counts.
    found.change(["server"], {"archived": True}, is_own=True)
    found.change(["server"], {"archived": False}, is_own=False)
    bob(ahead + 1, "back", True)
    expected = {"mine": True, "back": False, "theirs": True, "server": False}
    found.refresh()
    for reader in (found, opened(logdir)):
        assert {r: f["archived"].value for r, f in reader.runs.items()} == expected
        assert {r: f.value for r, f in reader.archived_last.items()} == {
            "mine": False, "back": True, "theirs": True, "server": True,
        }  # fmt: skip


def test_a_clock_that_is_ahead_does_not_date_when_a_run_was_archived(logdir: Path) -> None:
    """That decides which files a command names; so no copy may move it."""
    folder = Path(logdir, *store.SHARED)
    folder.mkdir(parents=True)
    ahead = time.time_ns() // 1000 + 80_000_000_000
    fields = {"archived": True, "starred": False, "note": "x"}
    (folder / "bob.jsonl").write_bytes(line_of(ahead, "bob@far", "a", fields))
    found = opened(logdir)
    found.change(["a"], {"starred": True}, is_own=True)
    found.change(["a"], {"note": "y", "archived": True}, is_own=True)
    assert found.archived["a"].time < time.time_ns() // 1000
    assert values(found)["a"] == {"archived": True, "starred": True, "note": "y"}


def test_nothing_is_shared_through_a_link(logdir: Path, tmp_path: Path) -> None:
    """A downloaded log directory may have one that leads anywhere."""
    (tmp_path / "elsewhere").mkdir()
    (logdir / ".tbcore").symlink_to(tmp_path / "elsewhere")
    found = opened(logdir)
    found.change(["a"], {"starred": True}, is_own=True)
    with pytest.raises(NotesError, match="the notes cannot be shared: a link in place of"):
        found.share()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_hostile_log_directory_changes_nothing_of_this_users_own(
    logdir: Path, tmp_path: Path, limits: Callable[..., None]
) -> None:
    """Not with this user's name, a time in the future, links, pipes, or more runs than allowed."""
    limits(store, MAX_RUNS=50)
    folder = Path(logdir, *store.SHARED)
    folder.mkdir(parents=True)
    me = files.author()
    future = NOW + 2 * 86_400_000_000
    (folder / f"{me}-00000000-1-ab.jsonl").write_bytes(
        line_of(NOW, me, "a", {"archived": True})
        + line_of(future, me, "a", {"note": "from the future"})
        + line_of(2**53 - 1, me, "a", {"starred": True})
        + b'{"t":1e300,"by":"x","run":"a","set":{"starred":true}}\n'
        + b'{"t":1,"by":"\\u001b[31m","run":"a","set":{"starred":true}}\n'
        + b'{"t":1,"by":"x","run":"a","is_own":true,"set":{"archived":true}}\n'
        + b'{"t":1,"by":"x","run":7,"set":{"archived":true}}\n'
        + b'{"t":1,"by":"x","run":"a","set":' + b'[' * 5000 + b"}\n"
        + b"".join(line_of(NOW, "x@y", f"many{n}", {"note": "x"}) for n in range(100))
    )  # fmt: skip
    (tmp_path / "secret").write_bytes(line_of(NOW, "root@x", "secret", {"note": "x"}))
    (folder / "link.jsonl").symlink_to(tmp_path / "secret")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "fifo.jsonl")
    found = opened(logdir)
    assert found.archived == {}
    assert "secret" not in found.runs
    assert values(found)["a"] == {"archived": True}
    assert len(found.runs) == 50
    assert len(found.problems) == 2
    assert all(line.isprintable() for line in found.problems)
    found.change(["mine", "a"], {"archived": False, "note": "here"}, is_own=True)
    again = opened(logdir)
    assert values(again)["mine"] == values(again)["a"] == {"archived": False, "note": "here"}
    assert not again.archived["a"].value


def test_a_user_without_a_home_has_no_place_for_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a number for a user: a server says so, and starts."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert Store("runs").fault() == (
        "notes cannot be kept, since this user has no home; set XDG_DATA_HOME"
    )


def test_ends_of_lines_are_newlines_also_in_older_files(logdir: Path) -> None:
    """Nothing that was kept is lost, and the files need not change."""
    store = opened(logdir)
    store.change(["a"], {"note": "x\r\ny\rz"}, is_own=True)
    [file] = Path(store.own_directories[0].path).iterdir()
    file.write_bytes(file.read_bytes().replace(rb"x\ny\nz", rb"x\r\ny\rz"))
    assert rb"\r" in file.read_bytes()
    assert opened(logdir).runs["a"]["note"].value == "x\ny\nz"
