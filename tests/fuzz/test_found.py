"""Targets accept the inputs for which they failed in the past, and the seeds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
try:
    from targets import TARGETS
finally:
    sys.path.remove(str(FOLDER))

FOUND = sorted(path for path in (FOLDER / "found").glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_found_errors_are_fixed(path: Path) -> None:
    """Each input is in a folder with the name of its target."""
    target, _ = TARGETS[path.parent.name]
    target(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_targets_accept_seeds(name: str) -> None:
    """Targets accept complete seeds, truncated ones, and no input."""
    target, seeds = TARGETS[name]
    target(b"")
    for seed in seeds():
        target(seed)
        for size in range(0, len(seed), max(1, len(seed) // 10)):
            target(seed[:size])
