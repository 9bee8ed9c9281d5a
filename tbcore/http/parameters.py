"""Parameters: what a handler reads from a request, its query and its body."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple, overload
from urllib.parse import parse_qsl, urlencode

import orjson
from starlette.requests import Request

from tbcore.errors import BadRequestError

MAX_INT = 2**63 - 1
BODY_KEY = "tbcore.body"
"""Key in the ASGI scope under which the guard stores the request's body."""
READER_KEY = "tbcore.reader"
"""Key in the ASGI scope that is true for a request with `Config.read_token`."""
QUERY_KEY = "tbcore.query"
"""Key in the ASGI scope under which `query_of` caches the parameters."""
MAX_PARTS = 300_000
"""Maximum number of arrays and objects in a body, and of their signs in its texts: each takes up to
60 times its size in memory."""
MAX_DECOMPRESSED_BYTES = 16 << 20
"""Maximum number of bytes of a body after its decompression."""


def replace_query(
    scope: MutableMapping[str, Any], replace: Callable[[Mapping[str, str]], dict[str, str]]
) -> None:
    """Replaces the query parameters of a request, as `required` and the others read them."""
    scope[QUERY_KEY] = replace(query_of(Request(scope)))


def is_reader(request: Request) -> bool:
    """Whether a request comes from somebody who was let in to read, and may change nothing."""
    return request.scope.get(READER_KEY) is True


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
    sample_index: int = 0
    """Index of one of the pictures or clips that were logged together in the item."""

    @property
    def query(self) -> str:
        """The encoded query string of the item's address, without `?`; pages use it as it is."""
        parameters = [("index", str(self.ordinal)), ("tagname", self.tag), ("run", self.run)]
        if self.sample_index:
            parameters.append(("sample", str(self.sample_index)))
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
    query: dict[str, str] | None = request.scope.get(QUERY_KEY)
    if query is None:
        query = {}
        text = request.scope.get("query_string", b"").decode("latin-1")
        for name, value in parse_qsl(text, keep_blank_values=True, errors="replace"):
            query.setdefault(name, value)
        request.scope[QUERY_KEY] = query
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
    content = request_body(request)
    if content.count(b"[") + content.count(b"{") > MAX_PARTS:
        raise BadRequestError(f"the body has more than {MAX_PARTS} arrays and objects")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body must be JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    return body


def strings_in(body: Mapping[str, Any], field: str) -> list[str]:
    """A field of a `json_body` that is a list of strings, such as the names of runs.

    Raises BadRequestError if the field is missing or is anything else.
    """
    names = body.get(field)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    raise BadRequestError(f'"{field}" must be an array of strings, got {_shown(names)}')


def string_in(body: Mapping[str, Any], field: str) -> str:
    """A field of a `json_body` that is a string, such as a tag.

    Raises BadRequestError if the field is missing or is anything else.
    """
    text = body.get(field)
    if isinstance(text, str):
        return text
    raise BadRequestError(f'"{field}" must be a string, got {_shown(text)}')


def _shown(value: Any) -> str:
    part = value[:100] if isinstance(value, str | list) else value
    try:
        return orjson.dumps(part)[:100].decode(errors="replace")
    except TypeError:  # It is too deep.
        return "arrays in arrays"


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
