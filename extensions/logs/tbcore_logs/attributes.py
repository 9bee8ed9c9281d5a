"""Attributes of runs as a shell and Python name them: those of queries, and four more."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np

from tbcore import BadRequestError, NotFoundError
from tbcore.engine import Attribute, RunColumns, RunView, in_quotes, parse_attribute

_OWN = re.compile(r"(.*):(arg(min|max)|auc|mean(\(.*\)))", re.DOTALL | re.IGNORECASE)
OWN_STATS = "argmin, argmax, auc or mean(STEPS)"
"""What a query cannot compare; see `values_of`."""
_STATED = re.compile(r"(.*)(:[a-z]+(?:\([^()]*\))?)", re.DOTALL | re.IGNORECASE)


def attribute_of(text: str, columns: RunColumns) -> Attribute:
    """The attribute that a text names as in a query, or with one of OWN_STATS.

    What stands in double quotes is a name. But in a shell and in Python, a name needs no second
    quotes: if no run has what a query would look for, the name is all of the text, or all before a
    statistic at its end. Raises BadRequestError for a statistic of a known tag that there is not.
    """
    stated = _STATED.fullmatch(text)
    texts = [text, in_quotes(text), *([in_quotes(stated[1]) + stated[2]] if stated else [])]
    readings = []
    for each in texts:
        with suppress(BadRequestError):
            readings.append(_parsed(each))
    if known := [each for each in readings if is_known(each, columns)]:
        return known[0]
    if stated and columns.index.scalar_tags.candidates(stated[1]):
        try:
            return _parsed(texts[-1])
        except BadRequestError as error:
            line = str(error).replace(" in change(", f" in {stated[2][1:].partition('(')[0]}(")
            raise BadRequestError(f"{line}; columns may also have {OWN_STATS}") from None
    return readings[0]


def is_known(attribute: Attribute, columns: RunColumns) -> bool:
    """Whether any run has the attribute, or a tag with the name of a hyperparameter."""
    kind, name, *_ = attribute
    names = [columns.index.scalar_tags, *([columns.index.hparam_names] if kind == "hparam" else [])]
    return kind == "fact" or any(each.candidates(name) for each in names)


def _parsed(text: str) -> Attribute:
    own = _OWN.fullmatch(text)
    if own is None:
        return parse_attribute(text)
    name, stat, extreme, steps = own.groups()
    attribute = parse_attribute(f"{name}:change{steps}" if steps else f"{name}:{extreme or 'last'}")
    return attribute._replace(stat=stat.lower().partition("(")[0])


def values_of(attribute: Attribute, columns: RunColumns) -> list[Any]:
    """A value of a tag for each run, None for a run without it.

    `argmin` and `argmax` are the steps of the lowest and the highest finite value. `mean` is that
    of the last steps, as many as in `attribute.step`, and `auc` the area below the line through all
    points in the order of their steps. These are not finite if any of their values is not.
    """
    _, tag, stat, step = attribute
    assert stat is not None
    if stat in ("auc", "mean"):
        return [_computed(view, name, step) for view, name in columns.views(tag)]
    points = columns.points(tag, stat.removeprefix("arg"), step)
    is_step = stat.startswith("arg")
    return [None if point is None else point[not is_step] for point in points]


def _computed(view: RunView, tag: str | None, num_steps: int | None) -> float | None:
    """The mean of the last steps of a tag, or without a number of steps, the area below it."""
    try:
        series = view.scalars("", tag or "")
    except NotFoundError:
        return None
    steps, values = series.step.astype(np.float64), series.value.astype(np.float64)
    if tag is None or not len(steps):
        return None
    with np.errstate(all="ignore"):
        if num_steps is not None:
            is_late = (steps > steps[-1] - num_steps) & (steps <= steps[-1])
            return float(values[is_late].mean())
        order = np.argsort(steps, kind="stable")
        steps, values = steps[order], values[order]
        return float(np.sum(np.diff(steps) * (values[1:] / 2 + values[:-1] / 2)))
