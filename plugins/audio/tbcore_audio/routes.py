"""Routes: the HTTP API for programs, the routes of the front end, and the legacy API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, LegacyApi, Multiplexer
from tbcore.http import json_response, optional_int, required
from tbcore.media import Media
from tbcore_audio.reader import clips


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/audio and /individualAudio for programs; /tags, /steps and /step for the front end.

    /audio returns at most `samples` steps of a series; 0 means all.
    """
    media = Media(multiplexer, claims, clips)
    return [*_routes(media, samples), *media.routes()]


def make_legacy_api(multiplexer: Multiplexer, claims: Claims, samples: int) -> LegacyApi:
    """The legacy API: data/audio and data/individualAudio, both also available without data/."""
    routes = _routes(Media(multiplexer, claims, clips), samples)
    return LegacyApi(
        routes=routes,
        tag_types={"audio": lambda run: multiplexer.tags(claims).get(run, [])},
        bare_routes=routes,
    )


def _routes(media: Media, samples: int) -> list[Route]:
    """The routes /audio and /individualAudio."""

    def audio(request: Request) -> Response:
        run, tag = required(request, "run", "tag")
        sample = optional_int(request, "sample", 0)
        return json_response(
            [
                {
                    "wall_time": item.wall_time,
                    "step": item.step,
                    "content_type": clip.content_type,
                    "query": query,
                }
                for item, clip, query in media.listing(
                    run, tag, sample_index=sample, samples=samples
                )
            ]
        )

    return [Route("/audio", audio), Route("/individualAudio", media.individual)]
