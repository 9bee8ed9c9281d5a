"""A server in a thread: for notebooks, programs and tests."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until

from tbcore.engine import Server
from tbcore.errors import TbcoreError
from tbcore_testing import write_run


def get(server: Server, path: str) -> Any:
    """The JSON of a response."""
    with urllib.request.urlopen(f"{server.url}{path}", timeout=30) as response:
        return json.load(response)


def test_it_serves_the_logs_and_their_changes_until_it_ends(tmp_path: Path) -> None:
    """What the directory has is there at once; what is written later is read."""
    write_run(tmp_path, "train", scalars={"loss": [0.5]})
    threads = set(threading.enumerate())

    with Server(tmp_path, plugins=(), reload_interval=0.1, path_prefix="/a b") as server:
        assert server.url.endswith("/a%20b/")
        assert get(server, "data/runs") == ["train"]
        write_run(tmp_path, "eval", scalars={"loss": [0.5]})
        until(lambda: sorted(get(server, "data/runs")) == ["eval", "train"])

    with pytest.raises(OSError, match="refused"):
        get(server, "data/runs")
    until(lambda: set(threading.enumerate()) <= threads)


def test_two_servers_have_two_ports_and_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with Server(tmp_path, plugins=()) as first, Server(tmp_path, plugins=()) as second:
        assert first.config.port != second.config.port
        third = Server(tmp_path, plugins=(), port=first.config.port)
        with pytest.raises(TbcoreError, match="is in use by another program"):
            third.start()
