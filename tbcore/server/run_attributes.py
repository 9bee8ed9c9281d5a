"""`data/run_attributes`: hyperparameters and values of runs, as columns for the run list.

The page requests the columns that a filter, a column, a group or a colour needs, and after a change
only those of the runs that changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tbcore.errors import BadRequestError, TbcoreError
from tbcore.http import error_response, json_response
from tbcore.http.parameters import BODY_KEY, json_body, string_in, strings_in
from tbcore.queries.attributes import Names, RunAttributes
from tbcore.queries.syntax import MAX_QUERY_CHARACTERS, MAX_STEP, Glob, name_or_glob
from tbcore.server.guard import method_not_allowed
from tbcore.server.pool import ThreadPool
from tbcore.server.request_body import read_body
from tbcore.store.multiplexer import Multiplexer

MAX_COLUMNS = 100
"""Maximum number of hyperparameters, values or tags in a request."""

T = TypeVar("T")


class RunAttributesRoute:
    """The response of `data/run_attributes`, as an ASGI application for its requests."""

    def __init__(self, multiplexer: Multiplexer, timeout_seconds: float) -> None:
        """The body of a request must arrive within `timeout_seconds`."""
        self._attributes = RunAttributes(multiplexer)
        self._pool = ThreadPool("attributes", max_threads=2)
        """A pool of its own, since it may take seconds to find the minima of many long series."""
        self._timeout_seconds = timeout_seconds
        self._instance = secrets.token_hex(4)
        """Part of the generations in responses: a generation of another server is not valid."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            response: Response | None = method_not_allowed(scope, {"POST"})
        else:
            body = await read_body(scope, receive, self._timeout_seconds)
            response = None if isinstance(body, bytes) else body
            if isinstance(body, bytes):
                scope[BODY_KEY] = body
                response = await self._pool.run(self._response_to, Request(scope))
        if response is not None:
            await response(scope, receive, send)

    def _response_to(self, request: Request) -> Response:
        try:
            return json_response(self._answer(json_body(request)))
        except TbcoreError as error:
            return error_response(error.status, str(error))

    def _answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a request; raises BadRequestError."""
        # 1. Check all fields.
        # 2. Make the columns for all runs, or for those that changed.
        hparams = _names_in(body, "hparams")  # 1
        has = _tags_in(body, "has")
        values = _values_in(body)
        wants_steps, wants_names = _bool_in(body, "last_steps"), _bool_in(body, "names")
        since = string_in(body, "since") if body.get("since") is not None else ""
        columns = self._attributes.columns()  # 2
        index, generation = columns.index, columns.generation
        instance, _, number = since.partition("-")
        is_delta = instance == self._instance and number.isdecimal() and len(number) < 20
        if is_delta:
            columns = columns.changed_since(int(number))
        answer: dict[str, Any] = {
            "generation": f"{self._instance}-{generation}",
            "is_delta": is_delta,
            "runs": columns.runs,
        }
        if hparams:
            answer["hparams"] = {name: columns.hparams(name) for name in hparams}
        if values:
            points = [columns.points(*value) for value in values]
            answer["values"] = [[point and point[1] for point in column] for column in points]
            answer["steps"] = [[point and point[0] for point in column] for column in points]
        if has:
            answer["has"] = [columns.has(tag) for tag in has]
        if wants_steps:
            answer["last_steps"] = columns.last_steps()
        if wants_names:
            answer["names"] = {
                "hparams": index.hparam_names.most_common(),
                "tags": index.scalar_tags.most_common(),
            }
        tags = [tag for tag, _, _ in values]
        tags += [tag for tag in has if isinstance(tag, str)]
        answer["unknown"] = {
            "hparams": _unknown(hparams, index.hparam_names),
            "tags": _unknown(tags, index.tags),
        }
        return answer


def _unknown(names: Sequence[str], known: Names) -> dict[str, list[str]]:
    """Maps each name that no run has to similar names."""
    return {name: known.close(name) for name in names if not known.candidates(name)}


def _names_in(body: Mapping[str, Any], field: str) -> list[str]:
    """A list of names; empty if the field is missing."""
    names = strings_in(body, field) if body.get(field) is not None else []
    return _checked_length(names, field)


def _tags_in(body: Mapping[str, Any], field: str) -> list[str | Glob]:
    """Lower-cased tags, and globs that match tags."""
    names = _names_in(body, field)
    if any(len(name) > MAX_QUERY_CHARACTERS for name in names):
        raise BadRequestError(f'"{field}" has a name longer than {MAX_QUERY_CHARACTERS} characters')
    return [name_or_glob(name) for name in names]


def _values_in(body: Mapping[str, Any]) -> list[tuple[str, str, int | None]]:
    """Tag, statistic and step of each value."""
    values = body.get("values")
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise BadRequestError('"values" must be an array of objects')
    return [_value(value) for value in _checked_length(values, "values")]


def _value(value: Mapping[str, Any]) -> tuple[str, str, int | None]:
    tag, stat, step = string_in(value, "tag"), string_in(value, "stat"), value.get("step")
    if stat not in ("last", "min", "max", "at"):
        raise BadRequestError(f'"stat" must be last, min, max or at, got {stat[:100]!r}')
    if stat != "at":
        return tag, stat, None
    if not isinstance(step, int) or isinstance(step, bool) or abs(step) > MAX_STEP:
        raise BadRequestError(f'"step" must be an integer from {-MAX_STEP} to {MAX_STEP}')
    return tag, stat, step


def _bool_in(body: Mapping[str, Any], field: str) -> bool:
    """True or false; false if the field is missing."""
    value = body.get(field)
    if isinstance(value, bool | None):
        return bool(value)
    raise BadRequestError(f'"{field}" must be true or false')


def _checked_length(columns: list[T], field: str) -> list[T]:
    if len(columns) > MAX_COLUMNS:
        raise BadRequestError(
            f'"{field}" must have at most {MAX_COLUMNS} elements, got {len(columns)}'
        )
    return columns
