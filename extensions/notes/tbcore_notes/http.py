"""`data/notes` and `data/views`: what is kept, as JSON; who may change it is in access.py."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from tbcore import BadRequestError, Multiplexer, NotFoundError, TbcoreError
from tbcore.engine import Config, close_matches, quoted, to_json
from tbcore.http import (
    error_response,
    json_body,
    json_response,
    optional,
    streaming_response,
    string_in,
    strings_in,
)
from tbcore_notes.access import Access, access
from tbcore_notes.changes import LabelChange
from tbcore_notes.records import FIELDS, Record
from tbcore_notes.store import MAX_CHANGE_BYTES

if TYPE_CHECKING:
    from tbcore_notes.notes import RunNotes

_INSTANCE = secrets.token_hex(4)
"""Part of the generations in responses: one of another server process is not valid."""
_MAX_NAMES = 20
"""Maximum number of runs whose whole notes are in one response."""
_MAX_CHARACTERS = 200
"""Maximum length of the beginning of a text."""
_PIECE_BYTES = 1 << 16


def respond(
    notes: RunNotes, config: Config, multiplexer: Multiplexer, request: Request
) -> Response:
    """The response to a request for `data/notes`."""
    allowed = access(config, request, notes.fault, distrusts_pages=multiplexer.distrusts_pages)
    try:
        if request.method == "POST":
            if allowed.refusal:
                return error_response(403, allowed.refusal)
            _change(notes, json_body(request), multiplexer, is_own=allowed.is_own)
        else:
            notes.refresh()
            if names := _named(request):
                found = {name: _fields(notes.records(name), is_whole=True) for name in names}
                return json_response({"runs": found})
        return _answer(notes, request, allowed)
    except TbcoreError as error:
        return error_response(error.status, str(error))


def respond_views(
    notes: RunNotes, config: Config, multiplexer: Multiplexer, request: Request
) -> Response:
    """The response to a request for `data/views`: all views, or the one that it names."""
    allowed = access(config, request, notes.fault, distrusts_pages=multiplexer.distrusts_pages)
    try:
        if request.method == "POST":
            if allowed.refusal:
                return error_response(403, allowed.refusal)
            body = json_body(request)
            name, address = string_in(body, "name"), string_in(body, "address")
            notes.save_view(name, address, is_own=allowed.is_own)
        else:
            notes.refresh()
        views = {view.name: view for view in notes.views()}
        wanted = optional(request, "name")
        if wanted is None or request.method == "POST":
            return json_response({
                "read_only": allowed.read_only,
                "needs_token": allowed.needs_token,
                "refusal": allowed.refusal,
                "has_defaults": bool(notes.defaults),
                "problems": [*notes.mistakes, *notes.left_out, *notes.problems],
                "views": [_view(view) for view in views.values()],
            })  # fmt: skip
        if (found := views.get(unicodedata.normalize("NFC", wanted.strip()))) is None:
            raise NotFoundError(f"no view {quoted(wanted)}{close_matches(wanted, list(views))}")
        return json_response({**_view(found), "address": found.value})
    except TbcoreError as error:
        return error_response(error.status, str(error))


def respond_defaults(notes: RunNotes, request: Request) -> Response:
    """The response to a request for `data/defaults`."""
    if request.method == "POST":
        return error_response(405, "defaults are in the file tbcore.json of the log directory")
    notes.refresh()
    return json_response(dict(notes.defaults))


def _view(view: Record) -> dict[str, Any]:
    return {"name": view.name, "time": view.time / 1e6, "by": view.by, "is_own": view.is_own}


def _named(request: Request) -> list[str]:
    """The values of the parameter `run`. Raises BadRequestError for too many."""
    names = request.query_params.getlist("run")
    if len(names) > _MAX_NAMES:
        raise BadRequestError(f'at most {_MAX_NAMES} times "run", got {len(names)}')
    return names


def _fields(records: Mapping[str, Record], *, is_whole: bool) -> dict[str, Any]:
    """What was noted about a run, of a text only the beginning of its first line if not whole."""
    found = {}
    for field, record in records.items():
        value = record.value
        found[field] = {"value": value, "time": record.time / 1e6, "by": record.by,
                        "is_own": record.is_own}  # fmt: skip
        if field == "note" and not is_whole and isinstance(value, str):
            beginning = value.partition("\n")[0][:_MAX_CHARACTERS].rstrip()
            if beginning != value:
                found[field] |= {"value": beginning, "is_cut": True}
    return found


def _answer(notes: RunNotes, request: Request, allowed: Access) -> Response:
    """All notes, or with `since=GENERATION`, those on runs that have changed after it."""
    # Read before the notes, which are then at least as new.
    generation = notes.generation
    instance, _, number = (optional(request, "since") or "").partition("-")
    is_delta = instance == _INSTANCE and number.isdecimal() and len(number) < 20
    since = int(number) if is_delta else -1
    answer = {
        "generation": f"{_INSTANCE}-{generation}",
        "is_delta": is_delta,
        "read_only": allowed.read_only,
        "needs_token": allowed.needs_token,
        "refusal": allowed.refusal,
        "owns": allowed.is_own,
        "problems": [*notes.mistakes, *notes.left_out, *notes.problems],
    }
    return streaming_response(request, _pieces(answer, notes, since), "application/json")


def _pieces(answer: Mapping[str, Any], notes: RunNotes, since: int) -> Iterator[bytes]:
    """The JSON of an answer with the notes that have changed after a generation, in pieces: those
    of many runs are never whole in memory."""
    piece, separator = to_json(answer)[:-1] + b',"runs":{', b""
    for run, records, changed in notes.all():
        if changed > since:
            fields = _fields(records, is_whole=False)
            piece += separator + orjson.dumps(run) + b":" + orjson.dumps(fields)
            separator = b","
            if len(piece) > _PIECE_BYTES:
                yield piece
                piece = b""
    yield piece + b"}}"


def _change(
    notes: RunNotes, body: Mapping[str, Any], multiplexer: Multiplexer, *, is_own: bool
) -> None:
    """Changes the fields `set` of the `runs` in a body. Raises TbcoreError."""
    names, values = strings_in(body, "runs"), body.get("set", {})
    labels = LabelChange(
        *(
            strings_in(body, name) if name in body else ()
            for name in ("add_labels", "remove_labels")
        )
    )
    if not isinstance(values, dict) or not (values or any(labels)):
        raise BadRequestError(f'"set" must be an object with some of {", ".join(FIELDS)}')
    known = multiplexer.runs()
    for name in set(names).difference(known):
        raise BadRequestError(f"no run {quoted(name)}{close_matches(name, known)}")
    ids = strings_in(body, "ids") if "ids" in body else [""] * len(names)
    if len(ids) != len(names):
        raise BadRequestError('"ids" must have as many elements as "runs"')
    for name, shown in zip(names, ids, strict=True):
        if shown and shown != multiplexer.source_id(name):
            raise BadRequestError(
                f"run {quoted(name)} is another run now than the one that was shown"
            )
    notes.change(names, values, is_own=is_own, labels=labels, max_bytes=MAX_CHANGE_BYTES)
