"""Display names and descriptions of tags, in the responses that cards are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, make_client, summaries

ROUTES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "histograms": ("series", lambda tag: summaries.histogram(tag, [1.0, 2.0])),
    "distributions": ("series", lambda tag: summaries.histogram(tag, [1.0, 2.0])),
    "images": ("step", lambda tag: summaries.image(tag, summaries.png(2, 2), width=2, height=2)),
    "audio": ("step", lambda tag: summaries.audio(tag, summaries.wav([0.0] * 8))),
    "text": ("step", lambda tag: summaries.text(tag, "words")),
    "pr_curves": ("step", lambda tag: summaries.pr_curve(tag, [True, False], [0.75, 0.5])),
}
"""The route that a tab draws its cards from, and a value of its kind."""


@pytest.mark.parametrize("plugin", ROUTES)
def test_responses_have_the_texts_of_their_tags(tmp_path: Path, plugin: str) -> None:
    """Those of the first metadata, for all steps; a name that is the tag itself is none."""
    route, make = ROUTES[plugin]
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for tag, name, description in (
            ("both", "Shown", "The *mean*.\n<b>"), ("name", "name", "x"), ("same", "same", ""),
            ("plain", "", ""),
        ):  # fmt: skip
            for step in (5, 6):
                value = make(tag)
                if step == 5:
                    value.metadata.display_name = name
                    value.metadata.summary_description = description
                writer.add_summary(step, value)
    client = make_client(tmp_path, plugins=[import_module(f"tbcore_{plugin}")])

    def texts(tag: str, **params: int) -> dict[str, str]:
        query = {"run": "run", "tag": tag, **params}
        found = client.get(f"data/plugin/{plugin}/{route}", params=query).json()
        return {key: found[key] for key in ("display_name", "description") if key in found}

    both = {"display_name": "Shown", "description": "The *mean*.\n<b>"}
    assert texts("both") == both
    assert texts("name") == {"display_name": "", "description": "x"}
    assert texts("same") == texts("plain") == {}
    if route == "step":
        assert texts("both", step=1) == both, "nothing is logged so early, but the tag has a text"
