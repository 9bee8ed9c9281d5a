"""The tab of hyperparameters, for browser tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tbcore_testing import summaries, write_run


def write_session(
    logdir: Path, name: str, hparams: Mapping[str, Any], *, group: str = "", **run: Any
) -> None:
    write_run(logdir, name, values=[summaries.session_start(hparams, group=group)], **run)


class Tab:
    """The open tab."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.wait_for_function("() => tb.all('.trials tbody tr, .tb-nothing').length > 0")

    def rows(self) -> list[list[str]]:
        """The texts of the rendered rows, in order; the first text is the name."""
        found: list[list[str]] = self.page.evaluate(
            """() => tb.all('.trials tr[data-name]').map((row) => [
              row.dataset.name,
              ...[...row.querySelectorAll('td')].slice(0, -1).map((cell) => cell.textContent)])"""
        )
        return found

    def names(self) -> list[str]:
        return [row[0] for row in self.rows()]

    def headings(self) -> list[str]:
        found: list[str] = self.page.evaluate(
            "() => tb.all('.trials .sort').map((one) => one.textContent.trim())"
        )
        return found

    def wait_for_first(self, name: str) -> None:
        self.page.wait_for_function(
            "(name) => tb.all('.trials tr[data-name]')[0]?.dataset.name === name", arg=name
        )

    def wait_for_count(self, text: str) -> None:
        self.page.wait_for_function(
            "(text) => tb.all('.tb-summary')[0]?.textContent === text", arg=text
        )

    def sort(self, column: str, **how: Any) -> None:
        self.page.locator(".trials .sort", has_text=column).first.click(**how)

    def open_filter(self, column: str) -> None:
        self.page.get_by_role("button", name=f"Filter {column}", exact=True).click()

    def brush(self, axis: int, low: float, high: float) -> None:
        """Drags over a range of an axis of the parallel coordinates, in shares of its height."""
        strip = self.page.locator(".brush").nth(axis).bounding_box()
        x = strip["x"] + strip["width"] / 2
        bottom, height = strip["y"] + strip["height"] - 12, strip["height"] - 22
        self.page.mouse.move(x, bottom - low * height)
        self.page.mouse.down()
        self.page.mouse.move(x, bottom - high * height, steps=5)
        self.page.mouse.up()

    def wait_for_address(self, part: str) -> None:
        """Waits until the address has a text; it is updated shortly after a change."""
        self.page.wait_for_function(
            "(part) => decodeURIComponent(location.hash).includes(part)", arg=part
        )


def open_hparams(profile: Any, server: Any, hash: str = "", at: Any = None, **options: Any) -> Tab:
    """The tab of the server `at`, by default of `server`."""
    return Tab(profile.open((at or server).url, f"#hparams{hash}", **options))
