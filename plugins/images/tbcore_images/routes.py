"""The addresses of images: those of the HTTP API, those for pages, and those of the earlier API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import json_response, optional_int, required
from tbcore.media import Media
from tbcore_images.reader import pictures


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/images, /individualImage, and /tags, /steps and /step for pages.

    In /images a series is sampled to at most `samples` steps (0: all).
    """
    media = Media(multiplexer, claims, pictures)
    return [*_routes(media, samples), *media.routes()]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """data/images and data/individualImage; the latter without data/ too."""
    images, individual_image = _routes(Media(multiplexer, claims, pictures), samples)
    return LegacyApi(
        routes=[images, individual_image],
        tag_types={"images": lambda run: multiplexer.tags(claims).get(run, [])},
        bare_routes=[individual_image],
    )


def _routes(media: Media, samples: int) -> list[Route]:
    def images(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        sample = optional_int(request, "sample", 0)
        return json_response(
            [
                {
                    **picture.fields,
                    "wall_time": item.wall_time,
                    "step": item.step,
                    "query": query,
                }
                for item, picture, query in media.listing(run, tag, sample=sample, samples=samples)
            ]
        )

    return [Route("/images", images), Route("/individualImage", media.individual)]
