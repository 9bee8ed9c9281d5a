"""Responses: the API's messages in JSON, as protobuf would write them, generated from columns.

An experiment with thousands of sessions has a million cells. JSON is therefore built as text, one
column at a time, without creating a message or any other object per cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from tbcore.http import json_response, number_texts
from tbcore_hparams.aggregate import Aggregate
from tbcore_hparams.experiment import Experiment, HParamInfo, MetricInfo
from tbcore_hparams.experiment_data import ExperimentData, Groups
from tbcore_hparams.metrics import MetricName
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.values import BOOL, NULL, NUMBER, OTHER, STRING, Rows, Values

Cells = Sequence[str]
"""JSON text for each row: one array element or object member, without separator; "" for none."""


def experiment_json(experiment: Experiment) -> dict[str, Any]:
    """The message Experiment as a dict, for `json_response`."""
    return {
        "name": experiment.name,
        "description": experiment.description,
        "user": experiment.user,
        "timeCreatedSecs": experiment.time_created_secs,
        "hparamInfos": [_hparam_info(info) for info in experiment.hparams],
        "metricInfos": [_metric_info(info) for info in experiment.metrics],
    }


def session_groups_json(
    data: ExperimentData,
    groups: Groups,
    metrics: Aggregate,
    chosen: Rows,
    *,
    total_size: int,
    hparams: Collection[str] | None = None,
) -> bytes:
    """The message ListSessionGroupsResponse with the chosen groups, as JSON.

    It contains all metrics in `metrics`, and the hyperparameters in `hparams`, or all if None.
    """
    # 1. Make the cells of each hyperparameter and metric as text, column by column.
    # 2. Join them row by row with the other members of each group.
    first = groups.first[chosen]
    hparam_cells = [  # 1
        _hparam_cells(name, column.take(first))
        for name, column in data.sessions.hparams.items()
        if hparams is None or name in hparams
    ]
    metric_cells = [
        _metric_cells(name, *(column[chosen] for column in columns))
        for name, *columns in zip(
            metrics.names,
            metrics.num_sessions > 0,
            metrics.value,
            metrics.step,
            metrics.wall_time,
            strict=True,
        )
    ]
    rows = zip(  # 2
        [_text(groups.names[group]) for group in chosen.tolist()],
        _joined(hparam_cells, len(chosen)),
        _joined(metric_cells, len(chosen), metrics.rank[:, chosen]),
        _sessions_of_groups(data, groups, chosen, has_metrics=len(metrics.names) > 0),
        [_text(data.sessions.all[session].monitor_url) for session in first.tolist()],
        strict=True,
    )
    texts = [
        f'{{"name":{name},"hparams":{{{hparams_}}},"metricValues":[{metrics_}],'
        f'"sessions":[{sessions}],"monitorUrl":{monitor_url}}}'
        for name, hparams_, metrics_, sessions, monitor_url in rows
    ]
    return f'{{"sessionGroups":[{",".join(texts)}],"totalSize":{total_size}}}'.encode()


# Experiments -------------------------------------------------------------------------------------


def _hparam_info(info: HParamInfo) -> dict[str, Any]:
    message: dict[str, Any] = {
        "name": info.name,
        "displayName": info.display_name,
        "description": info.description,
        "type": _enum_name(api_pb2.DataType, info.type),
        "differs": info.differs,
    }
    if info.values is not None:
        message["domainDiscrete"] = info.values
    if info.interval is not None:
        message["domainInterval"] = {"minValue": info.interval[0], "maxValue": info.interval[1]}
    return message


def _metric_info(info: MetricInfo) -> dict[str, Any]:
    return {
        "name": info.name._asdict(),
        "displayName": info.display_name,
        "description": info.description,
        "datasetType": _enum_name(api_pb2.DatasetType, info.dataset_type),
    }


def _enum_name(enum: Any, number: int) -> str | int:
    """The name of an enum value; the number itself if it has no name in this version."""
    return enum.Name(number) if number in enum.values() else number


# Groups and sessions -----------------------------------------------------------------------------


def _sessions_of_groups(
    data: ExperimentData, groups: Groups, chosen: Rows, *, has_metrics: bool
) -> list[str]:
    """The JSON of each chosen group's sessions, separated by commas."""
    # 1. Find where each chosen group's sessions start and end in the output.
    # 2. Number the sessions within each group, and look them up in `groups.sessions`.
    # 3. Make the text of all sessions at once, and join it group by group.
    sizes = groups.sizes[chosen]  # 1
    ends = np.cumsum(sizes)
    starts = ends - sizes
    inside = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)  # 2
    sessions = groups.sessions[inside + np.repeat(groups.starts[chosen], sizes)]
    texts = _session_texts(data, sessions, has_metrics=has_metrics)  # 3
    return [
        ",".join(texts[start:end])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _session_texts(data: ExperimentData, indices: Rows, *, has_metrics: bool) -> list[str]:
    """The message Session of each session, as JSON, with or without metrics."""
    metric_cells = [
        _metric_cells(name, *(column[indices] for column in columns))
        for name, *columns in zip(*data.metrics, strict=True)
        if has_metrics
    ]
    sessions = [data.sessions.all[index] for index in indices.tolist()]
    rows = zip(
        sessions,
        number_texts(np.array([session.start for session in sessions], np.float64)),
        number_texts(np.array([session.end for session in sessions], np.float64)),
        _joined(metric_cells, len(sessions)),
        strict=True,
    )
    return [
        f'{{"name":{_text(session.name)},"startTimeSecs":{start},"endTimeSecs":{end},'
        f'"status":{_text(_enum_name(api_pb2.Status, session.status))},'
        f'"modelUri":{_text(session.model_uri)},"metricValues":[{metrics}],'
        f'"monitorUrl":{_text(session.monitor_url)}}}'
        for session, start, end, metrics in rows
    ]


# Cells -------------------------------------------------------------------------------------------


def _metric_cells(
    name: MetricName,
    present: NDArray[np.bool_],
    value: NDArray[np.float64],
    step: NDArray[np.int64],
    wall_time: NDArray[np.float64],
) -> Cells:
    """The message MetricValue of each row; "" where it is not present."""
    prefix = f'{{"name":{_text(name._asdict())},"value":'
    columns = [number_texts(column) for column in (value, step, wall_time)]
    cells = [
        f'{prefix}{value_},"trainingStep":{step_},"wallTimeSecs":{wall_time_}}}'
        for value_, step_, wall_time_ in zip(*columns, strict=True)
    ]
    return cells if present.all() else np.where(present, np.array(cells, object), "").tolist()


def _hparam_cells(name: str, values: Values) -> Cells:
    """A JSON object member for each row: the name and the value; "" where it is missing."""
    texts = np.full(len(values.kind), None, object)
    is_number = values.kind == NUMBER
    texts[is_number] = number_texts(values.number[is_number])
    texts[values.kind == NULL] = "null"
    is_bool = values.kind == BOOL
    texts[is_bool] = np.where(values.number[is_bool] != 0, "true", "false")
    is_string = values.kind == STRING
    codes, inverse = np.unique(values.code[is_string], return_inverse=True)
    strings = np.array([_text(values.strings[code]) for code in codes.tolist()], object)
    texts[is_string] = strings[inverse]
    for row in np.flatnonzero(values.kind == OTHER).tolist():
        assert values.others is not None
        texts[row] = bytes(json_response(values.others[row]).body).decode()
    prefix = f"{_text(name)}:"
    return [prefix + text if text is not None else "" for text in texts.tolist()]


def _joined(
    columns: Sequence[Cells], num_rows: int, rank: NDArray[np.int64] | None = None
) -> list[str]:
    """The cells of each row, joined by commas.

    Cells are in the order of the columns, or sorted by `rank`, which has the shape
    (number of columns, num_rows).
    """
    rows: Iterable[Cells] = zip(*columns, strict=True) if columns else [()] * num_rows
    if rank is not None and (rank[1:] < rank[:-1]).any():
        order = np.argsort(rank, axis=0, kind="stable").T.tolist()
        rows = ([row[index] for index in indices] for row, indices in zip(rows, order, strict=True))
    return [",".join(filter(None, row)) for row in rows]


def _text(value: str | int | dict[str, str]) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()
