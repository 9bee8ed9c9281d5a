"""Skips the tests of indexes where tbcore-index is not installed."""

from __future__ import annotations

import pytest

pytest.importorskip("tbcore_index")
pytest.importorskip("distributed")
