"""The messages about hyperparameters that a run logged: its session, and its experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tbcore import Claim, Claims, DataError, DecodeError, Multiplexer, NotFoundError
from tbcore.values import (
    SESSION_END_TAG,
    SESSION_START_TAG,
    Metadata,
    SessionEndValue,
    session_end,
    session_start,
)
from tbcore_hparams.experiment import EXPERIMENT_TAG, Experiment

CLAIMS: Claims = (Claim(plugin_name="hparams"),)

T = TypeVar("T")


class Session(NamedTuple):
    """One training run."""

    name: str
    """The run that logged it."""
    hparams: Mapping[str, Any]
    """Maps each name to a float, str, bool, None, or a list or dict of these."""
    group: str
    """Name of the session group; the session's own name if none was logged."""
    model_uri: str
    monitor_url: str
    start: float
    """Start time in seconds since the epoch; 0 if not logged."""
    status: int
    """A value of the enum Status."""
    end: float
    """End time in seconds since the epoch; 0 if not logged."""


class RunLog(NamedTuple):
    """Everything that one run logged about hyperparameters."""

    session: Session | None
    """None if the run logged no start of a session."""
    experiment: Experiment | None
    problems: Sequence[str]
    """A line for each tag whose message cannot be decoded."""


def read_run(
    multiplexer: Multiplexer,
    run: str,
    tags: Sequence[str],
    experiment: Callable[[Metadata], Experiment],
    warn: Callable[[str], None],
) -> RunLog:
    """Reads what the run logged under these tags; `experiment` decodes experiments.

    The first session start and the first experiment are used, but the last session end: a job that
    resumes after an interruption logs another end. Messages that cannot be decoded are skipped,
    with a call of `warn`. Raises NotFoundError if the run has been deleted.
    """
    problems: dict[str, str] = {}

    def logged(tag: str, decode: Callable[[Metadata], T]) -> T | None:
        for metadata in _metadata(multiplexer, run, tag) if tag in tags else ():
            try:
                return decode(metadata)
            except DecodeError as error:
                problems[tag] = f"run {run[:200]!r}: ignoring invalid data in tag {tag}: {error}"
                warn(problems[tag])
        return None

    start = logged(SESSION_START_TAG, session_start)
    session = None
    if start is not None:
        end = logged(SESSION_END_TAG, session_end) or SessionEndValue(0, 0.0)
        session = Session(
            run,
            start.hparams,
            start.group or run,
            start.model_uri,
            start.monitor_url,
            start.start,
            end.status,
            end.end,
        )
    found = logged(EXPERIMENT_TAG, experiment)
    return RunLog(session, found, list(problems.values()))


def _metadata(multiplexer: Multiplexer, run: str, tag: str) -> Iterator[Metadata]:
    """The metadata of the tag's values that may count, in order of preference: see `read_run`."""
    if tag == SESSION_END_TAG:
        for item in reversed(multiplexer.items(run, tag, CLAIMS)):
            # The metadata of the first item is in memory; that of all others must be read.
            if item.ordinal == 0:
                break
            try:
                value = item.read()
            except (NotFoundError, DataError):
                continue
            if not isinstance(value, bytes) and value.metadata.plugin_data.content:
                yield value.metadata
    yield multiplexer.metadata(run, tag)
