"""Makes the pictures of the page that the README shows, each in light and dark.

    python3 dev.py test              installs Playwright, once
    .venv/bin/python docs/make_pictures.py

Writes a demo log directory, serves it on a free port, opens the page in headless Chromium, and
writes `docs/pictures/NAME-light.png` and `NAME-dark.png`. `TBCORE_CHROMIUM` names the browser.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tbcore_testing.chromium import find_chromium, launch
from tbcore_testing.demo import write_demo

FOLDER = Path(__file__).resolve().parent / "pictures"
WIDTH = 1400
TIMEOUT_MS = 60_000
PAUSE_MS = 1000
"""Pause between two screenshots; the tab is drawn when both are the same."""
MAX_BYTES = 200_000
"""Size limit of one picture, since every clone of the repository has them all."""

RULES = "group=seeds&color=family"
TAGS = (
    "loss/total,accuracy,optimizer/gradient_norm,"
    "loss/regularization,throughput/examples_per_second,optimizer/learning_rate"
)


class Picture(NamedTuple):
    """What one picture shows."""

    name: str
    fragment: str  # of the page's address
    height: int  # of the window, in CSS pixels
    drawn: str  # a selector of an element that only the finished tab has
    is_list_fitted: bool = False  # whether the list of runs is as wide as its columns need


PICTURES = (
    Picture(
        "scalars",
        f"#scalars&query=-has:nan -sweep -resumed&{RULES}&columns=accuracy:max"
        f"&scalars.smooth=0.6&scalars.pinned={TAGS}",
        height=606,
        drawn=".tb-chart-canvas",
        is_list_fitted=True,
    ),
    Picture("hparams", "#hparams&query=-has:nan&color=family", height=534, drawn="table"),
)


def main() -> int:
    """Writes all pictures; returns 1 if one of them is too large."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    too_large = False
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
    ):
        logdir = Path(folder) / "runs"
        write_demo(logdir)
        browser = launch(playwright, find_chromium())
        with serve(logdir) as address:
            for theme in ("light", "dark"):
                for picture in PICTURES:
                    path = FOLDER / f"{picture.name}-{theme}.png"
                    take(browser, picture, address, theme, path)
                    num_bytes = path.stat().st_size
                    print(f"{path.name}: {num_bytes // 1000} kB")
                    too_large |= num_bytes > MAX_BYTES
        browser.close()
    return int(too_large)


@contextmanager
def serve(logdir: Path) -> Iterator[str]:
    """Serves a log directory on a free port; yields the address of the page."""
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", logdir.name, "--port", "0"]
    with subprocess.Popen(command, cwd=logdir.parent, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            addresses = (re.search(r"http://\S+", line) for line in server.stdout)
            address = next(filter(None, addresses), None)
            assert address, "the server did not start"
            yield address[0]
        finally:
            server.terminate()


def take(browser: Any, picture: Picture, address: str, theme: str, path: Path) -> None:
    """Writes a picture of the page once it no longer changes."""
    size = {"width": WIDTH, "height": picture.height}
    context = browser.new_context(viewport=size, color_scheme=theme)
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto(f"{address}{picture.fragment}")
    page.wait_for_selector(picture.drawn)
    if picture.is_list_fitted:
        handle = page.get_by_role("separator", name="Width of the run list")
        page.get_by_text("@900").first.wait_for()
        handle.press("Enter")
        handle.blur()
    before, now = b"", page.screenshot()
    while now != before:
        page.wait_for_timeout(PAUSE_MS)
        before, now = now, page.screenshot()
    path.write_bytes(now)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
