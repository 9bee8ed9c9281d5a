"""Runs with notes in the page: log directories, what was noted, and pages that may change it."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tbcore.engine import LogdirSpec
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import line_of
from tbcore_testing import write_run

RUNS = ("sweep/lr1", "sweep/lr2", "sweep/lr3", "other")
OLD = time.time() - 3 * 86400


def own_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets the directories of this user; returns that of data."""
    for kind in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))
    return folder / "data"


def write_runs(logdir: Path) -> Path:
    """Writes four runs, whose files were written three days ago; returns the log directory."""
    for number, run in enumerate(RUNS):
        values = [1.0, 0.5 + number]
        path = write_run(logdir, run, scalars={"loss": values}, wall_time=OLD + number)
        os.utime(path, (OLD, OLD))
    return logdir


def notes_of(logdir: Path) -> RunNotes:
    return RunNotes([LogdirSpec(None, str(logdir))])


def values(logdir: Path, run: str) -> dict[str, Any]:
    """What was noted about a run, read from the files."""
    return notes_of(logdir).values(run)


def noted_by_bob(logdir: Path, run: str, **fields: Any) -> None:
    """A note that somebody else has shared in the log directory."""
    folder = logdir / ".tbcore" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "bob.jsonl").open("ab") as file:
        file.write(line_of(time.time_ns() // 1000, "bob@far", run, fields))


def fragment(server: Any) -> str:
    """The fragment of the address that the server has printed, which has the write token."""
    log = server.log.read_text()
    *_, path = re.findall(r"^the address for changing notes is in (.*)$", log, re.M)
    return "#" + Path(path).read_text().strip().partition("#")[2]


def open_writing(profile: Any, server: Any, more: str = "", **options: Any) -> Any:
    """A page that may change notes, once it says so."""
    page = profile.open(server.url, fragment(server) + more, **options)
    page.locator(".tb-notes-star").first.wait_for(state="attached")
    return page


def wait_until_loaded(page: Any) -> None:
    """Waits until the page has what it has of notes, also if it may not change them."""
    loaded = "performance.getEntriesByType('resource').some(({name}) => /marks.css$/.test(name))"
    page.wait_for_function(f"() => {loaded}")
    page.evaluate("() => tb.frame()")


def menu(page: Any, name: str, item: str) -> None:
    """Chooses an item of the menu of a row."""
    page.locator(f'[role="row"][title="{name}"]').click(button="right")
    page.get_by_role("menuitem", name=item, exact=True).click()


def wait_for_runs(page: Any, *names: str) -> None:
    """Waits until the list has these runs."""
    page.wait_for_function(
        """(names) => JSON.stringify([...document.querySelectorAll('.tb-run')].map(
          (row) => row.title)) === JSON.stringify(names)""",
        arg=list(names),
    )
