"""Applies the fixtures of every test to the tests of formats; a log directory with a loader."""

import pytest
from common_fixtures import *  # noqa: F403
from loaded_logs import logs
from server_fixtures import *  # noqa: F403

pytest.importorskip("tbcore_formats")
__all__ = ["logs"]
