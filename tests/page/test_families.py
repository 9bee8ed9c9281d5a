"""Colours by family and attribute, groups by attribute, and the offer to average over seeds."""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import Page, summaries, write_run
from tbcore_testing.demo import write_demo

MODELS = {"cnn": "sgd", "mlp": "sgd", "resnet18": "adam", "vit": "adam"}
"""Optimizer by model."""
NUM_SEEDS = 5
MISSING = "#888888"
"""Colour of runs without a value."""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models with five seeds each, and a run without hyperparameters."""
    path = tmp_path_factory.mktemp("logs")
    start = 1_700_000_000.0
    for model, optimizer in MODELS.items():
        for seed in range(NUM_SEEDS):
            start += 100.0
            hparams = {"optimizer": optimizer, "lr": 10.0 ** -(2 + seed % 2), "seed": seed}
            write_run(
                path,
                f"{model}/seed{seed}",
                scalars={"loss": [2.0, 1.0 + (start - 1_700_000_000) / 1000]},
                values=[summaries.session_start(hparams)],
                wall_time=start,
            )
    write_run(path, "notes", scalars={"loss": [1.0, 1.0]}, wall_time=start + 100.0)
    return path


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def colors_of(page: Any) -> dict[str, str]:
    """The colours in the list of runs, by run, once it has all runs."""
    page.wait_for_function(
        "(count) => Object.keys(tb.colors()).length === count", arg=4 * NUM_SEEDS + 1
    )
    colors: dict[str, str] = page.evaluate("() => tb.colors()")
    return colors


def wait_for_rows(page: Any, *names: str) -> None:
    """Waits until the list of runs has exactly these rows at the top level, by their names."""
    page.wait_for_function(
        """(names) => JSON.stringify([...document.querySelectorAll('[role=row][aria-level="1"]')]
          .map((row) => row.title)) === JSON.stringify(names)""",
        arg=list(names),
    )


def hue(color: str) -> float:
    """The hue of `#rrggbb` in degrees, as in HSV."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 360 * colorsys.rgb_to_hsv(red, green, blue)[0]


def is_near(a: float, b: float) -> bool:
    """Whether hues are alike; they differ a little between light and dark shades."""
    return abs((a - b + 180) % 360 - 180) < 25


def open_form(page: Any, name: str = "Group…") -> Any:
    page.get_by_role("button", name=name, exact=True).click()
    return page.get_by_role("form", name="Group runs")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_families_have_hues_and_members_shades(open_page: Any, scheme: str) -> None:
    """All runs differ; the runs of a folder have one hue. A colour chosen by hand wins."""
    page = open_page("#scalars", color_scheme=scheme, viewport={"width": 1400, "height": 1400})
    before = colors_of(page)
    form = open_form(page)

    form.get_by_label("Colour by").select_option("family")

    page.wait_for_function("() => location.hash.includes('color=family')")
    page.wait_for_function(
        "(before) => Object.entries(tb.colors()).every(([run, color]) => color !== before[run])",
        arg={run: color for run, color in before.items() if run != "notes"},
    )
    colors = colors_of(page)
    assert len(set(colors.values())) == len(colors)
    for model in MODELS:
        first, *others = (hue(colors[f"{model}/seed{seed}"]) for seed in range(NUM_SEEDS))
        assert all(is_near(first, other) for other in others), model

    Page(page).run("cnn/seed1").click(button="right")
    page.get_by_role("menu").get_by_label("Colour").fill("#123456")
    page.wait_for_function("() => tb.colors()['cnn/seed1'] === '#123456'")
    page.keyboard.press("Escape")
    form.get_by_label("Colour by").select_option("")
    page.wait_for_function("() => !location.hash.includes('color=')")
    page.wait_for_function(
        "(before) => JSON.stringify(tb.colors()) === JSON.stringify(before)",
        arg={**before, "cnn/seed1": "#123456"},
    )


def test_runs_are_coloured_by_a_hyperparameter(open_page: Any) -> None:
    """Runs with equal values have one colour, which a legend explains; others are grey."""
    page = open_page("#scalars", viewport={"width": 1400, "height": 1400})
    form = open_form(page)
    form.get_by_label("Colour by").select_option("optimizer")

    legend = page.get_by_role("group", name="Colours by optimizer")
    legend.wait_for()
    assert legend.inner_text().split() == ["optimizer", "adam", "sgd", "none"]
    colors = colors_of(page)
    assert colors["cnn/seed0"] == colors["mlp/seed4"]
    assert colors["vit/seed0"] == colors["resnet18/seed4"]
    assert len({colors["cnn/seed0"], colors["vit/seed0"], MISSING}) == 3
    assert colors["notes"] == MISSING
    page.wait_for_function("() => location.hash.includes('color=by:optimizer')")


def test_runs_are_coloured_by_the_last_value_of_a_tag(open_page: Any) -> None:
    """Many numbers are on a scale; the attribute is typed. A mistake offers close names."""
    page = open_page("#scalars", viewport={"width": 1400, "height": 1400})
    form = open_form(page)
    form.get_by_label("Colour by").select_option("another attribute…")
    field = form.get_by_label("Attribute for colours")
    field.fill("los:last")
    field.press("Tab")
    form.get_by_text("No run has los:last. Close: loss:last").wait_for()
    field.fill("loss:last")
    field.press("Tab")

    scale = page.get_by_role("img", name="from 1 to 3")
    scale.wait_for()
    assert len(set(colors_of(page).values())) == 4 * NUM_SEEDS + 1


def test_runs_are_grouped_by_hyperparameters(open_page: Any) -> None:
    """Hyperparameters that make fewer groups than runs are suggested, with the keyboard, too."""
    page = open_page("#scalars")
    form = open_form(page)
    suggestion = form.get_by_role("button", name="By optimizer 2 values")
    suggestion.focus()
    page.keyboard.press("Enter")
    form.get_by_text("3 groups of 21 runs, 1 with a single run").wait_for()
    wait_for_rows(page, "notes", "optimizer=adam", "optimizer=sgd")
    page.wait_for_function("() => location.hash.includes('group=by:optimizer')")

    page.get_by_role("button", name="Grouped: optimizer", exact=True).wait_for()
    form.get_by_role("textbox", name="Rule").fill("by:optimizer,lr")
    form.get_by_text("5 groups of 21 runs").wait_for()
    form.get_by_role("textbox", name="Rule").fill("by:optimiser")
    form.get_by_text("No run has optimiser. Close: optimizer").wait_for()
    form.get_by_role("textbox", name="Rule").fill("by:loss:mean")
    form.get_by_text("unknown statistic 'mean'").wait_for()


def test_a_link_groups_and_colours_by_attributes(open_page: Any) -> None:
    """Groups have the colour of the value that their runs have in common."""
    page = open_page("#scalars&group=by:lr&color=by:lr")
    wait_for_rows(page, "lr=0.001", "lr=0.01", "notes")
    legend = page.get_by_role("group", name="Colours by lr")
    legend.wait_for()
    assert legend.inner_text().split() == ["lr", "0.001", "0.01", "none"]
    assert page.get_by_text("These look like").count() == 0

    page = open_page("#scalars&color=by:Took")
    legend = page.get_by_role("group", name="Colours by took")
    legend.wait_for()
    assert legend.inner_text().splitlines() == ["took", "2 s", "3 s"]

    page = open_page("#scalars&group=by:optimiser")
    page.get_by_text("Cannot group by “by:optimiser”: no run has optimiser.").wait_for()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("lr", "expected “family”, or “by:” and an attribute, as in by:lr"),
        ("by:", "name one attribute after by:, as in by:lr"),
        ("by:lr,seed", "name one attribute after by:, as in by:lr"),
        ("by:optimiser", "no run has optimiser; close: optimizer"),
        (
            "by:loss:mean",
            "unknown statistic 'mean'; expected last, min, max, nan, at(STEP) or change(STEPS)",
        ),
    ],
)
def test_a_link_with_an_unknown_colour_rule_says_so(open_page: Any, rule: str, reason: str) -> None:
    """In the list of runs, whose runs keep the colours that they have without a rule."""
    colors = open_page("#scalars")
    page = open_page(f"#scalars&color={rule}")
    page.get_by_text(f"Cannot colour by “{rule}”: {reason}.").wait_for()
    assert colors_of(page) == colors_of(colors)


def test_suggested_groups_name_what_they_put_together(open_page: Any) -> None:
    """A click groups at once, and "Undo" restores the rule that the form was opened with."""
    page = open_page("#scalars&group=seeds")
    form = open_form(page, "Grouped: seeds")
    form.get_by_role("button", name="Average over cnn, mlp, … ").click()
    page.get_by_role("button", name="Grouped: {}", exact=True).wait_for()
    form.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Grouped: seeds", exact=True).wait_for()
    form.get_by_role("button", name="Ungroup").click()
    page.get_by_role("button", name="Group…", exact=True).wait_for()


@pytest.mark.parametrize("answer", ["Average", "Not now"])
def test_the_offer_is_made_until_it_is_declined(open_page: Any, answer: str) -> None:
    """Accepting it groups by seeds and colours by family; a later visit makes it again."""
    page = open_page("#scalars")
    offer = page.get_by_text("These look like 4 models × 5 seeds: average over seeds?")
    offer.wait_for()
    rows = page.locator("[role=row]")
    position = rows.first.bounding_box()

    button = page.get_by_role("button", name=answer)
    button.focus()
    page.keyboard.press("Enter")

    offer.wait_for(state="detached")
    if answer == "Average":
        wait_for_rows(page, "cnn/*", "mlp/*", "notes", "resnet18/*", "vit/*")
    else:
        assert rows.first.bounding_box() == position
        assert "group=" not in page.url
    again = open_page("#scalars")
    again.get_by_role("treegrid", name="Runs").wait_for()
    again.wait_for_function("() => tb.all('.tb-card').length > 0")
    if answer == "Average":
        again.mouse.move(900, 500)  # It does not appear under the pointer.
        again.get_by_text("These look like").wait_for()
    else:
        assert again.get_by_text("These look like").count() == 0


def test_the_offer_does_not_appear_under_the_pointer(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """New runs cause the offer; it waits until the pointer leaves the list."""
    write_run(tmp_path / "logs", "vit/seed0", scalars={"loss": [1.0]})
    server = serve(tmp_path / "logs")
    page = profile.open(server.url, "#scalars")
    Page(page).run("vit/seed0").hover()
    for run in ("vit/seed1", "cnn/seed0", "cnn/seed1"):
        write_run(tmp_path / "logs", run, scalars={"loss": [1.0]})
    Page(page).run("cnn/seed1").wait_for()
    offer = page.get_by_text("These look like 2 models × 2 seeds")
    page.evaluate("() => tb.frame()")
    assert offer.count() == 0

    page.locator(".top-bar").hover()
    offer.wait_for()


def test_the_offer_fits_at_400_pixels(server: Any, new_profile: Any) -> None:
    profile = new_profile(viewport={"width": 400, "height": 800}, color_scheme="dark")
    page = profile.open(server.url, "#scalars")
    page.get_by_role("button", name="Runs").click()
    page.get_by_role("button", name="Average").click()
    wait_for_rows(page, "cnn/*", "mlp/*", "notes", "resnet18/*", "vit/*")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_the_demo_is_averaged_over_seeds(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Its other runs stay on their own. The models have hues, since their groups are families."""
    write_demo(tmp_path / "demo")
    page = profile.open(serve(tmp_path / "demo").url, "#scalars&query=models")
    page.get_by_text("These look like 4 models × 5 seeds: average over seeds?").wait_for()
    page.get_by_role("button", name="Average", exact=True).click()
    models = ("cnn_small", "mlp", "resnet18", "vit_tiny")
    wait_for_rows(page, *(f"models/{model}/*" for model in models))
    boxes = page.locator('[role=row][aria-level="1"] input')
    colors = boxes.evaluate_all(
        "(boxes) => boxes.map((box) => box.style.getPropertyValue('--tb-check'))"
    )
    assert len(set(colors)) == 4
    page.locator(".tb-row[title='models/mlp/*'] .tb-twist").click()
    page.wait_for_function("(color) => tb.colors()['models/mlp/seed2'] === color", arg=colors[1])


def accept_offer(page: Any) -> None:
    """Averages over seeds, as the list of runs offers."""
    page.get_by_role("button", name="Average").click()
    wait_for_rows(page, "cnn/*", "mlp/*", "notes", "resnet18/*", "vit/*")
    page.wait_for_function("() => location.hash.includes('group=seeds&color=family')")


def test_averaging_is_undone_in_one_click(open_page: Any) -> None:
    """A line in place of the offer takes back groups and colours, and is gone in the next visit."""
    page = open_page("#scalars")
    page.get_by_text("These look like").wait_for()
    colors = colors_of(page)
    accept_offer(page)
    line = page.get_by_text("Averaged over seeds, coloured by family")
    line.wait_for()
    page.get_by_role("button", name="Undo").click()
    line.wait_for(state="detached")
    page.wait_for_function("() => location.hash === '#scalars'")
    page.wait_for_function(
        "(colors) => JSON.stringify(tb.colors()) === JSON.stringify(colors)", arg=colors
    )
    assert page.get_by_text("These look like").count() == 0


def test_one_line_stands_below_the_list(open_page: Any) -> None:
    """What was done last; others are one click away, and the one with Undo leaves by itself."""
    page = open_page("#scalars")
    page.clock.install()
    accept_offer(page)
    averaged = page.get_by_text("Averaged over seeds, coloured by family")
    averaged.wait_for()
    foot = page.locator(".tb-foot")
    assert foot.get_by_role("button").all_inner_texts() == ["Undo"]
    page.locator(".tb-row[title='mlp/*'] .tb-twist").click()
    page.get_by_role("checkbox", name="mlp/seed2", exact=True).uncheck()
    part = page.get_by_text("1 group is shown in part: 1 run is unchecked.")
    page.get_by_role("button", name="1 more").click()
    part.wait_for()
    assert averaged.is_visible()
    page.get_by_role("button", name="fewer").click()
    part.wait_for(state="hidden")
    assert averaged.is_visible()
    page.mouse.move(900, 300)
    page.clock.fast_forward(45_000)
    averaged.wait_for(state="detached")
    part.wait_for()
    assert foot.get_by_role("button").count() == 0
    assert page.evaluate("() => location.hash.includes('group=seeds')")


@pytest.mark.parametrize("is_own", [False, True])
def test_ungroup_takes_back_the_colours_of_the_offer(open_page: Any, is_own: bool) -> None:
    """In a later visit, too; colours by family that the reader chose since then stay."""
    page = open_page("#scalars")
    accept_offer(page)
    page.reload()
    button = page.get_by_role("button", name="Grouped: seeds", exact=True)
    button.click()
    assert page.get_by_role("button", name="Undo").count() == 0
    form = page.get_by_role("form", name="Group runs")
    if is_own:
        form.get_by_label("Colour by").select_option("")
        form.get_by_label("Colour by").select_option("family")
    form.get_by_role("button", name="Ungroup").click()
    expected = "#scalars&color=family" if is_own else "#scalars"
    page.wait_for_function("(hash) => location.hash === hash", arg=expected)


def test_the_offer_waits_while_a_query_finds_nothing(open_page: Any) -> None:
    """It appears once the query finds repetitions, and counts those that would be drawn."""
    page = open_page("#scalars&query=nothing")
    page.get_by_text("No runs match.").wait_for()
    page.get_by_role("button", name="Views").wait_for()  # which comes after the first charts
    page.evaluate("() => tb.frame()")
    assert page.get_by_text("These look like").count() == 0
    page.get_by_label("Filter runs").fill("cnn | mlp")
    page.get_by_text("These look like 2 models × 5 seeds: average over seeds?").wait_for()
