"""Functions for routes: reading parameters and bodies of requests, and making responses.

    from tbcore.http import json_response, required

    def steps(request):
        run, tag = required(request, "run", "tag")
        return json_response(multiplexer.scalars(run, tag).step)

Functions that make responses accept any text and number that a log may contain: text that is not
valid Unicode is replaced, and numbers that JSON does not have become strings.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, overload
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tbcore.errors import BadRequestError
from tbcore.eventfiles.logdir import one_line
from tbcore.plugin_stats import CURRENT_PLUGIN
from tbcore.store.multiplexer import Multiplexer, TagsByRun

if TYPE_CHECKING:
    from tbcore.kinds import Claims

__all__ = [
    "ItemAddress",
    "bytes_response",
    "columns_response",
    "csv_response",
    "item_address",
    "json_body",
    "json_response",
    "names_in",
    "optional",
    "optional_int",
    "pieces_response",
    "request_body",
    "required",
    "safe_content_type",
    "series_response",
    "text_error",
    "text_in",
    "unchanged",
]

SAFE_CONTENT_TYPES = frozenset(
    {
        "application/gzip",
        "application/octet-stream",
        "application/ogg",
        "application/x-protobuf",
        "application/zip",
        "audio/3gpp",
        "audio/aac",
        "audio/basic",
        "audio/flac",
        "audio/l16",
        "audio/m4a",
        "audio/midi",
        "audio/mp3",
        "audio/mp4",
        "audio/mpeg",
        "audio/ogg",
        "audio/opus",
        "audio/vnd.wave",
        "audio/vorbis",
        "audio/wav",
        "audio/wave",
        "audio/webm",
        "audio/x-aiff",
        "audio/x-flac",
        "audio/x-m4a",
        "audio/x-mp3",
        "audio/x-pn-wav",
        "audio/x-wav",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
        "text/csv",
        "text/plain",
        "text/tab-separated-values",
        "text/x-protobuf",
        "video/mp4",
        "video/ogg",
        "video/webm",
    }
)
"""Content types in which browsers run no scripts. HTML, SVG and PDF are left out: the bytes, and
often the type, come from a log that cannot be trusted."""

MAX_INT = 2**63 - 1

MIN_BYTES_TO_STREAM = 1 << 20
"""`pieces_response` streams a body that is longer than this."""

BODY_KEY = "tbcore.body"
"""Key in the ASGI scope under which the guard stores the request's body."""
_QUERY_KEY = "tbcore.query"
"""Key in the ASGI scope under which `query_of` caches the parameters."""
MAX_DECOMPRESSED_BYTES = 16 << 20
"""Maximum number of bytes of a body after its decompression."""


def json_response(data: Any, *, status: int = 200, etag: str | None = None) -> Response:
    """A response with JSON of mappings, iterables, numpy arrays and scalars, strings and numbers.

    Dataclasses become objects, enum members their values, and dates and times strings. Non-finite
    numbers at any depth become the strings "NaN", "Infinity" and "-Infinity". float32 is widened to
    float64, so 0.1 becomes 0.10000000149011612. Keys of mappings must be strings.

    With an `etag` the client keeps the response and validates it the next time; see `unchanged`.
    """
    headers = {} if etag is None else {"etag": _entity_tag(etag)}
    return Response(to_json(data), status, headers, media_type="application/json")


def unchanged(request: Request, etag: str) -> Response | None:
    """A response with status 304 if the client has the version that `etag` names, else None.

    A handler can then skip a slow computation:

        if response := unchanged(request, etag):
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

    The request's parameters `run` and `tag` name the series; its parameter `samples`, if it has
    one, replaces the argument `samples`. `read(run, tag, samples)` chooses at most `samples` items
    (0: all) and returns a row for each item that can be read. `read` is not called if the client
    has the current response already. `num_steps` is the length of the whole series.
    """
    run, tag = required(request, "run", "tag")
    num_samples = optional_int(request, "samples", samples, minimum=0)
    etag = f"{num_samples} {multiplexer.items_etag(run, tag, claims)}"
    if not_modified := unchanged(request, etag):
        return not_modified
    num_steps = len(multiplexer.item_series(run, tag, claims))
    rows = read(run, tag, num_samples)
    # Without all rows there is no etag: the missing items may be readable the next time.
    is_complete = len(rows) >= min(num_samples or num_steps, num_steps)
    return json_response({"num_steps": num_steps, "rows": rows}, etag=etag if is_complete else None)


def _entity_tag(etag: str) -> str:
    """The value of an ETag header for any text.

    The value is a hash, because headers allow few characters. The hash includes the time at which
    the running plugin was loaded: after an edit, an upgrade or new options, the plugin's response
    may differ for the same data.
    """
    plugin = CURRENT_PLUGIN.get()
    text = f"{plugin.since if plugin else ''} {etag}"
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def to_json(data: Any) -> bytes:
    """The body of `json_response`, in UTF-8."""
    try:
        encoded = orjson.dumps(
            data, default=_plain_if_repeatable, option=orjson.OPT_PASSTHROUGH_DATACLASS
        )
        # orjson writes null for a non-finite number, so an output without null is right. If the
        # data has a None, the slow way below is used needlessly. The search for "n" comes first
        # because it is ten times faster, and the JSON of finite numbers has no "n".
        if b"n" not in encoded or b"null" not in encoded:
            return encoded
    except TypeError:
        # A string with a lone surrogate, such as a file name in another encoding, or an iterator.
        # Any other cause raises TypeError again below.
        pass
    return orjson.dumps(_strict(data))


def _plain_if_repeatable(value: Any) -> Any:
    """`_plain(value)`; raises TypeError for an iterator, which could not be encoded twice."""
    if isinstance(value, TagsByRun):
        return orjson.Fragment(value.as_json())
    if isinstance(value, Iterable) and not isinstance(value, Collection):
        raise TypeError("an iterator can be encoded only once")
    return _plain(value)


def _plain(value: Any) -> Any:
    """Converts an object that orjson cannot encode exactly, or at all, to one that it can."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Iterable):
        return list(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _strict(value: Any) -> Any:
    """The data with strings for non-finite numbers, and without lone surrogates."""
    exact_type = type(value)
    if exact_type is float:
        return value if math.isfinite(value) else _name_of(value)
    if exact_type is int or exact_type is bool or value is None:
        return value
    if exact_type is str:
        return printable(value)
    if isinstance(value, list) or exact_type is tuple:
        return _strict_sequence(value)
    if isinstance(value, Mapping):
        return {
            printable(key) if isinstance(key, str) else key: _strict(element)
            for key, element in value.items()
        }
    if isinstance(value, np.ndarray):
        is_finite = value.dtype.kind in "iub" or (
            value.dtype.kind == "f" and bool(np.isfinite(value).all())
        )
        return value.tolist() if is_finite else _strict(value.tolist())
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return _strict(float(value))
    if isinstance(value, (int, datetime, date, time, UUID)):
        return value
    return _strict(_plain(value))


def _strict_sequence(values: Sequence[Any]) -> Sequence[Any]:
    """`_strict` for all elements of a list, fast for a million numbers or rows of numbers."""
    types = set(map(type, values))
    if types == {float}:
        non_finite = np.flatnonzero(~np.isfinite(np.array(values)))
        if not non_finite.size:
            return values
        strict: list[Any] = list(values)
        for index in non_finite.tolist():
            strict[index] = _name_of(strict[index])
        return strict
    if types <= {int, bool, type(None)}:
        return values
    if types <= {list, tuple}:
        widths = set(map(len, values))
        if len(widths) == 1 and 0 not in widths and len(values) > max(widths):
            # Rows of equal length: each column has mostly one type, which is the fast case above.
            columns = map(_strict_sequence, zip(*values, strict=True))
            return list(zip(*columns, strict=True))
    return [_strict(value) for value in values]


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def printable(text: str) -> str:
    r"""The text with lone surrogates replaced by U+FFFD, or by `\xNN` for a byte of a file name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(
            f"\\x{ord(c) - 0xDC00:02x}"
            if "\udc80" <= c <= "\udcff"
            else "\ufffd"
            if "\ud800" <= c <= "\udfff"
            else c
            for c in text
        )
    return text


def printable_line(text: str) -> str:
    """The text as one line: spaces for line ends, and escapes for invisible characters."""
    return one_line(" ".join(printable(text).splitlines()))


def csv_response(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """A response with CSV: CRLF after every row, even the last, and quotes only where necessary.

    Floats are written with the fewest digits that represent them exactly; non-finite ones as `nan`,
    `inf` and `-inf`. Rows must hold Python values: pass `array.tolist()`.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    body = text.getvalue().encode("utf-8", "backslashreplace")
    return Response(body, headers={"content-type": "text/csv; charset=utf-8"})


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
    shapes, parts = [], []
    for table in tables:
        columns = [np.asarray(column, "<f8") for column in table.values()]
        num_rows = len(columns[0]) if columns else 0
        if any(column.shape != (num_rows,) for column in columns):
            raise ValueError(f"expected columns of one length, got {list(map(len, columns))}")
        shapes.append({"rows": num_rows, "columns": list(table)})
        parts += [column.tobytes() for column in columns]
    text = to_json({"header": header, "tables": shapes})
    text += b" " * (-(4 + len(text)) % 8)
    body = b"".join([len(text).to_bytes(4, "little"), text, *parts])
    return Response(body, headers={"content-type": "application/octet-stream"})


def pieces_response(request: Request, pieces: Iterable[bytes], content_type: str) -> Response:
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
            is_head = request.method == "HEAD"
            body: Iterable[bytes] = () if is_head else chain(first_pieces, remaining)
            return StreamingResponse(body, headers=headers)
    return Response(b"".join(first_pieces), headers=headers)


def bytes_response(
    data: bytes,
    content_type: str,
    *,
    etag: str | None = None,
    request: Request | None = None,
) -> Response:
    """A response with bytes as they are, such as an image or a sound.

    The type is sent as `safe_content_type` returns it. With an `etag` the client keeps the response
    and validates it the next time. Pass the `request`, too: this validation needs it, and so do the
    Range headers that audio players send.
    """
    sent_type = safe_content_type(content_type)
    if sent_type.startswith("text/"):
        sent_type += "; charset=utf-8"
    headers = {
        "content-type": sent_type,
        "cache-control": "no-cache",
        "accept-ranges": "bytes",
    }
    tag = None
    if etag is not None:
        tag = _entity_tag(etag)
        headers["etag"] = tag
    if request is None:
        return Response(data, headers=headers)
    if tag is not None and etag_matches(request.headers.get("if-none-match"), tag):
        del headers["content-type"]
        return Response(status_code=304, headers=headers)
    byte_range = None
    # If-Range: the client wants the whole content if its ETag has changed.
    if request.method in ("GET", "HEAD") and request.headers.get("if-range", tag) == tag:
        byte_range = _byte_range(request.headers.get("range", ""), len(data))
    if byte_range is None:
        return Response(data, headers=headers)
    start, end = byte_range
    if start >= end:
        error = text_error(416, f"the range is outside of the content, which has {len(data)} bytes")
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


def text_error(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error response with one line of plain text."""
    return Response(
        printable_line(message),
        status_code=status,
        headers={"content-type": "text/plain; charset=utf-8", **(headers or {})},
    )


@overload
def required(request: Request, name: str, /) -> str: ...


@overload
def required(request: Request, name: str, second: str, /, *names: str) -> tuple[str, ...]: ...


def required(request: Request, name: str, /, *names: str) -> str | tuple[str, ...]:
    """The value of a query parameter, or a tuple with the values of several.

    A blank value is an empty string. If a parameter occurs more than once, its first value is used.
    Raises BadRequestError if a parameter is missing.
    """
    query = query_of(request)
    for parameter in (name, *names):
        if parameter not in query:
            raise BadRequestError(f'query parameter "{parameter}" is required')
    if not names:
        return query[name]
    return (query[name], *(query[parameter] for parameter in names))


@overload
def optional(request: Request, name: str, default: str) -> str: ...


@overload
def optional(request: Request, name: str, default: None = None) -> str | None: ...


def optional(request: Request, name: str, default: str | None = None) -> str | None:
    """The value of a query parameter, or the default if it is missing."""
    return query_of(request).get(name, default)


@overload
def optional_int(
    request: Request, name: str, default: int, *, minimum: int | None = None
) -> int: ...


@overload
def optional_int(
    request: Request, name: str, default: None = None, *, minimum: int | None = None
) -> int | None: ...


def optional_int(
    request: Request, name: str, default: int | None = None, *, minimum: int | None = None
) -> int | None:
    """The value of a query parameter as an int, or the default if it is missing.

    Numbers outside of int64 are clamped to its range. Raises BadRequestError for a value that is
    not an integer, or is below the minimum.
    """
    text = query_of(request).get(name)
    if text is None:
        return default
    bound = "" if minimum is None else f" >= {minimum}"
    message = f'query parameter "{name}" must be an integer{bound}, got {text[:100]!r}'
    match = re.fullmatch(r"\s*([+-]?)0*(\d+)\s*", text, re.ASCII)
    if match is None:
        raise BadRequestError(message)
    sign, digits = match.groups()
    value = MAX_INT if len(digits) > 19 else min(int(digits), MAX_INT)
    if sign == "-":
        value = -value
    if minimum is not None and value < minimum:
        raise BadRequestError(message)
    return value


class ItemAddress(NamedTuple):
    """Identifies one item of a log, and one picture or clip in it."""

    run: str
    tag: str
    ordinal: int
    """Position of the item in its series as written. It never changes, so addresses stay valid."""
    sample: int = 0
    """Index of one of the pictures or clips that were logged together in the item."""

    @property
    def query(self) -> str:
        """The encoded query string of the item's address, without `?`; pages use it as it is."""
        parameters = [("index", str(self.ordinal)), ("tagname", self.tag), ("run", self.run)]
        if self.sample:
            parameters.append(("sample", str(self.sample)))
        return urlencode(parameters, errors="replace")


def item_address(request: Request) -> ItemAddress:
    """The item that the parameters of a request name; see `ItemAddress.query`.

    The parameter of the tag is `tagname` or `tag`, since TensorBoard used both. Raises
    BadRequestError if a parameter is missing, or is not a number where it must be one.
    """
    run = required(request, "run")
    tag = optional(request, "tagname")
    if tag is None:
        tag = required(request, "tag")
    required(request, "index")
    ordinal = optional_int(request, "index", 0)
    return ItemAddress(run, tag, ordinal, optional_int(request, "sample", 0))


def query_of(request: Request) -> dict[str, str]:
    """Maps each query parameter to its first value; bytes that are not UTF-8 become U+FFFD."""
    query: dict[str, str] | None = request.scope.get(_QUERY_KEY)
    if query is None:
        query = {}
        text = request.scope.get("query_string", b"").decode("latin-1")
        for name, value in parse_qsl(text, keep_blank_values=True, errors="replace"):
            query.setdefault(name, value)
        request.scope[_QUERY_KEY] = query
    return query


def request_body(request: Request) -> bytes:
    """The body of the request, at most 1 MB, which was read before the handler was called.

    With `Content-Encoding: gzip` it is decompressed, to at most 16 MB. Raises BadRequestError if
    this fails, and for any other encoding.
    """
    body: bytes = request.scope.get(BODY_KEY, b"")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise BadRequestError(f"the body's encoding must be gzip or none, got {encoding[:100]!r}")
    return _decompressed(body)


def json_body(request: Request) -> dict[str, Any]:
    """The body of the request, a JSON object, such as `post` of `tbcore/requests.js` sends.

    Raises BadRequestError for any other body. The caller must check the object's fields: a client
    can send anything.
    """
    try:
        body = orjson.loads(request_body(request))
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body must be JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    return body


def names_in(body: Mapping[str, Any], field: str) -> list[str]:
    """A field of a `json_body` that is a list of strings, such as the names of runs.

    Raises BadRequestError if the field is missing or is anything else.
    """
    names = body.get(field)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    raise BadRequestError(f'"{field}" must be an array of strings, got {_shown(names)}')


def text_in(body: Mapping[str, Any], field: str) -> str:
    """A field of a `json_body` that is a string, such as a tag.

    Raises BadRequestError if the field is missing or is anything else.
    """
    text = body.get(field)
    if isinstance(text, str):
        return text
    raise BadRequestError(f'"{field}" must be a string, got {_shown(text)}')


def _shown(value: Any) -> str:
    return orjson.dumps(value)[:100].decode(errors="replace")


def _decompressed(body: bytes) -> bytes:
    """The content of a gzip body; raises BadRequestError if it is damaged or too long."""
    decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        # One byte more than allowed shows that a body is too long; the rest is not decompressed.
        data = decompressor.decompress(body, MAX_DECOMPRESSED_BYTES + 1)
    except zlib.error as error:
        raise BadRequestError(f"the body is not valid gzip: {error}") from None
    if len(data) > MAX_DECOMPRESSED_BYTES:
        raise BadRequestError(
            f"the body has more than {MAX_DECOMPRESSED_BYTES} bytes after decompression"
        )
    if not decompressor.eof or decompressor.unused_data:
        raise BadRequestError("the body is not valid gzip: its end is missing, or data follows it")
    return data
