"""Whatever happens to runs, only files whose bytes this user has archived are deleted.

Each test plays random histories of archiving, deleting, making again, moving, linking and copying,
runs the line of the documentation, and asks an oracle that knows all bytes of the archived files.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import command

from tbcore.engine import LogdirSpec
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run

OLD = time.time() - 3 * 86400
RUNS = ("a", "b", "c/d")
STEPS = 25


class History:
    """A log directory to which things happen, and an oracle."""

    def __init__(self, logdir: Path, random: random.Random) -> None:
        self.logdir, self.random = logdir, random
        self.notes = RunNotes([LogdirSpec(None, str(logdir))])
        self.archived: dict[Path, bytes] = {}
        """The bytes that this user has archived, by path."""
        self.untouched: set[Path] = set()
        """Those of these files that nothing has happened to since."""
        self.count = 0

    # -- what happens ------------------------------------------------------------------------------

    def make(self) -> None:
        """A file, with times of days ago and a value that no other file has."""
        self.count += 1
        run, filename = self._run(), f"events.out.tfevents.{self.random.randrange(3)}"
        (self.logdir / run / filename).unlink(missing_ok=True)
        path = write_run(
            self.logdir, run, scalars={"loss": [self.count]}, wall_time=OLD, filename=filename
        )
        os.utime(path, (OLD, OLD))
        self._touched(path)

    def archive(self) -> None:
        run = self._run()
        self.notes.change([run], {"archived": True})
        self._forget(run)
        files = [path for path in self._files(run) if not path.is_symlink()]
        found = {path: path.read_bytes() for path in files}
        self.archived |= found
        self.untouched |= found.keys()

    def bring_back(self) -> None:
        run = self._run()
        self.notes.change([run], {"archived": False})
        self._forget(run)

    def others_archive(self) -> None:
        """Through a server for others, who may also bring a run back."""
        run, is_archived = self._run(), self.random.random() < 0.7
        self.notes.change([run], {"archived": is_archived}, is_own=False)
        if not is_archived:
            self.untouched -= set(self._files(run))

    def remove(self) -> None:
        if (path := self._path()) is not None:
            path.unlink()
            self._touched(path)

    def remove_run(self) -> None:
        run = self._run()
        self._touched(*self._files(run))
        shutil.rmtree(self.logdir / run, ignore_errors=True)

    def move_run(self) -> None:
        source, target = self._run(), self._run()
        if source != target and (self.logdir / source).is_dir():
            self._touched(*self._files(source), *self._files(target))
            shutil.rmtree(self.logdir / target, ignore_errors=True)
            (self.logdir / target).parent.mkdir(exist_ok=True)
            (self.logdir / source).rename(self.logdir / target)

    def move_file(self) -> None:
        self._onto(lambda source, target: source.rename(target))

    def copy_file(self) -> None:
        self._onto(shutil.copy2)

    def copy_over(self) -> None:
        """Into the same inode, with the time of the other file."""

        def copy(source: Path, target: Path) -> None:
            if not (target.exists() and target.samefile(source)):
                target.write_bytes(source.read_bytes())
                shutil.copystat(source, target)

        self._onto(copy)

    def link_file(self) -> None:
        def link(source: Path, target: Path) -> None:
            target.unlink(missing_ok=True)
            os.link(source, target)

        self._onto(link)

    def link_name(self) -> None:
        def link(source: Path, target: Path) -> None:
            target.unlink(missing_ok=True)
            target.symlink_to(source)

        self._onto(link)

    def unpack(self) -> None:
        """A run from a backup, which was made a moment ago."""
        run = self._run()
        if (self.logdir / run).is_dir():
            backup = self.logdir.with_name("backup.tar")
            subprocess.run(["tar", "-cf", backup, run], cwd=self.logdir, check=True)
            self._touched(*self._files(run))
            if self.random.random() < 0.5:
                shutil.rmtree(self.logdir / run)
            subprocess.run(["tar", "-xf", backup], cwd=self.logdir, check=True)

    def synchronize(self) -> None:
        """As `rsync -a` from another run does."""
        source, target = self._run(), self._run()
        if source != target and (self.logdir / source).is_dir():
            (self.logdir / target).mkdir(parents=True, exist_ok=True)
            for path in self._files(source):
                copy = self.logdir / target / path.name
                self._touched(copy)
                copy.unlink(missing_ok=True)
                shutil.copy2(path, copy, follow_symlinks=False)

    def write(self) -> None:
        """Another value of the same length, with the times of before."""
        if (path := self._path()) is not None and not path.is_symlink():
            status, self.count = path.stat(), self.count + 1
            other = write_run(
                self.logdir.with_name("other"), "x", scalars={"loss": [self.count]},
                wall_time=OLD, filename="tfevents",
            )  # fmt: skip
            path.write_bytes(other.read_bytes())
            other.unlink()
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            self._touched(path)

    def touch(self) -> None:
        if (path := self._path()) is not None:
            os.utime(path, (OLD - 9, OLD - 9), follow_symlinks=False)
            self._touched(path)

    # -- the oracle --------------------------------------------------------------------------------

    def play(self, num_steps: int) -> None:
        happenings: list[Callable[[], None]] = [
            *[self.make] * 4, *[self.archive] * 3, self.bring_back, self.others_archive,
            self.remove, self.remove_run, self.move_run, self.move_file, self.copy_file,
            self.copy_over, self.link_file, self.link_name, self.unpack, self.synchronize,
            self.write, self.touch,
        ]  # fmt: skip
        for _ in range(num_steps):
            self.random.choice(happenings)()

    def delete(self) -> int:
        """Runs the line of the documentation; returns the number of files that are gone."""
        files = [path for run in RUNS for path in self._files(run)]
        before = {path: path.read_bytes() for path in files if path.exists()}
        line = command("notes", "files", self.logdir, "--format=names")
        listing = subprocess.run(line, capture_output=True, check=False)
        assert listing.returncode in (0, 1), listing.stderr
        subprocess.run(["xargs", "-0", "-r", "rm", "--"], input=listing.stdout, check=True)
        gone = {path: content for path, content in before.items() if not os.path.lexists(path)}
        assert gone.keys() <= self.archived.keys(), "not archived"
        assert gone == {path: self.archived[path] for path in gone}, "other bytes than archived"
        left = {path for path in self.untouched & before.keys() if path not in gone}
        assert left == set(), f"archived, and left out: {listing.stderr.decode()}"
        return len(gone)

    # -- private -----------------------------------------------------------------------------------

    def _run(self) -> str:
        return self.random.choice(RUNS)

    def _files(self, run: str) -> list[Path]:
        return sorted((self.logdir / run).glob("*tfevents*"))

    def _path(self) -> Path | None:
        files = self._files(self._run())
        return self.random.choice(files) if files else None

    def _onto(self, change: Callable[[Path, Path], object]) -> None:
        """Changes a file of a run by another file that is no link."""
        source, target = self._path(), self._path()
        if source and target and not source.is_symlink():
            if target.is_symlink() or (target != source and target.samefile(source)):
                target.unlink()
            if target != source:
                self._touched(source, target)
                change(source, target)

    def _forget(self, run: str) -> None:
        for path in [path for path in self.archived if path.parent == self.logdir / run]:
            del self.archived[path]
            self.untouched.discard(path)

    def _touched(self, *paths: Path) -> None:
        """All names of these files, too, since they have one time of change."""
        inodes = {path.stat().st_ino for path in paths if path.exists()}
        every = [path for run in RUNS for path in self._files(run)]
        self.untouched -= {p for p in every if p.exists() and p.stat().st_ino in inodes}
        self.untouched -= set(paths)


@pytest.fixture
def logdir(logdir_of_each_system: Path) -> Path:
    return logdir_of_each_system


def played(logdir: Path, seeds: range) -> int:
    """Plays histories of these seeds; returns the number of files that were deleted."""
    count = 0
    for seed in seeds:
        folder = logdir / f"{seed}" / "runs"
        folder.mkdir(parents=True)
        history = History(folder, random.Random(seed))
        history.play(STEPS)
        try:
            count += history.delete()
        except AssertionError as error:
            error.add_note(f"in the history {seed}")
            raise
    return count


def test_only_archived_bytes_are_deleted(logdir: Path) -> None:
    assert played(logdir, range(8)) > 0


@pytest.mark.release
def test_only_archived_bytes_are_deleted_in_many_histories(logdir: Path) -> None:
    assert played(logdir, range(100, 200)) > 50
