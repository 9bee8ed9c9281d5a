"""Queries: texts that find runs by name, hyperparameters, values, tags and times.

`syntax` parses the texts, `attributes` has columns of the attributes of all runs, `evaluation`
finds the runs that match a query, and `offers` says what else may be meant. docs/queries.md
describes the language, and tests/queries.json has cases for it. The page finds plain words, globs
and tags itself: tbcore/web/lib/queries/.
"""

from __future__ import annotations

import re

_NEEDS_QUOTES = re.compile(r'[\s|()":=!<>*?]|\A-|\A\Z')
"""Finds what a name without quotes may not have; see docs/queries.md."""

STATS = "last", "min", "max", "nan"
"""The statistics of a tag that need no number."""


def format_name(name: str) -> str:
    """A name or value as a query has it, in quotes if it needs them."""
    return in_quotes(name) if _NEEDS_QUOTES.search(name) else name


def in_quotes(text: str) -> str:
    """The text in double quotes, so that all of it is literal in a query."""
    return '"' + text.replace('"', '""') + '"'


def split_attributes(text: str) -> list[str]:
    """The comma-separated attributes in a text, with the quotes that queries have."""
    parts = re.findall(r'(?:"[^"]*"?|[^",])+', text)
    return [part.strip() for part in parts if part.strip()]
