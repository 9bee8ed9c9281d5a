"""Reader: reads the experiment data from the multiplexer, and rereads only what has changed."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from tbcore import LastPoints, Multiplexer, NotFoundError, values
from tbcore_hparams.experiment import (
    Experiment,
    add_undeclared,
    infer_experiment,
    logged_experiment,
    merge_logged,
)
from tbcore_hparams.experiment_data import ExperimentData, Sessions
from tbcore_hparams.logged import CLAIMS, RunLog, read_run
from tbcore_hparams.metrics import (
    SCALARS,
    Extremes,
    SessionNames,
    collect,
    extreme_points,
    find_metrics,
)
from tbcore_hparams.values import max_columns

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_WARNINGS = 100
"""Maximum number of warnings about invalid messages, so that they do not fill the log."""
_MAX_SHARED_EXPERIMENTS = 100
"""Maximum number of different experiments of which equal ones become one object. A run whose
experiment changes would otherwise leave each version in memory."""


class Reader:
    """Reads and caches the experiment data. Safe to use from any thread.

    The first call after a change does the work, and other threads wait for it.
    """

    def __init__(self, multiplexer: Multiplexer, max_choices: int) -> None:
        self._multiplexer = multiplexer
        self._max_choices = max_choices
        self._lock = threading.Lock()
        self._generation = -1
        """Generation of the multiplexer at the last read."""
        self._instance = secrets.token_hex(4)
        """Random prefix of generations, so that different servers have different generations."""
        self._num_changes = 0
        self._logs = _RunCache[RunLog]()
        self._experiments: dict[bytes, Experiment] = {}
        """Maps the logged bytes of each different experiment to the experiment."""
        self._points = _RunCache[LastPoints]()
        self._extremes_lock = threading.Lock()
        self._extremes = _RunCache[tuple[LastPoints, LastPoints]]()
        self._session_logs: Mapping[str, RunLog] = {}
        """The logs from which `_sessions` was made."""
        self._sessions = Sessions([])
        self._data: ExperimentData | None = None
        self._warned: set[str] = set()
        """Each warning so far."""
        self._has_warned_about_columns = False

    def read(self) -> ExperimentData:
        """The current data; the same object until something in it changes."""
        with self._lock:
            # Get the generation before reading. Data that is committed in between belongs to a
            # later generation, so the next call reads again.
            generation = self._multiplexer.generation
            if self._data is None or generation != self._generation:
                self._data = self._read(self._data)
                self._generation = generation
            return self._data

    def extremes(self, data: ExperimentData) -> Extremes:
        """The lowest and the highest values of all metrics in `data`.

        The first call reads all points; later calls read only those of runs that have changed.
        """
        sessions = [session.name for session in data.sessions.all]
        with self._extremes_lock:
            generations = self._multiplexer.run_generations()
            names = SessionNames(sessions)
            runs = [run for run in generations if any(names.of(run))]
            self._extremes.update(
                runs, generations, lambda run: extreme_points(self._multiplexer, run)
            )
            lowest, highest = (
                {run: pair[index] for run, pair in self._extremes.values.items()}
                for index in (0, 1)
            )
        metrics = data.metrics.names
        return Extremes(collect(lowest, sessions, metrics), collect(highest, sessions, metrics))

    def _read(self, before: ExperimentData | None) -> ExperimentData:
        """The current data; `before` if nothing has changed since."""
        multiplexer = self._multiplexer
        generations = multiplexer.run_generations()
        tags = {
            run: found
            for run, found in multiplexer.tags(CLAIMS).items()
            if found and run in generations
        }
        self._logs.update(
            tags,
            generations,
            lambda run: read_run(
                multiplexer, run, tags[run], self._experiment_in, self._warn_invalid
            ),
        )
        # Compare the values: a run changes with every step, but what it logged about its session
        # stays the same.
        logs = self._logs.values
        have_logs_changed = logs != self._session_logs
        self._session_logs = logs
        if have_logs_changed:
            self._sessions = Sessions([log.session for log in logs.values() if log.session])
        names = SessionNames(session.name for session in self._sessions.all)
        runs = [run for run in generations if any(names.of(run))]
        have_points_changed = self._points.update(
            runs, generations, lambda run: multiplexer.last_points(run, SCALARS)
        )
        if before is not None and not have_logs_changed and not have_points_changed:
            return before
        points = self._points.values
        logged = {id(log.experiment): log.experiment for log in logs.values() if log.experiment}
        experiment = infer_experiment(
            self._sessions.hparams, find_metrics(points, names), self._max_choices
        )
        if logged:
            experiment = add_undeclared(merge_logged([*logged.values()]), experiment)
        limit = max_columns(len(names.names))
        # Hyperparameters and metrics were each limited when they were collected. If either reached
        # the limit, names may have been dropped.
        if max(len(self._sessions.hparams), len(experiment.metrics)) >= limit:
            self._warn_about_columns(limit, len(names.names))
            experiment = experiment._replace(metrics=experiment.metrics[:limit])
        metrics = collect(
            points,
            [session.name for session in self._sessions.all],
            [info.name for info in experiment.metrics],
        )
        self._num_changes += 1
        generation = f"{self._instance}.{self._num_changes}"
        problems = [line for log in logs.values() for line in log.problems]
        return ExperimentData(generation, experiment, self._sessions, metrics, problems)

    def _experiment_in(self, metadata: values.Metadata) -> Experiment:
        """The decoded experiment; the same object for equal ones, which many sessions may log."""
        content = metadata.plugin_data.content
        if content not in self._experiments:
            if len(self._experiments) >= _MAX_SHARED_EXPERIMENTS:
                self._experiments.clear()
            self._experiments[content] = logged_experiment(metadata)
        return self._experiments[content]

    def _warn_invalid(self, problem: str) -> None:
        """Logs a warning once: a run is read again whenever it changes."""
        if problem not in self._warned and len(self._warned) < _MAX_WARNINGS:
            self._warned.add(problem)
            logger.warning("%s", problem)

    def _warn_about_columns(self, limit: int, num_sessions: int) -> None:
        if not self._has_warned_about_columns:
            self._has_warned_about_columns = True
            logger.warning(
                "too many columns for %d sessions: using at most %d hyperparameters and %d metrics",
                num_sessions,
                limit,
                limit,
            )


class _RunCache(Generic[T]):
    """A value for each run, which is made again when the run's generation changes."""

    def __init__(self) -> None:
        self.values: dict[str, T] = {}
        self._generations: dict[str, int] = {}

    def update(
        self, runs: Iterable[str], generations: Mapping[str, int], make: Callable[[str], T]
    ) -> bool:
        """Updates the values of these runs, and drops the values of all other runs.

        Returns whether any value was made or dropped. `make` may raise NotFoundError.
        """
        old, old_generations = self.values, self._generations
        self.values, self._generations = {}, {}
        has_changed = False
        for run in runs:
            if old_generations.get(run) == generations[run]:
                self.values[run] = old[run]
            else:
                try:
                    value = make(run)
                except NotFoundError:
                    continue  # The run's files were deleted in the meantime.
                has_changed = True
                self.values[run] = value
            self._generations[run] = generations[run]
        return has_changed or len(self.values) != len(old)
