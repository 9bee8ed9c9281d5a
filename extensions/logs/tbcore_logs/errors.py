"""Unknown names: their error in Python, and lines about those in queries. Servers use
tbcore.NotFoundError itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tbcore import NotFoundError
from tbcore.engine import close_matches, listed, quoted

if TYPE_CHECKING:
    from tbcore.engine import Unknown


class UnknownNameError(NotFoundError, KeyError):
    """There is no such run or tag, in a lookup such as `logs["train"]`."""

    __str__ = Exception.__str__  # A KeyError would be printed in quotes.


def instead(name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """The end of a message about an unknown name: known or other names that are close, or else
    some of all that are known."""
    known = [*known]
    there_are = f"; there are: {listed([*map(quoted, known)])}" if known else ""
    return close_matches(name, dict.fromkeys([*known, *others])) or there_are


def lines_about(all_unknown: Iterable[Unknown]) -> Iterator[str]:
    """A line for each hyperparameter and tag in a query that no run has.

    It suggests values of tags that may be meant, else similar names, else the most common ones.
    """
    from tbcore.engine import format_attribute

    for unknown in all_unknown:
        names, label = ", ".join(unknown.close), "close"
        if unknown.values:
            names = ", ".join(map(format_attribute, unknown.values))
            is_tag = unknown.values[0].name.lower() == unknown.node.name.lower()
            label = "values of the tag" if is_tag else "values of similar tags"
        if not names:
            names, label = unknown.common, "there are"
        end = f"; {label}: {names}" if names else ""
        yield f"no run has the {unknown.what} {quoted(unknown.node.name)}{end}"
