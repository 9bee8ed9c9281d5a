"""Request parsing: reads and validates the JSON bodies of requests for charts and downloads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import orjson
from starlette.requests import Request

from tbcore import BadRequestError, SmoothingKind
from tbcore.http import json_body, string_in, strings_in
from tbcore.values import Average, Spread
from tbcore_scalars.pairing import TagAxis
from tbcore_scalars.windows import Axis, Scale

MAX_PIXELS = 20_000
"""Maximum width of a chart, in pixels."""
MAX_BOUND = 1e300
"""Maximum absolute value of `from` and `to`, so that a range with margins has a finite width."""
WINDOW_FIELDS = {"tag", "x", "from", "to", "pixels", "scale", "smoothing", "smoothing_kind"}
"""The fields that requests for lines and for bands have in common."""
SPREADS_OF_MEANS = ("deviation", "error", "interval")
"""Spreads around the mean, which say nothing about a median or an interquartile mean."""
Format = Literal["csv", "json"]
Choice = TypeVar("Choice", bound=str)


class Window(NamedTuple):
    """The visible range of a chart, and how it is drawn."""

    axis: Axis | TagAxis
    start: float | None
    """None for the smallest x of all runs."""
    stop: float | None
    """None for the largest x of all runs."""
    pixels: int
    """Width of the chart."""
    scale: Scale
    """Scale of the x axis."""
    smoothing: float
    """Weight of the moving average, from 0 to below 1."""
    smoothing_kind: SmoothingKind


class LinesRequest(NamedTuple):
    """A request for the lines of some runs in a window."""

    tag: str
    runs: Sequence[str]
    window: Window
    margin: float
    """How much to include beyond the window on each side, as a fraction of the window's width."""
    known: Mapping[str, str]
    """Maps runs to the generation of the data that the client already has for the same request."""


class BandsRequest(NamedTuple):
    """A request for the bands of some groups of runs in a window."""

    tag: str
    groups: Mapping[str, Sequence[str]]
    """Maps the name of each group to its runs."""
    window: Window
    average: Average
    spread: Spread


class DownloadRequest(NamedTuple):
    """A request for all points of some tags of some runs."""

    tags: Sequence[str]
    runs: Sequence[str]
    format: Format


def parse_lines_request(request: Request) -> LinesRequest:
    """The LinesRequest in a request's body. Raises BadRequestError if it is invalid."""
    body = _body(request, WINDOW_FIELDS | {"runs", "margin", "known"})
    known = body.get("known", {})
    if not _is_mapping_of(known, str):
        raise _bad("known", "an object that maps runs to generations", known)
    margin = _number(body, "margin", 0, 1, "a number from 0 to 1")
    return LinesRequest(string_in(body, "tag"), _names(body, "runs"), _window(body), margin, known)


def parse_bands_request(request: Request) -> BandsRequest:
    """The BandsRequest in a request's body. Raises BadRequestError if it is invalid."""
    body = _body(request, WINDOW_FIELDS | {"groups", "average", "spread"})
    groups = body.get("groups")
    if not isinstance(groups, dict) or not all(map(_is_names, groups.values())):
        raise _bad("groups", "an object that maps names to arrays of runs", groups)
    groups = {name: list(dict.fromkeys(runs)) for name, runs in groups.items()}
    average = _choice(body, "average", get_args(Average))
    spread = _choice(body, "spread", get_args(Spread))
    if average != "mean" and spread in SPREADS_OF_MEANS:
        raise _bad("spread", f'range or quartiles with "average" {average}', spread)
    return BandsRequest(string_in(body, "tag"), groups, _window(body), average, spread)


def parse_download_request(request: Request) -> DownloadRequest:
    """The DownloadRequest in a request's body. Raises BadRequestError if it is invalid."""
    body = _body(request, {"tags", "runs", "format"})
    form = _choice(body, "format", get_args(Format))
    return DownloadRequest(_names(body, "tags"), _names(body, "runs"), form)


def parse_descriptions_request(request: Request) -> tuple[list[str], list[str]]:
    """The tags and the runs in a request's body. Raises BadRequestError if they are invalid."""
    body = _body(request, {"tags", "runs"})
    return _names(body, "tags"), _names(body, "runs")


def _body(request: Request, allowed: set[str]) -> dict[str, Any]:
    """The JSON object in a request's body, which may have only these fields."""
    body = json_body(request)
    unknown = sorted(body.keys() - allowed)
    if unknown:
        known = ", ".join(sorted(allowed))
        raise BadRequestError(f'unknown field "{_shown(unknown[0])}"; expected one of {known}')
    return body


def _window(body: Mapping[str, Any]) -> Window:
    start, stop = _bound(body, "from"), _bound(body, "to")
    if start is not None and stop is not None and start > stop:
        raise BadRequestError(f'"from" must not be greater than "to", got {start} and {stop}')
    pixels = body.get("pixels", 1000)
    if type(pixels) is not int or not 1 <= pixels <= MAX_PIXELS:
        raise _bad("pixels", f"an integer from 1 to {MAX_PIXELS}", pixels)
    smoothing = _number(body, "smoothing", 0, math.nextafter(1, 0), "a number from 0 to below 1")
    scale = _choice(body, "scale", get_args(Scale))
    kind = _choice(body, "smoothing_kind", get_args(SmoothingKind))
    return Window(_axis(body), start, stop, pixels, scale, smoothing, kind)


def _axis(body: Mapping[str, Any]) -> Axis | TagAxis:
    x = body.get("x")
    if not isinstance(x, dict):
        axis: Axis = _choice(body, "x", get_args(Axis))
        return axis
    if x.keys() != {"tag"} or not isinstance(x["tag"], str):
        raise _bad("x", f'one of {", ".join(get_args(Axis))}, or {{"tag": a tag}}', x)
    return TagAxis(x["tag"])


def _names(body: Mapping[str, Any], field: str) -> list[str]:
    """The strings in an array field, without duplicates."""
    return list(dict.fromkeys(strings_in(body, field)))


def _choice(body: Mapping[str, Any], field: str, choices: Sequence[Choice]) -> Choice:
    """The value of a field with fixed choices, by default the first."""
    given = body.get(field, choices[0])
    if given not in choices:
        raise _bad(field, f"one of {', '.join(choices)}", given)
    return choices[choices.index(given)]


def _number(body: Mapping[str, Any], field: str, low: float, high: float, expected: str) -> float:
    """The value of a numeric field, by default 0."""
    number = body.get(field, 0)
    if type(number) not in (int, float) or not low <= number <= high:
        raise _bad(field, expected, number)
    return float(number)


def _bound(body: Mapping[str, Any], field: str) -> float | None:
    bound = body.get(field)
    if bound is None:
        return None
    if type(bound) not in (int, float) or not abs(bound) <= MAX_BOUND:
        raise _bad(field, "a number or null", bound)
    return float(bound)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_mapping_of(value: Any, value_type: type) -> bool:
    return isinstance(value, dict) and all(isinstance(one, value_type) for one in value.values())


def _bad(field: str, expected: str, given: Any) -> BadRequestError:
    shown = _shown(orjson.dumps(given).decode())
    return BadRequestError(f'"{field}" must be {expected}, got {shown}')


def _shown(text: str) -> str:
    # Short, because each character may take up to ten in the escaped response.
    return text[:80]
