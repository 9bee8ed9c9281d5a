"""Changes of notes: their values, the labels that they add and remove, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tbcore import BadRequestError, TbcoreError
from tbcore_notes.records import MAX_LABELS, Value, checked


class NotesError(TbcoreError):
    """A note cannot be kept."""

    status = 503


class LargeChangeError(NotesError):
    """A change is larger than what is taken at once."""

    status = 413


class LabelChange(NamedTuple):
    """Labels that runs get in addition to those that they have, and labels that they lose."""

    added: Sequence[str] = ()
    removed: Sequence[str] = ()

    def of(self, labels: Value) -> list[str]:
        """The labels of a run after the change."""
        known, removed = labels if isinstance(labels, list) else [], set(self.removed)
        return [label for label in [*known, *self.added] if label not in removed]


NO_LABELS = LabelChange()


def valid_values(values: Mapping[str, Any], labels: LabelChange) -> dict[str, Value]:
    """The values of a change as they are stored. Raises BadRequestError."""
    if max(len(labels.added), len(labels.removed)) > MAX_LABELS:
        raise BadRequestError(f"at most {MAX_LABELS} labels can be added or removed at once")
    checked("labels", list(labels.added))
    return {field: checked(field, value) for field, value in values.items()}


def lines_of_change(values: dict[str, Value]) -> list[dict[str, Value]]:
    """The values of a line each: whether a run is archived has a line, and a time, of its own."""
    others = {field: value for field, value in values.items() if field != "archived"}
    archived = {"archived": values["archived"]} if "archived" in values else {}
    return [part for part in (others, archived) if part]
