"""Unclaimed data: kinds of logged data that no plugin reads, and which distribution to install.

Writers log most kinds of content in one of two forms: a field of the summary value, or a tensor
whose metadata names a TensorBoard plugin. Both forms get the plugin's name here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tbcore.kinds import Claims, Kind, matches
from tbcore.store.multiplexer import Multiplexer

NAME_OF_FIELD = {
    "simple_value": "scalars",
    "histo": "histograms",
    "image": "images",
    "audio": "audio",
    "graph_def": "graphs",
    "meta_graph_def": "graphs",
    "tagged_run_metadata": "graphs",
}
"""Field to the plugin name that writers put into the metadata of the tensor form."""

KNOWN_NAMES = frozenset({*NAME_OF_FIELD.values(), "hparams", "text"})
"""Plugin names whose data the distribution `tbcore-<name>` shows."""


class Unclaimed(NamedTuple):
    """One kind of data that no plugin reads."""

    kind: str
    """`content_name` of the kind."""
    field: str
    """`Kind.field` of the kind."""
    num_tags: int
    """Tags of this kind in all runs together."""
    num_runs: int
    example_run: str
    example_tag: str
    install: str | None
    """The distribution that shows this kind; None if unknown."""


def find_unclaimed(
    multiplexer: Multiplexer, claims: Claims, loaded: Collection[str]
) -> list[Unclaimed]:
    """All kinds that none of the claims matches.

    `loaded` has the names of distributions that are loaded, so that installing them cannot help.
    """
    return [
        Unclaimed(
            content_name(summary.kind),
            summary.kind.field,
            summary.num_tags,
            summary.num_runs,
            summary.example_run,
            summary.example_tag,
            distribution_for(summary.kind, loaded=loaded),
        )
        for summary in multiplexer.kinds()
        if not matches(claims, summary.kind)
    ]


def content_name(kind: Kind) -> str:
    """A readable name: the plugin name in the metadata, else that of the field, else the field."""
    return kind.plugin_name or NAME_OF_FIELD.get(kind.field, kind.field)


def distribution_for(kind: Kind, *, loaded: Collection[str]) -> str | None:
    """The distribution to install for an unclaimed kind; None if there is none to recommend.

    A distribution that is loaded is not recommended: tensors may name a plugin that cannot read
    them. A name that occurs only in a log is never made into the name of a distribution, because
    anybody can write a log.
    """
    name = content_name(kind)
    distribution = f"tbcore-{name}"
    return distribution if name in KNOWN_NAMES and distribution not in loaded else None
