"""The conformance suite finds each kind of error, and none in the plugins of this repository.

For each test of the suite there is a plugin with one error, which must fail that test and no other.
One run of the suite tests all of them, as plugins in folders, with one set of servers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from common_fixtures import folder_of_run

from tbcore_testing.conformance.subject import find_subject

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
PLUGINS = sorted(
    path.parent.name
    for path in REPOSITORY.glob("plugins/*/pyproject.toml")
    if entry_points(group="tbcore.plugins", name=path.parent.name)
)
"""The installed plugins of this checkout; `dev.py` installs all."""
TIMEOUT_SECONDS = 1800.0
"""Timeout of one run of the suite, long enough for a busy machine."""

PYTHON = """
import json, time
from starlette.responses import (
    PlainTextResponse, RedirectResponse, Response, StreamingResponse
)
from starlette.routing import Route
from tbcore import BadRequestError, Claim, PluginInfo, hookimpl
from tbcore.http import json_response, request_body, required

CLAIMS = (Claim(is_scalar=True), Claim("histo"))

@hookimpl
def plugin_info():
    return PluginInfo(title={name!r}, claims=CLAIMS, module={module!r}, order={order})

@hookimpl
def is_active(multiplexer):
{is_active}

@hookimpl
def routes(multiplexer):
    def tags(request):
        return json_response(multiplexer.tags(CLAIMS))

    def route(request):
{route}

    def values(request):
        run, tag = required(request, "run", "tag")
        if not multiplexer.has([Claim(is_scalar=True)]):
            return json_response([])
        return json_response(multiplexer.scalars(run, tag, claims=CLAIMS).value)

    def histogram(request):
        run, tag = required(request, "run", "tag")
        for item in multiplexer.items(run, tag, [Claim("histo")]):
            item.read()
        return json_response([])

    def post(request):
        try:
            body = json.loads(request_body(request))
            size = body["size"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadRequestError("a size is needed") from None
        if {is_bad_post} and isinstance(size, str):
            raise RuntimeError("a text")
        return json_response([])

    return [
        Route("/tags", tags), Route("/route", route), Route("/values", values),
        Route("/histogram", histogram), Route("/post", post, methods=["POST"]),
    ]

{close}
"""
IS_ACTIVE = "return multiplexer.has(CLAIMS)"
ROUTE = """
run, tag = required(request, "run", "tag")
return json_response(multiplexer.scalars(run, tag).step)
"""

BAD_ON_THE_SERVER = {
    "test_it_loads": {"is_active": "return (", "route": ROUTE},
    "test_is_active_without_data": {"is_active": "return True"},
    "test_is_active_is_cheap": {
        "is_active": """
        for run, tags in multiplexer.tags([Claim("histo")]).items():
            for tag in tags[:1]:
                multiplexer.items(run, tag, [Claim("histo")])[0].read()
        return multiplexer.has(CLAIMS)
        """
    },
    "test_routes_answer_whatever_they_are_asked": {
        "route": "return json_response(int(request.query_params['index']))"
    },
    "test_close_ends_what_it_started": {
        "close": """
        @hookimpl
        def close():
            pass
        """,
        "route": """
        import subprocess
        if not globals().setdefault("started", []):
            started.append(subprocess.Popen(["sleep", "60"]))
        run, tag = required(request, "run", "tag")
        return json_response(multiplexer.scalars(run, tag).step)
        """,
    },
    "test_responses_are_supported": {
        "route": """
        async def parts():
            yield "one"
        return StreamingResponse(parts())
        """
    },
    "test_routes_do_not_block": {
        "route": """
        run, tag = required(request, "run", "tag")
        time.sleep(4 if tag == "accuracy" else 0)
        return json_response([])
        """
    },
    "test_routes_do_not_delay_others": {
        "route": """
        import ctypes
        run, tag = required(request, "run", "tag")
        steps = multiplexer.scalars(run, tag).step
        if tag == "accuracy":
            # Unlike time.sleep, this holds the GIL.
            ctypes.PyDLL(None).usleep(2_500_000)
        return json_response(steps)
        """
    },
    "test_routes_answer_while_runs_of_another_program_change": {
        "route": """
        run, tag = required(request, "run", "tag")
        size = len(multiplexer.scalars(run, tag))
        known = tags.__dict__
        if size < known.setdefault((run, tag), size):
            raise RuntimeError("it has fewer points")
        return json_response(size)
        """
    },
    "test_json_is_strict": {
        "route": """
        run, tag = required(request, "run", "tag")
        values = multiplexer.scalars(run, tag).value.tolist()
        return Response(json.dumps(values), media_type="application/json")
        """
    },
    "test_routes_work_below_a_path_prefix": {
        "route": "return RedirectResponse('/data/plugin/bad/tags')"
    },
    "test_routes_answer_without_data": {
        "route": "return json_response(max(multiplexer.runs()))",
    },
    "test_routes_answer_with_nan_and_infinities": {
        "route": """
        run, tag = required(request, "run", "tag")
        return json_response([int(value) for value in multiplexer.scalars(run, tag).value])
        """
    },
    "test_routes_answer_with_any_names": {
        "route": """
        run, tag = required(request, "run", "tag")
        multiplexer.scalars(run, tag)
        return PlainTextResponse("a file", headers={"content-disposition": f"filename={tag}"})
        """
    },
    "test_routes_answer_with_odd_values": {
        "route": """
        from tbcore.values import histogram
        run, tag = required(request, "run", "tag")
        items = multiplexer.items(run, tag, [Claim("histo")], samples=1)
        return json_response([item.read().histo.bucket_limit[0] for item in items])
        """
    },
    "test_routes_answer_with_ten_thousand_tags": {
        "route": """
        num_tags = sum(map(len, multiplexer.tags(CLAIMS).values()))
        time.sleep(4 if num_tags > 5000 else 0)
        return json_response(num_tags)
        """
    },
    "test_routes_answer_when_a_file_is_gone": {
        "route": """
        run, tag = required(request, "run", "tag")
        items = multiplexer.items(run, tag, [Claim("histo")], samples=1)
        try:
            return json_response([item.step for item in items if item.read()])
        except Exception as error:
            raise RuntimeError("no such file") from error
        """
    },
}
"""Name of a test to the faulty code of the plugin that must fail it."""


MODULE = """
let kept = [];
export default {
  async render(host) {
    const list = document.createElement("ul");
    host.element.append(list);
    const tags = await host.fetchJSON("tags");
    const names = host.runs.value.flatMap(({ name }) => tags[name] ?? []);
    list.replaceChildren(...names.slice(0, 50).map((name) => {
      const item = document.createElement("li");
      item.textContent = name.slice(0, 20);
      return item;
    }));
    const run = Object.keys(tags).find((name) => tags[name].length > 0);
    try { BAD } catch (error) { if (error.message === "mine") throw error; }
  },
};
"""

BAD_IN_THE_PAGE = {
    "test_the_tab_renders": "if (host.theme.value === 'dark') console.error('no');",
    "test_the_tab_stays_below_the_path_prefix": "await fetch('/data/runs');",
    "test_the_tab_needs_no_other_host": "await fetch('https://other.example/font.woff2');",
    "test_the_controls_have_labels": "list.after(document.createElement('button'));",
    "test_the_text_can_be_read_in_both_themes": "list.style.color = '#111';",
    "test_the_tab_fits_a_narrow_window": "list.style.width = '900px';",
    "test_names_are_shown_as_text": """
        for (const name of names) {
          if (!name.includes("tbcore-markup")) continue;
          list.lastChild.innerHTML = "<b id=tbcore-markup>b</b>";
        }
    """,
    "test_the_tab_renders_nan_and_infinities": """
        const rows = await host.fetchJSON("values", { run, tag: tags[run][0] });
        if (rows.some((value) => value.toFixed === undefined)) throw new Error("mine");
    """,
    "test_the_tab_renders_odd_values": """
        if (names.some((name) => name.startsWith("short"))) throw new Error("mine");
    """,
    "test_the_tab_renders_ten_thousand_tags": """
        if (tags[run].length < 1000) return;
        await Promise.all(tags[run].slice(0, 400).map((tag) => host.fetch("tags?tag=" + tag)));
    """,
    "test_the_tab_renders_when_a_file_is_gone": """
        if (!names.includes("accuracy")) return;
        const response = await host.fetch("histogram?run=train&tag=weights/histogram");
        if (response.status === 404) throw new Error("mine");
    """,
    "test_the_tab_renders_without_runs": """
        if (host.runs.value.length === 0) throw new Error("mine");
    """,
    "test_requests_of_the_tab_never_fail": """
        await host.fetch("post", { method: "POST", body: JSON.stringify({ size: 1 }) });
    """,
    "test_the_tab_renders_at_any_step": "if (host.step.value === -7) throw new Error('mine');",
    "test_the_tab_ends_its_listeners": "window.addEventListener('resize', () => {});",
    "test_the_tab_ends_its_timers": "setInterval(() => {}, 1000);",
    "test_the_tab_ends_its_connections": "new BroadcastChannel('mine');",
    "test_the_tab_ends_its_observers": "new ResizeObserver(() => {}).observe(list);",
    "test_the_tab_calls_nothing_back_after_it_was_left": """
        host.signal.addEventListener("abort", () => setTimeout(() => {}, 10));
    """,
    "test_the_tab_leaves_no_elements": """
        document.querySelector("body > p.mine")?.remove();
        const added = document.createElement("p");
        added.className = "mine";
        document.body.append(added);
    """,
    "test_the_tab_asks_nothing_after_it_was_left": """
        const step = host.url("tags");
        const pause = () => scheduler.postTask(() => {}, { delay: 100 });
        (async () => { for (;;) await fetch(step).then(pause); })();
    """,
    "test_the_tab_does_not_grow": "kept.push(host.element);",
}
"""Name of a test to the faulty code in the tab of the plugin that must fail it."""


def write_plugin(
    folder: Path, name: str, *, module: str | None = None, order: int = 100, **code: str
) -> Path:
    """Writes the folder of a plugin with a pyproject.toml, and returns its path."""
    project = folder / name
    package = project / f"tbcore_{name}"
    package.mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        f'[project.entry-points."tbcore.plugins"]\n{name} = "tbcore_{name}"\n', encoding="utf-8"
    )

    def block(text: str, depth: int) -> str:
        return textwrap.indent(textwrap.dedent(text).strip(), " " * depth)

    python = PYTHON.format(
        name=name,
        module=None if module is None else "static/index.js",
        order=order,
        is_active=block(code.get("is_active", IS_ACTIVE), 4),
        route=block(code.get("route", ROUTE), 8),
        close=block(code.get("close", ""), 0),
        is_bad_post=module is not None and '"post"' in module,
    )
    (package / "__init__.py").write_text(python, encoding="utf-8")
    if module is not None:
        (package / "static").mkdir()
        (package / "static" / "index.js").write_text(module, encoding="utf-8")
    return project


def run_suite(
    plugins: Sequence[str | Path], folder: Path, *options: str, **environment: str
) -> str:
    """Runs the suite in an empty folder, as a plugin's author does, and returns pytest's output."""
    folder.mkdir(exist_ok=True)
    named = [part for plugin in plugins for part in ("--plugin", str(plugin))]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--pyargs", "tbcore_testing.conformance", *named),
            *("-rA", "--tb=short", "--color=no", "-p", "no:cacheprovider", "-c", os.devnull),
            # At the end of a run, the plugin of Hypothesis imports all of it.
            *("-p", "no:hypothesispytest", "--rootdir", str(folder), *options),
        ],
        cwd=folder,
        env={**os.environ, "COLUMNS": "400", **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert "no tests ran" not in done.stdout, done.stderr
    return done.stdout + done.stderr


def outcomes(printed: str) -> dict[str, dict[str, set[str]]]:
    """Path of each plugin, to outcomes, to the names of the tests with that outcome."""
    found: dict[str, dict[str, set[str]]] = {}
    for outcome, check, plugin in re.findall(
        r"^(PASSED|FAILED|ERROR|SKIPPED) \S*::(test_\w+)\[([^\]]+)\]", printed, re.MULTILINE
    ):
        found.setdefault(plugin, {}).setdefault(outcome, set()).add(check)
    return found


@pytest.fixture(scope="module")
def server_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what two runs of the suite printed, and with the plugins of the first run.

    `bad` is the run for plugins with errors, each in the test that it must fail, and `own` that for
    the plugins of this repository. They overlap, because `bad` waits for slow routes.
    """

    def fill(folder: Path) -> None:
        bad = write_bad_plugins(folder / "plugins")
        tests = [f"({check} and {path.name})" for check, path in bad.items()]
        commands = {"bad": ([*bad.values()], " or ".join(tests)), "own": (PLUGINS, "test_server")}
        with ThreadPoolExecutor() as pool:
            runs = {
                name: pool.submit(run_suite, plugins, folder / f"{name} cwd", "-k", tests)
                for name, (plugins, tests) in commands.items()
                if plugins
            }
        for name, run in runs.items():
            (folder / name).write_text(run.result(), encoding="utf-8")

    return folder_of_run(tmp_path_factory, "conformance", fill)


def write_bad_plugins(folder: Path) -> dict[str, Path]:
    """Writes a plugin for each test on the server, which must fail it; returns their paths."""
    return {
        check: write_plugin(folder, f"bad{number:02}", **code)
        for number, (check, code) in enumerate(BAD_ON_THE_SERVER.items())
    }


def test_each_check_of_the_server_fails_for_the_plugin_that_is_bad_there(server_runs: Path) -> None:
    """A plugin with one error fails the test for it."""
    printed = (server_runs / "bad").read_text(encoding="utf-8")
    found = outcomes(printed)
    assert found == {
        str(server_runs / "plugins" / f"bad{number:02}"): {"FAILED": {check}}
        for number, check in enumerate(BAD_ON_THE_SERVER)
    }, printed


@pytest.mark.release
def test_each_plugin_that_is_bad_on_the_server_fails_one_check(tmp_path: Path) -> None:
    """A plugin with one error fails no other test; one without errors passes all."""
    cases = {"good": write_plugin(tmp_path, "good"), **write_bad_plugins(tmp_path)}
    printed = run_suite([*cases.values()], tmp_path / "cwd", "-k", "test_server")
    found = outcomes(printed)
    for check, path in cases.items():
        ended = found[str(path)]
        expected = set() if check == "good" else {check}
        assert ended.get("FAILED", set()) == expected, f"{check}:\n{printed}"
        assert "ERROR" not in ended, printed
        assert check == "test_it_loads" or len(ended["PASSED"]) >= len(BAD_ON_THE_SERVER) - 1


def test_the_plugins_of_this_repository_pass_on_the_server(server_runs: Path) -> None:
    """All plugins are tested in one run."""
    if not PLUGINS:
        pytest.skip("no plugin of this checkout is installed")
    printed = (server_runs / "own").read_text(encoding="utf-8")
    found = outcomes(printed)
    assert sorted(found) == PLUGINS, printed
    assert {name: ended for name, ended in found.items() if set(ended) != {"PASSED"}} == {}, printed


def test_a_path_names_one_plugin(tmp_path: Path) -> None:
    """A path with no plugin, or with several, is reported as an error."""
    for name in ("one", "two"):
        write_plugin(tmp_path / "plugins", name)
    (tmp_path / "none").mkdir()

    assert find_subject(str(tmp_path / "plugins" / "one")).error == ""
    assert "found one, two; pass the path of each" in find_subject(str(tmp_path / "plugins")).error
    assert "no plugin at" in find_subject(str(tmp_path / "none")).error


@pytest.mark.browser
@pytest.mark.release
def test_each_check_of_the_page_fails_for_the_plugin_that_is_bad_there(tmp_path: Path) -> None:
    """A tab with one error fails the test for it and no other; one without errors passes all."""
    pytest.importorskip("playwright")
    cases = {"good": "", **BAD_IN_THE_PAGE}
    folders = {
        check: write_plugin(
            tmp_path / "plugins", f"p{number}", module=MODULE.replace("BAD", bad), order=number
        )
        for number, (check, bad) in enumerate(cases.items())
    }
    printed = run_suite(list(folders.values()), tmp_path / "cwd", "-k", "test_page")
    found = outcomes(printed)
    wrong = {}
    for check, folder in folders.items():
        ended = found[str(folder)]
        assert set(ended) <= {"PASSED", "FAILED"}, printed
        assert set().union(*ended.values()) == set(BAD_IN_THE_PAGE), printed
        expected = set() if check == "good" else {check}
        if ended.get("FAILED", set()) != expected:
            wrong[check] = ended.get("FAILED", set())
    assert wrong == {}, printed


@pytest.mark.browser
@pytest.mark.release
def test_a_tab_that_takes_an_object_for_a_map_fails(tmp_path: Path) -> None:
    """The plugin looks up each run, also one without data, in an object that it made itself."""
    pytest.importorskip("playwright")
    bad = """
        const filled = Object.fromEntries(Object.entries(tags).filter(([, list]) => list.length));
        for (const { name } of host.runs.value) {
          if (typeof filled[name] === "function") throw new Error("mine");
        }
    """
    folder = write_plugin(tmp_path / "plugins", "copies", module=MODULE.replace("BAD", bad))
    printed = run_suite([folder], tmp_path / "cwd", "-k", "test_names_are_shown_as_text")
    assert outcomes(printed) == {str(folder): {"FAILED": {"test_names_are_shown_as_text"}}}, printed


@pytest.mark.browser
@pytest.mark.release
@pytest.mark.parametrize("name", PLUGINS)
def test_the_tab_of_a_plugin_of_this_repository_passes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    printed = run_suite([name], tmp_path / "cwd", "-k", "test_page")
    [ended] = outcomes(printed).values()
    assert set(ended) == {"PASSED"}, printed


@pytest.mark.browser
@pytest.mark.release
def test_a_plugin_may_reject_values_in_a_guessed_format(tmp_path: Path) -> None:
    """The suite does not know the format of a plugin's own data; other requests must not fail."""
    pytest.importorskip("playwright")
    reject = """
        from tbcore import DecodeError
        run, tag = required(request, "run", "tag")
        raise DecodeError("no such format")
    """
    asks = """
        const own = tags[run].filter((tag) => tag.includes("WANTED")).slice(0, 20);
        const asked = own.map((tag) => `route?${new URLSearchParams({ run, tag })}`);
        await Promise.all(asked.map((address) => host.fetch(address)));
    """
    folders = []
    for name, wanted in (("picky", "other/"), ("faulty", "loss/")):
        module = MODULE.replace("BAD", asks.replace("WANTED", wanted))
        folders.append(write_plugin(tmp_path / "plugins", name, module=module, route=reject))
        python = folders[-1] / f"tbcore_{name}" / "__init__.py"
        python.write_text(
            python.read_text("utf-8").replace(
                'Claim("histo"))', 'Claim("histo"), Claim("tensor", plugin_name="other"))'
            ),
            encoding="utf-8",
        )
    checks = "test_the_tab_renders or test_names"
    found = outcomes(run_suite(folders, tmp_path / "cwd", "-k", checks))
    picky, faulty = (found[str(folder)] for folder in folders)
    assert set(picky) == {"PASSED"}
    assert "test_the_tab_renders" in faulty["FAILED"]


LATE = {
    "effect": """
        const { effect } = await import("@preact/signals-core");
        effect(() => { list.title = String(host.runs.value.length); });
    """,
    "subscription": """
        const { computed } = await import("@preact/signals-core");
        computed(() => host.runs.value.length).subscribe(() => {});
    """,
    "no canvas": """
        const canvas = { current: list };
        host.signal.addEventListener("abort", () => {
          canvas.current = null;
          requestAnimationFrame(() => canvas.current.getContext("2d"));
        });
    """,
    "ends": """
        const { effect } = await import("@preact/signals-core");
        const end = effect(() => { list.title = String(host.runs.value.length); });
        const timer = setTimeout(() => {}, 100_000);
        host.runs.subscribe(() => {});
        host.signal.addEventListener("abort", () => { end(); clearTimeout(timer); });
    """,
}
"""Code of tabs of which something runs after they were closed; the last one ends all."""


@pytest.mark.browser
def test_code_that_runs_after_the_end_is_found(tmp_path: Path) -> None:
    """Effects and subscriptions that follow signals, and errors in what was about to be drawn."""
    pytest.importorskip("playwright")
    folders = {
        word: write_plugin(
            tmp_path / "plugins", f"p{number}", module=MODULE.replace("BAD", code), order=number
        )
        for number, (word, code) in enumerate(LATE.items())
    }

    printed = run_suite(list(folders.values()), tmp_path / "cwd", "-k", "calls_nothing_back")

    ended = {word: outcomes(printed)[str(folder)] for word, folder in folders.items()}
    assert [*ended.pop("ends")] == ["PASSED"], printed
    assert all("FAILED" in one for one in ended.values()), printed
    for line in (
        "effect, created at index.js:",
        "subscription, created at index.js:",
        "uncaught: Cannot read properties of null",
        "code of the tab runs, or fails, after the tab was closed; clear timeouts",
    ):
        assert line in printed


def test_without_a_plugin_the_suite_reports_what_is_missing(tmp_path: Path) -> None:
    printed = run_suite([], tmp_path / "cwd")
    assert "--plugin NAME" in printed
    printed = run_suite(["nobody"], tmp_path / "cwd", "-k", "test_it_loads")
    assert "'nobody' is not installed" in printed
    assert "for a plugin in a folder pass its path: --plugin ./" in printed


def test_without_a_browser_the_suite_reports_that_the_page_was_not_checked(tmp_path: Path) -> None:
    """Skipped tests alone would look like success."""
    pytest.importorskip("playwright")
    plugin = write_plugin(tmp_path / "plugins", "good", module=MODULE.replace("BAD", ""))
    printed = run_suite(
        [plugin], tmp_path / "cwd", "-k", "test_page", TBCORE_CHROMIUM=str(tmp_path / "none")
    )
    assert "skipped" in printed, printed
    assert "passed" not in printed, printed
    assert "The plugin's page was not checked: Chromium could not be started" in printed, printed


def test_the_options_exist_for_the_suite_alone(tmp_path: Path) -> None:
    """Another pytest plugin may have an option with the same name."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--plugin')\n", encoding="utf-8"
    )
    (tmp_path / "test_one.py").write_text(
        "def test_one(request):\n    assert request.config.getoption('plugin') == 'x'\n",
        encoding="utf-8",
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--plugin", "x", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )


PAGE = """<!doctype html>
<title>Page</title>
<body style="background: var(--tb-ground); color: var(--tb-ink)">
<ul></ul>
<script type="module" src="index.js"></script>
"""
PAGE_SCRIPT = """
import { connect } from "../../tbcore/frame.js";

const host = await connect();
host.runs.subscribe((runs) => {
  const items = runs.map(({ name }) => Object.assign(document.createElement("li"), { SET: name }));
  document.querySelector("ul").replaceChildren("runs", ...items);
  if ("SET" === "innerHTML") document.body.append(document.createElement("button"));
});
"""


REFUSED = {
    "eval": "try { new Function('1'); } catch {}",
    "timer": "setTimeout(() => fetch('https://other.example/').catch(() => {}), 1500);",
}
"""What the content policy refuses without an error that anybody sees."""


@pytest.mark.browser
def test_the_page_of_a_plugin_is_checked_like_a_module(tmp_path: Path) -> None:
    """What it draws is in its frame, however late, and what is refused there is found."""
    pytest.importorskip("playwright")
    folders = {}
    scripts = {
        "good": PAGE_SCRIPT.replace("SET", "textContent"),
        "bad": f"await new Promise((done) => setTimeout(done, 900));{PAGE_SCRIPT}".replace(
            "SET", "innerHTML"
        ),
        **{name: PAGE_SCRIPT.replace("SET", "textContent") + REFUSED[name] for name in REFUSED},
    }
    for name, script in scripts.items():
        folders[name] = write_plugin(tmp_path / "plugins", name, module=script)
        package = folders[name] / f"tbcore_{name}"
        code = (package / "__init__.py").read_text(encoding="utf-8")
        code = code.replace("module='static/index.js'", "page='static/index.html'")
        (package / "__init__.py").write_text(code, encoding="utf-8")
        (package / "static" / "index.html").write_text(PAGE, encoding="utf-8")

    chosen = "test_it_loads or tab_renders or names_are_shown or ends_its or elements or labels"
    chosen += " or no_other_host"
    printed = run_suite(list(folders.values()), tmp_path / "cwd", "-k", chosen)
    found = outcomes(printed)

    assert set(found[str(folders["good"])]) == {"PASSED"}
    failed = {"test_names_are_shown_as_text", "test_the_controls_have_labels"}
    assert found[str(folders["bad"])]["FAILED"] == failed
    for name in REFUSED:
        assert found[str(folders[name])]["FAILED"] == {"test_the_tab_needs_no_other_host"}
    assert "script-src refuses eval in plugins/eval/index.js, line 10" in printed
    assert "connect-src refuses https://other.example/" in printed
