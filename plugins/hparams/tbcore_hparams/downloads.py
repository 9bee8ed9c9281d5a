"""Downloads: a table with a row per group and a column per hyperparameter and metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import compress
from typing import Any, NamedTuple

from starlette.responses import Response

from tbcore.http import csv_response, json_response
from tbcore_hparams.aggregate import Aggregate
from tbcore_hparams.experiment import Experiment
from tbcore_hparams.experiment_data import Groups, Sessions
from tbcore_hparams.values import Rows


class Download(NamedTuple):
    """A table of Python values, to be written in one of FORMATS."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


def download(
    experiment: Experiment,
    sessions: Sessions,
    groups: Groups,
    metrics: Aggregate,
    chosen: Rows,
    *,
    hparams: Collection[str] | None,
    visible: Sequence[bool],
) -> Download:
    """The visible columns of the groups with the indices `chosen`.

    `visible` has an element for each hyperparameter, and then for each metric; columns after its
    end are not visible. A missing hyperparameter is "", a missing metric None. If
    `hparams` is given, all other hyperparameters are treated as missing.
    """
    first = groups.first[chosen]
    header: list[str] = []
    columns: list[list[Any]] = []
    shown = list(visible)
    for info in compress(experiment.hparams, shown):
        header.append(info.display_name or info.name)
        values = sessions.hparam(info.name).take(first)
        is_missing = values.is_missing.tolist()
        if hparams is not None and info.name not in hparams:
            is_missing = [True] * len(first)
        cells = zip(is_missing, values.to_list(), strict=True)
        columns.append(["" if missing else value for missing, value in cells])
    index_of = {name: i for i, name in enumerate(metrics.names)}
    for metric in compress(experiment.metrics, shown[len(experiment.hparams) :]):
        if metric.name not in index_of:
            continue
        header.append(metric.display_name or metric.name.tag)
        metric_index = index_of[metric.name]
        numbers = metrics.value[metric_index, chosen].tolist()
        num_sessions = metrics.num_sessions[metric_index, chosen].tolist()
        metric_cells = zip(num_sessions, numbers, strict=True)
        columns.append([number if count else None for count, number in metric_cells])
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(chosen)
    return Download(header, rows)


def _json(table: Download) -> Response:
    return json_response(table._asdict())


def _csv(table: Download) -> Response:
    return csv_response(table.header, table.rows)


def _latex(table: Download) -> Response:
    lines = [
        r"\begin{table}[tbp]",
        rf"\begin{{tabular}}{{{'l' * len(table.header)}}}",
        " & ".join(map(_latex_cell, table.header)) + r" \\ \hline",
        *(" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    body = "\n".join([*lines, ""]).encode()
    return Response(body, headers={"content-type": "application/x-latex; charset=utf-8"})


def _latex_cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value.translate(_LATEX_ESCAPES)
    if isinstance(value, bool):
        return f"${value:d}$"
    if math.isnan(value):
        return r"$\mathrm{NaN}$"
    if math.isinf(value):
        return rf"${'-' if value < 0 else '+'}\infty$"
    coefficient, _, exponent = f"{value:.3g}".partition("e")
    return rf"${coefficient}\cdot 10^{{{int(exponent)}}}$" if exponent else f"${coefficient}$"


_LATEX_ESCAPES = str.maketrans(
    {
        **{character: rf"\{character}" for character in "_%&#${}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)

FORMATS: dict[str, Callable[[Download], Response]] = {"json": _json, "csv": _csv, "latex": _latex}
"""Maps the name of each download format to the function that makes a response from a table."""
