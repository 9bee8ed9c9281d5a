"""Forms: what the values of a kind are, whichever field holds them."""

from __future__ import annotations

from collections.abc import Mapping

from tbcore.kinds import Claim, Claims, Kind, matches

SCALAR, IMAGE, AUDIO = "scalar", "image", "audio"
HISTOGRAM, TEXT, GRAPH = "histogram", "text", "graph"

CLAIMS: Mapping[str, Claims] = {
    SCALAR: (Claim(is_scalar=True),),
    IMAGE: (Claim("image"), Claim("tensor", "images", False)),
    AUDIO: (Claim("audio"), Claim("tensor", "audio", False)),
    HISTOGRAM: (Claim("histo"), Claim("tensor", "histograms", False)),
    TEXT: (Claim("tensor", "text", False),),
    GRAPH: (Claim("graph_def"), Claim("tensor", "graphs", False)),
}
"""The kinds of each form that `tbcore.values` can decode."""


def form_of(kind: Kind) -> str:
    """A key of CLAIMS; for all other kinds, the plugin named in the metadata, or else the field."""
    forms = (form for form, claims in CLAIMS.items() if matches(claims, kind))
    return next(forms, kind.plugin_name or kind.field)
