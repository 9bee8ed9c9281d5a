"""Scans: which files are event files, how runs are named, and what is listed again."""

from __future__ import annotations

import os
import random
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from disk import Clock, Disk

import tbcore.eventfiles.local_disk as local_disk
from tbcore.eventfiles.logdir import Logdir, LogdirSpec, Scan, parse_logdir_spec
from tbcore.eventfiles.storage import EventFile, Found, Pacing, Storage
from tbcore.text import one_line, readable


def touch(path: Path, size: int = 0) -> Path:
    """Writes a file of `size` bytes, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def scan_all(*specs: Path | tuple[str, Path]) -> Scan:
    """Scans these directories for the first time; a tuple is a name and a directory."""
    return Logdir(
        [
            LogdirSpec(spec[0], str(spec[1]))
            if isinstance(spec, tuple)
            else LogdirSpec(None, str(spec))
            for spec in specs
        ]
    ).scan()


def names(found: Scan, root: Path) -> dict[str, list[str]]:
    """Run to the paths of its files relative to the root, sorted by run."""
    return {
        run: [os.path.relpath(file.path, root) for file in files]
        for run, files in sorted(found.runs.items())
    }


# -- one directory -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_event_file"),
    [
        ("events.out.tfevents.1700000000.host", True),
        ("events.out.tfevents.1700000000.host.1.2.v2", True),
        ("foo_tfevents_bar.txt", True),
        ("x.profile-empty.tfevents", True),
        ("tfevents", True),
        (".tfevents", True),
        ("events.out", False),
        ("tfevent", False),
        ("TFEVENTS", False),
    ],
)
def test_an_event_file_has_tfevents_in_its_name(
    tmp_path: Path, name: str, is_event_file: bool
) -> None:
    """The rest of its name does not matter."""
    touch(tmp_path / name)
    assert names(scan_all(tmp_path), tmp_path) == ({".": [name]} if is_event_file else {})


def test_a_run_is_a_directory_that_directly_holds_an_event_file(tmp_path: Path) -> None:
    """At any depth, and in hidden directories. A directory is never an event file."""
    for name in (
        "a.tfevents",
        "train/b.tfevents",
        "train/deep/er/c.tfevents",
        ".hidden/d.tfevents",
    ):
        touch(tmp_path / name)
    touch(tmp_path / "x.tfevents.y" / "e.tfevents")
    touch(tmp_path / "plugins" / "profile" / "f.tfevents")
    (tmp_path / "empty.tfevents").mkdir()
    touch(tmp_path / "notes" / "readme.txt")
    found = scan_all(tmp_path)
    assert names(found, tmp_path) == {
        ".": ["a.tfevents"],
        ".hidden": [".hidden/d.tfevents"],
        "plugins/profile": ["plugins/profile/f.tfevents"],
        "train": ["train/b.tfevents"],
        "train/deep/er": ["train/deep/er/c.tfevents"],
        "x.tfevents.y": ["x.tfevents.y/e.tfevents"],
    }
    assert (found.num_files, found.num_directories) == (6, 10)
    assert found.problems == found.missing == found.unlisted == []


def test_files_of_a_run_are_in_the_order_of_their_paths(tmp_path: Path) -> None:
    """Paths are compared as text: 10 comes before 9."""
    for name in ("e.tfevents.9.h", "e.tfevents.10.h", "a.tfevents"):
        touch(tmp_path / name)
    assert names(scan_all(tmp_path), tmp_path)["."] == [
        "a.tfevents",
        "e.tfevents.10.h",
        "e.tfevents.9.h",
    ]


def test_a_file_has_the_fields_of_stat_that_show_changes(tmp_path: Path) -> None:
    """Device and inode as its version, size, and times of modification and status change."""
    path = touch(tmp_path / "a.tfevents", 123)
    os.utime(path, ns=(5, 1_234_567_890_123_456_789))
    status = path.stat()
    assert scan_all(tmp_path).runs["."] == [
        EventFile(
            str(path),
            f"{status.st_dev:x}-{status.st_ino:x}",
            123,
            1_234_567_890_123_456_789,
            status.st_ctime_ns,
        )
    ]


# -- links, special files and errors -----------------------------------------------------------


def test_links_are_followed(tmp_path: Path) -> None:
    """Links to files and to directories. A directory may be two runs."""
    touch(tmp_path / "elsewhere" / "run" / "a.tfevents")
    logdir = tmp_path / "logdir"
    touch(logdir / "best" / "b.tfevents")
    (logdir / "linked").symlink_to(tmp_path / "elsewhere")
    (logdir / "again").symlink_to("best")
    (logdir / "file.tfevents").symlink_to(tmp_path / "elsewhere" / "run" / "a.tfevents")
    assert sorted(scan_all(logdir).runs) == [".", "again", "best", "linked/run"]


def test_circular_links_are_detected(tmp_path: Path) -> None:
    """Links to their own directory, to one above it or above the logdir, and to each other."""
    logdir = tmp_path / "logdir"
    touch(logdir / "a" / "a.tfevents")
    touch(logdir / "b" / "b.tfevents")
    (logdir / "a" / "here").symlink_to(".")
    (logdir / "a" / "up").symlink_to("..")
    (logdir / "a" / "outside").symlink_to(tmp_path)
    (logdir / "a" / "root").symlink_to("/")
    (logdir / "a" / "b").symlink_to("../b")
    (logdir / "b" / "a").symlink_to("../a")
    (logdir / "self").symlink_to("self")
    (logdir / "self.tfevents").symlink_to("self.tfevents")
    found = scan_all(logdir)
    assert sorted(found.runs) == ["a", "a/b", "b", "b/a"]
    assert found.problems == []


def test_directories_that_all_link_to_each_other_are_scanned_quickly(tmp_path: Path) -> None:
    """Twelve of them have a billion paths."""
    for i in range(12):
        touch(tmp_path / str(i) / "x.tfevents")
        for j in range(12):
            if i != j:
                (tmp_path / str(i) / f"to{j}").symlink_to(tmp_path / str(j))
    start = time.process_time()
    found = scan_all(tmp_path)
    assert time.process_time() - start < 2
    assert set(map(str, range(12))) <= set(found.runs)
    assert "links lead to this directory in more than" in found.problems[0]


def test_only_regular_files_count(tmp_path: Path) -> None:
    """Sockets, FIFOs, devices and broken links are ignored: opening a FIFO would block."""
    touch(tmp_path / "good.tfevents")
    os.mkfifo(tmp_path / "fifo.tfevents")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.tfevents"))
    (tmp_path / "device.tfevents").symlink_to("/dev/zero")
    (tmp_path / "gone.tfevents").symlink_to("nowhere")
    (tmp_path / "gone").symlink_to("nowhere")
    found = scan_all(tmp_path)
    assert names(found, tmp_path) == {".": ["good.tfevents"]}
    assert found.problems == []


def test_only_the_directory_that_cannot_be_listed_is_left_out(tmp_path: Path, disk: Disk) -> None:
    """It is reported in one line, and its siblings are found."""
    touch(tmp_path / "good" / "a.tfevents")
    touch(tmp_path / "bad\n" / "b.tfevents")
    disk.refuse(tmp_path / "bad\n")
    found = scan_all(tmp_path)
    assert names(found, tmp_path) == {"good": ["good/a.tfevents"]}
    assert found.problems == [f"cannot list {tmp_path}/bad\\n: Permission denied"]
    assert found.unlisted == [f"{tmp_path}/bad\n"]
    assert found.missing == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list any directory")
def test_a_directory_without_permissions_is_unlisted(tmp_path: Path) -> None:
    """Without the permission to list it, or to query the status of its files."""
    touch(tmp_path / "locked" / "a.tfevents")
    touch(tmp_path / "names only" / "a.tfevents")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "names only").chmod(0o444)
    found = scan_all(tmp_path)
    (tmp_path / "locked").chmod(0o755)
    (tmp_path / "names only").chmod(0o755)
    assert found.runs == {}
    assert len(found.problems) == len(found.unlisted) == 2


# -- names -------------------------------------------------------------------------------------


def test_names_of_any_bytes(tmp_path: Path) -> None:
    r"""Undecodable bytes become `\xNN`; if that is the name of another run, `_2` is added."""
    for name in ("ä/日本", "with space", "a\nb", '<img src=x>"', "%2e", "\\xff"):
        touch(tmp_path / name / "a.tfevents")
    for raw in (b"\xff", b"\xc3\xa4\xe9"):
        os.mkdir(os.path.join(os.fsencode(tmp_path), raw))
        path = os.path.join(os.fsencode(tmp_path), raw, b"a.tfevents")
        with open(path, "wb"):
            pass
    found = scan_all(tmp_path)
    assert sorted(found.runs) == sorted(
        ["ä/日本", "with space", "a\nb", '<img src=x>"', "%2e", "\\xff", "\\xff_2", "ä\\xe9"]
    )
    assert found.runs["\\xff"][0].path == str(tmp_path / "\\xff" / "a.tfevents")
    assert os.path.exists(found.runs["\\xff_2"][0].path)
    for run in found.runs:
        assert run.encode()


def test_text_for_logs_is_one_line() -> None:
    """It can be encoded, whatever the name of a file."""
    assert one_line("plain ä") == "plain ä"
    assert one_line("\udc80 \ud800 \x1b") == r"\x80 \ud800 \x1b"
    assert one_line("a\nb\x1b[31m\udcff\u2028") == "a\\nb\\x1b[31m\\xff\\u2028"
    assert readable("a\udcffb") == "a\\xffb"


# -- several directories -----------------------------------------------------------------------


def first_paths(found: Scan, root: Path) -> dict[str, str]:
    """Run to the path of its first file relative to the root."""
    return {run: os.path.relpath(files[0].path, root) for run, files in found.runs.items()}


def test_runs_of_a_named_directory_begin_with_its_name(tmp_path: Path) -> None:
    """The directory itself is the run `name/.`, as in TensorBoard."""
    touch(tmp_path / "logs" / "a.tfevents")
    touch(tmp_path / "logs" / "train" / "b.tfevents")
    assert sorted(scan_all(("n", tmp_path / "logs")).runs) == ["n/.", "n/train"]


def test_unnamed_directories_with_the_same_runs(tmp_path: Path) -> None:
    """Runs of the first one keep their names. Others get a prefix, or a number if that exists."""
    paths = [tmp_path / parent / "logs" for parent in ("x", "y", "z")]
    for path in paths:
        touch(path / "a.tfevents")
        touch(path / "train" / "a.tfevents")
    touch(paths[1] / "own" / "a.tfevents")
    assert first_paths(scan_all(*paths), tmp_path) == {
        ".": "x/logs/a.tfevents",
        "train": "x/logs/train/a.tfevents",
        "logs/.": "y/logs/a.tfevents",
        "own": "y/logs/own/a.tfevents",
        "logs/train": "y/logs/train/a.tfevents",
        "logs/._2": "z/logs/a.tfevents",
        "logs/train_2": "z/logs/train/a.tfevents",
    }


def test_the_same_directory_given_twice_is_scanned_once(tmp_path: Path) -> None:
    """With several names, it is scanned once for each."""
    touch(tmp_path / "train" / "a.tfevents")
    assert sorted(scan_all(tmp_path, tmp_path).runs) == ["train"]
    assert sorted(scan_all(("a", tmp_path), ("b", tmp_path), ("a", tmp_path)).runs) == [
        "a/train",
        "b/train",
    ]


def test_a_directory_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    """That is not a problem: it may be created later."""
    touch(tmp_path / "here" / "a.tfevents")
    found = scan_all(tmp_path / "not yet", tmp_path / "here")
    assert found.missing == [str(tmp_path / "not yet")]
    assert sorted(found.runs) == ["."]
    assert found.problems == []


def test_a_file_in_place_of_a_directory_is_a_problem(tmp_path: Path) -> None:
    """It is reported, and has no runs."""
    path = touch(tmp_path / "a.tfevents")
    found = scan_all(path)
    assert found.runs == {}
    assert found.problems == [f"cannot list {path}: it is not a directory"]


HOME = os.path.realpath(os.path.expanduser("~"))
HERE = os.path.realpath(".")


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("/a/b", [(None, "/a/b")]),
        ("n:/a/b,/c,m:rel", [("n", "/a/b"), (None, "/c"), ("m", f"{HERE}/rel")]),
        ("/foo:bar/baz", [(None, "/foo:bar/baz")]),
        ("n:gs://b/x:y", [("n", "gs://b/x:y")]),
        ("gs://b/x:y", [(None, "gs://b/x:y")]),
        ("n:/p:q", [("n", "/p:q")]),
        (" n:/a", [(" n", "/a")]),
        ("n:~/x", [("n", f"{HOME}/x")]),
        ("~/x", [(None, f"{HOME}/x")]),
        ("a,,b", [(None, f"{HERE}/a"), (None, f"{HERE}/b")]),
        (":/a", [(None, "/a")]),
        ("", []),
        (",", []),
        ("/a/../b/.", [(None, "/b")]),
    ],
)
def test_the_syntax_of_several_directories(
    text: str, specs: Sequence[tuple[str | None, str]]
) -> None:
    """The same as in TensorBoard, except that empty items are skipped."""
    assert [(spec.name, spec.path) for spec in parse_logdir_spec(text)] == list(specs)


# -- repeated scans ----------------------------------------------------------------------------


class Scans(Logdir):
    """Scans of a directory with a clock that the test sets, and the directories that they list."""

    def __init__(self, specs: Sequence[LogdirSpec], disk: Disk, clock: Clock) -> None:
        super().__init__(specs)
        self.disk = disk
        self.clock = clock
        clock.rules(local_disk)

    def listed(self) -> list[str]:
        """The directories that one scan lists, sorted."""
        self.disk.listed.clear()
        self.scan()
        return sorted(self.disk.listed)

    def pass_time(self) -> None:
        """Advances the clock until a directory is stable, and waits for that of the file system."""
        self.clock.advance(3)
        time.sleep(0.03)

    def scan_until_stable(self) -> None:
        """Scans until directories that do not change are not listed any more."""
        for _ in range(3):
            self.scan()
            self.pass_time()
        self.scan()


@pytest.fixture
def scans(tmp_path: Path, disk: Disk, clock: Clock) -> Scans:
    """Scans of `tmp_path`."""
    return Scans([LogdirSpec(None, str(tmp_path))], disk, clock)


@pytest.mark.skipif(os.name == "nt", reason="on Windows, every directory is listed each time")
def test_only_directories_that_changed_are_listed_again(tmp_path: Path, scans: Scans) -> None:
    """Growing files do not change their directory."""
    run, other = tmp_path / "run", tmp_path / "other"
    touch(run / "a.tfevents")
    touch(other / "a.tfevents")
    assert scans.listed() == scans.listed() == [f"{tmp_path}", f"{other}", f"{run}"]
    scans.scan_until_stable()
    assert scans.listed() == []
    touch(run / "a.tfevents", 5)
    assert scans.listed() == []
    assert scans.scan().runs["run"][0].size == 5
    touch(run / "b.tfevents")
    assert scans.listed() == [f"{run}"]
    assert len(scans.scan().runs["run"]) == 2
    # The target of a link may change without changing the directory.
    (other / "link").symlink_to(tmp_path / "nothing yet")
    scans.scan_until_stable()
    assert scans.listed() == [f"{other}"]
    touch(tmp_path / "nothing yet" / "c.tfevents")
    assert "other/link" in scans.scan().runs


@pytest.mark.skipif(os.name == "nt", reason="on Windows, every directory is listed each time")
def test_known_files_beside_event_files_are_counted_by_each_scan(
    tmp_path: Path, disk: Disk, clock: Clock
) -> None:
    """Their directories are listed only when they change, and nested log directories count once."""
    profile = tmp_path / "a" / "plugins" / "profile"
    example = touch(profile / "1" / "host.trace.json.gz")
    for name in ("1/host.xplane.pb", "2/host.xplane.pb"):
        touch(profile / name)
    touch(tmp_path / "a" / "model.pt")
    touch(tmp_path / "a" / "events.out.tfevents.1.profile-empty")
    specs = [LogdirSpec(None, str(tmp_path)), LogdirSpec("b", str(tmp_path / "a"))]
    scans = Scans(specs, disk, clock)
    scans.scan_until_stable()
    assert scans.listed() == []
    [found] = scans.scan().other_files
    assert found[:3] == ("profile", 3, str(example))
    dump = touch(tmp_path / "tfdbg_events.1.host.metadata")
    debugger, found = scans.scan().other_files
    assert debugger[:3] == ("debugger", 1, str(dump))
    shutil.rmtree(profile)
    assert [files.kind for files in scans.scan().other_files] == ["debugger"]


@pytest.mark.skipif(os.name == "nt", reason="on Windows, every directory is listed each time")
def test_a_directory_that_does_not_update_its_mtime_is_listed_every_time(
    tmp_path: Path, scans: Scans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is recognized within a minute after a missed change. Mounted buckets behave like this."""
    touch(tmp_path / "run" / "a.tfevents")
    real = local_disk._stamp
    monkeypatch.setattr(local_disk, "_stamp", lambda path: (*real(path)[:2], 0, 0))
    scans.scan_until_stable()
    touch(tmp_path / "run" / "b.tfevents")
    assert len(scans.scan().runs["run"]) == 1
    scans.clock.advance(60)
    for count in (2, 3):
        assert len(scans.scan().runs["run"]) == count
        scans.scan_until_stable()
        touch(tmp_path / "run" / f"{count}.tfevents")
    assert scans.listed() == [str(tmp_path), str(tmp_path / "run")]


def test_a_directory_that_changed_recently_is_listed_again(tmp_path: Path, scans: Scans) -> None:
    """Two changes within one tick of the clock have the same mtime."""
    touch(tmp_path / "a.tfevents")
    for _ in range(5):
        assert scans.listed() == [str(tmp_path)]


def test_a_repeated_scan_has_the_same_result_as_a_first_one(
    tmp_path: Path, disk: Disk, clock: Clock
) -> None:
    """After any changes, and if one of the directories contains another one."""
    rng = random.Random(1)
    root, spare = tmp_path / "logs", tmp_path / "spare"
    for number in range(6):
        touch(root / f"d{number % 3}" / f"e{number}" / f"{number}.tfevents")
    spare.mkdir()
    specs = [LogdirSpec(None, str(root)), LogdirSpec("other", str(root / "d1"))]
    scans = Scans(specs, disk, clock)
    num_listed = num_directories = 0
    for number in range(60):
        directories = [Path(path) for path, *_ in os.walk(root)]
        files = sorted(root.rglob("*.tfevents"))
        directory, file = rng.choice(directories), rng.choice(files) if files else None
        match rng.randrange(9):
            case 0:
                touch(directory / f"new{number}.tfevents", number)
            case 1 | 2 if file is not None:
                touch(file, number)
            case 3 if file is not None:
                file.unlink()
            case 4:
                touch(directory / f"deep{number}" / "er" / "a.tfevents")
            case 5 if directory != root and not directory.is_symlink():
                shutil.move(directory, spare / str(number))
            case 6:
                for old in sorted(spare.iterdir())[:1]:
                    old.rename(directory / old.name)
            case 7 if number % 3 == 0:
                (directory / f"link{number}").symlink_to(rng.choice(directories))
            case 8 if file is not None:
                touch(spare / "one", number).rename(file)
        for _ in range(2):
            disk.listed.clear()
            found = scans.scan()
            num_listed += len(disk.listed)
            first = Logdir(specs).scan()
            num_directories += first.num_directories
            assert list(found.runs.items()) == list(first.runs.items())
            assert found.num_directories == first.num_directories
            assert found.num_files == first.num_files
            assert sorted(found.problems) == sorted(first.problems)
        scans.pass_time()
    assert 0 < num_listed < num_directories


def test_an_error_of_one_storage_leaves_the_other_directories(
    tmp_path: Path, mount: Callable[[str, Storage], None]
) -> None:
    """Extensions bring storages, and may have bugs."""

    class BrokenRoot(local_disk.LocalRoot):
        def scan(self) -> Found:
            raise RuntimeError("a\nbug")

    class Broken(local_disk.LocalDisk):
        def root(self, address: str, pacing: Pacing) -> BrokenRoot:
            return BrokenRoot(address, pacing)

    touch(tmp_path / "b" / "a.tfevents")
    mount("broken", Broken())

    found = Logdir([LogdirSpec("a", "broken://a"), LogdirSpec("b", str(tmp_path))]).scan()

    assert list(found.runs) == ["b/b"]
    assert found.problems == ["cannot list broken://a: RuntimeError: a bug"]
    assert found.unlisted == ["broken://a"]


# -- many files --------------------------------------------------------------------------------


def test_ten_thousand_files_take_little_time(tmp_path: Path) -> None:
    """There is one call of stat for each file, and none for a directory.

    A scan takes 1.6 times as long as the system calls alone.
    """
    for directory in range(500):
        (tmp_path / f"run{directory}").mkdir()
        for number in range(20):
            (tmp_path / f"run{directory}" / f"e.tfevents.{number}").touch()
    scan_all(tmp_path)
    times, system_times = [], []
    for _ in range(3):
        start = time.process_time()
        found = scan_all(tmp_path)
        times.append(time.process_time() - start)
        start = time.process_time()
        for folder in os.listdir(tmp_path):
            for entry in os.scandir(tmp_path / folder):
                os.stat(entry.path)
        system_times.append(time.process_time() - start)
    assert found.num_files == 10_000
    assert min(times) < 5 * min(system_times)
