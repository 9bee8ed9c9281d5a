"""Who may change notes in the page: tokens, and pages of other sites."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from common_fixtures import until
from noted_pages import (
    fragment,
    noted_by_bob,
    notes_of,
    open_writing,
    own_directory,
    values,
    wait_for_runs,
    wait_until_loaded,
    write_runs,
)


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


def test_a_page_without_the_token_reads_and_says_how_to_write(
    server: Any, profile: Any, logdir: Path
) -> None:
    """It may write as soon as the printed address is opened, also in another tab."""
    notes_of(logdir).change(["other"], {"starred": True, "note": "why"})
    page = profile.open(server.url)
    starred = page.get_by_role("button", name="Starred other")
    starred.wait_for()
    assert starred.is_disabled()
    page.locator('[role="row"][title="other"]').click(button="right")
    command = f"tbcore notes address --port {urlsplit(server.url).port}"
    page.get_by_text(f"open the address that {command} prints").wait_for()
    assert not page.get_by_role("menuitem", name="Rename…").is_visible()
    page.get_by_role("menuitem", name="Show the note…").click()
    page.get_by_text("why", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("e")
    alert = page.get_by_role("alert")
    alert.get_by_text(f"open the address that {command} prints").wait_for()
    assert values(logdir, "other").get("archived") is None
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    alert.get_by_role("button", name="Copy the command").click()
    until(lambda: page.evaluate("() => navigator.clipboard.readText()") == command)
    open_writing(profile, server)
    until(starred.is_enabled)


def test_the_printed_address_opened_in_the_same_tab_changes_no_choice(
    server: Any, profile: Any, logdir: Path
) -> None:
    """It is opened in the middle of the work, because the menu asks for it."""
    page = profile.open(server.url)
    page.get_by_label("Filter runs").fill("lr1 | lr2")
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    page.get_by_label("Filter tags").fill("loss")
    page.wait_for_function("() => /&query=lr1.*&tagQuery=loss$/.test(location.hash)")
    before = page.evaluate("() => location.href")
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment(server))
    page.wait_for_function("(before) => location.href === before", arg=before)
    wait_for_runs(page, "sweep/lr1", "sweep/lr2")
    assert page.get_by_label("Filter tags").input_value() == "loss"
    page.get_by_role("button", name="Star sweep/lr1").wait_for(state="attached")
    page.get_by_role("checkbox", name="sweep/lr1").focus()
    page.keyboard.press("s")
    until(lambda: values(logdir, "sweep/lr1") == {"starred": True})


def test_a_token_of_an_earlier_server_is_said_to_be_one(
    server: Any, profile: Any, logdir: Path
) -> None:
    page = open_writing(profile, server)
    profile.expects_errors = True  # The server is away for a while, and then refuses.
    server.stop()
    server.start()
    later = profile.open(server.url)
    wait_until_loaded(later)
    for each in (page, later):
        each.get_by_role("checkbox", name="other").focus()
        each.keyboard.press("s")
        each.get_by_role("alert").get_by_text("is not that of this start").wait_for()
    assert values(logdir, "other") == {}


TOKENS = "() => [localStorage.getItem('tbcore.write'), localStorage.getItem('tbcore.write.new')]"
"""The token that works, and one that was not tried yet."""


def wait_until_tried(page: Any) -> None:
    page.wait_for_function("() => !localStorage.getItem('tbcore.write.new')")


@pytest.mark.parametrize("token", ["evil", "%E2%82%AC%0A", "x" * 20_000, "e" * 32])
def test_a_page_of_another_site_cannot_take_the_token_away(
    server: Any, profile: Any, site: str, logdir: Path, token: str
) -> None:
    """It opens this one with another token, at first or later; what was open goes on as well."""
    page = open_writing(profile, server)
    good = page.evaluate(TOKENS)[0]
    evil = profile.open(site)
    with evil.expect_popup() as popup:
        evil.evaluate("(url) => void (globalThis.w = open(url))", f"{server.url}/#write={token}")
    opened = popup.value
    opened.locator(".tb-notes-star").first.wait_for(state="attached")
    assert "write" not in opened.evaluate("() => location.href")
    with opened.expect_response("**/data/notes?*") as tried:
        opened.evaluate("(token) => void (location.hash = `#write=${token}`)", token)
        opened.wait_for_function("() => !location.href.includes('write')")
        page.get_by_role("checkbox", name="other").focus()
        page.keyboard.press("s")
        opened.get_by_role("checkbox", name="sweep/lr1").focus()
        opened.keyboard.press("s")
    assert tried.value.ok
    until(lambda: values(logdir, "other") == values(logdir, "sweep/lr1") == {"starred": True})
    for each in (page, opened):
        assert each.get_by_role("alert").count() == 0
        each.get_by_role("button", name="Starred other").wait_for()
        assert each.get_by_role("button", name="Starred other").is_enabled()
    if token.isalnum() and len(token) < 200:
        wait_until_tried(page)
    assert page.evaluate(TOKENS)[0] == good
    page.reload()
    page.locator(".tb-notes-star").first.wait_for(state="attached")


def test_the_first_token_of_a_browser_is_tried(server: Any, profile: Any, logdir: Path) -> None:
    """A wrong one changes nothing, and the right one works afterwards, in all tabs."""
    page, other = profile.open(server.url, "#write=evil"), profile.open(server.url)
    wait_until_loaded(page)
    wait_until_tried(page)
    assert page.evaluate(TOKENS) == [None, None]
    alert = page.get_by_role("alert")
    alert.get_by_text("the token that was sent is not that of this start").wait_for()
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("s")
    alert.get_by_text("open the address that tbcore notes").wait_for()
    page.evaluate("() => void (location.hash = '#write=evil')")
    alert.get_by_text("the token that was sent").wait_for()
    with page.expect_response("**/data/notes?*"):  # It reads without a token, and answers shorter.
        page.evaluate("() => void dispatchEvent(new PopStateEvent('popstate'))")
    page.evaluate("(fragment) => void (location.hash = fragment)", fragment(server))
    for each in (page, other):
        each.locator(".tb-notes-star").first.wait_for(state="attached")
    alert.wait_for(state="detached")
    assert page.evaluate(TOKENS) == [fragment(server).partition("=")[2], None]
    other.get_by_role("checkbox", name="other").focus()
    other.keyboard.press("s")
    until(lambda: values(logdir, "other") == {"starred": True})


def test_the_token_of_a_server_that_was_started_again_replaces_the_old_one(
    server: Any, profile: Any, logdir: Path
) -> None:
    """In all open tabs; a wrong one in between does not."""
    page, other = open_writing(profile, server), open_writing(profile, server)
    old = page.evaluate(TOKENS)[0]
    profile.expects_errors = True  # The server is away for a while, and then refuses.
    server.stop()
    server.start()
    page.evaluate("() => void (location.hash = '#write=evil')")
    wait_until_tried(page)
    assert page.evaluate(TOKENS)[0] == old
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("s")
    page.get_by_role("alert").get_by_text("is not that of this start").wait_for()
    page.evaluate("(fragment) => void (location.hash = fragment)", fragment(server))
    page.wait_for_function(
        "([, old]) => localStorage.getItem('tbcore.write') !== old", arg=["", old]
    )
    for number, each in enumerate((page, other)):
        run = f"sweep/lr{number + 1}"
        star = each.get_by_role("button", name=f"Star {run}", exact=True)
        star.wait_for(state="attached")
        each.get_by_role("checkbox", name=run).focus()
        each.keyboard.press("s")
        until(lambda run=run: values(logdir, run) == {"starred": True})
        each.get_by_role("alert").wait_for(state="detached")
    assert page.evaluate(TOKENS) == [fragment(server).partition("=")[2], None]


def test_a_token_is_kept_until_the_server_has_answered(
    server: Any, profile: Any, logdir: Path
) -> None:
    """It is tried again with what comes next."""
    page = profile.open(server.url)
    wait_until_loaded(page)
    profile.expects_errors = True
    lost: list[str] = []
    page.route("**/data/notes?*", lambda route: (lost.append(route.request.url), route.abort()))
    page.evaluate("(fragment) => void (location.hash = fragment)", fragment(server))
    until(lambda: (page.evaluate("() => tb.frame()"), lost)[1])
    token = fragment(server).partition("=")[2]
    assert page.evaluate(TOKENS) == [None, token]
    page.unroute("**/data/notes?*")
    noted_by_bob(logdir, "other", note="why")
    page.get_by_role("button", name="Star other").wait_for(state="attached")
    assert page.evaluate(TOKENS) == [token, None]


def test_a_note_that_cannot_be_kept_is_not_shown_as_if_it_were(
    server: Any, profile: Any, data: Path, logdir: Path
) -> None:
    """The line says why; what was drawn at once goes, and can be tried again."""
    page = open_writing(profile, server)
    profile.expects_errors = True
    (data / "tbcore").mkdir(parents=True, exist_ok=True)
    (data / "tbcore" / "notes").write_text("in the way")
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("s")
    page.get_by_role("alert").get_by_text("Not saved: the note cannot be kept").wait_for()
    page.get_by_role("button", name="Star other", exact=True).wait_for(state="attached")
    (data / "tbcore" / "notes").unlink()
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Starred other").wait_for()
    until(lambda: values(logdir, "other") == {"starred": True})


@pytest.fixture
def site() -> Iterator[str]:
    """The address of a page of another port of this machine."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><body>")

        def log_message(self, *arguments: object) -> None:
            """Nothing: the log is stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


ATTACK = """
async ([target, token]) => {
  const body = JSON.stringify({ runs: ['other'], set: { archived: true } });
  for (const mode of ['cors', 'no-cors']) {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      for (const headers of [{}, { 'X-Tbcore-Write-Token': token }]) {
        await fetch(`${target}/data/notes`, { method: 'POST', mode, body, credentials: 'include',
          headers: { 'Content-Type': type, ...headers } }).catch(() => {});
      }
    }
  }
  navigator.sendBeacon(`${target}/data/notes`, new Blob([body], { type: 'text/plain' }));
  const form = document.createElement('form');
  Object.assign(form, { action: `${target}/data/notes`, method: 'post', target: 'hidden',
    enctype: 'text/plain' });
  const field = Object.assign(document.createElement('input'), {
    name: body.slice(0, -1) + ', "x": "', value: '"}' });
  form.append(field);
  const frame = Object.assign(document.createElement('iframe'), { name: 'hidden' });
  document.body.append(frame, form);
  const loaded = new Promise((done) => (frame.onload = done));
  form.submit();
  await loaded;
}
"""


def test_a_page_of_another_port_changes_nothing(
    server: Any, new_profile: Any, site: str, logdir: Path
) -> None:
    """By fetch, a beacon or a form, not even with the token of a page that is open beside it."""
    profile = new_profile()
    page = open_writing(profile, server)
    token = page.evaluate("() => localStorage.getItem('tbcore.write')")
    profile.expects_errors = True
    evil = profile.open(site)
    evil.evaluate(ATTACK, [server.url, token])
    assert values(logdir, "other") == {}
    page.get_by_role("checkbox", name="other").focus()
    page.keyboard.press("s")  # The page itself still may.
    until(lambda: values(logdir, "other") == {"starred": True})
