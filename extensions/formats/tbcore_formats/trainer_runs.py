"""Hugging Face Trainer: trainer_state.json of a checkpoint, or of the whole run, has all rows."""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tbcore.engine import EventFile, FileReplacedError, Points, RunFacts, SourceRun
from tbcore_formats.common import Rows, hparam, is_being_written, is_step, number, opened

_MAX_BYTES = 1 << 25
"""Parsed, it may take 25 times as much memory."""
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Objects of which each equals itself, so that histories can be compared."""
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


class Reader:
    """Reads the longest history of the last training. Each file has a history as a whole."""

    def __init__(self) -> None:
        self.offset = 0
        self._done: list[Any] = []
        """The entries of the history that were read."""
        self._rows = Rows()

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        states = _states(files)
        states.sort(key=lambda each: (-len(each[1]["log_history"]), each[0].mtime_ns))
        file, state = states[0]
        for other, other_state in states[1:]:
            # The states of one training begin with the same rows, also if they were copied.
            rows = other_state["log_history"]
            if other.mtime_ns > file.mtime_ns and rows != state["log_history"][: len(rows)]:
                yield "the state with the most rows is of an earlier training, and not shown"
                file, state = other, other_state
        history, at = state["log_history"], file.mtime_ns / 1e9
        if history[: len(self._done)] != self._done:
            raise FileReplacedError(file.path)
        for entry in history[len(self._done) :]:
            if not is_step(entry.get("step")):
                yield "entries without a step are left out"
                continue
            for key, value in entry.items():
                # As the Trainer names them in event files.
                prefix, _, rest = key.partition("_")
                tag = f"{prefix}/{rest}" if prefix in ("eval", "test") and rest else f"train/{key}"
                if key != "step" and (found := number(value)) is not None:
                    self._rows.add(tag, entry["step"], at, found)
        self._done, self.offset = history, sum(each.size for each in files)
        yield from self._rows.taken()
        params = {key: state[key] for key in _FACTS if state.get(key)}
        params |= state.get("trial_params") or {}
        yield RunFacts({key: hparam(value) for key, value in params.items()})


def _states(files: Sequence[EventFile]) -> list[tuple[EventFile, Any]]:
    """The complete states in files, at least one. Raises BlockingIOError while none is complete,
    and ValueError if that is not because a file is being written."""
    found = []
    for file in files:
        if file.size > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES >> 20} MB")
        with opened(file) as source:
            data = source.read(0, _MAX_BYTES)
        try:
            state = json.loads(data, parse_constant=_CONSTANTS.get)
        except ValueError as error:
            if is_being_written(file):
                raise BlockingIOError from None
            if len(files) == 1:
                raise ValueError(f"it is no JSON: {error}") from None
        else:
            if not isinstance(state, dict) or not isinstance(state.get("log_history"), list):
                raise ValueError("it has no log_history")
            found.append((file, state))
    if not found:
        raise ValueError("none of its states is JSON")
    return found
