"""Queries in the run list and for tags: mouse and keyboard, mistakes, offers, links, many runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, write_run
from tbcore_testing.demo import write_demo

VIEWS = [
    {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light"},
    {"viewport": {"width": 400, "height": 800}, "color_scheme": "dark"},
]
"""What a page is opened with: wide and light, narrow and dark."""
RUNS: dict[str, dict[str, Any]] = {
    "resnet/seed1": {"hparams": {"lr": 0.1, "optimizer": "adam"}, "loss": [2.0, 0.25]},
    "resnet/seed2": {"hparams": {"lr": 0.01, "optimizer": "sgd"}, "loss": [2.0, 0.75]},
    "vit/seed1": {"hparams": {"lr": 0.1, "optimizer": "AdamW"}, "loss": [2.0, float("nan")]},
    "vit/lr=0.1": {"hparams": {}, "loss": [1.0]},
}
FOUND = [
    ("seed1 res", ["resnet/seed1"]),
    ("RES*seed?", ["resnet/seed1", "resnet/seed2"]),
    ("lr>0.05", ["resnet/seed1", "vit/seed1"]),
    ("-lr>0.05", ["resnet/seed2", "vit/lr=0.1"]),
    ('optimizer=adam* | "lr=0.1"', ["resnet/seed1", "vit/seed1", "vit/lr=0.1"]),
    ("val/loss:last<0.5", ["resnet/seed1"]),
    ("val/loss:max>=2 -has:nan", ["resnet/seed1", "resnet/seed2"]),
    ("val/loss:at(0)=1", ["vit/lr=0.1"]),
    ("quiet step<1", ["vit/lr=0.1"]),
    ("re:(vit|net)/seed1$", ["resnet/seed1", "vit/seed1"]),
]
"""Queries, and the runs that each finds."""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    for run, facts in RUNS.items():
        scalars = {"val/loss": facts["loss"], "lr>3": [1.0]}
        write_run(logdir, run, hparams=facts["hparams"], scalars=scalars)
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def run_filter(page: Any) -> Any:
    """The filter of the run list, which a narrow page shows first."""
    box = page.get_by_label("Filter runs", exact=True)
    box.wait_for(state="attached")
    if not box.is_visible():
        page.keyboard.press("r")
        box.wait_for(state="visible")
    return box


def wait_for_runs(page: Any, runs: Sequence[str]) -> None:
    """Waits until the list shows these runs, in any order."""
    page.wait_for_function(
        """(runs) => [...document.querySelectorAll('.tb-run')].map((row) => row.title)
          .sort().join('\\n') === runs.join('\\n')""",
        arg=sorted(runs),
    )


@pytest.mark.parametrize("view", VIEWS, ids=["wide", "narrow"])
def test_a_query_finds_runs(open_page: Any, view: dict[str, Any]) -> None:
    """What is typed is in the address as text, and a link with it finds the same."""
    page = open_page("#scalars", **view)
    for query, found in FOUND:
        run_filter(page).fill("")
        run_filter(page).press_sequentially(query)
        wait_for_runs(page, found)
        page.wait_for_function(
            "(query) => decodeURIComponent(location.hash).endsWith(`&query=${query}`)", arg=query
        )
    linked = open_page(page.evaluate("() => location.hash"), **view)
    assert run_filter(linked).input_value() == query
    wait_for_runs(linked, found)


def test_a_mistake_is_marked_and_the_list_stays(open_page: Any) -> None:
    """The message says where the mistake is, and nothing moves."""
    page = open_page()
    box = run_filter(page)
    box.fill("resnet")
    wait_for_runs(page, ["resnet/seed1", "resnet/seed2"])
    position = page.locator(".tb-runs-bar").bounding_box()
    for query, message, marked in [
        ("resnet | ", "At character 8: nothing after |", "|"),
        ("resnet (a", "At character 8: unclosed (", "("),
        ("lr>fast", "At character 4: expected a number after >", "f"),
        ("resnet age<2", "At character 12: expected a duration such as 2h after <", "2"),
        ("val/loss:best<1", "At character 10: unknown statistic 'best'", "b"),
        ("resnet re:[", "At character 11: unclosed [", "["),
    ]:
        box.fill(query)
        page.get_by_text(message).wait_for()
        assert page.locator(".tb-filter-error mark").inner_text() == marked
        assert box.get_attribute("aria-invalid") == "true"
        page.get_by_text("Still shown: what “resnet” finds.").wait_for()
        page.get_by_role("checkbox", name="All matching “resnet”").wait_for()
        wait_for_runs(page, ["resnet/seed1", "resnet/seed2"])
        assert page.locator(".tb-runs-bar").bounding_box() == position


@pytest.mark.parametrize("key", ["mouse", "keyboard"])
def test_what_may_be_meant_is_one_click_away(open_page: Any, key: str) -> None:
    """Close names, the comparison as part of a name, and a regular expression."""
    page = open_page()
    box = run_filter(page)

    def accept(label: str) -> None:
        button = page.get_by_role("button", name=label, exact=True)
        button.wait_for()
        if key == "mouse":
            button.click()
            return
        while not button.evaluate("(node) => node === document.activeElement"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")

    for query, note, offer, corrected, found in [
        (
            "seed1 lrr>0.01",
            "No hyperparameter lrr",
            "lr",
            "seed1 lr>0.01",
            ["resnet/seed1", "vit/seed1"],
        ),
        (
            "val/los:last<0.5",
            "No tag val/los",
            "val/loss:last",
            "val/loss:last<0.5",
            ["resnet/seed1"],
        ),
        ("has:val/los", "No tag val/los", "has:val/loss", "has:val/loss", list(RUNS)),
        ("lrate=0.1", "No hyperparameter lrate", 'Names with "lrate=0.1"', '"lrate=0.1"', []),
        ("^vit/s.*1$", "", "Search as an expression", "re:^vit/s.*1$", ["vit/seed1"]),
        ("[rv]\\w+/seed1 ", "", "Search as an expression", 're:"[rv]\\w+/seed1 "', []),
        ("(vit", "At character 1: unclosed (", "Search as text", '"(vit"', []),
    ]:
        box.fill(query)
        if query.startswith("has:"):
            page.get_by_role("option", name=offer).wait_for()
            box.press("Escape")  # closes the list of names
        if note:
            page.get_by_text(note).first.wait_for()
        accept(offer)
        assert box.input_value() == corrected
        assert box.evaluate("(node) => node === document.activeElement")
        if found == []:
            box.press("Enter")  # until then, the runs of before are shown
        if found is not None:
            wait_for_runs(page, found)


def test_notes_cover_nothing_when_the_filter_is_not_used(open_page: Any) -> None:
    page = open_page("#scalars&query=lrr>3")
    note = page.locator(".tb-filter-note", has_text="No hyperparameter lrr")
    note.wait_for(state="attached")
    assert not note.is_visible()
    run_filter(page).focus()
    note.wait_for(state="visible")
    page.get_by_label("Sort runs").focus()
    note.wait_for(state="hidden")


def test_a_link_with_an_unknown_name_says_so(open_page: Any) -> None:
    """Below "No runs match", without the focus in the filter."""
    page = open_page("#scalars&query=lrr>3")
    page.get_by_text("No runs match. No hyperparameter lrr").wait_for()


def test_failed_finds_no_runs_with_nan_and_says_what_does(open_page: Any) -> None:
    page = open_page("#scalars&query=is:failed")
    page.get_by_text("1 run has NaN or infinite values").wait_for()
    page.get_by_role("button", name="Search for has:nan").click()
    wait_for_runs(page, ["vit/seed1"])


def test_mistakes_cover_nothing_when_the_filter_is_not_used(open_page: Any) -> None:
    """That of a link is above the list; after typing it is in the title, so that nothing moves."""
    page = open_page("#scalars&query=vit (a")
    message = page.locator(".tb-filter-error")
    message.get_by_text("unclosed (").wait_for()
    box, bar = message.bounding_box(), page.locator(".tb-runs-bar").bounding_box()
    assert box["y"] + box["height"] <= bar["y"]
    run_filter(page).focus()
    bar = page.locator(".tb-runs-bar").bounding_box()
    box = message.bounding_box()
    assert box["y"] + box["height"] > bar["y"]
    page.get_by_label("Sort runs").focus()
    message.wait_for(state="hidden")
    assert page.locator(".tb-runs-bar").bounding_box() == bar
    assert run_filter(page).get_attribute("title") == "unclosed ("


def test_first_tries_have_offers(open_page: Any) -> None:
    """A tag without a statistic, blanks around an operator, other values and words."""
    page = open_page()
    box = run_filter(page)
    for query, offer, found in [
        ("val/loss<0.5", "val/loss:last<0.5", ["resnet/seed1"]),
        ("lr > 0.05", "lr>0.05", ["resnet/seed1", "vit/seed1"]),
        ("optimizer=adm", "optimizer=adam", ["resnet/seed1"]),
        ("optimizer:sgd", "optimizer=sgd", ["resnet/seed2"]),
        ("vit and not seed1", "vit -seed1", ["vit/lr=0.1"]),
    ]:
        box.fill(query)
        page.get_by_role("button", name=offer, exact=True).click()
        wait_for_runs(page, found)


def test_the_list_stays_until_the_server_answers(open_page: Any) -> None:
    """The page says that it waits for the answer."""
    page = open_page()
    wait_for_runs(page, list(RUNS))
    held: list[Any] = []

    def hold(route: Any) -> None:
        if "lr>0.05" in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page.route("**/data/run_attributes", hold)
    run_filter(page).fill("lr>0.05")
    page.get_by_text("Searching…").wait_for()
    wait_for_runs(page, list(RUNS))
    held.pop().continue_()
    wait_for_runs(page, ["resnet/seed1", "vit/seed1"])
    page.get_by_text("Searching…").wait_for(state="detached")


def test_what_is_drawn_stays_while_a_query_is_typed(open_page: Any) -> None:
    """Half a query neither empties the page, nor shows the result of a prefix, nor lays its message
    over the number of runs. The address has what is shown."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.card('val/loss')")
    box = run_filter(page)
    box.fill("(vi")
    page.get_by_text("Still shown: all.").wait_for()
    for view, hash in (("List", "#scalars&view=list"), ("Tree", "#scalars")):
        page.get_by_text(view, exact=True).click()
        page.wait_for_function("(hash) => location.hash === hash", arg=hash)
    box.fill("")
    vit = ["vit/lr=0.1", "vit/seed1"]
    for text, found in [("vi", vit), ("vix", list(RUNS)), ("vix>", list(RUNS))]:
        page.keyboard.type(text.removeprefix(box.input_value()))
        query = "&query=vi" if found == vit else ""
        page.wait_for_function("(hash) => location.hash === hash", arg=f"#scalars{query}")
        wait_for_runs(page, found)
        assert page.get_by_text("No runs").count() == 0
    message = page.locator(".tb-filter-error")
    message.wait_for()
    count = page.locator(".tb-runs-all").bounding_box()
    assert message.bounding_box()["y"] >= count["y"] + count["height"]
    box.fill("lr>0.05")
    wait_for_runs(page, ["resnet/seed1", "vit/seed1"])
    box.press("Enter")
    box.fill("vit")
    wait_for_runs(page, vit)
    page.clock.install()
    page.clock.pause_at(time.time() + 60)
    box.fill("nothing")
    note = page.get_by_text("Nothing matches. Still shown for a moment: what “lr>0.05” finds.")
    everything = page.get_by_role("checkbox", name="All matching “lr>0.05”")
    while not (note.is_visible() and everything.is_visible()):
        page.clock.run_for(10)
    page.clock.run_for(500)
    wait_for_runs(page, ["resnet/seed1", "vit/seed1"])
    page.clock.run_for(400)
    assert note.is_visible()
    page.clock.resume()
    note.wait_for(state="detached")
    page.locator(".tb-runs-count", has_text="0 of 0 (of 4)").wait_for()
    page.get_by_text("No runs match “nothing”.").wait_for()
    page.wait_for_function("() => location.hash.endsWith(`query=nothing`)")
    box.press_sequentially("s")
    page.wait_for_function("() => location.hash.endsWith(`query=nothings`)")
    wait_for_runs(page, [])
    box.fill("seed2")
    wait_for_runs(page, ["resnet/seed2"])
    box.fill("nothing")
    box.press("Enter")
    page.get_by_text("No runs match “nothing”.").wait_for()
    page.get_by_label("Filter runs").fill("nothing lr>")
    page.locator(".tb-runs-note", has_text="The query has a mistake.").wait_for()
    assert page.get_by_text("No runs match").count() == 0
    assert page.locator(".tb-runs-count").inner_text() == ""
    page.get_by_label("Filter runs").fill("nothing")
    page.get_by_text("No runs match “nothing”.").wait_for()
    wait_for_runs(page, [])


def test_names_are_completed_with_the_keyboard(open_page: Any) -> None:
    """Tab and Enter take a name, Escape closes the list, undoes what was typed, and leaves."""
    page = open_page("#scalars")
    box, option = run_filter(page), page.locator(".tb-options [role=option]")

    def options() -> list[str]:
        option.first.wait_for()
        names: list[str] = page.locator(".tb-options .tb-name").all_inner_texts()
        return names

    box.focus()
    page.keyboard.type("vit opt")
    assert options() == ["optimizer"]
    page.keyboard.press("Tab")
    assert box.input_value() == "vit optimizer"
    assert option.count() == 0
    page.keyboard.type("=adamw -has:n")
    assert options() == ["has:nan"]
    page.keyboard.press("ArrowDown")
    assert option.get_attribute("id") == box.get_attribute("aria-activedescendant")
    page.keyboard.press("Enter")
    assert box.input_value() == "vit optimizer=adamw -has:nan"
    box.fill("val/")
    assert options() == ["val/loss:last"]
    page.keyboard.press("Escape")
    assert (option.count(), box.input_value()) == (0, "val/")
    box.fill("val/loss:")
    assert options() == [
        f"val/loss:{stat}" for stat in ("last", "min", "max", "nan", "at(", "change(")
    ]
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    focused = "() => document.activeElement.closest('[role=row]')?.title"
    page.wait_for_function(focused)
    box.focus()
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    assert box.input_value() == "val/loss:"
    page.keyboard.press("Escape")
    assert not box.evaluate("(node) => node === document.activeElement")
    assert box.input_value() == "val/loss:"
    box.fill("vit")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert not box.evaluate("(node) => node === document.activeElement")
    assert box.input_value() == "vit"
    wait_for_runs(page, [run for run in RUNS if run.startswith("vit")])
    page.keyboard.press("/")
    tags = page.get_by_label("Filter tags", exact=True)
    page.keyboard.type("va")
    assert options() == ["val/loss"]
    page.keyboard.press("Tab")
    assert tags.input_value() == "val/loss"


def test_a_mistyped_nan_is_thought_of(open_page: Any) -> None:
    page = open_page("#scalars&query=has:nna")
    run_filter(page).focus()
    page.get_by_role("button", name="has:nan", exact=True).click()
    wait_for_runs(page, ["vit/seed1"])


def test_the_focus_loads_what_queries_need(open_page: Any) -> None:
    """So that the first query does not wait for the hyperparameters of all runs to be read."""
    page = open_page()
    with page.expect_request("**/data/run_attributes") as request:
        page.get_by_label("Filter runs").focus()
    assert request.value.post_data == "{}"


def test_old_links_are_read_and_not_written(open_page: Any) -> None:
    """Their regular expressions are queries that find the same."""
    page = open_page("#scalars&runFilter=^vit|seed2$&tagFilter=loss .%7C%5Elr")
    wait_for_runs(page, ["vit/seed1", "vit/lr=0.1", "resnet/seed2"])
    assert run_filter(page).input_value() == "re:^vit|seed2$"
    assert page.get_by_label("Filter tags", exact=True).input_value() == 're:"loss .|^lr"'
    page.wait_for_function("() => tb.card('lr>3') && !tb.card('val/loss')")
    tensorboard = open_page("#scalars&regexInput=seed2")
    wait_for_runs(tensorboard, ["resnet/seed2"])
    run_filter(page).fill("vit")
    page.wait_for_function("() => location.hash.includes('query=vit')")
    assert "Filter" not in page.evaluate("() => location.hash")


def test_queries_for_tags_have_words_and_expressions(open_page: Any) -> None:
    page = open_page("#scalars")
    page.wait_for_function("() => tb.card('lr>3') && tb.card('val/loss')")
    box = page.get_by_label("Filter tags", exact=True)
    for query, shows_lr, shows_loss in [
        ("lr>3", True, False),
        ("loss val", False, True),
        ("-loss", True, False),
        ("l*3 | nothing", True, False),
        ("re:^val/", False, True),
        ("-(val | lr)", False, False),
    ]:
        box.fill(query)
        page.wait_for_function(
            "(shown) => ['lr>3', 'val/loss'].every((tag, i) => Boolean(tb.card(tag)) === shown[i])",
            arg=[shows_lr, shows_loss],
        )
    box.fill("^val")
    page.get_by_role("button", name="Search as an expression").click()
    page.wait_for_function("() => tb.card('val/loss')")
    box.fill("a | ")
    page.get_by_text("At character 3: nothing after |").wait_for()


def test_the_syntax_is_explained(open_page: Any) -> None:
    """Beside each filter, by mouse and by keyboard, and in the help dialog."""
    page = open_page()
    summary = page.get_by_role("table", name="Filter runs")
    page.get_by_role("button", name="Syntax of the filter").first.click()
    summary.get_by_text("val/loss:last<0.5").wait_for()
    page.keyboard.press("Escape")
    summary.wait_for(state="detached")
    run_filter(page).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    summary.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("tab").first.focus()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("learning_rate>1e-3").wait_for()
    page.get_by_role("dialog").get_by_text("its highest step").wait_for()


def test_a_query_follows_new_values(serve: Any, profile: Any, tmp_path: Path) -> None:
    """A run is found or not by what is written while the page is open."""
    logdir = tmp_path / "logs"
    write_run(logdir, "done", hparams={"lr": 1}, scalars={"loss": [1.0, 0.5]})
    with EventFileWriter(logdir / "live" / "events.out.tfevents.1") as writer:
        writer.add_scalar("loss", 0.9, 0, wall_time=time.time())
    page = profile.open(serve(logdir).url, "#scalars&query=loss:last<0.6")
    wait_for_runs(page, ["done"])
    with EventFileWriter(logdir / "live" / "events.out.tfevents.1") as writer:
        writer.add_scalar("loss", 0.1, 1, wall_time=time.time())
    wait_for_runs(page, ["done", "live"])
    run_filter(page).fill("live")
    wait_for_runs(page, ["live"])
    run_filter(page).fill("age>1d")
    wait_for_runs(page, ["done"])
    run_filter(page).fill("age<1d -took<1d")  # the file's first event has a fixed time
    wait_for_runs(page, ["live"])


def test_queries_work_on_the_demo(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Hyperparameters, values and NaN of the demo runs are found."""
    write_demo(tmp_path / "demo")
    page = profile.open(serve(tmp_path / "demo").url)
    box = run_filter(page)
    box.fill("learning_rate>0.001 optimizer=adam*")
    page.wait_for_function(
        "() => / \\(of \\d+\\)$/.test(document.querySelector('.tb-runs-count').innerText)"
    )
    box.fill("has:nan")
    page.wait_for_function("() => document.querySelector('.tb-run .tb-nan')")


def test_what_is_shown_beside_a_mistake_is_named(open_page: Any) -> None:
    """Without an earlier query, that is everything; and a query for tags has one, too."""
    page = open_page("#scalars&query=(a")
    run_filter(page).focus()
    page.get_by_text("Still shown: all.").wait_for()
    page.get_by_role("checkbox", name="All runs", exact=True).wait_for()
    wait_for_runs(page, list(RUNS))
    tags = page.get_by_label("Filter tags", exact=True)
    tags.fill("val")
    tags.fill("val (")
    page.get_by_text("Still shown: what “val” finds.").wait_for()
