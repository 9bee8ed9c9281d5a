"""report: makes a check fail with a list of problems, and advice."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

MAX_SHOWN = 5
"""Maximum number of problems that a report lists. If there are more, its last line counts them."""


def report(problems: Iterable[object], advice: str) -> None:
    """Fails the test with the advice and the first few problems; does nothing without problems."""
    found = list(problems)
    if not found:
        return
    lines = "".join(f"\n  {one}" for one in found[:MAX_SHOWN])
    more = f"\n  ... and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    pytest.fail(f"{advice}{lines}{more}", pytrace=False)
