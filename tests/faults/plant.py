"""Plants faults in a copy of the checkout, one at a time, and runs the tests that must find them.

    .venv/bin/python tests/faults/plant.py              # all, in some minutes
    .venv/bin/python tests/faults/plant.py "weak tags"  # those with these words in their names
    .venv/bin/python tests/faults/plant.py --full       # all tests but slow and browser tests

A fault is a change of a line or two of the product, as people make them: see faults.toml. One that
no test finds means that a test is missing. One whose text is no longer in the code needs another
text or another fault.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 600
"""A fault may make a test wait for ever, which finds it, too."""
FULL = ["tests", "plugins", "extensions"]


class Fault(NamedTuple):
    """One change of the product."""

    name: str
    wrong: str
    """What is wrong then, in a sentence."""
    file: str
    before: str
    after: str
    found_by: list[str]
    """Files, folders or node ids of pytest, and `.mjs` files of Node."""


class PlantError(Exception):
    """A fault cannot be planted, or its tests cannot be run."""


def faults(words: Sequence[str] = ()) -> list[Fault]:
    """The faults of the list; with words, those that have one of them in their names."""
    found = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
    every = [Fault(**each) for each in found["fault"]]
    return [f for f in every if not words or any(word in f.name for word in words)]


class Copy:
    """A copy of the checkout, with uncommitted changes, but without untracked files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        parts = [folder, *(p.parent for d in ("plugins", "extensions")
                           for p in sorted(folder.glob(f"{d}/*/pyproject.toml")))]  # fmt: skip
        self._env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, parts))}
        self._num_writes = 0

    def test(self, tests: Sequence[str]) -> str | None:
        """The first line that says that one of these tests fails; None if all pass."""
        modules = [test for test in tests if test.endswith(".mjs")]
        others = [test for test in tests if not test.endswith(".mjs")]
        options = ["-x", "-q", "-p", "no:cacheprovider"]
        if tests == FULL:
            options += ["-m", "not browser and not slow and not services"]
        return (modules and self._failure(["node", "--test", *modules], "not ok", "✖")) or (
            others and self._failure([sys.executable, "-m", "pytest", *options, *others],
                                     "FAILED", "ERROR")) or None  # fmt: skip

    def _failure(self, command: Sequence[str], *marks: str) -> str | None:
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=self._env, capture_output=True, text=True,
                timeout=TIMEOUT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no end within {TIMEOUT_SECONDS} s"
        if done.returncode == 0:
            return None
        lines = done.stdout.splitlines()
        if done.returncode != 1:
            raise PlantError(
                f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}"
            )
        return next((line for line in lines if line.strip().startswith(marks)), "failed")

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Has the fault within the `with` statement. Raises PlantError if its text is not there."""
        path = self.folder / fault.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (count := text.count(fault.before)) != 1:
            raise PlantError(f"{fault.name}: {fault.file} has its text {count} times, not once")
        try:
            self._write(path, text.replace(fault.before, fault.after))
            yield
        finally:
            self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        # Compiled modules are found by the size and the second of their sources.
        path.write_text(text, encoding="utf-8")
        self._num_writes += 1
        os.utime(path, (time.time(), time.time() + 2 * self._num_writes))


@contextmanager
def copied() -> Iterator[Copy]:
    """A copy in a temporary directory."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise PlantError(done.stderr)
        return done.stdout.strip()

    with tempfile.TemporaryDirectory(prefix="tbcore-faults-") as folder:
        copy = Path(folder, "copy")
        git("worktree", "add", "--detach", str(copy), git("stash", "create") or "HEAD")
        try:
            for ignored in git("ls-files", "-oi", "--exclude-standard", "--directory").splitlines():
                if ignored.rstrip("/").endswith(("/vendor", "node_modules")):
                    (copy / ignored.rstrip("/")).symlink_to(ROOT / ignored.rstrip("/"))
            yield Copy(copy)
        finally:
            git("worktree", "remove", "--force", str(copy))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="words in the names of faults")
    parser.add_argument("--full", action="store_true", help="run all tests, not only those named")
    options = parser.parse_args()
    chosen, num_found = faults(options.words), 0
    with copied() as copy:
        tests = FULL if options.full else sorted({t for fault in chosen for t in fault.found_by})
        if failure := copy.test(tests):
            raise PlantError(f"tests fail without a fault: {failure}")
        for fault in chosen:
            began = time.monotonic()
            with copy.planted(fault):
                failure = copy.test(FULL if options.full else fault.found_by)
            num_found += failure is not None
            seconds = time.monotonic() - began
            state = "found" if failure else "NOT FOUND"
            print(f"{state:9} {seconds:4.0f} s  {fault.name}: {failure or fault.wrong}", flush=True)
    print(f"{num_found} of {len(chosen)} found")
    return num_found < len(chosen)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PlantError as error:
        sys.exit(f"plant.py: {error}")
