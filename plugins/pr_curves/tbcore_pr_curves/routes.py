"""Routes: TensorBoard's API, and the routes of the front end."""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, Multiplexer, NotFoundError
from tbcore.http import json_response, required
from tbcore.media import Media
from tbcore_pr_curves.reader import curve, samples


def make_routes(multiplexer: Multiplexer, claims: Claims, num_samples: int) -> list[Route]:
    """/tags, /pr_curves and /available_time_entries as in TensorBoard; also /steps and /step.

    /pr_curves and /available_time_entries return at most `num_samples` steps of each series; 0
    means all.
    """

    def tags(request: Request) -> Response:
        return json_response(
            {
                run: {tag: _description(multiplexer, run, tag) for tag in names}
                for run, names in multiplexer.tags(claims).items()
                if names
            }
        )

    def pr_curves(request: Request) -> Response:
        tag, _ = required(request, "tag", "run")
        runs = dict.fromkeys(request.query_params.getlist("run"))
        return json_response({run: entries(run, tag) for run in runs})

    def entries(run: str, tag: str) -> list[dict[str, Any]]:
        rows = multiplexer.read_items(run, tag, claims, curve, samples=num_samples)
        return [
            {"wall_time": item.wall_time, "step": item.step, **columns} for item, columns in rows
        ]

    def available_time_entries(request: Request) -> Response:
        all_tags = multiplexer.tags(claims)
        # The times of one tag stand for the times of the run.
        return json_response(
            {run: times(run, min(names)) for run, names in all_tags.items() if names}
        )

    def times(run: str, tag: str) -> list[dict[str, Any]]:
        try:
            items = multiplexer.items(run, tag, claims, samples=num_samples)
        except NotFoundError:
            return []  # The run was deleted after it was listed.
        return [{"step": item.step, "wall_time": item.wall_time} for item in items]

    media = Media(multiplexer, claims, samples)
    return [
        Route("/tags", tags),
        Route("/pr_curves", pr_curves),
        Route("/available_time_entries", available_time_entries),
        *(route for route in media.routes() if route.path != "/tags"),
    ]


def _description(multiplexer: Multiplexer, run: str, tag: str) -> dict[str, str]:
    """The name and the description that the writer gave a tag, as in the response of /tags."""
    try:
        metadata = multiplexer.metadata(run, tag)
    except NotFoundError:
        return {"displayName": tag, "description": ""}  # The run was deleted after it was listed.
    description = metadata.summary_description
    return {
        "displayName": metadata.display_name,
        # Clients insert the description as HTML, and what was logged is plain text.
        "description": f"<p>{escape(description)}</p>" if description else "",
    }
