"""Fixtures for tests of plugins, and the options of the conformance suite; pytest finds them when
tbcore is installed.

Each pytest run on the machine loads this module, so it imports nothing of tbcore until a fixture
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tbcore.testing import TbcoreClient


SUITE = "tbcore.testing.conformance"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Adds the options of the conformance suite, where it is what pytest is asked to run.

    Not always: another plugin of pytest may want an option of the same name.
    """
    if not any(argument.startswith(SUITE) for argument in args):
        return
    group = parser.getgroup("tbcore", "tbcore's conformance suite")
    group.addoption(
        "--plugin",
        dest="tbcore_plugin",
        metavar="NAME",
        action="append",
        default=[],
        help="name of an installed tbcore plugin, or path of a folder with one; may be repeated",
    )
    group.addoption(
        "--plugin-logs",
        dest="tbcore_plugin_logs",
        metavar="DIR",
        default=None,
        help="event files of data that the plugin is for, written beside all usual kinds",
    )


@pytest.fixture
def tbcore_logdir(tmp_path: Path) -> Path:
    """An empty log directory; fill it with `tbcore.testing.write_run`."""
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    return logdir


@pytest.fixture
def tbcore_client() -> Iterator[Callable[..., TbcoreClient]]:
    """`tbcore.testing.make_client`; what it made is closed when the test ends.

    `tbcore_client(logdir, plugins=["hello"])` serves the logdir with this one plugin.
    """
    from tbcore.testing import make_client

    clients: list[TbcoreClient] = []

    def make(*args: Any, **options: Any) -> TbcoreClient:
        clients.append(make_client(*args, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
