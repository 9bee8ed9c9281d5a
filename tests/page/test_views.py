"""Named views, and where a reader left off, in a real browser with real servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until

from tbcore_testing import write_run

RUNS = [f"{model}/seed{seed}" for model in ("cnn", "mlp") for seed in range(3)]
TAGS = ("loss", "val/loss", "lr")


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logs")
    for number, run in enumerate(RUNS):
        points = [(step, (number + 1) * 10 / (step + 10)) for step in range(0, 100, 5)]
        write_run(
            logdir, run, hparams={"lr": 0.1 / (number + 1)}, scalars=dict.fromkeys(TAGS, points)
        )
    return logdir


@pytest.fixture
def server(
    serve: Callable[..., Any], logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """With notes of its own."""
    for kind in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    return serve(logdir)


def address_of(server: Any) -> str:
    """The fragment with which a page may save views."""
    found = re.search(r"^the address for changing notes is in (.*)$", server.log.read_text(), re.M)
    assert found
    return "#" + Path(found[1]).read_text().strip().partition("#")[2]


def picture(page: Any) -> Any:
    """What a page shows: rows with their colours, columns, pinned cards, and what charts say."""
    page.wait_for_function("() => tb.all('.tb-card').length && tb.all('.tb-card').every("
                           "(card) => card.querySelector('canvas'))")  # fmt: skip
    page.evaluate("() => tb.frame()")
    return page.evaluate("""() => ({
      tab: document.querySelector('[role=tab][aria-selected=true]').textContent,
      rows: [...document.querySelectorAll('.tb-runs [role=row]')].map((row) => [
        row.innerText, row.querySelector('input')?.checked,
        row.querySelector('input')?.style.getPropertyValue('--tb-check')]),
      query: document.querySelector('.tb-runs input[type=search]').value,
      sections: tb.all('.tb-group').map((group) => group.dataset.group),
      cards: tb.all('.tb-card').map((card) => [
        card.ariaLabel, card.querySelector('.tb-chart')?.ariaLabel]),
    })""")


def open_menu(page: Any) -> Any:
    page.get_by_role("button", name="Views").click()
    box = page.locator(".tb-views")
    box.wait_for()
    return box


def save_view(page: Any, name: str) -> None:
    open_menu(page)
    page.get_by_label("Name of a new view").fill(name)
    page.keyboard.press("Enter")
    page.get_by_text(f"“{name}” is saved.").wait_for()


def settled(page: Any, words: str) -> None:
    """Waits until the page's address has these words."""
    page.wait_for_function("(words) => location.hash.includes(words)", arg=words)


def test_a_short_link_shows_the_same_in_another_browser(server: Any, new_profile: Any) -> None:
    """Query, groups, colours, columns, pins, zoom, order and unchecked runs, whatever the other
    browser has for itself; "Back" and a reload work there."""
    author = new_profile()
    page = author.open(server.url, address_of(server))
    page.get_by_role("button", name="Views").wait_for()
    page.evaluate("""(fragment) => void (location.hash = fragment)""",
        "#scalars&query=-cnn/seed2&columns=lr,loss:last&sort=-lr&view=list&runs=~newest,!mlp/seed1"
        "&scalars.pinned=lr&scalars.zoom=loss,20,60&scalars.smoothing=0.4")  # fmt: skip
    settled(page, "sort=-lr")
    # A colour of this browser alone: where notes can be changed, the menu's are noted for all.
    color = json.dumps(json.dumps({"mlp/seed0": "#ff00aa"}))
    page.evaluate(f"() => localStorage.setItem('tbcore.preferences.#colors', {color})")
    page.reload()
    page.wait_for_function("() => tb.colors()['mlp/seed0'] === '#ff00aa'")
    save_view(page, "ablation 3")
    page.keyboard.press("Escape")
    wanted = picture(page)
    assert "colors=" not in page.url

    other = new_profile()
    page = other.open(server.url)
    page.wait_for_function("() => tb.colors()['cnn/seed0']")
    location = page.evaluate(
        "async () => (await (await fetch('data/environment')).json()).data_location"
    )
    sections = {"closed": "val", "closed.order": "val", "pinned": "loss"}
    own: dict[str, dict[str, str]] = {
        "tbcore.preferences.#colors": {"cnn/seed0": "#000001"},
        "tbcore.preferences.#runs": {"sort": "last"},
        "tbcore.preferences.scalars": {"smoothing": "0.9"},
        f"tbcore.preferences.scalars#{location}": sections,
    }
    stored = {key: json.dumps(value) for key, value in own.items()}
    page.evaluate("(stored) => Object.assign(localStorage, stored)", stored)
    page.goto(f"{server.url}/?view=ablation+3")
    page.wait_for_function("() => tb.colors()['mlp/seed0'] === '#ff00aa'")
    settled(page, "colors=mlp/seed0,ff00aa")
    assert "view=ablation" not in page.url
    page.get_by_text("0.4", exact=False).first.wait_for(state="attached")
    until(lambda: picture(page) == wanted)
    page.reload()
    page.wait_for_function("() => tb.colors()['mlp/seed0'] === '#ff00aa'")
    until(lambda: picture(page) == wanted)
    kept = page.evaluate("() => localStorage['tbcore.preferences.#colors']")
    assert json.loads(kept) == own["tbcore.preferences.#colors"]
    # A colour that is chosen here is in the address, and is this browser's own from now on.
    page.locator(".tb-run[title='mlp/seed0']").click(button="right")
    page.get_by_role("menuitem", name="Reset colour").click()
    settled(page, "colors=none")
    page.wait_for_function("() => tb.colors()['mlp/seed0'] !== '#ff00aa'")


def test_a_view_is_opened_replaced_and_taken_away_by_keyboard(
    server: Any, new_profile: Any
) -> None:
    profile = new_profile()
    page = profile.open(server.url, address_of(server))
    page.get_by_role("button", name="Views").wait_for()
    page.evaluate("() => void (location.hash = '#scalars&query=mlp')")
    save_view(page, "best")
    name = page.get_by_label("Name of a new view")
    assert name.evaluate("(box) => box.matches(':focus')")
    page.keyboard.type("best")
    page.keyboard.press("Enter")
    page.get_by_text("There is “best” already").wait_for()
    page.get_by_role("button", name="Replace").focus()
    page.keyboard.press("Enter")
    page.get_by_text("“best” is saved.").wait_for()
    page.keyboard.press("Escape")
    page.evaluate("() => void (location.hash = '#scalars')")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 6")
    page.get_by_role("button", name="Views").focus()
    page.keyboard.press("Enter")
    name.wait_for()
    for _ in range(2):  # The button that saves is disabled, so this is the first view.
        if page.evaluate("() => !document.activeElement.matches('.tb-view')"):
            page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 3")
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 6")
    menu = open_menu(page)
    menu.get_by_role("button", name="Take away: best").click()
    menu.get_by_text("No views yet").wait_for()
    menu.get_by_role("button", name="Undo").click()
    menu.locator(".tb-view", has_text="best").wait_for()
    # Other pages see it at once, and one without the token says how to save.
    reader = new_profile()
    other = reader.open(server.url)
    box = open_menu(other)
    box.get_by_text("To save views, open the address that tbcore notes address --port").wait_for()
    box.get_by_role("button", name="Copy the command").wait_for()
    assert other.get_by_label("Name of a new view").count() == 0
    assert box.get_by_role("button", name="Take away").count() == 0
    page.keyboard.press("Escape")
    save_view(page, "second")
    box.locator(".tb-view", has_text="second").wait_for()
    box.get_by_role("button", name="Copy short link: second").click()
    box.get_by_text("The link to “second” is copied.").wait_for()


def test_an_unknown_view_is_a_line_with_close_names(server: Any, new_profile: Any) -> None:
    """The page shows what a plain address shows; a view with `embed` in its name hides no bars."""
    profile = new_profile()
    page = profile.open(server.url, address_of(server))
    page.get_by_role("button", name="Views").wait_for()
    save_view(page, "embed 1")
    profile.expects_errors = True  # The browser reports the status 404.
    page.goto(f"{server.url}/?view=embed")
    line = page.get_by_role("alert")
    line.wait_for()
    assert line.inner_text() == ("This address cannot be opened: no view 'embed'; close: 'embed 1'")
    page.locator(".top-bar").wait_for()
    page.get_by_role("button", name="Close", exact=True).click()
    line.wait_for(state="detached")


def test_a_long_selection_is_in_the_view(
    serve: Callable[..., Any], new_profile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link has only a key of it, which another browser does not know."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for number in range(900):
        write_run(tmp_path / "logs", f"run{number:05}", scalars={"loss": [1.0]})
    server = serve(tmp_path / "logs")
    author = new_profile()
    page = author.open(server.url, address_of(server))
    page.get_by_role("button", name="Views").wait_for()
    names = ",".join(f"run{number:05}" for number in range(0, 900, 2))
    page.evaluate("(runs) => void (location.hash = '#text&runs=' + runs)", names)
    settled(page, "~kept.")
    save_view(page, "even")
    other = new_profile()
    page = other.open(server.url, "?view=even")
    page.wait_for_function(
        "() => document.querySelector('.tb-runs-count')?.textContent === '450 of 900'"
    )


# -- where the reader left off ---------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "Enter"])
def test_the_first_view_is_where_the_reader_left_off(
    server: Any, profile: Any, key: str | None
) -> None:
    """By mouse and keyboard. Pins are there at once."""
    page = profile.open(server.url)
    page.get_by_role("button", name="Average").click()
    page.get_by_role("button", name="Grouped: seeds").wait_for()
    page.get_by_role("button", name="Views").wait_for()
    page.get_by_label("Filter runs").fill("-cnn/seed0")
    page.evaluate("() => tb.card('lr').querySelector('[aria-label^=Pin]').click()")
    settled(page, "scalars.pinned=lr")
    page.wait_for_function(
        "() => (localStorage['tbcore.preferences.#left'] ?? '').includes('pinned=lr')"
    )
    page.close()

    page = profile.open(server.url)
    page.wait_for_function("() => tb.all('.tb-card[aria-label=lr]').length === 2")
    box = open_menu(page)
    entry = box.locator(".tb-view").first
    assert entry.inner_text() == (
        "Continue where you left off\n"
        "scalars, query=-cnn/seed0, group=seeds, color=family, scalars.pinned=lr"
    )
    if key:
        entry.focus()
        page.keyboard.press(key)
    else:
        entry.click()
    page.get_by_role("button", name="Grouped: seeds").wait_for()
    assert page.get_by_label("Filter runs").input_value() == "-cnn/seed0"
    assert open_menu(page).get_by_text("Continue where you left off").count() == 0
    page.keyboard.press("Escape")
    page.go_back()
    page.get_by_role("button", name="Group…", exact=True).wait_for()


def test_the_entry_goes_when_the_reader_chooses_or_declines(server: Any, profile: Any) -> None:
    """A link has no such entry, and changes nothing of what is kept."""
    text = "Continue where you left off"
    page = profile.open(server.url)
    page.get_by_role("button", name="Views").wait_for()
    page.get_by_label("Filter runs").fill("mlp")
    page.keyboard.press("Enter")
    page.wait_for_function("() => localStorage['tbcore.preferences.#left']?.includes('query=mlp')")
    page.close()
    page = profile.open(server.url, "#scalars&query=cnn")
    assert open_menu(page).get_by_text(text).count() == 0
    page.close()
    page = profile.open(server.url)
    entry = open_menu(page).get_by_text(text)
    entry.wait_for()
    page.keyboard.press("Escape")
    page.get_by_label("Filter runs").fill("mlp seed1")
    page.keyboard.press("Enter")
    settled(page, "seed1")
    assert open_menu(page).get_by_text(text).count() == 0
    page.close()
    page = profile.open(server.url)
    box = open_menu(page)
    box.get_by_text(text).wait_for()
    box.get_by_role("button", name="Do not continue").click()
    box.get_by_text(text).wait_for(state="detached")
    page.close()
    page = profile.open(server.url)
    assert open_menu(page).get_by_text(text).count() == 0


def test_without_the_extension_nothing_is_kept(server: Any, profile: Any) -> None:
    profile.expects_errors = True  # The browser reports each module that it could not load.
    profile.context.route("**/static/notes/**", lambda route: route.abort())
    with profile.context.expect_event("requestfailed"):
        page = profile.open(server.url)
    page.get_by_label("Filter runs").fill("seed1")
    settled(page, "seed1")
    assert page.evaluate("() => localStorage['tbcore.preferences.#left'] ?? null") is None
    assert page.get_by_role("button", name="Views").count() == 0
    page.goto(f"{server.url}/?view=best")
    line = page.get_by_role("alert")
    line.wait_for()
    assert line.inner_text() == "This address cannot be opened: this server keeps no views"


# -- tbcore.json -----------------------------------------------------------------------------------


def test_a_plain_address_shows_what_the_log_directory_suggests(
    serve: Callable[..., Any], new_profile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the reader resets it; a link, and what the reader chose before, go first."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for run in RUNS:
        write_run(tmp_path / "logs", run, scalars={"loss": [1.0, 0.5], "lr": [0.1, 0.1]})
    defaults = {
        "tab": "scalars", "group": "seeds", "pins": ["lr"], "colors": {"mlp/*": "#ff00aa"},
        "descriptions": {"loss": "<b>Cross entropy</b>"}, "goals": {"loss": "min"}, "hide": ["a"],
    }  # fmt: skip
    (tmp_path / "logs" / "tbcore.json").write_text(json.dumps(defaults))
    server = serve(tmp_path / "logs")
    profile = new_profile()
    page = profile.open(server.url)
    reset = page.get_by_role("button", name="View of tbcore.json")
    reset.wait_for()
    page.get_by_role("button", name="Grouped: seeds").wait_for()
    page.wait_for_function("() => tb.all('.tb-card[aria-label=lr]').length === 2")
    page.wait_for_function(
        "() => document.querySelector('.tb-row[title=\"mlp/*\"] input')"
        "?.style.getPropertyValue('--tb-check') === '#ff00aa'"
    )
    page.wait_for_function(
        "() => tb.card('loss')?.innerText.includes("
        "'Lower is better. <b>Cross entropy</b> (tbcore.json)')"
    )
    page.get_by_role("button", name="Views: 1 problem").wait_for()
    open_menu(page).get_by_text("'hide' is not known").wait_for()
    page.keyboard.press("Escape")
    # It is no choice of the reader: the next visit shows it again, and offers nothing to continue.
    page = profile.open(server.url)
    reset = page.get_by_role("button", name="View of tbcore.json")
    reset.wait_for()
    assert open_menu(page).get_by_text("Continue where you left off").count() == 0
    page.keyboard.press("Escape")
    reset.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Group…", exact=True).wait_for()
    reset.wait_for(state="detached")
    page = profile.open(server.url)
    page.get_by_role("button", name="Views").wait_for()
    page.get_by_role("button", name="Group…", exact=True).wait_for()
    assert page.get_by_role("button", name="View of tbcore.json").count() == 0
    open_menu(page).get_by_role("link", name="View of tbcore.json").click()
    page.get_by_role("button", name="Grouped: seeds").wait_for()
    link = new_profile().open(server.url, "#scalars&query=mlp")
    link.get_by_role("button", name="Views").wait_for()
    link.wait_for_function("() => document.querySelectorAll('.tb-run').length === 3")
    assert link.get_by_role("button", name="View of tbcore.json").count() == 0


def test_a_view_has_the_axes_of_single_charts(server: Any, new_profile: Any) -> None:
    axes = "scalars.cards=loss,y:log,range:0.1:;val/loss,range:0:1"
    drawn = """() => tb.all('.tb-chart-note').map((note) => note.textContent).join() ===
      'y axis: from 0.1,,y axis: 0 to 1'"""
    page = new_profile().open(server.url, address_of(server))
    page.get_by_role("button", name="Views").wait_for()
    page.evaluate("(fragment) => void (location.hash = fragment)", f"#scalars&{axes}")
    page.wait_for_function(drawn)
    save_view(page, "axes")
    page = new_profile().open(server.url)
    page.goto(f"{server.url}/?view=axes")
    page.wait_for_function(drawn)
    settled(page, axes)
