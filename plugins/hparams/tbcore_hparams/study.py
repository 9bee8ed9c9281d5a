"""Study: all sessions as columns, as they are at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore_hparams.experiment import Experiment
from tbcore_hparams.logged import Session
from tbcore_hparams.metrics import Metrics
from tbcore_hparams.values import ABSENT, Rows, Values, names_kept


class Groups(NamedTuple):
    """Sessions by group."""

    names: Sequence[str]
    """In ascending order."""
    sessions: Rows
    """Places of sessions: group after group, in each by name."""
    starts: Rows
    """Shape (num_groups + 1,): where a group's sessions begin, and where the last ones end."""

    @property
    def first(self) -> Rows:
        """Shape (num_groups,): the first session of each. Its hyperparameters are the group's."""
        return self.sessions[self.starts[:-1]]

    @property
    def sizes(self) -> Rows:
        """Shape (num_groups,): how many sessions each has."""
        return np.diff(self.starts)


class Sessions:
    """The sessions with their hyperparameters."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.all = sorted(sessions, key=lambda session: session.name)
        """By name. Wherever else a place of a session is meant, it is that in this list."""
        counts = Counter(name for session in self.all for name in session.hparams)
        names = names_kept(counts, len(self.all))
        self.hparams = {
            name: Values.of([session.hparams.get(name, ABSENT) for session in self.all])
            for name in sorted(names)
        }
        """Name to a column with a row for each session."""
        self.status: NDArray[np.int32] = np.array([s.status for s in self.all], np.int32)
        self._group_names = sorted({session.group for session in self.all})
        places = {name: place for place, name in enumerate(self._group_names)}
        self._group = np.array([places[session.group] for session in self.all], np.int64)

    def hparam(self, name: str) -> Values:
        """A row for each session; all missing when no session has it."""
        column = self.hparams.get(name)
        return Values.nothing(len(self.all)) if column is None else column

    def groups(self, statuses: Collection[int] | None = None) -> Groups:
        """The groups that the sessions with one of these statuses form; None: all sessions."""
        allowed = np.arange(len(self.all), dtype=np.int64)
        if statuses is not None:
            allowed = np.flatnonzero(np.isin(self.status, list(statuses)))
        allowed = allowed[np.argsort(self._group[allowed], kind="stable")]
        codes, starts = np.unique(self._group[allowed], return_index=True)
        return Groups(
            [self._group_names[code] for code in codes.tolist()],
            allowed,
            np.append(starts, len(allowed)).astype(np.int64),
        )


class Study(NamedTuple):
    """Everything there is to ask for."""

    generation: str
    """Another text for any other state."""
    experiment: Experiment
    """As it was logged, followed by what else there is in the sessions."""
    sessions: Sessions
    metrics: Metrics
    """Those of the experiment, in its order."""

    def declared(self) -> Study:
        """Of what the experiment declares: where one was logged, the API tells of nothing else."""
        experiment = self.experiment.declared()
        metrics = self.metrics.first(len(experiment.metrics))
        return self._replace(experiment=experiment, metrics=metrics)
