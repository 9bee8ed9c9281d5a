"""Lines: a format of another program, made up for tests, with any number of runs in one file.

A file `*.lines` has lines such as `a 3 0.5`: run, step and value of the tag `loss`. The word after
the run may also be a command:

    a hparam 0.5     the hyperparameter lr; `dict`, which none can be, is an error
    a text TEXT      a text with the tag `notes`
    a line           a line of text about damage
    a fail           an error, in place of the rest
    a open PATH      another file is opened, in place of the rest
    a replaced       FileReplacedError
    a wait           BlockingIOError, once

A file with the line `nothing` has no runs; one with `explode` makes the format itself fail; and one
with `busy` can be read only after three scans.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tbcore.engine import EventFile, FileReplacedError, Loader, SourceRun
from tbcore_formats import Format, Points, RunFacts


class Lines(Format):
    """The format."""

    patterns: Collection[str] = ("*.lines",)
    has_twins = True
    has_times = True

    def __init__(self) -> None:
        self._num_waits = 0

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun | str]:
        is_written = False
        for name, file in files:
            lines = Path(file.path).read_text().splitlines()
            if "busy" in lines and self._num_waits < 3:
                is_written = True
                continue
            if "explode" in lines:
                raise KeyError("exploded")
            if "nothing" in lines:
                yield f"{file.path} has nothing"
                continue
            for run in dict.fromkeys(line.split()[0] for line in lines if line != "busy"):
                own = [line for line in lines if line.split()[0] == run]
                status = file._replace(size=sum(map(len, own)), mtime_ns=0, ctime_ns=0)
                yield SourceRun(os.path.join(os.path.dirname(name), run), [status], f"{name}#{run}")
        if is_written:
            self._num_waits += 1
            raise BlockingIOError

    def reader(self, run: SourceRun) -> _Reader:
        return _Reader(run.key.partition("#")[2])


class _Reader:
    def __init__(self, run: str) -> None:
        self._run, self.offset, self._waited = run, 0, False
        self._done: list[list[str]] = []

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        lines = [line.split() for line in Path(files[0].path).read_text().splitlines()]
        own = [line for line in lines if line[0] == self._run]
        if own[: len(self._done)] != self._done:
            raise FileReplacedError(files[0].path)
        if ["wait"] in [line[1:] for line in own] and not self._waited:
            self._waited = True
            raise BlockingIOError
        facts = RunFacts()
        for number, (_, step, *values) in enumerate(own):
            if step == "hparam":
                lr: Any = {} if values[0] == "dict" else float(values[0])
                facts = facts._replace(hparams={"lr": lr}, group="g", status=1)
            if step == "text":
                facts = facts._replace(texts={"notes": values[0]})
            if number < len(self._done):
                continue
            if step == "line":
                yield "damaged lines are left out"
            if step == "open":
                open(values[0]).close()
            if step == "replaced":
                raise FileReplacedError(self._run)
            if step == "fail":
                raise KeyError(self._run)
            if step.lstrip("-").isdigit():
                self.offset += 10
                value = np.array([float(values[0])])
                yield {"loss": Points(np.array([step], np.int64), np.array([100.0]), value)}
        self._done = own
        yield facts


CHANGES = {
    "two runs are added": "a 1 0.5\na 2 0.75\na 3 0.25\na hparam 0.5\na text hello\nb 7 1\nb 8 2\n",
    "one grows": "a 1 0.5\na 2 0.75\na 3 0.25\na hparam 0.5\na text hello\nb 7 1\nb 8 2\nb 9 3\n",
    "one is renamed": "new 1 0.5\nnew 2 0.75\nnew 3 0.25\nnew hparam 0.5\nb 7 1\nb 8 2\nb 9 3\n",
    "one is replaced by a shorter one": "new 1 0.5\nnew 2 0.75\nnew 3 0.25\nb 70 1\n",
    "one is deleted": "b 70 1\n",
    "one fails": "a 1 0.5\na fail\nb 70 1\nb 71 1\n",
    "one is slow": "a 1 0.5\na 2 0.5\na wait\nb 70 1\nb 71 1\nb 72 2\n",
}
"""What may happen to two runs in one file, and the contents of the file after it."""


def use_lines(loader: Loader) -> None:
    """Makes a loader read this format, and no other one."""
    from tbcore.engine import Formats

    formats = Formats("none")
    formats._formats["lines"] = Lines()
    formats.patterns = frozenset(Lines.patterns)
    loader._logdir.formats = formats
