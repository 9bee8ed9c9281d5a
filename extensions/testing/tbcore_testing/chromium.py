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
