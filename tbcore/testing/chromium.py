"""Chromium: finds a browser for tests, and starts it with Playwright."""

from __future__ import annotations

import os
import shutil
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
    """The browser that TBCORE_CHROMIUM names, or one on the path."""
    given = os.environ.get("TBCORE_CHROMIUM")
    if given:
        return given
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


def launch(playwright: Any, path: str | None, *arguments: str) -> Any:
    """A browser of the Playwright that was started; without a path the one that it has fetched."""
    # Chromium's sandbox does not work for root, as in most containers.
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, *arguments, *sandbox])
