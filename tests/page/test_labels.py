"""The names and colours that users gave to runs, in all tabs, in a real browser."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore
from tbcore_custom_scalars.proto.layout_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from tbcore_graphs.proto import graph_pb2
from tbcore_testing import EventFileWriter, summaries, write_run

FIRST, SECOND, THIRD = "exp/a1", "exp/a2", "exp/b"
LABEL = "baseline, שלום"
HOSTILE = "<img src=x onerror='globalThis.hacked=1'>"
COLOR = "#ff0080"
LAYOUT = Layout(
    category=[
        Category(
            title="Money",
            chart=[
                Chart(title="lines", multiline=MultilineChartContent(tag=["loss", "price$"])),
                Chart(
                    title="range",
                    margin=MarginChartContent(
                        series=[
                            MarginChartContent.Series(
                                value="price", lower="price/low", upper="price/high"
                            )
                        ]
                    ),
                ),
            ],
        )
    ]
)
WINDOW = {"width": 1400, "height": 1000}

HELPERS = """
globalThis.labelled = {
  text: (tag, selector = '*') => [...tb.card(tag)?.querySelectorAll(selector) ?? []]
    .map((one) => one.textContent.trim().replace(/\\s+/g, ' ')),
  titles: (tag, selector) => [...tb.card(tag)?.querySelectorAll(selector) ?? []]
    .map((one) => one.title),
};
"""


def write_logs(logdir: Path) -> None:
    """Three runs with data for each tab. The first one has two names, the second a hostile one."""
    pixels = summaries.png(8, 6, rgb=(90, 120, 60))
    clip = summaries.wav(np.sin(np.arange(800) / 4) / 2)
    graph = graph_pb2.GraphDef()
    graph.node.add(name="scope/op", op="NoOp")
    for number, run in enumerate((FIRST, SECOND, THIRD)):
        curve = [(step, 1.0 + number + step / 100) for step in range(0, 101, 10)]
        tags = {"loss": 0.0, "price": 3.0, "price/low": 2.0, "price/high": 4.0}
        write_run(
            logdir,
            run,
            hparams={"lr": 0.5 + number, "seed": number},
            scalars={tag: [(s, v + more) for s, v in curve] for tag, more in tags.items()},
            histograms={"weights": [(step, [0.0, number + 1.0, 5.0]) for step in (0, 50, 100)]},
            images={"digit": [(0, pixels), (10, pixels)]},
            audio={"speech": [(0, clip)]},
            texts={"report": [f"words of {number}"]},
            graph=graph.SerializeToString(),
        )
        with EventFileWriter(logdir / run / "more.tfevents") as writer:
            writer.add_summary(4, summaries.pr_curve("cats", [True, False], [0.75, 0.5]))
            layout = [LAYOUT.SerializeToString()]
            name = "custom_scalars"
            writer.add_summary(
                0,
                summaries.string_tensor(f"{name}__config__", layout, shape=(), plugin_name=name),
            )


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    write_logs(logdir)
    logs = tbcore.open(logdir)
    logs[FIRST].display_name, logs[FIRST].color = LABEL, COLOR
    logs[SECOND].display_name = HOSTILE
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


@pytest.fixture
def open_labelled(server: Any, profile: Any) -> Callable[[str], Any]:
    """Opens a page, and shows what `hash` says when its notes are there."""

    def open(hash: str, url: str = server.url) -> Any:
        page = profile.open(url, viewport=WINDOW)
        page.evaluate(HELPERS)
        page.wait_for_function(
            "(label) => [...document.querySelectorAll('.tb-run .tb-name')]"
            ".some(({ textContent }) => textContent.replace(/\\s*\\n\\s*/g, '').trim() === label)",
            arg=LABEL,
        )
        page.evaluate("(hash) => { location.hash = hash; }", hash)
        return page

    return open


SHOWN = {
    "#scalars": "tb.label('loss').includes(`: ${label}, ${hostile}, exp/b`)",
    "#distributions": "labelled.text(`weights in ${label}`, '.tb-card-run .tb-name').length === 1"
    " && tb.label(`weights in ${label}`).includes('by step')",
    "#histograms": "labelled.text(`weights in ${label}`, '.tb-card-run .tb-name').length === 1"
    " && tb.label(`weights in ${label}`).includes(label)",
    "#images": "labelled.titles('digit', '.tb-step-cell header')[0] === title"
    " && labelled.text('digit', '.tb-step-cell header .tb-name').join().includes('baseline')"
    " && tb.card('digit').querySelector('.logged-image')?.ariaLabel.includes(label)",
    "#audio": "labelled.titles('speech', '.tb-step-cell header')[0] === title"
    " && tb.card('speech').querySelector('audio')?.ariaLabel.includes(label)",
    "#text": "labelled.titles('report', '.tb-step-cell header')[0] === title"
    " && tb.card('report').querySelector('.text-sample')?.ariaLabel.includes(label)",
    "#pr_curves": "labelled.titles('cats', 'tbody th').includes(title)"
    " && labelled.text('cats', 'tbody th').join().includes('baseline')",
    "#hparams&hparams.show=table": "tb.all('tr[data-name=\"exp/a1\"] th')[0]?.title === title"
    " && tb.all('.where .run').length === 1",
    "#compare": "tb.all('.compare-table thead th').some((one) => one.title === title)"
    " && tb.all('.tb-pick option').some((one) => one.textContent === label"
    " && one.value === 'exp/a1')",
    "#graphs": "tb.all('select option').some((one) => one.textContent === label"
    " && one.value === 'exp/a1')"
    " && tb.all('.picker .tb-name')[0]?.textContent.includes('baseline')",
    "#custom_scalars&custom_scalars.legend=true": (
        "labelled.text('lines', 'tbody th').join().includes(`${label} · price`)"
        " && tb.card('range').querySelector('.tb-chart')?.ariaLabel.includes(label)"
    ),
}
"""The condition that a tab shows the name that a user gave to a run, by the tab's address."""


@pytest.mark.parametrize("hash", SHOWN)
def test_a_tab_shows_the_names_that_users_gave(open_labelled: Any, hash: str) -> None:
    """The real one is in tooltips, and markup in a name stays text."""
    page = open_labelled(hash)
    page.wait_for_function(
        f"([label, hostile, title]) => {SHOWN[hash]}", arg=[LABEL, HOSTILE, f"{LABEL}\n{FIRST}"]
    )
    assert page.evaluate("() => tb.all('img[src=\"x\"]').length") == 0
    assert page.evaluate("() => globalThis.hacked") is None


def test_the_table_the_tooltip_and_pictures_of_a_chart_have_them(open_labelled: Any) -> None:
    page = open_labelled("#scalars&scalars.legend=true&scalars.with=loss,price/low")
    page.wait_for_function("() => labelled.titles('loss + price/low', 'tbody th').length === 6")
    titles = page.evaluate("() => labelled.titles('loss + price/low', 'tbody th')")
    assert sorted(titles) == sorted(
        title
        for tag in ("loss", "price/low")
        for title in (
            f"{LABEL} · {tag}\n{FIRST}", f"{HOSTILE} · {tag}\n{SECOND}", f"{THIRD} · {tag}",
        )
    )  # fmt: skip
    page.wait_for_function("(color) => tb.pixels('loss + price/low', color) > 20", arg=COLOR)
    assert page.evaluate("() => tb.colors()['exp/a1']") == COLOR
    card = page.get_by_role("article", name="loss + price/low")
    card.locator(".tb-chart-plot").hover()
    page.wait_for_function(
        "(name) => tb.rows().some((row) => row[0] === name)", arg=f"{LABEL} · loss"
    )
    card.get_by_role("button", name="More options").click()
    texts = {}
    for kind in ("SVG", "CSV", "CSV as drawn"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        texts[kind] = Path(download.value.path()).read_text("utf-8")
    assert f">{LABEL} · loss</text>" in texts["SVG"]
    assert "<img" not in texts["SVG"]
    assert {row["run"] for row in csv.DictReader(texts["CSV"].splitlines())} == {
        FIRST, SECOND, THIRD,
    }  # fmt: skip
    assert {row["run"] for row in csv.DictReader(texts["CSV as drawn"].splitlines())} == {
        FIRST, SECOND, THIRD,
    }  # fmt: skip


def test_bare_words_and_the_order_of_lists_are_those_of_names(open_labelled: Any) -> None:
    page = open_labelled("#scalars&query=exp")
    rows = "() => [...document.querySelectorAll('.tb-run')].map(({ title }) => title)"
    assert page.evaluate(rows) == [FIRST, SECOND, THIRD]
    page.get_by_label("Filter runs").fill("baseline")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 0")


def test_files_of_hyperparameters_have_names_and_the_latex_table_has_labels(
    open_labelled: Any,
) -> None:
    page = open_labelled("#hparams&hparams.show=table&hparams.open=exp/a1")
    page.wait_for_function("() => tb.all('.sessions th[scope=row]').length === 1")
    heading = page.locator(".sessions th[scope=row]")
    assert heading.get_attribute("title") == f"{LABEL}\n{FIRST}"
    page.wait_for_function("(label) => tb.label('loss').includes(label)", arg=LABEL)
    texts = {}
    for kind in ("CSV", "JSON", "LaTeX"):
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        texts[kind] = Path(download.value.path()).read_text("utf-8")
        page.keyboard.press("Escape")
    names = {row["name"] for row in csv.DictReader(texts["CSV"].splitlines())}
    assert names == {FIRST, SECOND, THIRD}
    assert {row["name"] for row in json.loads(texts["JSON"])} == {FIRST, SECOND, THIRD}
    assert LABEL in texts["LaTeX"]
    assert THIRD in texts["LaTeX"]
    page.get_by_role("checkbox", name=f"Check {LABEL}").wait_for()


def test_a_text_an_image_and_a_comparison_name_their_base(open_labelled: Any) -> None:
    page = open_labelled("#text&text.show=changes&text.from=run&text.run=exp/a1")
    page.get_by_text(f"Changes from {LABEL}, step 0:").first.wait_for()
    choice = page.get_by_role("combobox", name="Run", exact=True)
    assert choice.input_value() == FIRST
    assert choice.locator("option").all_text_contents() == [LABEL, HOSTILE, THIRD]
    page = open_labelled("#images&images.compared=overlay&images.run=exp/a1")
    page.get_by_text(f"Half of it is {LABEL}, step 10.").first.wait_for()
    page.locator(".logged-image").first.click()
    heading = page.locator(".lightbox h2")
    assert heading.get_attribute("title") == f"{LABEL}\n{FIRST}\ndigit"
    page.keyboard.press("Escape")
    page = open_labelled("#compare&compare.run=exp/a2")
    page.get_by_role("button", name=f"Compare with {LABEL}").click()
    page.wait_for_function("() => location.hash.includes('compare.run=exp/a1')")
    page.wait_for_function("(label) => tb.label('loss').includes(label)", arg=LABEL)


def test_a_colour_counts_only_where_runs_have_colours(open_labelled: Any) -> None:
    """Not for a group of several runs, and not for the colours of an attribute."""
    page = open_labelled("#scalars&group=re:exp/(.)")
    page.wait_for_function("() => document.querySelector('.tb-folder[title=a]')")
    assert COLOR not in page.evaluate("() => Object.values(tb.colors())")
    page = open_labelled("#scalars&group=re:exp/(.*)")
    page.wait_for_function("(color) => tb.colors()['exp/a1'] === color", arg=COLOR)
    page = open_labelled("#scalars&color=by:lr")
    page.get_by_role("group", name="Colours by lr").wait_for()
    assert page.evaluate("() => tb.colors()['exp/a1']") != COLOR
    page = open_labelled("#scalars&color=family")
    page.wait_for_function("(color) => tb.colors()['exp/a1'] === color", arg=COLOR)


def test_a_changed_name_is_drawn_at_once_without_other_requests(
    serve: Any, profile: Any, tmp_path: Path, open_labelled: Any
) -> None:
    write_logs(tmp_path / "logs")
    logs = tbcore.open(tmp_path / "logs")
    logs[FIRST].display_name = LABEL
    url = serve(tmp_path / "logs").url
    # Two groups, of which one is drawn as a band and one as a line.
    for hash, card in (("#scalars&scalars.legend=true", "loss"),
                       ("#scalars&scalars.legend=true&group=re:exp/(.)", "loss"),
                       ("#histograms", "weights in exp/b")):  # fmt: skip
        logs[FIRST].display_name, logs[THIRD].display_name = LABEL, ""
        page = open_labelled(hash, url)
        page.wait_for_function(
            "(card) => tb.chart(card) && tb.card(card).getAttribute('aria-busy') !== 'true'",
            arg=card,
        )
        if "scalars" in hash:
            page.wait_for_function("() => tb.label('loss').includes('exp/b')")
            page.wait_for_function("() => labelled.titles('loss', 'tbody th').length > 1")
        if "group" in hash:
            # Groups are shown a little later: one answer for each of the four cards.
            page.wait_for_function(
                "() => performance.getEntriesByType('resource').filter("
                "({ name }) => name.endsWith('/scalars/bands')).length >= 4"
            )
        page.evaluate("() => tb.frame()")
        num_requests = len(profile.requested_urls)
        logs[THIRD].display_name = "named now"
        shown = {
            "#histograms": "tb.card('weights in named now')"
            " && tb.label('weights in named now').includes('named now')",
        }.get(hash, "tb.label('loss').includes('named now')"
              " && labelled.titles('loss', 'tbody th').includes('named now\\nexp/b')")  # fmt: skip
        page.wait_for_function(f"() => {shown}")
        asked = profile.requested_urls[num_requests:]
        assert [one for one in asked if "/data/plugin/" in one] == []
        page.close()


def test_two_runs_may_have_one_name(
    serve: Any, profile: Any, tmp_path: Path, open_labelled: Any
) -> None:
    write_logs(tmp_path / "logs")
    logs = tbcore.open(tmp_path / "logs")
    logs[FIRST].display_name = logs[SECOND].display_name = LABEL
    page = open_labelled("#scalars&scalars.legend=true", serve(tmp_path / "logs").url)
    page.wait_for_function(
        "(label) => tb.label('loss').includes(`: ${label}, ${label}, exp/b`)", arg=LABEL
    )
    titles = "() => labelled.titles('loss', 'tbody th')"
    page.wait_for_function("() => labelled.titles('loss', 'tbody th').length === 3")
    assert sorted(page.evaluate(titles)) == sorted(
        [f"{LABEL}\n{FIRST}", f"{LABEL}\n{SECOND}", THIRD]
    )
    page.get_by_role("article", name="loss").get_by_role("button", name="More options").click()
    for size in ("0", "7"):
        page.get_by_label("Size of the picture").select_option(size)
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG", exact=True).click()
        picture = Path(download.value.path()).read_text("utf-8")
        assert picture.count(f">{LABEL}</text>") == 2
