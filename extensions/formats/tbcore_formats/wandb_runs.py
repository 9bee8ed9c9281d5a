"""W&B: the runs in files run-ID.wandb. One that was resumed has a file for each time."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tbcore.engine import EventFile, FileReplacedError, SourceRun
from tbcore_formats.common import forget_others, safe_name
from tbcore_formats.facts import RunFacts
from tbcore_formats.reader import Points
from tbcore_formats.wandb_file import FileReader

_FOLDER = re.compile(r"(?:(?:^|/)wandb)?(?:^|/)(?:(?:offline-)?run-\d{8}_\d{6}-[^/]*|latest-run)$")
"""The part of a path that W&B itself makes."""


class _Known(NamedTuple):
    """What is known about a file since it was read in a scan."""

    file: EventFile
    name: str
    """What the user called the run; empty if that is not known yet."""
    started: float | None
    project: str = ""
    goes_on: bool = False
    """Whether the run continues one that an earlier file began."""
    line: str = ""
    """Why the file cannot be read; empty if it can."""


class Runs:
    """The runs of W&B, named as their users named them, or by their ids."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun | str]:
        forget_others(files, self._known)
        seen: set[str] = set()
        found: list[tuple[str, EventFile, _Known]] = []
        # A link leads to the latest run, which is another path to the same file.
        for name, file in sorted(files, key=lambda each: "latest-run" in each[0]):
            if file.version in seen:
                continue
            seen.add(file.version)
            known = self._known.get(file.path)
            is_same = known is not None and known.file.version == file.version
            if known is None or not is_same or (known.file != file and not known.name):
                known = self._known[file.path] = _head(file)
            if known.line:
                yield f"{file.path} cannot be read: {known.line}"
            else:
                found.append((name, file, known))
        # Of the files of one id and project, those that continue a run are read after the file
        # before them. So are those that have not begun, since they do not say yet what they do.
        runs: dict[tuple[str, str], list[list[tuple[str, EventFile, _Known]]]] = {}
        for name, file, known in sorted(found, key=lambda each: each[2].started or math.inf):
            folder, base = posixpath.split(name)
            run_id = base.removesuffix(".wandb").removeprefix("run-")
            of_id = runs.setdefault((_FOLDER.sub("", folder), run_id), [])
            own = [each for each in of_id if known.project in ("", each[0][2].project)]
            if not own or (known.started and not known.goes_on):
                of_id += (own := [[]])
            own[-1].append((name, file, known))
        for (folder, run_id), of_id in runs.items():
            for parts in of_id:
                given = next((known.name for *_, known in parts if known.name), "")
                shown = posixpath.join(folder, safe_name(given, run_id))
                name, _, known = parts[0]
                yield SourceRun(shown, [file for _, file, _ in parts], name, known.started)

    def reader(self, run: SourceRun) -> Reader:
        return Reader()


def _head(file: EventFile) -> _Known:
    reader = FileReader()
    try:
        reader.read_head(file)
    except (OSError, ValueError) as error:
        line = getattr(error, "strerror", None) or str(error)
        return _Known(file, "", None, line=line)
    return _Known(file, reader.name, reader.facts.started, reader.project, reader.goes_on)


class Reader:
    """Reads one run, file by file."""

    def __init__(self) -> None:
        self.offset = 0
        self._readers: dict[str, FileReader] = {}
        """By path."""

    @property
    def unfinished(self) -> dict[str, tuple[int, int]]:
        """See FormatReader."""
        found = {path: each.unfinished for path, each in self._readers.items()}
        return {path: each for path, each in found.items() if each}

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        if [*self._readers] != [file.path for file in files[: len(self._readers)]]:
            # A file is gone, belongs to another run now, or was added before others.
            raise FileReplacedError(files[0].path)
        for file in files:
            reader = self._readers.setdefault(file.path, FileReader())
            for item in reader.read(file):
                is_named = isinstance(item, str) and file is not files[0]
                yield f"{file.path}: {item}" if is_named else item
                self.offset = sum(each.offset for each in self._readers.values())
        begun = [each for each in self._readers.values() if each.facts.started]
        if begun:
            yield _joined(begun)
        if any(each.is_unfinished for each in self._readers.values()):
            raise BlockingIOError


def _joined(readers: Sequence[FileReader]) -> RunFacts:
    """The facts from all files of a run; those of later files replace earlier ones."""
    facts, first = readers[-1].facts, readers[0].facts
    texts = {tag: text for each in readers for tag, text in each.facts.texts.items()}
    # No group of RunFacts: in W&B, runs of one group may have different hyperparameters.
    group = next((each.group for each in reversed(readers) if each.group), None)
    config = {key: value for each in readers for key, value in each.config()}
    config = {"group": group, **config} if group else config
    return facts._replace(hparams=config, texts=texts, started=first.started)
