"""Responses: JSON, CSV, columns, bytes and errors, and what a client has already."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tbcore.http.parameters import optional_int, required
from tbcore.json import release_gil, to_json
from tbcore.plugins.stats import CURRENT_PLUGIN
from tbcore.store.multiplexer import Multiplexer
from tbcore.text import printable_line

if TYPE_CHECKING:
    from tbcore.kinds import Claims

SAFE_CONTENT_TYPES = frozenset({
    "application/gzip", "application/octet-stream", "application/ogg", "application/x-protobuf",
    "application/zip", "audio/3gpp", "audio/aac", "audio/basic", "audio/flac", "audio/l16",
    "audio/m4a", "audio/midi", "audio/mp3", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/opus",
    "audio/vnd.wave", "audio/vorbis", "audio/wav", "audio/wave", "audio/webm", "audio/x-aiff",
    "audio/x-flac", "audio/x-m4a", "audio/x-mp3", "audio/x-pn-wav", "audio/x-wav", "image/avif",
    "image/bmp", "image/gif", "image/jpeg", "image/png", "image/tiff", "image/webp", "text/csv",
    "text/plain", "text/tab-separated-values", "text/x-protobuf", "video/mp4", "video/ogg",
    "video/webm",
})  # fmt: skip
"""Content types in which browsers run no scripts. HTML, SVG and PDF are left out: the bytes, and
often the type, come from a log that cannot be trusted."""

MIN_BYTES_TO_STREAM = 1 << 20
"""`streaming_response` streams a body that is longer than this."""
MAX_ROWS_AT_ONCE = 1 << 13
"""Maximum number of rows that are written at once, while no other thread runs."""


def json_response(data: Any, *, status: int = 200, etag: str | None = None) -> Response:
    """A response with JSON of mappings, iterables, numpy arrays and scalars, strings and numbers.

    Dataclasses become objects, enum members their values, and dates and times strings. Non-finite
    numbers at any depth become the strings "NaN", "Infinity" and "-Infinity". float32 is widened to
    float64, so 0.1 becomes 0.10000000149011612. Keys of mappings must be strings.

    With an `etag` the client keeps the response and validates it the next time; see `not_modified`.
    """
    headers = {} if etag is None else {"etag": _entity_tag(etag)}
    return Response(to_json(data), status, headers, media_type="application/json")


def tags_response(request: Request, tags: Mapping[str, Collection[str]]) -> Response:
    """A JSON response with the tags of each run, for a route `/tags` as `watchTags` requests it.

    The response to its parameter `shared` has each list once that is the same object for many runs:
    `{"": [["loss", "lr"]], "a": 0, "b": 0}`. No run has the name "".
    """
    if "shared" not in request.query_params:
        return json_response(tags)
    lists: dict[int, tuple[int, Collection[str]]] = {}
    indexes = {run: lists.setdefault(id(t), (len(lists), t))[0] for run, t in tags.items()}
    return json_response({"": [names for _, names in lists.values()]} | indexes)


def not_modified(request: Request, etag: str) -> Response | None:
    """A response with status 304 if the client has the version that `etag` names, else None.

    A handler can then skip a slow computation:

        if response := not_modified(request, etag):
            return response
        return json_response(slow_computation(), etag=etag)
    """
    tag = _entity_tag(etag)
    if not etag_matches(request.headers.get("if-none-match"), tag):
        return None
    return Response(status_code=304, headers={"cache-control": "no-cache", "etag": tag})


def series_response(
    request: Request,
    multiplexer: Multiplexer,
    claims: Claims,
    read: Callable[[str, str, int], Sequence[Any]],
    *,
    samples: int,
) -> Response:
    """A JSON response `{"num_steps": ..., "rows": [...]}` with samples of a series of items.

    It also has the `display_name` and the `description` of the tag, if there is any.

    The request's parameters `run` and `tag` name the series; its parameter `samples`, if it has
    one, replaces the argument `samples`. `read(run, tag, samples)` chooses at most `samples` items
    (0: all) and returns a row for each item that can be read. `read` is not called if the client
    has the current response already. `num_steps` is the length of the whole series.
    """
    run, tag = required(request, "run", "tag")
    num_samples = optional_int(request, "samples", samples, minimum=0)
    etag = f"{num_samples} {multiplexer.items_etag(run, tag, claims)}"
    if response := not_modified(request, etag):
        return response
    num_steps = len(multiplexer.item_series(run, tag, claims))
    rows = read(run, tag, num_samples)
    # Without all rows there is no etag: the missing items may be readable the next time.
    is_complete = len(rows) >= min(num_samples or num_steps, num_steps)
    found = {"num_steps": num_steps, "rows": rows, **multiplexer.description(run, tag)}
    return json_response(found, etag=etag if is_complete else None)


def _entity_tag(etag: str) -> str:
    """The value of an ETag header for any text.

    The value is a hash, because headers allow few characters. The hash includes the time at which
    the running plugin was loaded: after an edit, an upgrade or new options, the plugin's response
    may differ for the same data.
    """
    plugin = CURRENT_PLUGIN.get()
    text = f"{plugin.since if plugin else ''} {etag}"
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def csv_response(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """A response with CSV: CRLF after every row, even the last, and quotes only where necessary.

    Floats are written with the fewest digits that represent them exactly; non-finite ones as `nan`,
    `inf` and `-inf`. Rows must hold Python values: pass `array.tolist()`.
    """
    body = io.BytesIO()
    remaining = chain([header], rows)
    while batch := list(islice(remaining, MAX_ROWS_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerows(batch)
        body.write(text.getvalue().encode("utf-8", "backslashreplace"))
        if len(batch) == MAX_ROWS_AT_ONCE:
            release_gil()
    return Response(body.getvalue(), headers={"content-type": "text/csv; charset=utf-8"})


def columns_response(header: Any, tables: Sequence[Mapping[str, Any]]) -> Response:
    """A response with tables of float64, which `tbcore/requests.js` reads without parsing.

    `header` is anything that `json_response` accepts. Each table maps column names to arrays or
    sequences of numbers, all of the same length. Integers beyond 2**53 are rounded.

    The body is little-endian:

    1. The length of the JSON text as uint32.
    2. The JSON text `{"header": header, "tables": [{"rows": 3, "columns": ["x", "y"]}, ...]}`,
       padded with spaces so that it ends at a multiple of 8 bytes.
    3. The columns of all tables, one after the other.
    """
    shapes, all_columns = [], []
    for table in tables:
        columns = list(map(np.asarray, table.values()))
        num_rows = len(columns[0]) if columns else 0
        if any(column.shape != (num_rows,) for column in columns):
            raise ValueError(f"expected columns of one length, got {list(map(len, columns))}")
        shapes.append({"rows": num_rows, "columns": list(table)})
        all_columns += columns
    text = to_json({"header": header, "tables": shapes})
    text += b" " * (-(4 + len(text)) % 8)
    start = len(text).to_bytes(4, "little") + text
    body = io.BytesIO(bytes(len(start) + 8 * sum(map(len, all_columns))))
    body.write(start)
    for column in all_columns:
        for row in range(0, len(column), MAX_ROWS_AT_ONCE):
            body.write(np.asarray(column[row : row + MAX_ROWS_AT_ONCE], "<f8").tobytes())
    return Response(body.getvalue(), headers={"content-type": "application/octet-stream"})


def streaming_response(request: Request, pieces: Iterable[bytes], content_type: str) -> Response:
    """A response whose body is generated while it is sent, so a long body is never whole in memory.

    The first megabyte is generated before the response starts; for HEAD, the rest is not generated.
    A body that ends within the first megabyte is sent with its length, and not streamed. An
    exception in the first megabyte becomes an error response. A later exception aborts the
    response, since the status has been sent.
    """
    remaining = iter(pieces)
    first_pieces, num_bytes = [], 0
    headers = {"content-type": content_type}
    for piece in remaining:
        first_pieces.append(piece)
        num_bytes += len(piece)
        if num_bytes > MIN_BYTES_TO_STREAM:
            body = () if request.method == "HEAD" else _joined(first_pieces, remaining)
            return StreamingResponse(body, headers=headers)
    return Response(b"".join(first_pieces), headers=headers)


def _joined(*parts: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of several bodies. Closing this closes the one that is under way."""
    for part in parts:
        yield from part


def bytes_response(
    data: bytes, content_type: str, *, etag: str | None = None, request: Request | None = None
) -> Response:
    """A response with bytes as they are, such as an image or a sound.

    The type is sent as `safe_content_type` returns it. With an `etag` the client keeps the response
    and validates it the next time. Pass the `request`, too: this validation needs it, and so do the
    Range headers that audio players send.
    """
    sent_type = safe_content_type(content_type)
    if sent_type.startswith("text/"):
        sent_type += "; charset=utf-8"
    headers = {"content-type": sent_type, "cache-control": "no-cache", "accept-ranges": "bytes"}
    if etag is not None:
        headers["etag"] = _entity_tag(etag)
    if request is None:
        return Response(data, headers=headers)
    if etag is not None and (response := not_modified(request, etag)):
        return response
    byte_range = None
    # If-Range: the client wants the whole content if its ETag has changed.
    if request.method in ("GET", "HEAD") and (
        request.headers.get("if-range") in (None, headers.get("etag"))
    ):
        byte_range = _byte_range(request.headers.get("range", ""), len(data))
    if byte_range is None:
        return Response(data, headers=headers)
    start, end = byte_range
    if start >= end:
        error = error_response(
            416, f"the range is outside of the content, which has {len(data)} bytes"
        )
        error.headers["content-range"] = f"bytes */{len(data)}"
        return error
    headers["content-range"] = f"bytes {start}-{end - 1}/{len(data)}"
    return Response(data[start:end], status_code=206, headers=headers)


def safe_content_type(content_type: str) -> str:
    """The content type that `bytes_response` sends: in lower case, without parameters.

    A type in which a browser could run scripts, or that is unknown, becomes
    application/octet-stream. Also use this function for types in a listing of items.
    """
    bare_type = content_type.partition(";")[0].strip().lower()
    return bare_type if bare_type in SAFE_CONTENT_TYPES else "application/octet-stream"


def etag_matches(header: str | None, etag: str) -> bool:
    """Whether an If-None-Match header has this entity tag, compared without `W/`."""
    if header is None:
        return False
    opaque = etag.removeprefix("W/")
    return any(
        candidate.strip() == "*" or candidate.strip().removeprefix("W/") == opaque
        for candidate in header.split(",")
    )


def _byte_range(header: str, size: int) -> tuple[int, int] | None:
    """Start and end (exclusive) of the range that a Range header requests, clipped to the size.

    None if the header must be ignored, because it is not a single range of bytes. If the requested
    range is outside of the content, the result is an empty range.
    """
    match = re.fullmatch(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", header, re.ASCII)
    if match is None:
        return None
    first, last = match.groups()
    if first:
        if last and int(last) < int(first):
            return None
        return int(first), min(int(last) + 1, size) if last else size
    if last:
        return (max(size - int(last), 0), size) if int(last) else (size, size)
    return None


def error_response(
    status: int, message: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """An error response with one line of plain text."""
    return Response(
        printable_line(message),
        status_code=status,
        headers={"content-type": "text/plain; charset=utf-8", **(headers or {})},
    )
