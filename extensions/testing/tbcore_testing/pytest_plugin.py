"""Fixtures for tests of plugins, and the options of the conformance suite.

Where tbcore is installed, every run of pytest loads this module. So it imports no other module of
tbcore until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tbcore_testing.client import TbcoreClient

pytest.register_assert_rewrite("tbcore_testing.route_tests", "tbcore_testing.media_tests")

SUITE = "tbcore_testing.conformance"
"""The package of the conformance suite, as in `pytest --pyargs tbcore_testing.conformance`."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Adds the options of the conformance suite if pytest runs it.

    In other runs they could clash with options of other pytest plugins.
    """
    if not any(argument.startswith(SUITE) for argument in args):
        return
    group = parser.getgroup("tbcore", "tbcore's conformance suite")
    group.addoption(
        "--plugin", dest="tbcore_plugin", metavar="NAME", action="append", default=[],
        help="name of an installed tbcore plugin, or path of a folder with one; repeatable",
    )  # fmt: skip
    group.addoption(
        "--plugin-logs", dest="tbcore_plugin_logs", metavar="DIR", default=None,
        help="event files with data of the plugin's own, added to data of all usual kinds",
    )  # fmt: skip


@pytest.fixture
def tbcore_logdir(tmp_path: Path) -> Path:
    """An empty log directory; fill it with `tbcore_testing.write_run`."""
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    return logdir


@pytest.fixture
def tbcore_client() -> Iterator[Callable[..., TbcoreClient]]:
    """`tbcore_testing.make_client`, with clients that are closed when the test ends.

    `tbcore_client(logdir, plugins=["hello"])` serves the logdir with this one plugin.
    """
    from tbcore_testing.client import make_client

    clients: list[TbcoreClient] = []

    def make(*args: Any, **options: Any) -> TbcoreClient:
        clients.append(make_client(*args, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
