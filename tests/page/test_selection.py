"""Which runs are shown with more of them than are shown by default, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import summaries, write_run

NUM_SEEDS = 5
START = 1_700_000_000.0


@pytest.fixture(scope="module", params=[650, pytest.param(12_000, marks=pytest.mark.release)])
def num_runs(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory, num_runs: int) -> Any:
    """Configurations with five seeds each, whose seeds were run one after the other.

    The seeds of the newest 100 runs are all the same, and the loss falls from run to run of a seed.
    """
    logdir = tmp_path_factory.mktemp("logs")
    num_configs = num_runs // NUM_SEEDS
    for index in range(num_runs):
        seed, config = divmod(index, num_configs)
        write_run(
            logdir,
            f"cfg{config:04}_seed{seed}",
            scalars={"loss": [1.0, 1 - config / num_configs]},
            hparams={"lr": 10.0 ** -(config % 5), "seed": seed},
            texts={"note": ["words"]},
            images={"picture": [summaries.png(4, 4)]},
            histograms={"weights": [[0.0, 1.0]]},
            wall_time=START + index,
        )
    # A scan takes a fifth of a second, and finds nothing.
    return serve_for_module(logdir, "--reload_interval", "3600")


def numbered(count: int) -> str:
    return f"{count:,}"


def wait_for_count(page: Any, text: str) -> None:
    """Waits until the run list says how many runs are checked."""
    page.wait_for_function(
        "(text) => document.querySelector('.tb-runs-count')?.textContent === text", arg=text
    )


def wait_for_notes(page: Any, *notes: str) -> None:
    """Waits until these notes stand above the run list, and no others."""
    page.wait_for_function(
        """(notes) => JSON.stringify([...document.querySelectorAll('.tb-runs-note')].map(
          (note) => note.textContent.trim())) === JSON.stringify(notes)""",
        arg=list(notes),
    )


def wait_for_lines(page: Any, *names: str) -> None:
    """Waits until the chart of the loss has these lines: at most three, and `N more`."""
    text = ", ".join(names[:3]) + "".join(f" and {more}" for more in names[3:])
    page.wait_for_function("(text) => tb.label('loss').endsWith(`: ${text}`)", arg=text)


def names_of(configs: range, seed: int) -> list[str]:
    return [f"cfg{config:04}_seed{seed}" for config in configs]


# Queries -----------------------------------------------------------------------------------------


def test_the_newest_runs_are_shown_by_default(open_page: Any, num_runs: int) -> None:
    page = open_page("#scalars")
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    newest = names_of(range(num_runs // NUM_SEEDS - 100, num_runs // NUM_SEEDS), 4)
    wait_for_lines(page, *newest[:3], "97 more")
    wait_for_notes(
        page,
        f"The newest 100 of {numbered(num_runs)} runs are selected. Check others to add them.",
    )


QUERIES = {
    "cfg0003_seed0": [("cfg0003_seed0",), 1],
    "cfg000 seed1": [(*names_of(range(3), 1), "7 more"), 10],
    "cfg0000": [(*(f"cfg0000_seed{seed}" for seed in range(3)), "2 more"), 5],
    "re:cfg000[12]_seed[03]": [
        ("cfg0001_seed0", "cfg0001_seed3", "cfg0002_seed0", "1 more"),
        4,
    ],
    "*0007_seed2 | cfg0001_seed1": [("cfg0001_seed1", "cfg0007_seed2"), 2],
    "seed=0 cfg0012": [("cfg0012_seed0",), 1],
    "seed=0 -seed1 cfg000": [(*names_of(range(3), 0), "7 more"), 10],
    "loss:last=1 seed<2": [("cfg0000_seed0", "cfg0000_seed1"), 2],
    "lr=0.01 cfg001 seed=3": [("cfg0012_seed3", "cfg0017_seed3"), 2],
}
"""The lines that are drawn for a query, and how many runs it finds. None is one of the newest."""


def test_what_queries_find_is_drawn(open_page: Any, num_runs: int) -> None:
    """When they are typed, one after the other, and when links with them are opened."""
    page = open_page("#scalars")
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    hashes = ["#scalars"]
    for query, (lines, count) in QUERIES.items():
        page.get_by_label("Filter runs").fill(query)
        wait_for_count(page, f"{count} of {count} (of {numbered(num_runs)})")
        wait_for_lines(page, *lines)
        wait_for_notes(page)
        page.wait_for_function(
            "(last) => location.hash !== last && location.hash.includes('&query=')", arg=hashes[-1]
        )
        hashes.append(page.evaluate("() => location.hash"))
    # What a link says does not depend on the number of runs: with many, one is enough.
    links = list(zip(hashes[1:], QUERIES.values(), strict=True))
    for hash, (lines, count) in links if num_runs < 1000 else links[-1:]:
        linked = open_page(hash)
        wait_for_count(linked, f"{count} of {count} (of {numbered(num_runs)})")
        wait_for_lines(linked, *lines)


def test_the_newest_of_many_matching_runs_are_shown(open_page: Any, num_runs: int) -> None:
    page = open_page("#scalars&query=seed=1")
    num_configs = num_runs // NUM_SEEDS
    wait_for_count(page, f"100 of {numbered(num_configs)} (of {numbered(num_runs)})")
    newest = names_of(range(num_configs - 100, num_configs), 1)
    wait_for_lines(page, *newest[:3], "97 more")
    wait_for_notes(
        page,
        f"The newest 100 of {numbered(num_configs)} matching runs are selected."
        " Check others to add them.",
    )


# Exceptions --------------------------------------------------------------------------------------


def test_runs_that_are_checked_by_hand_are_exceptions(
    open_page: Any, new_profile: Any, server: Any, num_runs: int
) -> None:
    """They are a part of links, and the others are still the newest of those that match."""
    num_configs = num_runs // NUM_SEEDS
    last = f"cfg{num_configs - 1:04}_seed4"
    page = open_page("#scalars")
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    page.get_by_label("Filter runs").fill(last)
    page.get_by_role("checkbox", name=last, exact=True).uncheck()
    page.get_by_label("Filter runs").fill("")
    wait_for_count(page, f"99 of {numbered(num_runs)}")
    page.get_by_role("checkbox", name="cfg0000_seed0", exact=True).check()
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    note = (
        f"The newest 100 of {numbered(num_runs)} runs are selected, with 2 exceptions."
        " Back to the newest 100"
    )
    wait_for_notes(page, note)
    hash = f"#scalars&runs=~newest,!{last},cfg0000_seed0"
    page.wait_for_function("(hash) => location.hash === hash", arg=hash)

    other = new_profile().open(server.url, hash)
    wait_for_notes(other, note)
    newest = names_of(range(num_configs - 100, num_configs), 4)
    wait_for_lines(other, "cfg0000_seed0", *newest[:2], "97 more")
    other.get_by_label("Filter runs").fill("seed3")
    wait_for_count(other, f"100 of {numbered(num_configs)} (of {numbered(num_runs)})")
    other.get_by_label("Filter runs").fill(last[:7])
    wait_for_count(other, f"4 of 5 (of {numbered(num_runs)})")
    wait_for_lines(other, *(f"{last[:7]}_seed{seed}" for seed in range(3)), "1 more")
    other.get_by_role("checkbox", name=last, exact=True).check()
    wait_for_lines(other, *(f"{last[:7]}_seed{seed}" for seed in range(3)), "2 more")
    other.wait_for_function("() => location.hash.endsWith('runs=~newest,cfg0000_seed0')")


def test_new_runs_are_shown_beside_exceptions(serve: Any, profile: Any, tmp_path: Path) -> None:
    """In place of the oldest of the newest; what the reader checked or unchecked stays so."""
    for index in range(120):
        write_run(
            tmp_path / "logs",
            f"run{index:03}",
            scalars={"loss": [1.0, 0.5]},
            wall_time=START + index,
        )
    page = profile.open(serve(tmp_path / "logs").url, "#scalars&runs=~newest,!run119,run000")
    wait_for_count(page, "100 of 120")
    wait_for_lines(page, "run000", "run020", "run021", "97 more")
    write_run(tmp_path / "logs", "run120", scalars={"loss": [1.0, 0.5]}, wall_time=START + 120)
    wait_for_count(page, "100 of 121")
    wait_for_lines(page, "run000", "run021", "run022", "97 more")
    for run, counts in [("run119", "0 of 1"), ("run120", "1 of 1"), ("run000", "1 of 1")]:
        page.get_by_label("Filter runs").fill(run)
        wait_for_count(page, f"{counts} (of 121)")


def test_all_that_match_are_drawn_in_other_browsers(
    open_page: Any, new_profile: Any, server: Any, num_runs: int
) -> None:
    """That they are all that match is one rule, also for the next query."""
    num_found = num_runs // NUM_SEEDS * 3
    page = open_page("#scalars&query=seed<3")
    all_of_all = f"{numbered(num_found)} of {numbered(num_found)} (of {numbered(num_runs)})"
    page.get_by_text("runs are selected.").wait_for()
    page.get_by_role("checkbox", name="All matching").click()  # some are checked: unchecks all
    page.get_by_role("checkbox", name="All matching").check()
    wait_for_count(page, all_of_all)
    wait_for_notes(page, "Back to the newest 100")
    lines = (*(f"cfg0000_seed{seed}" for seed in range(3)), f"{num_found - 3} more")
    wait_for_lines(page, *lines)
    page.wait_for_function("() => location.hash.endsWith('&runs=~matching')")
    other = new_profile().open(server.url, page.evaluate("() => location.hash"))
    wait_for_count(other, all_of_all)
    wait_for_lines(other, *lines)
    num_fewer = numbered(num_runs // NUM_SEEDS * 2)
    page.get_by_label("Filter runs").fill("seed>2")
    wait_for_count(page, f"{num_fewer} of {num_fewer} (of {numbered(num_runs)})")
    # Without a query, the newest are shown again, and not all.
    page.get_by_label("Filter runs").fill("")
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    page.get_by_label("Filter runs").fill("seed>2")
    page.get_by_role("button", name="Back to the newest 100").click()
    wait_for_count(page, f"100 of {num_fewer} (of {numbered(num_runs)})")
    page.wait_for_function("() => !location.hash.includes('runs=')")


# Nothing is shown --------------------------------------------------------------------------------


def test_a_tab_without_runs_offers_those_that_match(open_page: Any, num_runs: int) -> None:
    page = open_page("#scalars&query=cfg0003&runs=")
    page.get_by_text("5 runs match, but none is selected.").wait_for()
    page.get_by_role("button", name="Show these 5 runs").click()
    wait_for_lines(page, *(f"cfg0003_seed{seed}" for seed in range(3)), "2 more")
    assert page.get_by_role("button", name="Show these").count() == 0
    page.get_by_label("Filter runs").fill("")
    wait_for_count(page, f"5 of {numbered(num_runs)}")


def test_a_tab_without_runs_offers_the_newest(open_page: Any, num_runs: int) -> None:
    """Which are the default again; with a filter, runs that were selected before stay so."""
    page = open_page("#scalars&runs=")
    page.get_by_text("No runs are selected.").wait_for()
    page.get_by_role("button", name="Show the newest 100 runs").click()
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    page.wait_for_function("() => location.hash === '#scalars'")
    page.evaluate("() => { location.hash = '#scalars&runs=cfg0000_seed0&query=seed1'; }")
    page.get_by_role("button", name="Show the newest 100 of these runs").click()
    num_configs = numbered(num_runs // NUM_SEEDS)
    wait_for_count(page, f"100 of {num_configs} (of {numbered(num_runs)})")
    page.wait_for_function("() => location.hash.endsWith('runs=~newest,cfg0000_seed0')")


def test_a_tab_says_that_no_run_matches(open_page: Any, num_runs: int) -> None:
    page = open_page("#scalars&query=nothing")
    page.get_by_text("No runs match “nothing”.").wait_for()
    page.get_by_role("button", name="Clear the filter").click()
    wait_for_count(page, f"100 of {numbered(num_runs)}")


def test_a_range_and_the_first_of_the_list_are_checked(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """With Shift, by mouse and keyboard; and unchecking all never loads the others before."""
    logs = tmp_path / "logs"
    for number in range(120):
        write_run(logs, f"run{number:03}", scalars={"loss": [1.0]}, wall_time=1.7e9 + number)
    page = profile.open(serve(logs, plugins=["scalars"]).url, "#scalars&sort=start")
    wait_for_count(page, "100 of 120")
    counts = "() => globalThis.counts ??= []"
    page.evaluate(
        """() => {
          globalThis.counts = [];
          const count = document.querySelector('.tb-runs-count');
          new MutationObserver(() => globalThis.counts.push(count.innerText))
            .observe(count, { subtree: true, characterData: true, childList: true });
        }"""
    )
    page.get_by_title("Uncheck all").wait_for()
    page.get_by_label("All runs").click()
    wait_for_count(page, "0 of 120")
    assert page.evaluate(counts) == ["0 of 120"]

    boxes = page.get_by_role("treegrid").get_by_role("checkbox")
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    wait_for_count(page, "4 of 120")
    page.wait_for_function("() => location.hash.endsWith('runs=run118,run117,run116,run115')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    wait_for_count(page, "6 of 120")
    page.locator(".tb-run .tb-name").nth(2).click(modifiers=["Shift"])  # back to the third row
    wait_for_count(page, "1 of 120")
    page.wait_for_function("() => location.hash.endsWith('runs=run118')")
    page.locator(".tb-run").nth(7).click(button="right")
    page.get_by_role("menuitem", name="Show only the first 5 of the list").click()
    wait_for_count(page, "5 of 120")
    page.wait_for_function("() => location.hash.endsWith('run119,run118,run117,run116,run115')")


def test_the_first_runs_are_those_of_all_folders(serve: Any, profile: Any, tmp_path: Path) -> None:
    """In the order of the list, which the menu names: the best runs are in different folders."""
    logs = tmp_path / "logs"
    for number in range(12):
        run = f"exp{number % 3}/run{number:02}"
        write_run(logs, run, scalars={"loss": [number / 10]}, wall_time=1.7e9 + number)
    address = "#scalars&columns=loss:last&sort=%2Bloss:last"
    page = profile.open(serve(logs, plugins=["scalars"]).url, address)
    wait_for_count(page, "12 of 12")
    page.locator(".tb-cell", has_text="0.9").wait_for()
    page.locator(".tb-run").nth(7).click(button="right")
    page.get_by_role("group", name="Show only the first of the list").get_by_text(
        "by loss:last"
    ).wait_for()
    page.get_by_role("menuitem", name="Show only the first 5 of the list").click()
    wait_for_count(page, "5 of 12")
    first = ",".join(f"exp{number % 3}/run{number:02}" for number in range(5))
    page.wait_for_function("(runs) => location.hash.endsWith(`runs=${runs}`)", arg=first)


# Groups ------------------------------------------------------------------------------------------


def test_the_limit_counts_whole_groups(open_page: Any, num_runs: int) -> None:
    num_groups = num_runs // NUM_SEEDS
    page = open_page("#scalars&group=seeds")
    wait_for_count(page, f"500 of {numbered(num_runs)}")
    first = num_groups - 100
    wait_for_lines(page, *(f"cfg{first + index:04}" for index in range(3)), "97 more")
    wait_for_notes(
        page,
        f"The newest 100 of {numbered(num_groups)} groups are selected. Check others to add them.",
    )
    page.get_by_label("Filter runs").fill("seed0 | seed3")
    wait_for_count(page, f"200 of {numbered(2 * num_groups)} (of {numbered(num_runs)})")
    wait_for_notes(
        page,
        f"The newest 100 of {numbered(num_groups)} matching groups are selected."
        " Check others to add them.",
    )
    page.get_by_text("100 groups are shown in part: 300 runs do not match.").wait_for()
    page.get_by_label("Filter runs").fill("cfg000")
    wait_for_count(page, f"50 of 50 (of {numbered(num_runs)})")
    wait_for_lines(page, "cfg0000", "cfg0001", "cfg0002", "7 more")
    wait_for_notes(page)
    assert page.get_by_text("shown in part").count() == 0
    page.locator(".tb-row[title=cfg0003] .tb-twist").click()
    page.get_by_role("checkbox", name="cfg0003_seed1", exact=True).uncheck()
    page.get_by_text("1 group is shown in part: 1 run is unchecked.").wait_for()
    row = page.locator("[role=row]", has=page.get_by_role("checkbox", name="cfg0003, 5 runs"))
    assert row.locator(".tb-run-info").inner_text() == "4 of 5"


def test_the_offer_to_average_draws_whole_groups(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Although the newest hundred runs are two or three seeds of each configuration."""
    for index in range(215):
        name = f"cfg{index % 43:02}/seed{index // 43}"
        write_run(tmp_path / "logs", name, scalars={"loss": [1.0, 0.5]}, wall_time=START + index)
    page = profile.open(serve(tmp_path / "logs").url, "#scalars")
    wait_for_count(page, "100 of 215")
    page.get_by_text("These look like 43 groups × 5 seeds: average over seeds?").wait_for()
    page.get_by_role("button", name="Average", exact=True).click()
    wait_for_count(page, "215 of 215")
    wait_for_lines(page, "cfg00/*", "cfg01/*", "cfg02/*", "40 more")
    wait_for_notes(page)
    assert page.get_by_text("shown in part").count() == 0
    counts = page.locator("[role=row] .tb-run-info").all_inner_texts()
    assert set(counts) == {"5"}


# Other tabs --------------------------------------------------------------------------------------


def test_tabs_with_a_part_for_each_run_show_more_on_demand(open_page: Any, num_runs: int) -> None:
    """Of the newest hundred, of what a query finds, and of all runs."""
    page = open_page("#images")
    more = page.get_by_role("button", name="how 24 more of ")

    def wait_for_rest(tab: str, rest: int) -> None:
        page.wait_for_function(
            """([tab, rest]) => document.querySelector('.plugin')?.dataset.plugin === tab
              && tb.all('button').some(({ textContent }) =>
                textContent.replaceAll(',', '').includes(`how 24 more of ${rest} runs`))""",
            arg=[tab, rest],
        )

    for tab in ("images", "text", "histograms", "distributions"):
        for change, rest in [
            ("", 76),
            ("&query=cfg000", 26),
            ("&group=seeds", 476),
            ("&runs=!", num_runs - 24),
        ]:
            page.evaluate("(hash) => { location.hash = hash; }", f"#{tab}{change}")
            wait_for_rest(tab, rest)
        more.click()
        wait_for_rest(tab, num_runs - 48)


def test_hparams_shows_all_sessions_that_match(open_page: Any, num_runs: int) -> None:
    """It needs no limit; the notice above the list is about what is selected there."""

    def wait_for_summary(text: str) -> None:
        page.wait_for_function(
            "(text) => `${tb.all('.tb-summary')[0]?.textContent},`.startsWith(text)", arg=text
        )

    page = open_page("#hparams")
    wait_for_summary(f"{numbered(num_runs)} sessions,")
    wait_for_count(page, f"100 of {numbered(num_runs)}")
    beyond = page.get_by_text("not only of the newest runs")
    beyond.wait_for()
    page.get_by_label("Filter runs").fill("seed1")
    wait_for_summary(f"{numbered(num_runs // NUM_SEEDS)} sessions,")
    page.get_by_label("Filter runs").fill("cfg0003_seed1")
    wait_for_summary("1 session,")
    beyond.wait_for(state="detached")
    page.get_by_role("checkbox", name="cfg0003_seed1", exact=True).uncheck()
    page.get_by_label("Filter runs").fill("")
    wait_for_summary(f"{numbered(num_runs - 1)} sessions, 1 more")


def test_a_link_names_the_runs_that_are_gone(serve: Any, profile: Any, tmp_path: Path) -> None:
    """A few of them by name, and once they come, no longer."""
    write_run(tmp_path / "logs", "new/run1", scalars={"loss": [1.0]})
    server = serve(tmp_path / "logs", plugins=["scalars"])
    olds = ",".join(f"old/run{number}" for number in range(1, 8))
    for runs, note in [
        ("new/run1", None),
        ("old/run1,new/run1", "1 run of this link is not here: old/run1."),
        ("old/run1,old/run2", "2 runs of this link are not here: old/run1, old/run2."),
        ("~newest,!new/run1", None),
        (
            olds,
            "7 runs of this link are not here: old/run1, old/run2, old/run3, old/run4, old/run5 "
            "and 2 more.",
        ),
    ]:
        page = profile.open(server.url, f"#scalars&runs={runs}")
        wait_for_count(page, f"{int('new/run1' in runs and '!' not in runs)} of 1")
        wait_for_notes(page, *[note] if note else [])
        if note and "new" not in runs:  # also where the charts would be
            page.locator(".none-note").get_by_text(note).wait_for()
            page.get_by_role("button", name="Show the run", exact=True).wait_for()
    for number in range(1, 8):
        write_run(tmp_path / "logs", f"old/run{number}", scalars={"loss": [1.0]})
    wait_for_count(page, "7 of 8")
    wait_for_notes(page)
