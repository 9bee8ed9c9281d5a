"""Small multiples in Scalars: one chart for each part of the runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

MODELS = {"cnn": 1.0, "mlp": 5.0, "vit_large_patch16": 10.0}
"""The first loss of each model; that of the last goes to step 1,000, of others to 500."""
CARDS = "tb.all('.tb-card:not(.tb-far)').map((card) => card.ariaLabel)"
FADED = """tb.all('.tb-card').filter((card) => {
  const context = card.querySelector('.tb-chart-overlay').getContext('2d');
  return context.getImageData(2, 2, 1, 1).data[3] > 0;
}).map((card) => card.ariaLabel)"""
"""The cards with a veil over their lines, above which one is highlighted."""


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four runs of each model, two for each learning rate, and one without hyperparameters."""
    logdir = tmp_path_factory.mktemp("facets")
    for model, first in MODELS.items():
        for seed in range(4):
            steps = range(0, 1001 if model.startswith("vit") else 501, 20)
            points = [(step, first / (1 + step / 100) + seed / 10) for step in steps]
            hparams = {"model": model, "lr": [0.1, 0.01][seed % 2], "seed": seed}
            write_run(logdir, f"{model}/s{seed}", hparams=hparams, scalars={"t/loss": points})
    write_run(logdir, "plain/s0", scalars={"t/loss": [(0, 2.0), (20, 1.0)], "t/only": [1.0, 2.0]})
    return serve_for_module(logdir)


def wait_for_cards(page: Any, *titles: str) -> None:
    page.wait_for_function(f"(titles) => String({CARDS}) === String(titles)", arg=titles)
    for title in titles:
        page.wait_for_function(
            "(title) => tb.label(title).includes('last') || tb.label(title).includes(':')",
            arg=title,
        )


def of_tag(*parts: str) -> list[str]:
    return [f"{part} · t/loss" for part in parts]


def y_ticks(page: Any, title: str) -> list[str]:
    """The labels of a chart's y axis, in a figure whose name has the part."""
    card = page.locator(f".tb-card[aria-label='{title}']")
    card.hover()
    card.get_by_role("button", name=f"More options for {title}").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG", exact=True).click()
    svg = str(download.value.path().read_text("utf-8"))
    part = title.split(" · ")[0]
    assert part in download.value.suggested_filename
    assert part in svg
    page.keyboard.press("Escape")
    return re.findall(r'<text x="-6" [^>]*text-anchor="end"[^>]*>([^<]*)<', svg)


def test_a_chart_for_each_value_has_the_axes_of_all(server: Any, profile: Any) -> None:
    """And one request; runs without the hyperparameter are the last part. y may be its own."""
    titles = of_tag(*MODELS, "no model")
    bodies: list[dict[str, Any]] = []
    page = profile.context.new_page()
    profile.allow(server.url)
    page.on(
        "request",
        lambda request: (
            request.url.endswith("/window") and bodies.append(json.loads(request.post_data))
        ),
    )
    page.goto(f"{server.url}/#scalars&scalars.facet=by:model")
    wait_for_cards(page, *titles, "no model · t/only")
    for title in titles:
        page.wait_for_function("(title) => tb.label(title).includes('from 0 to 1,000')", arg=title)
    of_loss = [sorted(body["runs"]) for body in bodies if body["tag"] == "t/loss"]
    models = [[f"{model}/s{seed}" for seed in range(4)] for model in MODELS]
    assert sorted(of_loss) == sorted([*models, ["plain/s0"]])
    page.get_by_text("4 charts for each tag, by model").wait_for()
    ticks = {title: y_ticks(page, title) for title in (titles[0], titles[2])}
    assert ticks[titles[0]] == ticks[titles[2]]
    page.goto(f"{server.url}/#scalars&scalars.facet=by:model&scalars.facetY=own")
    page.wait_for_function("() => location.hash.includes('own')")
    assert y_ticks(page, titles[0]) != y_ticks(page, titles[2])


def test_the_charts_of_a_tag_have_one_zoom_and_one_pin(server: Any, profile: Any) -> None:
    """Also in a link, and in full size of one of them."""
    titles = of_tag("cnn", "mlp", "plain", "vit_large_patch16")
    page = profile.open(server.url, "#scalars&tagQuery=loss&scalars.facet=re:^[^/]%2B")
    wait_for_cards(page, *titles)
    page.locator(f".tb-card[aria-label='{titles[0]}'] .tb-chart").focus()
    page.keyboard.press("+")
    for title in titles:
        page.wait_for_function("(title) => tb.label(title).includes('zoomed in')", arg=title)
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("() => tb.all('.tb-chart-pin:not([hidden])').length === 4")
    # The run with the pointer is highlighted in its chart; others have none of it, and do not fade.
    page.get_by_title("mlp/s1").hover()
    page.wait_for_function(f"() => String({FADED}) === 'mlp · t/loss'")
    page.wait_for_function(
        "() => /zoom=t\\/loss,/.test(location.hash) && /&step=/.test(location.hash)"
    )
    linked = profile.open(server.url, page.evaluate("() => location.hash"))
    wait_for_cards(linked, *titles)
    for title in titles:
        linked.wait_for_function("(title) => tb.label(title).includes('zoomed in')", arg=title)
    linked.get_by_role("button", name=f"Full size: {titles[1]}").click()
    linked.wait_for_function("() => tb.all('.tb-expanded').length === 1")
    linked.get_by_role("button", name="One chart for each tag").click()
    wait_for_cards(linked, "t/loss")


def test_groups_are_those_of_the_part(server: Any, profile: Any) -> None:
    """A group of six runs has two in each part: none is missing there."""
    page = profile.open(
        server.url,
        "#scalars&tagQuery=loss&query=-plain&scalars.facet=by:model&group=by:lr&scalars.legend=true",
    )
    titles = of_tag(*MODELS)
    wait_for_cards(page, *titles)
    for title in titles:
        page.wait_for_function("(title) => tb.label(title).includes('lr=0.1, lr=0.01')", arg=title)
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 6")
    texts = page.evaluate("() => tb.all('.tb-legend tbody tr').map((row) => row.innerText)")
    assert all("±" in text and " of " not in text for text in texts), texts


def test_the_menu_offers_what_differs_and_loads_it_then(server: Any, profile: Any) -> None:
    """By a hyperparameter or part of the name; a mistake is said, and charts stay whole."""
    page = profile.open(server.url, "#scalars&tagQuery=loss")
    wait_for_cards(page, "t/loss")
    loaded = """performance.getEntriesByType('resource')
      .filter(({ name }) => /facet|groupings/.test(name)).length"""
    assert page.evaluate(f"() => {loaded}") == 0
    page.get_by_role("button", name="Settings").click()
    choice = page.get_by_label("For each tag,")
    choice.locator("option", has_text="each lr").wait_for(state="attached")
    names = choice.locator("option").all_inner_texts()
    assert names[0] == "one chart"
    assert {"a chart for each model", "a chart for each lr"} <= set(names)
    assert any(name.startswith("a chart for each part of the name: cnn, mlp") for name in names)
    choice.select_option("a chart for each lr")
    wait_for_cards(page, *of_tag("lr=0.01", "lr=0.1", "no lr"))
    rule = page.get_by_label("Rule of small multiples")
    rule.fill("by:modle")
    rule.press("Enter")
    page.get_by_text("No charts by modle: no run has modle; close: model").wait_for()
    wait_for_cards(page, "t/loss")


def test_a_rule_that_is_being_typed_stays_when_runs_come(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    for name in ("cnn/s0", "cnn/s1", "mlp/s0"):
        write_run(tmp_path, name, scalars={"loss": [2.0, 1.0]})
    page = profile.open(serve(tmp_path).url, "#scalars&scalars.facet=re:%5E[%5E/]%2B")
    wait_for_cards(page, *(f"{part} · loss" for part in ("cnn", "mlp")))
    page.get_by_role("button", name="Settings").click()
    rule = page.get_by_label("Rule of small multiples")
    rule.fill("by:modle")
    write_run(tmp_path, "vit/s0", scalars={"loss": [2.0, 1.0]})
    page.get_by_role("option", name="part of the name: cnn, mlp, vit").wait_for(state="attached")
    assert rule.input_value() == "by:modle"
    rule.press("Enter")
    page.get_by_text("No charts by modle: no run has modle").wait_for()


def test_at_most_24_charts_and_how_many_more(serve: Any, profile: Any, tmp_path: Path) -> None:
    """On a phone, one below the other, without scrolling sideways."""
    for number in range(30):
        write_run(tmp_path, f"r{number}", scalars={"loss": [1.0, 2.0]})
    server = serve(tmp_path)
    page = profile.open(
        server.url, "#scalars&scalars.facet=re:.*", viewport={"width": 400, "height": 800}
    )
    page.get_by_text(
        "24 charts for each tag, by re:.*: the first of 30. 6 more are not shown"
    ).wait_for()
    page.wait_for_function("() => tb.all('.facets > .tb-card').length === 24")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    lefts = """new Set(tb.all('.facets > .tb-card').map(
      (card) => card.getBoundingClientRect().left)).size"""
    assert page.evaluate(f"() => {lefts}") == 1


def test_parts_grow_and_come(serve: Any, profile: Any, tmp_path: Path) -> None:
    """A new run is in the chart of its part, and highlighted there alone; a new part has one."""
    for run in ("a/1", "b/1"):
        write_run(tmp_path / "logs", run, scalars={"loss": [1.0, 2.0]})
    page = profile.open(serve(tmp_path / "logs").url, "#scalars&scalars.facet=re:^[^/]%2B")
    wait_for_cards(page, "a · loss", "b · loss")
    for run in ("a/2", "c/1"):
        write_run(tmp_path / "logs", run, scalars={"loss": [(0, 3.0), (50, 9.0)]})
    wait_for_cards(page, "a · loss", "b · loss", "c · loss")
    page.wait_for_function("() => tb.label('a · loss').includes('a/1, a/2')")
    page.wait_for_function("() => tb.label('b · loss').includes('from 0 to 50')")
    page.get_by_title("a/2").hover()
    page.wait_for_function(f"() => String({FADED}) === 'a · loss'")
