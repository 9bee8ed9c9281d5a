"""Queries: filters and sorts groups as requested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import BadRequestError
from tbcore_hparams.aggregate import Aggregate
from tbcore_hparams.experiment_data import Groups, Sessions
from tbcore_hparams.metrics import MetricName
from tbcore_hparams.proto.api_pb2 import ORDER_DESC, ORDER_UNSPECIFIED, ColParams, Interval
from tbcore_hparams.values import BOOL, NUMBER, STRING, Rows, Values

if TYPE_CHECKING:
    from tbcore.patterns import Matcher

Mask = NDArray[np.bool_]


class Column(NamedTuple):
    """A column of the groups, with its filter and sort order."""

    name: str | MetricName
    params: ColParams
    values: Values


def named_columns(
    all_params: Sequence[ColParams], sessions: Sessions, groups: Groups, metrics: Aggregate
) -> list[Column]:
    """The columns that a request names, each with the values of all groups."""
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
                sessions.hparam(name).take(groups.first)
                if isinstance(name, str)
                else _metric(name, metrics)
            )
        columns.append(Column(name, params, found[name]))
    return columns


def select_groups(columns: Sequence[Column], num_groups: int) -> Rows:
    """Indices of the groups that pass all filters, sorted. Equal groups stay in their order.

    Raises BadRequestError if a filter cannot be applied to the type of a value.
    """
    from tbcore.patterns import Matcher  # 30 ms, not when a server starts

    matcher = Matcher()
    passing = np.ones(num_groups, bool)
    for column in columns:
        # Test only the groups that have passed all filters so far.
        passing[passing] = _passing(column, np.flatnonzero(passing), matcher)
    rows = np.flatnonzero(passing)
    keys: list[NDArray[np.float64] | NDArray[np.int8] | Mask] = []
    sorted_by = set()
    for column in columns:
        # Sorting by the same column again has no effect.
        if column.params.order != ORDER_UNSPECIFIED and column.name not in sorted_by:
            sorted_by.add(column.name)
            keys += _sort_keys(column, rows)
    # lexsort takes the primary key last.
    return rows[np.lexsort(keys[::-1])] if keys else rows


def _metric(name: MetricName, metrics: Aggregate) -> Values:
    """The values of a metric in all groups; all are missing if there is no such metric."""
    if name not in metrics.names:
        return Values.all_missing(metrics.value.shape[1])
    i = metrics.names.index(name)
    return Values.from_numbers(metrics.value[i], metrics.num_sessions[i] > 0)


# Filters -----------------------------------------------------------------------------------------


def _passing(column: Column, rows: Rows, matcher: Matcher) -> Mask:
    """Whether each group passes the filter of the column; `rows` are indices of groups."""
    params = column.params
    filter_name = params.WhichOneof("filter")
    if filter_name is None and not params.exclude_missing_values:
        return np.ones(len(rows), bool)
    values = column.values.take(rows)
    is_missing = values.is_missing
    passes = np.full(len(rows), not params.exclude_missing_values)
    if filter_name is None:
        passes[~is_missing] = True
        return passes
    present = np.flatnonzero(~is_missing)
    passes[present] = _FILTERS[filter_name](params, values.take(present), matcher)
    return passes


def _by_pattern(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    if (values.kind != STRING).any():
        raise _type_error(params, "a regular expression", values, STRING)
    # Match each distinct string once.
    codes, inverse = np.unique(values.code, return_inverse=True)
    texts = [values.strings[code] for code in codes.tolist()]
    return matcher.search(params.filter_regexp, texts)[inverse]


def _by_interval(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    if (values.kind == STRING).any():
        raise _type_error(params, "an interval", values, NUMBER, BOOL)
    interval: Interval = params.filter_interval
    return (interval.min_value <= values.number) & (values.number <= interval.max_value)


def _by_choice(params: ColParams, values: Values, matcher: Matcher) -> Mask:
    choices = params.filter_discrete.values
    texts = {choice.string_value for choice in choices if choice.HasField("string_value")}
    # As in Python, 1, 1.0 and true are equal.
    numbers = [c.number_value for c in choices if c.HasField("number_value")]
    numbers += [float(c.bool_value) for c in choices if c.HasField("bool_value")]
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


def _type_error(params: ColParams, what: str, values: Values, *allowed: int) -> BadRequestError:
    """An error that names the first value whose kind is not allowed."""
    row = int(np.flatnonzero(~np.isin(values.kind, allowed))[0])
    [value] = values.take(np.array([row])).to_list()
    name = params.hparam if params.WhichOneof("name") == "hparam" else params.metric.tag
    return BadRequestError(f"{what} cannot filter {name[:100]!r}: one value is {value!r:.100}")


# Order -------------------------------------------------------------------------------------------


def _sort_keys(column: Column, rows: Rows) -> list[NDArray[np.float64] | NDArray[np.int8] | Mask]:
    """Sort keys of these groups, the most significant first. All keys sort in ascending order.

    Missing values are last, or first if requested, whatever the order. Booleans are less than
    numbers, and numbers less than strings. NaN is greater than all other numbers.
    """
    # 1. The first key puts missing values last or first.
    # 2. The second sorts by kind; the constants BOOL, NUMBER and STRING are in the right order.
    # 3. The third and fourth sort by value: strings by their code, which is in string order, and
    #    NaN by a key of its own, since negating NaN would not change its position.
    values = column.values.take(rows)
    is_missing = values.is_missing
    missing_key = is_missing ^ column.params.missing_values_first  # 1
    kind = np.where(is_missing, 0, values.kind).astype(np.int8)  # 2
    value = np.where(kind == STRING, values.code, values.number)  # 3
    is_nan = np.isnan(value) & ~is_missing
    value = np.where(is_nan | is_missing, 0.0, value)
    if column.params.order == ORDER_DESC:
        return [missing_key, -kind, ~is_nan, -value]
    return [missing_key, kind, is_nan, value]
