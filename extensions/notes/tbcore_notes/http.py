"""`data/notes` and `data/views`: what is kept as JSON, and changes, from those who may make them.

A page of any web site can make its reader's browser send requests to this machine, and every user
of this machine can. So a change needs a secret: the server's token or secret path, a unix socket,
which no other user can open, or else the write token that the server printed. Besides, a request of
a browser must come from a page of this server itself, not of another port or site, and a server
that other pages may show in a frame takes no changes: there, a click can be somebody else's idea.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import sys
import unicodedata
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from tbcore import BadRequestError, Multiplexer, NotFoundError, TbcoreError
from tbcore.engine import Config, RunColumns, close_matches, is_uri, one_line
from tbcore.http import error_response, json_body, json_response, optional, string_in, strings_in
from tbcore_logs.archived_files import archived_files
from tbcore_logs.reading import LazyReader
from tbcore_notes.records import FIELDS, Record
from tbcore_notes.store import LabelChange, NotesError

if TYPE_CHECKING:
    from tbcore_notes.notes import RunNotes

TOKEN_HEADER = "x-tbcore-write-token"
_INSTANCE = secrets.token_hex(4)
"""Part of the generations in responses: one of another server process is not valid."""
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Values of `Config.host` of servers that only this machine can reach."""


def respond(
    notes: RunNotes, config: Config, multiplexer: Multiplexer, request: Request
) -> Response:
    """The response to a request for `data/notes`."""
    try:
        if request.method == "POST":
            if refusal := _refusal(request, config, with_token=True):
                return error_response(403, refusal)
            _change(notes, json_body(request), config, multiplexer)
        else:
            notes.refresh()
            if optional(request, "files") == "true":
                files = _files(notes, multiplexer)
                return json_response({"command": _command(config), "files": files})
        return json_response(_answer(notes, request, config))
    except TbcoreError as error:
        return error_response(error.status, str(error))


def respond_views(notes: RunNotes, config: Config, request: Request) -> Response:
    """The response to a request for `data/views`: all views, or the one that it names."""
    try:
        if request.method == "POST":
            if refusal := _refusal(request, config, with_token=True):
                return error_response(403, refusal)
            body = json_body(request)
            name, address = string_in(body, "name"), string_in(body, "address")
            notes.save_view(name, address, is_own=_is_own(config))
        else:
            notes.refresh()
        views = {view.name: view for view in notes.views()}
        wanted = optional(request, "name")
        if wanted is None or request.method == "POST":
            return json_response({
                "read_only": _refusal(request, config, with_token=False),
                "needs_token": bool(config.write_token),
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


def _answer(notes: RunNotes, request: Request, config: Config) -> dict[str, Any]:
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
        "read_only": _refusal(request, config, with_token=False),
        "needs_token": bool(config.write_token),
        "refusal": _refusal(request, config, with_token=True),
        "problems": [*notes.mistakes, *notes.problems],
        "runs": runs,
    }


def _change(
    notes: RunNotes, body: Mapping[str, Any], config: Config, multiplexer: Multiplexer
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
    notes.change(names, values, is_own=_is_own(config), labels=labels)


def _files(notes: RunNotes, multiplexer: Multiplexer) -> list[dict[str, Any]]:
    """For each log directory, how many files `tbcore ls --files` would name, and which runs it
    would leave out; of a remote one only the name."""
    columns, answers = RunColumns.of(multiplexer), []
    times = dict(zip(columns.runs, columns.last_event_times, strict=True))
    for prefix, logdir in notes.logdirs:
        answers.append({"logdir": logdir, "is_remote": is_uri(logdir)})
        if is_uri(logdir):
            continue
        last = {n.removeprefix(prefix): t for n, t in times.items() if n.startswith(prefix)}
        found = archived_files(
            logdir,
            last,
            archived=partial(_archived, notes, prefix),
            reader=_opened(logdir),
            last_event_times=last,
        )
        answers[-1] |= {
            "num_runs": len(found.authors),
            "num_files": len(found.rows),
            "num_bytes": sum(num_bytes for _, num_bytes, _ in found.rows),
            "left_out": [
                {"reason": reason, "num_runs": len(runs)} for reason, runs in found.left_out.items()
            ],
        }
    return answers


def _command(config: Config) -> list[str]:
    """The words that run this tbcore in a shell: its path, unless a shell like the server's finds
    it. Other machines are not told where it is."""
    scripts = [sys.argv[0], os.path.join(os.path.dirname(sys.executable), "tbcore")]
    scripts = [
        path for path in scripts if os.path.basename(path) == "tbcore" and os.path.isfile(path)
    ]
    found = shutil.which("tbcore")
    if not _is_own(config) or (found and any(os.path.samefile(found, path) for path in scripts)):
        return ["tbcore"]
    return [os.path.abspath(scripts[0])] if scripts else [sys.executable, "-m", "tbcore"]


def _archived(notes: RunNotes, prefix: str, name: str) -> tuple[Record | None, Record | None]:
    return notes.archived(prefix + name)


def _opened(logdir: str) -> LazyReader:
    """Scans a log directory. Raises NotesError."""
    try:
        return LazyReader(logdir)
    except OSError as error:
        raise NotesError(one_line(f"{logdir}: {error.strerror or error}")) from None


def _is_own(config: Config) -> bool:
    """Whether what is noted through a server is this user's own, and decides about files.

    It is not if other machines can reach the server, for example through a proxy, whose name
    `--allowed_host` lets in. `*` without another secret is for the socket of a notebook server,
    which only this user can open.
    """
    has_secret = config.token is not None or config.has_secret_prefix
    is_private = not config.allowed_hosts or (config.allowed_hosts == ("*",) and not has_secret)
    return config.host in _LOCAL_HOSTS and is_private


def _refusal(request: Request, config: Config, *, with_token: bool) -> str | None:
    """Why a request may not change notes; None if it may. `with_token` also checks its token."""
    if config.embed_in:
        return "pages of other origins may show this server in a frame, so it takes no notes"
    if config.write_token is None:
        return "this server takes no notes, since it has no token and no secret path"
    if request.method == "POST" and not _is_of_this_server(request, config):
        return "only pages of this server itself may change notes"
    if not (with_token and config.write_token):
        return None
    given = request.headers.getlist(TOKEN_HEADER)
    if len(given) == 1 and _equals(given[0], config.write_token):
        return None
    return (
        "to change notes, open the address that tbcore printed at its start, or use `tbcore notes`"
    )


def _is_of_this_server(request: Request, config: Config) -> bool:
    """Whether a request comes from a page of the server's own origin, or from no page.

    A name of `--allowed_host` stands for itself, not for all of its ports.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return False  # A form can send other types without a browser's question.
    sites = [site.lower() for site in request.headers.getlist("sec-fetch-site")]
    if sites:
        return sites == ["same-origin"]
    own = {request.headers.get("host", "").lower(), *(h.lower() for h in config.allowed_hosts)}
    origins = request.headers.getlist("origin")
    return all(_host_of(origin) in own - {"*"} for origin in origins)


def _host_of(origin: str) -> str | None:
    """The host and the port of an Origin header; None for any other value, such as `null`."""
    scheme, separator, host = origin.lower().partition("://")
    return host if separator and scheme in ("http", "https") else None


def _equals(given: str, secret: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
