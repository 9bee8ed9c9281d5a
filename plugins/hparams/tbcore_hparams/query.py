"""Which groups pass the filters of a request, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import BadRequestError
from tbcore.patterns import Matcher
from tbcore_hparams.aggregate import Aggregate
from tbcore_hparams.logged import plain
from tbcore_hparams.metrics import MetricName
from tbcore_hparams.proto.api_pb2 import ORDER_DESC, ORDER_UNSPECIFIED, ColParams, Interval
from tbcore_hparams.study import Groups, Sessions
from tbcore_hparams.values import BOOL, NUMBER, STRING, Rows, Values

Mask = NDArray[np.bool_]


class Column(NamedTuple):
    """A column of the groups, and what is asked of it."""

    name: str | MetricName
    params: ColParams
    values: Values


def columns_of(
    all_params: Sequence[ColParams], sessions: Sessions, groups: Groups, metrics: Aggregate
) -> list[Column]:
    """The columns that are named, with the values of the groups."""
    found: dict[str | MetricName, Values] = {}
    columns = []
    for params in all_params:
        name: str | MetricName
        if params.WhichOneof("name") == "hparam":
            name = params.hparam
        else:
            name = MetricName(params.metric.group, params.metric.tag)
        if name not in found:
            found[name] = (
                sessions.hparam(name).taken(groups.first)
                if isinstance(name, str)
                else _metric(name, metrics)
            )
        columns.append(Column(name, params, found[name]))
    return columns


def selected(columns: Sequence[Column], num_groups: int) -> Rows:
    """The groups that pass all filters, sorted; groups that are equal stay in their order.

    Raises BadRequestError for a filter that does not fit a value that it meets.
    """
    matcher = Matcher()
    passing = np.ones(num_groups, bool)
    for column in columns:
        passing[passing] = _passing(column, np.flatnonzero(passing), matcher)
    rows = np.flatnonzero(passing)
    keys: list[NDArray[np.float64] | NDArray[np.int8] | Mask] = []
    sorted_by = set()
    for column in columns:
        # What is equal in a column stays equal when it is sorted by that once more.
        if column.params.order != ORDER_UNSPECIFIED and column.name not in sorted_by:
            sorted_by.add(column.name)
            keys += _sort_keys(column, rows)
    # The last key is the primary one for numpy.
    return rows[np.lexsort(keys[::-1])] if keys else rows


def _metric(name: MetricName, metrics: Aggregate) -> Values:
    if name not in metrics.names:
        return Values.nothing(metrics.value.shape[1])
    number = metrics.names.index(name)
    return Values.of_numbers(metrics.value[number], metrics.num_sessions[number] > 0)


# Filters -----------------------------------------------------------------------------------------


def _passing(column: Column, rows: Rows, matcher: Matcher) -> Mask:
    """Which of these groups pass the filter of the column."""
    params = column.params
    kind = params.WhichOneof("filter")
    if kind is None and not params.exclude_missing_values:
        return np.ones(len(rows), bool)
    values = column.values.taken(rows)
    is_missing = values.is_missing
    passes = np.full(len(rows), not params.exclude_missing_values)
    if kind is None:
        passes[~is_missing] = True
        return passes
    there = np.flatnonzero(~is_missing)
    passes[there] = _FILTERS[kind](params, values.taken(there), matcher)
    return passes


def _by_pattern(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    if (values.kind != STRING).any():
        raise _misfit(params, "a regular expression", values, STRING)
    codes, places = np.unique(values.code, return_inverse=True)
    texts = [values.strings[code] for code in codes.tolist()]
    return matcher.search(params.filter_regexp, texts)[places]


def _by_interval(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    if (values.kind == STRING).any():
        raise _misfit(params, "an interval", values, NUMBER, BOOL)
    interval: Interval = params.filter_interval
    return (interval.min_value <= values.number) & (values.number <= interval.max_value)


def _by_choice(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    choices = [plain(choice) for choice in params.filter_discrete.values]
    # As in Python, 1, 1.0 and true are equal.
    numbers = [float(choice) for choice in choices if isinstance(choice, (float, bool))]
    texts = {choice for choice in choices if isinstance(choice, str)}
    codes = [code for code, text in enumerate(values.strings) if text in texts]
    passes: Mask = np.where(
        values.kind == STRING, np.isin(values.code, codes), np.isin(values.number, numbers)
    )
    return passes


_FILTERS: dict[str, Callable[[ColParams, Values, Matcher], Mask]] = {
    "filter_regexp": _by_pattern,
    "filter_interval": _by_interval,
    "filter_discrete": _by_choice,
}


def _misfit(params: ColParams, what: str, values: Values, *fitting: int) -> BadRequestError:
    place = int(np.flatnonzero(~np.isin(values.kind, fitting))[0])
    [value] = values.taken(np.array([place])).to_list()
    name = params.hparam if params.WhichOneof("name") == "hparam" else params.metric.tag
    return BadRequestError(f"{what} cannot filter {name[:100]!r}: one value is {value!r:.100}")


# Order -------------------------------------------------------------------------------------------


def _sort_keys(column: Column, rows: Rows) -> list[NDArray[np.float64] | NDArray[np.int8] | Mask]:
    """Keys of these groups, the most significant first; all of them ascending.

    Missing values are last, or first, whatever the direction. A boolean is less than a number, and
    that is less than a text. NaN is above all numbers.
    """
    values = column.values.taken(rows)
    is_missing = values.is_missing
    kind = np.where(is_missing, 0, values.kind).astype(np.int8)
    value = np.where(kind == STRING, values.code, values.number)
    is_nan = np.isnan(value) & ~is_missing
    value = np.where(is_nan | is_missing, 0.0, value)
    where = is_missing ^ column.params.missing_values_first
    if column.params.order == ORDER_DESC:
        return [where, -kind, ~is_nan, -value]
    return [where, kind, is_nan, value]
