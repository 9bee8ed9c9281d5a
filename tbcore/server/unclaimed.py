"""Unclaimed data: kinds of logged data that no plugin reads, and which distribution to install.

Writers log most content in one of two forms: in a field of the summary value, or as a tensor whose
metadata has the name of a TensorBoard plugin. This module uses that plugin's name for both forms.
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
"""Maps a field of a summary value or event to the plugin name of the other form."""

KNOWN_NAMES = frozenset({*NAME_OF_FIELD.values(), "hparams", "text"})
"""Plugin names for which the distribution `tbcore-<name>` shows the data."""


class Unclaimed(NamedTuple):
    """One kind of data that no plugin reads."""

    kind: str
    """A readable name; see `content_name`."""
    field: str
    """The field that has the data; see `Kind.field`."""
    num_tags: int
    """Number of distinct tags with this kind. A tag that several runs have counts once."""
    num_runs: int
    example_run: str
    example_tag: str
    install: str | None
    """The distribution to install; None if there is none to recommend."""


def find_unclaimed(
    multiplexer: Multiplexer, claims: Claims, not_recommended: Collection[str]
) -> list[Unclaimed]:
    """All kinds of data that no claim matches.

    `not_recommended` has the names of distributions that are installed already.
    """
    return [
        Unclaimed(
            content_name(summary.kind),
            summary.kind.field,
            summary.num_tags,
            summary.num_runs,
            summary.example_run,
            summary.example_tag,
            distribution_for(summary.kind, not_recommended=not_recommended),
        )
        for summary in multiplexer.kinds()
        if not matches(claims, summary.kind)
    ]


def content_name(kind: Kind) -> str:
    """A readable name of a kind: its plugin name, else that in NAME_OF_FIELD, else its field."""
    return kind.plugin_name or NAME_OF_FIELD.get(kind.field, kind.field)


def distribution_for(kind: Kind, *, not_recommended: Collection[str]) -> str | None:
    """The distribution to install for an unclaimed kind; None if there is none to recommend.

    An installed distribution is not recommended: the metadata of a tensor may name a plugin that
    cannot read this tensor. A name that occurs only in a log never becomes the name of a
    distribution, because anybody can write a log.
    """
    name = content_name(kind)
    distribution = f"tbcore-{name}"
    if name in KNOWN_NAMES and distribution not in not_recommended:
        return distribution
    return None
