"""Hostile sites, logs and filters in a real browser.

These tests cover the promises P13 to P17 as far as they concern pages; docs/reliability.md has the
list of promises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run
from tbcore_testing.graphs import Node, graph_def

COUNTER = """
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl

posts = []

def count(request):
    if request.method != "GET":
        posts.append(request.method)
    return PlainTextResponse(str(len(posts)))

@hookimpl
def plugin_info():
    return PluginInfo(title="Counter", module=None)

@hookimpl
def routes():
    return [Route("/count", count, methods=["GET", "POST", "DELETE"])]
"""

ATTACK = """
globalThis.attack = async (target) => {
  const found = {};
  const count = `${target}/data/plugin/counter/count`;
  const attempt = async (name, act) => {
    try { found[name] = await act(); } catch (error) { found[name] = 'refused'; }
  };
  await attempt('fetch', async () => (await fetch(`${target}/data/runs`)).text());
  await attempt('fetch with cookies', async () =>
    (await fetch(`${target}/data/runs`, { credentials: 'include' })).text());
  await attempt('opaque fetch', async () => {
    const response = await fetch(`${target}/data/runs`, { mode: 'no-cors' });
    return `${response.status} ${await response.text()}`;
  });
  await attempt('stream', () => new Promise((done, fail) => {
    const source = new EventSource(`${target}/data/updates`);
    source.onmessage = (message) => { source.close(); done(message.data); };
    source.onerror = () => { source.close(); fail(); };
  }));
  const element = (kind, attributes) => new Promise((done, fail) => {
    const node = Object.assign(document.createElement(kind), attributes);
    node.onload = () => done(kind === 'img' ? String(node.naturalWidth) : 'loaded');
    node.onerror = fail;
    document.body.append(node);
  });
  await attempt('script', () =>
    element('script', { src: `${target}/static/tbcore/shell/boot.js` }));
  await attempt('data as a script', () => element('script', { src: `${target}/data/runs` }));
  await attempt('module', () => import(`${target}/static/tbcore/text-names.js`));
  await attempt('style', () => element('link', {
    rel: 'stylesheet', href: `${target}/static/tbcore/style.css` }));
  await attempt('picture', () => element('img', {
    src: `${target}/data/plugin/images/individualImage?run=media&tag=i&index=0` }));
  await attempt('frame', async () => {
    await element('iframe', { src: `${target}/`, name: 'framed' });
    return document.querySelector('iframe').contentDocument.body.textContent;
  });
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json']) {
    await attempt(`POST ${type}`, async () => (await fetch(count, {
      method: 'POST', body: '{}', headers: { 'Content-Type': type } })).text());
    await attempt(`opaque POST ${type}`, async () => (await fetch(count, {
      method: 'POST', body: '{}', mode: 'no-cors', headers: { 'Content-Type': type } })).text());
  }
  await attempt('form in a POST', async () => (await fetch(count, {
    method: 'POST', body: new FormData(), mode: 'no-cors' })).text());
  await attempt('DELETE', async () => (await fetch(count, { method: 'DELETE' })).text());
  navigator.sendBeacon(count, new URLSearchParams({ a: 'b' }));
  await attempt('form', () => new Promise((done) => {
    const form = document.createElement('form');
    Object.assign(form, { action: count, method: 'post', target: 'hidden' });
    const frame = Object.assign(document.createElement('iframe'), { name: 'hidden' });
    frame.onload = () => done('');
    document.body.append(frame, form);
    form.submit();
  }));
  return found;
};
"""


@pytest.fixture
def evil_site() -> Iterator[str]:
    """The port of a site whose page attacks another server, given as `attack(target)`."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><body><script>{ATTACK}</script>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield str(site.server_address[1])
    site.shutdown()
    site.server_close()


@pytest.fixture(scope="module")
def attacked(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with a picture, and with a plugin that counts requests other than GET."""
    folder = tmp_path_factory.mktemp("attacked")
    write_run(folder / "logs", "media", scalars={"a": [1.0]}, images={"i": [summaries.png()]})
    info = folder / "tbcore_counter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tbcore-counter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tbcore.plugins]\ncounter = tbcore_counter\n")
    (folder / "tbcore_counter.py").write_text(COUNTER)
    return serve_for_module(folder / "logs", python_path=[folder])


@pytest.mark.parametrize("site", ["http://evil.example", "http://localhost"])
def test_p15_a_page_of_another_site_cannot_read_or_change_anything(
    attacked: Any, profile: Any, evil_site: str, site: str
) -> None:
    """Neither a site with another name nor one on another port of this machine has any access."""
    profile.expects_errors = True
    target = attacked.url.replace("127.0.0.1", "localhost") if "localhost" in site else attacked.url
    page = profile.context.new_page()
    page.goto(f"{site}:{evil_site}/")

    found = page.evaluate("(target) => attack(target)", target)

    assert found.pop("opaque fetch") in ("refused", "0 ")
    assert found.pop("frame") in ("refused", None, "")
    assert found.pop("form") == ""
    assert {name: what for name, what in found.items() if what not in ("refused", "")} == {}
    assert len(found) == 16
    posts = profile.context.request.get(f"{attacked.url}/data/plugin/counter/count")
    assert posts.text() == "0"


def test_p14_dns_rebinding_is_refused(attacked: Any, profile: Any) -> None:
    """With DNS rebinding the browser takes the hostile page and this server for one site."""
    profile.expects_errors = True
    port = urlsplit(attacked.url).port
    page = profile.context.new_page()
    response = page.goto(f"http://rebound.example:{port}/")
    assert response.status == 403
    assert "host 'rebound.example' is not allowed" in page.content()
    found = page.evaluate("async () => (await fetch('/data/runs')).status")
    assert found == 403


MARKUP = b"<script>globalThis.ran = true; fetch('/ran')</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="fetch(\'/ran\')">'
XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"><body onload="fetch(\'/ran\')">'

EVIL_IMAGES = {
    "html": b"<!doctype html>" + MARKUP,
    "svg": SVG + MARKUP + b"</svg>",
    "svg with a prologue": b'<?xml version="1.0"?>\n' + SVG + MARKUP + b"</svg>",
    "xhtml": b'<?xml version="1.0"?>' + XHTML + MARKUP + b"</body></html>",
    "a script": b"globalThis.ran = true; fetch('/ran')",
    "a gif that is a script": b"GIF89a=1;globalThis.ran = true;/*" + MARKUP + b"*/",
    "a png that is a page": summaries.png()[:33] + b"\n<html>" + MARKUP,
    "a bmp that is a page": b"BM<html>" + MARKUP + bytes(60),
    "pdf": b"%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(fetch('/ran'))>>>>endobj",
    "a page after spaces": b"  \n\t<html>" + MARKUP,
}

EVIL_TYPES = [
    "text/html",
    "TEXT/HTML; charset=utf-7",
    "image/svg+xml",
    "application/xhtml+xml",
    "text/javascript",
    "text/xml",
    "application/pdf",
    "audio/wav, text/html",
    "audio/wav\r\nContent-Type: text/html\r\nX-Injected: yes",
    "text/html\x00audio/wav",
    "multipart/x-mixed-replace; boundary=x",
    "",
]


def test_p17_logged_bytes_are_never_active(
    serve: Callable[..., Any], profile: Any, tmp_path: Path
) -> None:
    """Opened in a tab, logged data is shown as a picture or downloaded, whatever type it claims."""
    logdir = tmp_path / "logs"
    with EventFileWriter(logdir / "run" / "a.tfevents") as writer:
        for tag, data in EVIL_IMAGES.items():
            writer.add_summary(0, summaries.image(tag, data, width=9, height=9))
        for number, content_type in enumerate(EVIL_TYPES):
            data = EVIL_IMAGES["html"] if number % 2 else EVIL_IMAGES["svg"]
            writer.add_summary(0, summaries.audio(f"clip{number}", data, content_type=content_type))
    server = serve(logdir)
    profile.expects_errors = True
    page = profile.context.new_page()
    paths = [f"images/individualImage?run=run&index=0&tag={quote(tag)}" for tag in EVIL_IMAGES]
    paths += [
        f"audio/individualAudio?run=run&index=0&tag=clip{number}"
        for number in range(len(EVIL_TYPES))
    ]
    for path in paths:
        address = f"{server.url}/data/plugin/{path}"
        response = profile.context.request.get(address)
        content_type = response.headers["content-type"]
        assert response.status == 200
        assert content_type in {
            "application/octet-stream",
            "image/png",
            "image/gif",
            "image/bmp",
        }, path
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "x-injected" not in response.headers
        open_or_download(page, address)
        assert page.evaluate("() => globalThis.ran ?? null") is None, path
    assert not [url for url in profile.requested_urls if url.endswith("/ran")]


def open_or_download(page: Any, address: str) -> None:
    """Opens an address in a tab; the browser may download the response instead of showing it."""
    from playwright.sync_api import Error

    try:
        page.goto(address)
    except Error as error:
        if "Download is starting" not in str(error) and "ERR_ABORTED" not in str(error):
            raise


def test_p13_a_filter_does_not_stall_the_page(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The browser would take years for these filters, from a link or typed: they are given up.

    Until then and afterwards the page responds, and shows what it showed before. Runs are found by
    the server, which takes no time for any expression.
    """
    for name in ("a" * 60 + "!", "a" * 61 + "?"):
        write_run(tmp_path / "logs", name, scalars={name: [1.0]})
    server = serve(tmp_path / "logs")
    page = profile.open(server.url, f"#tagFilter={quote('(a*)*$x')}")
    runs = page.get_by_label("Filter runs")
    tags = page.get_by_label("Filter tags")
    error = page.get_by_text("The regular expression takes too long")
    error.wait_for()
    page.wait_for_function("() => tb.all('.tb-card').length === 2")  # there was no filter before
    tags.fill("")
    error.wait_for(state="detached")
    runs.fill("re:(a*)*$x")
    runs.press("Enter")
    page.get_by_text("No runs match.").wait_for()
    runs.fill("re:!$")
    page.wait_for_function("() => tb.all('.tb-card').length === 1")
    page.evaluate("""() => {
      globalThis.frames = new Promise((done) => {
        const label = 'The regular expression takes too long';
        let numFrames = 0;
        const count = () => {
          const errors = tb.all('.tb-filter-error').map((node) => node.textContent);
          const isEnded = errors.some((text) => text.startsWith(label));
          if (isEnded) return done(numFrames);
          numFrames++;
          requestAnimationFrame(count);
        };
        addEventListener('input', count, { once: true, capture: true });
      });
    }""")
    tags.fill(r"re:(a|aa)+\?$")
    frames = page.evaluate("() => globalThis.frames")
    assert frames > 2  # the page was drawn while the expression was running
    assert page.evaluate("() => tb.all('.tb-card').length") == 1
    runs.fill("")
    page.wait_for_function("() => tb.all('.tb-card').length === 2")
    tags.fill("re:[?]")
    page.wait_for_function("() => tb.all('.tb-card').length === 1")
    tags.fill(r"re:(\w+\s?)+$")
    error.wait_for()
    assert page.evaluate("() => tb.all('.tb-card').length") == 1


HIDDEN = "\u202e\u2066\u200f\x1b\n"
ESCAPED = r"\u202e\u2066\u200f\u001b\n"

TEXTS = """() => {
  const texts = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    if (node.title) texts.push(node.title);
    if (!['SCRIPT', 'STYLE'].includes(node.tagName)) [...node.childNodes].forEach(walk);
    if (node.shadowRoot) walk(node.shadowRoot);
  };
  walk(document.body);
  return texts;
}"""
"""All texts of the page, including those in the open tab and in tooltips."""


@pytest.fixture(scope="module")
def with_hidden(
    serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A server with runs, tags, hyperparameters and nodes whose names have hidden characters."""
    logdir = tmp_path_factory.mktemp("hidden")
    for run in (f"rtl{HIDDEN}gnp.exe", f"group{HIDDEN}/a"):
        tag = f"tag{HIDDEN}of "
        write_run(
            logdir, run,
            scalars={f"{tag}scalars": [1.0, 0.5], f"g{HIDDEN}/x": [1.0], f"g{HIDDEN}/y": [1.0]},
            histograms={f"{tag}histograms": [[1.0, 2.0]]},
            images={f"{tag}images": [summaries.png()]},
            audio={f"{tag}audio": [summaries.wav()]},
            texts={f"{tag}texts": ["a text"]},
            graph=graph_def([Node(f"node{HIDDEN}", "Const"), Node(f"scope{HIDDEN}/b", "Const")]),
            values=[
                summaries.pr_curve(f"{tag}curves", [0, 1, 1, 0], [0.1, 0.9, 0.6, 0.4]),
                *summaries.mesh(f"{tag}meshes", [[[0, 0, 0], [1, 1, 1]]]),
                summaries.session_start({"lr": f"value{HIDDEN}", f"name{HIDDEN}": 1.0}),
            ],
        )  # fmt: skip
    return serve_for_module(logdir)


@pytest.mark.parametrize(
    ("tab", "name"),
    [
        ("scalars", "tag"),
        ("images", "tag"),
        ("audio", "tag"),
        ("mesh", "tag"),
        ("text", "tag"),
        ("histograms", "tag"),
        ("distributions", "tag"),
        ("pr_curves", "tag"),
        ("hparams", "name"),
        ("compare", "name"),
        ("graphs", "group"),
    ],
)
def test_hidden_characters_of_names_are_shown_as_escapes(
    with_hidden: Any, profile: Any, tab: str, name: str
) -> None:
    """They could make a name look like another one, or overflow its row. Copies are exact."""
    page = profile.open(with_hidden.url, f"#{tab}&columns=lr&compare.all=true")
    for text in (f"{name}{ESCAPED}", f"value{ESCAPED}", f"{ESCAPED}gnp.exe"):
        page.wait_for_function(
            f"(text) => ({TEXTS})().some((each) => each.includes(text))", arg=text
        )

    raw = set(HIDDEN) - {"\n"}
    assert [text for text in page.evaluate(TEXTS) if raw & set(text)] == []
    row = page.locator(".tb-run", has_text="gnp.exe")
    assert row.bounding_box()["height"] < 40
    profile.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row.click(button="right")
    page.get_by_role("menuitem", name="Copy name").click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == f"rtl{HIDDEN}gnp.exe"
