"""The run list with ten thousand runs, in a real browser."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tbcore_notes.records import line_of
from tbcore_testing import write_run

NUM_RUNS = 10_000

HELPERS = """
// The names of the runs in the rows that are rendered, from top to bottom.
globalThis.names = () => [...document.querySelectorAll('.tb-row:not(.tb-heads)')].map(
  (row) => row.title);
"""


def name_of(index: int) -> str:
    """The name of a run, in one of fifty folders."""
    return f"exp/model{index // 200}/lr{index % 10}_seed{index % 200}"


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs with hyperparameters, whose last losses are 0, 1, ... 9999 in another order.

    Somebody has noted the same about all of them.
    """
    logdir = tmp_path_factory.mktemp("logs")
    for index in range(NUM_RUNS):
        write_run(
            logdir,
            name_of(index),
            hparams={"lr": 10.0 ** -(index % 5), "model": f"m{index % 4}", "width": index},
            scalars={"loss": [1.0, (index * 7919) % NUM_RUNS]},
        )
    at = time.time_ns() // 1000
    lines = (
        line_of(at, "bob", name_of(i), {"starred": True, "labels": ["paper", "x"], "note": "why"})
        for i in range(NUM_RUNS)
    )
    notes = logdir / ".tbcore" / "notes" / "bob.jsonl"
    notes.parent.mkdir(parents=True)
    notes.write_bytes(b"".join(lines))
    # A scan takes a fifth of a second, and finds nothing.
    return serve_for_module(logdir, "--reload_interval", "3600")


@pytest.mark.slow
def test_ten_thousand_runs_are_filtered(open_page: Any) -> None:
    """How long it takes is measured by benchmarks/page.py."""
    page = open_page("#scalars&runs=")
    page.get_by_text("0 of 10,000", exact=True).wait_for()
    for query, text in [
        ("lr>0.005", "0 of 6,000 (of 10,000)"),
        ("lr>0.005 loss:last<5000", "0 of 3,000 (of 10,000)"),
        ("lr=1 loss:last<5000", "0 of 1,000 (of 10,000)"),
        ("(model=m1 | model=m2) -loss:last<5000", "0 of 2,500 (of 10,000)"),
        ("re:seed\\d*7$ lr<2", "0 of 1,000 (of 10,000)"),
    ]:
        page.get_by_label("Filter runs").fill(query)
        page.get_by_text(text, exact=True).wait_for()


@pytest.mark.slow
def test_ten_thousand_runs_are_sorted(open_page: Any) -> None:
    """Only the visible rows are rendered. How long it takes is measured by benchmarks/page.py."""
    page = open_page("#scalars&runs=&columns=loss:last&view=list")
    page.wait_for_function(
        """(name) => document.querySelector(`.tb-row[title="${name}"] .tb-cell`)
          ?.textContent.startsWith('0')""",
        arg=name_of(0),
    )
    page.get_by_role("columnheader", name="loss").get_by_role("button").click()
    second = name_of(pow(7919, -1, NUM_RUNS))
    page.wait_for_function("(second) => names()[1] === second", arg=second)
    assert page.locator(".tb-row").count() < 100


@pytest.mark.slow
def test_ten_thousand_runs_are_coloured_and_grouped(open_page: Any) -> None:
    """By the attributes that it reads. How long it takes is measured by benchmarks/page.py."""
    page = open_page("#scalars&runs=")
    page.get_by_text("0 of 10,000", exact=True).wait_for()
    page.evaluate("() => { globalThis.before = JSON.stringify(tb.colors()); }")
    for change, condition in [
        ("color=family", "() => JSON.stringify(tb.colors()) !== globalThis.before"),
        ("color=by:width", "() => document.querySelector('.tb-legend-scale')"),
        (
            "group=by:lr&color=by:lr",
            """() => document.querySelector('[role=row]')?.title === 'lr=0.0001' &&
              document.querySelectorAll('.tb-legend span').length === 5""",
        ),
    ]:
        page.evaluate("(change) => { location.hash = `#scalars&runs=&${change}`; }", change)
        page.wait_for_function(condition)


@pytest.mark.slow
def test_ten_thousand_runs_with_notes_have_no_more_rows(open_page: Any) -> None:
    """The list has elements for the rows in view alone; benchmarks/page.py measures its time."""
    page = open_page("#scalars&runs=&view=list")
    page.locator(".tb-notes-labels").first.wait_for()
    for _ in range(10):
        page.evaluate("() => document.querySelector('.tb-list').scrollTop += 10_000")
        page.evaluate("() => tb.frame().then(tb.frame)")
    assert 10 < page.locator(".tb-run").count() < 100
    # Of the rows in view, those that stay while the list scrolls are not rendered again.
    page.evaluate(
        """async () => {
          const { options } = await import('preact');
          const next = options.__r;
          globalThis.numRendered = 0;
          options.__r = (vnode) => {
            if (vnode.type.name === 'RunRow') numRendered++;
            next?.(vnode);
          };
          document.querySelector('.tb-list').scrollTop += 26;
        }"""
    )
    page.evaluate("() => tb.frame().then(tb.frame)")
    assert 1 <= page.evaluate("() => numRendered") <= 4
    assert page.locator(".tb-run").first.inner_text().count("paper") == 1
