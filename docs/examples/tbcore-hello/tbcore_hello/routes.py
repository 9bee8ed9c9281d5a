"""The route /latest: the latest value of each scalar of a run, as JSON."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Claims, Multiplexer
from tbcore.http import json_response, required
from tbcore_hello import reader


def make_routes(multiplexer: Multiplexer, claims: Claims) -> list[Route]:
    """The plugin's routes, which tbcore serves below data/plugin/hello/."""

    def latest(request: Request) -> Response:
        run = required(request, "run")
        return json_response(reader.latest(multiplexer, claims, run))

    return [Route("/latest", latest)]
