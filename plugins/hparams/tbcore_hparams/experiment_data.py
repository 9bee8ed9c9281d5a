"""Experiment data: all sessions as columns, at one point in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_hparams.experiment import Experiment
from tbcore_hparams.logged import Session
from tbcore_hparams.metrics import Metrics
from tbcore_hparams.values import ABSENT, Rows, Values, limit_names


class Groups(NamedTuple):
    """Groups of sessions. Sessions are indices into `Sessions.all`."""

    names: Sequence[str]
    """Names of the groups, in ascending order."""
    sessions: Rows
    """Sessions, sorted by group and then by name."""
    starts: Rows
    """Shape (num_groups + 1,): group g has sessions[starts[g]:starts[g + 1]]."""

    @property
    def first(self) -> Rows:
        """Shape (num_groups,): each group's first session, which supplies its hyperparameters."""
        return self.sessions[self.starts[:-1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Shape (num_groups,): number of sessions in each group."""
        return np.diff(self.starts)


class Sessions:
    """All sessions, with their hyperparameters as columns."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.all = sorted(sessions, key=lambda session: session.name)
        """Sessions sorted by name. All other indices of sessions refer to this list."""
        counts = Counter(name for session in self.all for name in session.hparams)
        names = limit_names(counts, len(self.all))
        self.hparams = {
            name: Values.from_objects([session.hparams.get(name, ABSENT) for session in self.all])
            for name in sorted(names)
        }
        """Maps the name of each hyperparameter to a column with one row per session."""
        self.status: NDArray[np.int32] = np.array([s.status for s in self.all], np.int32)
        self._group_names = sorted({session.group for session in self.all})
        index = {name: i for i, name in enumerate(self._group_names)}
        self._group_index = np.array([index[session.group] for session in self.all], np.int64)

    def hparam(self, name: str) -> Values:
        """The column of a hyperparameter; all its rows are missing if no session has it."""
        column = self.hparams.get(name)
        return Values.all_missing(len(self.all)) if column is None else column

    def groups(self, statuses: Collection[int] | None = None) -> Groups:
        """The groups formed by the sessions with one of these statuses; None for all sessions."""
        allowed = np.arange(len(self.all), dtype=np.int64)
        if statuses is not None:
            allowed = np.flatnonzero(np.isin(self.status, list(statuses)))
        allowed = allowed[np.argsort(self._group_index[allowed], kind="stable")]
        codes, starts = np.unique(self._group_index[allowed], return_index=True)
        return Groups(
            [self._group_names[code] for code in codes.tolist()],
            allowed,
            np.append(starts, len(allowed)).astype(np.int64),
        )


class ExperimentData(NamedTuple):
    """Everything that the routes can return."""

    generation: str
    """Identifies this state of the data; every other state has another string."""
    experiment: Experiment
    """The experiment that was logged or, if none was logged, inferred from the sessions.

    A logged experiment is extended by the hyperparameters and metrics that only sessions contain.
    """
    sessions: Sessions
    metrics: Metrics
    """The metrics of `experiment`, in the same order, for all sessions."""
    problems: Sequence[str] = ()
    """A line for each message of a run that cannot be decoded."""

    def declared(self) -> ExperimentData:
        """This data without undeclared hyperparameters and metrics.

        If an experiment was logged, TensorBoard's API returns only what it declares.
        """
        experiment = self.experiment.declared()
        metrics = self.metrics.first(len(experiment.metrics))
        return self._replace(experiment=experiment, metrics=metrics)
