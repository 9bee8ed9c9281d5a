"""The table for the front end: all sessions and groups, as a JSON header and columns of numbers.

`http_api.md` describes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.values import hparam_text
from tbcore_hparams.aggregate import Aggregate
from tbcore_hparams.experiment import HParamInfo
from tbcore_hparams.experiment_data import ExperimentData, Groups
from tbcore_hparams.metrics import Metrics
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.values import BOOL, MISSING, NONFINITE, NULL, NUMBER, OTHER, STRING, Values

Table = dict[str, NDArray[Any]]

MAX_PROBLEMS = 10
"""Maximum number of problems that the front end gets in words."""
_TYPES = {
    frozenset({BOOL}): "bool",
    frozenset({NUMBER}): "number",
    frozenset({NONFINITE}): "number",
    frozenset({NUMBER, NONFINITE}): "number",
    frozenset({STRING}): "string",
}
"""Maps the set of kinds in a column to the column's type in the header; others are `mixed`."""
_TYPES_WITH_NUMBERS = ("number", "mixed")
_DECLARED_TYPES: dict[int, str] = {
    api_pb2.DATA_TYPE_BOOL: "bool",
    api_pb2.DATA_TYPE_FLOAT64: "number",
}
"""Maps a declared type to the type in the header; others are `string`."""
_STATUSES: dict[int, str] = {
    api_pb2.STATUS_SUCCESS: "success",
    api_pb2.STATUS_FAILURE: "failure",
    api_pb2.STATUS_RUNNING: "running",
}


def header_of(data: ExperimentData, groups: Groups) -> dict[str, Any]:
    """The header: everything except the columns of numbers, for `columns_response`."""
    experiment, sessions = data.experiment, data.sessions.all
    columns = [data.sessions.hparam(info.name) for info in experiment.hparams]
    hparams = [
        _hparam(info, column, groups)
        for info, column in zip(experiment.hparams, columns, strict=True)
    ]
    return {
        "generation": data.generation,
        "problems": {"count": len(data.problems), "first": data.problems[:MAX_PROBLEMS]},
        "experiment": {
            "name": experiment.name,
            "description": experiment.description,
            "user": experiment.user,
            "time_created_secs": experiment.time_created_secs,
            "is_logged": experiment.is_logged,
        },
        "hparams": hparams,
        "metrics": [
            {
                **info.name._asdict(),
                "display_name": info.display_name,
                "description": info.description,
                "declared": info.is_declared,
            }
            for info in experiment.metrics
        ],
        "sessions": {
            "names": [session.name for session in sessions],
            "group": _group_of_sessions(groups),
            "status": [_STATUSES.get(session.status, "unknown") for session in sessions],
            "start": [session.start for session in sessions],
            "end": [session.end for session in sessions],
            "model_uri": [session.model_uri for session in sessions],
            "monitor_url": [session.monitor_url for session in sessions],
        },
        "groups": {
            "names": groups.names,
            "monitor_url": [sessions[first].monitor_url for first in groups.first.tolist()],
        },
        "strings": {
            str(i): _without_numbers(column.take(groups.first))
            for i, (hparam, column) in enumerate(zip(hparams, columns, strict=True))
            if hparam["type"] != "number"
        },
    }


def tables_of(
    data: ExperimentData,
    groups: Groups,
    metrics: Aggregate,
    extremes: Mapping[str, tuple[Metrics, Aggregate]],
) -> list[Table]:
    """Two tables: the columns of groups, and the columns of sessions.

    `extremes` maps the suffix of additional columns to (metrics of the sessions, metrics of the
    groups), from which the columns are made.
    """
    by_group: Table = {}
    by_session: Table = {}
    for i, info in enumerate(data.experiment.hparams):
        column = data.sessions.hparam(info.name)
        if _type_of(info, column) in _TYPES_WITH_NUMBERS:
            number = np.where(column.kind == BOOL, np.nan, column.number)
            by_group[f"h{i}"] = number[groups.first]
            if _varies(column, groups):
                by_session[f"h{i}"] = number
    for i in range(len(metrics.names)):
        by_group[f"m{i}"] = metrics.value[i]
        by_group[f"m{i}.step"] = metrics.step[i]
        by_group[f"m{i}.sessions"] = metrics.num_sessions[i]
        by_session[f"m{i}"] = data.metrics.value[i]
        by_session[f"m{i}.step"] = data.metrics.step[i]
        by_session[f"m{i}.wall_time"] = data.metrics.wall_time[i]
        for name, (of_sessions, of_groups) in extremes.items():
            by_group[f"m{i}.{name}"] = of_groups.value[i]
            by_group[f"m{i}.{name}_step"] = of_groups.step[i]
            by_session[f"m{i}.{name}"] = of_sessions.value[i]
            by_session[f"m{i}.{name}_step"] = of_sessions.step[i]
    return [by_group, by_session]


def _hparam(info: HParamInfo, column: Values, groups: Groups) -> dict[str, Any]:
    """The header of a hyperparameter, with the values of all sessions."""
    header: dict[str, Any] = {
        "name": info.name,
        "display_name": info.display_name,
        "description": info.description,
        "type": _type_of(info, column),
        "differs": _differs(column),
        "declared": info.is_declared,
    }
    if info.values is not None:
        header["values"] = info.values
    if info.interval is not None:
        header["interval"] = info.interval
    is_nan = (column.kind == NONFINITE) & np.isnan(column.number)
    if is_nan[groups.first].any():
        header["nan"] = np.flatnonzero(is_nan[groups.first])
    if _varies(column, groups):
        strings = _without_numbers(column) if header["type"] != "number" else []
        header["of_sessions"] = {"nan": np.flatnonzero(is_nan), "strings": strings}
    return header


def _varies(column: Values, groups: Groups) -> bool:
    """Whether the sessions of a group have different values."""
    if len(groups.names) == len(groups.sessions):
        return False
    first, session = np.repeat(groups.first, groups.sizes), groups.sessions
    both_nan = np.isnan(column.number[first]) & np.isnan(column.number[session])
    is_same = (column.kind[first] == column.kind[session]) & (
        both_nan | (column.number[first] == column.number[session])
    )
    is_same &= column.code[first] == column.code[session]
    for i in np.flatnonzero(is_same & (column.kind[session] == OTHER)).tolist():
        assert column.others is not None
        is_same[i] = column.others[first[i]] == column.others[session[i]]
    return not is_same.all()


def _without_numbers(column: Values) -> list[Any]:
    """A column's strings and booleans, and lists and objects as JSON text; None in other rows."""
    values = column.to_list()
    for row in np.flatnonzero((column.kind == NUMBER) | (column.kind == NONFINITE)).tolist():
        values[row] = None
    rows = np.flatnonzero(column.kind == OTHER).tolist()
    for row, text in zip(rows, _json_of_others(column), strict=True):
        values[row] = text
    return values


def _type_of(info: HParamInfo, column: Values) -> str:
    """The type that all values share, or `mixed`; the declared type if there are no values."""
    kinds = frozenset(np.unique(column.kind).tolist()) - {MISSING, NULL}
    return _TYPES.get(kinds, "mixed") if kinds else _DECLARED_TYPES.get(info.type, "string")


def _differs(column: Values) -> bool:
    """Whether there is more than one distinct value. A boolean never equals a number."""
    is_number = (column.kind == NUMBER) | (column.kind == NONFINITE)
    distinct = [
        np.unique(column.number[is_number]),
        np.unique(column.number[column.kind == BOOL]),
        np.unique(column.code[column.kind == STRING]),
        np.unique(_json_of_others(column)),
    ]
    return sum(map(len, distinct)) > 1


def _json_of_others(column: Values) -> list[str]:
    """JSON text of the lists and objects in a column, in row order."""
    if column.others is None:
        return []
    others = column.others[column.kind == OTHER].tolist()
    return list(map(hparam_text, others))


def _group_of_sessions(groups: Groups) -> NDArray[np.int64]:
    """The index of each session's group, in the order of `Sessions.all`."""
    group = np.empty(len(groups.sessions), np.int64)
    group[groups.sessions] = np.repeat(np.arange(len(groups.names)), groups.sizes)
    return group
