"""Routes: the HTTP API for programs, the routes of the front end, and the legacy API."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import chain

from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, LegacyApi, Multiplexer
from tbcore.http import json_response, optional, optional_int, required, streaming_response
from tbcore_graphs import sources, wire
from tbcore_graphs.cache import TextCache
from tbcore_graphs.library import Library
from tbcore_graphs.proto.graph_pb2 import GraphDef
from tbcore_graphs.proto.run_metadata_pb2 import RunMetadata
from tbcore_graphs.text import Limit, graph_text, message_text

Handler = Callable[[Request], Response]

_MEDIA_TYPE = "text/x-protobuf; charset=utf-8"
_CACHED_TEXT_BYTES = 64 << 20
"""Capacity of each cache of compressed text, in bytes."""
_DEFAULT_LIMIT = 2000
"""Default of the parameter `limit`: the maximum number of rows of a scope in a response."""


def make_routes(multiplexer: Multiplexer, *, graph_bytes: int) -> list[Route]:
    """All routes of the plugin, with a cache of `graph_bytes` for graphs.

    /runs, /graph, /run_metadata and /run_metadata_tags are for programs, and all other routes
    are for the front end.
    """
    library = Library(multiplexer, graph_bytes)

    def runs(request: Request) -> Response:
        listing = multiplexer.tags(sources.GRAPHS)
        return json_response([run for run, tags in listing.items() if tags])

    def run_metadata_tags(request: Request) -> Response:
        return json_response(multiplexer.tags(sources.RUN_METADATA))

    def overview(request: Request) -> Response:
        return json_response(library.overview(required(request, "run")))

    def scope(request: Request) -> Response:
        run, graph = required(request, "run"), optional(request, "graph")
        response = library.graph(run, graph).scope(
            optional(request, "path", ""),
            library.cost_totals(run, graph, optional(request, "tag")),
            limit=optional_int(request, "limit", _DEFAULT_LIMIT, minimum=1),
            offset=optional_int(request, "offset", 0, minimum=0),
            series=optional(request, "series", ""),
        )
        return json_response(response)

    def node(request: Request) -> Response:
        run, name = required(request, "run", "name")
        graph, tag = optional(request, "graph"), optional(request, "tag")
        return json_response(library.node(run, graph, name, tag))

    def trace(request: Request) -> Response:
        run, name = required(request, "run", "name")
        response = library.trace(
            run,
            optional(request, "graph"),
            name,
            optional(request, "path", ""),
            limit=optional_int(request, "limit", _DEFAULT_LIMIT, minimum=1),
            series=optional(request, "series", ""),
        )
        return json_response(response)

    def search(request: Request) -> Response:
        graph = library.graph(required(request, "run"), optional(request, "graph"))
        text, op = optional(request, "text", ""), optional(request, "op")
        limit = optional_int(request, "limit", 100, minimum=0)
        return json_response(graph.search(text, op, limit))

    return [
        Route("/runs", runs),
        Route("/graph", _graph_handler(multiplexer)),
        Route("/run_metadata", _run_metadata_handler(multiplexer)),
        Route("/run_metadata_tags", run_metadata_tags),
        Route("/overview", overview),
        Route("/scope", scope),
        Route("/node", node),
        Route("/trace", trace),
        Route("/search", search),
    ]


def make_legacy_api(multiplexer: Multiplexer) -> LegacyApi:
    """The legacy API: data/graph, also available as /graph, and data/run_metadata."""
    graph = Route("/graph", _graph_handler(multiplexer))
    return LegacyApi(
        routes=[graph, Route("/run_metadata", _run_metadata_handler(multiplexer))],
        tag_types={
            "graph": lambda run: bool(multiplexer.tags(sources.GRAPHS).get(run)),
            "meta_graph": lambda run: bool(multiplexer.tags(sources.META_GRAPHS).get(run)),
            "run_metadata": lambda run: multiplexer.tags(sources.RUN_METADATA).get(run, []),
        },
        bare_routes=[graph],
    )


def _graph_handler(multiplexer: Multiplexer) -> Handler:
    """The handler of /graph, with its own cache."""
    texts = TextCache(_CACHED_TEXT_BYTES)

    def graph(request: Request) -> Response:
        run, limit = required(request, "run"), _limit(request)
        source, function = sources.resolve_id(multiplexer, run, optional(request, "graph"))
        return _text_response(
            request,
            f"graph {source.id!r}",
            texts,
            (source.item.etag, source.id, function, limit),
            GraphDef,
            lambda: sources.read_graph(source, function),
            lambda data: graph_text(data, limit),
        )

    return graph


def _run_metadata_handler(multiplexer: Multiplexer) -> Handler:
    """The handler of /run_metadata, with its own cache."""
    texts = TextCache(_CACHED_TEXT_BYTES)

    def run_metadata(request: Request) -> Response:
        tag, run = required(request, "tag", "run")
        item = sources.run_metadata(multiplexer, run, tag)
        return _text_response(
            request,
            f"run metadata {tag!r}",
            texts,
            item.etag,
            RunMetadata,
            lambda: sources.blob(item.read()),
            lambda data: message_text(RunMetadata, data),
        )

    return run_metadata


def _limit(request: Request) -> Limit | None:
    """The limit on the size of attributes that a request sets; None if it sets none."""
    max_bytes = optional_int(request, "limit_attr_size", minimum=1)
    key = optional(request, "large_attrs_key")
    if max_bytes is None:
        return None
    if key is None:
        raise BadRequestError(
            'query parameter "large_attrs_key" is required with "limit_attr_size": '
            "it names the attribute that lists the omitted ones"
        )
    return Limit(max_bytes, key)


def _text_response(
    request: Request,
    name: str,
    texts: TextCache,
    key: Hashable,
    message_type: type[Message],
    read: Callable[[], bytes],
    text_of: Callable[[bytes], Iterator[bytes]],
) -> Response:
    """A response whose text is generated while it is sent, unless `texts` has it under `key`.

    `text_of` makes the text from the bytes that `read` returns; `name` is for error messages.
    """
    chunks = texts.get(key)
    if chunks is None:
        with sources.decoding(name):
            data = read()
            # Validate first: after the first byte of text, an error response is impossible.
            wire.check(message_type, data)
        chunks = texts.keep(key, text_of(data))
    # An empty text becomes one empty line: front ends loop forever if there is no line end.
    chunks = filter(None, chunks)
    return streaming_response(request, chain([next(chunks, b"\n")], chunks), _MEDIA_TYPE)
