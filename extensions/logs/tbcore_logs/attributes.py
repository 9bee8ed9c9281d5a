"""Attributes of runs as a shell and Python name them: those of queries, and two more."""

from __future__ import annotations

import re
from contextlib import suppress

from tbcore import BadRequestError
from tbcore.engine import Attribute, RunColumns, in_quotes, parse_attribute

_STEP_OF_EXTREME = re.compile(r"(.*):arg(min|max)", re.DOTALL | re.IGNORECASE)
_STATED = re.compile(r"(.*)(:[a-z]+(?:\([^()]*\))?)", re.DOTALL | re.IGNORECASE)


def attribute_of(text: str, columns: RunColumns) -> Attribute:
    """The attribute that a text names as in a query, or the step `TAG:argmin` or `TAG:argmax`.

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
        return _parsed(texts[-1])
    return readings[0]


def is_known(attribute: Attribute, columns: RunColumns) -> bool:
    """Whether any run has the attribute, or a tag with the name of a hyperparameter."""
    kind, name, *_ = attribute
    names = [columns.index.scalar_tags, *([columns.index.hparam_names] if kind == "hparam" else [])]
    return kind == "fact" or any(each.candidates(name) for each in names)


def _parsed(text: str) -> Attribute:
    extreme = _STEP_OF_EXTREME.fullmatch(text)
    if extreme is None:
        return parse_attribute(text)
    attribute = parse_attribute(f"{extreme[1]}:{extreme[2]}")
    return attribute._replace(stat=f"arg{attribute.stat}")
