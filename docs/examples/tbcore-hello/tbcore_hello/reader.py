"""The newest value of each scalar of a run."""

from __future__ import annotations

from typing import TypedDict

from tbcore import Claims, Multiplexer


class Latest(TypedDict):
    """The point of a series that was written last."""

    step: int
    value: float


def latest(multiplexer: Multiplexer, claims: Claims, run: str) -> dict[str, Latest]:
    """Tag to its newest point; an unknown run has none."""
    newest: dict[str, Latest] = {}
    for tag in multiplexer.tags(claims).get(run, []):
        # Sampling keeps the last point, so one sample is the newest one.
        series = multiplexer.scalars(run, tag, claims=claims, samples=1)
        if len(series):
            newest[tag] = {"step": int(series.step[-1]), "value": float(series.value[-1])}
    return newest
