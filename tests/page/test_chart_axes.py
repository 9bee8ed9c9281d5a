"""The y axis of one chart: its scale and its ends, from the card's menu to a figure."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

NOTES = "Object.fromEntries(tb.all('.tb-card').map((card) => [card.ariaLabel, card.querySelector('.tb-chart-note')?.textContent]))"  # noqa: E501
OF_LINK = "scalars.cards=loss,y:log;acc,range:0:1"


@pytest.fixture
def server(serve: Callable[..., Any], tmp_path: Path) -> Any:
    """One run: of `acc` some values are above 1, of `sign` none is above 0."""
    scalars = {
        "loss": [(step, 10.0 ** (-step / 20)) for step in range(100)],
        "acc": [(step, step / 50) for step in range(100)],
        "sign": [(step, -1.0 * step) for step in range(100)],
    }
    write_run(tmp_path / "logs", "run", scalars=scalars)
    return serve(tmp_path / "logs")


def open_menu(page: Any, tag: str) -> Any:
    page.get_by_role("button", name=f"More options for {tag}").click()
    form = page.get_by_role("form", name="Y axis of this chart")
    form.wait_for()
    return form


def wait_for_address(page: Any, words: str) -> None:
    page.wait_for_function("(words) => location.hash.includes(words)", arg=words)


def wait_for_notes(page: Any, **notes: str) -> None:
    page.wait_for_function(
        f"(wanted) => {{ const notes = {NOTES};"
        " return Object.entries(wanted).every(([tag, note]) => notes[tag] === note); }",
        arg=notes,
    )


def saved(page: Any, button: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return str(download.value.path().read_text("utf-8"))


def y_ticks(svg: str) -> list[str]:
    """The labels of the y axis, which end at its line, from the lowest value on."""
    return re.findall(r'<text x="-6" [^>]*text-anchor="end"[^>]*>([^<]*)<', svg)


def test_two_charts_have_a_log_axis_and_one_from_0_to_1(server: Any, new_profile: Any) -> None:
    """With the keys, in a link, and in its figure and CSV."""
    page = new_profile().open(server.url)
    page.wait_for_function("() => tb.canvas('acc') && tb.canvas('loss')")
    form = open_menu(page, "loss")
    form.get_by_label("Scale").focus()
    page.keyboard.type("Log")
    wait_for_address(page, "scalars.cards=loss,y:log")
    for refused in ("0", "-1"):
        form.get_by_label("From").fill(refused)
        page.keyboard.press("Enter")
        alert = form.get_by_role("alert")
        alert.get_by_text(f"{refused} is not on a log axis: its ends are above 0.").wait_for()
        assert form.get_by_label("From").input_value() == refused
    page.keyboard.press("Escape")
    form.wait_for(state="detached")

    form = open_menu(page, "acc")
    form.get_by_label("From").focus()
    page.keyboard.type("0")
    page.keyboard.press("Tab")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    wait_for_address(page, OF_LINK)
    page.keyboard.type("0")  # after the 1
    page.keyboard.press("Escape")
    form.wait_for(state="detached")
    wait_for_notes(page, acc="y axis: 0 to 1", loss="")
    assert page.evaluate("() => location.hash").endswith(OF_LINK)

    linked = new_profile().open(server.url, f"#scalars&{OF_LINK}")
    wait_for_notes(linked, acc="y axis: 0 to 1", loss="")
    form = open_menu(linked, "acc")
    fields = [form.get_by_label(name).input_value() for name in ("Scale", "From", "To")]
    assert fields == ["", "0", "1"]
    figure = saved(linked, "SVG")
    assert ">y axis: 0 to 1, values beyond the y axis not shown<" in figure
    assert y_ticks(figure)[0] == "0"
    assert y_ticks(figure)[-1] == "1.0"
    rows = list(csv.DictReader(saved(linked, "CSV as drawn").splitlines()))
    assert len(rows) == 100
    assert {(row["y_scale"], row["y_from"], row["y_to"]) for row in rows} == {("linear", "0", "1")}
    form.get_by_label("Scale").select_option("Log")  # with its ends: this says why not
    form.get_by_text("0 is not on a log axis: its ends are above 0.").wait_for()
    assert linked.evaluate("() => location.hash").endswith(OF_LINK)
    form.get_by_label("From").fill("")
    linked.keyboard.press("Enter")
    wait_for_address(linked, "acc,y:log,range::1")
    wait_for_notes(linked, acc="y axis: up to 1, values ≤ 0 not shown")
    form.get_by_label("To").fill("")
    linked.keyboard.press("Enter")
    form.get_by_label("Scale").select_option("As all charts")
    linked.wait_for_function("() => location.hash.endsWith('cards=loss,y:log')")
    linked.keyboard.press("Escape")
    open_menu(linked, "loss")
    assert ">y axis: log scale<" in saved(linked, "SVG")


def test_a_log_chart_without_positive_values_says_so(server: Any, new_profile: Any) -> None:
    """In a sentence that is not cut off, in place of an axis; also if a link has ends for it."""
    page = new_profile().open(server.url, "#scalars&scalars.logY=true&scalars.cards=acc,range:0:1")
    why = "All values are 0 or below, which a log axis cannot show."
    ends = "y axis: up to 1, 0 is not on a log axis, values ≤ 0 not shown"
    wait_for_notes(page, sign=why, acc=ends)
    note = page.locator(".tb-card[aria-label=sign] .tb-chart-note")
    assert note.evaluate("(note) => note.scrollWidth <= note.clientWidth")
    open_menu(page, "sign")
    figure = saved(page, "SVG")
    assert why in figure
    assert y_ticks(figure) == []
    page.keyboard.press("Escape")
    form = open_menu(page, "acc")
    form.get_by_text("0 is not on a log axis: its ends are above 0.").wait_for()
