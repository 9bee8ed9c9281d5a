"""What a query names that no run has."""

from __future__ import annotations

from collections.abc import Iterator

from tbcore.queries.attributes import Names, RunColumns
from tbcore.queries.syntax import And, Comparison, Has, Node, Not, Or
from tbcore.text import quoted


def unknown_names(query: Node, columns: RunColumns) -> Iterator[str]:
    """A line for each hyperparameter and tag in a query that no run has, in order, with close ones.

    `columns` are those of all runs. The other names are listed if none is close.
    """
    match query:
        case Not(part):
            yield from unknown_names(part, columns)
        case And(parts) | Or(parts):
            for part in parts:
                yield from unknown_names(part, columns)
        case Comparison(attribute) if attribute.kind == "hparam":
            known = columns.index.hparam_names
            yield from _unknown("hyperparameter", attribute.name, known, known)
        case Comparison(attribute) if attribute.kind == "value":
            index = columns.index
            yield from _unknown("tag", attribute.name, index.tags, index.scalar_tags)
        case Has(str(tag)):
            yield from _unknown("tag", tag, columns.index.tags, columns.index.scalar_tags)


def _unknown(what: str, name: str, known: Names, listed: Names) -> Iterator[str]:
    if known.candidates(name):
        return
    names, label = known.close(name), "close"
    if not names:
        names, label = listed.most_common()[:3], "there are"
    end = f"; {label}: {', '.join(names)}" if names else ""
    yield f"no run has the {what} {quoted(name)}{end}"
