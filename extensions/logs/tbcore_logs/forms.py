"""Forms: what values are, such as images or texts, whichever kind they have on disk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tbcore import Claim, Claims, Kind
from tbcore.values import AUDIO_CLAIMS, HISTOGRAM_CLAIMS, IMAGE_CLAIMS

SCALAR, IMAGE, AUDIO = "scalar", "image", "audio"
HISTOGRAM, TEXT, GRAPH, PR_CURVES = "histogram", "text", "graph", "pr_curves"
TENSOR = "tensor"
"""Arrays of any plugin: `form_of` has the other forms, or the name of the plugin."""

CLAIMS: Mapping[str, Claims] = {
    SCALAR: (Claim(is_scalar=True),),
    IMAGE: IMAGE_CLAIMS,
    AUDIO: AUDIO_CLAIMS,
    HISTOGRAM: HISTOGRAM_CLAIMS,
    TEXT: (Claim("tensor", "text", False),),
    GRAPH: (Claim("graph_def"), Claim("tensor", "graphs", False)),
    PR_CURVES: (Claim("tensor", "pr_curves", False),),
    TENSOR: (Claim("tensor"),),
}
"""The kinds of each form that can be decoded."""


@lru_cache(maxsize=1024)
def form_of(kind: Kind) -> str:
    """The key in CLAIMS for a kind, or else the plugin in its metadata, or else its field."""
    for form, claims in CLAIMS.items():
        if form != TENSOR and any(claim.matches(kind) for claim in claims):
            return form
    return kind.plugin_name or kind.field


def plural_of(form: str) -> str:
    """`images` for `image`: also the method of a run."""
    return form if form in (AUDIO, PR_CURVES) else f"{form}s"
