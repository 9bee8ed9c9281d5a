"""The experiment: its hyperparameters and metrics, as logged or as inferred from the sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tbcore.values import Metadata, hparam_value, hparams_message
from tbcore_hparams.metrics import MetricName, normalized
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.values import BOOL, NONFINITE, NUMBER, OTHER, STRING, Values

EXPERIMENT_TAG = "_hparams_/experiment"
MAX_CHOICES = 10
"""Default maximum number of strings that are listed as a hyperparameter's possible values.

If there are more, front ends offer a search field in place of a list.
"""


class HParamInfo(NamedTuple):
    """A hyperparameter of the experiment."""

    name: str
    display_name: str = ""
    description: str = ""
    type: int = api_pb2.DATA_TYPE_UNSET
    values: Sequence[Any] | None = None
    """All possible values; None if unknown. Never given together with `interval`."""
    interval: tuple[float, float] | None = None
    """The lowest and the highest possible value; None if unknown."""
    differs: bool = False
    """Whether sessions have different values."""
    is_declared: bool = True
    """False if an experiment was logged and it does not contain this hyperparameter, or if all its
    values are lists or objects, which TensorBoard's API does not have."""


class MetricInfo(NamedTuple):
    """A metric of the experiment."""

    name: MetricName
    display_name: str = ""
    description: str = ""
    dataset_type: int = api_pb2.DATASET_UNKNOWN
    is_declared: bool = True
    """False if an experiment was logged and it does not contain this metric, and for metrics that
    TensorBoard's API does not have."""


class Experiment(NamedTuple):
    """Metadata that all sessions share.

    In `hparams` and `metrics`, undeclared elements follow the declared ones.
    """

    name: str = ""
    description: str = ""
    user: str = ""
    time_created_secs: float = 0.0
    hparams: Sequence[HParamInfo] = ()
    metrics: Sequence[MetricInfo] = ()
    is_logged: bool = False
    """Whether an experiment was logged. If not, its contents are not declared anywhere."""

    def declared(self) -> Experiment:
        """This experiment without undeclared hyperparameters and metrics."""
        return self._replace(
            hparams=[info for info in self.hparams if info.is_declared],
            metrics=[info for info in self.metrics if info.is_declared],
        )


def logged_experiment(metadata: Metadata) -> Experiment:
    """The experiment in the metadata of EXPERIMENT_TAG. Raises DecodeError for other metadata."""
    logged = hparams_message(metadata, "experiment")
    return Experiment(
        logged.name,
        logged.description,
        logged.user,
        logged.time_created_secs,
        [_logged_hparam(info) for info in logged.hparam_infos],
        [
            MetricInfo(
                MetricName(one.name.group, one.name.tag),
                one.display_name,
                one.description,
                one.dataset_type,
            )
            for one in logged.metric_infos
        ],
        is_logged=True,
    )


def _logged_hparam(info: Any) -> HParamInfo:
    values = interval = None
    if info.HasField("domain_discrete"):
        values = [hparam_value(value) for value in info.domain_discrete.values]
    if info.HasField("domain_interval"):
        interval = (info.domain_interval.min_value, info.domain_interval.max_value)
    return HParamInfo(
        info.name, info.display_name, info.description, info.type, values, interval, info.differs
    )


def merge_logged(logged: Sequence[Experiment]) -> Experiment:
    """Merges logged experiments. There must be at least one.

    Some programs log an experiment in each session. The first hyperparameter of each name is used,
    and the first metric of each name.
    """
    hparams: dict[str, HParamInfo] = {}
    metrics: dict[MetricName, MetricInfo] = {}
    for experiment in logged:
        for hparam in experiment.hparams:
            hparams.setdefault(hparam.name, hparam)
        for metric in experiment.metrics:
            metrics.setdefault(metric.name, metric)
    return logged[0]._replace(hparams=[*hparams.values()], metrics=[*metrics.values()])


def infer_experiment(
    columns: Mapping[str, Values], metrics: Iterable[MetricName], max_choices: int = MAX_CHOICES
) -> Experiment:
    """An experiment with the hyperparameters of the sessions, sorted by name, and these metrics.

    `columns` maps the name of each hyperparameter to its values in all sessions. The strings of a
    hyperparameter are listed as its possible values if there are at most `max_choices`. Without any
    hyperparameter, the experiment has no metrics either. They are undeclared if all hyperparameters
    are, or if they are of runs above sessions; such metrics must be the last.
    """
    found = (_infer_hparam(name, columns[name], max_choices) for name in sorted(columns))
    hparams = [info for info in found if info is not None]
    hparams.sort(key=lambda info: not info.is_declared)
    is_declared = any(info.is_declared for info in hparams)
    infos = [MetricInfo(name, is_declared=is_declared and not name.is_above) for name in metrics]
    return Experiment(hparams=hparams, metrics=infos if hparams else [])


def add_undeclared(logged: Experiment, found: Experiment) -> Experiment:
    """The logged experiment, with what only `found` contains appended as undeclared."""
    hparams = {info.name for info in logged.hparams}
    metrics = {(normalized(info.name.group), info.name.tag) for info in logged.metrics}
    return logged._replace(
        hparams=[
            *logged.hparams,
            *(i._replace(is_declared=False) for i in found.hparams if i.name not in hparams),
        ],
        metrics=[
            *logged.metrics,
            *(i._replace(is_declared=False) for i in found.metrics if i.name not in metrics),
        ],
    )


def _infer_hparam(name: str, column: Values, max_choices: int) -> HParamInfo | None:
    """A hyperparameter inferred from its column; None if it has no value."""
    all_kinds = set(np.unique(column.kind).tolist())
    kinds = all_kinds & {BOOL, NUMBER, STRING, NONFINITE}
    if not kinds:
        return HParamInfo(name, is_declared=False) if OTHER in all_kinds else None
    numbers = np.unique(column.number[column.kind == NUMBER])
    if kinds <= {NUMBER, NONFINITE}:
        nonfinite = np.unique(column.number[column.kind == NONFINITE])
        interval = (float(numbers[0]), float(numbers[-1])) if len(numbers) else None
        return HParamInfo(
            name,
            type=api_pb2.DATA_TYPE_FLOAT64,
            interval=interval,
            differs=len(numbers) + len(nonfinite) > 1,
        )
    bools = [value != 0 for value in np.unique(column.number[column.kind == BOOL]).tolist()]
    if kinds == {BOOL}:
        return HParamInfo(name, type=api_pb2.DATA_TYPE_BOOL, values=bools, differs=len(bools) > 1)
    # Values of several types are listed as strings.
    texts = {column.strings[code] for code in np.unique(column.code[column.kind == STRING])}
    texts |= {json.dumps(value) for value in [*numbers.tolist(), *bools]}
    return HParamInfo(
        name,
        type=api_pb2.DATA_TYPE_STRING,
        values=sorted(texts) if len(texts) <= max_choices else None,
        differs=len(texts) > 1,
    )
