"""The route of the display names and descriptions that writers gave their tags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tbcore_scalars
from tbcore_testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]


def write_described(logdir: Path, run: str, tag: str, name: str, description: str) -> None:
    """Writes a run with one tag, described as TensorFlow's summaries do."""
    with EventFileWriter(logdir / run / "a.tfevents") as writer:
        value = summaries.scalar(tag, 1.0, dtype="float32")
        value.metadata.display_name = name
        value.metadata.summary_description = description
        writer.add_summary(0, value)


def test_equal_texts_are_one_entry(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Runs without a text are in none, and neither are tags whose name is the tag itself."""
    write_described(tbcore_logdir, "a", "loss", "loss", "The *mean* of a batch.")
    write_described(tbcore_logdir, "b", "loss", "", "The *mean* of a batch.")
    write_described(tbcore_logdir, "c", "loss", "Loss", "")
    write_described(tbcore_logdir, "d", "acc", "acc", "")
    write_run(tbcore_logdir, "e", scalars={"loss": [1.0]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    body = {"tags": ["loss", "acc", "none"], "runs": ["c", "a", "b", "d", "e", "gone"]}
    response = client.post("data/plugin/scalars/descriptions", json=body)

    assert response.json() == [
        {"tag": "loss", "display_name": "Loss", "description": "", "runs": ["c"]},
        {
            "tag": "loss",
            "display_name": "",
            "description": "The *mean* of a batch.",
            "runs": ["a", "b"],
        },
    ]
    response = client.post("data/plugin/scalars/descriptions", json={"tags": "loss", "runs": []})
    assert response.status_code == 400


def test_charts_say_that_there_are_texts(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """So that the page asks for them only then; other answers are as they were."""
    write_described(tbcore_logdir, "a", "loss", "", "The mean of a batch.")
    write_run(tbcore_logdir, "b", scalars={"loss": [1.0]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    def says(route: str, **body: object) -> bool:
        response = client.post(f"data/plugin/scalars/{route}", json={"tag": "loss", **body})
        return b'"described":true' in response.content

    assert says("window", runs=["b", "a"])
    assert not says("window", runs=["b"])
    assert says("bands", groups={"x": ["b"], "y": ["a"]})
    assert not says("bands", groups={"x": ["b"]})


def test_a_picture_with_the_tag_of_a_scalar_describes_it_not(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """A run may have an image where others have a scalar."""
    with EventFileWriter(tbcore_logdir / "a" / "a.tfevents") as writer:
        value = summaries.text("loss", "words")
        value.metadata.summary_description = "A text."
        writer.add_summary(0, value)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    body = {"tags": ["loss"], "runs": ["a"]}
    assert client.post("data/plugin/scalars/descriptions", json=body).json() == []
