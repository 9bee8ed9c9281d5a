"""The pages that TensorBoard shipped with in 2017 and 2019, unmodified, in front of `tbcore serve`.

    pytest -m release tests/browser/test_old_pages.py

Each page comes from the wheel that was published then, fetched by pip into a temporary folder. The
browser gets its files from there and everything below `data/` from the server, as if the server had
shipped with that page. What is looked at: every tab of an installed plugin draws, every request of
such a tab is answered with 200, and no series is asked for twice, which is what these pages do
after any other answer.
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

from tbcore.testing import EventFileWriter, summaries

pytestmark = [pytest.mark.browser, pytest.mark.release]

RUNS = ("train", "eval runs/first & last")
"""One name that needs no encoding, and one that needs all of it."""
STEPS = 12

OTHER_REQUESTS = {
    # The settings of whole server installations; the page draws without.
    "/data/experiments",
}
"""What a page asks for beyond the seven plugins, and what we do not answer."""

OTHER_FAULTS = "data/experiments|getPathSegAtLength"
"""What a page throws about those, and about what browsers had then and have no more."""

FOLDED = {
    "scalars": "tf-scalar-dashboard",
    "images": "tf-image-dashboard",
    "distributions": "tf-distribution-dashboard",
    "histograms": "tf-histogram-dashboard",
}
"""The tabs whose contents are folded at first, by the names of their elements."""

WAIT_MS = 60_000
"""The pages ask and draw slowly, most of all on a busy machine."""

FETCH = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
FETCH += ["--no-deps", "--only-binary=:all:", "--python-version", "3.5", "--implementation", "cp"]


# The pages ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., zipfile.ZipFile]:
    """Fetches a wheel by name and version; skips where it cannot be had."""
    fetched: dict[str, zipfile.ZipFile] = {}

    def fetch(requirement: str, abi: str = "none", platform: str = "any") -> zipfile.ZipFile:
        if requirement not in fetched:
            folder = tmp_path_factory.mktemp("wheel")
            command = [*FETCH, "--abi", abi, "--platform", platform, "--dest", str(folder)]
            done = subprocess.run([*command, requirement], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"{requirement} cannot be fetched: {done.stderr.strip()[-200:]}")
            (path,) = folder.glob("*.whl")
            fetched[requirement] = zipfile.ZipFile(path)
        return fetched[requirement]

    return fetch


class OldPage:
    """A page of those years in a browser, and all that it asks of the server.

    `read` gives the bytes of one of the page's own files, by the path in its address, and raises
    KeyError for others.
    """

    def __init__(self, chromium: Any, server: str, read: Callable[[str], bytes]) -> None:
        self.context = chromium.new_context(viewport={"width": 1400, "height": 900})
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.answers: list[tuple[str, int]] = []
        """Address below the server, and status, of each request for data."""
        self.faults: list[str] = []
        self._server = server
        self._read = read
        self.page.route("**/*", self._route)
        self.page.on("response", self._on_response)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, hash: str = "") -> None:
        self.page.goto(f"{self._server}/{hash}")

    def open_tab(self, name: str) -> None:
        """Chooses a tab by its name, and opens what is folded in it."""
        tab = self.page.locator("paper-tab:visible").filter(has_text=re.compile(name, re.I))
        tab.first.click()
        if name in FOLDED:
            panes = self.page.locator(FOLDED[name]).locator(
                "button:visible, .heading:visible, .pane-header:visible"
            )
            panes = panes.filter(has_text=re.compile("loss|picture|weights"))
            panes.first.click()

    def count(self, wanted: int, function: str) -> None:
        """Waits until a function of JavaScript returns `wanted`."""
        try:
            self.page.wait_for_function(
                f"(wanted) => ({function})() === wanted", arg=wanted, polling=200
            )
        except Exception:
            found = self.page.evaluate(function)
            message = f"{wanted} wanted, {found} found; {self.faults}; {self.answers[-20:]}"
            raise AssertionError(message) from None

    def check(self) -> None:
        """Fails if an answer was no 200, the page threw, or a series was asked for twice."""
        wrong = [
            (path, status)
            for path, status in self.answers
            # Players ask for a part of a clip.
            if status != (206 if "individualAudio" in path else 200)
            and urlsplit(path).path not in OTHER_REQUESTS
        ]
        of_series = Counter(
            path
            for path, _ in self.answers
            if {"run", "tag"} <= parse_qs(urlsplit(path).query).keys()
        )
        assert wrong == []
        assert [path for path, count in of_series.items() if count > 1] == []
        assert [fault for fault in self.faults if not re.search(OTHER_FAULTS, fault)] == []

    def asked(self, path: str) -> int:
        """How often something at this path was asked for."""
        return sum(urlsplit(address).path == path for address, _ in self.answers)

    def _route(self, route: Any) -> None:
        address = urlsplit(route.request.url)
        if address.netloc != urlsplit(self._server).netloc:
            route.abort()  # fonts of another host
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
            self.answers.append((path, response.status))


@pytest.fixture
def old_page(chromium: Any) -> Iterator[Callable[..., OldPage]]:
    """Makes pages; they are closed with the test."""
    made: list[OldPage] = []

    def make(server: str, read: Callable[[str], bytes]) -> OldPage:
        made.append(OldPage(chromium, server, read))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


IN_TENSORFLOW = "tensorflow-1.0.0.data/purelib"


@pytest.fixture
def tensorflow(wheel: Callable[..., zipfile.ZipFile]) -> zipfile.ZipFile:
    """The wheel of TensorFlow 1.0.0 (February 2017)."""
    return wheel("tensorflow==1.0.0", "cp35m", "manylinux1_x86_64")


def tensorflow_file(wheel: zipfile.ZipFile, path: str) -> bytes:
    """A file of the page of TensorFlow 1.0.0; its server found them in three places."""
    path = path or "dist/index.html"
    first, _, rest = path.partition("/")
    if first in ("dist", "lib"):
        return wheel.read(f"{IN_TENSORFLOW}/tensorflow/tensorboard/{path}")
    return wheel.read(f"{IN_TENSORFLOW}/external/{first.replace('-', '_')}/{rest}")


# The logs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with data of every kind."""
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
            for step in range(STEPS):
                loss = 1 / (step + 1) if step != 5 else float("nan")
                writer.add_scalar("loss", loss, step)
                writer.add_histogram("weights/dense", random.normal(step / 10, 1, 500), step)
                writer.add_image("picture/input", summaries.png(16, 12, (20 * step, 99, 0)), step)
                clip = summaries.wav(np.sin(np.arange(4000) / (5 + step)))
                writer.add_audio("sound/tone", clip, step)
    return folder


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions of different hyperparameters, with a metric in a run below each."""
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
            for step in range(STEPS):
                writer.add_scalar("accuracy", 1 - rate / (step + 1), step)
    return folder


@pytest.fixture
def serve_all(
    serve: Callable[..., Any],
    images_path: list[Path],
    audio_path: list[Path],
    histograms_path: list[Path],
    distributions_path: list[Path],
    graphs_path: list[Path],
    hparams_path: list[Path],
) -> Callable[..., str]:
    """Serves a directory with all plugins of this checkout, and returns the address."""
    paths = [*images_path, *audio_path, *histograms_path, *distributions_path]
    paths += [*graphs_path, *hparams_path]

    def start(logdir: Path, *options: str) -> str:
        url: str = serve(logdir, *options, python_path=paths).url
        return url

    return start


# What is drawn -----------------------------------------------------------------------------------

CURVES = """() => [...document.querySelectorAll('vz-line-chart path.line')]
  .filter((path) => (path.getAttribute('d') ?? '').length > 100).length"""

BANDS = """() => [...document.querySelectorAll('vz-distribution-chart')]
  .filter((chart) => [...chart.querySelectorAll('path.area')]
    .filter((path) => (path.getAttribute('d') ?? '').length > 200).length >= 8).length"""
"""Charts with a band between each two of the nine percentiles."""

RIDGES = """() => [...document.querySelectorAll('vz-histogram-timeseries path.outline')]
  .filter((path) => (path.getAttribute('d') ?? '').length > 200).length"""

PICTURES = """() => [...document.querySelectorAll('img')]
  .filter((image) => image.naturalWidth === 16 && image.naturalHeight === 12).length"""

PLAYERS = """() => [...document.querySelectorAll('audio')]
  .filter((player) => player.readyState >= 1 && player.duration === 0.5).length"""

NODES = """() => new Set([...document.querySelectorAll('tf-graph-scene g.node')]
  .map((node) => node.dataset.name).filter((name) => name)).size"""
"""Boxes of the graph: input, layer and loss."""


SESSIONS = """() => new Set([...document.querySelectorAll('vaadin-grid-cell-content')]
  .map((cell) => cell.textContent.trim())
  .filter((text) => ['0.99167', '0.99917', '0.99992'].includes(text))).size"""
"""Accuracies in the table."""

CURVES_OF_A_SESSION = """() => [...document.querySelectorAll('vz-line-chart2')]
  .filter((chart) => [...chart.querySelectorAll('path')]
    .some((path) => (path.getAttribute('d') ?? '').length > 100)).length"""


TIMES = """() => [...document.querySelectorAll('tf-graph-controls paper-radio-button')]
  .filter((button) => /compute time/i.test(button.textContent) && !button.disabled).length"""
"""Can be chosen as colours once the metadata of a session run is there."""


def look_at_all_tabs(page: OldPage, prefix: Callable[[str], str]) -> None:
    """Opens each tab; `prefix` makes the path at which a plugin's data of one series is asked."""
    page.open_tab("scalars")
    page.count(2 * len(RUNS), CURVES)  # smoothed, and as logged
    page.open_tab("images")
    page.count(len(RUNS), PICTURES)
    page.open_tab("audio")
    page.count(len(RUNS), PLAYERS)
    page.open_tab("graphs")
    page.count(3, NODES)
    runs = page.page.locator(".control-holder:visible").filter(has_text="Session runs")
    runs.locator("paper-dropdown-menu").click()
    page.page.locator("paper-item:visible").filter(has_text="step 1").click()
    page.count(1, TIMES)
    page.open_tab("distributions")
    page.count(len(RUNS), BANDS)
    page.open_tab("histograms")
    page.count(STEPS * len(RUNS), RIDGES)
    page.check()
    for name in ("scalars", "images", "audio", "distributions", "histograms"):
        assert page.asked(prefix(name)) == len(RUNS), name
    assert page.asked(prefix("graphs")) >= 1
    assert page.asked(prefix("run_metadata")) == 1


def test_the_page_of_tensorflow_1_0(
    logdir: Path,
    serve_all: Callable[..., str],
    old_page: Callable[..., OldPage],
    tensorflow: zipfile.ZipFile,
) -> None:
    """The API before plugins: February 2017."""
    server = serve_all(logdir, "--api", "legacy")
    page = old_page(server, lambda path: tensorflow_file(tensorflow, path))
    page.open()
    names = {"distributions": "compressedHistograms", "graphs": "graph"}
    look_at_all_tabs(page, lambda plugin: f"/data/{names.get(plugin, plugin)}")


def test_the_page_of_tensorboard_0_1(
    logdir: Path,
    serve_all: Callable[..., str],
    old_page: Callable[..., OldPage],
    wheel: Callable[..., zipfile.ZipFile],
    tensorflow: zipfile.ZipFile,
) -> None:
    """The API of plugins: June 2017."""
    files = wheel("tensorflow-tensorboard==0.1.2")
    page = old_page(
        serve_all(logdir), lambda path: files.read(f"tensorboard/components/{path or 'index.html'}")
    )
    # Browsers of that time had custom elements of the first kind; this page brings no substitute
    # for those that do not, and the earlier one does.
    elements = tensorflow_file(tensorflow, "webcomponentsjs/CustomElements.min.js")
    page.page.add_init_script(elements.decode())
    page.open()
    names = {"graphs": "graphs/graph", "run_metadata": "graphs/run_metadata"}
    look_at_all_tabs(page, lambda name: f"/data/plugin/{names.get(name, f'{name}/{name}')}")


def test_the_hparams_page_of_tensorboard_1_14(
    sweep: Path,
    serve_all: Callable[..., str],
    old_page: Callable[..., OldPage],
    wheel: Callable[..., zipfile.ZipFile],
) -> None:
    """The first page with that tab: June 2019."""
    inside = wheel("tensorboard==1.14.0").read("tensorboard/webfiles.zip")
    files = zipfile.ZipFile(io.BytesIO(inside))
    page = old_page(serve_all(sweep), lambda path: files.read(path or "index.html"))
    page.open("#hparams")
    page.count(3, SESSIONS)
    page.page.locator("vaadin-grid paper-checkbox:visible").first.click()
    page.count(1, CURVES_OF_A_SESSION)
    page.check()
    assert page.asked("/data/plugin/hparams/metric_evals") == 1
