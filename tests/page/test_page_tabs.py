"""Tabs that are a page of their own, in a frame: what the page may do, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from bundles import WASM

from tbcore_testing import write_run

RUNS = ["<b id=markup>b", "constructor", "train"]
PYTHON = """
from starlette.routing import Route
from tbcore import Claim, PluginInfo, hookimpl
from tbcore.http import json_response

CLAIMS = [Claim(is_scalar=True)]

@hookimpl
def plugin_info():
    page = "static/index.html"
    return PluginInfo(title={title!r}, claims=CLAIMS, page=page, page_allows={allows})

@hookimpl
def routes(multiplexer):
    def notify(request):
        multiplexer.notify("board", request.url.query)
        return json_response(None)

    return [
        Route("/tags", lambda request: json_response(multiplexer.tags(CLAIMS))),
        Route("/notify", notify),
    ]
"""
HTML = """<!doctype html>
<meta charset="utf-8">
<title>A page</title>
<style>#styled { color: rgb(1, 2, 3) }</style>
<body>
<p id="styled" style="padding: 7px">text</p>
<p id="script">no inline script ran</p>
<button id="button">no handler ran</button>
<input id="box">
<ul id="runs"></ul>
<script type="module" src="app/index.js"></script>
"""
INLINE = HTML.replace("<button", "<button onclick=\"this.textContent = 'inline'\"").replace(
    "<script", "<script>document.getElementById('script').textContent = 'inline'</script><script"
)
JS = """
import { connect } from "../../../tbcore/frame.js";

const host = (globalThis.host = await connect());
globalThis.log = [];
host.runs.subscribe((runs) => {
  const rows = runs.map(({ name, color }) => {
    const row = document.createElement("li");
    row.textContent = name;
    row.style.color = color;
    return row;
  });
  document.getElementById("runs").replaceChildren(...rows);
});
host.keys([{ key: "x", label: "Do something", act: () => log.push("x") }]);
document.body.dataset.ready = "yes";
"""
ATTEMPTS = """
import FOREIGN from "./foreign.js";

const results = {};
async function attempt(name, action) {
  try {
    results[name] = String(await action());
  } catch (error) {
    results[name] = error.name;
  }
}
const answerOf = (worker) => new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = () => reject(new TypeError());
  worker.postMessage(4);
});
const blob = (text) => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
const loaded = (tag, address) => new Promise((resolve) => {
  const element = document.createElement(tag);
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("refused");
  element.src = address;
  document.body.append(element);
});

const beside = (name) => new URL(name, import.meta.url);
const double = "onmessage = ({ data }) => postMessage(2 * data)";
await attempt("wasm", async () => {
  const { instance } = await WebAssembly.instantiateStreaming(fetch(beside("add.wasm")));
  return instance.exports.add(2, 3);
});
await attempt("blob worker", () => answerOf(new Worker(blob(double))));
await attempt("file worker", () => answerOf(new Worker(beside("worker.js"))));
await attempt("blob picture", () => {
  const svg = new Blob(["<svg xmlns='http://www.w3.org/2000/svg'/>"], { type: "image/svg+xml" });
  return loaded("img", URL.createObjectURL(svg));
});
await attempt("eval", () => eval("1 + 1"));
await attempt("function", () => new Function("return 1 + 1")());
await attempt("blob module", () => import(blob("export default 1")));
await attempt("inserted script", () => {
  const script = document.createElement("script");
  script.textContent = "document.body.dataset.inserted = 'ran'";
  document.body.append(script);
  return document.body.dataset.inserted ?? "refused";
});
await attempt("handler", () => {
  const button = document.getElementById("button");
  button.click();
  return button.textContent;
});
await attempt("foreign fetch", () => fetch(FOREIGN));
await attempt("foreign img", () => loaded("img", FOREIGN));
await attempt("foreign script", () => loaded("script", FOREIGN));
await attempt("foreign import", () => import(FOREIGN));
await attempt("window", () => window.open(FOREIGN));
await attempt("top", () => void (top.location.href = FOREIGN));
await attempt("link to the top", () => {
  const link = Object.assign(document.createElement("a"), { href: FOREIGN, target: "_top" });
  document.body.append(link);
  link.click();
});
globalThis.results = results;
"""
WORKER = """
onmessage = async ({ data }) => {
  const code = fetch(new URL("add.wasm", location.href));
  const { instance } = await WebAssembly.instantiateStreaming(code);
  postMessage(instance.exports.add(data, data));
};
"""
FAULTS = {
    "throws": ("throw new RangeError('at the top');", "RangeError: at the top"),
    "misspelt": ("\nconst = 1;", "/static/plugins/misspelt/app/index.js:2)"),
    "missing": (None, "Error: the script http"),
    "importing": (
        "import './other/gone.js';",
        "/static/plugins/importing/app/other/gone.js could not",
    ),
    "bare": ('import "preact";', 'TypeError: Failed to resolve module specifier "preact"'),
    "rejects": ("Promise.reject(new TypeError('in a promise'));", "TypeError: in a promise"),
    "silent": ("", "has not called connect() of tbcore/frame.js"),
}
"""The name of a plugin to the script of its page, None if there is none, and to what is shown."""
HANDLED = """
window.addEventListener("error", (event) => event.preventDefault());
setTimeout(() => { throw new Error("handled"); });
"""
ALLOWED = {"wasm": "5", "blob worker": "8", "file worker": "8", "blob picture": "loaded"}
REFUSED = {
    **{"blob module": "TypeError", "inserted script": "refused", "handler": "no handler ran"},
    **{"foreign fetch": "TypeError", "foreign img": "refused", "foreign script": "refused"},
    **{"foreign import": "TypeError", "window": "null", "top": "SecurityError"},
    **{"link to the top": "undefined"},
}


@pytest.fixture(scope="module")
def foreign() -> Iterator[Any]:
    """A server of another origin. It has `url`, `paths`, which were requested, and `page`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write(made.page.encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.paths, made.page, made.url = [], "", f"http://127.0.0.1:{made.server_address[1]}"
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def write_plugin(folder: Path, name: str, files: dict[str, str | bytes], *, allows: str) -> None:
    """Writes a plugin whose page has `files` beside it."""
    python = PYTHON.format(title=name.title(), allows=allows)
    for path, content in ({"__init__.py": python, "static/index.html": HTML} | files).items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory, foreign: Any) -> Path:
    """The folder of the plugins `board`, `attempts` and `evaluating`, which declares eval."""
    folder = tmp_path_factory.mktemp("plugins")
    attempts: dict[str, str | bytes] = {
        "static/index.html": INLINE,
        "static/app/index.js": ATTEMPTS,
        "static/app/foreign.js": f"export default '{foreign.url}/x';",
        "static/app/worker.js": WORKER,
        "static/app/add.wasm": WASM,
    }
    write_plugin(folder, "board", {"static/app/index.js": JS}, allows="()")
    write_plugin(folder, "attempts", attempts, allows="()")
    write_plugin(folder, "evaluating", attempts, allows="['eval']")
    for name, (script, _) in FAULTS.items():
        files = {} if script is None else {"static/app/index.js": script}
        write_plugin(folder, name, {**files}, allows="()")
    write_plugin(folder, "handled", {"static/app/index.js": HANDLED + JS}, allows="()")
    return folder


@pytest.fixture(scope="module")
def server(
    serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, plugins: Path
) -> Any:
    logdir = tmp_path_factory.mktemp("logs")
    for run in RUNS:
        write_run(logdir, run, scalars={"loss": [1.0, 0.5]})
    options = ("--plugins_dir", str(plugins), "--path_prefix", "/team/logs")
    return serve_for_module(logdir, *options, prefix="/team/logs", plugins=[])


def frame_of(page: Any, test: str = "() => document.body?.dataset.ready") -> Any:
    """The frame of the open tab, once a function is true in it."""
    frame = page.wait_for_selector(".plugin iframe").content_frame()
    frame.wait_for_function(test)
    return frame


@pytest.mark.parametrize(
    ("name", "evaluated"), [("attempts", "EvalError"), ("evaluating", "2")], ids=str
)
def test_what_a_page_may_do(
    server: Any, profile: Any, foreign: Any, name: str, evaluated: str
) -> None:
    """Own files, WebAssembly, blobs and inline styles; eval only where it is declared."""
    profile.expects_errors = True  # of what is refused, in the console
    page = profile.open(server.url, f"#{name}")
    profile.allow(foreign.url)

    frame = frame_of(page, "() => globalThis.results")

    found = frame.evaluate("() => results")
    assert found == {**ALLOWED, **REFUSED, "eval": evaluated, "function": evaluated}
    assert frame.evaluate(
        "() => { const { color, paddingTop } = getComputedStyle(document.getElementById('styled'));"
        " return [color, paddingTop]; }"
    ) == ["rgb(1, 2, 3)", "7px"]
    assert frame.locator("#script").text_content() == "no inline script ran"
    assert page.url.startswith(server.url)
    assert foreign.paths == []


def test_the_plugins_page_lists_what_a_page_may_do(server: Any, profile: Any) -> None:
    page = profile.open(server.url, "#plugins")
    card = page.locator("[data-plugin=evaluating].plugin-state")
    card.get_by_text("Its page may use eval.").wait_for()
    assert page.get_by_text("Its page may use").count() == 1


def test_the_first_button_leads_into_the_page(server: Any, profile: Any) -> None:
    """The one that skips the tabs and the run list."""
    page = profile.open(server.url, "#board")
    frame = frame_of(page)
    page.get_by_role("button", name="Skip to charts").press("Enter")
    frame.wait_for_function("() => document.hasFocus()")


def test_a_page_cannot_take_its_frame_to_another_host(
    server: Any, profile: Any, foreign: Any
) -> None:
    """Its own address could carry what it has read."""
    profile.expects_errors = True
    page = profile.open(server.url, "#board")
    profile.allow(foreign.url)
    frame = frame_of(page)

    frame.evaluate("(address) => { location.href = address; }", f"{foreign.url}/x")

    page.wait_for_function("() => tb.all('iframe')[0].contentDocument?.title !== 'A page'")
    assert foreign.paths == []


@pytest.mark.parametrize("is_admitted", [False, True])
def test_no_other_origin_shows_the_page_in_a_frame(
    server: Any, profile: Any, foreign: Any, is_admitted: bool
) -> None:
    """The server refuses the request, and if it did not, the policy would refuse the frame."""
    profile.expects_errors = True
    address = f"{server.url}/static/plugins/board/index.html"
    foreign.page = f"<iframe src='{address}' onload='document.title = \"loaded\"'></iframe>"
    profile.allow(server.url)
    if is_admitted:
        # Playwright's own request says nothing of the page that it is for.
        profile.context.route(address, lambda route: route.fulfill(response=route.fetch()))
    page = profile.open(foreign.url)
    page.wait_for_function("() => document.title === 'loaded'")

    assert all(frame.locator("#styled").count() == 0 for frame in page.frames)
    foreign.paths.clear()


def test_the_page_has_the_host(server: Any, profile: Any) -> None:
    """Runs with their colours, as text; data of the plugin's routes; the selection."""
    page = profile.open(server.url, "#board")
    frame = frame_of(page)

    assert frame.locator("#runs li").all_text_contents() == RUNS
    assert frame.locator("#markup").count() == 0
    assert frame.evaluate("() => host.name") == "board"
    colors = frame.evaluate("() => host.runs.value.map(({ name, color }) => [name, color])")
    assert dict(colors) == page.evaluate("() => tb.colors()")
    tags = "async () => Object.entries(await host.fetchJSON('/tags', { a: 1, b: null }))"
    assert frame.evaluate(tags) == [[run, ["loss"]] for run in RUNS]
    assert frame.evaluate("() => host.url('/x', { a: '&', b: null })") == (
        f"{server.url}/data/plugin/board/x?a=%26"
    )
    frame.evaluate("() => { host.checkOnly('train'); host.hoveredRun.set('train'); }")
    frame.wait_for_function("() => host.hoveredRun.value === 'train'")
    frame.wait_for_function("() => document.querySelectorAll('#runs li').length === 1")
    assert page.locator("aside input:checked").count() == 1


def test_the_page_gets_notices_of_its_plugin(server: Any, profile: Any) -> None:
    """Over the connection of the page. What has not changed is no news."""
    frame = frame_of(profile.open(server.url, "#board"))
    frame.evaluate(
        "() => { globalThis.seen = []; host.notice.subscribe((value) => seen.push(value)); }"
    )
    for step in ("1", "2"):
        frame.evaluate("(step) => host.fetchJSON('notify', { step })", step)
        frame.wait_for_function("(step) => host.notice.value === `step=${step}`", arg=step)
    assert frame.evaluate("() => seen")[1:] == ["step=1", "step=2"]


def test_an_error_of_the_server_has_its_message(server: Any, profile: Any) -> None:
    profile.expects_errors = True  # the status
    frame = frame_of(profile.open(server.url, "#board"))
    error = frame.evaluate(
        "() => host.fetchJSON('none').catch(({ name, message, status }) => [name, message, status])"
    )
    assert error == ["ServerError", "Not found: '/data/plugin/board/none'", 404]


def test_settings_are_in_the_address(server: Any, profile: Any) -> None:
    """A link restores them. Inherited names are names like any other."""
    page = profile.open(server.url, "#board&board.step=10&board.toString=a")
    frame = frame_of(page)
    assert frame.evaluate("() => ({ ...host.settings.value })") == {"step": "10", "toString": "a"}
    assert frame.evaluate("() => host.settings.value.constructor") is None

    frame.evaluate(
        "() => { host.settings.set('step', '20'); host.settings.set('toString', null); }"
    )
    frame.wait_for_function("() => host.settings.value.step === '20'")
    page.wait_for_function("() => location.hash === '#board&board.step=20'")
    frame.evaluate("() => host.preferences.set('size', 'large')")
    frame.wait_for_function("() => host.preferences.value.size === 'large'")

    page.reload()
    frame = frame_of(page)
    assert frame.evaluate("() => ({ ...host.settings.value })") == {"step": "20"}
    assert frame.evaluate("() => ({ ...host.preferences.value })") == {"size": "large"}


def test_the_theme_follows(server: Any, profile: Any) -> None:
    """The root of the page has it, with the colours of the page around it."""
    page = profile.open(server.url, "#board", color_scheme="dark")
    frame = frame_of(page)
    theme = """() => [host.theme.value, document.documentElement.dataset.theme,
      ...['color-scheme', '--tb-ground'].map((name) =>
        getComputedStyle(document.documentElement).getPropertyValue(name))]"""
    assert frame.evaluate(theme) == ["dark", "dark", "dark", "#0f1217"]

    page.get_by_role("button", name="light theme").click()

    frame.wait_for_function("() => host.theme.value === 'light'")
    assert frame.evaluate(theme) == ["light", "light", "light", "#f6f7f9"]


def test_keys_work_wherever_the_focus_is(server: Any, profile: Any) -> None:
    """The shell's in the page, the page's in the shell; neither in a text field of the page."""
    page = profile.open(server.url, "#board")
    frame = frame_of(page)
    page.keyboard.press("x")  # The focus is in the shell.
    frame.wait_for_function("() => log.length === 1")
    frame.locator("#button").focus()
    page.keyboard.press("x")
    frame.wait_for_function("() => log.length === 2")
    frame.locator("#box").focus()
    page.keyboard.type("x?")
    assert frame.locator("#box").input_value() == "x?"
    frame.locator("#button").focus()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Do something").wait_for()
    page.keyboard.press("Escape")
    frame.locator("#button").focus()
    page.keyboard.press("r")
    page.wait_for_function("() => document.activeElement.type === 'search'")
    assert frame.evaluate("() => log.length") == 2


def test_new_data_changes_the_generations(
    serve: Callable[..., Any], profile: Any, tmp_path: Path, plugins: Path
) -> None:
    write_run(tmp_path / "logs", "a", scalars={"loss": [1.0]})
    write_run(tmp_path / "logs", "b", scalars={"loss": [1.0]})
    server = serve(tmp_path / "logs", "--plugins_dir", str(plugins), plugins=[])
    frame = frame_of(profile.open(server.url, "#board"))
    frame.evaluate(
        """() => {
          const all = ({ all, lists, of }) => [all, lists, of("a"), of("b")];
          globalThis.before = all(host.generations.value);
          host.onReload((generations) => { globalThis.after = all(generations); });
        }"""
    )

    write_run(tmp_path / "logs", "b", scalars={"loss": [(5, 2.0)]})

    changed = frame.wait_for_function(
        """() => globalThis.after && after[3] !== before[3] &&
          after.map((now, index) => now !== before[index])"""
    )
    assert changed.json_value() == [True, False, False, True]


def test_errors_of_the_page_are_shown(server: Any, profile: Any) -> None:
    """Above the page if it did not catch them, in its place if it says so; not lost requests."""
    profile.expects_errors = True
    page = profile.open(server.url, "#board")
    frame = frame_of(page)
    page.route("**/data/plugin/board/tags", lambda route: route.abort())
    frame.evaluate("() => { host.fetchJSON('tags'); }")  # No answer, and nobody catches that.
    frame.evaluate("() => { setTimeout(() => { throw new RangeError('too far'); }); }")
    shown = page.locator(".uncaught-error")
    shown.wait_for()
    assert shown.inner_text().startswith("RangeError: too far")

    frame.evaluate("() => host.showError(new TypeError('no such thing'))")
    page.locator(".failure").get_by_text("TypeError: no such thing").wait_for()
    page.get_by_role("button", name="Try again").click()
    frame_of(page)


@pytest.mark.parametrize("name", FAULTS)
def test_what_keeps_a_page_from_connecting_is_shown(server: Any, profile: Any, name: str) -> None:
    """The usual first fault of a bundle, in place of nothing."""
    profile.expects_errors = True
    page = profile.context.new_page()
    if name == "silent":
        page.clock.install()
    page.goto(f"{server.url}/#{name}")
    if name == "silent":
        frame_of(page, "() => document.readyState === 'complete'")
        page.clock.fast_forward(5000)
    page.locator(".uncaught-error").get_by_text(FAULTS[name][1]).wait_for()


def test_what_a_page_handles_is_not_shown(server: Any, profile: Any) -> None:
    profile.expects_errors = True
    page = profile.open(server.url, "#handled")
    frame = frame_of(page)
    frame.evaluate("() => { setTimeout(() => { throw new Error('handled, too'); }); }")
    frame.evaluate("() => { Promise.reject(new Error('in a promise')); }")
    shown = page.locator(".uncaught-error")
    shown.wait_for()
    assert shown.inner_text().startswith("Error: in a promise")


def test_a_page_that_cannot_be_loaded_is_an_error(server: Any, profile: Any) -> None:
    profile.expects_errors = True
    page = profile.context.new_page()
    page.route("**/static/plugins/board/index.html", lambda route: route.fulfill(status=404))
    page.goto(f"{server.url}/#board")
    page.locator(".failure").get_by_text("could not be loaded: status 404").wait_for()


def test_outside_of_a_tab_there_is_no_host(server: Any, profile: Any) -> None:
    """Nor for messages of other windows, which the tab does not take for the page's."""
    profile.expects_errors = True
    page = profile.open(server.url)
    page.goto(f"{server.url}/static/plugins/board/index.html")
    found = page.evaluate(
        """() => import(new URL('../../tbcore/frame.js', location.href))
          .then(({ connect }) => connect()).catch((error) => error.message)"""
    )
    assert found == "this page is shown in a tab of tbcore; open it there"

    page = profile.open(server.url, "#board")
    frame = frame_of(page)
    message = {"tbcore": "set", "args": ["settings", "step", "99"]}
    page.evaluate("(message) => window.postMessage(message, location.origin)", message)
    change = {"tbcore": "change", "args": ["hoveredRun", "other"]}
    frame.evaluate("(message) => window.postMessage(message, location.origin)", change)
    frame.evaluate("() => host.settings.set('other', '1')")
    frame.wait_for_function("() => host.settings.value.other === '1'")
    assert frame.evaluate("() => ({ ...host.settings.value })") == {"other": "1"}
    assert frame.evaluate("() => host.hoveredRun.value") is None


def test_a_closed_tab_leaves_nothing(server: Any, profile: Any) -> None:
    """Its keys and its frame go."""
    page = profile.open(server.url, "#board")
    frame_of(page)
    page.evaluate("() => { location.hash = 'plugins'; }")
    page.get_by_role("heading", name="Plugins", exact=True).wait_for()
    assert [frame for frame in page.frames if frame.parent_frame] == []
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert page.get_by_text("Do something").count() == 0


def test_with_dev_an_edited_page_is_opened_again(
    serve: Callable[..., Any], profile: Any, tmp_path: Path
) -> None:
    """With new copies of its files, whose addresses stay the same."""
    write_run(tmp_path / "logs", "a", scalars={"loss": [1.0]})
    write_plugin(tmp_path / "plugins", "board", {"static/app/index.js": JS}, allows="()")
    options = ("--plugins_dir", str(tmp_path / "plugins"), "--dev")
    server = serve(tmp_path / "logs", *options, plugins=[])
    page = profile.open(server.url, "#board")
    frame_of(page)

    edited = JS.replace('"yes"', '"edited"')
    (tmp_path / "plugins" / "board" / "static" / "app" / "index.js").write_text(edited)

    page.wait_for_function(
        "() => tb.all('iframe')[0]?.contentDocument.body?.dataset.ready === 'edited'"
    )
