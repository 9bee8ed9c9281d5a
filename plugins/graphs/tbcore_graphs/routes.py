"""The addresses of graphs: those of the HTTP API, those for pages, and those of the earlier API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tbcore import BadRequestError, LegacyApi, Multiplexer
from tbcore.http import json_response, optional, optional_int, required
from tbcore_graphs import sources, wire
from tbcore_graphs.proto.graph_pb2 import GraphDef
from tbcore_graphs.proto.run_metadata_pb2 import RunMetadata
from tbcore_graphs.text import Limit, graph_text, message_text

Handler = Callable[[Request], Response]

_MEDIA_TYPE = "text/x-protobuf; charset=utf-8"
_WHOLE_BYTES = 1 << 20
"""Text that is shorter is sent as a whole, with its length."""


def make_routes(multiplexer: Multiplexer) -> list[Route]:
    """/runs, /graph, /run_metadata and /run_metadata_tags."""

    def runs(request: Request) -> Response:
        return json_response(
            [run for run, tags in multiplexer.tags(sources.GRAPHS).items() if tags]
        )

    def run_metadata_tags(request: Request) -> Response:
        return json_response(multiplexer.tags(sources.RUN_METADATA))

    return [
        Route("/runs", runs),
        Route("/graph", _graph(multiplexer)),
        Route("/run_metadata", _run_metadata(multiplexer)),
        Route("/run_metadata_tags", run_metadata_tags),
    ]


def make_legacy_api(multiplexer: Multiplexer) -> LegacyApi:
    """data/graph and data/run_metadata; the former without data/ too."""
    graph = Route("/graph", _graph(multiplexer))
    return LegacyApi(
        routes=[graph, Route("/run_metadata", _run_metadata(multiplexer))],
        tag_types={
            "graph": lambda run: bool(multiplexer.tags(sources.GRAPHS).get(run)),
            "meta_graph": lambda run: bool(multiplexer.tags(sources.META_GRAPHS).get(run)),
            "run_metadata": lambda run: multiplexer.tags(sources.RUN_METADATA).get(run, []),
        },
        bare_routes=[graph],
    )


def _graph(multiplexer: Multiplexer) -> Handler:
    def graph(request: Request) -> Response:
        run, limit = required(request, "run"), _limit(request)
        data = sources.source(multiplexer, run, optional(request, "graph")).read()
        wire.check(GraphDef, data)
        return _text_response(graph_text(data, limit))

    return graph


def _run_metadata(multiplexer: Multiplexer) -> Handler:
    def run_metadata(request: Request) -> Response:
        tag, run = required(request, "tag", "run")
        data = sources.blob(sources.run_metadata(multiplexer, run, tag).read())
        wire.check(RunMetadata, data)
        return _text_response(message_text(RunMetadata, data))

    return run_metadata


def _limit(request: Request) -> Limit | None:
    """The bound on the size of attributes that a request asks for."""
    max_bytes = optional_int(request, "limit_attr_size", minimum=1)
    key = optional(request, "large_attrs_key")
    if max_bytes is None:
        return None
    if key is None:
        raise BadRequestError(
            'query parameter "large_attrs_key" is required with "limit_attr_size": '
            "it names the attribute that lists what was left out"
        )
    return Limit(max_bytes, key)


def _text_response(chunks: Iterator[bytes]) -> Response:
    """Text that is made while it is sent, unless it is short."""
    start, size = [], 0
    for chunk in chunks:
        start.append(chunk)
        size += len(chunk)
        if size > _WHOLE_BYTES:
            return StreamingResponse(chain(start, chunks), headers={"content-type": _MEDIA_TYPE})
    # Pages read up to the end of a line, for ever where there is none.
    return Response(b"".join(start) or b"\n", headers={"content-type": _MEDIA_TYPE})
