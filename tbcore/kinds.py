"""Kinds describe the form that logged values have on disk. Claims are patterns of kinds, or of the
files beside event files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

ANYWHERE = "**/"
"""The beginning of a pattern of files that count in any directory, also where no run is."""
HPARAMS_PREFIX = "_hparams_/"
SESSION_START_TAG = f"{HPARAMS_PREFIX}session_start_info"
"""The tag under which a run logs its hyperparameters."""
GRAPH_FIELDS = ("graph_def", "meta_graph_def", "tagged_run_metadata")
"""Fields of an event that hold a graph or run metadata. Each of them becomes a row of references,
although the event has no summary."""


def has_own_metadata(tag: str) -> bool:
    """Whether the metadata of a tag is a run's own, such as its hyperparameters.

    It is kept apart from the columns and the schema, which the runs of a sweep then share.
    """
    return tag.startswith(HPARAMS_PREFIX)


@dataclass(frozen=True, slots=True)
class Kind:
    """The form that the values of a series have on disk, independent of their meaning."""

    field: str
    """The protobuf field that holds the value. In a summary: `simple_value`, `histo`, `image`,
    `audio`, `tensor`, `obsolete_old_style_histogram`, or "" if the value has metadata only. In an
    event without a summary: `graph_def`, `meta_graph_def` or `tagged_run_metadata`."""
    plugin_name: str = ""
    """`plugin_data.plugin_name` in the first metadata of the (run, tag); "" if there is none."""
    is_scalar: bool = False
    """Whether each value is one real number. If so, `field` is `simple_value` or `tensor`."""

    @property
    def is_graph(self) -> bool:
        """Whether each value is a graph or run metadata. Their steps mean nothing."""
        return self.field in GRAPH_FIELDS


@dataclass(frozen=True, slots=True)
class Claim:
    """A pattern of kinds that a plugin can read. An attribute that is None matches any value.

    With `files`, it is a pattern of files instead, and matches no kind.
    """

    field: str | None = None
    plugin_name: str | None = None
    is_scalar: bool | None = None
    files: str | None = None
    """A pattern of files, by their paths below the directory of a run, such as
    `plugins/profile/*/*.xplane.pb`. `*` and `?` do not match `/`. With `**/` at its beginning, also
    files in directories without a run, if there is one log directory, on this machine, make the
    plugin active. See `Multiplexer.files`."""

    tags: str | None = None
    """A pattern of tags, such as `grads/*`. `*` and `?` match any characters, `/` too."""

    def matches(self, kind: Kind, tag: str | None = None) -> bool:
        """Whether the kind has the same value for each attribute that is not None here.

        Without a tag, whether series of this kind match if their tags do.
        """
        return (
            self.files is None
            and (self.field is None or self.field == kind.field)
            and (self.plugin_name is None or self.plugin_name == kind.plugin_name)
            and (self.is_scalar is None or self.is_scalar == kind.is_scalar)
            and (self.tags is None or tag is None or fnmatchcase(tag, self.tags))
        )


Claims = Sequence[Claim]
"""The claims of one plugin. A kind is matched if at least one of the claims matches it."""


def have_tags(claims: Claims) -> bool:
    """Whether one of the claims is one of tags, so that the kind of a series is not enough."""
    return any(claim.tags is not None for claim in claims)


def matches(claims: Claims, kind: Kind, tag: str | None = None) -> bool:
    """Whether at least one of the claims matches the kind, and the tag if there is one."""
    return any(claim.matches(kind, tag) for claim in claims)
