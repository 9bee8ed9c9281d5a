"""Unclaimed data: kinds of data that no loaded plugin reads, and which distribution to install.

Writers log most content in one of two forms: in a field of the summary value, or as a tensor whose
metadata has the name of a TensorBoard plugin. This module uses that plugin's name for both forms.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tbcore.kinds import Claims, matches
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
"""Maps a field of a summary value or event to the plugin name that tensors with the same content
have in their metadata."""

_NO_VALUE = "tags without a value"

KNOWN_NAMES = frozenset({*NAME_OF_FIELD.values(), "hparams", "mesh", "text"})
"""Plugin names for which the distribution `tbcore-<name>` shows the data."""


class Unclaimed(NamedTuple):
    """One kind of data that no plugin reads."""

    kind: str
    """A readable name: the plugin name in the metadata, else that of the field, else `field`."""
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
    multiplexer: Multiplexer, claims: Claims, installed: Collection[str]
) -> list[Unclaimed]:
    """All kinds of data that no claim matches, apart from claims of tags: a kind has others, too.

    `installed` has the names of the installed distributions, even those of disabled plugins.
    """
    unclaimed = []
    claims = [claim for claim in claims if claim.tags is None]
    for summary in multiplexer._state.listings.summaries:
        kind = summary.kind
        if matches(claims, kind):
            continue
        name = kind.plugin_name or NAME_OF_FIELD.get(kind.field, kind.field) or _NO_VALUE
        # A kind may be unclaimed although its distribution is installed: the plugin may be
        # disabled, or unable to read a tensor whose metadata names it. Anybody can write a log, so
        # only KNOWN_NAMES become names of distributions.
        distribution = f"tbcore-{name}"
        is_missing = name in KNOWN_NAMES and distribution not in installed
        unclaimed.append(
            Unclaimed(
                name, kind.field, summary.num_tags, summary.num_runs, summary.example_run,
                summary.example_tag, distribution if is_missing else None,
            )
        )  # fmt: skip
    return unclaimed
