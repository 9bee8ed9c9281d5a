"""Kinds, which describe the form of a series on disk, and claims, the kinds a plugin can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """The form of the values of a series on disk, independent of their meaning."""

    field: str
    """The protobuf field that holds the value. In a summary: `simple_value`, `histo`, `image`,
    `audio`, `tensor`, `obsolete_old_style_histogram`, or "" if it has metadata only. In an event
    without a summary: `graph_def`, `meta_graph_def` or `tagged_run_metadata`."""
    plugin_name: str = ""
    """`plugin_data.plugin_name` in the first metadata of the (run, tag); "" if there is none."""
    is_scalar: bool = False
    """Whether each value is one real number; `field` may be `simple_value` or `tensor`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A pattern for kinds. Each attribute must be equal in the kind, unless it is None here."""

    field: str | None = None
    plugin_name: str | None = None
    is_scalar: bool | None = None

    def matches(self, kind: Kind) -> bool:
        """Whether the kind fits the pattern."""
        return (
            (self.field is None or self.field == kind.field)
            and (self.plugin_name is None or self.plugin_name == kind.plugin_name)
            and (self.is_scalar is None or self.is_scalar == kind.is_scalar)
        )


Claims = Sequence[Claim]
"""The claims of one plugin. They match a kind if at least one of them does."""


def matches(claims: Claims, kind: Kind) -> bool:
    """Whether any of the claims matches the kind."""
    return any(claim.matches(kind) for claim in claims)
