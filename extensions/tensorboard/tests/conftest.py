"""Applies the fixtures of every test to the tests of hosted processes."""

import pytest
from common_fixtures import *  # noqa: F403
from hosted import hosting, installed
from running_servers import environment, start
from server_fixtures import *  # noqa: F403

pytest.importorskip("tbcore_tensorboard")
__all__ = ["environment", "hosting", "installed", "start"]
