"""The columns of the run list when runs are grouped: averages, spreads, widths and CSV."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_columns import GROUP_CELL, HELPERS, START, wait_for_cells, wait_for_names

from tbcore_testing import write_run

SEEDS: dict[str, list[float]] = {
    "lucky": [0.1, 0.8, 0.9],
    "steady": [0.4, 0.5, 0.45],
    "some": [0.2, float("nan"), 0.3],
    "none": [float("nan"), float("nan")],
}
FIGURES = {
    "lucky/*": "0.600 ± 0.436",
    "steady/*": "0.450 ± 0.050",
    "some/*": "0.250 ± 0.071",
    "none/*": "NaN",
}


@pytest.fixture(scope="module")
def seeds(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with configurations of a few seeds each."""
    logdir = tmp_path_factory.mktemp("seeds")
    for name, values in SEEDS.items():
        for seed, value in enumerate(values):
            scalars = {"loss": [(0, 1.0, START), (100, value, START + 60)]}
            hparams = {"lr": 0.1 if name == "lucky" else 0.01, "seed": seed}
            write_run(logdir, f"{name}/s{seed}", hparams=hparams, scalars=scalars, wall_time=START)
    return serve_for_module(logdir)


def test_groups_show_the_mean_of_their_runs_and_are_sorted_by_it(
    seeds: Any, new_profile: Any
) -> None:
    """Not the value of their best run; the title says which runs are in it."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(seeds.url, "#scalars&columns=loss:last,lr,seed&group=seeds")
    for name, figure in FIGURES.items():
        wait_for_cells(page, name, figure, "0.1" if name == "lucky/*" else "0.01", "")
    heading = page.get_by_role("columnheader", name="loss").get_by_role("button")
    assert heading.get_attribute("title") == (
        "Last value of loss\nGroups: mean ± standard deviation (n − 1)\nClick to sort"
    )
    heading.click()
    wait_for_names(page, "some/*,steady/*,lucky/*,none/*")
    heading.click()
    wait_for_names(page, "lucky/*,steady/*,some/*,none/*")
    wait_for_cells(page, "lucky/*", "0.600 ± 0.436", "0.1", "")
    page.get_by_role("button", name="Expand some/*").click()
    wait_for_names(page, "lucky/*,steady/*,some/*,some/s2,some/s0,some/s1,none/*")
    page.get_by_role("separator", name="Width of the run list").press("Enter")
    page.wait_for_function("() => document.querySelector('aside').offsetWidth > 300")
    assert page.evaluate(GROUP_CELL, "some/*") == {
        "title": "loss: mean of the last values of 2 runs: 0.25, "
        "± standard deviation (n − 1) 0.0707107, 1 run NaN or infinite, not in it\n"
        "Fewer than 3 values cannot be compared with the best",
        "text": "0.250 ± 0.071 n<3 ×1",
        "counts": "n<3 ×1",
        "words": "n too small, 1 not finite",
        "isCut": False,
    }
    none = page.evaluate(GROUP_CELL, "none/*")
    assert none["title"] == "loss: no finite last values, 2 runs NaN, not in it"
    page.get_by_label("Filter runs").fill("-s1")
    wait_for_cells(page, "steady/*", "0.425 ± 0.035", "0.01", "")
    wait_for_cells(page, "none/s0", "NaN", "0.01", "0")


MEDIANS = {
    "lucky/*": "0.800 [0.450, 0.850]",
    "steady/*": "0.450 [0.425, 0.475]",
    "some/*": "0.250 [0.225, 0.275]",
    "none/*": "NaN",
}


def test_one_choice_of_average_is_for_the_list_its_table_and_the_charts(
    seeds: Any, new_profile: Any
) -> None:
    """It is in the form for groups and in the address."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    address = "#scalars&columns=loss:last&group=seeds&scalars.legend=true"
    page = profile.open(seeds.url, address)
    wait_for_cells(page, "lucky/*", FIGURES["lucky/*"])
    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("median, quartiles")
    for name, figure in MEDIANS.items():
        wait_for_cells(page, name, figure)
    page.wait_for_function("() => location.hash.includes('group=seeds&average=median')")
    heading = page.get_by_role("columnheader", name="loss").get_by_role("button")
    title = "Groups: median, quartiles"
    assert title in (heading.get_attribute("title") or "")
    heading.click()
    wait_for_names(page, "some/*,steady/*,lucky/*,none/*")
    page.get_by_role("button", name="Final: median [quartiles]", exact=True).wait_for()
    page.get_by_role("button", name="Columns…").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of groups").click()
    (first, *_) = csv.DictReader(Path(download.value.path()).read_text("utf-8").splitlines())
    values = np.array([value for value in SEEDS["some"] if np.isfinite(value)], np.float32)
    names = ["loss:last median", "loss:last quartile 1", "loss:last quartile 3"]
    found = [float(first[name]) for name in names]
    assert found == pytest.approx(np.quantile(values.astype(float), [0.5, 0.25, 0.75]))
    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("mean ± deviation")
    wait_for_cells(page, "lucky/*", FIGURES["lucky/*"])
    page.wait_for_function("() => !location.hash.includes('average=')")


def test_a_link_with_another_average_than_there_is_says_so(seeds: Any, new_profile: Any) -> None:
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(seeds.url, "#scalars&columns=loss:last&group=seeds&average=max")
    wait_for_cells(page, "lucky/*", FIGURES["lucky/*"])
    note = "Groups show the mean: “max” is not one of mean, median, iqm."
    page.get_by_text(note).wait_for()


def test_the_list_of_a_link_is_wide_enough_for_its_columns(seeds: Any, new_profile: Any) -> None:
    """Once: who makes it narrower afterwards has it so when the page is opened again."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    address = "#scalars&columns=loss:last,loss:min,lr,seed"
    for group, cells in (
        ("", ("lucky/s0", "0.10", "0.10", "0.1", "0")),
        ("&group=seeds", ("lucky/*", "0.600 ± 0.436", "0.600 ± 0.436", "0.1", "")),
    ):
        page = profile.open(seeds.url, address + group)
        wait_for_cells(page, *cells)
        # If a page fits its list after the next one, that one would fit its own again.
        page.wait_for_function(
            """(shown) => {
          const list = document.querySelector('.tb-with-columns .tb-list');
          const stored = localStorage.getItem('tbcore.preferences.#sidebar') ?? '{}';
          return JSON.parse(stored).columns?.includes(shown) && list.offsetWidth > 280
            && list.scrollWidth === list.clientWidth;
        }""",
            arg='"seeds"' if group else "null",
        )
        page.locator(".tb-nan").first.wait_for()  # it makes the names wider
        page.evaluate("() => tb.frame().then(tb.frame)")
    divider = page.get_by_role("separator", name="Width of the run list")
    wide = page.locator("aside").bounding_box()["width"]
    for _ in range(4):
        divider.press("ArrowLeft")
    narrow = wide - 4 * 16
    page.wait_for_function(
        "(width) => document.querySelector('aside').offsetWidth === width", arg=narrow
    )
    again = profile.open(seeds.url, address + "&group=seeds")
    wait_for_cells(again, "lucky/*", "0.600 ± 0.436", "0.600 ± 0.436", "0.1", "")
    assert again.locator("aside").bounding_box()["width"] == narrow


def test_the_list_narrows_again_when_columns_go(seeds: Any, new_profile: Any) -> None:
    """By what they had widened it by; a width that the reader chose stays."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(seeds.url, "#scalars&columns=loss:last,loss:min,lr,seed")
    wait_for_cells(page, "lucky/s0", "0.10", "0.10", "0.1", "0")
    width = "() => document.querySelector('aside').offsetWidth"
    page.wait_for_function(f"() => ({width})() > 280")
    page.locator(".tb-nan").first.wait_for()  # it makes the names wider
    page.evaluate("() => tb.frame().then(tb.frame)")
    page.get_by_role("button", name="Columns…").click()
    form = page.get_by_role("form", name="Columns")
    for numbers in (3, 2):
        before = page.evaluate(width)
        form.get_by_role("button", name="Remove").last.click()
        page.wait_for_function(
            f"""([number, before]) => ({width})() < before
              && document.querySelectorAll('.tb-heads .tb-cell').length === number""",
            arg=[numbers, before],
        )
    form.get_by_role("button", name="Remove").last.click()
    form.get_by_role("button", name="Remove").last.click()
    page.wait_for_function(f"() => ({width})() === 280")

    # At a later visit without columns, too.
    page = profile.open(seeds.url, "#scalars&columns=loss:last,loss:min,lr,seed")
    page.wait_for_function(f"() => ({width})() > 280")
    page.close()
    page = profile.open(seeds.url)
    page.wait_for_function(f"() => ({width})() === 280")

    # One that the reader chose.
    page = profile.open(seeds.url, "#scalars&columns=loss:last,loss:min,lr,seed")
    wait_for_cells(page, "lucky/s0", "0.10", "0.10", "0.1", "0")
    page.wait_for_function(f"() => ({width})() > 280")
    fitting = page.evaluate(width)
    page.get_by_role("separator", name="Width of the run list").press("ArrowRight")
    page.wait_for_function(f"(fitting) => ({width})() > fitting", arg=fitting)
    chosen = page.evaluate(width)
    page.get_by_role("button", name="Columns…").click()
    page.get_by_role("form", name="Columns").get_by_role("button", name="Remove").last.click()
    page.wait_for_function("() => document.querySelectorAll('.tb-heads .tb-cell').length === 3")
    page.evaluate("() => tb.frame().then(tb.frame)")
    assert page.evaluate(width) == chosen


def test_the_list_grows_when_its_runs_are_grouped(seeds: Any, new_profile: Any) -> None:
    """So that the figures of the groups fit."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(seeds.url, "#scalars&columns=loss:last")
    wait_for_cells(page, "some/s0", "0.20")
    assert page.locator("aside").bounding_box()["width"] == 280
    page.get_by_role("button", name="Average", exact=True).click()
    wait_for_cells(page, "some/*", "0.250 ± 0.071")
    page.wait_for_function(
        """() => {
      const list = document.querySelector('.tb-with-columns .tb-list');
      return list.offsetWidth > 280 && list.scrollWidth === list.clientWidth;
    }"""
    )


def test_a_group_counts_the_runs_that_are_being_written(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Their values are in its mean, and will change."""
    profile.context.add_init_script(HELPERS)
    now = time.time()
    for seed, wall_time in enumerate([START, now]):
        scalars = {"loss": [(0, float(seed), wall_time)]}
        write_run(tmp_path / "logs", f"a/s{seed}", scalars=scalars, wall_time=wall_time)
    write_run(tmp_path / "logs", "b", scalars={"loss": [1.0]}, wall_time=START)
    page = profile.open(serve(tmp_path / "logs").url, "#scalars&columns=loss:last&group=seeds")
    wait_for_cells(page, "a/*", "0.50 ± 0.71")
    page.wait_for_function(
        f"() => ({GROUP_CELL})('a/*').title.endsWith(', 1 run still being written')"
    )


def test_the_statistics_of_groups_are_written_as_csv(seeds: Any, new_profile: Any) -> None:
    """A row for each group, in full precision; the table of the runs has their groups."""
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    page = profile.open(seeds.url, "#scalars&columns=loss:last,lr,seed&group=seeds&sort=+loss:last")
    wait_for_names(page, "some/*,steady/*,lucky/*,none/*")
    page.get_by_role("button", name="Columns…").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of groups").click()
    assert download.value.suggested_filename == "groups.csv"
    groups = list(csv.DictReader(Path(download.value.path()).read_text("utf-8").splitlines()))
    assert [(group["group"], group["runs"], group["lr"], group["seed"]) for group in groups] == [
        ("some/*", "3", "0.01", ""),
        ("steady/*", "3", "0.01", ""),
        ("lucky/*", "3", "0.1", ""),
        ("none/*", "2", "0.01", ""),
    ]
    for group in groups:
        values = np.array(SEEDS[group["group"].removesuffix("/*")], np.float32).astype(float)
        finite = values[np.isfinite(values)]
        assert group["loss:last n"] == str(len(finite))
        assert group["loss:last nonfinite"] == str(len(values) - len(finite))
        found = [group["loss:last mean"], group["loss:last deviation"]]
        if len(finite) == 0:
            assert found == ["", ""]
        else:
            assert [float(cell) for cell in found] == pytest.approx(
                [finite.mean(), finite.std(ddof=1)], rel=1e-14
            )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "runs.csv"
    runs = list(csv.DictReader(Path(download.value.path()).read_text("utf-8").splitlines()))
    assert [(run["run"], run["group"], run["seed"]) for run in runs[:4]] == [
        ("some/s0", "some/*", "0"),
        ("some/s2", "some/*", "2"),
        ("some/s1", "some/*", "1"),
        ("steady/s0", "steady/*", "0"),
    ]
