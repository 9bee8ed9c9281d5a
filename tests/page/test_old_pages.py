"""The unmodified web pages of TensorBoard from 2017 and 2019, used with `tbcore serve`.

    pytest -m release tests/page/test_old_pages.py

Each page comes from the wheel that was published then, which pip downloads to a temporary folder.
The browser gets the page's files from there and everything below `data/` from the server, as if the
page were a part of the server.

The tests check that every tab of an installed plugin draws its data, that every request of such a
tab gets status 200, and that no series is requested twice. These pages repeat requests that got
any other status.
"""

from __future__ import annotations

import io
import mimetypes
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tbcore_testing import EventFileWriter, summaries

pytestmark = pytest.mark.release

RUNS = ("train", "eval runs/first & last")
"""A name without characters that URLs encode, and a name with several of them."""
NUM_STEPS = 12

IGNORED_REQUESTS = {
    # The experiments in a server's database; the page works without them.
    "/data/experiments",
}
"""Paths outside of the seven plugins that the pages request and tbcore does not have."""

IGNORED_ERRORS = "data/experiments|getPathSegAtLength"
"""Pattern of errors about those requests, and about functions that browsers have removed since."""

COLLAPSED = {
    "scalars": "tf-scalar-dashboard",
    "images": "tf-image-dashboard",
    "distributions": "tf-distribution-dashboard",
    "histograms": "tf-histogram-dashboard",
}
"""Elements of the tabs whose sections are collapsed at first, by plugin."""

WAIT_TIMEOUT_MS = 60_000
"""Timeout of each wait for a page; long, because the pages are slow and the machine may be busy."""

FETCH = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
FETCH += ["--no-deps", "--only-binary=:all:", "--python-version", "3.5", "--implementation", "cp"]


# The pages ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., zipfile.ZipFile]:
    """Returns a function that downloads a wheel; if it is not available, the test is skipped."""
    fetched: dict[str, zipfile.ZipFile] = {}

    def fetch(requirement: str, abi: str = "none", platform: str = "any") -> zipfile.ZipFile:
        if requirement not in fetched:
            folder = tmp_path_factory.mktemp("wheel")
            command = [*FETCH, "--abi", abi, "--platform", platform, "--dest", str(folder)]
            done = subprocess.run([*command, requirement], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"{requirement} cannot be downloaded: {done.stderr.strip()[-200:]}")
            (path,) = folder.glob("*.whl")
            fetched[requirement] = zipfile.ZipFile(path)
        return fetched[requirement]

    return fetch


class OldPage:
    """An old page in a browser, with a record of its requests and errors.

    `read` returns the bytes of one of the page's own files, given the path in its URL, and raises
    KeyError if there is none.
    """

    def __init__(self, chromium: Any, server: str, read: Callable[[str], bytes]) -> None:
        self.context = chromium.new_context(viewport={"width": 1400, "height": 900})
        self.context.set_default_timeout(WAIT_TIMEOUT_MS)
        self.page = self.context.new_page()
        self.responses: list[tuple[str, int]] = []
        """Path with query, and status, of each request for data."""
        self.errors: list[str] = []
        self._server = server
        self._read = read
        self.page.route("**/*", self._route)
        self.page.on("response", self._on_response)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, hash: str = "") -> None:
        self.page.goto(f"{self._server}/{hash}")

    def open_tab(self, name: str) -> None:
        """Opens a tab by its name, and expands a section in it."""
        tab = self.page.locator("paper-tab:visible").filter(has_text=re.compile(name, re.I))
        tab.first.click()
        if name in COLLAPSED:
            panes = self.page.locator(COLLAPSED[name]).locator(
                "button:visible, .heading:visible, .pane-header:visible"
            )
            panes = panes.filter(has_text=re.compile("loss|picture|weights"))
            panes.first.click()

    def wait_for_count(self, expected: int, function: str) -> None:
        """Waits until a JavaScript function returns `expected`."""
        try:
            self.page.wait_for_function(
                f"(expected) => ({function})() === expected", arg=expected, polling=200
            )
        except Exception:
            found = self.page.evaluate(function)
            message = f"expected {expected}, found {found}; {self.errors}; {self.responses[-20:]}"
            raise AssertionError(message) from None

    def check(self) -> None:
        """Fails if a request failed, the page threw, or a series was requested twice."""
        wrong = [
            (path, status)
            for path, status in self.responses
            # Audio players request a part of a clip.
            if status != (206 if "individualAudio" in path else 200)
            and urlsplit(path).path not in IGNORED_REQUESTS
        ]
        of_series = Counter(
            path
            for path, _ in self.responses
            if {"run", "tag"} <= parse_qs(urlsplit(path).query).keys()
        )
        assert wrong == []
        assert [path for path, count in of_series.items() if count > 1] == []
        assert [error for error in self.errors if not re.search(IGNORED_ERRORS, error)] == []

    def num_requests(self, path: str) -> int:
        """Returns the number of requests for a path, with any query."""
        return sum(urlsplit(address).path == path for address, _ in self.responses)

    def _route(self, route: Any) -> None:
        address = urlsplit(route.request.url)
        if address.netloc != urlsplit(self._server).netloc:
            route.abort()  # fonts from another host
        elif address.path.startswith("/data"):
            route.continue_()
        else:
            try:
                body = self._read(address.path.strip("/"))
            except KeyError:
                route.fulfill(status=404, body="")
                return
            kind = mimetypes.guess_type(address.path)[0] or "text/html"
            route.fulfill(body=body, content_type=f"{kind}; charset=utf-8")

    def _on_response(self, response: Any) -> None:
        address = urlsplit(response.url)
        if address.path.startswith("/data"):
            path = f"{address.path}?{address.query}" if address.query else address.path
            self.responses.append((path, response.status))


@pytest.fixture
def old_page(chromium: Any) -> Iterator[Callable[..., OldPage]]:
    """Returns a function that opens old pages; they are closed at the end of the test."""
    pages: list[OldPage] = []

    def make(server: str, read: Callable[[str], bytes]) -> OldPage:
        pages.append(OldPage(chromium, server, read))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()


TENSORFLOW_FOLDER = "tensorflow-1.0.0.data/purelib"


@pytest.fixture
def tensorflow(wheel: Callable[..., zipfile.ZipFile]) -> zipfile.ZipFile:
    """The wheel of TensorFlow 1.0.0 (February 2017)."""
    return wheel("tensorflow==1.0.0", "cp35m", "manylinux1_x86_64")


def tensorflow_file(wheel: zipfile.ZipFile, path: str) -> bytes:
    """Returns a file of the page in TensorFlow 1.0.0, which has them in three folders."""
    path = path or "dist/index.html"
    first, _, rest = path.partition("/")
    if first in ("dist", "lib"):
        return wheel.read(f"{TENSORFLOW_FOLDER}/tensorflow/tensorboard/{path}")
    return wheel.read(f"{TENSORFLOW_FOLDER}/external/{first.replace('-', '_')}/{rest}")


# The logs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with all kinds of data."""
    from tensorboard.compat.proto import config_pb2, graph_pb2

    folder = tmp_path_factory.mktemp("logs")
    random = np.random.default_rng(7)

    graph = graph_pb2.GraphDef()
    graph.node.add(name="input/x", op="Placeholder", device="/cpu:0")
    graph.node.add(name="layer/weights", op="VariableV2")
    big = graph.node.add(name="layer/constant", op="Const")
    big.attr["value"].s = b"\xff" * 2000
    graph.node.add(name="layer/MatMul", op="MatMul", input=["input/x", "layer/weights"])
    graph.node.add(name="loss", op="Mean", input=["layer/MatMul", "layer/constant"])
    metadata = config_pb2.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/cpu:0")
    node = device.node_stats.add(node_name="layer/MatMul", all_start_micros=5)
    node.all_end_rel_micros = 40
    node.memory.add(allocator_name="cpu", total_bytes=4096)

    for run in RUNS:
        with EventFileWriter(folder / run / "events.tfevents.1.host") as writer:
            writer.add_graph(graph.SerializeToString())
            writer.add_run_metadata("step 1", metadata.SerializeToString(), step=1)
            for step in range(NUM_STEPS):
                loss = 1 / (step + 1) if step != 5 else float("nan")
                writer.add_scalar("loss", loss, step)
                writer.add_histogram("weights/dense", random.normal(step / 10, 1, 500), step)
                writer.add_image("picture/input", summaries.png(16, 12, (20 * step, 99, 0)), step)
                clip = summaries.wav(np.sin(np.arange(4000) / (5 + step)))
                writer.add_audio("sound/tone", clip, step)
    return folder


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions with different hyperparameters; each has its metric in a subrun."""
    from tensorboard.plugins.hparams import plugin_data_pb2, summary_v2

    folder = tmp_path_factory.mktemp("sweep")
    for i, rate in enumerate((0.1, 0.01, 0.001)):
        session = folder / f"sweep/session {i}"
        data = summary_v2.hparams_pb({"rate": rate, "optimizer": "adam", "deep": i == 1})
        with EventFileWriter(session / "events.tfevents.1.host") as writer:
            for value in data.value:
                content = value.metadata.plugin_data.content
                assert plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
                writer.add_summary(0, summaries.metadata_only(value.tag, "hparams", content))
        with EventFileWriter(session / "validation" / "events.tfevents.1.host") as writer:
            for step in range(NUM_STEPS):
                writer.add_scalar("accuracy", 1 - rate / (step + 1), step)
    return folder


# What is drawn -----------------------------------------------------------------------------------

NUM_CURVES = """() => [...document.querySelectorAll('vz-line-chart path.line')]
  .filter((path) => (path.getAttribute('d') ?? '').length > 100).length"""

NUM_BAND_CHARTS = """() => [...document.querySelectorAll('vz-distribution-chart')]
  .filter((chart) => [...chart.querySelectorAll('path.area')]
    .filter((path) => (path.getAttribute('d') ?? '').length > 200).length >= 8).length"""
"""Number of charts that show the bands between nine percentiles."""

NUM_RIDGES = """() => [...document.querySelectorAll('vz-histogram-timeseries path.outline')]
  .filter((path) => (path.getAttribute('d') ?? '').length > 200).length"""

NUM_PICTURES = """() => [...document.querySelectorAll('img')]
  .filter((image) => image.naturalWidth === 16 && image.naturalHeight === 12).length"""

NUM_PLAYERS = """() => [...document.querySelectorAll('audio')]
  .filter((player) => player.readyState >= 1 && player.duration === 0.5).length"""

NUM_NODES = """() => new Set([...document.querySelectorAll('tf-graph-scene g.node')]
  .map((node) => node.dataset.name).filter((name) => name)).size"""
"""Number of nodes in the graph: input, layer and loss."""

NUM_SESSIONS = """() => new Set([...document.querySelectorAll('vaadin-grid-cell-content')]
  .map((cell) => cell.textContent.trim())
  .filter((text) => ['0.99167', '0.99917', '0.99992'].includes(text))).size"""
"""Number of accuracies in the table."""

NUM_SESSION_CHARTS = """() => [...document.querySelectorAll('vz-line-chart2')]
  .filter((chart) => [...chart.querySelectorAll('path')]
    .some((path) => (path.getAttribute('d') ?? '').length > 100)).length"""


NUM_TIME_BUTTONS = """() => [...document.querySelectorAll('tf-graph-controls paper-radio-button')]
  .filter((button) => /compute time/i.test(button.textContent) && !button.disabled).length"""
"""1 if compute times can be chosen as colours, which needs the metadata of a session run."""


def check_all_tabs(page: OldPage, path_of: Callable[[str], str]) -> None:
    """Opens each tab; `path_of` returns the path of a plugin's route for the data of one series."""
    page.open_tab("scalars")
    page.wait_for_count(2 * len(RUNS), NUM_CURVES)  # smoothed and original
    page.open_tab("images")
    page.wait_for_count(len(RUNS), NUM_PICTURES)
    page.open_tab("audio")
    page.wait_for_count(len(RUNS), NUM_PLAYERS)
    page.open_tab("graphs")
    page.wait_for_count(3, NUM_NODES)
    runs = page.page.locator(".control-holder:visible").filter(has_text="Session runs")
    runs.locator("paper-dropdown-menu").click()
    page.page.locator("paper-item:visible").filter(has_text="step 1").click()
    page.wait_for_count(1, NUM_TIME_BUTTONS)
    page.open_tab("distributions")
    page.wait_for_count(len(RUNS), NUM_BAND_CHARTS)
    page.open_tab("histograms")
    page.wait_for_count(NUM_STEPS * len(RUNS), NUM_RIDGES)
    page.check()
    for name in ("scalars", "images", "audio", "distributions", "histograms"):
        assert page.num_requests(path_of(name)) == len(RUNS), name
    assert page.num_requests(path_of("graphs")) >= 1
    assert page.num_requests(path_of("run_metadata")) == 1


def test_the_page_of_tensorflow_1_0(
    logdir: Path,
    serve: Callable[..., Any],
    old_page: Callable[..., OldPage],
    tensorflow: zipfile.ZipFile,
) -> None:
    """Released in February 2017, with the API from before plugins."""
    server = serve(logdir, "--api", "legacy").url
    page = old_page(server, lambda path: tensorflow_file(tensorflow, path))
    page.open()
    names = {"distributions": "compressedHistograms", "graphs": "graph"}
    check_all_tabs(page, lambda plugin: f"/data/{names.get(plugin, plugin)}")


def test_the_page_of_tensorboard_0_1(
    logdir: Path,
    serve: Callable[..., Any],
    old_page: Callable[..., OldPage],
    wheel: Callable[..., zipfile.ZipFile],
    tensorflow: zipfile.ZipFile,
) -> None:
    """Released in June 2017, with the API of plugins."""
    files = wheel("tensorflow-tensorboard==0.1.2")
    page = old_page(
        serve(logdir).url, lambda path: files.read(f"tensorboard/components/{path or 'index.html'}")
    )
    # The page needs version 0 of custom elements, which browsers have removed since. It does not
    # include a polyfill, but the page of TensorFlow 1.0.0 does.
    elements = tensorflow_file(tensorflow, "webcomponentsjs/CustomElements.min.js")
    page.page.add_init_script(elements.decode())
    page.open()
    names = {"graphs": "graphs/graph", "run_metadata": "graphs/run_metadata"}
    check_all_tabs(page, lambda name: f"/data/plugin/{names.get(name, f'{name}/{name}')}")


def test_the_hparams_page_of_tensorboard_1_14(
    sweep: Path,
    serve: Callable[..., Any],
    old_page: Callable[..., OldPage],
    wheel: Callable[..., zipfile.ZipFile],
) -> None:
    """Released in June 2019, as the first page with that tab."""
    inside = wheel("tensorboard==1.14.0").read("tensorboard/webfiles.zip")
    files = zipfile.ZipFile(io.BytesIO(inside))
    page = old_page(serve(sweep).url, lambda path: files.read(path or "index.html"))
    page.open("#hparams")
    page.wait_for_count(3, NUM_SESSIONS)
    page.page.locator("vaadin-grid paper-checkbox:visible").first.click()
    page.wait_for_count(1, NUM_SESSION_CHARTS)
    page.check()
    assert page.num_requests("/data/plugin/hparams/metric_evals") == 1
