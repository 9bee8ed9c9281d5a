"""What a reader waits for in the page, in a real Chromium.

    python benchmarks/page.py [LOGS] [--only MEASURE]

Each measure is a function below that writes the logs it needs below LOGS where they are missing,
opens the page, and returns figures. Chromium is found as the browser tests find it; tbcore and its
plugins must be installed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

import conftest
from conftest import CHROMIUM_ARGUMENTS, Server, find_chromium
from playwright.sync_api import sync_playwright

from tbcore.testing import write_run

VIEWPORT = {"width": 1920, "height": 1200}

conftest.START_LIMIT = 300.0  # the logs are larger than those of tests


class Bench:
    """A browser, and servers for logs."""

    def __init__(self, browser: Any, logs: Path) -> None:
        self.browser = browser
        self.logs = logs

    @contextmanager
    def open(self, name: str, hash: str = "") -> Iterator[Any]:
        """A page on the logs of that name."""
        scratch = Path(tempfile.mkdtemp())
        server = Server(self.logs / name, scratch / "log").start()
        context = self.browser.new_context(viewport=VIEWPORT)
        try:
            page = context.new_page()
            page.goto(f"{server.url}/{hash}")
            yield page
        finally:
            context.close()
            server.stop()


def run_list(bench: Bench) -> dict[str, float]:
    """10,000 runs: until they are listed, and until a keystroke in the filter has been drawn."""
    folder = bench.logs / "R10000"
    if not folder.exists():
        for index in range(10_000):
            name = f"sweep{index % 40}/lr{index % 7}/run{index}"
            write_run(folder, name, scalars={"loss": [1.0, 0.5]}, wall_time=1.7e9 + index)
    with bench.open("R10000", "#none") as page:
        page.wait_for_function(
            "() => document.querySelector('.tb-runs-count')?.innerText.includes('of 10000')"
        )
        listed = page.evaluate("() => performance.now()")
        page.wait_for_timeout(2000)
        times = {
            text: page.evaluate(KEYSTROKES, text) for text in ["run77", "lr3.*run1", "^sweep1/"]
        }
        # What is typed, and every keystroke of it, from the event until the frame is drawn.
        every = [time for of_one in times.values() for time in of_one]
        check = page.evaluate(CHECK_ALL)
    return {
        "10,000 runs listed, ms": listed,
        "keystroke in the filter, median ms": statistics.median(every),
        "keystroke in the filter, 95th percentile ms": statistics.quantiles(every, n=20)[-1],
        "all 10,000 unchecked, ms": check,
    }


AFTER_FRAME = """
  const drawn = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(null);
  }));
"""

KEYSTROKES = f"""async (text) => {{
  {AFTER_FRAME}
  const box = document.querySelector('.tb-runs input[type=search]');
  const times = [];
  for (let end = text.length; end >= -text.length; end--) {{
    const start = performance.now();
    box.value = text.slice(0, Math.abs(end)); // deletes it letter by letter, then types it again
    box.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
    await drawn();
    times.push(performance.now() - start);
  }}
  box.value = '';
  box.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
  await drawn();
  return times;
}}"""

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


MEASURES: dict[str, Callable[[Bench], dict[str, float]]] = {
    "run_list": run_list,
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
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=[*CHROMIUM_ARGUMENTS, "--no-sandbox"]
        )
        for name in arguments.only or MEASURES:
            for figure, value in MEASURES[name](Bench(browser, logs)).items():
                print(f"{figure:50}{value:10.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
