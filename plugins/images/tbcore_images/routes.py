"""The addresses of images: those of the HTTP API, two for pages, and those of the earlier API."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import bytes_response, item_address, json_response, optional_int, required
from tbcore_images import reader

Handler = Callable[[Request], Response]


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/tags, /images, /individualImage, /steps and /step.

    In /images a series is sampled to at most `samples` steps (0: all); /steps has all of them.
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
        Route("/images", _images(multiplexer, claims, samples)),
        Route("/individualImage", _individual_image(multiplexer, claims)),
        Route("/steps", steps),
        Route("/step", step),
    ]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """data/images and data/individualImage; the latter without data/ too."""
    individual_image = Route("/individualImage", _individual_image(multiplexer, claims))
    return LegacyApi(
        routes=[Route("/images", _images(multiplexer, claims, samples)), individual_image],
        tag_types={"images": lambda run: multiplexer.tags(claims).get(run, [])},
        bare_routes=[individual_image],
    )


def _images(multiplexer: Multiplexer, claims: Claims, samples: int) -> Handler:
    def images(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        sample = optional_int(request, "sample", 0)
        return json_response(
            reader.entries(multiplexer, claims, run, tag, sample=sample, samples=samples)
        )

    return images


def _individual_image(multiplexer: Multiplexer, claims: Claims) -> Handler:
    def individual_image(request: Request) -> Response:
        data, content_type, etag = reader.encoded(multiplexer, claims, item_address(request))
        return bytes_response(data, content_type, etag=etag, request=request)

    return individual_image
