"""Hugging Face Trainer: trainer_state.json of a checkpoint, or of the whole run, has all rows."""

from __future__ import annotations

import json
import posixpath
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tbcore.engine import EventFile, FileReplacedError, SourceRun
from tbcore_formats.common import Rows, hparam, is_being_written, is_step, number, opened
from tbcore_formats.facts import RunFacts
from tbcore_formats.reader import Points

_MAX_BYTES, _HEAD_BYTES = 1 << 25, 1 << 16
_ENTRIES_AT_ONCE = 5_000
_DECODER = json.JSONDecoder()
_SPACES = re.compile(r"[ \t\n\r]*")
_LIST = object()
_CHECKPOINT = re.compile(r"(?:(.*)/)?checkpoint-(\d+)")
_FACTS = "train_batch_size", "num_train_epochs", "max_steps"


class Runs:
    """The output directories of trainings."""

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun]:
        states: dict[str, list[tuple[int, EventFile]]] = {}
        for name, file in files:
            folder = posixpath.dirname(name)
            checkpoint = _CHECKPOINT.fullmatch(folder)
            run, step = (checkpoint[1], int(checkpoint[2])) if checkpoint else (folder, -1)
            states.setdefault(run or ".", []).append((step, file))
        for run, found in states.items():
            # The last checkpoint, the one that was written last, which may be of a later training,
            # and the state of the whole run, which is saved at its end.
            used = {max(found), max(found, key=lambda each: (each[1].mtime_ns, each[0]))}
            used |= {min(found)} if min(found)[0] < 0 else set()
            yield SourceRun(run, [file for _, file in sorted(used, reverse=True)])

    def reader(self, run: SourceRun) -> Reader:
        return Reader()

    def columns(self, file: EventFile) -> Sequence[str]:
        """The tags of the first entries."""
        with opened(file) as source:
            data: bytes = source.read(0, _HEAD_BYTES)
        found = dict[str, None]()
        with suppress(ValueError):  # The rest is cut off.
            for key, entry, _ in _items(data.decode(json.detect_encoding(data), "replace")):
                if key is None and isinstance(entry, dict):
                    found |= dict.fromkeys(tag for tag, _ in _values(entry))
        return [*found]


class Reader:
    """Reads the longest history of the last training. Each file has a history as a whole.

    A file is parsed entry by entry, since all of its entries together take many times its size.
    """

    def __init__(self) -> None:
        self.offset = 0
        self._done = array("q")
        """A hash of each entry of the history that was read."""
        self._rows = Rows()
        self._lines = set[str]()
        """The lines about files that are damaged or not shown."""

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        states, lines = _states(files)
        states.sort(key=lambda each: (-len(each.hashes), each.file.mtime_ns))
        state = states[0]
        for other in states[1:]:
            # The states of one training begin with the same rows, also if they were copied.
            is_same = other.hashes == state.hashes[: len(other.hashes)]
            if other.file.mtime_ns > state.file.mtime_ns and not is_same:
                lines.append(f"{state.file.path}: it is of an earlier training, and not shown")
                state = other
        if not self._lines.issubset(lines):
            raise FileReplacedError(state.file.path)  # An earlier line is no longer true.
        self._lines.update(lines)
        yield from lines
        begin, at = len(self._done), state.file.mtime_ns / 1e9
        if state.hashes[:begin] != self._done:
            raise FileReplacedError(state.file.path)
        items = _items(_text(state.file))
        entries = ((value, found) for key, value, found in items if key is None)
        for index, known in enumerate(state.hashes):
            try:
                entry, found = next(entries, (None, None))
            except ValueError:
                found = None
            if found != known:
                raise FileReplacedError(state.file.path)  # It has changed since.
            if index >= begin:
                yield from self._add(entry, at)
            if index >= begin and index % _ENTRIES_AT_ONCE == 0:
                self._done = state.hashes[: index + 1]
                yield from self._rows.taken()
        self._done, self.offset = state.hashes, sum(each.size for each in files)
        yield from self._rows.taken()
        params = {key: state.others[key] for key in _FACTS if state.others.get(key)}
        params |= state.others.get("trial_params") or {}
        hparams = {key: hparam(value) for key, value in params.items()}
        yield RunFacts(hparams, file=state.file.path)

    def _add(self, entry: Any, at: float) -> Iterator[str]:
        if not isinstance(entry, dict) or not is_step(entry.get("step")):
            yield "entries without a step are left out"
            return
        for tag, value in _values(entry):
            self._rows.add(tag, entry["step"], at, value)


def _values(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of an entry, by tags as the Trainer names them in event files."""
    for key, value in entry.items():
        prefix, _, rest = key.partition("_")
        tag = f"{prefix}/{rest}" if prefix in ("eval", "test") and rest else f"train/{key}"
        if key != "step" and (found := number(value)) is not None:
            yield tag, found


class _State(NamedTuple):
    """What is known about a complete state."""

    file: EventFile
    hashes: array[int]
    """Of the entries of its history."""
    others: Mapping[str, Any]
    """What else is in it."""


def _states(files: Sequence[EventFile]) -> tuple[list[_State], list[str]]:
    """The complete states in files, at least one, and lines about the others. Raises
    BlockingIOError while a file is being written, and ValueError if no state is complete."""
    found, lines = list[_State](), list[str]()
    for file in files:
        if file.size > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES >> 20} MB")
        hashes, others = array("q"), dict[str, Any]()
        try:
            for key, value, found_hash in _items(_text(file)):
                if key is None:
                    hashes.append(found_hash)
                elif key in (*_FACTS, "trial_params", "log_history"):
                    others[key] = value
        except ValueError as error:
            if is_being_written(file):
                raise BlockingIOError from None
            if len(files) == 1:
                raise ValueError(f"it is not JSON: {error}") from None
            lines.append(f"{file.path}: damaged, not JSON: {error}")
        else:
            if others.get("log_history") is not _LIST:
                raise ValueError("it has no log_history")
            found.append(_State(file, hashes, others))
    if not found:
        raise ValueError("none of its states is JSON")
    return found, lines


def _text(file: EventFile) -> str:
    with opened(file) as source:
        data: bytes = source.read(0, min(_MAX_BYTES, source.current_size()))
    return data.decode(json.detect_encoding(data), "surrogatepass")


def _items(text: str) -> Iterator[tuple[str | None, Any, int]]:
    """The keys and values of an object in JSON, and of each entry a hash of its text, or 0.

    The value of `log_history` is _LIST if it is an array, whose elements follow one by one, with
    the key None. Raises ValueError.
    """
    if not text.strip():
        raise ValueError("the file is empty")
    mark, at = _mark(text, _mark(text, 0, "{")[1], '"}')
    while mark != "}":
        key, at = _DECODER.raw_decode(text, at - 1)
        at = _mark(text, at, ":")[1]
        begin = _SPACES.match(text, at).end()  # type: ignore[union-attr]
        if key == "log_history" and text.startswith("[", begin):
            yield key, _LIST, 0
            at = _SPACES.match(text, begin + 1).end()  # type: ignore[union-attr]
            mark, at = ("]", at + 1) if text.startswith("]", at) else ("[", at)
            while mark != "]":
                begin = _SPACES.match(text, at).end()  # type: ignore[union-attr]
                value, at = _DECODER.raw_decode(text, begin)
                yield None, value, hash(text[begin:at])
                mark, at = _mark(text, at, ",]")
        else:
            value, at = _DECODER.raw_decode(text, begin)
            yield key, value, 0
        mark, at = _mark(text, at, ",}")
        if mark == ",":
            mark, at = _mark(text, at, '"')
    if text[at:].strip():
        raise ValueError(f"there is more after it, at character {at}")


def _mark(text: str, at: int, marks: str) -> tuple[str, int]:
    """The next character after spaces, which must be one of the marks, and where it ends."""
    at = _SPACES.match(text, at).end()  # type: ignore[union-attr]
    if at == len(text) or text[at] not in marks:
        raise ValueError(f"expected one of {marks} at character {at}")
    return text[at], at + 1
