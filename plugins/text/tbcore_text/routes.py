"""The addresses of texts: those that TensorBoard has, and those for pages."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Claims, Multiplexer
from tbcore.http import json_body, json_response, names_in, optional, required
from tbcore.media import Media
from tbcore.values import text
from tbcore_text.reader import html_of, samples
from tbcore_text.search import Asked, Place, search


def make_routes(multiplexer: Multiplexer, claims: Claims, num_samples: int) -> list[Route]:
    """/text and /runs as TensorBoard has them; /tags, /steps, /step, /individualText and /search.

    In /text a series is sampled to at most `num_samples` steps (0: all).
    """
    media = Media(multiplexer, claims, samples)

    def texts(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        is_markdown = optional(request, "markdown", "true") != "false"
        rows = multiplexer.read_items(run, tag, claims, text, samples=num_samples)
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
        return json_response(search(multiplexer, claims, _asked(request)))

    return [
        *media.routes(),
        Route("/text", texts),
        Route("/runs", runs),
        Route("/individualText", media.individual),
        Route("/search", find, methods=["POST"]),
    ]


def _asked(request: Request) -> Asked:
    body = json_body(request)
    query = body.get("query")
    if not isinstance(query, str) or query == "":
        raise BadRequestError('"query" must be a text that is not empty')
    return Asked(query, names_in(body, "runs"), names_in(body, "tags"), _place(body.get("after")))


def _place(given: Any) -> Place | None:
    match given:
        case None:
            return None
        case {"run": str(run), "tag": str(tag), "ordinal": int() | None as ordinal}:
            return Place(run, tag, ordinal)
    raise BadRequestError('"after" must be what an answer had as "next"')
