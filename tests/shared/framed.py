"""Where the records of an event file are, found without the product."""

from __future__ import annotations


def records_of(data: bytes) -> list[tuple[int, int]]:
    """Start and end of each record of an undamaged file; the last one may end after the data."""
    bounds, start = [], 0
    while start + 16 <= len(data):
        end = start + 16 + int.from_bytes(data[start : start + 8], "little")
        bounds.append((start, end))
        start = end
    return bounds
