"""What a route reads from a request and answers with: one style of parameters, answers and errors.

    from tbcore.http import json_response, required

    def steps(request):
        run, tag = required(request, "run", "tag")
        return json_response(multiplexer.scalars(run, tag).step)

Nothing that a client or a log contains makes these functions fail: text that is no valid Unicode is
replaced, and numbers that JSON cannot express become strings.
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
"""Types that no browser runs anything in. HTML, SVG and PDF are not among them: the bytes, and
often the type, come from a log that anybody may have written."""

MAX_INT = 2**63 - 1

WHOLE_BYTES = 1 << 20
"""An answer in pieces that has no more is sent at once."""

BODY_KEY = "tbcore.body"
"""Where the guard puts a request's body in the ASGI scope."""
_QUERY_KEY = "tbcore.query"
MAX_UNPACKED_BYTES = 16 << 20
"""Of a body that was sent compressed."""


def json_response(data: Any, *, status: int = 200, etag: str | None = None) -> Response:
    """JSON of anything made of mappings, iterables, numpy arrays and scalars, texts and numbers.

    Dataclasses become mappings, enumerated values what they stand for, and times text. Non-finite
    numbers at any depth become the strings "NaN", "Infinity" and "-Infinity". float32 is widened to
    float64, so 0.1 is 0.10000000149011612. Keys of mappings are texts. With an `etag` the client
    asks the next time whether what it has is still good, which `unchanged` answers.
    """
    headers = {} if etag is None else {"etag": _entity_tag(etag)}
    return Response(to_json(data), status, headers, media_type="application/json")


def unchanged(request: Request, etag: str) -> Response | None:
    """The answer 304 for a client that has what `etag` names; None for all others.

    if answer := unchanged(request, etag):
        return answer
    return json_response(slowly_worked_out(), etag=etag)
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
    """As much of a series of items as a page draws, and how much there is.

    `read(run, tag, samples)` gives a row for each item that can be read, of at most so many (0:
    all). It is not called for a client that has them already. The request has `run` and `tag`, and
    may have `samples` in place of the default here.
    """
    run, tag = required(request, "run", "tag")
    wanted = optional_int(request, "samples", samples, minimum=0)
    etag = f"{wanted} {multiplexer.items_etag(run, tag, claims)}"
    if answer := unchanged(request, etag):
        return answer
    num_steps = len(multiplexer.item_series(run, tag, claims))
    rows = read(run, tag, wanted)
    # Items that could not be read may be readable the next time.
    is_whole = len(rows) >= min(wanted or num_steps, num_steps)
    return json_response({"num_steps": num_steps, "rows": rows}, etag=etag if is_whole else None)


def _entity_tag(etag: str) -> str:
    # Texts of any kind make one: its characters are limited, and so is its length. A plugin that is
    # edited, upgraded or set otherwise makes something else of the same data.
    plugin = CURRENT_PLUGIN.get()
    named = f"{plugin.since if plugin else ''} {etag}"
    return f'"{hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def to_json(data: Any) -> bytes:
    """The body of `json_response`, in UTF-8."""
    try:
        encoded = orjson.dumps(data, default=_plain_again, option=orjson.OPT_PASSTHROUGH_DATACLASS)
        # orjson writes null for what is not finite, so without a null there was no such number and
        # nothing has to be looked at one by one. A null that is really None costs the second look.
        # Numbers alone have no n, which is found in a tenth of the time.
        if b"n" not in encoded or b"null" not in encoded:
            return encoded
    except TypeError:
        # A text with a lone surrogate, as names of files in another encoding have, or what can be
        # looked at only once; anything else fails again below.
        pass
    return orjson.dumps(_strict(data))


def _plain_again(value: Any) -> Any:
    """`_plain` for a first look that leaves everything as it is for a second one."""
    if isinstance(value, TagsByRun):
        return orjson.Fragment(value.as_json())
    if isinstance(value, Iterable) and not isinstance(value, Collection):
        raise TypeError("this may be an iterator, which the first look would use up")
    return _plain(value)


def _plain(value: Any) -> Any:
    """What orjson does not write, or not exactly, as what it does."""
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
    """The same data with texts for numbers that are not finite, and without lone surrogates."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else _name_of(value)
    if kind is int or kind is bool or value is None:
        return value
    if kind is str:
        return printable(value)
    if isinstance(value, list) or kind is tuple:
        return _strict_sequence(value)
    if isinstance(value, Mapping):
        return {
            printable(key) if isinstance(key, str) else key: _strict(element)
            for key, element in value.items()
        }
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind in "iub" or (
            value.dtype.kind == "f" and bool(np.isfinite(value).all())
        )
        return value.tolist() if finite else _strict(value.tolist())
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return _strict(float(value))
    if isinstance(value, (int, datetime, date, time, UUID)):
        return value
    return _strict(_plain(value))


def _strict_sequence(values: Sequence[Any]) -> Sequence[Any]:
    """`_strict` for all elements of a list, which may hold a million numbers or rows of them."""
    types = set(map(type, values))
    if types == {float}:
        bad = np.flatnonzero(~np.isfinite(np.array(values)))
        if not bad.size:
            return values
        strict: list[Any] = list(values)
        for index in bad.tolist():
            strict[index] = _name_of(strict[index])
        return strict
    if types <= {int, bool, type(None)}:
        return values
    if types <= {list, tuple}:
        widths = set(map(len, values))
        if len(widths) == 1 and 0 not in widths and len(values) > max(widths):
            # Rows of one length: columns have one type each, and are looked at as a whole.
            columns = map(_strict_sequence, zip(*values, strict=True))
            return list(zip(*columns, strict=True))
    return [_strict(value) for value in values]


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def printable(text: str) -> str:
    r"""The text with lone surrogates replaced: bytes of file names as `\xNN`, others as U+FFFD."""
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
    """The text in one line, with a space for each line end, and escapes for what has no shape."""
    return one_line(" ".join(printable(text).splitlines()))


def csv_response(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """CSV with CRLF after every row, the last too, and quotes only where they are needed.

    Floats have the fewest digits that give the same number back; non-finite ones are `nan`, `inf`
    and `-inf`. Rows hold Python values: use `.tolist()` of an array.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    body = text.getvalue().encode("utf-8", "backslashreplace")
    return Response(body, headers={"content-type": "text/csv; charset=utf-8"})


def columns_response(header: Any, tables: Sequence[Mapping[str, Any]]) -> Response:
    """Tables of numbers as float64, which `tbcore/lib/columns.js` reads without parsing.

    `header` is anything that `json_response` takes. A table maps names to arrays or sequences of
    numbers of one length; integers beyond 2**53 are rounded.

    The body is little-endian: the length of a JSON text as uint32, the text, padded with spaces so
    that it ends at a multiple of 8 bytes, and the columns one after the other. The text is
    `{"header": header, "tables": [{"rows": 3, "columns": ["x", "y"]}, ...]}`.
    """
    shapes, parts = [], []
    for table in tables:
        columns = [np.asarray(column, "<f8") for column in table.values()]
        rows = len(columns[0]) if columns else 0
        if any(column.shape != (rows,) for column in columns):
            raise ValueError(f"columns of one length are needed, got {list(map(len, columns))}")
        shapes.append({"rows": rows, "columns": list(table)})
        parts += [column.tobytes() for column in columns]
    text = to_json({"header": header, "tables": shapes})
    text += b" " * (-(4 + len(text)) % 8)
    body = b"".join([len(text).to_bytes(4, "little"), text, *parts])
    return Response(body, headers={"content-type": "application/octet-stream"})


def pieces_response(request: Request, pieces: Iterable[bytes], content_type: str) -> Response:
    """An answer that is made while it is sent, so that a long one is never in memory as a whole.

    Up to a megabyte it is made at once and has a length, as other answers have. What is raised
    until then is answered as an error; later the status is on its way, and the answer breaks off.
    HEAD makes no more than that of it.
    """
    left = iter(pieces)
    start, size = [], 0
    headers = {"content-type": content_type}
    for piece in left:
        start.append(piece)
        size += len(piece)
        if size > WHOLE_BYTES:
            rest: Iterable[bytes] = () if request.method == "HEAD" else chain(start, left)
            return StreamingResponse(rest, headers=headers)
    return Response(b"".join(start), headers=headers)


def bytes_response(
    data: bytes,
    content_type: str,
    *,
    etag: str | None = None,
    request: Request | None = None,
) -> Response:
    """Bytes as they are, such as an image or a sound.

    A type that could run something in a browser, and any unknown one, becomes
    application/octet-stream. With an `etag` the client keeps a copy and asks whether it is still
    good; that, and parts of a sound that a player asks for, need the `request`.
    """
    kind = safe_content_type(content_type)
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    headers = {
        "content-type": kind,
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
    part = None
    if request.method in ("GET", "HEAD") and request.headers.get("if-range", tag) == tag:
        part = _byte_range(request.headers.get("range", ""), len(data))
    if part is None:
        return Response(data, headers=headers)
    start, end = part
    if start >= end:
        answer = text_error(416, f"there is no such part; the content has {len(data)} bytes")
        answer.headers["content-range"] = f"bytes */{len(data)}"
        return answer
    headers["content-range"] = f"bytes {start}-{end - 1}/{len(data)}"
    return Response(data[start:end], status_code=206, headers=headers)


def safe_content_type(content_type: str) -> str:
    """The type that `bytes_response` answers with: without parameters, in small letters.

    That is application/octet-stream for what could run something in a browser and for any unknown
    type. A listing that names the types of its items should say the same.
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind if kind in SAFE_CONTENT_TYPES else "application/octet-stream"


def etag_matches(header: str | None, etag: str) -> bool:
    """Whether an If-None-Match header names this entity tag; weak ones count as what they mark."""
    if header is None:
        return False
    wanted = etag.removeprefix("W/")
    return any(
        candidate.strip() == "*" or candidate.strip().removeprefix("W/") == wanted
        for candidate in header.split(",")
    )


def _byte_range(header: str, size: int) -> tuple[int, int] | None:
    """Start and end (exclusive) of the one part that a Range header asks for.

    None for anything but one range of bytes, which a server may ignore; an empty range when it lies
    outside.
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
    """An error as plain text in one line."""
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
    """The value of a query parameter, or a tuple with those of several.

    A blank value is an empty text; of several values of one parameter the first counts. Raises
    BadRequestError for one that is not there.
    """
    query = query_of(request)
    for wanted in (name, *names):
        if wanted not in query:
            raise BadRequestError(f'query parameter "{wanted}" is required')
    if not names:
        return query[name]
    return (query[name], *(query[other] for other in names))


@overload
def optional(request: Request, name: str, default: str) -> str: ...


@overload
def optional(request: Request, name: str, default: None = None) -> str | None: ...


def optional(request: Request, name: str, default: str | None = None) -> str | None:
    """The value of a query parameter, or the default where it is not there."""
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
    """The value of a query parameter as an int, or the default where it is not there.

    Numbers beyond int64 become its largest or smallest, which exceed whatever they are compared
    with. Raises BadRequestError for what is no integer, or is below the minimum.
    """
    text = query_of(request).get(name)
    if text is None:
        return default
    bound = "" if minimum is None else f" >= {minimum}"
    complaint = f'query parameter "{name}" must be an integer{bound}, got {text[:100]!r}'
    match = re.fullmatch(r"\s*([+-]?)0*(\d+)\s*", text, re.ASCII)
    if match is None:
        raise BadRequestError(complaint)
    sign, digits = match.groups()
    value = MAX_INT if len(digits) > 19 else min(int(digits), MAX_INT)
    if sign == "-":
        value = -value
    if minimum is not None and value < minimum:
        raise BadRequestError(complaint)
    return value


class ItemAddress(NamedTuple):
    """Names one item of a log, and one of the samples in it."""

    run: str
    tag: str
    ordinal: int
    """The item's, so that an address means the same for ever."""
    sample: int = 0
    """Which of the pictures or clips that were logged together."""

    @property
    def query(self) -> str:
        """What stands behind the `?` of an address, encoded: pages use it as it is."""
        fields = [("index", str(self.ordinal)), ("tagname", self.tag), ("run", self.run)]
        if self.sample:
            fields.append(("sample", str(self.sample)))
        return urlencode(fields, errors="replace")


def item_address(request: Request) -> ItemAddress:
    """The item that a request names, in the words of `ItemAddress.query`.

    The tag may be called `tag` or `tagname`, since servers before this one used both. Raises
    BadRequestError for what is missing or is no number.
    """
    run = required(request, "run")
    tag = optional(request, "tagname")
    if tag is None:
        tag = required(request, "tag")
    required(request, "index")
    ordinal = optional_int(request, "index", 0)
    return ItemAddress(run, tag, ordinal, optional_int(request, "sample", 0))


def query_of(request: Request) -> dict[str, str]:
    """All query parameters, of each the first value; bytes that are no UTF-8 become U+FFFD."""
    query: dict[str, str] | None = request.scope.get(_QUERY_KEY)
    if query is None:
        query = {}
        text = request.scope.get("query_string", b"").decode("latin-1")
        for name, value in parse_qsl(text, keep_blank_values=True, errors="replace"):
            query.setdefault(name, value)
        request.scope[_QUERY_KEY] = query
    return query


def request_body(request: Request) -> bytes:
    """The body of the request; it was read before the handler was called.

    A body has at most 1 MB. One with `Content-Encoding: gzip` is unpacked, to at most 16 MB; raises
    BadRequestError where that cannot be done.
    """
    body: bytes = request.scope.get(BODY_KEY, b"")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise BadRequestError(f"the body must be plain or gzip, got {encoding[:100]!r}")
    return _unpacked(body)


def json_body(request: Request) -> dict[str, Any]:
    """The body of the request, a JSON object, as `post` of `tbcore/lib/post.js` sends it.

    Raises BadRequestError for anything else. What the fields hold is still to be checked: a client
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
    """A field of a `json_body` that has to be a list of texts, such as the names of runs.

    Raises BadRequestError for one that is missing or is something else.
    """
    names = body.get(field)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    raise BadRequestError(f'"{field}" must be an array of texts, got {_shown(names)}')


def text_in(body: Mapping[str, Any], field: str) -> str:
    """A field of a `json_body` that has to be a text, such as a tag.

    Raises BadRequestError for one that is missing or is something else.
    """
    text = body.get(field)
    if isinstance(text, str):
        return text
    raise BadRequestError(f'"{field}" must be a text, got {_shown(text)}')


def _shown(given: Any) -> str:
    return orjson.dumps(given)[:100].decode(errors="replace")


def _unpacked(body: bytes) -> bytes:
    # Never more than that is made, whatever the body claims to be.
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(body, MAX_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise BadRequestError(f"the body is no gzip: {error}") from None
    if len(data) > MAX_UNPACKED_BYTES:
        raise BadRequestError(f"the body has more than {MAX_UNPACKED_BYTES} bytes when unpacked")
    if not unpacker.eof or unpacker.unused_data:
        raise BadRequestError("the body is no gzip: it does not end where it should")
    return data
