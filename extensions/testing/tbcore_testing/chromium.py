"""Chromium: finds a browser for tests, and starts it with Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """TBCORE_CHROMIUM if it is set, otherwise the path of a browser on the PATH, or None."""
    path = os.environ.get("TBCORE_CHROMIUM")
    if path:
        return path
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


def launch(playwright: Any, path: str | None, *arguments: str) -> Any:
    """Starts the browser at a path; None starts the browser that Playwright has downloaded."""
    # Chromium's sandbox does not work for root, as in most containers.
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, *arguments, *sandbox])


@contextmanager
def browser_or_reason(*arguments: str) -> Iterator[tuple[Any, str]]:
    """A running browser, or None and the reason in one line, with what to install."""
    try:
        from playwright import sync_api
    except ImportError:
        yield None, "playwright is not installed: pip install playwright"
        return
    with sync_api.sync_playwright() as playwright:
        try:
            browser = launch(playwright, find_chromium(), *arguments)
        except sync_api.Error as error:
            line = str(error).strip().partition("\n")[0]
            yield (
                None,
                f"Chromium could not be started ({line}): install it, set TBCORE_CHROMIUM to its "
                "path, or run `playwright install chromium`",
            )
            return
        yield browser, ""
        browser.close()
