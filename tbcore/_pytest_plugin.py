"""Fixtures for tests of plugins; pytest finds them when tbcore is installed.

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
