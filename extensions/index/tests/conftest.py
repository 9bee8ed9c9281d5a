"""Applies the fixtures of every test to those of the index; skips them where it is missing."""

from __future__ import annotations

import pytest
from common_fixtures import *  # noqa: F403
from loaded_logs import broken
from server_fixtures import *  # noqa: F403

__all__ = ["broken"]

pytest.importorskip("tbcore_index")
pytest.importorskip("distributed")
