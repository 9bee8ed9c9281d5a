"""Reads the study from the multiplexer, and again only what has changed."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from tbcore import LastPoints, Multiplexer, NotFoundError
from tbcore_hparams.experiment import found_experiment, logged_experiment, with_others
from tbcore_hparams.logged import CLAIMS, RunLog, read_run
from tbcore_hparams.metrics import (
    SCALARS,
    Extremes,
    extreme_points,
    found_metrics,
    gathered,
    sessions_above,
)
from tbcore_hparams.study import Sessions, Study
from tbcore_hparams.values import max_columns

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_TOLD = 100
"""Messages that cannot be parsed; a log that tells more of them is read by nobody."""


class Reader:
    """Any thread may ask; the first one to ask after a change does the work."""

    def __init__(self, multiplexer: Multiplexer, max_choices: int) -> None:
        self._multiplexer = multiplexer
        self._max_choices = max_choices
        self._lock = threading.Lock()
        self._generation = -1
        self._instance = secrets.token_hex(4)
        """Generations of another server, or of this one before it was started again, differ."""
        self._number = 0
        self._logs = _ByRun[RunLog]()
        self._points = _ByRun[LastPoints]()
        self._extremes_lock = threading.Lock()
        self._extremes = _ByRun[tuple[LastPoints, LastPoints]]()
        self._known: Mapping[str, RunLog] = {}
        self._sessions = Sessions([])
        self._study: Study | None = None
        self._told: set[tuple[str, str]] = set()
        self._has_told_of_columns = False

    def study(self) -> Study:
        """The study as it is now; the same object as long as nothing in it changes."""
        with self._lock:
            # Asked for first: what arrives meanwhile belongs to a later generation, and is read
            # once more.
            generation = self._multiplexer.generation
            if self._study is None or generation != self._generation:
                self._study = self._read(self._study)
                self._generation = generation
            return self._study

    def extremes(self, study: Study) -> Extremes:
        """The lowest and the highest values of its metrics.

        All points of a run are looked at when this is asked for first, and when the run has grown.
        """
        sessions = [session.name for session in study.sessions.all]
        with self._extremes_lock:
            generations = self._multiplexer.run_generations()
            known = set(sessions)
            runs = [run for run in generations if any(sessions_above(run, known))]
            self._extremes.update(
                runs, generations, lambda run: extreme_points(self._multiplexer, run)
            )
            lowest, highest = (
                {run: points[which] for run, points in self._extremes.values.items()}
                for which in (0, 1)
            )
        names = study.metrics.names
        return Extremes(gathered(lowest, sessions, names), gathered(highest, sessions, names))

    def _read(self, before: Study | None) -> Study:
        multiplexer = self._multiplexer
        generations = multiplexer.run_generations()
        tags = {
            run: found
            for run, found in multiplexer.tags(CLAIMS).items()
            if found and run in generations
        }
        self._logs.update(
            tags, generations, lambda run: read_run(multiplexer, run, tags[run], self._tell)
        )
        # A run grows with every step that is logged, and what it says of itself stays the same.
        are_other_logs = self._logs.values != self._known
        logs = self._known = self._logs.values
        if are_other_logs:
            self._sessions = Sessions([log.session for log in logs.values() if log.session])
        names = {session.name for session in self._sessions.all}
        runs = [run for run in generations if any(sessions_above(run, names))]
        are_other_points = self._points.update(
            runs, generations, lambda run: multiplexer.last_points(run, SCALARS)
        )
        if before is not None and not are_other_logs and not are_other_points:
            return before
        points = self._points.values
        logged = [log.experiment for log in logs.values() if log.experiment]
        experiment = found_experiment(
            self._sessions.hparams, found_metrics(points, names), self._max_choices
        )
        if logged:
            experiment = with_others(logged_experiment(logged), experiment)
        most = max_columns(len(names))
        if max(len(self._sessions.hparams), len(experiment.metrics)) >= most:
            self._tell_of_columns(most, len(names))
            experiment = experiment._replace(metrics=experiment.metrics[:most])
        metrics = gathered(
            points,
            [session.name for session in self._sessions.all],
            [info.name for info in experiment.metrics],
        )
        self._number += 1
        return Study(f"{self._instance}.{self._number}", experiment, self._sessions, metrics)

    def _tell(self, run: str, tag: str, problem: str) -> None:
        """Says once that something is left out: a run is read again whenever it grows."""
        if (run, tag) not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add((run, tag))
            logger.warning("run %.200r: what is logged as %s is left out: %s", run, tag, problem)

    def _tell_of_columns(self, most: int, num_sessions: int) -> None:
        if not self._has_told_of_columns:
            self._has_told_of_columns = True
            logger.warning(
                "of hyperparameters and of metrics only %d are kept, since there are %d sessions",
                most,
                num_sessions,
            )


class _ByRun(Generic[T]):
    """What was made of each run, made again when the run has changed."""

    def __init__(self) -> None:
        self.values: dict[str, T] = {}
        self._generations: dict[str, int] = {}

    def update(
        self, runs: Iterable[str], generations: Mapping[str, int], make: Callable[[str], T]
    ) -> bool:
        """Keeps these runs and no others; whether anything was made anew or dropped."""
        old, old_generations = self.values, self._generations
        self.values, self._generations = {}, {}
        is_other = False
        for run in runs:
            if old_generations.get(run) == generations[run]:
                self.values[run] = old[run]
            else:
                try:
                    value = make(run)
                except NotFoundError:
                    continue  # a run may vanish at any time, when its files are deleted
                is_other = True
                self.values[run] = value
            self._generations[run] = generations[run]
        return is_other or len(self.values) != len(old)
