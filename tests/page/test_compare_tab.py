"""The Compare tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

HELPERS = """
globalThis.compared = {
  // Texts of the column headings.
  columns: () => tb.all('.compare-table thead button').map((one) => one.parentElement.title),
  row: (label) => tb.all('.compare-table tbody tr').find((row) => {
    const [name, note] = [row.cells[0].title, row.cells[0].querySelector('small')?.textContent];
    return label === (note ? `${name} ${note}` : name);
  }),
  // Texts of the cells of a row, without their notes.
  cells: (label) => [...compared.row(label)?.cells ?? []].slice(1)
    .map((cell) => cell.firstElementChild.textContent),
  notes: (label) => [...compared.row(label)?.cells ?? []].slice(1)
    .map((cell) => [...cell.querySelectorAll('small')].map((note) => note.textContent).join(' ')),
  section: (title) => tb.all('.compare-section').map((one) => one.textContent)
    .find((text) => text.startsWith(title)),
  // Lines of a text's card, each with its sign.
  lines: (tag) => [...tb.card(tag)?.querySelectorAll('pre > *') ?? []]
    .map((line) => line.textContent.trimEnd()),
};
"""

YAML = "model:\n  name: {model}\n  depth: 18\noptim:\n  lr: {lr}\nseed: {seed}"
MARKUP = "<img src=x onerror='globalThis.hacked=1'>"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with two seeds each, a run that diverged, and one that lacks nearly everything."""
    logdir = tmp_path_factory.mktemp("logdir")
    for model, lr, losses in (("resnet", 0.5, (1.0, 0.25, 0.5)), ("vit", 0.25, (1.0, 0.75, 0.125))):
        for seed in (0, 1):
            write_run(
                logdir,
                f"{model}/seed{seed}",
                hparams={"model": model, "lr": lr, "seed": seed, "epochs": 3},
                scalars={
                    "val/loss": [(100 * i, loss + seed) for i, loss in enumerate(losses)],
                    "constant": [2.0],
                },
                texts={
                    "config": [YAML.format(model=model, lr=lr, seed=seed)],
                    "json": [json.dumps({"a": 1, "model": model})],
                    "same": ["the same everywhere"],
                },
            )
    write_run(
        logdir,
        "diverged",
        hparams={"model": "vit", "lr": 8.0, "note": MARKUP},
        scalars={"val/loss": [1.0, float("nan")], f"{MARKUP}/tag": [1.0]},
        texts={MARKUP: [MARKUP]},
    )
    write_run(logdir, "lacks", scalars={"other": [0.5]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def wait_for_cells(page: Any, label: str, cells: list[str]) -> None:
    """Waits until a row has these cells."""
    page.wait_for_function(
        "([label, cells]) => JSON.stringify(compared.cells(label)) === JSON.stringify(cells)",
        arg=[label, cells],
    )


def test_the_table_does_not_scroll_inside_the_page(open_page: Any) -> None:
    """It is as high as its rows, and its headings stay below the toolbar while the page scrolls."""
    page = open_page("#compare&query=resnet/seed0|vit/seed0&compare.all=true")
    wait_for_cells(page, "epochs", ["3", "3"])
    page.set_viewport_size({"width": 1000, "height": 400})
    page.wait_for_function("() => innerHeight === 400")
    tops = """() => {
      const [table] = tb.all('.compare-table');
      const { bottom } = tb.all('.tb-toolbar')[0].getBoundingClientRect();
      const [head] = tb.all('.compare-table thead th');
      const { top } = head.getBoundingClientRect();
      return { isWhole: table.scrollHeight <= table.clientHeight + 1, below: top - bottom };
    }"""
    assert page.evaluate(tops)["isWhole"]
    page.evaluate("() => scrollTo(0, 300)")
    page.wait_for_function("() => scrollY > 250")
    assert -8 <= page.evaluate(tops)["below"] <= 1


def test_differences_are_shown_and_everything_on_demand(open_page: Any) -> None:
    page = open_page("#compare&query=resnet/seed0|vit/seed0|lacks")
    wait_for_cells(page, "lr", ["not logged", "0.5", "0.25"])
    wait_for_cells(page, "val/loss last", ["not logged", "0.5", "best 0.125"])
    page.get_by_role("button", name="Compare with resnet/seed0").click()
    wait_for_cells(page, "val/loss last", ["0.5", "not logged", "best 0.125"])
    assert page.evaluate("() => compared.columns()") == ["resnet/seed0", "lacks", "vit/seed0"]
    wait_for_cells(page, "val/loss lowest", ["0.25", "not logged", "best 0.125"])
    assert page.evaluate("() => compared.notes('val/loss lowest')") == [
        "step 100", "", "step 200 −0.125 (−50 %)",
    ]  # fmt: skip
    wait_for_cells(page, "config text", ["logged", "not logged", "logged"])
    page.wait_for_function("() => location.hash.includes('compare.run=resnet/seed0')")

    page = open_page("#compare&query=resnet/seed0|vit/seed0")
    wait_for_cells(page, "lr", ["0.5", "0.25"])
    wait_for_cells(page, "constant last", [])
    assert "2 more are the same in all" in page.evaluate(
        "() => compared.section('Hyperparameters')"
    )
    assert page.evaluate("() => compared.section('Tags in some only')").endswith("5 are in all")
    page.get_by_label("Differences only").uncheck()
    wait_for_cells(page, "constant last", ["2", "2"])
    wait_for_cells(page, "epochs", ["3", "3"])
    wait_for_cells(page, "json text", ["logged", "logged"])
    assert page.evaluate("() => compared.section('Tags')") == "Tags"
    page.wait_for_function("() => location.hash.includes('compare.all=true')")


def test_values_are_those_of_the_server(open_page: Any, server: Any) -> None:
    """NaN is said, and what is lowest is finite."""
    page = open_page("#compare&query=diverged|resnet/seed1&compare.run=resnet/seed1")
    wait_for_cells(page, "val/loss last", ["1.5", "NaN"])
    wait_for_cells(page, "val/loss lowest", ["1.25", "best 1"])
    notes = page.evaluate("() => compared.notes('val/loss lowest')")
    assert notes == ["step 100", "step 0, 1 value not finite −0.25 (−20 %)"]
    assert page.evaluate("() => compared.notes('val/loss last')") == ["step 200", "step 1"]


def test_texts_show_the_lines_that_differ(open_page: Any) -> None:
    """Of runs with the same differences together; JSON by value."""
    page = open_page("#compare&query=seed|lacks&compare.run=resnet/seed0")
    page.wait_for_function("() => compared.lines('config').includes('−   lr: 0.5')")
    lines = page.evaluate("() => compared.lines('config')")
    assert lines[:6] == [
        "2 equal lines", "    depth: 18", "  optim:", "    lr: 0.5", "− seed: 0", "+ seed: 1",
    ]  # fmt: skip
    assert "Not logged." in page.evaluate("() => tb.card('config').textContent")
    assert "Step 0: 1 line removed, 1 line added." in page.evaluate(
        "() => tb.card('config').textContent"
    )
    page.wait_for_function("() => compared.lines('json').includes('+   \"model\": \"vit\"')")
    titles = page.evaluate(
        "() => [...tb.card('json').querySelectorAll('h4')]"
        ".map((one) => [...one.children].map((name) => name.textContent))"
    )
    assert titles == [["lacks"], ["resnet/seed1"], ["vit/seed0", "vit/seed1"]]
    page.wait_for_function(
        "() => tb.card('same').textContent.includes('The same as the baseline.')"
    )


def test_groups_have_averages(open_page: Any) -> None:
    """Their different hyperparameters, and the text of their first run."""
    page = open_page("#compare&query=seed&group=*/seed{n}")
    small = ["n too small 1.00 ± 0.71", "best, n too small 0.63 ± 0.71"]
    wait_for_cells(page, "val/loss last", small)
    small = ["n too small 0.75 ± 0.71", "best, n too small 0.63 ± 0.71"]
    wait_for_cells(page, "val/loss lowest", small)
    assert "−0.375 (−37.5 %)" in page.evaluate("() => compared.notes('val/loss last')[1]")
    wait_for_cells(page, "lr", ["0.5", "0.25"])
    wait_for_cells(page, "seed", ["0, 1", "0, 1"])  # which differ within the groups
    page.get_by_label("Differences only").uncheck()
    wait_for_cells(page, "seed", ["0, 1", "0, 1"])
    page.wait_for_function("() => tb.card('config').textContent.includes('(text of vit/seed0)')")
    # Their curves are means, which the row of the group highlights.
    page.wait_for_function("() => tb.label('val/loss').endsWith(': resnet/seed{n}, vit/seed{n}')")
    page.locator(".tb-folder[title='vit/seed{n}']").hover()
    page.wait_for_function(
        """() => {
          const canvas = tb.card('val/loss').querySelector('.tb-chart-overlay');
          return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
            .data.some((byte, i) => i % 4 === 3 && byte > 100);
        }"""
    )


def test_curves_have_the_colours_of_the_runs(open_page: Any) -> None:
    page = open_page("#compare&query=resnet/seed0|vit/seed0&tagQuery=val/")
    page.wait_for_function(
        "() => ['resnet/seed0', 'vit/seed0'].every("
        "(run) => tb.colors()[run] && tb.pixels('val/loss', tb.colors()[run]) > 60)"
    )
    assert page.evaluate("() => tb.card('constant')") is None


def test_few_cards_fill_wide_windows_and_narrow_ones_are_not_wider(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Also with a baseline whose name is long. A text has the title that Text gives it."""
    for name in ("a" * 90, "b"):
        write_run(
            tmp_path / "logs", name, scalars={"x": [len(name)]}, texts={"t/text_summary": [name]}
        )
    page = profile.open(serve(tmp_path / "logs").url, "#compare")
    wait_for_cells(page, "x last", ["90", "1"])
    page.get_by_role("region", name="Differences of t", exact=True).wait_for()
    page.set_viewport_size({"width": 2560, "height": 1300})
    page.wait_for_function("() => tb.card('x')?.offsetWidth > 2000")
    page.set_viewport_size({"width": 400, "height": 850})
    page.wait_for_function("() => tb.card('x').offsetWidth < 400")
    right = "(one) => one.getBoundingClientRect().right"
    assert page.get_by_label("Baseline").evaluate(right) <= 400
    assert page.evaluate("() => document.documentElement.scrollWidth") == 400


def test_the_keyboard_chooses_the_baseline_and_what_is_shown(open_page: Any) -> None:
    page = open_page("#compare&query=resnet/seed0|vit/seed0")
    wait_for_cells(page, "lr", ["0.5", "0.25"])
    page.keyboard.press("d")
    wait_for_cells(page, "seed", ["0", "0"])
    page.get_by_role("button", name="Compare with resnet/seed0").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for_cells(page, "lr", ["0.25", "0.5"])
    page.wait_for_function(
        "() => tb.all('[aria-pressed=true]')[0].textContent.includes('vit/seed0')"
    )
    page.keyboard.press("Shift+Tab")
    page.wait_for_function(
        "() => document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')"
        " === 'Compare with vit/seed0' || document.activeElement.shadowRoot.activeElement"
        ".getAttribute('aria-label') === 'Side by side'"
    )
    page.keyboard.press("d")
    wait_for_cells(page, "seed", [])


def test_the_menu_of_a_run_compares_it(open_page: Any) -> None:
    """With those that are shown, from any tab; the run is the baseline."""
    page = open_page("#scalars&runs=resnet/seed0")
    choose_in_menu(page, "vit/seed0", "Compare with resnet/seed0")
    wait_for_cells(page, "lr", ["0.25", "0.5"])
    page.wait_for_function("() => location.hash.includes('compare.run=vit/seed0')")
    choose_in_menu(page, "resnet/seed1", "Compare with the 2 other shown runs")
    wait_for_cells(page, "lr", ["0.5", "0.5", "0.25"])
    page.get_by_role("tab", name="Scalars", exact=True).click()
    choose_in_menu(page, "vit/, 2 runs", "Compare these runs")
    wait_for_cells(page, "seed", ["0", "1"])
    assert page.evaluate("() => compared.columns()") == ["vit/seed0", "vit/seed1"]


def test_the_menu_of_a_group_compares_it(open_page: Any) -> None:
    page = open_page("#scalars&query=seed&group=*/seed{n}")
    choose_in_menu(page, "vit/seed{n}, 2 runs", "Compare with resnet/seed{n}")
    wait_for_cells(page, "lr", ["0.25", "0.5"])
    page.wait_for_function("() => location.hash.includes('compare.run=vit/seed')")


def test_the_menu_compares_one_run_alone_with_the_advice_to_check_another(open_page: Any) -> None:
    page = open_page("#scalars&runs=lacks")
    choose_in_menu(page, "lacks", "Compare")
    page.wait_for_function(
        "() => tb.all('.tb-nothing')[0]?.textContent.startsWith('Only the run lacks is shown.')"
    )


def choose_in_menu(page: Any, row: str, item: str) -> None:
    """Opens the menu of a row of the run list with the keyboard, and chooses an item of it."""
    page.get_by_role("checkbox", name=row, exact=True).focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_names_and_texts_with_markup_stay_text(open_page: Any) -> None:
    page = open_page("#compare&query=diverged|vit/seed0&compare.run=vit/seed0")
    wait_for_cells(page, "note", ["not logged", MARKUP])
    wait_for_cells(page, f"{MARKUP}/tag last", ["not logged", "1"])
    page.wait_for_function("(tag) => compared.lines(tag).includes(`+ ${tag}`)", arg=MARKUP)
    assert "has not logged it" in page.evaluate("(tag) => tb.card(tag).textContent", MARKUP)
    assert page.evaluate("() => tb.all('img').length") == 0
    assert page.evaluate("() => globalThis.hacked") is None


def test_fewer_than_two_runs_are_not_compared(open_page: Any) -> None:
    page = open_page("#compare&query=lacks")
    page.wait_for_function(
        "() => tb.all('.tb-nothing')[0]?.textContent.startsWith('Only the run lacks is shown.')"
    )
    page = open_page("#compare&query=no_such_run")
    page.wait_for_function(
        "() => tb.all('.tb-nothing')[0]?.textContent.startsWith('No runs are shown.')"
    )


def test_what_is_left_out_is_said(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Any of the runs can be the baseline, also one that is left out."""
    for i in range(25):
        write_run(tmp_path / "many", f"run{i}", scalars={"loss": [float(i)]})
    page = profile.open(serve(tmp_path / "many").url, "#compare")
    page.wait_for_function("() => compared.cells('loss last').length === 20")
    assert page.evaluate("() => tb.all('[role=note]')[0].textContent").startswith(
        "20 of the 25 runs that are shown are compared, 5 are left out:"
    )
    page.get_by_label("Baseline").select_option("run24")
    page.wait_for_function("() => compared.cells('loss last')[0] === '24'")
    assert page.evaluate("() => compared.columns().slice(0, 2)") == ["run24", "run0"]


@pytest.mark.parametrize("rule", ["", "&group=re:(run\\d%2B)"])
def test_the_first_in_the_order_of_the_list_are_compared(
    serve: Any, profile: Any, tmp_path: Path, rule: str
) -> None:
    """Also when it is the order of a column; the table below a chart has the same order."""
    for i in range(25):
        write_run(tmp_path / "many", f"run{i}", scalars={"loss": [float(i * 7 % 25)]})
    by_loss = sorted(range(25), key=lambda i: -(i * 7 % 25))
    page = profile.open(
        serve(tmp_path / "many").url, f"#compare&columns=loss:last&sort=-loss:last{rule}"
    )
    expected = [f"run{i}" for i in by_loss[:20]]
    page.wait_for_function(
        "(names) => JSON.stringify(compared.columns()) === JSON.stringify(names)", arg=expected
    )
    page.evaluate("() => { location.hash = location.hash.replace('#compare', '#scalars'); }")
    page.get_by_role("button", name="Table of loss").click()
    rows = page.locator(".tb-legend tbody tr")
    rows.nth(19).wait_for()
    names = [text.split()[0].removesuffix("only") for text in rows.all_inner_texts()]
    assert names[:20] == expected


def test_new_points_and_damaged_data_are_shown(serve: Any, profile: Any, tmp_path: Path) -> None:
    """A point that is logged while the tab is open, and a run whose data cannot be decoded."""
    logdir = tmp_path / "live"
    damaged = summaries.metadata_only("_hparams_/session_start_info", "hparams", b"\xff")
    write_run(logdir, "b", values=[damaged], scalars={"loss": [0.5]})
    with EventFileWriter(logdir / "a" / "events.out.tfevents.1") as writer:
        writer.add_scalar("loss", 1.0, 0)
    page = profile.open(serve(logdir).url, "#compare")
    wait_for_cells(page, "loss last", ["1", "best 0.5"])
    page.wait_for_function(
        "() => tb.all('.tb-card-error')[0]?.textContent.startsWith('Hyperparameters of b: ')"
    )
    with EventFileWriter(logdir / "a" / "events.out.tfevents.1") as writer:
        writer.add_scalar("loss", 0.25, 7)
    wait_for_cells(page, "loss last", ["best 0.25", "0.5"])
    assert page.evaluate("() => compared.notes('loss last')[0]") == "step 7"
