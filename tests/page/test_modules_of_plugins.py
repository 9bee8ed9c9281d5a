"""Modules of plugins in a real browser: what a module gets, and errors that stay in its tab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_charts import wait_for_curve, wait_for_text

from tbcore_testing import EventFileWriter, write_run

MODULES = {
    "boom": """
        export default {
          render(host) {
            if (globalThis.boomIsFixed) {
              host.element.textContent = 'works now';
              return;
            }
            throw new Error('boom <b id="injected">bold</b>');
          },
        };
        """,
    "missing": "import 'not-in-the-import-map';",
    "absent": "import 'tbcore/lib/formats.js'; export default { render() {} };",
    "shapeless": "export default {};",
    "reporter": """
        export default { render(host) {
          host.element.textContent = 'fine';
          host.signal.addEventListener('abort', () => { globalThis.wasAborted = true; });
          setTimeout(() => host.showError(new Error('found out later')), 50);
          return () => { globalThis.wasCleanedUp = true; throw new Error('clean-up'); };
        } };""",
    "caller": """
        export default { render(host) {
          host.runs.subscribe((runs) => { if (runs.length === 1) throw new Error('one run'); });
          host.element.textContent = 'subscribed';
        } };""",
    "uncaught": """
        export default { render(host) {
          host.element.textContent = 'still here';
          host.fetchJSON('lost');
          host.fetch('lost');
          setTimeout(() => { Promise.reject(new Error('not caught')); }, 300);
        } };""",
    "parts": """
        import { html } from "htm/preact";
        import { render } from "preact";
        import { Lazy } from "tbcore/ui.js";
        export default { render(host) {
          const load = async () => ({ Lazy });
          render(html`<p>drawn</p><${Lazy} load=${load} of="Lazy" />`, host.element);
        } };""",
    "leaving": """
        export default { render(host) {
          host.element.textContent = "it reads on";
          const read = async (response, closing) => {
            globalThis.left = "no";
            await new Promise((resolve) => closing.addEventListener("abort", resolve));
            setTimeout(() => { globalThis.left = "yes"; }, 200);
            await response.text();
          };
          host.fetch("../../runs").then((response) => read(response, host.signal));
        } };""",
    "typo": "export default { render(host) {",
    "menus": """
        import "@preact/signals";
        import { html } from "htm/preact";
        import { render } from "preact";
        import { Menu } from "tbcore/ui.js";
        const Names = () => html`<ul>${[3, 20, 45].map((n) => html`<li><span class="tb-name">
          <span class="tb-name-head">${"a/".repeat(n)}</span
          ><span class="tb-name-tail">${"b".repeat(n)}</span></span></li>`)}</ul>`;
        export default {
          async render(host) {
            await host.css(
              "span { flex: 1 } .bar { display: flex; justify-content: space-between }");
            render(html`<div class="bar">${["left", "right"].map((label) =>
              html`<div><${Menu} icon="menu" label=${label} content=${Names} /></div>`)}</div>`,
              host.element);
            return () => render(null, host.element);
          },
        };
        """,
    **dict.fromkeys(
        [f"long_name_{letter}" for letter in "abcdef"],
        "export default { render(host) { host.element.textContent = host.name; } };",
    ),
}
"""The module of each tab, by the name of its plugin."""


def write_logs(path: Path) -> Path:
    """Two runs with one tag."""
    for run, more in (("train", 0.0), ("eval", 0.05)):
        write_run(path, run, scalars={"loss": [0.9 + more, 0.5 + more, 0.3 + more]})
    return path


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """The runs for a server of one test, which logs more."""
    return write_logs(tmp_path / "logs")


@pytest.fixture(scope="module")
def with_plugins(
    serve_for_module: Any,
    tmp_path_factory: pytest.TempPathFactory,
    install_plugin: Callable[..., Path],
) -> Any:
    """The same runs, with a tab for each of `MODULES`, and with plugins whose Python fails."""
    path = [install_plugin(name, text, 4 + (name != "boom")) for name, text in MODULES.items()]
    moody = install_plugin("moody", "export default { render() {} };")
    source = moody / "tbcore_moody" / "__init__.py"
    source.write_text(source.read_text().replace("return bool", "raise ValueError('mood') or bool"))
    broken = install_plugin("broken", "")
    (broken / "tbcore_broken" / "__init__.py").write_text("raise SystemExit('no licence')")
    logdir = write_logs(tmp_path_factory.mktemp("logs"))
    return serve_for_module(logdir, python_path=[*path, moody, broken])


def test_an_error_in_a_module_affects_only_its_own_tab(with_plugins: Any, profile: Any) -> None:
    """The tab shows the error as text and a button to try again; other tabs still work."""
    page = profile.open(with_plugins.url)
    wait_for_text(page, "The tab “Boom” stopped")  # the first active tab, by its order
    wait_for_text(page, 'Error: boom <b id="injected">bold</b>')
    page.get_by_text("Details").click()
    details = page.locator(".failure pre").inner_text()
    assert "plugins/boom/index.js" in details
    assert "bold" not in details  # the message is already shown above
    assert page.locator("#injected").count() == 0
    page.get_by_role("tab", name="Scalars", exact=True).click()
    wait_for_curve(page, "loss", "train")
    page.wait_for_function("() => location.hash.startsWith('#scalars')")
    page.go_back()
    wait_for_text(page, "The tab “Boom” stopped")
    page.evaluate("() => { globalThis.boomIsFixed = true; }")
    page.get_by_role("button", name="Try again").click()
    wait_for_text(page, "works now")


def test_an_error_is_shown_although_its_notice_cannot_be_loaded(
    with_plugins: Any, profile: Any
) -> None:
    """As plain text, with a button to try again, which then shows the notice."""
    profile.expects_errors = True
    page = profile.context.new_page()
    page.route("**/shell/failure.js", lambda route: route.abort())
    profile.allow(with_plugins.url)
    page.goto(f"{with_plugins.url}/#boom")
    wait_for_text(page, 'Error: boom <b id="injected">bold</b>')
    assert page.locator("#injected").count() == 0
    page.evaluate("() => { globalThis.boomIsFixed = true; }")
    page.get_by_role("button", name="Try again").click()
    wait_for_text(page, "works now")


def test_other_kinds_of_errors_are_shown_in_their_tab(with_plugins: Any, profile: Any) -> None:
    """The tab shows errors of imports, `render`, `showError` and callbacks, and uncaught ones.

    Clean-up runs in each case. A request that does not reach the server is not shown as an error of
    the tab, since the shell shows that the connection is lost.
    """
    page = profile.open(with_plugins.url, "#missing")
    wait_for_text(page, "The tab “Missing” stopped")
    page.get_by_role("tab", name="Shapeless").click()
    wait_for_text(page, 'has no default export with a function "render"')
    page.get_by_role("tab", name="Reporter").click()
    wait_for_text(page, "Error: found out later")
    assert page.evaluate("() => globalThis.wasAborted && globalThis.wasCleanedUp")
    page.get_by_role("tab", name="Caller").click()
    wait_for_text(page, "subscribed")
    page.get_by_role("checkbox", name="train").uncheck()
    wait_for_text(page, "Error: one run")
    profile.check()

    profile.expects_errors = True
    page.route("**/lost", lambda route: route.abort())
    uncaught: list[str] = []
    page.on("pageerror", lambda error: uncaught.append(error.message))
    page.get_by_role("tab", name="Uncaught").click()
    wait_for_text(page, "Error: not caught")
    assert uncaught == ["not caught"]
    wait_for_text(page, "still here")
    # An effect of a component of the page, which no function of the plugin calls.
    page.get_by_role("tab", name="Parts").click()
    wait_for_text(page, "load is not a function")
    page.get_by_role("tab", name="Absent").click()
    wait_for_text(page, "could not load static/tbcore/lib/formats.js")
    page.get_by_role("tab", name="Scalars", exact=True).click()
    wait_for_curve(page, "loss", "eval")


def test_a_syntax_error_is_shown_with_its_location(with_plugins: Any, profile: Any) -> None:
    """Browsers report the line only in an event of the window."""
    profile.expects_errors = True
    page = profile.open(with_plugins.url, "#typo")
    wait_for_text(page, "The tab “Typo” stopped")
    message = page.locator(".failure .message").inner_text()
    assert message.startswith("SyntaxError: ")
    page.get_by_text("Details").click()
    wait_for_text(page, "static/plugins/typo/index.js:1:")


def test_an_error_in_is_active_is_not_shown_as_no_data(with_plugins: Any, profile: Any) -> None:
    """The plugin's tab shows the error; other tabs still work."""
    page = profile.open(with_plugins.url, "#moody")
    wait_for_text(page, "The plugin “moody” failed to check for data")
    wait_for_text(page, "is_active raised ValueError: mood")
    page.get_by_role("tab", name="Scalars", exact=True).click()
    wait_for_curve(page, "loss", "train")


LATE = """
import os, time
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title="Late")

@hookimpl
def is_active():
    while not os.path.exists({path!r}):
        time.sleep(0.05)
    return True
"""


def test_a_plugin_becomes_active_when_a_slow_is_active_returns(
    serve: Any, profile: Any, tmp_path: Path, install_plugin: Callable[..., Path]
) -> None:
    """The tab becomes active although the data has not changed."""
    folder = install_plugin("late", "")
    (folder / "tbcore_late" / "__init__.py").write_text(LATE.format(path=str(tmp_path / "go")))
    write_run(tmp_path / "logs", "a", scalars={"x": [1.0]})
    server = serve(tmp_path / "logs", python_path=[folder], plugins=["scalars", "late"])
    page = profile.open(server.url)
    page.wait_for_function("() => tb.card('x')")
    more = page.get_by_role("button", name="more", exact=True)
    more.wait_for()
    tab = page.get_by_role("tab", name="late")
    assert tab.count() == 0
    (tmp_path / "go").touch()
    tab.wait_for()
    more.wait_for(state="detached")


def test_a_plugin_that_cannot_be_imported_has_a_tab_with_the_error(
    with_plugins: Any, profile: Any
) -> None:
    """Such a tab has the plugin's name as its title."""
    page = profile.open(with_plugins.url, "#scalars")
    wait_for_curve(page, "loss", "train")
    page.get_by_role("tab", name="broken").click()
    wait_for_text(page, "The plugin “broken” could not be loaded")
    wait_for_text(page, "no licence")


def test_the_host_object_works_as_documented(
    serve: Any, profile: Any, logdir: Path, install_plugin: Callable[..., Path]
) -> None:
    """Requests, error messages, styles, settings and reloads, in a module of plain DOM code."""
    module = """
      export default {
        async render(host) {
          const seen = (globalThis.seen = { reloads: 0 });
          seen.inShadow = host.element.getRootNode() instanceof ShadowRoot;
          seen.name = host.name;
          seen.url = host.url('a b', { run: 'x/y&z', none: null, n: 1 });
          try {
            await host.fetchJSON('nothing', {});
          } catch (error) {
            Object.assign(seen, { message: error.message, status: error.status });
          }
          seen.status405 = (await host.fetch('nothing', { method: 'POST', body: 'x' })).status;
          await host.css('p { color: rgb(1, 2, 3); }');
          await host.css('./more.css');
          const p = document.createElement('p');
          host.element.append(p);
          const style = getComputedStyle(p);
          seen.styles = [style.color, style.marginTop];
          host.settings.set('depth', '3');
          seen.depth = host.settings.value.depth;
          host.runs.subscribe((runs) => { seen.runs = runs.map(({ name }) => name); });
          host.onReload((generations) => { seen.reloads++; seen.of = generations.of('train'); });
          seen.before = host.generations.value.of('train');
          seen.theme = host.theme.value;
          seen.isDone = true;
        },
      };
    """
    folder = install_plugin("probe", module)
    (folder / "tbcore_probe" / "static" / "more.css").write_text("p { margin-top: 7px; }")
    server = serve(logdir, python_path=[folder])
    page = profile.open(server.url)
    profile.expects_errors = True  # the module's requests
    page.wait_for_function("() => globalThis.seen?.isDone")
    seen = page.evaluate("() => globalThis.seen")
    assert seen["inShadow"]
    assert seen["name"] == "probe"
    assert seen["url"] == f"{server.url}/data/plugin/probe/a%20b?run=x%2Fy%26z&n=1"
    assert seen["status"] == 404
    assert seen["message"]
    assert seen["status405"] in (404, 405)
    assert seen["styles"] == ["rgb(1, 2, 3)", "7px"]
    assert seen["depth"] == "3"
    assert seen["runs"] == ["eval", "train"]
    assert seen["theme"] == "light"
    page.wait_for_function("() => location.hash === '#probe&probe.depth=3'")

    write_run(logdir, "later", scalars={"loss": [1.0]})
    page.wait_for_function("() => seen.runs.includes('later') && seen.reloads > 0")
    seen = page.evaluate("() => globalThis.seen")
    assert seen["of"] == seen["before"]  # train did not change
    with EventFileWriter(logdir / "train" / "events.out.tfevents.9") as writer:
        writer.add_scalar("loss", 0.1, 99)
    page.wait_for_function("() => globalThis.seen.of !== globalThis.seen.before")


def test_a_tab_that_closes_while_it_reads_an_answer_is_no_error(
    with_plugins: Any, profile: Any
) -> None:
    """Browsers have another message for a body that was aborted than for a request."""
    page = profile.open(with_plugins.url, "#leaving")
    wait_for_text(page, "it reads on")
    page.wait_for_function("() => globalThis.left === 'no'")
    page.evaluate("() => { location.hash = '#menus'; }")
    page.wait_for_function("() => globalThis.left === 'yes'")
    assert profile.errors == []


def test_menus_are_as_wide_as_their_content(with_plugins: Any, profile: Any) -> None:
    """A menu is at most as wide as the page and lies within it, wherever its button is."""
    page = profile.open(with_plugins.url, "#menus")
    for width in (1400, 500):
        page.set_viewport_size({"width": width, "height": 900})
        for label in ("left", "right"):
            page.get_by_role("button", name=label).click()
            page.wait_for_function("() => tb.all('.tb-menu:popover-open li').length === 3")
            left, right, num_cut = page.evaluate(
                """async () => {
                  await tb.frame();
                  const [menu] = tb.all('.tb-menu:popover-open');
                  const { left, right } = menu.getBoundingClientRect();
                  const spans = [...menu.querySelectorAll('.tb-name > span')];
                  const cut = spans.filter((span) => span.scrollWidth > span.clientWidth);
                  return [left, right, cut.length];
                }"""
            )
            assert 0 <= left < right <= width
            assert (num_cut > 0) == (width == 500), (width, label)
            page.keyboard.press("Escape")


def test_the_open_tab_is_scrolled_into_view(with_plugins: Any, profile: Any) -> None:
    """A page that is too narrow for all tabs scrolls to the open one."""
    page = profile.open(with_plugins.url, "#long_name_f", viewport={"width": 400, "height": 700})
    page.wait_for_function(
        """() => {
          const tab = document.querySelector('[aria-selected=true]')?.getBoundingClientRect();
          const list = document.querySelector('.tabs').getBoundingClientRect();
          return tab && tab.left >= list.left - 1 && tab.right <= list.right + 1;
        }"""
    )
