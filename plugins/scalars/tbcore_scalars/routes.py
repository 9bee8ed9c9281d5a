"""Routes: the HTTP API for programs, the routes of the front end's charts, and the legacy API."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Claims, LegacyApi, Multiplexer
from tbcore.http import (
    columns_response,
    json_response,
    optional,
    optional_int,
    required,
    streaming_response,
    tags_response,
)
from tbcore_scalars import reader
from tbcore_scalars.charts import Charts
from tbcore_scalars.descriptions import descriptions
from tbcore_scalars.exports import csv_pieces, export, json_pieces
from tbcore_scalars.request_parsing import (
    parse_bands_request,
    parse_descriptions_request,
    parse_download_request,
    parse_lines_request,
)


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """The routes /tags, /scalars, /window, /bands, /descriptions and /download.

    /scalars returns at most `samples` points of a series, unless the request sets another number; 0
    means all. /window, /bands and /download use all points.
    """
    charts = Charts(multiplexer, claims)

    def tags(request: Request) -> Response:
        return tags_response(request, multiplexer.tags(claims))

    def scalars(request: Request) -> Response:
        return _series_response(request, multiplexer, claims, samples)

    def window(request: Request) -> Response:
        return columns_response(*charts.lines(parse_lines_request(request)))

    def bands(request: Request) -> Response:
        return columns_response(*charts.bands(parse_bands_request(request)))

    def described(request: Request) -> Response:
        asked = parse_descriptions_request(request)
        return json_response(descriptions(multiplexer, claims, *asked))

    def download(request: Request) -> Response:
        params = parse_download_request(request)
        return _in_pieces(request, export(multiplexer, claims, params), params.format)

    return [
        Route("/tags", tags),
        Route("/scalars", scalars),
        Route("/window", window, methods=["POST"]),
        Route("/bands", bands, methods=["POST"]),
        Route("/descriptions", described, methods=["POST"]),
        Route("/download", download, methods=["POST"]),
    ]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """The legacy API: data/scalars returns one series or, without run and tag, an overview."""

    def scalars(request: Request) -> Response:
        if optional(request, "run") is not None or optional(request, "tag") is not None:
            return _series_response(request, multiplexer, claims, samples)
        if optional(request, "format", "json") == "csv":
            raise BadRequestError("Scalar sample values only supports JSON output")
        sample_count = optional_int(request, "sample_count", 10, minimum=2)
        return json_response(reader.overview(multiplexer, claims, sample_count))

    return LegacyApi(
        routes=[Route("/scalars", scalars)],
        tag_types={"scalars": lambda run: multiplexer.tags(claims).get(run, [])},
    )


def _series_response(
    request: Request, multiplexer: Multiplexer, claims: Claims, samples: int
) -> Response:
    """The rows of one series, as JSON or CSV."""
    run, tag = required(request, "run", "tag")
    samples = optional_int(request, "samples", samples, minimum=0)
    series = multiplexer.scalars(run, tag, claims=claims, samples=samples)
    format = optional(request, "format", "json")
    return _in_pieces(request, (csv_pieces if format == "csv" else json_pieces)(series), format)


def _in_pieces(request: Request, pieces: Iterator[bytes], format: str) -> Response:
    media_type = "text/csv; charset=utf-8" if format == "csv" else "application/json"
    return streaming_response(request, pieces, media_type)
