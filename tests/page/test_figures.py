"""Figures for papers: what their dialog offers, PDF, and what their notes say."""

from __future__ import annotations

import math
import re
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from common_fixtures import until

from tbcore.engine import LogdirSpec
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run

GROUPS = "#scalars&tagQuery=re:^loss$&group=seeds"
PAPER = "Модель Ω λ"
"""A name in letters of several scripts."""


@pytest.fixture
def server(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Three groups of seeds: of a one becomes NaN and one is archived, c is archived."""
    for kind in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    logdir = tmp_path / "logs"
    for group, first in {"a": 1.0, "b": 2.0, "c": 3.0}.items():
        for seed in range(4):
            values = [first + seed / 10 + 1 / (1 + step) for step in range(60)]
            if (group, seed) == ("a", 0):
                values[40:] = [math.nan] * 20
            write_run(logdir, f"{group}/s{seed}", scalars={"loss": values, "other": values})
    write_run(logdir, "without", scalars={"other": [1.0]})
    archived = ["a/s3", *(f"c/s{seed}" for seed in range(4))]
    RunNotes([LogdirSpec(None, str(logdir))]).change(archived, {"archived": True})
    return serve(logdir)


def open_dialog(page: Any, width: str | None = "3.4") -> None:
    page.wait_for_function("() => tb.label('loss').includes('last') || tb.label('loss')")
    card = page.get_by_role("article", name="loss", exact=True)
    card.get_by_role("button", name="More options").click()
    page.get_by_label("Size of the picture").wait_for()
    if width is not None:
        page.get_by_label("Size of the picture").select_option(width)


def figure_of(page: Any) -> ElementTree.Element:
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG", exact=True).click()
    return ElementTree.fromstring(download.value.path().read_text("utf-8"))


def texts_of(page: Any) -> list[str]:
    return [text.text or "" for text in figure_of(page).iter("{http://www.w3.org/2000/svg}text")]


def fill(page: Any, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).fill(text)
    page.keyboard.press("Enter")


def test_names_titles_and_the_place_of_the_legend_are_kept_for_figures(open_page: Any) -> None:
    """For all charts of the log directory, also after a reload, and nowhere but in figures."""
    page = open_page(GROUPS)
    page.wait_for_function("() => tb.label('loss').includes('a/*, b/*')")
    open_dialog(page, None)
    assert page.get_by_label("Place of the legend").count() == 0
    page.get_by_label("Size of the picture").select_option("3.4")
    places = ["outside", "top left", "top right", "bottom left", "bottom right", "none"]
    legend = page.get_by_label("Place of the legend")
    legend.wait_for()
    # The figure is higher than the menu: buttons below it would be out of sight.
    above = page.get_by_role("button", name="SVG", exact=True).bounding_box()
    assert above["y"] < page.get_by_role("group", name="Figure").bounding_box()["y"]
    assert legend.locator("option").all_inner_texts() == places
    page.get_by_text("Names in figures").click()
    fill(page, "Name of a/*", PAPER)
    fill(page, "Title of the x axis", "Training step")
    fill(page, "Title of the y axis", "Validation loss")
    named = {PAPER, "b/*", "Training step", "Validation loss"}
    until(lambda: named <= set(texts_of(page)))
    assert not {"a/*", "step", "loss"} & set(texts_of(page))
    legend.select_option("bottom left")
    page.get_by_alt_text("The figure").wait_for()
    assert page.evaluate("() => tb.label('loss')").count("a/*") == 1
    page.reload()
    page.wait_for_function("() => tb.label('loss').includes('a/*, b/*')")
    open_dialog(page, None)
    assert page.get_by_label("Size of the picture").input_value() == "3.4"
    page.get_by_text("Names in figures").click()
    assert page.get_by_label("Name of a/*").input_value() == PAPER
    assert page.locator("label", has=page.get_by_label("Name of a/*")).inner_text() == "a/*"
    assert page.get_by_label("Place of the legend").input_value() == "bottom left"
    assert PAPER in texts_of(page)
    fill(page, "Name of a/*", "")
    until(lambda: "a/*" in texts_of(page))
    page.get_by_label("Place of the legend").select_option("none")
    until(lambda: not {"a/*", "b/*"} & set(texts_of(page)))
    # What is being typed stays when the figure is drawn again.
    axis = page.get_by_label("Title of the x axis")
    axis.fill("T")
    figure = page.get_by_alt_text("The figure")
    before = figure.get_attribute("src")
    page.get_by_label("Place of the legend").evaluate(
        """(select) => {
          select.value = 'outside';
          select.dispatchEvent(new Event('change'));
        }"""
    )
    until(lambda: figure.get_attribute("src") != before)
    assert axis.input_value() == "T"


def test_a_pdf_is_printed_with_real_letters_on_a_page_of_its_size(
    open_page: Any, profile: Any
) -> None:
    """The button says that the print dialog opens. What it gets, a browser saves as one page, whose
    letters of any script are text, and which has no pixels."""
    page = open_page(GROUPS)
    page.wait_for_function("() => tb.label('loss').includes('a/*, b/*')")
    open_dialog(page)
    page.get_by_text("Names in figures").click()
    fill(page, "Name of a/*", PAPER)
    # Without a dialog, printing ends at once, and the frame would be gone.
    page.evaluate("() => { HTMLIFrameElement.prototype.remove = () => {}; }")
    page.get_by_role("button", name="PDF (opens the print dialog)").click()
    frame = "document.querySelector('iframe')?.contentDocument"
    page.wait_for_function(f"() => {frame}?.querySelector('svg')")
    title, body, css = page.evaluate(
        f"""() => [{frame}.title, {frame}.body.innerHTML,
          {frame}.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules]).map(
            (rule) => rule.cssText).join(' ')]"""
    )
    assert title == "loss"
    paper = profile.context.new_page()
    paper.set_content(body)
    paper.evaluate(
        """(css) => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(css);
          document.adoptedStyleSheets = [sheet];
        }""",
        css,
    )
    pdf = paper.pdf(prefer_css_page_size=True)
    paper.close()
    [box] = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    height = float(re.search(r'height="([\d.]+)in"', body)[1])  # type: ignore[index]
    assert abs(float(box[0]) - 3.4 * 72) < 1  # of points
    assert abs(float(box[1]) - 72 * height) < 1
    assert b"/Subtype /Image" not in pdf
    assert b"/FontFile" in pdf
    assert set(PAPER) <= letters_of(pdf)


def letters_of(pdf: bytes) -> set[str]:
    """The letters to which the fonts of a PDF map their shapes."""
    letters: set[str] = set()
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.S):
        try:
            plain = zlib.decompress(stream)
        except zlib.error:
            continue
        for kind, rows in re.findall(rb"beginbf(char|range)(.*?)endbf", plain, re.S):
            for *codes, letter in re.findall(rb"<(\w+)>\s*" * (2 if kind == b"char" else 3), rows):
                first, last = int(codes[0], 16), int(codes[-1], 16)
                letters |= {chr(int(letter, 16) + k) for k in range(last - first + 1)}
    return letters


def note_of(page: Any) -> str:
    """The lines of text at the left edge below the axes, without the legend."""
    rows = [
        text.text or ""
        for text in figure_of(page).iter("{http://www.w3.org/2000/svg}text")
        if (text.get("x"), text.get("y")) == ("4", "7.8")
    ]
    return " ".join(rows)


def test_the_note_has_all_that_is_not_in_the_picture_and_nothing_twice(open_page: Any) -> None:
    """Crosses, archived and unchecked runs, groups in part, the filter, smoothing, the range."""
    band = "mean of 3 to 4 runs (+0 to 1 archived), band: ± standard deviation (n − 1)"
    cross = "cross: one more run NaN or infinite, not in the mean"
    page = open_page(GROUPS)
    page.wait_for_function("() => tb.label('loss').includes('a/*, b/*')")
    open_dialog(page)
    dotted = "dotted, no band: fewer runs than before"
    until(lambda: note_of(page) == f"4 runs archived; {band}; {cross}; {dotted}")

    page = open_page(f"{GROUPS}&runs=!b/s0,b/s1&scalars.smooth=0.5&scalars.zoom=loss,5,30")
    page.wait_for_function("() => tb.label('loss').includes('zoomed in')")
    open_dialog(page)
    note = (
        "smoothed by 0.5 (exponential); 1 group in part: without 2 runs unchecked; "
        f"4 runs archived; {band.replace('3 to 4', '2 to 3')}; x axis: 5 to 30 of 0 to 59"
    )
    until(lambda: note_of(page) == note)

    page = open_page(f"{GROUPS}&query=s0 | s1&scalars.ends=true")
    page.wait_for_function("() => tb.label('loss').includes('a/*, b/*')")
    open_dialog(page)
    ended = "mean up to where the first run ends; 2 groups in part: without 3 runs not found by "
    until(lambda: note_of(page).startswith(f"{ended}the filter; 2 runs archived; mean of 2 runs"))

    # Without groups: of the runs with the tag.
    page = open_page("#scalars&tagQuery=re:^loss$&runs=!b/s0,without")
    page.wait_for_function("() => tb.label('loss').includes('a/s0')")
    open_dialog(page)
    until(lambda: note_of(page) == "1 run unchecked; 5 runs archived; cross: NaN")


def test_the_note_says_that_runs_are_older_than_the_newest(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    for number in range(103):
        write_run(tmp_path / "logs", f"r{number:03}", scalars={"loss": [1.0, number]})
    page = profile.open(serve(tmp_path / "logs").url)
    page.wait_for_function("() => tb.label('loss').includes('97 more')")
    open_dialog(page)
    until(lambda: note_of(page) == "3 runs older than the newest 100 runs")
