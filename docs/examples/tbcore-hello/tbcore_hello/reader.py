"""Reads the latest value of each scalar of a run."""

from __future__ import annotations

from typing import TypedDict

from tbcore import Claims, Multiplexer


class Latest(TypedDict):
    """The last point of a series in the order of the log."""

    step: int
    value: float


def latest(multiplexer: Multiplexer, claims: Claims, run: str) -> dict[str, Latest]:
    """Maps each tag of a run to its latest point; empty for an unknown run."""
    latest_points: dict[str, Latest] = {}
    for tag in multiplexer.tags(claims).get(run, []):
        # Sampling always keeps the last point, so a single sample is the latest one.
        series = multiplexer.scalars(run, tag, claims=claims, samples=1)
        if len(series):
            latest_points[tag] = {"step": int(series.step[-1]), "value": float(series.value[-1])}
    return latest_points
