"""Routes: TensorBoard's API, and the routes of the front end."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Claims, Multiplexer
from tbcore.http import json_body, json_response, optional, required, strings_in
from tbcore.media import Media
from tbcore.values import text as decode_text
from tbcore_text.reader import html_of
from tbcore_text.reader import samples as decode_samples
from tbcore_text.search import SearchPosition, SearchQuery, search


def make_routes(multiplexer: Multiplexer, claims: Claims, num_samples: int) -> list[Route]:
    """/text and /runs as in TensorBoard; also /tags, /steps, /step, /individualText and /search.

    /text returns at most `num_samples` steps of a series; 0 means all.
    """
    media = Media(multiplexer, claims, decode_samples)

    def texts(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        is_markdown = optional(request, "markdown", "true") != "false"
        rows = multiplexer.read_items(run, tag, claims, decode_text, samples=num_samples)
        return json_response(
            [
                {
                    "wall_time": item.wall_time,
                    "step": item.step,
                    "text": html_of(strings, is_markdown=is_markdown),
                }
                for item, strings in rows
            ]
        )

    def runs(request: Request) -> Response:
        return json_response({run: tags for run, tags in multiplexer.tags(claims).items() if tags})

    def find(request: Request) -> Response:
        return json_response(search(multiplexer, claims, _search_query(request)))

    return [
        *media.routes(),
        Route("/text", texts),
        Route("/runs", runs),
        Route("/individualText", media.individual),
        Route("/search", find, methods=["POST"]),
    ]


def _search_query(request: Request) -> SearchQuery:
    """The query in a request's body. Raises BadRequestError if it is invalid."""
    body = json_body(request)
    query = body.get("query")
    if not isinstance(query, str) or query == "":
        raise BadRequestError('"query" must be a string that is not empty')
    return SearchQuery(
        query,
        strings_in(body, "runs"),
        strings_in(body, "tags"),
        _search_position(body.get("after")),
    )


def _search_position(given: Any) -> SearchPosition | None:
    """The position in the field `after`, which is the `next` of an earlier response."""
    match given:
        case None:
            return None
        case {"run": str(run), "tag": str(tag), "ordinal": int() | None as ordinal}:
            return SearchPosition(run, tag, ordinal)
    raise BadRequestError('"after" must be the "next" of an earlier response')
