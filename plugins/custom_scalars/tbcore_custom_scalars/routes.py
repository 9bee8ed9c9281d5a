"""Routes: TensorBoard's API, and the routes of the front end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import (
    BadRequestError,
    Claims,
    Multiplexer,
    NotFoundError,
    ScalarSeries,
    SmoothingKind,
)
from tbcore.http import (
    columns_response,
    csv_response,
    json_body,
    json_response,
    optional,
    required,
    streaming_response,
    strings_in,
)
from tbcore_custom_scalars.charts import Charts, Margin, match_tags
from tbcore_custom_scalars.layouts import Layouts, to_json

COLUMNS = ("Wall time", "Step", "Value")
"""Header of downloads in CSV."""


def make_routes(
    multiplexer: Multiplexer, layouts: Claims, scalars: Claims, samples: int
) -> list[Route]:
    """/layout, /scalars and /download_data as in TensorBoard; /lines and /margins for charts.

    Responses have at most `samples` points of each series; 0 means all.
    """
    all_layouts = Layouts(multiplexer, layouts)
    charts = Charts(multiplexer, scalars, samples)

    def layout(_request: Request) -> Response:
        merged = all_layouts.merged()
        return json_response({} if merged is None else to_json(merged))

    def read(run: str, tag: str) -> ScalarSeries:
        return multiplexer.scalars(run, tag, claims=scalars, samples=samples)

    def matching_scalars(request: Request) -> Response:
        run = required(request, "run")
        pattern = optional(request, "tag", "")
        tags = multiplexer.tags(scalars).get(run, [])
        matches, invalid = match_tags([pattern], tags)
        if pattern == "" or invalid:
            return json_response({"regex_valid": False, "tag_to_events": {}})
        # In pieces, because the pattern may match every tag.
        pieces = _events([tag for tag in tags if tag in matches], lambda tag: read(run, tag))
        return streaming_response(request, pieces, "application/json")

    def download(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        rows = _rows(read(run, tag))
        if optional(request, "format", "json") == "csv":
            return csv_response(COLUMNS, rows)
        return json_response(rows)

    def lines(request: Request) -> Response:
        body = json_body(request)
        runs, patterns = strings_in(body, "runs"), strings_in(body, "tags")
        return columns_response(*charts.lines(runs, patterns, *_smoothing(body)))

    def margins(request: Request) -> Response:
        body = json_body(request)
        return columns_response(*charts.margins(strings_in(body, "runs"), _margins(body)))

    return [
        Route("/layout", layout),
        Route("/scalars", matching_scalars),
        Route("/download_data", download),
        Route("/lines", lines, methods=["POST"]),
        Route("/margins", margins, methods=["POST"]),
    ]


def _rows(series: ScalarSeries) -> list[tuple[float, int, float]]:
    """Wall time, step and value of each point."""
    return list(
        zip(series.wall_time.tolist(), series.step.tolist(), series.value.tolist(), strict=True)
    )


def _events(tags: Sequence[str], read: Callable[[str], ScalarSeries]) -> Iterator[bytes]:
    """Yields the JSON of the response of /scalars, one tag at a time."""
    yield b'{"regex_valid":true,"tag_to_events":{'
    separator = b""
    for tag in tags:
        try:
            rows = _rows(read(tag))
        except NotFoundError:
            continue  # The run was deleted after it was listed.
        yield separator + json_response(tag).body + b":" + json_response(rows).body
        separator = b","
    yield b"}}"


def _smoothing(body: dict[str, Any]) -> tuple[float, SmoothingKind]:
    """The weight and the kind of smoothing. Raises BadRequestError if they are invalid."""
    weight, kind = body.get("smoothing", 0), body.get("smoothing_kind", "exponential")
    if type(weight) not in (int, float) or not 0 <= weight < 1:
        raise BadRequestError('"smoothing" must be a number from 0 to below 1')
    if kind not in get_args(SmoothingKind):
        kinds = ", ".join(get_args(SmoothingKind))
        raise BadRequestError(f'"smoothing_kind" must be one of {kinds}')
    return weight, kind


def _margins(body: dict[str, Any]) -> list[Margin]:
    """The margins in the field `series`. Raises BadRequestError if they are invalid."""
    series = body.get("series")
    if isinstance(series, list):
        try:
            margins = [Margin(**one) for one in series]
        except TypeError:
            margins = []
        if len(margins) == len(series) and all(isinstance(t, str) for m in margins for t in m):
            return margins
    expected = '{"value": tag, "lower": tag, "upper": tag}'
    raise BadRequestError(f'"series" must be an array of {expected}')
