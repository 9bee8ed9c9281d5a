"""The addresses of audio: those of the HTTP API, two for pages, and those of the earlier API."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import bytes_response, item_address, json_response, optional_int, required
from tbcore_audio import reader

Handler = Callable[[Request], Response]


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/tags, /audio, /individualAudio, /steps and /step.

    In /audio a series is sampled to at most `samples` steps (0: all); /steps has all of them.
    """

    def tags(request: Request) -> Response:
        return json_response(multiplexer.tags(claims))

    def steps(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        items = reader.steps(multiplexer, claims, run, tag)
        return json_response(
            {
                "index": [item.ordinal for item in items],
                "step": [item.step for item in items],
                "wall_time": [item.wall_time for item in items],
            }
        )

    def step(request: Request) -> Response:
        return json_response(reader.entries_of_step(multiplexer, claims, item_address(request)))

    return [
        Route("/tags", tags),
        Route("/audio", _audio(multiplexer, claims, samples)),
        Route("/individualAudio", _individual_audio(multiplexer, claims)),
        Route("/steps", steps),
        Route("/step", step),
    ]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """data/audio and data/individualAudio, and both without data/ as the document has them."""
    routes = [
        Route("/audio", _audio(multiplexer, claims, samples)),
        Route("/individualAudio", _individual_audio(multiplexer, claims)),
    ]
    return LegacyApi(
        routes=routes,
        tag_types={"audio": lambda run: multiplexer.tags(claims).get(run, [])},
        bare_routes=routes,
    )


def _audio(multiplexer: Multiplexer, claims: Claims, samples: int) -> Handler:
    def audio(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        sample = optional_int(request, "sample", 0)
        return json_response(
            reader.entries(multiplexer, claims, run, tag, sample=sample, samples=samples)
        )

    return audio


def _individual_audio(multiplexer: Multiplexer, claims: Claims) -> Handler:
    def individual_audio(request: Request) -> Response:
        data, content_type, etag = reader.encoded(multiplexer, claims, item_address(request))
        return bytes_response(data, content_type, etag=etag, request=request)

    return individual_audio
