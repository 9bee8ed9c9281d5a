"""Measures how long charts take to be drawn in Chromium, for tbcore and TensorBoard.

    python benchmarks/charts.py [LOGS] [--tensorboard COMMAND]

P   20 charts x 100 runs x 1,000 points on a screen of 1920 x 1200: from navigation to the finished
    page, by step and by wall time; frame times while linked charts are panned and zoomed; memory of
    the page's process
S1  one chart with 5,000,000 points

A page is finished when its screenshot equals that of the same page after a long time. A screenshot
disturbs the page, so each page is used for only one. The time is found by bisection in steps of a
quarter of a second, with a new page for each try. The browser is headless and has no GPU.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from playwright.sync_api import sync_playwright
from workloads import generate

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
SCREEN = {"width": 1920, "height": 1200}
TIMEOUT_SECONDS = 16.0
STEP_SECONDS = 0.25
MAX_DIFFERENT_PIXELS = 100
DIFFERENCE = """async (screenshots) => {
  const [a, b] = await Promise.all(screenshots.map(async (screenshot) => {
    const bitmap = await createImageBitmap(
      await (await fetch(`data:image/png;base64,${screenshot}`)).blob());
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  }));
  let count = 0;
  for (let i = 0; i < a.length; i += 4) {
    if (a[i] !== b[i] || a[i + 1] !== b[i + 1] || a[i + 2] !== b[i + 2]) count++;
  }
  return count;
}"""
FRAMES = """() => {
  globalThis.frames = [];
  let last = performance.now();
  const next = (now) => {
    globalThis.frames.push(now - last);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""


@contextmanager
def serving(command: list[str], num_runs: int) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*command, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            time.sleep(0.1)
            try:
                with urllib.request.urlopen(f"{address}/data/runs") as response:
                    if response.read().count(b'"') == 2 * num_runs:
                        break
            except OSError:
                continue
        time.sleep(10)  # long enough for both servers to load everything
        yield address
    finally:
        process.terminate()
        process.wait()


def screenshot(browser: Any, url: str, seconds: float) -> tuple[str, Any]:
    """A screenshot of the charts this long after navigation, and the page.

    Closes all other pages, since a browser draws background pages less often.
    """
    for context in browser.contexts:
        context.close()
    page = browser.new_context(viewport=SCREEN).new_page()
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    time.sleep(max(0.0, seconds - (time.perf_counter() - started)))
    charts = page.screenshot(clip={"x": 320, "y": 120, "width": 1600, "height": 1080})
    return base64.b64encode(charts).decode(), page


def is_same(browser: Any, one: str, other: str) -> bool:
    """Whether two screenshots differ in a few pixels at most, such as those of rounded corners."""
    page = browser.new_page()
    count = page.evaluate(DIFFERENCE, [one, other])
    page.close()
    return bool(count < MAX_DIFFERENT_PIXELS)


def time_of(browser: Any, url: str) -> tuple[float, Any]:
    """Seconds until the page is finished, and the finished page."""
    screenshot(browser, url, 1)  # the first page of a browser draws corners differently
    finished, _ = screenshot(browser, url, TIMEOUT_SECONDS)
    early, late = 0, int(TIMEOUT_SECONDS / STEP_SECONDS)
    while late - early > 1:
        middle = (early + late) // 2
        shown, _ = screenshot(browser, url, middle * STEP_SECONDS)
        if is_same(browser, shown, finished):
            late = middle
        else:
            early = middle
    _, page = screenshot(browser, url, TIMEOUT_SECONDS)
    return late * STEP_SECONDS, page


def memory_of(page: Any, browser: Any) -> float:
    """Memory of the browser's largest page process, in MB."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = []
    for process in processes:
        if process["type"] != "renderer":
            continue
        rollup = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
        sizes.append(next(int(line.split()[1]) for line in rollup.splitlines() if "Pss:" in line))
    return max(sizes) / 1024


def gesture_frames(page: Any, keys: str) -> list[float]:
    """Milliseconds between frames while the pointer drags over the first chart."""
    box = page.evaluate(
        """() => document.querySelector('.plugin').shadowRoot.querySelector('.tb-chart-plot')
             .getBoundingClientRect().toJSON()"""
    )
    y = box["y"] + box["height"] / 2
    page.evaluate(FRAMES)
    if keys:
        page.keyboard.down(keys)
    page.mouse.move(box["x"] + box["width"] * 0.3, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=60)
    page.mouse.up()
    if keys:
        page.keyboard.up(keys)
    return sorted(page.evaluate("() => globalThis.frames"))


def percentile(values: list[float], part: float) -> float:
    """The value below which `part` of the sorted values are."""
    return values[min(len(values) - 1, int(len(values) * part))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default="tensorboard")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    chromium = next(filter(None, map(shutil.which, ["chromium", "google-chrome"])), None)
    for name in ("P", "S1"):
        generate(logs, name, 1.0)
    own = [sys.executable, "-m", "tbcore", "serve", "--logdir"]
    peer = [arguments.tensorboard, "--logdir"] if shutil.which(arguments.tensorboard) else None

    def measure(title: str, address: str, hashes: dict[str, str]) -> None:
        for kind, hash in hashes.items():
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            seconds, page = time_of(browser, f"{address}/{hash}")
            memory = memory_of(page, browser)
            browser.close()
            print(f"{title:14}{kind:30}{seconds:8.2f} s{memory:8.0f} MB", flush=True)

    with sync_playwright() as playwright:
        with serving([*own, str(logs / "P")], 100) as address:
            small = "scalars.size=small"
            measure(
                "tbcore",
                address,
                {
                    "P by step": f"#scalars&{small}",
                    "P by wall time": f"#scalars&{small}&scalars.x=wall_time",
                },
            )
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            _, page = screenshot(browser, f"{address}/#scalars&{small}&scalars.link=true", 10)
            for kind, keys in {"zoom": "", "pan": "Shift"}.items():
                frames = gesture_frames(page, keys)
                time.sleep(2)
                print(
                    f"{'tbcore':14}{'P ' + kind:30}{percentile(frames, 0.5):8.0f} ms"
                    f"{percentile(frames, 0.95):8.0f} ms p95",
                    flush=True,
                )
            browser.close()
        if peer:
            with serving([*peer, str(logs / "P")], 100) as address:
                measure(
                    "tensorboard", address, {"P by step": "#timeseries", "P scalars": "#scalars"}
                )
        with serving([*own, str(logs / "S1")], 1) as address:
            measure("tbcore", address, {"S1": "#scalars"})
        if peer:
            with serving([*peer, str(logs / "S1")], 1) as address:
                measure("tensorboard", address, {"S1": "#scalars"})


if __name__ == "__main__":
    main()
