"""Measures how long users wait in the page, in Chromium.

    python benchmarks/page.py [LOGS] [--only MEASURE]

Each measure is a function below, which writes its logs below LOGS if they are missing, opens the
page, and returns figures. The browser is the one of the browser tests. tbcore and its plugins must
be installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "page"), str(ROOT / "tests" / "shared")]
sys.path.append(str(ROOT / "benchmarks"))

import common_fixtures
from conftest import Server
from playwright.sync_api import sync_playwright
from ready import get
from responses import free_port
from workloads import generate

from tbcore_testing import write_run
from tbcore_testing.chromium import find_chromium, launch

VIEWPORT = {"width": 1920, "height": 1200}

common_fixtures.WAIT_SECONDS = 300.0  # the logs are larger than those of tests


class Bench:
    """A browser, and servers for logs."""

    def __init__(self, browser: Any, logs: Path) -> None:
        self.browser = browser
        self.logs = logs
        self.url = ""
        """Address of the running server."""

    @contextmanager
    def open(self, name: str, hash: str = "") -> Iterator[Any]:
        """Starts a server for the logs of this name; yields its page."""
        scratch = Path(tempfile.mkdtemp())
        plugins = sorted((ROOT / "plugins").iterdir())  # those of this checkout
        server = Server(self.logs / name, scratch / "log", python_path=plugins).start()
        self.url = server.url
        context = self.browser.new_context(viewport=VIEWPORT)
        try:
            page = context.new_page()
            page.goto(f"{server.url}/{hash}")
            yield page
        finally:
            context.close()
            server.stop()


def run_list(bench: Bench) -> dict[str, float]:
    """10,000 runs: the time until they are listed, and until a keystroke in the filter is drawn."""
    folder = bench.logs / "R10000"
    if not folder.exists():
        for index in range(10_000):
            name = f"sweep{index % 40}/lr{index % 7}/run{index}"
            write_run(folder, name, scalars={"loss": [1.0, 0.5]}, wall_time=1.7e9 + index)
    with bench.open("R10000", "#none") as page:
        page.wait_for_function(
            "() => document.querySelector('.tb-runs-count')?.innerText.includes('of 10,000')"
        )
        listed = page.evaluate("() => performance.now()")
        page.wait_for_timeout(2000)
        times = {
            text: page.evaluate(KEYSTROKES, text) for text in ["run77", "re:lr3.*run1", "*/lr1/*"]
        }
        # Each keystroke of each text, from the event until the frame is drawn.
        keystroke_times = [time for text_times in times.values() for time in text_times]
        check = page.evaluate(CHECK_ALL)
    return {
        "10,000 runs listed, ms": listed,
        "keystroke in the run filter, median ms": statistics.median(keystroke_times),
        "keystroke in the run filter, 95th percentile ms": statistics.quantiles(
            keystroke_times, n=20
        )[-1],
        "all 10,000 runs unchecked, ms": check,
    }


def run_queries(bench: Bench) -> dict[str, float]:
    """10,000 runs: the time from a new query until the runs that it finds are listed, and from a
    new order or grouping until its rows are drawn."""
    folder = bench.logs / "R10000-hparams"
    if not folder.exists():
        for index in range(10_000):
            hparams = {"lr": 10.0 ** -(index % 5), "model": f"m{index % 4}"}
            scalars = {"loss": [1.0, index % 100 / 100]}
            write_run(folder, f"sweep{index % 40}/run{index}", hparams=hparams, scalars=scalars)
    times = {}
    with bench.open("R10000-hparams", "#none") as page:
        page.wait_for_function(
            "() => document.querySelector('.tb-runs-count')?.innerText.includes('of 10,000')"
        )
        page.get_by_label("Filter runs").focus()  # which loads what queries need
        page.wait_for_timeout(2000)
        for query, count in QUERIES.items():
            milliseconds = page.evaluate(QUERY_TIME, [query, f"of {count:,} (of 10,000)"])
            times[f"10,000 runs filtered by {query}, ms"] = milliseconds
        page.get_by_label("Filter runs").fill("")
        for what, (settings, condition) in ARRANGEMENTS.items():
            milliseconds = page.evaluate(ARRANGEMENT_TIME % condition, f"#none&{settings}")
            times[f"10,000 runs {what}, ms"] = milliseconds
    return times


QUERIES = {
    "lr>0.005": 6000,
    "lr>0.005 model=m1": 1500,
    "loss:last<0.5": 5000,
    "loss:last<0.4 lr=1": 800,
    "(model=m1 | model=m2) -loss:last<.5": 2500,
    "re:run[0-9]*7$ lr<2": 1000,
}
"""The number of runs that each finds. The first ones read what they need."""
AFTER_FRAME = """
  const drawn = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(null);
  }));
"""


def keystrokes(box: str, first: str) -> str:
    """JavaScript that types a text into a box, one letter at a time, starting with `first` letters.

    A negative `first` starts with as many letters and deletes them one at a time, then types.
    """
    return f"""async (text) => {{
  {AFTER_FRAME}
  const box = {box};
  const times = [];
  for (let end = {first}; end <= text.length; end++) {{
    const start = performance.now();
    box.value = text.slice(0, Math.abs(end));
    box.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
    await drawn();
    times.push(performance.now() - start);
  }}
  box.value = '';
  box.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
  await drawn();
  return times;
}}"""


KEYSTROKES = keystrokes("document.querySelector('.tb-runs input[type=search]')", "-text.length")

QUERY_TIME = f"""async ([query, count]) => {{
  {AFTER_FRAME}
  const start = performance.now();
  const box = document.querySelector('.tb-runs input[type=search]');
  box.value = query;
  box.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
  while (!document.querySelector('.tb-runs-count').innerText.endsWith(count)) await drawn();
  return performance.now() - start;
}}"""
ARRANGEMENTS = {
    "with a column": ("columns=loss:last&view=list", "cells()[1] === '0'"),
    "sorted by it": (
        "columns=loss:last&view=list&sort=-loss:last",
        "cells()[1] === '0.99'",
    ),
    "coloured by a hyperparameter": ("color=by:lr", "document.querySelector('.tb-legend')"),
    "grouped by it": ("group=by:lr", "document.querySelector('[role=row]')?.title === 'lr=1'"),
}
"""Settings in the address, and what is so once they are drawn. The first one reads the values."""
ARRANGEMENT_TIME = """async (hash) => {
  const cells = () => [...document.querySelectorAll('.tb-row .tb-cell')].map((c) => c.innerText);
  const start = performance.now();
  location.hash = hash;
  while (!(%s)) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
CHECK_ALL = f"""async () => {{
  {AFTER_FRAME}
  const box = document.querySelector('.tb-runs-all input');
  box.click();
  await drawn();
  const start = performance.now();
  box.click();
  await drawn();
  return performance.now() - start;
}}"""


def graph(bench: Bench) -> dict[str, float]:
    """100,000 nodes: the time until their top-level scopes are drawn, and frame times with 1,800
    open boxes."""
    folder = bench.logs / "G100000"
    if not folder.exists():
        write_run(folder, "train", graph=blocks_of_layers().SerializeToString())
    with bench.open("G100000", "#graphs") as page:
        page.wait_for_function(IS_DRAWN)
        first = page.evaluate("() => performance.now()")
        page.reload()
        page.wait_for_function(IS_DRAWN)
        again = page.evaluate("() => performance.now()")
        blocks = [f"block_{block:02}" for block in range(12)]
        layers = [f"{block}/layer_{layer:02}" for block in blocks[:6] for layer in range(2)]
        page.goto("about:blank")
        page.goto(f"{bench.url}/#graphs&graphs.open={','.join([*blocks, *layers])}")
        page.wait_for_function(IS_DRAWN)
        opened = page.evaluate("() => performance.now()")
        page.wait_for_timeout(1000)
        frames = page.evaluate(ZOOM_FRAMES)
    return {
        "100,000 nodes drawn, file read by the server, ms": first,
        "100,000 nodes drawn again, ms": again,
        "24 open scopes, 1,800 boxes drawn, ms": opened,
        "frame while zooming these, median ms": statistics.median(frames),
        "frame while zooming these, 95th percentile ms": statistics.quantiles(frames, n=20)[-1],
    }


def blocks_of_layers() -> Any:
    """A GraphDef with 20 blocks of 50 layers of 100 operations, as one chain."""
    from tbcore_graphs.proto.graph_pb2 import GraphDef

    found = GraphDef()
    previous = ""
    for index in range(100_000):
        block, layer, op = index // 5000, index // 100 % 50, index % 100
        name = f"block_{block:02}/layer_{layer:02}/op_{op:02}"
        found.node.add(name=name, op="Relu", input=[previous] if previous else [])
        previous = name
    return found


IS_DRAWN = """() => document.querySelector('.plugin')?.shadowRoot
  ?.querySelector('.frame')?.getAttribute('aria-busy') === 'false'"""

ZOOM_FRAMES = f"""async () => {{
  {AFTER_FRAME}
  const canvas = document.querySelector('.plugin').shadowRoot.querySelector('canvas');
  const {{ left, top }} = canvas.getBoundingClientRect();
  const at = {{ clientX: left + 300, clientY: top + 300, bubbles: true, cancelable: true }};
  const times = [];
  for (let i = 0; i < 100; i++) {{
    const start = performance.now();
    canvas.dispatchEvent(new WheelEvent('wheel', {{ deltaY: i % 20 < 10 ? 40 : -40, ...at }}));
    await drawn();
    times.push(performance.now() - start);
  }}
  return times;
}}"""


def tag_groups(bench: Bench) -> dict[str, float]:
    """100 open groups of 20 tags: the time until all visible cards are drawn, at the top and after
    scrolling to the end.

    Two runs share a card for their scalars, and have separate cards for their histograms.
    """
    folder = bench.logs / "T100x20"
    tags = [f"layer_{group:03}/part_{part:02}" for group in range(100) for part in range(20)]
    if not folder.exists():
        for run, lift in (("train", 0.0), ("eval", 0.5)):
            curves = {tag: [(step, lift + 1 / (1 + step)) for step in range(20)] for tag in tags}
            samples = {tag: [(step, [lift, step, 2.0]) for step in range(3)] for tag in tags}
            write_run(folder, run, scalars=curves, histograms=samples)
    figures = {}
    for tab, cards in (("scalars", 2000), ("histograms", 4000)):
        with bench.open("T100x20", f"#{tab}") as page:
            page.evaluate(VISIBLE_CARDS_DRAWN)
            # Load again, now that the caches of the browser and the server are warm.
            page.reload()
            drawn = page.evaluate(VISIBLE_CARDS_DRAWN)
            longest = page.evaluate(LONGEST_TASK)
            page.wait_for_timeout(1000)
            times = page.evaluate(TAG_KEYSTROKES, "part_07")
            start = page.evaluate("() => performance.now()")
            page.evaluate("() => window.scrollTo(0, document.documentElement.scrollHeight)")
            end = page.evaluate(VISIBLE_CARDS_DRAWN)
        figures |= {
            f"{cards:,} cards of {tab}: visible ones drawn, ms": drawn,
            f"{tab}: longest task during this, ms": longest,
            f"{tab}: keystroke in the tag filter, median ms": statistics.median(times),
            f"{tab}: from the first card to the last, ms": end - start,
        }
    return figures


VISIBLE_CARDS_DRAWN = """async () => {
  const isDrawn = () => {
    const root = document.querySelector('.plugin')?.shadowRoot;
    const seen = [...root?.querySelectorAll('.tb-card') ?? []].filter((card) => {
      const { top, bottom } = card.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    });
    return seen.length > 0 && seen.every((card) => card.querySelector('canvas')
      && card.querySelector('[data-hint]')?.getAttribute('data-hint') === '');
  };
  while (!isDrawn()) {
    if (performance.now() > 120_000) throw new Error('nothing was drawn');
    await new Promise((done) => setTimeout(done, 20));
  }
  return performance.now();
}"""

LONGEST_TASK = """() => new Promise((done) => {
  const report = (list) => done(Math.max(...list.getEntries().map(({ duration }) => duration)));
  new PerformanceObserver(report).observe({ type: 'longtask', buffered: true });
  setTimeout(() => done(0), 1000);
})"""

TAG_KEYSTROKES = keystrokes(
    "document.querySelector('.plugin').shadowRoot.querySelector('input[type=search]')", "1"
)


def many_tags(bench: Bench) -> dict[str, float]:
    """10,000 and 100,000 tags in 100 sections: the time until a keystroke in the filter is drawn.

    The letter 7 changes what is in sight; the others do not.
    """
    figures = {}
    for count in (10_000, 100_000):
        name = f"T{count}"
        if not (bench.logs / name).exists():
            tags = [f"layer{k * 100 // count:03}/block{k % 10}/norm{k:06}" for k in range(count)]
            write_run(bench.logs / name, "train", scalars={tag: [1.0, 0.5] for tag in tags})
        with bench.open(name, "#scalars") as page:
            page.evaluate(VISIBLE_CARDS_DRAWN)
            page.wait_for_timeout(2000)
            times = page.evaluate(TAG_KEYSTROKES, "block7/norm0")
        figures |= {
            f"{count:,} tags: keystroke in the filter, median ms": statistics.median(times),
            f"{count:,} tags: slowest keystroke, ms": max(times),
        }
    return figures


def first_charts(bench: Bench) -> dict[str, float]:
    """The demo: requests, and the size of the page's own files, until each tab shows data.

    The browser's cache is empty, and sizes are those of the compressed responses.
    """
    folder = bench.logs / "demo"
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "tbcore_testing.demo", str(folder)], check=True)
    figures = {}
    for tab, selector in FIRST_CHARTS.items():
        with bench.open("demo", f"#{tab}") as page:
            counts = [page.evaluate(REQUESTS_UNTIL, selector)]
            for _ in range(4):
                context = bench.browser.new_context(viewport=VIEWPORT)
                other = context.new_page()
                other.goto(f"{bench.url}/#{tab}")
                counts.append(other.evaluate(REQUESTS_UNTIL, selector))
                context.close()
        requests, size, time = (statistics.median(column) for column in zip(*counts, strict=True))
        figures |= {
            f"{tab}: requests until the first chart": requests,
            f"{tab}: kB of code until the first chart": size / 1000,
            f"{tab}: first chart, ms": time,
        }
    return figures


FIRST_CHARTS = {
    "scalars": ".tb-card [data-hint=''] canvas",
    "custom_scalars": ".tb-card [data-hint=''] canvas",
    "distributions": ".tb-card [data-hint=''] canvas",
    "histograms": ".tb-card [data-hint=''] canvas",
    "pr_curves": ".tb-card svg path",
    "images": ".tb-step-tab img",
    "audio": ".tb-step-tab audio",
    "mesh": ".tb-step-tab canvas[aria-busy=false]",
    "text": ".tb-step-tab .tb-step-samples p",
    "graphs": ".frame[aria-busy=false] canvas",
    "hparams": "tbody tr",
}
"""Maps each tab to a selector of the first thing that it shows."""

REQUESTS_UNTIL = """async (selector) => {
  const root = () => document.querySelector('.plugin')?.shadowRoot;
  while (!root()?.querySelector(selector)) {
    if (performance.now() > 30_000) throw new Error(`nothing was drawn: ${selector}`);
    await new Promise((done) => requestAnimationFrame(done));
  }
  const now = performance.now();
  const entries = ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type));
  const loaded = entries.filter(({ responseEnd }) => responseEnd > 0 && responseEnd <= now);
  const code = loaded.filter(({ name }) => !name.includes('/data/'));
  return [loaded.length, code.reduce((sum, entry) => sum + entry.encodedBodySize, 0), now];
}"""


def while_loading(bench: Bench) -> dict[str, float]:
    """50,000 runs of 10 tags: seconds from the start of the server until the first chart, in a
    page that is opened at once, and until all is read, with that page and without one."""
    logs = bench.logs / "many_runs"
    if not logs.exists():
        generate(logs, "S3", 25)
    figures: dict[str, float] = {}
    for what in ("without a page", "with a page"):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logs / "S3")]
        started = time.monotonic()
        process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL)
        try:
            while get(f"{url}/data/status") is None:
                time.sleep(0.02)
            if what == "with a page":
                page = bench.browser.new_context(viewport=VIEWPORT).new_page()
                page.goto(f"{url}/#scalars")
                page.evaluate(REQUESTS_UNTIL, FIRST_CHARTS["scalars"])
                figures["first chart"] = time.monotonic() - started
            while not get(f"{url}/data/status")["passes"]:
                time.sleep(0.25)
            figures[f"all is read, {what}"] = time.monotonic() - started
            if what == "with a page":
                page.context.close()
        finally:
            process.terminate()
            process.wait()
    return figures


def noted_runs(bench: Bench) -> dict[str, float]:
    """10,000 runs: the time of the processor for 60 frames of scrolling in the list, without notes
    and with a star, labels and a note on each."""
    from tbcore.engine import LogdirSpec
    from tbcore_notes.notes import RunNotes

    folder = bench.logs / "flat10000"
    names = [f"run{index:05}" for index in range(10_000)]
    if not folder.exists():
        for index, name in enumerate(names):
            write_run(folder, name, scalars={"loss": [1.0]}, wall_time=1.7e9 + index)
    values = {"starred": True, "labels": ["paper", "x"], "note": "why " * 10}
    scroll = """async () => {
      const list = document.querySelector('.tb-list');
      for (let i = 0; i < 60; i++) {
        list.scrollTop += 104;
        await new Promise((done) => requestAnimationFrame(done));
      }
    }"""
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        pages = []
        for what, noted in (("without notes", []), ("with notes", names)):
            os.environ["XDG_DATA_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
            RunNotes([LogdirSpec(None, str(folder))]).change(noted, values)
            page = stack.enter_context(bench.open("flat10000", "#none"))
            page.wait_for_function("() => document.querySelectorAll('.tb-run').length > 20")
            page.wait_for_timeout(2000)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            pages.append((f"60 frames of the list, {what} (ms)", page, session))
        for _ in range(8):
            for figure, page, session in pages:
                page.bring_to_front()
                before = processor_ms(session)
                page.evaluate(scroll)
                taken = processor_ms(session) - before
                figures[figure] = min(taken, figures.get(figure, taken))
    return figures


def processor_ms(session: Any) -> float:
    """Time of the processor that the main thread of a page has taken."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


MEASURES: dict[str, Callable[[Bench], dict[str, float]]] = {
    "first_charts": first_charts,
    "run_list": run_list,
    "run_queries": run_queries,
    "noted_runs": noted_runs,
    "graph": graph,
    "tag_groups": tag_groups,
    "many_tags": many_tags,
    "while_loading": while_loading,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--only", choices=sorted(MEASURES), action="append")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    with sync_playwright() as playwright:
        browser = launch(playwright, find_chromium())
        for name in arguments.only or MEASURES:
            for figure, value in MEASURES[name](Bench(browser, logs)).items():
                print(f"{figure:50}{value:10.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
