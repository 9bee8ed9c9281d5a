"""Notes on queries that name what no run has, or that find nothing; other queries to offer.

Offers need the texts of names and attributes, which are made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from tbcore.queries import format_name, in_quotes
from tbcore.queries.attributes import RunColumns, Unknown
from tbcore.queries.evaluation import (
    Attribute,
    Comparison,
    Has,
    Node,
    Offer,
    Word,
    compare_hparam,
    comparisons,
)
from tbcore.queries.syntax import FACTS
from tbcore.values import hparam_text

Note = tuple[str, list[Offer]]
"""A note, "" for none, and offers, the most likely first."""

_MAX_OFFERS = 3
"""Maximum number of values that are offered."""
_MAX_VALUES = 50
"""Maximum number of values that are compared character by character."""
_MAX_VALUE_CHARACTERS = 100
"""Longer values are not compared."""
_PAIR = re.compile(
    r"(?<![^\s(|-])(?!has:|re:)([^\s|()\":=!<>*?]+):([^\s|()\":=!<>]+)(?![^\s|()])", re.IGNORECASE
)
"""A hyperparameter and a value with `:` between them."""


def note_on(text: str, query: Node, columns: RunColumns, *, finds_nothing: bool) -> Note:
    """The note on the first name that no run has; else, if nothing is found, on the first value."""
    for unknown in columns.unknown(query):
        note, offers = _about_name(text, unknown, columns)
        return note, offers + (_about_pair(text, query, columns)[1] if finds_nothing else [])
    if not finds_nothing:
        return "", []
    for node in comparisons(query):
        if isinstance(node, Comparison) and (found := _about_value(text, node, columns)):
            return found[0], found[1] + _about_pair(text, query, columns)[1]
    return _about_pair(text, query, columns)


def format_attribute(attribute: Attribute) -> str:
    """The text of an attribute, with its name in quotes if it needs them."""
    kind, name, stat, step = attribute
    is_like_other = name.lower() in FACTS if kind == "hparam" else name.lower() == "re" and stat
    name = in_quotes(name) if is_like_other else format_name(name)
    return name + (f":{stat}" if stat else "") + ("" if step is None else f"({step})")


def _about_name(text: str, unknown: Unknown, columns: RunColumns) -> Note:
    node, (start, name_end, end) = unknown.node, unknown.node.place
    offers = [Offer(start, end, format_attribute(v) + text[name_end:end]) for v in unknown.values]
    note = f"No {unknown.what} {node.name}"
    if unknown.values:
        is_tag = unknown.values[0].name.lower() == node.name.lower()
        note += ", but a tag" if is_tag else ", but similar tags"
    if isinstance(node, Has) and node.name.lower() in ("inf", "infinity", "diverged"):
        # It finds infinite values as well.
        offers.append(Offer(start, end, "has:nan"))
    for name in unknown.close:
        close = (
            f"has:{format_name(name)}"
            if isinstance(node, Has)
            else format_attribute(node.attribute._replace(name=name))
        )
        offers.append(Offer(start, name_end, close))
    if not offers and unknown.common:
        note += f"; there are {unknown.common}"
    if unknown.what == "hyperparameter":
        literal = in_quotes(text[start:end])
        offers.append(Offer(start, end, literal, f"Names with {literal}"))
    return note, offers


def _about_value(text: str, node: Comparison, columns: RunColumns) -> Note | None:
    """A note on the value of a hyperparameter that no run has; None if some run has it."""
    if node.attribute.kind != "hparam" or node.operator != "=" or not isinstance(node.text, str):
        return None
    # True and 1 are different values.
    values = {(type(each), each): each for each in columns.hparams(node.name) if each is not None}
    if any(compare_hparam(each, node) for each in values.values()):
        return None
    matcher = SequenceMatcher(b=node.text)

    def difference(own: str, ratio: Callable[[], float]) -> float:
        matcher.set_seq1(own.lower())
        return -ratio()

    texts = [hparam_text(each) for each in values.values()]
    texts = [own for own in texts if len(own) <= _MAX_VALUE_CHARACTERS]
    likely = sorted(texts, key=lambda own: difference(own, matcher.quick_ratio))[:_MAX_VALUES]
    close = sorted(likely, key=lambda own: difference(own, matcher.ratio))[:_MAX_OFFERS]
    start, name_end, end = node.place
    offers = [Offer(start, end, f"{text[start:name_end]}={format_name(own)}") for own in close]
    return (f"No run has {text[start:end]}", offers) if offers else None


def _about_pair(text: str, query: Node, columns: RunColumns) -> Note:
    """Offers `model=vit` in place of `model:vit`, or says that `model` is not a hyperparameter."""
    found = _PAIR.search(text)
    if found is None:
        return "", []
    if names := columns.index.hparam_names.candidates(found[1]):
        return "", [Offer(found.start(), found.end(), f"{format_name(names[0])}={found[2]}")]
    word = Word(found[0].lower())
    if word not in getattr(query, "parts", (query,)) or columns.runs_found(word):
        return "", []
    return f"No hyperparameter {found[1]}, so {found[0]} is searched for in run names", []
