"""Twins: finds what only those logs have that are not shown, since event files are beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from tbcore.engine import EventFile, RunView, Schema, SourceFiles, describe

logger = logging.getLogger("tbcore.formats")

_MAX_KNOWN = 1 << 16
_MAX_NAMED, _MAX_NAME_LENGTH = 3, 60


class Twins:
    """The columns of the twins of one format."""

    def __init__(self, columns: Callable[[EventFile], Sequence[str]]) -> None:
        """`columns` returns the tags at the beginning of a file."""
        self._columns = columns
        self._known: dict[str, tuple[EventFile, tuple[str, ...]]] = {}
        """By path, the status for which the columns were read, and these."""

    def unshown(
        self, twins: Sequence[SourceFiles], views: Mapping[str, RunView | None]
    ) -> Iterator[tuple[str, str]]:
        """See `Format.unshown`."""
        found: dict[str, str] = {}
        for twin in twins:
            beside = [views[directory] for directory in twin.beside if directory in views]
            schemas = tuple(view.schema for view in beside if view)
            if not schemas or len(schemas) < len(beside):
                continue  # Not all are read yet.
            if line := _missing(self._columns_of(twin[0]), schemas):
                found.setdefault(line, twin[0].path)
        for line, path in found.items():
            yield path, line

    def _columns_of(self, file: EventFile) -> tuple[str, ...]:
        known = self._known.get(file.path)
        if known is None or known[0] != file:
            try:
                columns = tuple(self._columns(file))
            except Exception as error:  # It is being written, or is gone, or has no columns.
                logger.debug("%s: %s", file.path, describe(error))
                columns = ()
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            known = self._known[file.path] = file, columns
        return known[1]


@lru_cache(maxsize=1 << 10)
def _missing(columns: tuple[str, ...], schemas: tuple[Schema, ...]) -> str:
    """A line about the columns that no tag of these schemas has; empty if each has one."""
    known = set[str]()
    for tag in (tag for schema in schemas for tag in schema.tags):
        steps = tag.lower().split("/")
        known.update("/".join(steps[i:]) for i in range(len(steps)))
    missing = [name for name in columns if name.lower() not in known]
    if not missing:
        return ""
    named = ", ".join(name[:_MAX_NAME_LENGTH] for name in missing[:_MAX_NAMED])
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return (
        f"not shown, since event files are beside it, but these lack its columns {named}{more}; "
        "`tbcore serve --formats all` shows it, and others like it"
    )
