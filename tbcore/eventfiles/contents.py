"""What the content of a series is called, whichever way a writer chose to log it.

Most contents have two forms on disk: a field of their own, and a tensor whose metadata names a
TensorBoard plugin. The names of those plugins are part of the format.
"""

from __future__ import annotations

from collections.abc import Collection

from tbcore.kinds import Kind

NAME_OF_FIELD = {
    "simple_value": "scalars",
    "histo": "histograms",
    "image": "images",
    "audio": "audio",
    "graph_def": "graphs",
    "meta_graph_def": "graphs",
    "tagged_run_metadata": "graphs",
}
"""What writers put into the metadata of the tensor form."""

KNOWN_NAMES = frozenset({*NAME_OF_FIELD.values(), "hparams", "text"})


def content_name(kind: Kind) -> str:
    """A name for people: that of the metadata, or of the field's content, or of the field."""
    return kind.plugin_name or NAME_OF_FIELD.get(kind.field, kind.field)


def distribution_for(kind: Kind, *, loaded: Collection[str]) -> str | None:
    """The distribution to install for what is not shown of this kind; None where none is known.

    One that is loaded does not show it: a tensor may name its plugin and not be what that reads. A
    name that only a log knows is never made into something to install: anybody can write a log.
    """
    name = content_name(kind)
    distribution = f"tbcore-{name}"
    return distribution if name in KNOWN_NAMES and distribution not in loaded else None
