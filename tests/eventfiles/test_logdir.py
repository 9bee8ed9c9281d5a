"""Which files are event files, and what their runs are called."""

from __future__ import annotations

import os
import random
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tbcore.eventfiles.logdir as logdir_module
from tbcore.eventfiles.logdir import (
    EventFile,
    Logdir,
    LogdirSpec,
    Scan,
    one_line,
    parse_logdir_spec,
    readable,
    scan,
)


def touch(path: Path, size: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def look(*specs: Path | tuple[str, Path]) -> Scan:
    return scan(
        [
            LogdirSpec(spec[0], str(spec[1]))
            if isinstance(spec, tuple)
            else LogdirSpec(None, str(spec))
            for spec in specs
        ]
    )


def names(found: Scan, root: Path) -> dict[str, list[str]]:
    """Run to the paths of its files below the root, sorted by run."""
    return {
        run: [os.path.relpath(file.path, root) for file in files]
        for run, files in sorted(found.runs.items())
    }


# -- one directory -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_one"),
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
def test_an_event_file_has_tfevents_in_its_name(tmp_path: Path, name: str, is_one: bool) -> None:
    """Nothing else is asked."""
    touch(tmp_path / name)
    assert names(look(tmp_path), tmp_path) == ({".": [name]} if is_one else {})


def test_a_run_is_a_directory_that_directly_holds_an_event_file(tmp_path: Path) -> None:
    """At any depth, in hidden directories too; directories are never files."""
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
    found = look(tmp_path)
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
    """As text: 10 comes before 9."""
    for name in ("e.tfevents.9.h", "e.tfevents.10.h", "a.tfevents"):
        touch(tmp_path / name)
    assert names(look(tmp_path), tmp_path)["."] == [
        "a.tfevents",
        "e.tfevents.10.h",
        "e.tfevents.9.h",
    ]


def test_a_file_comes_with_what_tells_whether_it_changed(tmp_path: Path) -> None:
    """As one call to stat gives it."""
    path = touch(tmp_path / "a.tfevents", 123)
    os.utime(path, ns=(5, 1_234_567_890_123_456_789))
    status = path.stat()
    assert look(tmp_path).runs["."] == [
        EventFile(
            str(path),
            status.st_dev,
            status.st_ino,
            123,
            1_234_567_890_123_456_789,
            status.st_ctime_ns,
        )
    ]


# -- what may lie about ------------------------------------------------------------------------


def test_links_are_followed(tmp_path: Path) -> None:
    """To files and directories; a directory may have two names."""
    touch(tmp_path / "elsewhere" / "run" / "a.tfevents")
    logdir = tmp_path / "logdir"
    touch(logdir / "best" / "b.tfevents")
    (logdir / "linked").symlink_to(tmp_path / "elsewhere")
    (logdir / "again").symlink_to("best")
    (logdir / "file.tfevents").symlink_to(tmp_path / "elsewhere" / "run" / "a.tfevents")
    assert sorted(look(logdir).runs) == [".", "again", "best", "linked/run"]


def test_circles_end(tmp_path: Path) -> None:
    """Links to where they are, to above it, to above the logdir, and to each other."""
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
    found = look(logdir)
    assert sorted(found.runs) == ["a", "a/b", "b", "b/a"]
    assert found.problems == []


def test_directories_that_all_link_to_each_other_end_soon(tmp_path: Path) -> None:
    """Twelve of them have more paths than anyone can walk."""
    for i in range(12):
        touch(tmp_path / str(i) / "x.tfevents")
        for j in range(12):
            if i != j:
                (tmp_path / str(i) / f"to{j}").symlink_to(tmp_path / str(j))
    start = time.process_time()
    found = look(tmp_path)
    assert time.process_time() - start < 2
    assert set(map(str, range(12))) <= set(found.runs)
    assert "links lead to this directory in more than" in found.problems[0]


def test_only_regular_files_count(tmp_path: Path) -> None:
    """A FIFO would hang its reader; sockets, devices and links to nowhere are no logs either."""
    touch(tmp_path / "good.tfevents")
    os.mkfifo(tmp_path / "fifo.tfevents")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.tfevents"))
    (tmp_path / "device.tfevents").symlink_to("/dev/zero")
    (tmp_path / "gone.tfevents").symlink_to("nowhere")
    (tmp_path / "gone").symlink_to("nowhere")
    found = look(tmp_path)
    assert names(found, tmp_path) == {".": ["good.tfevents"]}
    assert found.problems == []


class DeniedScandir:
    """Stands for a file system that refuses: root, who runs tests in containers, may do all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, denied: Path) -> None:
        self.denied = str(denied)
        self.scandir = os.scandir
        monkeypatch.setattr(os, "scandir", self)

    def __call__(self, path: str) -> object:
        if path == self.denied:
            raise PermissionError(13, "Permission denied", path)
        return self.scandir(path)


def test_a_directory_that_may_not_be_listed_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told in one line, and its neighbours are found."""
    touch(tmp_path / "good" / "a.tfevents")
    touch(tmp_path / "bad\n" / "b.tfevents")
    DeniedScandir(monkeypatch, tmp_path / "bad\n")
    found = look(tmp_path)
    assert names(found, tmp_path) == {"good": ["good/a.tfevents"]}
    assert found.problems == [f"cannot list {tmp_path}/bad\\n: Permission denied"]
    assert found.unlisted == [f"{tmp_path}/bad\n"]
    assert found.missing == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list any directory")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    """To list it, or to look at the files in it."""
    touch(tmp_path / "locked" / "a.tfevents")
    touch(tmp_path / "names only" / "a.tfevents")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "names only").chmod(0o444)
    found = look(tmp_path)
    (tmp_path / "locked").chmod(0o755)
    (tmp_path / "names only").chmod(0o755)
    assert found.runs == {}
    assert len(found.problems) == len(found.unlisted) == 2


# -- names -------------------------------------------------------------------------------------


def test_names_of_any_bytes(tmp_path: Path) -> None:
    r"""Undecodable bytes as `\xNN`; where that is the name of another run, `_2` is added."""
    for name in ("ä/日本", "with space", "a\nb", '<img src=x>"', "%2e", "\\xff"):
        touch(tmp_path / name / "a.tfevents")
    for raw in (b"\xff", b"\xc3\xa4\xe9"):
        os.mkdir(os.path.join(os.fsencode(tmp_path), raw))
        path = os.path.join(os.fsencode(tmp_path), raw, b"a.tfevents")
        with open(path, "wb"):
            pass
    found = look(tmp_path)
    assert sorted(found.runs) == sorted(
        ["ä/日本", "with space", "a\nb", '<img src=x>"', "%2e", "\\xff", "\\xff_2", "ä\\xe9"]
    )
    assert found.runs["\\xff"][0].path == str(tmp_path / "\\xff" / "a.tfevents")
    assert os.path.exists(found.runs["\\xff_2"][0].path)
    for run in found.runs:
        assert run.encode()


def test_text_for_logs_is_one_line() -> None:
    """And can be encoded, whatever a file is called."""
    assert one_line("plain ä") == "plain ä"
    assert one_line("\udc80 \ud800 \x1b") == r"\x80 \ud800 \x1b"
    assert one_line("a\nb\x1b[31m\udcff\u2028") == "a\\nb\\x1b[31m\\xff\\u2028"
    assert readable("a\udcffb") == "a\\xffb"


# -- several directories -----------------------------------------------------------------------


def runs_by_path(found: Scan, root: Path) -> dict[str, str]:
    return {run: os.path.relpath(files[0].path, root) for run, files in found.runs.items()}


def test_a_named_directory_gives_its_name_to_its_runs(tmp_path: Path) -> None:
    """Its own files are the run `name/.`, as TensorBoard calls it."""
    touch(tmp_path / "logs" / "a.tfevents")
    touch(tmp_path / "logs" / "train" / "b.tfevents")
    assert sorted(look(("n", tmp_path / "logs")).runs) == ["n/.", "n/train"]


def test_unnamed_directories_with_the_same_runs(tmp_path: Path) -> None:
    """The first has the plain names, others the directory's name before them, then numbers."""
    paths = [tmp_path / parent / "logs" for parent in ("x", "y", "z")]
    for path in paths:
        touch(path / "a.tfevents")
        touch(path / "train" / "a.tfevents")
    touch(paths[1] / "own" / "a.tfevents")
    assert runs_by_path(look(*paths), tmp_path) == {
        ".": "x/logs/a.tfevents",
        "train": "x/logs/train/a.tfevents",
        "logs/.": "y/logs/a.tfevents",
        "own": "y/logs/own/a.tfevents",
        "logs/train": "y/logs/train/a.tfevents",
        "logs/._2": "z/logs/a.tfevents",
        "logs/train_2": "z/logs/train/a.tfevents",
    }


def test_the_same_directory_given_twice_is_one(tmp_path: Path) -> None:
    """Under names it is there once for each."""
    touch(tmp_path / "train" / "a.tfevents")
    assert sorted(look(tmp_path, tmp_path).runs) == ["train"]
    assert sorted(look(("a", tmp_path), ("b", tmp_path), ("a", tmp_path)).runs) == [
        "a/train",
        "b/train",
    ]


def test_a_directory_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    """And no problem: it may be about to be made."""
    touch(tmp_path / "here" / "a.tfevents")
    found = look(tmp_path / "not yet", tmp_path / "here")
    assert found.missing == [str(tmp_path / "not yet")]
    assert sorted(found.runs) == ["."]
    assert found.problems == []


def test_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    """Is told, and costs nothing else."""
    path = touch(tmp_path / "a.tfevents")
    found = look(path)
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
def test_the_grammar_of_several_directories(
    text: str, specs: Sequence[tuple[str | None, str]]
) -> None:
    """As TensorBoard reads it, but for empty items, which are skipped."""
    assert [(spec.name, spec.path) for spec in parse_logdir_spec(text)] == list(specs)


# -- again and again ---------------------------------------------------------------------------


class Listed:
    """Which directories were listed, by the test's own clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.paths: list[str] = []
        self.scandir = os.scandir
        monkeypatch.setattr(os, "scandir", self)
        monkeypatch.setattr(logdir_module, "time", self)

    def monotonic(self) -> float:
        return self.now

    def __call__(self, path: str) -> os._ScandirIterator[str]:
        self.paths.append(path)
        return self.scandir(path)

    def by(self, logdir: Logdir) -> list[str]:
        """Those that one scan lists."""
        self.paths.clear()
        logdir.scan()
        return sorted(self.paths)

    def pass_time(self) -> None:
        """Enough for a directory to settle, and for the clock of a local file system."""
        self.now += 3.0
        time.sleep(0.03)

    def settle(self, logdir: Logdir) -> None:
        for _ in range(3):
            logdir.scan()
            self.pass_time()
        logdir.scan()


@pytest.mark.skipif(os.name == "nt", reason="there, every directory is listed each time")
def test_only_what_was_changed_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    touch(run / "a.tfevents")
    touch(other / "a.tfevents")
    listed, logdir = Listed(monkeypatch), Logdir([LogdirSpec(None, str(tmp_path))])
    assert listed.by(logdir) == listed.by(logdir) == [f"{tmp_path}", f"{other}", f"{run}"]
    listed.settle(logdir)
    assert listed.by(logdir) == []
    touch(run / "a.tfevents", 5)
    assert listed.by(logdir) == []
    assert logdir.scan().runs["run"][0].size == 5
    touch(run / "b.tfevents")
    assert listed.by(logdir) == [f"{run}"]
    assert len(logdir.scan().runs["run"]) == 2
    # What a link leads to changes without a sign of it.
    (other / "link").symlink_to(tmp_path / "nothing yet")
    listed.settle(logdir)
    assert listed.by(logdir) == [f"{other}"]
    touch(tmp_path / "nothing yet" / "c.tfevents")
    assert "other/link" in logdir.scan().runs


@pytest.mark.skipif(os.name == "nt", reason="there, every directory is listed each time")
def test_a_directory_that_does_not_tell_of_changes_is_listed_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it was seen, which takes a minute; buckets that are mounted as directories are so."""
    touch(tmp_path / "run" / "a.tfevents")
    real = logdir_module._stamp
    monkeypatch.setattr(logdir_module, "_stamp", lambda path: (*real(path)[:2], 0, 0))
    listed, logdir = Listed(monkeypatch), Logdir([LogdirSpec(None, str(tmp_path))])
    listed.settle(logdir)
    touch(tmp_path / "run" / "b.tfevents")
    assert len(logdir.scan().runs["run"]) == 1
    listed.now += 60
    for count in (2, 3):
        assert len(logdir.scan().runs["run"]) == count
        listed.settle(logdir)
        touch(tmp_path / "run" / f"{count}.tfevents")
    assert listed.by(logdir) == [str(tmp_path), str(tmp_path / "run")]


def test_a_directory_that_was_changed_just_now_may_change_again_without_a_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes can have one time."""
    touch(tmp_path / "a.tfevents")
    listed, logdir = Listed(monkeypatch), Logdir([LogdirSpec(None, str(tmp_path))])
    monkeypatch.setattr(logdir_module, "_STABLE_SECONDS", 3600.0)
    listed.settle(logdir)
    assert listed.by(logdir) == [str(tmp_path)]


def test_a_logdir_that_is_looked_at_again_is_as_if_it_were_seen_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens in it, and with directories that are in each other."""
    listed, rng = Listed(monkeypatch), random.Random(1)
    root, spare = tmp_path / "logs", tmp_path / "spare"
    for number in range(6):
        touch(root / f"d{number % 3}" / f"e{number}" / f"{number}.tfevents")
    spare.mkdir()
    specs = [LogdirSpec(None, str(root)), LogdirSpec("other", str(root / "d1"))]
    logdir = Logdir(specs)
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
            listed.paths.clear()
            found = logdir.scan()
            num_listed += len(listed.paths)
            fresh = scan(specs)
            num_directories += fresh.num_directories
            assert list(found.runs.items()) == list(fresh.runs.items())
            assert found.num_directories == fresh.num_directories
            assert found.num_files == fresh.num_files
            assert sorted(found.problems) == sorted(fresh.problems)
        listed.pass_time()
    assert 0 < num_listed < num_directories


# -- many --------------------------------------------------------------------------------------


def test_ten_thousand_files_take_little_time(tmp_path: Path) -> None:
    """One stat for each file, none for a directory: a pass in some seconds costs next to nothing.

    It takes 1.6 times as long as the system's calls alone.
    """
    for directory in range(500):
        (tmp_path / f"run{directory}").mkdir()
        for number in range(20):
            (tmp_path / f"run{directory}" / f"e.tfevents.{number}").touch()
    look(tmp_path)
    times, least = [], []
    for _ in range(3):
        start = time.process_time()
        found = look(tmp_path)
        times.append(time.process_time() - start)
        start = time.process_time()
        for folder in os.listdir(tmp_path):
            for entry in os.scandir(tmp_path / folder):
                os.stat(entry.path)
        least.append(time.process_time() - start)
    assert found.num_files == 10_000
    assert min(times) < 5 * min(least)


@pytest.mark.parametrize("num_bytes", [1, 5 << 14, 1 << 30])
def test_a_scan_goes_on_where_a_glance_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_bytes: int
) -> None:
    """The next scan lists only the directories that `size_exceeds` did not reach."""
    listed: list[str] = []

    def scandir(path: str) -> Any:
        listed.append(path)
        return real(path)

    real = os.scandir
    for number in range(8):
        touch(tmp_path / f"{number}" / "1.tfevents", 20)
    logdir = Logdir([LogdirSpec(None, str(tmp_path)), LogdirSpec("gone", str(tmp_path / "gone"))])
    with monkeypatch.context() as counting:
        counting.setattr(os, "scandir", scandir)
        assert logdir.size_exceeds(num_bytes, 60.0) is (num_bytes <= 8 << 14)
        found = logdir.scan()
    assert len(set(listed)) == len(listed) == 10, "the specs and the runs"
    assert found == look(tmp_path, ("gone", tmp_path / "gone"))
    touch(tmp_path / "8" / "1.tfevents", 20)
    assert len(logdir.scan().runs) == 9


def test_a_glance_that_takes_too_long_says_that_there_is_much(tmp_path: Path) -> None:
    """And nothing is lost by that."""
    for number in range(8):
        touch(tmp_path / f"{number}" / "1.tfevents", 20)
    logdir = Logdir([LogdirSpec(None, str(tmp_path))])
    assert logdir.size_exceeds(1 << 30, 0.0)
    assert len(logdir.scan().runs) == 8
