"""Functions for routes: reading parameters and bodies of requests, and making responses.

    from tbcore.http import json_response, required

    def steps(request):
        run, tag = required(request, "run", "tag")
        return json_response(multiplexer.scalars(run, tag).step)

Functions that make responses accept any text and number that a log may contain: text that is not
valid Unicode is replaced, and numbers that JSON does not have become strings.
"""

from tbcore.http.parameters import (
    is_reader,
    json_body,
    optional,
    optional_int,
    request_body,
    required,
    string_in,
    strings_in,
)
from tbcore.http.responses import (
    bytes_response,
    columns_response,
    csv_response,
    error_response,
    json_response,
    not_modified,
    safe_content_type,
    series_response,
    streaming_response,
    tags_response,
)
from tbcore.json import number_texts

__all__ = [
    "bytes_response", "columns_response", "csv_response", "error_response", "is_reader",
    "json_body", "json_response", "not_modified", "number_texts", "optional", "optional_int",
    "request_body", "required", "safe_content_type", "series_response", "streaming_response",
    "string_in", "strings_in", "tags_response",
]  # fmt: skip
