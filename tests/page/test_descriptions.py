"""Display names and descriptions of tags in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

TEXT = "The *mean* of a batch, <b>without</b> padding.\n\nSee https://example.org/loss."


def write_described(logdir: Path, run: str, name: str, description: str) -> None:
    """Writes a run with a described loss, as TensorFlow's summaries do."""
    with EventFileWriter(logdir / run / "a.tfevents") as writer:
        for step in range(5):
            value = summaries.scalar("loss", 1.0 / (step + 1), dtype="float32")
            if step == 0:
                value.metadata.display_name = name
                value.metadata.summary_description = description
            writer.add_summary(step, value)


@pytest.mark.parametrize("query", ["", "&group=s{seed}"], ids=["runs", "groups"])
def test_a_card_has_the_description_of_its_tag(
    serve: Any, profile: Any, tmp_path: Path, query: str
) -> None:
    """As text, so that nothing in it becomes an element; in full size, all of its lines."""
    write_described(tmp_path, "s1", "Loss (train)", TEXT)
    write_run(tmp_path, "s2", scalars={"loss": [1.0, 0.5], "plain": [1.0, 0.5]})
    page = profile.open(serve(tmp_path).url, f"#scalars{query}")
    note = page.locator(".tb-card[aria-label=loss] .tb-description")
    note.wait_for()
    assert note.text_content().strip() == f"Loss (train) {TEXT}"
    assert note.locator("*").evaluate_all("all => all.map((one) => one.localName)") == ["b"]
    assert note.get_attribute("title").endswith("\n\ns1")
    assert page.locator(".tb-card[aria-label=plain]").count() == 1
    assert page.locator(".tb-description").count() == 1
    page.get_by_role("button", name="Full size: loss").click()
    page.wait_for_function(
        "(note) => getComputedStyle(note).whiteSpace === 'pre-line'", arg=note.element_handle()
    )


def test_only_checked_runs_describe_a_tag(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Different texts are one note each; a run that is not drawn has none."""
    for number in range(1, 7):
        write_described(tmp_path, f"s{number}", "", f"Text {number}.")
    server = serve(tmp_path)
    for query, expected in (
        ("re:s[13]", ["Text 1.", "Text 3."]),
        ("re:s[1-5]", ["Text 1.", "Text 2.", "Text 3.", "and 2 other descriptions"]),
    ):
        page = profile.open(server.url, f"#scalars&query={query}")
        page.locator(".tb-description").nth(len(expected) - 1).wait_for()
        texts = [text.strip() for text in page.locator(".tb-description").all_text_contents()]
        assert texts == expected


def test_a_page_without_descriptions_asks_for_none(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Neither for the texts nor for the module that shows them."""
    write_run(tmp_path, "s1", scalars={"loss": [1.0, 0.5]})
    page = profile.open(serve(tmp_path).url, "#scalars")
    page.wait_for_function("() => tb.label('loss')?.includes('s1')")
    asked = [url for url in profile.requested_urls if "card-notes" in url or "descriptions" in url]
    assert asked == []


VALUES: dict[str, Callable[[str], Any]] = {
    "histograms": lambda tag: summaries.histogram(tag, [1.0, 2.0, 3.0]),
    "distributions": lambda tag: summaries.histogram(tag, [1.0, 2.0, 3.0]),
    "images": lambda tag: summaries.image(tag, summaries.png(8, 8), width=8, height=8),
    "audio": lambda tag: summaries.audio(tag, summaries.wav(np.zeros(800))),
    "mesh": lambda tag: summaries.mesh(tag, [[[0, 0, 0], [1, 1, 1]]])[0],
    "text": lambda tag: summaries.text(tag, "words"),
    "pr_curves": lambda tag: summaries.pr_curve(tag, [True, False], [0.75, 0.5]),
}
"""A value of each tab's kind."""


@pytest.mark.parametrize("tab", VALUES)
def test_cards_of_every_tab_have_the_texts_of_their_tags(
    serve: Any, profile: Any, tmp_path: Path, tab: str
) -> None:
    """Cards of several runs have each text once; runs without a text have none."""
    for run, name, description in (
        ("a", "Shown", TEXT), ("b", "Shown", TEXT), ("c", "", "Another."), ("d", "", ""),
    ):  # fmt: skip
        with EventFileWriter(tmp_path / run / "a.tfevents") as writer:
            for step in range(3):
                value = VALUES[tab]("tag")
                if step == 0:
                    value.metadata.display_name = name
                    value.metadata.summary_description = description
                writer.add_summary(step, value)
    has_card_per_run = tab in ("histograms", "distributions")

    page = profile.open(serve(tmp_path).url, f"#{tab}")
    notes = page.locator(".tb-description")
    notes.nth(2 if has_card_per_run else 1).wait_for()
    if has_card_per_run:
        cards = page.locator(".tb-card", has=notes)
        labels = cards.evaluate_all("(all) => all.map((card) => card.ariaLabel)")
        assert labels == ["tag in a", "tag in b", "tag in c"]
    else:
        page.wait_for_function("() => tb.all('.tb-description')[0].title.endsWith('a, b')")
    expected = [f"Shown {TEXT}"] * (2 if has_card_per_run else 1) + ["Another."]
    assert [text.strip() for text in notes.all_text_contents()] == expected
    assert notes.first.locator("*").evaluate_all("all => all.map((one) => one.localName)") == ["b"]
