"""Inputs that once found a fault, and those that a fuzzer starts from, do no harm."""

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
def test_what_was_found_is_repaired(path: Path) -> None:
    """Each in a folder that is named after its target."""
    target, _ = TARGETS[path.parent.name]
    target(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_of_the_form_that_they_stand_for(name: str) -> None:
    """Whole, cut short anywhere, and none at all."""
    target, seeds = TARGETS[name]
    target(b"")
    for seed in seeds():
        target(seed)
        for size in range(0, len(seed), max(1, len(seed) // 10)):
            target(seed[:size])
