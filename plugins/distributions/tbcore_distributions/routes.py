"""Routes: the HTTP API for programs, the route of the front end, and the legacy API."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import (
    csv_response,
    json_response,
    optional,
    required,
    series_response,
    tags_response,
)
from tbcore_distributions import reader


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/tags, /distributions and /series, with at most `samples` steps of each tag; 0 means all."""

    def tags(request: Request) -> Response:
        return tags_response(request, multiplexer.tags(claims))

    def series(request: Request) -> Response:
        read = partial(reader.drawn_rows, multiplexer, claims)
        return series_response(request, multiplexer, claims, read, samples=samples)

    return [
        Route("/tags", tags),
        Route("/distributions", _distributions_handler(multiplexer, claims, samples)),
        Route("/series", series),
    ]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """The legacy API: data/compressedHistograms, with the same responses as the plugin's route."""
    return LegacyApi(
        routes=[
            Route("/compressedHistograms", _distributions_handler(multiplexer, claims, samples))
        ],
        tag_types={"compressedHistograms": lambda run: multiplexer.tags(claims).get(run, [])},
    )


def _distributions_handler(
    multiplexer: Multiplexer, claims: Claims, samples: int
) -> Callable[[Request], Response]:
    """The handler of /distributions, and of the legacy route."""

    def distributions(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        rows = reader.rows(multiplexer, claims, run, tag, samples)
        if optional(request, "format", "json") == "csv":
            return csv_response(reader.CSV_HEADER, reader.csv_rows(rows))
        return json_response(rows)

    return distributions
