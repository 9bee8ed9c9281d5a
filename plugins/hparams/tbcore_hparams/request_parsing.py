"""Request parsing: reads and validates the messages and parameters of HTTP requests."""

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
"""Maximum length of `colParams`, in which front ends send one element for each column."""
MAX_COMMAS = 50_000
"""Maximum number of commas in a message, which has about as many values.

Protobuf's JSON parser takes about 10 µs per value, during which all other requests wait. A
compressed body of 1 MB can contain 5 million values.
"""
_OTHER_ERRORS = ValueError, TypeError, AttributeError, RecursionError, SystemError
"""What json_format raises for some invalid messages, beside its own error. SystemError is that of
versions before 5, for an enum value that is not Unicode."""
_AGGREGATIONS = {"avg": AVG, "min": MIN, "max": MAX, "median": MEDIAN}


def parse_message(request: Request, message_type: type[M]) -> M:
    """The message in the body of a POST request, or in the query parameter `request`.

    Raises BadRequestError if it is missing or invalid.
    """
    name = message_type.DESCRIPTOR.name
    if request.method == "POST":
        text = request_body(request)
    else:
        text = required(request, "request").encode()
    if text.count(b",") > MAX_COMMAS:
        raise BadRequestError(f"too many values in the {name}; expected at most about {MAX_COMMAS}")
    try:
        found: M = json_format.Parse(text, message_type())
    except (json_format.Error, *_OTHER_ERRORS) as error:
        reason = " ".join(str(error).split())
        raise BadRequestError(
            f"the request is not a valid {name} in JSON: {reason[:300]}"
        ) from None
    return found


def session_groups_request(request: Request) -> ListSessionGroupsRequest:
    """The ListSessionGroupsRequest in a request, validated.

    Every column has a name, and all enum values are known. Raises BadRequestError otherwise.
    """
    message = parse_message(request, ListSessionGroupsRequest)
    if message.aggregation_type not in AggregationType.values():
        raise BadRequestError(f"unknown aggregationType {message.aggregation_type}")
    if len(message.col_params) > MAX_COLUMNS:
        raise BadRequestError(
            f"colParams has {len(message.col_params)} elements; expected at most {MAX_COLUMNS}"
        )
    for params in message.col_params:
        if params.WhichOneof("name") is None:
            raise BadRequestError('an element of colParams has neither "metric" nor "hparam"')
        if params.order not in SortOrder.values():
            raise BadRequestError(f"unknown order {params.order}")
    return message


def included_hparams(message: ListSessionGroupsRequest) -> set[str] | None:
    """Names of the hyperparameters to include in the response; None for all of them.

    If any column of the request sets `include_in_result`, the names are those of the columns that
    set it to true or do not set it.
    """
    if not any(params.HasField("include_in_result") for params in message.col_params):
        return None
    return {
        params.hparam
        for params in message.col_params
        if params.include_in_result or not params.HasField("include_in_result")
    }


def download_format(request: Request) -> str:
    """The requested format of a download, a key of FORMATS."""
    name = required(request, "format")
    if name not in FORMATS:
        raise BadRequestError(f'"format" must be one of {", ".join(FORMATS)}, got {name[:100]!r}')
    return name


def visible_columns(request: Request) -> list[bool]:
    """Whether each column of a download is requested."""
    text = required(request, "columnsVisibility")
    try:
        visible = orjson.loads(text)
    except orjson.JSONDecodeError:
        visible = None
    if not isinstance(visible, list) or not all(isinstance(entry, bool) for entry in visible):
        raise BadRequestError(
            f'"columnsVisibility" must be a JSON array of booleans, got {text[:100]!r}'
        )
    return visible


def one_of(request: Request, name: str, choices: Sequence[str]) -> str:
    """The value of a query parameter, by default the first choice."""
    value = optional(request, name, choices[0])
    if value not in choices:
        raise BadRequestError(f'"{name}" must be one of {", ".join(choices)}, got {value[:100]!r}')
    return value


def aggregation(request: Request) -> int:
    """The requested aggregation of a group's sessions, a value of AggregationType.

    All but AVG require the parameter `tag`: the metric by which a session is chosen.
    """
    name = one_of(request, "aggregation", list(_AGGREGATIONS))
    if name != "avg":
        required(request, "tag")
    return _AGGREGATIONS[name]
