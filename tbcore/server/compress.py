"""Compress: an ASGI layer that compresses responses with gzip if the client accepts it.

Text is compressed, and short columns of numbers: those that a live page gets each second.
"""

from __future__ import annotations

import gzip
import zlib

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbcore.server.pool import ThreadPool

LEVEL = 1
"""Compression level of gzip. On rows of numbers, level 1 is five times as fast as the usual level
6, and its result is 5 % larger. Level 3 takes twice as long as level 1, and saves nothing."""
MAX_INLINE_BYTES = 1 << 15
"""Maximum size of a part of a body that is compressed on the event loop. Longer parts would delay
other requests, at about 140 MB/s, so they are compressed in a thread."""
MAX_PART_BYTES = 1 << 24
"""Maximum size of a part of a body that is compressed at once. The compressed form of a longer body
is never whole in memory, so it is sent without its length."""

RawHeaders = list[tuple[bytes, bytes]]


def accepts_gzip(headers: RawHeaders) -> bool:
    """Whether Accept-Encoding has gzip, x-gzip or `*`, with a weight other than 0."""
    is_accepted: dict[str, bool] = {}
    for name, value in headers:
        if name != b"accept-encoding":
            continue
        for element in value.decode("latin-1").lower().split(","):
            coding, *parameters = (part.strip() for part in element.split(";"))
            is_accepted[coding] = not any(_is_zero_weight(parameter) for parameter in parameters)
    for coding in ("gzip", "x-gzip", "*"):
        if coding in is_accepted:
            return is_accepted[coding]
    return False


def _is_zero_weight(parameter: str) -> bool:
    """Whether a parameter of a coding is `q=0`, in any of its spellings."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip().rstrip("0") in ("", "0.", ".")


def is_short_binary(headers: MutableHeaders) -> bool:
    """Whether these are headers of columns, or other bytes, that are compressed at once.

    Longer ones are for a chart that somebody waits for, mostly on the same machine.
    """
    length = headers.get("content-length", "")
    is_binary = headers.get("content-type") == "application/octet-stream"
    return is_binary and length.isdecimal() and int(length) <= MAX_INLINE_BYTES


def is_textual(content_type: str) -> bool:
    """Whether content of this type is compressed: text and SVG, but no other images, nor audio."""
    bare_type = content_type.partition(";")[0].strip().lower()
    if bare_type.startswith("text/"):
        # Server-sent events must be sent one by one; a compressor would buffer them.
        return bare_type != "text/event-stream"
    return bare_type in ("application/json", "application/javascript", "image/svg+xml")


class Compress:
    """An ASGI layer that compresses the textual responses of the layers inside of it."""

    def __init__(self, app: ASGIApp, pool: ThreadPool) -> None:
        self._app = app
        self._pool = pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The start message of a response to compress is held until the first part of the body
        # arrives, since the headers depend on whether more parts follow.
        held_start: Message | None = None
        compressor: zlib._Compress | None = None

        async def send_part(part: bytes | memoryview, mode: int, has_more: bool) -> None:
            nonlocal held_start
            if compressor is not None:
                if len(part) <= MAX_INLINE_BYTES:
                    part = _next_part(compressor, part, mode)
                else:
                    part = await self._pool.run(_next_part, compressor, part, mode)
            if held_start is not None:
                if compressor is not None:
                    _mark_compressed(held_start["headers"], None if has_more else len(part))
                await send(held_start)
                held_start = None
            await send({"type": "http.response.body", "body": part, "more_body": has_more})

        async def compress(message: Message) -> None:
            nonlocal held_start, compressor
            if message["type"] == "http.response.start":
                # A copy of the headers, since a plugin may send the same response again.
                headers = MutableHeaders(raw=list(message["headers"]))
                message = {**message, "headers": headers.raw}
                if is_textual(headers.get("content-type", "")) or is_short_binary(headers):
                    # Without Vary a cache could send the compressed form to a client that does not
                    # accept it.
                    if "accept-encoding" not in headers.get("vary", "").lower():
                        headers.add_vary_header("Accept-Encoding")
                    if (
                        "content-encoding" not in headers
                        and message["status"] not in (204, 206, 304)
                        and accepts_gzip(scope["headers"])
                    ):
                        held_start = message
                        return
                await send(message)
                return
            body, has_more = message.get("body", b""), message.get("more_body", False)
            if held_start is not None and (body or has_more):
                # Window bits above 16 select the gzip format.
                compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
            while compressor is not None and len(body) > MAX_PART_BYTES:
                body = memoryview(body)
                await send_part(body[:MAX_PART_BYTES], zlib.Z_NO_FLUSH, True)
                body = body[MAX_PART_BYTES:]
            await send_part(body, zlib.Z_SYNC_FLUSH if has_more else zlib.Z_FINISH, has_more)

        await self._app(scope, receive, compress)


def compressed(body: bytes, level: int = LEVEL) -> bytes:
    """The body in gzip format. Equal bodies are compressed to equal bytes."""
    return gzip.compress(body, level, mtime=0)


def _next_part(compressor: zlib._Compress, part: bytes | memoryview, mode: int) -> bytes:
    return compressor.compress(part) + compressor.flush(mode)


def _mark_compressed(raw_headers: RawHeaders, length: int | None) -> None:
    """Changes headers to those of the compressed form; `length` is in bytes, None if not known."""
    headers = MutableHeaders(raw=raw_headers)
    del headers["content-length"]
    del headers["accept-ranges"]
    headers["content-encoding"] = "gzip"
    if length is not None:
        headers["content-length"] = str(length)
    if "etag" in headers:
        # Weak, since the bytes differ from those of the uncompressed form.
        headers["etag"] = "W/" + headers["etag"].removeprefix("W/")
