"""What the content of a series is called, whichever way a writer chose to log it.

Most contents have two forms on disk: a field of their own, and a tensor whose metadata names a
TensorBoard plugin. The names of those plugins are part of the format.
"""

from __future__ import annotations

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

KNOWN_NAMES = frozenset({*NAME_OF_FIELD.values(), "hparams"})


def content_name(kind: Kind) -> str:
    """A name for people: that of the metadata, or of the field's content, or of the field."""
    return kind.plugin_name or NAME_OF_FIELD.get(kind.field, kind.field)


def distribution_for(kind: Kind) -> str | None:
    """The distribution that shows this kind; None where none is known.

    A name that only a log knows is never made into something to install: anybody can write a log.
    """
    name = content_name(kind)
    return f"tbcore-{name}" if name in KNOWN_NAMES else None
