"""Every text of real logs equals that of TensorBoard's plugin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tbcore_text
from tbcore_testing import make_client


def test_texts_are_what_tensorboard_makes_of_them(real_logs: Path) -> None:
    """Plain texts are equal; rendered Markdown is, except for white space."""
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader",
        reason="tensorboard is not installed, and it is what the texts are compared with",
    )
    from tensorboard.plugins.text.text_plugin import text_array_to_html
    from tensorboard.util.tensor_util import make_ndarray

    client = make_client(real_logs, plugins=[tbcore_text], samples_per_plugin={"text": 0})
    tags = client.get("data/plugin/text/tags").json()
    num_texts = 0
    for run, tag in ((name, tag) for name in tags for tag in tags[name]):
        arrays = [
            make_ndarray(value.tensor)
            for path in sorted((real_logs / run).glob("*tfevents*"))
            for event in loader.EventFileLoader(str(path)).Load()
            for value in event.summary.value
            if value.tag == tag
        ]
        for is_markdown in (True, False):
            query = {"run": run, "tag": tag, "markdown": str(is_markdown).lower()}
            ours = [row["text"] for row in client.get("data/plugin/text/text", params=query).json()]
            theirs = [text_array_to_html(array, is_markdown) for array in arrays]
            if is_markdown:
                ours, theirs = (
                    [re.sub(r"\s+", "", html) for html in each] for each in (ours, theirs)
                )
            assert ours == theirs
        num_texts += len(arrays)
    assert num_texts
