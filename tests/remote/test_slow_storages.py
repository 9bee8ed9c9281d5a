"""Storages that are slow or do not answer: what is beside them is not delayed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from storages import FILE, URI, Request, S3Server, Watched, events

pytestmark = pytest.mark.services


def test_a_slow_listing_does_not_delay_a_disk(s3: S3Server, folder: Path, tmp_path: Path) -> None:
    """It is shown when it has come, and what it showed before stays until then."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1))
    events(folder / "b" / FILE, 5)
    may_answer = threading.Event()

    def wait(request: Request) -> None:
        if request.is_listing:
            may_answer.wait(60)

    s3.answer = wait
    watched = Watched(URI, str(folder), reload_interval=None)
    for number in (1, 2):
        assert watched.steps("b") == [5, 6][:number]
        assert (watched.multiplexer.runs() == ["b"]) == (number == 1)
        may_answer.set()
        assert watched.loader._wake.wait(60), "the listing ends the pause"
        assert watched.steps("a") == [1, 2][:number]
        watched.loader._wake.clear()
        may_answer.clear()
        events(folder / "b" / FILE, 5, 6)
        s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1, 2))
        watched.multiplexer.scan_soon()
        watched.loader._wake.clear()
    may_answer.set()


def test_changes_on_a_disk_cause_no_listings(s3: S3Server, folder: Path) -> None:
    """An interval that was given is kept, however often the disk is scanned."""
    s3.put(f"runs/a/{FILE}", events(folder / "b" / FILE, 5))
    watched = Watched(URI, str(folder), reload_interval=3600)
    watched.steps("b")
    assert watched.loader._wake.wait(60)
    for number in range(6, 10):
        events(folder / "b" / FILE, *range(5, number))
        assert watched.steps("b") == list(range(5, number))
    assert [request.is_listing for request in s3.reads()].count(True) == 1
