"""Notes on queries that name what no run has, or that find nothing, and other queries to offer."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from tbcore.queries.attributes import RunColumns
from tbcore.queries.evaluation import compare_hparam, comparisons, text_of
from tbcore.queries.syntax import (
    Attribute,
    Comparison,
    Has,
    Node,
    Offer,
    format_attribute,
    format_name,
    in_quotes,
)

Notes = tuple[str, list[Offer]]
"""A note, "" for none, and offers, the most likely first."""

_MAX_OFFERS = 3
"""Maximum number of names or values that are offered."""
_MAX_VALUES = 200
"""Maximum number of values that are compared."""
_MAX_VALUE_CHARACTERS = 100
"""Longer values are not compared."""
_PAIR = re.compile(
    r"(?<![^\s(|-])(?!has:|re:)([^\s|()\":=!<>*?]+):([^\s|()\":=!<>]+)(?![^\s|()])", re.IGNORECASE
)
"""A hyperparameter and a value with `:` between them."""


def notes_on(text: str, query: Node, columns: RunColumns, *, finds_nothing: bool) -> Notes:
    """The note on the first name that no run has, or else on the first value, and all offers."""
    nodes = list(comparisons(query))
    found = next(filter(None, (_about_name(text, node, columns) for node in nodes)), None)
    if found is None and finds_nothing:
        found = next(filter(None, (_about_value(text, node, columns) for node in nodes)), None)
    note, offers = found or ("", [])
    return note, offers + _with_equals(text, columns) if finds_nothing else offers


def _about_name(text: str, node: Comparison | Has, columns: RunColumns) -> Notes | None:
    """A note on a hyperparameter or tag that no run has; None if some run has it."""
    index, place = columns.index, node.place
    tags: list[str] = []
    match node:
        case Comparison(Attribute("hparam", name) as attribute):
            what, known, listed = f"hyperparameter {name}", index.hparam_names, index.hparam_names
            if node.number is not None:
                tags = index.scalar_tags.candidates(name)
            close = [format_attribute(attribute._replace(name=each)) for each in known.close(name)]
        case Comparison(Attribute("value", name) as attribute):
            what, known, listed = f"tag {name}", index.tags, index.scalar_tags
            close = [format_attribute(attribute._replace(name=each)) for each in known.close(name)]
        case Has(str(), name):
            what, known, listed = f"tag {name}", index.tags, index.scalar_tags
            close = [f"has:{format_name(each)}" for each in known.close(name)]
        case _:
            return None
    if known.candidates(name):
        return None
    rest = text[place.name_end : place.end]
    statistics = [f"{format_name(tags[0])}:{stat}{rest}" for stat in ("last", "min") if tags]
    offers = [Offer(place.start, place.end, each) for each in statistics]
    offers += [Offer(place.start, place.name_end, each) for each in close]
    note = f"No {what}" + (", but a tag" if tags else "")
    if not offers and (names := listed.most_common()[:_MAX_OFFERS]):
        note += f"; there are {', '.join(names)}"
    if known is index.hparam_names:
        literal = in_quotes(text[place.start : place.end])
        offers.append(Offer(place.start, place.end, literal, f"Names with {literal}"))
    return note, offers


def _about_value(text: str, node: Comparison | Has, columns: RunColumns) -> Notes | None:
    """A note on the value of a hyperparameter that no run has; None if some run has it."""
    match node:
        case Comparison(Attribute("hparam", name), "=", _, str(value)):
            known = dict.fromkeys(each for each in columns.hparams(name) if each is not None)
        case _:
            return None
    if any(compare_hparam(each, node) for each in known):
        return None
    texts = [own for each in known if len(own := text_of(each)) <= _MAX_VALUE_CHARACTERS]
    place = node.place
    close = sorted(
        texts[:_MAX_VALUES], key=lambda own: -SequenceMatcher(None, own.lower(), value).ratio()
    )
    start = text[place.start : place.name_end]
    offers = [
        Offer(place.start, place.end, f"{start}={format_name(own)}") for own in close[:_MAX_OFFERS]
    ]
    return (f"No run has {text[place.start : place.end]}", offers) if offers else None


def _with_equals(text: str, columns: RunColumns) -> list[Offer]:
    """Offers `model=vit` in place of `model:vit` if `model` is a hyperparameter."""
    found = _PAIR.search(text)
    names = columns.index.hparam_names.candidates(found[1]) if found else []
    if found is None or not names:
        return []
    return [Offer(found.start(), found.end(), f"{format_name(names[0])}={found[2]}")]
