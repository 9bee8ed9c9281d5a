"""What the page claims of groups: which cannot be told from the best one, and with which spread."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until

from tbcore_testing import write_run

LOSSES = {
    "a": (1.0, 1.3, 1.6, 1.9),
    "b": (1.02, 1.29, 1.63, 1.9),
    "c": (1.1, 1.41, 1.7, 2.02),
    "d": (0.5, 0.6),
    "e": (0.4,),
}
"""Groups by the losses of their seeds: b is a but for noise, c is a bit worse with each seed, and d
and e have too few, though the lowest. Without pairs, none of the first could be told from a."""
MARKS = {"a/*": "best", "b/*": "≈ best", "c/*": "", "d/*": "n too small", "e/s0": "n too small"}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    for name, losses in LOSSES.items():
        for seed, loss in enumerate(losses):
            hparams = {"model": name, "seed": seed}
            scalars = {"val/loss": [(0, 3.0), (10, loss)]}
            if name == "d":
                scalars["val/acc"] = [(10, 1 - loss)]
            write_run(logdir, f"{name}/s{seed}", scalars=scalars, hparams=hparams)
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def test_the_best_is_marked_with_all_that_cannot_be_told_from_it(
    open_page: Any, logdir: Path
) -> None:
    """The same in the run list, in HParams, in Compare and in a terminal; of medians and
    interquartile means only the best, which no group of fewer than three is either."""
    page = open_page("#hparams&group=seeds&columns=val/loss:min&sort=%2Bval/loss:min")
    in_list = """() => Object.fromEntries([...document.querySelectorAll('.tb-row')]
      .filter((row) => row.ariaLevel === '1')
      .map((row) => [row.title, (row.querySelector('.tb-step')?.textContent ?? '').trim()]))"""
    until(lambda: page.evaluate(in_list) == {**MARKS, "d/*": "n<3", "e/s0": "n<3"})
    in_hparams = """() => Object.fromEntries(tb.all('tbody tr[data-name]').map(
      (row) => [row.dataset.name, row.querySelector('.best-mark')?.textContent ?? '']))"""
    until(lambda: page.evaluate(in_hparams) == MARKS)
    titles = page.evaluate("() => tb.all('.best-mark').map(({ title }) => title).join()")
    assert "paired over 4 equal seeds, corrected by Holm for 2 comparisons with the best" in titles
    assert page.evaluate("() => tb.all('.best-row .run')[0].textContent") == "a/*"
    # All runs that the filter finds have val/acc, which the others lack.
    page.get_by_label("Filter runs").fill("d/")
    page.wait_for_function("() => tb.all('tbody tr[data-name]').length === 1")
    metric = page.get_by_role("combobox", name="Optimise")
    assert metric.evaluate("(select) => select.value") == "m..val/loss"

    page = open_page("#compare&group=seeds&average=mean-error")
    in_compare = """() => [...tb.all('.compare-table tr').find(
      (row) => /lowest/.test(row.innerText))?.cells ?? []].slice(1).map(
        (cell) => cell.querySelector('.compare-best')?.textContent ?? '')"""
    until(lambda: page.evaluate(in_compare) == list(MARKS.values()))
    text = "() => tb.all('.compare-table')[0].innerText"
    assert "1.45 ± 0.19 SE" in page.evaluate(text)
    medians = {**MARKS, "b/*": ""}
    page = open_page("#compare&group=seeds&average=median")
    until(lambda: page.evaluate(in_compare) == list(medians.values()))
    page = open_page("#hparams&group=seeds&average=iqm&columns=val/loss:min&sort=%2Bval/loss:min")
    until(lambda: page.evaluate(in_list) == {**medians, "d/*": "n<3", "e/s0": "n<3"})
    until(lambda: page.evaluate(in_hparams) == medians)

    line = [sys.executable, "-m", "tbcore", "report", str(logdir), "--by", "seeds"]
    line += ["--columns", "val/loss:min", "--sort", "val/loss:min"]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    for name, mark in MARKS.items():
        [row] = [
            row for row in printed.splitlines() if name[:2] in row and re.search("±|, n too", row)
        ]
        assert (f", {mark}" in row) if mark else "best" not in row, row


def test_one_choice_sets_the_spread_of_tables_and_of_charts(open_page: Any) -> None:
    """With two runs there is none, which the cells say."""
    page = open_page("#scalars&group=seeds&columns=val/loss:last&scalars.legend=true")
    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("mean ± 95 % interval")
    page.get_by_role("form", name="Group runs").get_by_role("button", name="Close").click()
    cells = "() => [...document.querySelectorAll('.tb-cell')].map((cell) => cell.innerText.trim())"
    until(lambda: "1.45 ± 0.62 CI" in page.evaluate(cells))
    assert any("n<3" in cell for cell in page.evaluate(cells))
    legend = "() => tb.all('.tb-legend')[0]?.innerText ?? ''"
    until(lambda: "1.45 ± 0.62 CI" in page.evaluate(legend))
    assert "Final: mean ± 95 % CI" in page.evaluate(legend)


def test_figures_in_a_column_are_aligned_and_no_column_of_groups_is_empty(open_page: Any) -> None:
    """Equal decimals but for one that needs more; a fact that differs is a span; the heading ends
    where the figures do."""
    page = open_page("#scalars&group=by:model&columns=val/loss:last,step,took")
    row = (
        "() => [...document.querySelectorAll('.tb-row[aria-expanded]')].map((row) => row.innerText)"
    )
    until(lambda: any("±" in text for text in page.evaluate(row)))
    figures = re.findall(r"\d\.(\d+) ± \d\.(\d+)", " ".join(page.evaluate(row)))
    assert {len(decimals) for pair in figures for decimals in pair} == {3}, figures
    assert page.evaluate(
        """() => {
          const end = (node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return range.getBoundingClientRect().right;
          };
          const cell = document.querySelector('.tb-row[aria-expanded] .tb-cell');
          const head = document.querySelector('.tb-heads .tb-cell:not(.tb-text) button');
          return Math.abs(end(head) - end(cell.firstChild)) < 12;
        }"""
    )


def test_the_best_line_is_above_those_that_it_meets(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Also where it is the last by its name; the first of the run list is above all others."""
    for run, last in {"a": 1.0, "m": 0.9, "z": 0.5}.items():
        write_run(
            tmp_path / "logs",
            run,
            scalars={"loss": [1.0 + 1 / (1 + s) for s in range(100)] + [last]},
        )
    page = profile.open(
        serve(tmp_path / "logs").url, "#scalars&columns=loss:last&sort=%2Bloss:last"
    )
    # Edges of a line let through what is below: the nearest of the three colours counts.
    nearest = """() => {
      const colors = tb.colors();
      const canvas = tb.canvas('loss');
      const counts = { a: 0, m: 0, z: 0 };
      if (!canvas || Object.keys(colors).length < 3) return counts;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        const distance = (run) => [1, 3, 5].reduce((sum, at, k) =>
          sum + (parseInt(colors[run].slice(at, at + 2), 16) - data[i + k]) ** 2, 0);
        const [run] = ['a', 'm', 'z'].sort((x, y) => distance(x) - distance(y));
        if (data[i + 3] > 128 && distance(run) < 8000) counts[run]++;
      }
      return counts;
    }"""
    until(lambda: (found := page.evaluate(nearest))["z"] > 3 * (found["a"] + found["m"]) + 100)


def test_runs_are_pairs_by_a_hyperparameter_and_nothing_is_said_twice(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Names tell nothing here. In the run list, in HParams, and in Compare."""
    logdir = tmp_path / "logs"
    words = ["brisk", "calm", "dark", "early", "fine", "glad", "hazy", "idle"]
    for name, losses in {"a": (1.0, 2.0, 3.0), "b": (1.1, 2.1, 3.11), "c": (4.0, 4.5)}.items():
        for seed, loss in enumerate(losses):
            hparams = {"model": name, "seed": seed}
            scalars = {"val/loss": [(0, 5.0), (10, loss)]}
            write_run(logdir, f"{name}-{words.pop()}", scalars=scalars, hparams=hparams)
    server = serve(logdir)
    rules = "group=by:model&average=mean-interval"
    page = profile.open(server.url, f"#hparams&{rules}&columns=val/loss:min&sort=%2Bval/loss:min")
    in_hparams = """() => Object.fromEntries(tb.all('tbody tr[data-name]').map((row) => [
      row.dataset.name, row.innerText.match(/best|≈ best|n too small/g)?.join() ?? '']))"""
    marks = {"model=a": "best", "model=b": "", "model=c": "n too small"}
    until(lambda: page.evaluate(in_hparams) == marks)
    in_list = """() => Object.fromEntries([...document.querySelectorAll('.tb-row')]
      .filter((row) => /^model=/.test(row.title))
      .map((row) => [row.title, (row.querySelector('.tb-step')?.textContent ?? '').trim()]))"""
    until(lambda: page.evaluate(in_list) == {**marks, "model=c": "n<3"})
    page = profile.open(server.url, f"#compare&{rules}")
    in_compare = """() => [...tb.all('.compare-table tr').find(
      (row) => /lowest/.test(row.innerText))?.cells ?? []].slice(1).map(
        (cell) => cell.querySelector('.compare-best')?.textContent ?? '')"""
    until(lambda: page.evaluate(in_compare) == list(marks.values()))
