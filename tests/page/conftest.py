"""Fixtures of the browser tests: a real Chromium, real servers, and a record of pages' errors.

Tests wait for a condition, never for a time. `wait_for_function` gets a JavaScript function, since
Playwright evaluates a bare expression in a way that the page's Content-Security-Policy blocks. The
function must not be async: Playwright takes the promise itself for a true value.

A file whose tests can share a server has it as its fixture `server`; they open pages of it with
`open_page`, in the file's `profile`. Each test ends with a check of all profiles (`Profile.check`),
after which those that outlive the test are reset: tests pass in any order, and alone. Pages of such
a server ask for its modules once, and keep them; with `serve` they ask each time, as users' pages.

A test that fails leaves screenshots of its pages, their consoles and the servers' logs in a folder
of `test-results`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from common_fixtures import WAIT_SECONDS, port_of, until
from forks import TBCORE, Fork
from server_fixtures import browsers

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "test-results"
"""Folder with what failed tests leave; `dev.py test` empties it at first."""
WAIT_TIMEOUT_MS = 60_000
"""Timeout of each wait for a page; long, because the machine may be busy."""
VIEWPORT = {"width": 1400, "height": 900}
MAX_DELAY = float(os.environ.get("TBCORE_TEST_DELAY") or 0)
"""Seconds; answers of servers, and frames of pages, are late by random times below it, to reveal
races in tests and in the page."""
MOTION = {"reduced_motion": "no-preference" if MAX_DELAY else "reduce"}
"""What the system says of motion. A test that needs motion asks for it, and so does a search for
races; elsewhere, frames of transitions would only cost time."""
LATE_FRAMES = """
{
  const [request, waiting] = [requestAnimationFrame, new Map()];
  let last = 0;
  window.requestAnimationFrame = (call) => {
    const id = ++last;
    const draw = (time) => waiting.delete(id) && call(time);
    waiting.set(id, setTimeout(() => request(draw), Math.random() * MAX_MS));
    return id;
  };
  window.cancelAnimationFrame = (id) => {
    clearTimeout(waiting.get(id));
    waiting.delete(id);
  };
}
"""
WRAP = """
import asyncio, functools, random, uvicorn
def wrap(answer, load=uvicorn.Config.load):
    def load_wrapped(config):
        load(config)
        config.loaded_app = functools.partial(answer, config.loaded_app)
    uvicorn.Config.load = load_wrapped
"""
"""What a server runs before the programs below: what they put around its application."""
DELAYS = f"""{WRAP}
async def answer_late(app, scope, receive, send):
    if scope["type"] == "http":
        await asyncio.sleep({MAX_DELAY} * random.random())
    await app(scope, receive, send)
wrap(answer_late)
"""
"""What a server runs before, if it delays its answers."""
CACHED_FILES = f"""{WRAP}
async def answer_cached(app, scope, receive, send):
    async def send_cached(message):
        if message.get("status") == 200:
            headers = dict(message["headers"]) | {{b"cache-control": b"max-age=86400"}}
            message["headers"] = list(headers.items())
        await send(message)
    is_file = scope["type"] == "http" and "/static/" in scope["path"]
    await app(scope, receive, send_cached if is_file else send)
wrap(answer_cached)
"""
"""What a server runs before, if its modules stay the same: a profile asks for each of them once.

Otherwise each page asks for all its 70 files again, which is a third of the time that it takes.
"""

HELPERS = """
globalThis.tb = {
  // Elements of the open tab, in its shadow root.
  all: (selector) =>
    [...(document.querySelector('.plugin')?.shadowRoot?.querySelectorAll(selector) ?? [])],
  card: (tag) => tb.all('.tb-card').find((card) => card.getAttribute('aria-label') === tag),
  canvas: (tag) => tb.card(tag)?.querySelector('.tb-chart-canvas'),
  chart: (tag) => tb.card(tag)?.querySelector('.tb-chart'),
  // Number of pixels of a chart's canvas that have about this colour, which antialiasing changes.
  pixels: (tag, color) => {
    const canvas = tb.canvas(tag);
    if (!canvas) return 0;
    const channels = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const isNear = (channel, index) => Math.abs(channel - data[index]) <= 24;
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 128 && channels.every((channel, k) => isNear(channel, i + k))) count++;
    }
    return count;
  },
  // Text alternative of a chart.
  label: (tag) => tb.chart(tag)?.getAttribute('aria-label') ?? '',
  // Texts of the open tooltip's rows, without their first cells.
  rows: () => tb.all('.tb-chart-tooltip:popover-open tbody tr').map(
    (row) => [...row.cells].slice(1).map((cell) => cell.textContent)),
  // Resolves after the next frame has been painted.
  frame: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  // Colours in the run list, by run.
  colors: () => Object.fromEntries([...document.querySelectorAll('.tb-run')].map(
    (row) => [row.title, row.querySelector('input').style.getPropertyValue('--tb-check')])),
};
"""
"""JavaScript functions that every page has as `tb`."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks all tests of this folder."""
    item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Checks the profiles of a test that passed, while their pages are open."""
    yield
    for profile in open_profiles:
        profile.check()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps what explains a failure, while pages are open and servers run."""
    report = yield
    if report.failed and report.when != "teardown":
        name = re.sub(r"[^\w.-]+", "-", item.nodeid.partition("tests/page/")[2]).strip("-")
        folder = RESULTS / name[:150]
        keep_results(folder)
        report.sections.append(("kept", f"pages, consoles and server logs are in {folder}"))
    return report


def keep_results(folder: Path) -> None:
    """Writes screenshots of all pages, their consoles and all servers' logs into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, profile in enumerate(open_profiles):
        (folder / f"console-{number}.txt").write_text("\n".join(profile.console), "utf-8")
        for page_number, page in enumerate(profile.pages()):
            # A page that crashed, or that shows a dialog, has no screenshot.
            with suppress(Exception):
                path = folder / f"page-{number}-{page_number}.png"
                page.screenshot(path=path, timeout=10_000)
    for number, server in enumerate(open_servers):
        with suppress(OSError):
            shutil.copy(server.log, folder / f"server-{number}.log")


@pytest.fixture(scope="session")
def tbcore_browser() -> Iterator[Any]:
    """The browser of this process, also for the pages of `tbcore_page`."""
    yield from browsers()


@pytest.fixture(scope="session")
def chromium(tbcore_browser: Any) -> Any:
    """The browser of this process."""
    return tbcore_browser


class Profile:
    """A browser profile, with a record of the errors and requests of its pages."""

    def __init__(self, chromium: Any, **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": VIEWPORT, **MOTION, **options})
        self.context.set_default_timeout(WAIT_TIMEOUT_MS)
        self.context.add_init_script(HELPERS)
        if MAX_DELAY:
            late = LATE_FRAMES.replace("MAX_MS", str(1000 * MAX_DELAY))
            self.context.add_init_script(late)
        self.expects_errors = False
        """Whether a page of the test may have errors, other than requests to other servers."""
        self.errors: list[str] = []
        self.console: list[str] = []
        """All messages in the consoles of its pages, and uncaught errors."""
        self.requested_urls: list[str] = []
        self._hosts: set[str] = set()
        self._empty: Any = None
        self._past_pages: set[Any] = set()
        """Those that `reset` closed: what is heard of them later is of no later test."""
        self.context.on("console", self._on_console)
        self.context.on("weberror", lambda error: self._on_error(f"uncaught: {error.error}"))
        self.context.on("request", self._on_request)

    def open(
        self,
        address: str,
        hash: str = "",
        *,
        viewport: Mapping[str, int] | None = None,
        color_scheme: str | None = None,
    ) -> Any:
        """Opens an address in a new tab and returns its page.

        Its size and the system's theme are those of the profile, unless they are given.
        """
        page = self.context.new_page()
        if viewport:
            page.set_viewport_size(viewport)
        if color_scheme:
            page.emulate_media(color_scheme=color_scheme)
        self.allow(address)
        page.goto(f"{address}/{hash}")
        return page

    def allow(self, address: str) -> None:
        """Lets `check` pass with requests to the server of this address."""
        self._hosts.add(urlsplit(address).netloc)

    def check(self, *servers: str) -> None:
        """Fails if there was a console error, an uncaught error or a request to another server.

        The profile's own servers are those that `open` opened or `allow` named, and `servers`.
        """
        hosts = {*self._hosts, *(urlsplit(server).netloc for server in servers)}
        foreign = [url for url in self.requested_urls if urlsplit(url).netloc not in (*hosts, "")]
        assert self.expects_errors or self.errors == []
        assert not hosts or foreign == []

    def pages(self) -> list[Any]:
        """The pages that tests opened."""
        return [page for page in self.context.pages if page != self._empty]

    def reset(self) -> None:
        """Closes the pages and forgets all that they stored, but for the HTTP cache.

        An empty page stays open, so that the process of pages does not end.
        """
        if self._empty is None:
            self._empty = self.context.new_page()
        for page in self.pages():
            self._past_pages.add(page)
            page.close()
        session = self.context.new_cdp_session(self._empty)
        for scheme, host in {urlsplit(url)[:2] for url in self.requested_urls}:
            if scheme in ("http", "https"):
                session.send(
                    "Storage.clearDataForOrigin",
                    {"origin": f"{scheme}://{host}", "storageTypes": "all"},
                )
        session.detach()
        self.context.unroute_all()
        self.context.clear_cookies()
        self.context.clear_permissions()
        self.expects_errors = False
        for record in (self.errors, self.console, self.requested_urls, self._hosts):
            record.clear()

    def _on_console(self, message: Any) -> None:
        if message.page in self._past_pages:
            return
        text = f"{message.text} ({message.location.get('url')})"
        if message.type == "error":
            self._on_error(f"console: {text}")
        where = message.page.url if message.page else "no page"
        self.console.append(f"{message.type}: {text} in {where}")

    def _on_request(self, request: Any) -> None:
        with suppress(Exception):  # The first request of a page has no frame yet.
            if request.frame.page in self._past_pages:
                return
        self.requested_urls.append(request.url)

    def _on_error(self, text: str) -> None:
        self.errors.append(text)
        self.console.append(text)


open_profiles: list[Profile] = []
"""The profiles whose pages are kept if the current test fails."""


@pytest.fixture
def new_profile(chromium: Any) -> Iterator[Callable[..., Profile]]:
    """Returns a function that makes browser profiles; they are closed at the end of the test."""
    yield from profiles_of(chromium)


@pytest.fixture(scope="module")
def new_profile_for_module(chromium: Any) -> Iterator[Callable[..., Profile]]:
    """Like `new_profile`, for profiles that all tests of a module share.

    After each test they are reset, as new but for the HTTP cache.
    """
    yield from profiles_of(chromium)


@pytest.fixture(scope="module")
def profile(
    new_profile_for_module: Callable[..., Profile], request: pytest.FixtureRequest
) -> Profile:
    """The profile that the tests of a module share; its pages have the `HELPERS` of the module."""
    profile = new_profile_for_module()
    profile.context.add_init_script(getattr(request.module, "HELPERS", ""))
    return profile


@pytest.fixture
def open_page(server: Server, profile: Profile) -> Callable[..., Any]:
    """Opens a page of the module's `server`: `open_page("#text")`."""
    return partial(profile.open, server.url)


def profiles_of(chromium: Any) -> Iterator[Callable[..., Profile]]:
    """Yields a function that makes browser profiles, and then closes them."""
    profiles: list[Profile] = []

    def make(**options: Any) -> Profile:
        profiles.append(Profile(chromium, **options))
        open_profiles.append(profiles[-1])
        return profiles[-1]

    yield make
    for profile in profiles:
        open_profiles.remove(profile)
        profile.context.close()


@pytest.fixture(autouse=True)
def reset_profiles() -> Iterator[None]:
    """Resets the profiles that outlive the test: autouse fixtures end after all others."""
    yield
    for profile in open_profiles:
        profile.reset()


class Server:
    """A `tbcore serve` process on its own port."""

    def __init__(
        self,
        logdir: Path,
        log: Path,
        *options: str,
        prefix: str = "",
        python_path: Sequence[Path] = (),
        program: str = TBCORE,
        plugins: Sequence[str] | None = None,
        host: str = "127.0.0.1",
        token: str | None = None,
    ) -> None:
        self.url = ""
        """Its address, once it has been started."""
        self._port = 0
        self._prefix = prefix
        self._logdir = logdir
        self.log = log
        self._options = options
        self._python_path = [REPOSITORY, *python_path]
        self._program = DELAYS + program if MAX_DELAY else program
        self._plugins = plugins  # None: all installed plugins
        self._host = host
        self._token = token
        self._process: Fork | None = None

    def start(self) -> Server:
        """Starts the server, again after `stop`; returns after its first pass over the logdir."""
        arguments = ["serve", "--logdir", str(self._logdir), "--port", str(self._port)]
        arguments += ["--reload_interval", "0.2", *self._options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self._python_path))}
        environment.pop("TBCORE_PLUGINS", None)
        if self._plugins is not None:
            environment["TBCORE_PLUGINS"] = ",".join(self._plugins)
        environment |= {"TBCORE_TOKEN": self._token} if self._token else {}
        self._process = Fork(self._program, arguments, self.log, environment)
        self._port = self._port or port_of(self._process, self.log)
        self.url = f"http://{self._host}:{self._port}{self._prefix}"
        until(self._has_loaded)
        return self

    def wait_until_ended(self) -> int:
        """Waits until the server ends by itself, and returns its exit status."""
        assert self._process is not None
        return self._process.wait(2 * WAIT_SECONDS)

    def _has_loaded(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the server did not start:\n{self.log.read_text()}"
        request = urllib.request.Request(
            f"{self.url}/data/status", headers={"Authorization": f"Bearer {self._token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
                return b'"passes":0' not in response.read()
        except OSError:  # The server does not accept connections yet.
            return False

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def fake_distribution(
    folder: Path, name: str, files: Mapping[str, str] | None = None, *, package: str | None = None
) -> Path:
    """Writes the metadata of an installed plugin `name` into a folder, and returns the folder.

    `files` has the files of its package, by path. Without it the package is not written, and must
    be elsewhere on the path.
    """
    package = package or f"tbcore_{name}"
    info = folder / f"{package}-0.1.0.dist-info"
    info.mkdir(parents=True)
    title = f"tbcore-{name}"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {title}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[tbcore.plugins]\n{name} = {package}\n")
    for path, content in (files or {}).items():
        target = folder / package / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return folder


@pytest.fixture(scope="session")
def plugins_path(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The directories that a server needs on its path to load all plugins of this checkout."""
    folders = [path.parent for path in sorted(REPOSITORY.glob("plugins/*/pyproject.toml"))]
    installed = {point.name for point in entry_points(group="tbcore.plugins")}
    others = tmp_path_factory.mktemp("plugins")
    for folder in folders:
        if folder.name not in installed:
            fake_distribution(others, folder.name)
    return [*folders, others]


@pytest.fixture(scope="session")
def install_plugin(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Installs a plugin that consists of a JavaScript module.

    `install_plugin("bad", "export default ...")` returns the directory that the server needs on its
    path. The plugin is active as soon as there are runs. Tabs are in the order of `order`.
    """

    def install(name: str, module: str, order: int = 5) -> Path:
        python = f"""
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title={name.title()!r}, order={order})

@hookimpl
def is_active(multiplexer):
    return bool(multiplexer.runs())
"""
        files = {"__init__.py": python, "static/index.js": module}
        return fake_distribution(tmp_path_factory.mktemp("plugin"), name, files)

    return install


open_servers: list[Server] = []
"""The servers whose logs are kept if the current test fails."""


@pytest.fixture
def serve(tmp_path: Path, plugins_path: list[Path]) -> Iterator[Callable[..., Server]]:
    """Returns a function that starts servers; they are stopped at the end of the test.

    `serve(logdir, *options)` runs `tbcore serve --logdir LOGDIR OPTIONS...`.
    """
    yield from servers_in(tmp_path, plugins_path)


@pytest.fixture(scope="module")
def serve_for_module(
    tmp_path_factory: pytest.TempPathFactory, plugins_path: list[Path]
) -> Iterator[Callable[..., Server]]:
    """Like `serve`, for servers that all tests of a module share; browsers keep their files."""
    program = CACHED_FILES + TBCORE
    yield from servers_in(tmp_path_factory.mktemp("servers"), plugins_path, program=program)


def servers_in(
    folder: Path, plugins_path: list[Path], **defaults: Any
) -> Iterator[Callable[..., Server]]:
    """Yields a function that starts servers with their logs in `folder`, and then stops them.

    `defaults` are arguments of `Server` that those of the function replace.
    """
    servers: list[Server] = []

    def start(
        logdir: Path, *options: str, python_path: Sequence[Path] = (), **arguments: Any
    ) -> Server:
        log = folder / f"server-{len(servers)}.log"
        path = [*plugins_path, *python_path]
        server = Server(logdir, log, *options, python_path=path, **{**defaults, **arguments})
        servers.append(server)
        open_servers.append(server)
        return server.start()

    yield start
    for server in servers:
        open_servers.remove(server)
        server.stop()
