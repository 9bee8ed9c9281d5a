"""The addresses of texts: those that TensorBoard has, and those for pages."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Claims, Multiplexer
from tbcore.http import json_response, optional, request_body, required
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
        return json_response(search(multiplexer, claims, _asked(request_body(request))))

    return [
        *media.routes(),
        Route("/text", texts),
        Route("/runs", runs),
        Route("/individualText", media.individual),
        Route("/search", find, methods=["POST"]),
    ]


def _asked(body: bytes) -> Asked:
    try:
        given = json.loads(body)
        after = given.get("after")
        asked = Asked(given["query"], given["runs"], given["tags"], after and Place(**after))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        asked = None
    if asked is None or not _is_whole(asked):
        wanted = '{"query": "words", "runs": ["name", ...], "tags": ["name", ...]}'
        raise BadRequestError(
            f"the body must be {wanted}, got {body[:100].decode(errors='replace')!r}"
        )
    return asked


def _is_whole(asked: Asked) -> bool:
    after = asked.after
    return (
        isinstance(asked.query, str)
        and asked.query != ""
        and _are_names(asked.runs)
        and _are_names(asked.tags)
        and (
            after is None
            or (_are_names([after.run, after.tag]) and isinstance(after.ordinal, int | None))
        )
    )


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)
