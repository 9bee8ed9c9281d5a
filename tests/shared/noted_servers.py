"""Servers with notes, for the tests of tbcore-notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tbcore.engine import LogdirSpec
from tbcore_notes.notes import RunNotes
from tbcore_testing.client import TbcoreClient
from tbcore_testing.in_thread import Server

WRITE_TOKEN = "a-write-token"


def served(logdir: Path, **config: Any) -> TbcoreClient:
    """A client of a server with notes, whose write token is WRITE_TOKEN."""
    server = Server(logdir, plugins=[], port=6006, **{"write_token": WRITE_TOKEN, **config})
    server.board.notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)
