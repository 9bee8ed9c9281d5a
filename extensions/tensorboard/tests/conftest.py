"""Applies the fixtures of every test to the tests of hosted processes; a browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from common_fixtures import *  # noqa: F403
from hosted import hosting, installed
from running_servers import environment, start
from server_fixtures import *  # noqa: F403
from server_fixtures import browsers

pytest.importorskip("tbcore_tensorboard")
__all__ = ["environment", "hosting", "installed", "start"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser of this process."""
    yield from browsers()


@pytest.fixture(scope="module")
def tbcore_browser(browser: Any) -> Any:
    """The same one, since a process can have one at a time."""
    return browser
