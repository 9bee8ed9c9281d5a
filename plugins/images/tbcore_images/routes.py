"""Routes: the HTTP API for programs, the routes of the front end, and the legacy API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import json_response, optional_int, required
from tbcore.media import Media
from tbcore_images.reader import decode_images


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/images and /individualImage for programs; /tags, /steps and /step for the front end.

    /images returns at most `samples` steps of a series; 0 means all.
    """
    media = Media(multiplexer, claims, decode_images)
    return [*_routes(media, samples), *media.routes()]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """The legacy API: data/images and data/individualImage, and the latter also without data/."""
    images, individual_image = _routes(Media(multiplexer, claims, decode_images), samples)
    return LegacyApi(
        routes=[images, individual_image],
        tag_types={"images": lambda run: multiplexer.tags(claims).get(run, [])},
        bare_routes=[individual_image],
    )


def _routes(media: Media, samples: int) -> list[Route]:
    """The routes /images and /individualImage."""

    def images(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        sample = optional_int(request, "sample", 0)
        return json_response(
            [
                {
                    **image.fields,
                    "wall_time": item.wall_time,
                    "step": item.step,
                    "query": query,
                }
                for item, image, query in media.listing(
                    run, tag, sample_index=sample, samples=samples
                )
            ]
        )

    return [Route("/images", images), Route("/individualImage", media.individual)]
