"""Runs, tags, hyperparameters and settings called like members that objects of JavaScript inherit.

An object that is used as a map has such names although nobody added them: `constructor`, `keys`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tbcore_custom_scalars.proto.layout_pb2 import Category, Chart, Layout, MultilineChartContent
from tbcore_testing import EventFileWriter, Page, summaries, write_run
from tbcore_testing.conformance.logs import ExtraData, write_inherited_names
from tbcore_testing.conformance.odd_names import INHERITED_NAMES

HELPERS = """
// Whether the open tab shows what it has of a run's tag, by the name of the tab.
globalThis.isShown = {
  scalars: (run, tag) => [...tb.card(tag)?.querySelectorAll('.tb-legend th[scope=row]') ?? []]
    .some((row) => row.title === run),
  histograms: (run, tag) => tb.label(`${tag} in ${run}`).includes('1 histogram'),
  distributions: (run, tag) => tb.label(`${tag} in ${run}`).includes('by step from'),
  images: (run, tag) => cell(run, tag)?.querySelector('img')?.naturalWidth > 0,
  audio: (run, tag) => cell(run, tag)?.querySelector('audio')?.src.includes('individualAudio'),
  text: (run, tag) => cell(run, tag)?.textContent.includes('markdown'),
  pr_curves: (run, tag) => [...tb.card(tag)?.querySelectorAll('.pr-values tbody tr') ?? []]
    .some((row) => row.cells[0].title === run && row.cells.length > 3),
};
const cell = (run, tag) => [...tb.card(tag)?.querySelectorAll('.tb-step-cell') ?? []]
  .find((one) => one.getAttribute('aria-label') === run);
// Whether the open tab has shown all pairs of run and tag; scrolls to one that it has not.
const shown = new Set();
globalThis.haveShown = (tab, pairs) => {
  const missing = pairs.filter(([run, tag]) => {
    if (isShown[tab](run, tag)) shown.add(JSON.stringify([run, tag]));
    return !shown.has(JSON.stringify([run, tag]));
  });
  const [[run, tag] = []] = missing;
  (tb.card(tag) ?? tb.card(`${tag} in ${run}`))?.scrollIntoView();
  return missing.length === 0;
};
// The names in the run list, and those that are checked.
globalThis.listed = () => [...document.querySelectorAll('.tb-run')].map((row) => row.title);
globalThis.checked = () => [...document.querySelectorAll('.tb-run')]
  .filter((row) => row.querySelector('input').checked).map((row) => row.title);
"""
TRIALS = [f"constructor/{name}" for name in ("get", "map", "toString", "valueOf")]


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All types of data below such names, and a sweep over hyperparameters that have them."""
    logdir = tmp_path_factory.mktemp("logdir")
    write_inherited_names(logdir, ExtraData())
    for index, run in enumerate(TRIALS):
        hparams = {"constructor": index % 2, "__proto__": f"p{index}", "toString": index / 10}
        write_run(
            logdir,
            run,
            values=[summaries.session_start(hparams)],
            scalars={"valueOf": [index, index + 0.5], "get/size": [1.0, 2.0]},
        )
    tags = [f"^{name}$" for name in INHERITED_NAMES]
    chart = Chart(title="constructor", multiline=MultilineChartContent(tag=tags))
    layout = Layout(category=[Category(title="__proto__", chart=[chart])])
    with EventFileWriter(logdir / "has" / "layout.tfevents") as writer:
        value = summaries.string_tensor(
            "custom_scalars__config__",
            [layout.SerializeToString()],
            shape=(),
            plugin_name="custom_scalars",
        )
        writer.add_summary(0, value)
    return serve_for_module(logdir)


def tags_of(server: Any, plugin: str) -> list[tuple[str, str]]:
    """The pairs of run and tag that a plugin lists."""
    with urlopen(f"{server.url}/data/plugin/{plugin}/tags") as response:
        tags = json.load(response)
    return [(run, tag) for run in tags for tag in tags[run]]


TABS = ["scalars", "histograms", "distributions", "images", "audio", "text", "pr_curves"]


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_shows_every_run_and_tag(open_page: Any, server: Any, tab: str) -> None:
    pairs = tags_of(server, tab)
    assert {"constructor", "__proto__"} & {run for run, _ in pairs}
    assert len({tag for _, tag in pairs} & set(INHERITED_NAMES)) >= 8
    page = open_page(f"#{tab}&scalars.legend=true")
    page.wait_for_function(
        "([tab, pairs]) => haveShown(tab, pairs)", arg=[tab, [list(pair) for pair in pairs]]
    )


def test_a_chart_of_several_tags_has_all_runs(open_page: Any, server: Any) -> None:
    page = open_page("#custom_scalars&custom_scalars.legend=true")
    runs = {run for run, tag in tags_of(server, "scalars") if tag in INHERITED_NAMES}
    page.wait_for_function(
        """(runs) => {
          const names = [...tb.card('constructor')?.querySelectorAll('.tb-legend tbody th') ?? []];
          const titles = names.map((name) => name.title.split(' · ')[0]);
          return runs.every((run) => titles.includes(run));
        }""",
        arg=sorted(runs),
    )


@pytest.mark.parametrize("run", ["constructor", "__proto__", "toString"])
def test_the_graph_of_a_run_is_shown(open_page: Any, run: str) -> None:
    page = open_page(f"#graphs&graphs.run={run}&graphs.node={run}/output")
    page.wait_for_function("() => tb.all('.frame')[0]?.getAttribute('aria-busy') === 'false'")
    assert run in page.evaluate("() => tb.all('select').map((select) => select.value)")
    page.wait_for_function("() => tb.all('.pane')[0]?.textContent.includes('Softmax')")


def test_hyperparameters_are_in_the_table_the_charts_and_the_files(open_page: Any) -> None:
    page = open_page(
        "#hparams&query=constructor/&hparams.show=table,parallel,scatter"
        "&hparams.filter=h.constructor,is,1&hparams.sort=h.__proto__,asc"
    )
    page.wait_for_function("() => tb.all('.tb-summary')[0]?.textContent.startsWith('3 of 5 ')")
    headings = page.evaluate(
        "() => tb.all('.trials .sort').map((one) => one.textContent.trim().replace('↑', ''))"
    )
    assert {"constructor", "__proto__", "toString", "valueOf"} <= set(headings)
    names = page.evaluate("() => tb.all('.trials tr[data-name]').map((row) => row.dataset.name)")
    assert names == ["constructor/map", "constructor/valueOf", "constructor"]
    page.locator("[aria-label*='rows over'][aria-label*='constructor']").wait_for()
    files = {}
    for kind in ("CSV", "JSON"):
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        files[kind] = Path(download.value.path()).read_text("utf-8")
        page.keyboard.press("Escape")
    header, *rows = csv.reader(files["CSV"].splitlines())
    # Tags have the same names; hyperparameters come first.
    places = [header.index(name) for name in ("name", "constructor", "__proto__")]
    assert [[row[place] for place in places] for row in rows] == [
        ["constructor/map", "1", "p1"],
        ["constructor/valueOf", "1", "p3"],
        ["constructor", "1", ""],
    ]
    found = [one["hparams"] for one in json.loads(files["JSON"])]
    assert found[0] == {"constructor": 1, "__proto__": "p1", "toString": 0.1}


# The run list -------------------------------------------------------------------------------------


def test_the_run_list_is_filtered_by_any_name(open_page: Any) -> None:
    """Rows can be opened and closed while the filter has such a name."""
    page = open_page("#scalars")
    for name in INHERITED_NAMES:
        page.get_by_label("Filter runs").fill(name)
        page.wait_for_function(
            "(name) => listed().includes(name) && listed().every((run) => run.includes(name))",
            arg=name,
        )
    page.get_by_label("Filter runs").fill("constructor")
    page.get_by_role("button", name="Collapse constructor/").click()
    page.wait_for_function("() => !listed().includes('constructor/map')")


def test_the_run_list_finds_groups_and_colours_by_any_hyperparameter(open_page: Any) -> None:
    page = open_page("#scalars&query=constructor%3D1&columns=constructor,__proto__,valueOf:last")
    page.wait_for_function(
        "() => listed().filter((run) => run.startsWith('constructor/')).length === 2"
    )
    cells = "() => [...document.querySelectorAll('.tb-run')].map((row) => row.textContent)"
    page.wait_for_function(f"() => ({cells})().some((text) => text.includes('p3'))")
    page = open_page("#scalars&query=constructor/&group=by:constructor")
    page.get_by_role("checkbox", name="constructor=0, 2 runs").wait_for()
    page.get_by_role("checkbox", name="constructor=1, 2 runs").wait_for()
    page = open_page("#scalars&color=by:__proto__")
    legend = page.get_by_role("group", name="Colours by __proto__")
    legend.wait_for()
    assert legend.inner_text().split() == ["__proto__", "1", "p0", "p1", "p2", "p3", "none"]


def test_a_link_and_the_browser_remember_runs_of_any_name(open_page: Any) -> None:
    """A link has the unchecked runs, and the browser their colours."""
    page = open_page("#scalars")
    for name in ("__proto__", "constructor"):
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    page.wait_for_function(
        "() => location.hash === '#scalars&runs=~newest,!__proto__,!constructor'"
    )
    for name in ("__proto__", "constructor"):
        row = Page(page).run(name)
        row.click(button="right")
        assert page.get_by_role("menuitem", name="Reset colour").count() == 0
        page.get_by_label("Colour").fill("#123456")
        page.wait_for_function("(name) => tb.colors()[name] === '#123456'", arg=name)
        page.keyboard.press("Escape")
        page.get_by_role("menu").wait_for(state="detached")
    page.reload()
    page.wait_for_function("() => listed().includes('constructor')")
    assert {"__proto__", "constructor"}.isdisjoint(page.evaluate("() => checked()"))
    assert page.evaluate("() => tb.colors().constructor") == "#123456"


# Files --------------------------------------------------------------------------------------------


def test_a_chart_is_written_to_files(open_page: Any, server: Any) -> None:
    tag = "valueOf"
    runs = {run for run, other in tags_of(server, "scalars") if other == tag}
    assert len(runs) > len(TRIALS)
    page = open_page(f"#scalars&tagQuery={quote(f're:^{tag}$')}")
    page.wait_for_function("(tag) => tb.label(tag).includes('by step')", arg=tag)
    page.get_by_role("button", name=f"More options for {tag}").click()
    files = {}
    for kind in ("CSV", "JSON", "SVG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"{tag}.{kind.lower()}"
        files[kind] = Path(download.value.path()).read_text("utf-8")
    assert {row["run"] for row in csv.DictReader(files["CSV"].splitlines())} == runs
    assert set(json.loads(files["JSON"])) == runs
    assert all(f">{run}<" in files["SVG"] for run in runs)
