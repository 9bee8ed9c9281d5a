"""Notes on runs in the page: marks, the menu, archived runs, and who may change notes."""

from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until
from noted_pages import (
    OLD,
    RUNS,
    fragment,
    menu,
    noted_by_bob,
    notes_of,
    open_writing,
    own_directory,
    values,
    wait_for_runs,
    wait_until_loaded,
    write_runs,
)

from tbcore_notes.records import line_of
from tbcore_testing import summaries, write_run
from tbcore_testing.page import Page

HOSTILE = "<img src=x onerror=alert(1)>\u202egnp"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This user's data directory."""
    return own_directory(tmp_path, monkeypatch)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return write_runs(tmp_path / "runs")


@pytest.fixture
def server(serve: Any, logdir: Path) -> Any:
    return serve(logdir)


def focused(page: Any) -> str:
    label: str = page.evaluate("() => document.activeElement.getAttribute('aria-label') ?? ''")
    return label


# Marks and the menu ------------------------------------------------------------------------------


def test_a_star_is_seen_by_another_browser_and_by_its_query(
    server: Any, new_profile: Any, logdir: Path
) -> None:
    """With the mouse in the row, or the key of the focused row; nothing in the row moves."""
    page, other = open_writing(new_profile(), server), new_profile().open(server.url)
    other.get_by_label("Filter runs").fill("is:starred")
    other.get_by_text("No runs match “is:starred”.").wait_for()
    row = Page(page).run("sweep/lr1")
    name = row.locator(".tb-name")
    row.hover()
    before = name.bounding_box()
    star = page.get_by_role("button", name="Star sweep/lr1", exact=True)
    assert star.get_attribute("aria-pressed") == "false"
    star.click()
    page.get_by_role("button", name="Starred sweep/lr1").wait_for()
    assert name.bounding_box() == before
    until(lambda: values(logdir, "sweep/lr1") == {"starred": True})
    wait_for_runs(other, "sweep/lr1")
    other.get_by_role("button", name="Starred sweep/lr1").wait_for()

    page.get_by_role("checkbox", name="sweep/lr2").focus()
    page.keyboard.press("s")
    wait_for_runs(other, "sweep/lr1", "sweep/lr2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("s")
    wait_for_runs(other, "sweep/lr2")
    page.keyboard.press("?")
    page.get_by_text("Star, or remove the star").wait_for()


def test_a_run_is_renamed_labelled_noted_and_coloured(
    server: Any, new_profile: Any, logdir: Path
) -> None:
    """From its menu; each dialog gives the focus back. Another browser sees all of it."""
    page, other = open_writing(new_profile(), server), new_profile().open(server.url)
    page.get_by_role("checkbox", name="sweep/lr1").focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name="Rename…").press("Enter")
    page.get_by_label("Name in charts and tables").fill("baseline")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    assert focused(page) == "sweep/lr1"
    row = other.locator(".tb-run", has_text="baseline")
    row.wait_for()
    title = row.locator("label").get_attribute("title") or ""
    assert title.startswith("baseline\nsweep/lr1\nnamed by ")
    other.get_by_label("Filter runs").fill("baseline")
    other.get_by_text("“baseline” is the display name of a run.").wait_for()
    other.get_by_role("button", name='Search for "sweep/lr1"').click()
    wait_for_runs(other, "sweep/lr1")
    other.get_by_label("Filter runs").fill("")
    wait_for_runs(other, "other", "sweep/lr1", "sweep/lr2", "sweep/lr3")

    menu(page, "sweep/", "Labels…")
    page.get_by_label("New labels").fill("paper lr-sweep")
    page.keyboard.press("Enter")
    chips = page.get_by_role("list", name="Labels").get_by_role("listitem")
    until(
        lambda: [each.split("\n")[0] for each in chips.all_inner_texts()] == ["paper", "lr-sweep"]
    )
    page.get_by_role("button", name="Remove lr-sweep").click()
    until(lambda: chips.count() == 1)
    page.get_by_role("button", name="Done").click()
    until(lambda: [values(logdir, run).get("labels") for run in RUNS] == [["paper"]] * 3 + [None])
    other.get_by_label("Filter runs").fill("#paper")
    wait_for_runs(other, *RUNS[:3])

    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("n")
    page.get_by_role("textbox", name="Note").fill("Best so far.\nSee https://a.example/x.")
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    assert focused(page) == "other"
    other.get_by_label("Filter runs").fill("note:best")
    marker = other.get_by_role("button", name="Note on other")
    assert marker.get_attribute("title") == "Best so far. …"
    marker.click()
    other.get_by_role("link", name="https://a.example/x", exact=True).wait_for()
    other.get_by_text(re.compile(r"^by \S+@\S+, \d{4}-\d\d-\d\d \d\d:\d\d$")).wait_for()
    assert not other.get_by_role("button", name="Change").is_visible()  # It may not write.

    page.locator('[role="row"][title="other"]').click(button="right")
    page.get_by_label("Colour").fill("#123456")
    other.wait_for_function("() => tb.colors().other === '#123456'")
    page.keyboard.press("Escape")
    menu(page, "other", "Reset colour")
    other.wait_for_function("() => tb.colors().other !== '#123456'")
    assert values(logdir, "other")["color"] == ""


def test_the_focus_comes_back_to_the_row_of_a_menu_or_mark(
    server: Any, profile: Any, logdir: Path
) -> None:
    """Also if it was opened with the mouse: the keys then act on that row."""
    page = open_writing(profile, server)
    menu(page, "sweep/lr2", "Labels…")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert focused(page) == "sweep/lr2"
    page.keyboard.press("e")
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr3")
    row = Page(page).run("sweep/lr3")
    row.hover()
    row.get_by_role("button", name="Star sweep/lr3").click()
    until(lambda: values(logdir, "sweep/lr3") == {"starred": True})
    page.keyboard.press("e")
    wait_for_runs(page, "other", "sweep/lr1")
    assert values(logdir, "other") == {}


def test_the_menu_above_the_rows_is_about_all_that_match(
    server: Any, profile: Any, logdir: Path
) -> None:
    page = open_writing(profile, server)
    box = page.get_by_label("Filter runs")
    box.fill("lr1 | lr2")
    page.keyboard.press("Enter")
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    page.locator(".tb-runs-all").click(button="right")
    assert not page.get_by_role("menuitem", name="Copy path").is_visible()
    page.get_by_role("menuitem", name="Archive these 2 runs").click()
    page.get_by_text("Archived 2 runs.").wait_for()
    box.fill("")
    wait_for_runs(page, "other", "sweep/lr3")
    page.get_by_role("checkbox", name="All runs").focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("menuitem", name="Star these 2 runs").press("Enter")
    until(lambda: values(logdir, "sweep/lr3") == {"starred": True})


def test_a_closed_folder_shows_what_its_runs_have_in_common(
    server: Any, profile: Any, logdir: Path
) -> None:
    """What was done to several runs is a line with Undo, which changes back no other run."""
    notes_of(logdir).change(["sweep/lr1"], {"note": "why", "labels": ["paper", "own"]})
    page = open_writing(profile, server)
    page.locator('[role="row"][title="sweep/"]').click(button="right")
    page.get_by_role("menuitem", name="Star these 3 runs").wait_for()
    second_line = ".tb-run-menu p + hr"  # below that of the name
    assert not page.locator(second_line).is_visible()
    page.keyboard.press("Escape")
    menu(page, "sweep/", "Star these 3 runs")
    page.get_by_text("Starred 3 runs.").wait_for()
    menu(page, "sweep/", "Labels…")
    long = "x" * 51
    box = page.get_by_label("New labels, separated by spaces")
    box.fill(f"paper {long}")
    box.press("Enter")
    page.get_by_text(f"“{long}” has more than 50 characters.").wait_for()
    assert box.input_value() == f"paper {long}"
    page.get_by_text("3 runs: sweep/lr1, sweep/lr2, sweep/lr3").wait_for()
    box.fill("paper")
    box.press("Enter")
    page.get_by_text("Labelled 3 runs: paper.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Collapse sweep/").click()
    folder = page.locator('[role="row"][title="sweep/"]')
    folder.get_by_title("All 3 runs are starred").wait_for()
    folder.get_by_title("All 3 runs have: paper", exact=True).wait_for()
    page.get_by_role("button", name="Undo").click()
    until(
        lambda: (
            [values(logdir, run).get("labels") for run in RUNS[:3]] == [["paper", "own"], [], []]
        )
    )
    page.get_by_text("paper").wait_for(state="detached")
    folder.get_by_role("button", name="Notes on 1 run").click()
    page.get_by_role("dialog", name="Note: sweep/lr1").get_by_text("why", exact=True).wait_for()
    page.keyboard.press("Escape")
    menu(page, "sweep/", "Remove the stars of these 3 runs")
    page.get_by_text("Removed the stars of 3 runs.").wait_for()
    folder.get_by_title("All 3 runs are starred").wait_for(state="detached")


def test_the_note_of_several_runs_shows_those_that_it_replaces(
    server: Any, profile: Any, logdir: Path
) -> None:
    """A draft names its runs, and the window says how to write and to save."""
    notes_of(logdir).change(["sweep/lr2"], {"note": "**odd** at 100"})
    page = open_writing(profile, server)
    menu(page, "sweep/", "Note…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("What you save replaces this note:").wait_for()
    dialog.get_by_text("odd at 100").wait_for()
    dialog.get_by_text("sweep/lr2", exact=True).wait_for()
    dialog.get_by_text("Ctrl+Enter saves.").wait_for()
    dialog.get_by_role("textbox", name="Note").fill("all")
    page.keyboard.press("Escape")
    page.get_by_text("The note on sweep/lr1, sweep/lr2, sweep/lr3 is not saved.").wait_for()


def test_escape_closes_one_window_on_a_narrow_page(server: Any, profile: Any, logdir: Path) -> None:
    """Of a note above the run list that slides in, and of a menu."""
    notes_of(logdir).change(["other"], {"note": "why"})
    page = profile.open(server.url, fragment(server), viewport={"width": 400, "height": 800})
    page.locator(".runs-button").click()
    drawer = page.locator("aside.open")
    page.get_by_role("button", name="Note on other").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator('[role="row"][title="other"]').click(button="right")
    page.get_by_role("menu").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("menu").wait_for(state="detached")
    assert drawer.is_visible()
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")


def test_a_note_that_is_not_saved_is_kept_as_a_draft(
    server: Any, profile: Any, logdir: Path
) -> None:
    """After Escape; a line offers to go on, and to discard it. After a reload, the note has it, and
    what somebody else has written since."""
    page = open_writing(profile, server)
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("n")
    box = page.get_by_role("textbox", name="Note")
    box.fill("half a thought")
    page.keyboard.press("Escape")
    page.get_by_text("The note on other is not saved.").wait_for()
    page.get_by_role("button", name="Go on writing").click()
    until(lambda: box.input_value() == "half a thought")
    page.reload()
    page.locator(".tb-notes-star").first.wait_for(state="attached")
    noted_by_bob(logdir, "other", note="# Seen\nby *bob*")
    page.get_by_role("button", name="Note on other").click()
    until(lambda: box.input_value() == "half a thought")
    page.get_by_text("A draft, which is not saved yet.").wait_for()
    page.get_by_text("What you save replaces this note:").wait_for()
    page.get_by_role("heading", name="Seen").wait_for()
    assert page.locator(".tb-notes-text em").inner_text() == "bob"
    box.press("Control+Enter")
    until(lambda: values(logdir, "other").get("note") == "half a thought")
    page.get_by_text("is not saved").wait_for(state="hidden")


LONG = "Best so far.\n\n- [x] lr\n- [ ] seeds\n\n" + "and so on " * 500 + "until the end."
"""A note of which the page has the first line."""
TEXTS = "**/data/notes?run=*"
"""The addresses of whole texts."""


def open_note(page: Any, name: str = "other") -> Any:
    """Opens the note on a run by its mark, and returns the dialog."""
    page.get_by_role("button", name=f"Note on {name}").click()
    dialog = page.get_by_role("dialog", name=f"Note: {name}")
    dialog.wait_for()
    return dialog


def test_a_long_note_is_loaded_when_it_is_opened(server: Any, profile: Any, logdir: Path) -> None:
    """The page has its first line, which is its tooltip. What is saved is all of it, and a text
    that is cut to the first line by its reader is saved so."""
    notes_of(logdir).change(["other"], {"note": LONG})
    page = open_writing(profile, server)
    dialog = open_note(page)
    dialog.get_by_text(re.compile("until the end.$")).wait_for()
    assert dialog.get_by_role("listitem").count() == 2
    assert page.locator(".tb-notes-note").get_attribute("title") == "Best so far. …"
    answers = page.evaluate("""async () => (await (await fetch('data/notes')).text())""")
    assert "Best so far." in answers
    assert "until the end" not in answers
    # As if it had been there at once, the button has the focus.
    page.wait_for_function("() => document.activeElement.textContent === 'Change'")
    page.keyboard.press("Enter")
    box = dialog.get_by_role("textbox", name="Note")
    assert box.input_value() == LONG
    box.press("End")
    box.press("Control+End")
    box.press_sequentially(" And more.")
    box.press("Control+Enter")
    dialog.wait_for(state="detached")
    assert values(logdir, "other")["note"] == LONG + " And more."
    dialog = open_note(page)
    dialog.get_by_role("button", name="Change").click()
    dialog.get_by_role("textbox", name="Note").fill("Best so far.")
    page.keyboard.press("Control+Enter")
    dialog.wait_for(state="detached")
    assert values(logdir, "other")["note"] == "Best so far."
    # What is all in the first line is not asked for.
    before = len([url for url in profile.requested_urls if "run=" in url])
    open_note(page).get_by_role("button", name="Change").wait_for()
    assert len([url for url in profile.requested_urls if "run=" in url]) == before


def test_a_note_that_cannot_be_loaded_is_neither_changed_nor_lost(
    server: Any, profile: Any, logdir: Path
) -> None:
    """Its first line is shown with the reason; a draft of it is kept, and comes back with it."""
    notes_of(logdir).change(["other"], {"note": LONG})
    page = open_writing(profile, server)
    profile.expects_errors = True  # The browser reports requests that fail.
    dialog = open_note(page)
    dialog.get_by_role("button", name="Change").click()
    dialog.get_by_role("textbox", name="Note").fill(LONG + " A draft.")
    page.keyboard.press("Escape")
    for fails, reason in (
        (lambda route: route.abort(), "the server cannot be reached."),
        (lambda route: route.fulfill(status=503, body="one line"), "one line"),
    ):
        page.route(TEXTS, fails)
        page.keyboard.press("Escape")
        dialog = open_note(page)
        dialog.get_by_text(f"The note cannot be loaded: {reason}").wait_for()
        dialog.get_by_text("Best so far. …", exact=True).wait_for()
        dialog.get_by_text("Your draft is kept.").wait_for()
        assert dialog.get_by_role("textbox").count() == 0
        assert dialog.get_by_role("button", name="Save").count() == 0
        page.unroute(TEXTS)
    dialog.get_by_role("button", name="Try again").click()
    box = dialog.get_by_role("textbox", name="Note")
    until(lambda: box.input_value() == LONG + " A draft.")
    dialog.get_by_text("What you save replaces this note:").wait_for()
    dialog.get_by_text(re.compile("until the end.$")).wait_for()
    assert values(logdir, "other")["note"] == LONG
    dialog.get_by_role("button", name="Discard").click()
    dialog.wait_for(state="detached")
    assert values(logdir, "other")["note"] == LONG


def test_a_note_is_read_while_the_server_is_away(server: Any, profile: Any, logdir: Path) -> None:
    """The window says so, and has the text once the server is back."""
    notes_of(logdir).change(["other"], {"note": LONG})
    page = profile.open(server.url)
    page.get_by_role("button", name="Note on other").wait_for()
    profile.expects_errors = True
    # What the window needs beside the text is there.
    page.evaluate("async () => { for (const name of ['actions.js', 'dialogs.js', 'dialogs.css'])"
                  " await fetch(`static/notes/${name}`); }")  # fmt: skip
    open_note(page).get_by_text(re.compile("until the end.$")).wait_for()
    page.keyboard.press("Escape")
    server.stop()
    dialog = open_note(page)
    dialog.get_by_role("alert").get_by_text("the server cannot be reached.").wait_for()
    server.start()
    dialog.get_by_role("button", name="Try again").click()
    dialog.get_by_text(re.compile("until the end.$")).wait_for()
    assert dialog.get_by_role("alert").count() == 0


def test_a_long_note_that_changes_while_it_is_open_is_shown_beside_what_is_typed(
    server: Any, profile: Any, logdir: Path
) -> None:
    """Also while it is being loaded; nothing that is typed is lost."""
    notes_of(logdir).change(["other"], {"note": LONG})
    page = open_writing(profile, server)
    dialog = open_note(page)
    dialog.get_by_role("button", name="Change").click()
    box = dialog.get_by_role("textbox", name="Note")
    box.fill("mine")
    held: list[Any] = []
    page.route(TEXTS, lambda route: held.append(route))
    # The same first line: only the time tells that it is another one.
    noted_by_bob(logdir, "other", note=LONG + "\nBob was here.")
    dialog.get_by_text("Changed since you opened it; what you save replaces it:").wait_for()
    dialog.get_by_text("Loading the note…").wait_for()
    assert box.input_value() == "mine"
    until(lambda: (page.evaluate("() => tb.frame()"), held)[1])
    held.pop().continue_()
    dialog.get_by_text("Bob was here.").wait_for()
    dialog.get_by_text("by bob@far").wait_for()
    assert dialog.get_by_text("Loading the note…").count() == 0
    assert box.input_value() == "mine"
    page.keyboard.press("Escape")
    noted_by_bob(logdir, "other", note=LONG + "\nAnd again.")
    until(lambda: (page.evaluate("() => tb.frame()"), held == [])[1])
    page.unroute(TEXTS)
    dialog = open_note(page)
    dialog.get_by_text("And again.").wait_for()
    assert dialog.get_by_role("textbox", name="Note").input_value() == "mine"
    page.keyboard.press("Control+Enter")
    until(lambda: values(logdir, "other")["note"] == "mine")


def test_of_many_long_notes_some_are_shown_whole(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Equal first lines do not make equal notes; those that are not loaded are said to be cut."""
    logdir = tmp_path / "many"
    names = [f"sweep/run{number:02}" for number in range(25)]
    for number, name in enumerate(names):
        write_run(logdir, name, scalars={"loss": [1.0]}, wall_time=OLD + number)
        notes_of(logdir).change([name], {"note": f"The same.\nThe end of {number:02}."})
    page = open_writing(profile, serve(logdir))
    menu(page, "sweep/", "Note…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("What you save replaces these notes:").wait_for()
    dialog.get_by_text(re.compile("The end of")).nth(19).wait_for()
    assert dialog.get_by_text(re.compile("The end of")).count() == 20
    dialog.get_by_text(
        "sweep/run20, sweep/run21, sweep/run22, sweep/run23, sweep/run24", exact=True
    ).wait_for()
    dialog.get_by_text("Only the first line is shown.").wait_for()
    dialog.get_by_text("The same. …", exact=True).wait_for()
    assert dialog.get_by_role("textbox", name="Note").input_value() == ""
    [url] = [url for url in profile.requested_urls if "run=" in url]
    assert url.count("run=") == 20
    # Nothing is typed, so nothing is replaced.
    page.keyboard.press("Control+Enter")
    dialog.wait_for(state="detached")
    assert values(logdir, "sweep/run24")["note"] == "The same.\nThe end of 24."
    menu(page, "sweep/", "Note…")
    box = dialog.get_by_role("textbox", name="Note")
    box.fill("x")
    box.fill("")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    assert {values(logdir, name)["note"] for name in names} == {""}


def test_a_filter_is_completed_by_labels_and_words_of_notes(
    server: Any, profile: Any, logdir: Path
) -> None:
    notes_of(logdir).change(["other"], {"labels": ["paper"]})
    page = open_writing(profile, server)
    box = page.get_by_label("Filter runs")
    box.click()
    box.press_sequentially("#")
    page.get_by_role("option", name="#paper").click()
    wait_for_runs(page, "other")
    box.fill("")
    box.press_sequentially("is:")
    page.get_by_role("option", name="is:archived").wait_for()


# Archived runs -----------------------------------------------------------------------------------


def test_an_archived_run_leaves_lists_and_charts_and_comes_back(
    server: Any, new_profile: Any, logdir: Path
) -> None:
    """By a key, with Undo; by the line below the list, which asks for `is:archived`."""
    profile = new_profile()
    page = open_writing(profile, server, "&x=y")
    colors = page.evaluate("() => tb.colors()")
    page.get_by_role("checkbox", name="sweep/lr2").focus()
    page.keyboard.press("e")
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr3")
    page.wait_for_function("() => tb.label('loss').endsWith(': other, sweep/lr1, sweep/lr3')")
    page.get_by_text("Archived 1 run.").wait_for()
    until(lambda: focused(page) == "sweep/lr3")  # the row in its place
    assert page.evaluate("() => tb.colors()") == {
        run: color for run, color in colors.items() if run != "sweep/lr2"
    }
    page.get_by_role("button", name="Undo").click()
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr2", "sweep/lr3")
    until(lambda: values(logdir, "sweep/lr2") == {"archived": False})

    box = page.get_by_label("Filter runs")
    box.fill("other")
    page.keyboard.press("Enter")
    wait_for_runs(page, "other")
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("e")
    page.get_by_text("No runs match").first.wait_for()
    until(lambda: box.evaluate("box => box.matches(':focus')"))  # nothing is in its place
    page.get_by_role("button", name="Undo").click()
    wait_for_runs(page, "other")
    box.fill("")
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr2", "sweep/lr3")

    menu(page, "sweep/", "Archive these 3 runs")
    wait_for_runs(page, "other")
    box.fill("lr1 | lr2")
    page.keyboard.press("Enter")
    # The list and the tab say so, and one of them has a button.
    page.get_by_text("No runs match.", exact=True).wait_for()
    page.get_by_text("2 archived ones do.").wait_for()
    page.get_by_role("button", name="Show them").click()
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    assert box.input_value() == "is:archived (lr1 | lr2)"
    menu(page, "sweep/lr1", "Bring back")
    wait_for_runs(page, "sweep/lr2")
    assert box.input_value() == "is:archived (lr1 | lr2)"
    page.get_by_role("button", name="1 more").click()
    page.get_by_role("button", name="Show the other runs").click()
    wait_for_runs(page, "sweep/lr1")
    assert box.input_value() == "lr1 | lr2"
    # After the last one that it finds, the query no longer asks for archived runs.
    box.fill("is:archived (lr1 | lr2)")
    box.press("Enter")
    wait_for_runs(page, "sweep/lr2")
    menu(page, "sweep/lr2", "Bring back")
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    assert box.input_value() == "lr1 | lr2"
    menu(page, "sweep/lr2", "Archive")
    wait_for_runs(page, "sweep/lr1")

    # A link that names archived runs: they stay away, and the list says so.
    linked = profile.open(server.url, "#scalars&runs=other,sweep/lr2")
    linked.get_by_text("1 of these is chosen in the address, and not shown.").wait_for()
    linked.wait_for_function("() => tb.label('loss').endsWith(': other')")
    linked.get_by_label("Filter runs").fill("is:archived")
    wait_for_runs(linked, "sweep/lr2", "sweep/lr3")


@pytest.mark.parametrize("rule", ["", "family"])
def test_groups_keep_their_colours_when_one_is_archived(
    serve: Any, profile: Any, tmp_path: Path, rule: str
) -> None:
    for number in range(12):
        for seed in range(2):
            write_run(tmp_path / "seeds", f"cfg{number:02}/s{seed}", scalars={"loss": [1.0, 0.5]})
    server = serve(tmp_path / "seeds")
    page = profile.open(server.url, f"{fragment(server)}&group=seeds&color={rule}")
    group_colors = """Object.fromEntries([...document.querySelectorAll('.tb-row')].map(
      (row) => [row.title, row.querySelector('input').style.getPropertyValue('--tb-check')]))"""
    page.wait_for_function(f"() => Object.keys({group_colors}).length === 12")
    colors = page.evaluate(f"() => {group_colors}")
    assert all(colors.values())
    menu(page, "cfg02/*", "Archive these 2 runs")
    page.get_by_text("Archived 2 runs.").wait_for()
    page.wait_for_function(f"() => Object.keys({group_colors}).length === 11")
    colors.pop("cfg02/*")
    assert page.evaluate(f"() => {group_colors}") == colors


def test_groups_count_the_archived_runs_that_are_in_no_average(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Own ones and those of others, also if one run is left; not while the list shows them.

    The number is cut before the group's name, and is in the name's tooltip.
    """
    logdir = tmp_path / "seeds"
    bad = "d" * 30
    for run, loss in {
        "a/s0": 100, "a/s1": 1, "a/s2": 2, "a/s3": 3, "a/s4": 100,
        "b_is_a_long_name/s0": 5, "b_is_a_long_name/s1": 100, "b_is_a_long_name/s2": 100,
        "c/s0": 100, "c/s1": 100, f"{bad}/s0": 7, f"{bad}/s1": float("nan"),
    }.items():  # fmt: skip
        write_run(logdir, run, scalars={"loss": [1.0, loss]}, hparams={"lr": 0.1})
    own = ("a/s4", "b_is_a_long_name/s1", "b_is_a_long_name/s2", "c/s0", "c/s1")
    notes_of(logdir).change(own, {"archived": True})
    noted_by_bob(logdir, "a/s0", archived=True)
    server = serve(logdir)

    def wait_for_texts(page: Any, part: str, *texts: str) -> None:
        until(lambda: page.locator(part).all_inner_texts() == list(texts))

    page = profile.open(server.url, "#scalars&group=seeds")
    counts = ".tb-folder .tb-run-info"
    wait_for_texts(page, counts, "3 (+2 archived)", "1 (+2 archived)", "2")
    cut = """([part, ...cut]) => [...document.querySelectorAll('.tb-folder')].every((row, at) =>
      [...row.querySelectorAll(part)].some((text) => text.scrollWidth > text.clientWidth)
        === Boolean(cut[at]))"""
    page.wait_for_function(cut, arg=[".tb-run-info span", False, True])
    assert page.evaluate(cut, [".tb-name *", False, False, True])
    row = page.locator(".tb-folder").nth(1)
    row.hover()
    row.locator('label[title="b_is_a_long_name/*\\a 1 run (+2 archived)"]').wait_for()
    page.wait_for_function("() => tb.label('loss').includes('a/*')")
    page.get_by_role("article", name="loss").get_by_role("button", name="More options").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG", exact=True).click()
    svg = Path(download.value.path()).read_text("utf-8")
    assert "mean of 2 to 3 runs (+0 to 2 archived), band: " in svg
    other = profile.open(server.url, "#hparams&group=seeds")
    sizes = "3 sessions (+2 archived)", "1 session (+2 archived)", "2 sessions"
    wait_for_texts(other, ".trials .count", *sizes)
    other.get_by_text("sessions archived, not found or not selected").wait_for()
    other.locator(".trials").get_by_text("2.0 ± 1.0").first.wait_for()
    other.goto(f"{server.url}/#compare&group=seeds")
    heads = "baseline, 3 runs (+2 archived)", "1 run (+2 archived)", "2 runs"
    wait_for_texts(other, ".compare-table thead small", *heads)
    other.goto(f"{server.url}/#scalars&group=seeds&columns=loss:last,loss:min,loss:max,lr")
    other.locator(".tb-nan").wait_for()
    other.locator(".tb-heads .tb-cell").nth(3).wait_for()
    other.wait_for_function(cut, arg=[".tb-name *"])
    page.get_by_label("Filter runs").fill("is:archived")
    page.keyboard.press("Enter")
    wait_for_texts(page, counts, "2 of 5", "2 of 3", "2")


def test_what_others_archived_is_folded_away_with_their_names(
    server: Any, profile: Any, logdir: Path
) -> None:
    """What I bring back stays in view, and what I archived stays away, whatever they do."""
    page = open_writing(profile, server)
    for run in ("sweep/lr1", "sweep/lr2"):
        noted_by_bob(logdir, run, archived=True)
    wait_for_runs(page, "other", "sweep/lr3")
    page.get_by_role("button", name="2 archived by bob@far").click()
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    menu(page, "sweep/lr1", "Bring back")
    page.get_by_role("button", name="1 more").click()
    page.get_by_role("button", name="Show the other runs").click()
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr3")
    page.get_by_role("button", name="1 archived by bob@far").wait_for()
    noted_by_bob(logdir, "sweep/lr1", archived=True, note="again")
    page.get_by_role("button", name="Note on sweep/lr1").wait_for()
    page.get_by_role("button", name="1 archived by bob@far").wait_for()
    menu(page, "other", "Archive")
    page.get_by_role("button", name="1 archived", exact=True).wait_for()
    noted_by_bob(logdir, "other", archived=False)
    noted_by_bob(logdir, "sweep/lr3", note="seen")
    page.get_by_role("button", name="Note on sweep/lr3").wait_for()
    wait_for_runs(page, "sweep/lr1", "sweep/lr3")
    # The query finds the same runs: none is in neither list.
    page.get_by_role("button", name="1 archived", exact=True).click()
    wait_for_runs(page, "other", "sweep/lr2")


SEEN = """
globalThis.seen = new Set();
new MutationObserver(() => {
  for (const row of document.querySelectorAll('.tb-run')) seen.add(row.innerText.split('\\n')[0]);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""
"""Records the names of all rows that were drawn, if only for a moment."""


def test_archived_runs_never_show_while_the_page_loads(
    serve: Any, new_profile: Any, logdir: Path
) -> None:
    """However late the notes come; nor are their data asked for. Names are there at once, too."""
    notes_of(logdir).change(["sweep/lr2"], {"archived": True})
    notes_of(logdir).change(["other"], {"display_name": "baseline"})
    profile = new_profile()
    profile.context.add_init_script(SEEN)
    held: list[Any] = []
    profile.context.route("**/data/notes?*", lambda route: held.append(route))
    page = profile.open(serve(logdir).url)
    until(lambda: (page.evaluate("() => tb.frame()"), held)[1])
    page.evaluate("() => new Promise((done) => setTimeout(done, 1000))")
    assert page.locator(".tb-run").count() == 0
    for route in held:
        route.continue_()
    profile.context.unroute("**/data/notes?*")
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr3")
    page.wait_for_function("() => tb.label('loss').endsWith(': baseline, sweep/lr1, sweep/lr3')")
    assert set(page.evaluate("() => [...seen]")) == {"baseline", "lr1", "lr3"}
    assert not [url for url in profile.requested_urls if "/scalars/" in url and "lr2" in url]


@pytest.mark.parametrize("answer", ["error", "never"])
def test_a_page_without_its_notes_shows_all_runs(
    serve: Any, new_profile: Any, logdir: Path, answer: str
) -> None:
    notes_of(logdir).change(["sweep/lr2"], {"archived": True})
    profile = new_profile()
    profile.expects_errors = True
    profile.context.route(
        "**/data/notes?*",
        (lambda route: route.fulfill(status=500)) if answer == "error" else (lambda _: None),
    )
    page = profile.open(serve(logdir).url)
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr2", "sweep/lr3")
    page.wait_for_function("() => tb.label('loss').includes('lr2')")
    profile.context.unroute_all()


def test_a_page_says_so_if_all_runs_are_archived(server: Any, profile: Any, logdir: Path) -> None:
    notes_of(logdir).change(RUNS, {"archived": True})
    page = profile.open(server.url)
    page.get_by_text("All 4 runs are archived.").wait_for()
    page.get_by_role("button", name="Show them").click()
    wait_for_runs(page, "other", "sweep/lr1", "sweep/lr2", "sweep/lr3")
    page.wait_for_function("() => tb.label('loss').includes('other')")


def test_a_frame_shows_what_its_address_says(server: Any, profile: Any, logdir: Path) -> None:
    """It has no list that could say what is missing, so archived runs are drawn."""
    notes_of(logdir).change(["other"], {"archived": True, "display_name": "named"})
    page = profile.open(server.url, "?embed#scalars&runs=other,sweep/lr1")
    wait_until_loaded(page)
    page.wait_for_function("() => /: (other|named), sweep.lr1$/.test(tb.label('loss'))")


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_page_names_the_command_that_names_files_for_deletion(
    serve: Any, profile: Any, logdir: Path, is_shared: bool
) -> None:
    """Beside archived runs. Where archiving does not count as the owner's, that is said at once."""
    options = ["--allowed_host", "logs.example"] if is_shared else []
    server = serve(logdir, *options)
    page = open_writing(profile, server)
    menu(page, "sweep/", "Archive these 3 runs")
    command = f"tbcore notes files {logdir}"
    said = f"Archived 3 runs. {command} "
    said += "does not name their files: archive by tbcore notes set too if they shall go."
    if not is_shared:
        said = f"Archived 3 runs. {command} prints how to delete their event files over a day old."
    notice = page.locator(".tb-notes-notice .tb-notes-words")
    notice.get_by_text(said, exact=True).wait_for()
    assert notice.inner_text() == said
    assert notice.evaluate("({ offsetWidth }) => offsetWidth") > 230  # of 280
    page.get_by_role("button", name="1 more").click()
    page.get_by_role("button", name="3 archived").click()
    foot = page.locator(".tb-notes-archived")
    foot.get_by_text(command, exact=True).wait_for()
    what = f"{command} prints how to delete the event files over a day old of"
    text = f"{what} {'none of these' if is_shared else 'these'}"
    foot.get_by_text(text).wait_for()
    # What the owner archives by a command counts in the page of others, too.
    notes_of(logdir).change(["sweep/lr1"], {"archived": True})
    if is_shared:
        foot.get_by_text(
            f"{command} prints how to delete the event files over a day old of 1 of these"
        ).wait_for()
    menu(page, "sweep/lr1", "Bring back")
    until(lambda: notice.inner_text() == "Brought back 1 run.")
    # Nothing in the page deletes files, or has a line that does.
    page.locator('[role="row"][title="sweep/lr2"]').click(button="right")
    page.get_by_role("menuitem", name="Bring back").wait_for()
    assert not page.get_by_role("menuitem", name=re.compile("[Dd]elete|files")).is_visible()
    assert "xargs" not in page.content()
    # A page that cannot archive says nothing of it.
    page.evaluate("() => localStorage.clear()")
    page.reload()
    page.get_by_text("These runs are archived.").wait_for()
    assert not page.get_by_text("To delete files").is_visible()


# Texts -------------------------------------------------------------------------------------------


def test_what_others_noted_is_text_and_never_markup(
    server: Any, profile: Any, logdir: Path
) -> None:
    """Names, labels, notes and authors, with markup, line breaks and signs of direction."""
    page = open_writing(profile, server)
    page.evaluate("() => { globalThis.alert = () => (globalThis.pwned = true); }")
    folder = logdir / ".tbcore" / "notes"
    folder.mkdir(parents=True)
    fields = {
        "display_name": HOSTILE.replace("\u202e", ""),
        "labels": ["&lt;b&gt;x", "a\u05d0b"],
        "note": f"{HOSTILE}\n<script>alert(1)</script> [x](javascript:alert(1))",
    }
    author = "<u>bob</u>@far"
    lines = line_of(time.time_ns() // 1000, author, "other", fields)
    lines += line_of(time.time_ns() // 1000, author, "sweep/lr1", {"archived": True})
    (folder / "bob.jsonl").write_bytes(lines)
    page.get_by_role("button", name="1 archived by <u>bob</u>@far").wait_for()
    row = page.locator(".tb-run", has_text="<img src=x")
    title = (row.locator("label").get_attribute("title") or "").split("\n")
    assert title[1:3] == ["other", "named by <u>bob</u>@far"]
    assert row.locator(".tb-notes-labels").inner_text().startswith("&lt;b&gt;x")
    marker = row.locator(".tb-notes-note")
    assert marker.get_attribute("title") == HOSTILE.replace("\u202e", "\\u202e") + " …"
    marker.click()
    dialog = page.get_by_role("dialog", name="Note")
    dialog.get_by_text("<script>alert(1)</script> [x](javascript:alert(1))").wait_for()
    dialog.get_by_text("by <u>bob</u>@far").wait_for()
    assert dialog.locator("a, b, u, img, script").count() == 0
    page.keyboard.press("Escape")
    row.click(button="right")
    page.get_by_role("menuitem", name="Labels…").click()
    page.get_by_role("list", name="Labels").get_by_text("&lt;b&gt;x").wait_for()
    assert page.evaluate("() => globalThis.pwned") is None


@pytest.mark.parametrize("width", [180, 280])
def test_marks_fit_into_narrow_lists(server: Any, profile: Any, logdir: Path, width: int) -> None:
    """A long name keeps some of its width beside long labels, and the note can be clicked."""
    notes_of(logdir).change(
        ["other"],
        {"starred": True, "note": "x", "labels": ["l" * 50, "m"], "display_name": "name" * 20},
    )
    notes_of(logdir).change(["sweep/lr1"], {"labels": ["paper"]})
    page = open_writing(profile, server)
    stored = json.dumps({"width": str(width)})
    page.evaluate(f"() => localStorage.setItem('tbcore.preferences.#sidebar', '{stored}')")
    page.reload()
    row = page.locator(".tb-run", has_text="namename")
    row.locator(".tb-notes-note").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('.tb-run')].map((row) => {
          const width = (part) => row.querySelector(part)?.getBoundingClientRect().width ?? 0;
          return [row.getBoundingClientRect().height, width('.tb-name'), width('.tb-notes-labels')];
        })"""
    )
    assert all(height <= 26 for height, *_ in boxes)
    name, labels = boxes[0][1:]
    assert name >= (80 if width == 180 else 150)
    assert 20 <= labels <= 0.4 * width
    # A name that somebody chose is cut at its end alone, and is whole in the tooltip.
    assert row.locator(".tb-name-head").count() == 0
    assert (row.locator("label").get_attribute("title") or "").startswith("name" * 20 + "\nother")
    # Below the pointer, the actions leave a label free, or half of it in the narrowest list.
    labelled = Page(page).run("sweep/lr1")
    labelled.hover()
    ends = [
        labelled.locator(part).bounding_box() for part in (".tb-notes-labels", ".tb-run-actions")
    ]
    free = ends[1]["x"] - ends[0]["x"]
    assert free >= ends[0]["width"] * (1 if width == 280 else 0.4)


def test_rows_of_several_sessions_are_those_of_the_sessions_that_are_not_archived(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Cells, tooltips and files are as if the others had not been logged; their number is there."""
    curves = {
        "g/s0": [9.0, 1.0, 4.0], "g/s1": [5.0, 0.25, 8.0], "g/s2": [7.0, 7.0],
        "g/s3": [math.nan], "h/s0": [2.0, 3.0, 1.5], "h/s1": [0.125], "i": [6.0],
    }  # fmt: skip
    archived = ("g/s0", "g/s3", "h/s1")
    for name, without in {"all": (), "rest": archived}.items():
        for number, (run, loss) in enumerate(curves.items()):
            if run not in without:
                start = summaries.session_start({"lr": 0.1, "seed": number}, group=run[0])
                scalars = {"loss": loss} | ({"acc": [number / 2]} if number % 2 else {})
                write_run(tmp_path / name, run, values=[start], scalars=scalars, dtype="float64")
    server, rest = serve(tmp_path / "all"), serve(tmp_path / "rest")
    notes_of(tmp_path / "all").change(archived, {"archived": True})
    table = """() => tb.all('.trials tr[data-name]').map((row) => [
      row.dataset.name,
      ...[...row.querySelectorAll('td')].map((cell) => [cell.textContent, cell.title])])"""

    def found(url: str, settings: str, loss: str, counts: list[str]) -> tuple[Any, str]:
        """The table once `g` has this loss, and its CSV."""
        page = profile.open(url, f"#hparams&hparams.show=table&hparams.metric=m..loss{settings}")
        until(lambda: ["g", loss] in [[row[0], row[1][0]] for row in page.evaluate(table)])
        until(lambda: sorted(page.locator(".trials .count").all_inner_texts()) == counts)
        cells = page.evaluate(table)
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV", exact=True).click()
        page.close()
        return cells, Path(download.value.path()).read_text()

    for settings, loss in {
        "": "7.5000", "&hparams.agg=min": "7.0000", "&hparams.agg=max": "8.0000",
        "&hparams.agg=median": "7.0000", "&hparams.values=best": "3.6250",
        "&hparams.agg=max&hparams.values=best&hparams.goal=max": "8",
    }.items():  # fmt: skip
        expected = found(rest.url, settings, loss, ["2 sessions"])
        counts = ["1 session (+1 archived)", "2 sessions (+2 archived)"]
        assert found(server.url, settings, loss, counts) == expected
