"""`data/notes` and `data/views`: what is kept, as JSON; who may change it is in access.py."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from tbcore import BadRequestError, Multiplexer, NotFoundError, TbcoreError
from tbcore.engine import Config, close_matches, one_line
from tbcore.http import error_response, json_body, json_response, optional, string_in, strings_in
from tbcore_notes.access import Access, access
from tbcore_notes.records import FIELDS, Record
from tbcore_notes.store import LabelChange

if TYPE_CHECKING:
    from tbcore_notes.notes import RunNotes

_INSTANCE = secrets.token_hex(4)
"""Part of the generations in responses: one of another server process is not valid."""


def respond(
    notes: RunNotes, config: Config, multiplexer: Multiplexer, request: Request
) -> Response:
    """The response to a request for `data/notes`."""
    allowed = access(config, request, notes.fault)
    try:
        if request.method == "POST":
            if allowed.refusal:
                return error_response(403, allowed.refusal)
            _change(notes, json_body(request), multiplexer, is_own=allowed.is_own)
        else:
            notes.refresh()
        return json_response(_answer(notes, request, allowed))
    except TbcoreError as error:
        return error_response(error.status, str(error))


def respond_views(notes: RunNotes, config: Config, request: Request) -> Response:
    """The response to a request for `data/views`: all views, or the one that it names."""
    allowed = access(config, request, notes.fault)
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
                "has_defaults": bool(notes.defaults),
                "problems": [*notes.mistakes, *notes.problems],
                "views": [_view(view) for view in views.values()],
            })  # fmt: skip
        if (found := views.get(unicodedata.normalize("NFC", wanted.strip()))) is None:
            raise NotFoundError(f"no view {one_line(wanted)!r}{close_matches(wanted, list(views))}")
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


def _answer(notes: RunNotes, request: Request, allowed: Access) -> dict[str, Any]:
    """All notes, or with `since=GENERATION`, those on runs that have changed after it."""
    # Read before the notes, which are then at least as new.
    generation = notes.generation
    instance, _, number = (optional(request, "since") or "").partition("-")
    is_delta = instance == _INSTANCE and number.isdecimal() and len(number) < 20
    since = int(number) if is_delta else -1
    runs: dict[str, Any] = {}
    for run, records, changed in notes.all():
        if changed > since:
            runs[run] = {
                field: {"value": r.value, "time": r.time / 1e6, "by": r.by, "is_own": r.is_own}
                for field, r in records.items()
            }
    return {
        "generation": f"{_INSTANCE}-{generation}",
        "is_delta": is_delta,
        "read_only": allowed.read_only,
        "needs_token": allowed.needs_token,
        "refusal": allowed.refusal,
        "owns": allowed.is_own,
        "problems": [*notes.mistakes, *notes.problems],
        "runs": runs,
    }


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
        raise BadRequestError(f"no run {name!r}{close_matches(name, known)}")
    notes.change(names, values, is_own=is_own, labels=labels)
