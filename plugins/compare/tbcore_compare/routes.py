"""Routes: what runs have, their values, their texts, their curves, and the bands of groups."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, get_args

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Multiplexer, NotFoundError, RunHParams
from tbcore.http import columns_response, json_body, string_in, strings_in
from tbcore.values import Average, Spread
from tbcore_compare.bands import MAX_STEPS, band_of
from tbcore_compare.reader import (
    SCALARS,
    curve_of,
    hparam_rows,
    tags_by_run,
    times,
    values_of,
)
from tbcore_compare.texts import compared

MAX_RUNS = 1000
"""Maximum number of runs in a request."""
MAX_SERIES = 20_000
"""Maximum number of runs times tags in a request for values."""


def make_routes(multiplexer: Multiplexer) -> list[Route]:
    """The routes /runs, /values, /texts, /curves and /bands."""

    def runs(request: Request) -> Response:
        names = _runs_in(json_body(request))
        hparams = multiplexer.hyperparameters(names)
        tag_sets: dict[tuple[tuple[str, str], ...], int] = {}
        facts = []
        for run, tags in zip(names, tags_by_run(multiplexer, names), strict=True):
            tag_set = tag_sets.setdefault(tuple(tags), len(tag_sets))
            facts.append({**_facts(multiplexer, run, hparams.get(run)), "tag_set": tag_set})
        return columns_response({"runs": facts, "tag_sets": list(tag_sets)}, [])

    def values(request: Request) -> Response:
        body = json_body(request)
        names, tags = _runs_in(body), strings_in(body, "tags")
        if len(names) * len(tags) > MAX_SERIES:
            raise BadRequestError(
                f"at most {MAX_SERIES} values can be requested, got {len(names)} runs with "
                f"{len(tags)} tags each"
            )
        return columns_response(
            {"runs": names, "tags": tags}, [values_of(multiplexer, run, tags) for run in names]
        )

    def texts(request: Request) -> Response:
        body = json_body(request)
        base = string_in(body, "base") if body.get("base") is not None else None
        return columns_response(
            compared(multiplexer, string_in(body, "tag"), base, _runs_in(body)), []
        )

    def curves(request: Request) -> Response:
        body = json_body(request)
        tag = string_in(body, "tag")
        header, tables = [], []
        for run in _runs_in(body):
            try:
                curve = curve_of(multiplexer.scalars(run, tag, claims=SCALARS))
            except NotFoundError:
                continue
            header.append({"run": run, "segments": curve.segments, "num_points": curve.num_points})
            tables.append(curve.columns)
        return columns_response(header, tables)

    def bands(request: Request) -> Response:
        body = json_body(request)
        tag, average = string_in(body, "tag"), _choice_in(body, "average", get_args(Average))
        spread: Spread = "deviation" if average == "mean" else "quartiles"
        if "spread" in body:
            spread = _choice_in(body, "spread", get_args(Spread))
        header, tables = [], []
        for group in _groups_in(body):
            found = []
            for run in group:
                with suppress(NotFoundError):
                    found.append(multiplexer.scalars(run, tag, claims=SCALARS))
            logged = [series for series in found if len(series)]
            band = band_of(logged, average, spread) if logged else {"step": np.empty(0)}
            num_steps = len(band["step"])
            if num_steps >= MAX_STEPS:
                num_steps = len(np.unique(np.concatenate([series.step for series in logged])))
            header.append({"num_runs": len(logged), "num_steps": num_steps})
            tables.append(band if logged else {})
        return columns_response(header, tables)

    return [
        Route(f"/{handler.__name__}", handler, methods=["POST"])
        for handler in (runs, values, texts, curves, bands)
    ]


def _runs_in(body: Any) -> list[str]:
    """The names of different runs in a body, in their order."""
    names = list(dict.fromkeys(strings_in(body, "runs")))
    if len(names) > MAX_RUNS:
        raise BadRequestError(f"at most {MAX_RUNS} runs can be compared, got {len(names)}")
    return names


def _choice_in(body: Any, field: str, choices: Sequence[str]) -> Any:
    """One of these names in a field of a body."""
    name = string_in(body, field)
    if name in choices:
        return name
    names = f"{', '.join(choices[:-1])} or {choices[-1]}"
    raise BadRequestError(f'"{field}" must be {names}, got {name!r}')


def _groups_in(body: Any) -> list[list[str]]:
    """The runs of each group in a body."""
    groups = body.get("groups")
    if not isinstance(groups, list):
        raise BadRequestError('"groups" must be a list of lists of names of runs')
    names = [strings_in({"groups": group}, "groups") for group in groups]
    if sum(map(len, names)) > MAX_RUNS:
        raise BadRequestError(f"at most {MAX_RUNS} runs can be compared")
    return names


def _facts(multiplexer: Multiplexer, run: str, hparams: RunHParams | None) -> dict[str, Any]:
    """What a run has besides its tags: `exists`, `live`, `times`, `hparams`, `hparams_error`."""
    facts: dict[str, Any] = {"name": run, "exists": True, "live": multiplexer.is_live(run)}
    try:
        found = times(multiplexer, run)
        facts["times"] = found and dict(zip(("first", "last", "step"), found, strict=True))
        if hparams is None:
            return facts | {"hparams": None}
        if hparams.error:
            return facts | {"hparams": None, "hparams_error": hparams.error}
        rows = hparam_rows(multiplexer, hparams.source)
        return facts | {"hparams": {"source": hparams.source, "rows": rows}}
    except NotFoundError:
        return facts | {"exists": False, "times": None, "hparams": None}
