"""Helpers for tests of tbcore and of plugins: writers of event files, and an HTTP client.

    from tbcore_testing import make_client, write_run

    write_run("logdir", "train", scalars={"loss": [0.9, 0.5]})
    client = make_client("logdir", plugins=["scalars"])
    client.get("data/plugin/scalars/tags").json()    # {"train": ["loss"]}

`make_client` runs the server in the same process, without a socket. The installed package has
pytest fixtures for the same purpose, `tbcore_logdir` and `tbcore_client`, and `tbcore_page` for
tests in a browser. Only `make_client` needs httpx, and only the base classes of test classes need
pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbcore.engine import lazy_names
from tbcore_testing import graphs, summaries
from tbcore_testing.runs import write_run
from tbcore_testing.writer import EventFileWriter, record_bytes

if TYPE_CHECKING:
    from tbcore_testing.client import TbcoreClient, make_client, read_columns
    from tbcore_testing.in_thread import Server
    from tbcore_testing.media_tests import MediaTests
    from tbcore_testing.page import Page
    from tbcore_testing.route_tests import RouteTests, SeriesResponseTests, SeriesTests

__all__ = [
    "EventFileWriter",
    "MediaTests",
    "Page",
    "RouteTests",
    "SeriesResponseTests",
    "SeriesTests",
    "Server",
    "TbcoreClient",
    "graphs",
    "make_client",
    "read_columns",
    "record_bytes",
    "summaries",
    "write_run",
]

globals().update(lazy_names(__name__))
