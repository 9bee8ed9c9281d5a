"""What is asked: messages of the API, read from a request and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import Message
from starlette.requests import Request

from tbcore import BadRequestError
from tbcore.http import optional, request_body, required
from tbcore_hparams.aggregate import AVG, MAX, MEDIAN, MIN
from tbcore_hparams.downloads import FORMATS
from tbcore_hparams.proto.api_pb2 import (
    AggregationType,
    ListSessionGroupsRequest,
    SortOrder,
)

M = TypeVar("M", bound=Message)

MAX_COLUMNS = 10_000
"""Members of `colParams`: pages send one for each column. Each of them takes some time."""
MAX_COMMAS = 50_000
"""Of a message: about how many values it has. Protobuf's reader of JSON takes some 10 µs for each,
holding up all other requests; a packed body of 1 MB has room for 5 million."""
_AGGREGATIONS = {"avg": AVG, "min": MIN, "max": MAX, "median": MEDIAN}


def message(request: Request, kind: type[M]) -> M:
    """The message in the body of a POST, or in the parameter `request`.

    Raises BadRequestError where there is none.
    """
    if request.method == "POST":
        text = request_body(request)
    else:
        text = required(request, "request").encode()
    if text.count(b",") > MAX_COMMAS:
        raise BadRequestError(
            f"a {kind.DESCRIPTOR.name} may have about {MAX_COMMAS} values, and this has more"
        )
    try:
        found: M = json_format.Parse(text, kind())
    except (json_format.Error, ValueError, TypeError, AttributeError, RecursionError) as error:
        # json_format has errors of its own for most, but not for all that can be sent.
        reason = " ".join(str(error).split())
        raise BadRequestError(
            f"a {kind.DESCRIPTOR.name} in JSON is needed: {reason[:300]}"
        ) from None
    return found


def session_groups_message(request: Request) -> ListSessionGroupsRequest:
    """The message, with columns that say which one they are and numbers that have a meaning."""
    question = message(request, ListSessionGroupsRequest)
    if question.aggregation_type not in AggregationType.values():
        raise BadRequestError(f"unknown aggregationType {question.aggregation_type}")
    if len(question.col_params) > MAX_COLUMNS:
        raise BadRequestError(
            f"colParams may have {MAX_COLUMNS} members, and these are {len(question.col_params)}"
        )
    for params in question.col_params:
        if params.WhichOneof("name") is None:
            raise BadRequestError('a member of colParams needs "metric" or "hparam"')
        if params.order not in SortOrder.values():
            raise BadRequestError(f"unknown order {params.order}")
    return question


def wanted_hparams(question: ListSessionGroupsRequest) -> set[str] | None:
    """The hyperparameters to tell of; None: all.

    As soon as one column says whether to include it, only columns of the request are told of.
    """
    if not any(params.HasField("include_in_result") for params in question.col_params):
        return None
    return {
        params.hparam
        for params in question.col_params
        if params.include_in_result or not params.HasField("include_in_result")
    }


def download_format(request: Request) -> str:
    """One of FORMATS."""
    name = required(request, "format")
    if name not in FORMATS:
        raise BadRequestError(f'"format" must be one of {", ".join(FORMATS)}, got {name[:100]!r}')
    return name


def visible_columns(request: Request) -> list[bool]:
    """Which columns of a download are wanted."""
    text = required(request, "columnsVisibility")
    try:
        visible = orjson.loads(text)
    except orjson.JSONDecodeError:
        visible = None
    if not isinstance(visible, list) or not all(isinstance(entry, bool) for entry in visible):
        raise BadRequestError(
            f'"columnsVisibility" must be a JSON array of true and false, got {text[:100]!r}'
        )
    return visible


def one_of(request: Request, name: str, choices: Sequence[str]) -> str:
    """The value of a query parameter; the first of the choices where it is not there."""
    value = optional(request, name, choices[0])
    if value not in choices:
        raise BadRequestError(f'"{name}" must be one of {", ".join(choices)}, got {value[:100]!r}')
    return value


def aggregation(request: Request) -> int:
    """How a table makes one value of several; a number of the enum AggregationType."""
    name = one_of(request, "aggregation", list(_AGGREGATIONS))
    if name != "avg":
        required(request, "tag")
    return _AGGREGATIONS[name]
