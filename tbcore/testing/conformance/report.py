"""Reports: how a check says what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

MAX_SHOWN = 5


def report(found: Iterable[object], todo: str) -> None:
    """Fails with what to do, and the first few of what was found; passes when nothing was."""
    wrong = list(found)
    if not wrong:
        return
    lines = "".join(f"\n  {one}" for one in wrong[:MAX_SHOWN])
    more = f"\n  ... and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
    pytest.fail(f"{todo}{lines}{more}", pytrace=False)
