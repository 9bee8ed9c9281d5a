"""Servers with notes, and the files of notes, for the tests of tbcore-notes."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from held import held_by

from tbcore.engine import LogdirSpec
from tbcore_notes import files
from tbcore_notes.notes import RunNotes
from tbcore_notes.store import Store
from tbcore_testing.client import TbcoreClient
from tbcore_testing.in_thread import Server

WRITE_TOKEN = "a-write-token"


def served(logdir: Path, **config: Any) -> TbcoreClient:
    """A client of a server with notes, whose write token is WRITE_TOKEN."""
    server = Server(logdir, plugins=[], port=6006, **{"write_token": WRITE_TOKEN, **config})
    server.board.notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)


def until_listed(client: TbcoreClient) -> None:
    """Waits until the files of archived runs are listed, which a server does after its response."""
    [lister] = held_by(client.multiplexer, Executor)
    lister.submit(bool).result()  # It does one thing after the other.


def own_folder(logdir: Path) -> Path:
    """The directory of this user's notes on a log directory, which may not exist yet."""
    return Path(Store(str(logdir)).own_directories[0].path)


def name_of(process: int, name: str = "ab") -> str:
    """The name of a file that a process of this machine, since it was started, writes."""
    return f"{os.path.basename(files.new_path('')).rsplit('-', 2)[0]}-{process}-{name}.jsonl"
