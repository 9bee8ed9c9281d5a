"""`data/run_attributes`: what a query finds, and attributes of runs as columns for the run list.

After a change the page requests only the columns of runs that changed, and what a query finds only
if that changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from threading import Event
from time import thread_time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tbcore.errors import BadRequestError, TbcoreError
from tbcore.http import error_response, json_response
from tbcore.http.parameters import json_body, string_in, strings_in
from tbcore.queries.attributes import Names, RunAttributes, RunColumns
from tbcore.queries.evaluation import Attribute, Offer, QueryError, fact_of, matching_runs
from tbcore.queries.offers import format_attribute, note_on
from tbcore.queries.syntax import MAX_QUERY_CHARACTERS, parse, parse_attribute
from tbcore.server.pool import GONE_KEY
from tbcore.store.multiplexer import Multiplexer
from tbcore.text import quoted

MAX_COLUMNS = 100
"""Maximum number of columns in a request."""
_LATE = "the request takes too long"
"""The error of a query or a column that was not computed in time."""


class RunAttributesRoute:
    """The responses of `data/run_attributes`."""

    def __init__(self, multiplexer: Multiplexer, max_seconds: float) -> None:
        """`max_seconds` is `Tuning.max_query_seconds`."""
        self._attributes = RunAttributes(multiplexer)
        self._max_seconds = max_seconds
        self._instance = secrets.token_hex(4)
        """Part of the generations in responses: a generation of another server is not valid."""

    def respond(self, request: Request) -> Response:
        """The response to a request whose body has been read."""
        gone: Event = request.scope[GONE_KEY]
        end = thread_time() + self._max_seconds

        def check() -> None:
            if gone.is_set():
                raise TbcoreError("the client has disconnected, so nobody reads this")
            if thread_time() > end:
                raise QueryError(_LATE, 0)

        try:
            return json_response(self._answer(json_body(request), check))
        except TbcoreError as error:
            return error_response(error.status, str(error))

    def _answer(self, body: Mapping[str, Any], check: Callable[[], object]) -> dict[str, Any]:
        """The answer to a request; raises BadRequestError, and what `check` raises."""
        texts = strings_in(body, "columns") if body.get("columns") is not None else []
        if (n := len(texts)) > MAX_COLUMNS:
            raise BadRequestError(f'"columns" must have at most {MAX_COLUMNS} elements, got {n}')
        if any(len(text) > MAX_QUERY_CHARACTERS for text in texts):
            raise BadRequestError(f"a column has more than {MAX_QUERY_CHARACTERS} characters")
        if twice := [text for text in texts if texts.count(text) > 1]:
            raise BadRequestError(f'"columns" has {quoted(twice[0])} more than once')
        query = string_in(body, "query") if body.get("query") is not None else None
        since = string_in(body, "since") if body.get("since") is not None else ""
        known = string_in(body, "query_version") if body.get("query_version") is not None else ""
        if not isinstance(body.get("names"), bool | None):
            raise BadRequestError('"names" must be true or false')
        everything = self._attributes.columns()
        everything.check = check
        instance, _, number = since.partition("-")
        is_delta = instance == self._instance and number.isdecimal() and len(number) < 20
        columns = everything.changed_since(int(number)) if is_delta else everything
        answer: dict[str, Any] = {"generation": f"{self._instance}-{everything.generation}"}
        if texts:
            answer |= {"is_delta": is_delta, "runs": columns.runs}
            answer["columns"] = [_column(text, columns) for text in texts]
            if is_delta and any(each.get("error") == _LATE for each in answer["columns"]):
                # Another request with the same generation has what is missing in this response.
                answer["generation"] = since
        if query is not None:
            found = _found(query, everything)
            version = answer["query_version"] = f"{hash(repr(found)):x}"
            # After most commits a query finds what it found before, which may be half of all names.
            if version != known:
                answer["query"] = found
        if body.get("names"):
            answer["names"] = {
                "hparams": everything.index.hparam_names.most_common(),
                "tags": everything.index.scalar_tags.most_common(),
            }
        return answer


def _column(text: str, columns: RunColumns) -> dict[str, Any]:
    """The attribute that a text names, and its values; or why there are none."""
    try:
        columns.check()
        attribute = parse_attribute(text)
        kind, name, stat, step = attribute
        column = {"text": format_attribute(attribute), **attribute._asdict()}
        if kind == "fact":
            return {**column, "values": fact_of(columns, name)}
        if stat is None:
            unknown = _unknown(attribute, columns.index.hparam_names)
            return {**column, "values": columns.hparams(name), **unknown}
        points = columns.points(name, stat, step)
        column["values"] = [point and point[1] for point in points]
        column["steps"] = [point and point[0] for point in points]
        return {**column, **_unknown(attribute, columns.index.tags)}
    except QueryError as error:
        late = {"is_late": True} if error.message == _LATE else {}
        return {"error": error.message, **late}


def _unknown(attribute: Attribute, known: Names) -> dict[str, list[str]]:
    """If no run has the attribute, the attributes that are close to it."""
    name = attribute.name
    if known.candidates(name):
        return {}
    close = (attribute._replace(name=each) for each in known.close(name))
    return {"unknown": [format_attribute(each) for each in close]}


def _found(text: str, columns: RunColumns) -> dict[str, Any]:
    """What a query finds, or what is wrong with it, and what the user should know."""
    try:
        query = parse(text)
        is_found = matching_runs(query, columns, columns.check)
        count = int(is_found.sum())
        note, offers = note_on(text, query, columns, finds_nothing=count == 0)
    except QueryError as error:
        offers = [error.offer] if error.offer else []
        return {"error": error.message, "at": error.at, "note": "", "offers": _texts(offers, text)}
    # The shorter list: half of all names at most.
    field, is_listed = ("found", is_found) if 2 * count <= len(is_found) else ("others", ~is_found)
    names = list(compress(columns.runs, is_listed.tolist()))
    return {"count": count, field: names, "note": note, "offers": _texts(offers, text)}


def _texts(offers: Sequence[Offer], query: str) -> list[dict[str, str]]:
    return [{"label": each.label or each.text, "text": each.in_query(query)} for each in offers]
