"""tbcore.http: parameters and bodies of requests, and responses."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tbcore import BadRequestError
from tbcore import json as json_module
from tbcore.http import (
    bytes_response,
    columns_response,
    csv_response,
    error_response,
    json_body,
    json_response,
    optional,
    optional_int,
    request_body,
    required,
    safe_content_type,
    streaming_response,
    string_in,
    strings_in,
)
from tbcore.http.parameters import ItemAddress, item_address


class Pair(NamedTuple):
    first: Any
    second: Any


def make_request(query: str = "", method: str = "GET", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(
        {"type": "http", "method": method, "query_string": query.encode(), "headers": raw}
    )


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (NAN, '"NaN"'),
        ([1.5, INFINITY, -INFINITY, 2], '[1.5,"Infinity","-Infinity",2]'),
        ({"a": {"b": [NAN, None, True]}}, '{"a":{"b":["NaN",null,true]}}'),
        ([[0.5, 1, NAN], [1.5, 2, 0.25]], '[[0.5,1,"NaN"],[1.5,2,0.25]]'),
        ([(0.5, [NAN]), (1.5, [1, 2])], '[[0.5,["NaN"]],[1.5,[1,2]]]'),
        ([(NAN, None, "null"), (1.0, 2, "x")], '[["NaN",null,"null"],[1.0,2,"x"]]'),
        (np.float32(0.1), "0.10000000149011612"),
        (np.array([0.1, NAN], np.float32), '[0.10000000149011612,"NaN"]'),
        (np.array([[1.0, -INFINITY]]), '[[1.0,"-Infinity"]]'),
        (np.array([2**63 - 1, -(2**63)]), "[9223372036854775807,-9223372036854775808]"),
        (np.arange(6, dtype=">i2")[::2], "[0,2,4]"),
        (np.array([True, False]), "[true,false]"),
        ([np.float64(NAN), np.int64(3), np.bool_(True)], '["NaN",3,true]'),
        (np.array(NAN), '"NaN"'),
        (Pair(np.int8(1), NAN), '[1,"NaN"]'),
        (MappingProxyType({"a": NAN}), '{"a":"NaN"}'),
        (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        ({"b", "a"}, '["a","b"]'),
        (range(3), "[0,1,2]"),
        (b"caf\xc3\xa9", '"caf\u00e9"'),
        ("\u00e9\u2028<", '"\u00e9\u2028<"'),
        ("run\udcff/\ud800", '"run\\\\xff/\ufffd"'),
        ({"run\udcff": ["\udc80"]}, '{"run\\\\xff":["\\\\x80"]}'),
        ([], "[]"),
        ([[], []], "[[],[]]"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
    ],
)
def test_json_is_strict_and_exact(data: Any, text: str) -> None:
    """Non-finite numbers become strings at any depth."""
    response = json_response(data)

    # The sign of an exponent is written by some versions of orjson only.
    assert bytes(response.body).decode().replace("e+", "e") == text
    assert response.headers["content-type"] == "application/json"


numbers = st.floats() | st.integers(-(2**63), 2**63) | st.none() | st.booleans()
texts = st.text(st.characters(), max_size=5)
anything = st.recursive(
    numbers | texts,
    lambda inner: (
        st.lists(inner) | st.dictionaries(texts, inner) | st.lists(st.tuples(inner, inner))
    ),
)


@given(anything)
def test_json_of_anything_can_be_read_again(data: Any) -> None:
    """A strict parser reads the same data, with strings for non-finite numbers."""

    def reject(name: str) -> Any:
        raise AssertionError(f"bare {name}")

    assert_same(json.loads(bytes(json_response(data).body), parse_constant=reject), data)


def assert_same(found: Any, data: Any) -> None:
    if isinstance(data, float) and not math.isfinite(data):
        assert float(found) == data or (found == "NaN" and math.isnan(data))
    elif isinstance(data, (list, tuple)):
        assert len(found) == len(data)
        for one, other in zip(found, data, strict=True):
            assert_same(one, other)
    elif isinstance(data, dict):
        if all(key.isprintable() for key in data):
            assert list(found) == list(data)
            for key in data:
                assert_same(found[key], data[key])
    elif not isinstance(data, str) or data.isprintable():
        assert found == data
        assert type(found) is type(data)


class Colour(Enum):
    RED = "r"
    NONE = None
    BAD = NAN


@dataclass
class Point:
    x: float
    y: Any = 2


class OnceOnly:
    """An iterable that can be iterated only once, although it is not an iterator."""

    def __init__(self, *values: Any) -> None:
        self.values = iter(values)

    def __iter__(self) -> Iterator[Any]:
        return self.values


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: zip([0.5, 1.5], [1, 2], strict=True), "[[0.5,1],[1.5,2]]"),
        (lambda: (x / 2 for x in [1, 3]), "[0.5,1.5]"),
        (lambda: map(str, [1, 2]), '["1","2"]'),
        (lambda: OnceOnly(1, iter([2])), "[1,[2]]"),
        (lambda: {"a": 1}.values(), "[1]"),
        (lambda: deque([1, 2]), "[1,2]"),
        (lambda: Point(0.5), '{"x":0.5,"y":2}'),
        (lambda: Colour.RED, '"r"'),
        (lambda: datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), '"2020-01-02T03:04:05+00:00"'),
        (lambda: [date(2020, 1, 2), time(3, 4)], '["2020-01-02","03:04:00"]'),
        (lambda: UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (lambda: np.array(["2020-01-02"], "M8[D]"), '["2020-01-02"]'),
    ],
)
@pytest.mark.parametrize(
    ("beside", "beside_text"),
    [(1, "1"), (None, "null"), (NAN, '"NaN"'), ("null", '"null"'), ("\udcff", '"\\\\xff"')],
)
def test_json_of_a_value_does_not_depend_on_other_values(
    make: Callable[[], Any], text: str, beside: Any, beside_text: str
) -> None:
    """A value that must be encoded twice does not consume an iterator next to it."""
    for data, expected in (
        ([make(), beside], f"[{text},{beside_text}]"),
        ({"a": beside, "b": {"c": make()}}, f'{{"a":{beside_text},"b":{{"c":{text}}}}}'),
        (iter([beside, make()]), f"[{beside_text},{text}]"),
    ):
        assert bytes(json_response(data).body).decode() == expected


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (zip([0.5, NAN], [1, None], strict=True), '[[0.5,1],["NaN",null]]'),
        ((name for name in ["a", "\udc80"]), '["a","\\\\x80"]'),
        (Point(NAN, [Point(-INFINITY, None)]), '{"x":"NaN","y":[{"x":"-Infinity","y":null}]}'),
        ([Colour.BAD, Colour.NONE], '["NaN",null]'),
    ],
)
def test_json_is_strict_inside_of_them(data: Any, text: str) -> None:
    """Non-finite numbers in iterators, dataclasses and enums become strings, too."""
    assert bytes(json_response(data).body).decode() == text


@pytest.mark.parametrize("data", [{"a": object()}, [object(), None], {1: "a"}, Point, 2**70])
def test_other_types_are_errors(data: Any) -> None:
    """Values that JSON cannot represent raise TypeError."""
    with pytest.raises(TypeError):
        json_response(data)


LONG = [0.5] * 4_000_000


@pytest.mark.parametrize(
    "data",
    [
        list(range(10)),
        tuple(range(10)),
        np.arange(10),
        np.arange(20.0).reshape(10, 2),
        np.arange(20.0).reshape(2, 10),
        [[1, 2.5, NAN], [], [[None, "a"], {"b": [INFINITY] * 9}]],
        {"rows": [[1, 2], [3, 4], [5, 6]], "n": 3, "empty": {}, "none": None},
        {"a": {"b": {"c": list(range(10))}}},
        {f"k{n}": n for n in range(10)},
        {"\udc80": ["\ud800"] * 10},
        [iter([1, NAN]), iter([])] * 3,
        ["x" * 100] * 10,
        "x" * 1000,
        [Point(1, 2)] * 5,
        MappingProxyType({"a": [1, 2, 3]}),
        7,
    ],
)
def test_json_in_pieces_is_the_same(limits: Callable[..., None], data: Any) -> None:
    """Long lists are encoded in pieces; here, each piece is as small as possible."""
    data, again = copied(data), copied(data)
    expected = bytes(json_response(data).body)
    limits(json_module, _MAX_SIZE_AT_ONCE=2)
    assert bytes(json_response(again).body) == expected


def copied(data: Any) -> Any:
    """The data with new iterators, since an iterator can be encoded only once."""
    if isinstance(data, list) and data and isinstance(data[0], Iterator):
        return [iter([1, NAN]) for _ in data]
    return data


@pytest.mark.parametrize(
    "respond",
    [
        partial(json_response, LONG),
        partial(json_response, {"rows": [LONG[:4]] * 1_000_000}),
        partial(json_response, {"runs": {"train": np.array(LONG), "eval": []}}),
        partial(csv_response, ["a", "b"], [LONG[:2]] * 500_000),
    ],
    ids=["list", "rows", "array", "csv"],
)
def test_long_responses_let_other_threads_run(respond: Callable[[], Response]) -> None:
    """Another thread runs many times while a response is made, not only before and after."""
    num_turns, is_over = 0, threading.Event()

    def count_turns() -> None:
        nonlocal num_turns
        while not is_over.wait(0.0001):
            num_turns += 1

    thread = threading.Thread(target=count_turns)
    thread.start()
    before = num_turns
    response = respond()
    after = num_turns
    is_over.set()
    thread.join()
    assert len(response.body) > 4_000_000
    assert after - before > 5


@pytest.mark.parametrize("length", range(8))
def test_columns_begin_at_a_multiple_of_eight(length: int) -> None:
    """A page reads them as arrays of float64, without a copy."""
    tables = [{"x": [1.5, -2.0], "y": np.array([3, 4])}, {"z": []}]

    body = bytes(columns_response("h" * length, tables).body)

    start = 4 + int.from_bytes(body[:4], "little")
    shapes = [{"rows": 2, "columns": ["x", "y"]}, {"rows": 0, "columns": ["z"]}]
    assert json.loads(body[4:start]) == {"header": "h" * length, "tables": shapes}
    assert start % 8 == 0
    assert np.frombuffer(body, "<f8", offset=start).tolist() == [1.5, -2.0, 3.0, 4.0]


def test_csv_has_crlf_quotes_where_needed_and_shortest_digits() -> None:
    """The last row ends with CRLF, too."""
    rows = [
        (1443856985.705543, 1448, 0.10000000149011612),
        (1e22, -3, 1e-20),
        (NAN, INFINITY, -INFINITY),
        ("a,b", 'c"d', "e\nf"),
    ]

    response = csv_response(["Wall time", "step", "value"], rows)

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.body == (
        b"Wall time,step,value\r\n"
        b"1443856985.705543,1448,0.10000000149011612\r\n"
        b"1e+22,-3,1e-20\r\n"
        b"nan,inf,-inf\r\n"
        b'"a,b","c""d","e\nf"\r\n'
    )


@pytest.mark.parametrize(
    ("given_type", "served"),
    [
        ("image/png", "image/png"),
        ("Audio/WAV; rate=8000", "audio/wav"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/html", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("application/pdf", "application/octet-stream"),
        ("application/xhtml+xml", "application/octet-stream"),
        ("text/javascript", "application/octet-stream"),
        ("image/png\r\nX-Evil: 1", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_bytes_never_get_an_active_type(given_type: str, served: str) -> None:
    """The content type is from a log, which cannot be trusted."""
    assert bytes_response(b"x", given_type).headers["content-type"] == served


@pytest.mark.parametrize(
    ("header", "status", "body", "content_range"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=5-2", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("bytes=" + "9" * 30 + "-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=\u0663-", 200, b"0123456789", None),
    ],
)
def test_parts_of_bytes(
    header: str, status: int, body: bytes | None, content_range: str | None
) -> None:
    """Audio players request ranges; a header that is not valid is ignored."""
    response = bytes_response(b"0123456789", "audio/wav", request=make_request(range=header))

    assert response.status_code == status
    assert response.headers.get("content-range") == content_range
    if body is not None:
        assert response.body == body
        assert response.headers["accept-ranges"] == "bytes"


def test_bytes_that_the_client_has_are_not_sent_again() -> None:
    """The etag may be any text that identifies the content."""
    first = bytes_response(b"abc", "image/png", etag="7-12-0xff \udcff\n", request=make_request())
    etag = first.headers["etag"]
    again = make_request(if_none_match=f'"other", W/{etag}')
    other = make_request(if_none_match='"other"')

    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-cache"
    second = bytes_response(b"abc", "image/png", etag="7-12-0xff \udcff\n", request=again)
    assert (second.status_code, second.body) == (304, b"")
    assert second.headers["etag"] == etag
    assert bytes_response(b"abc", "image/png", etag="x", request=other).status_code == 200


def test_a_part_of_another_version_is_not_mixed_in() -> None:
    """If-Range with another etag returns the whole content."""
    etag = bytes_response(b"0123", "audio/wav", etag="new").headers["etag"]
    for if_range, status in ((etag, 206), ('"old"', 200)):
        request = make_request(range="bytes=1-", if_range=if_range)
        response = bytes_response(b"0123", "audio/wav", etag="new", request=request)
        assert response.status_code == status


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("no run 'a\r\nb\0\udcff'", "no run 'a b\\x00\\xff'"),
        ("one\u2028two\x0cthree\x85four\n", "one two three four"),
        ("\x1b[31mred\x07\x7f", "\\x1b[31mred\\x07\\x7f"),
        ("\u202eback, \ud800 none", "\\u202eback, \ufffd none"),
        ("d\u00e9j\u00e0  vu \U0001f600", "d\u00e9j\u00e0  vu \U0001f600"),
    ],
)
def test_errors_are_one_line_of_text(message: str, line: str) -> None:
    """Names in messages may have any characters, also such that affect a terminal."""
    response = error_response(404, message)

    assert response.status_code == 404
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert bytes(response.body).decode() == line


def test_the_first_value_of_a_parameter_is_used() -> None:
    """A blank value is an empty string."""
    request = make_request("run=&run=b&tag=a%20b+c%2Fd%C3%A9&flag&tag=x&bad=%ff")

    assert required(request, "run") == ""
    assert required(request, "tag", "run") == ("a b c/d\u00e9", "")
    assert optional(request, "flag") == ""
    assert optional(request, "bad") == "\ufffd"
    assert optional(request, "none") is None
    assert optional(request, "none", "json") == "json"


def test_a_missing_parameter_is_named() -> None:
    """The error has the first missing parameter."""
    with pytest.raises(BadRequestError, match=r'^query parameter "tag" is required$'):
        required(make_request("run=a"), "run", "tag", "index")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("-5", -5),
        ("%2B5", 5),
        ("%205%20", 5),
        ("9223372036854775807", 2**63 - 1),
        ("9" * 5000, 2**63 - 1),
        ("-" + "9" * 30, -(2**63 - 1)),
    ],
)
def test_integers(text: str, value: int) -> None:
    """Numbers outside of int64 are clamped to its range."""
    assert optional_int(make_request(f"n={text}"), "n", 3) == value


@pytest.mark.parametrize("text", ["", "1.5", "1e3", "0x10", "1_000", "\u0663", "NaN", "--1", "+"])
def test_other_texts_are_not_integers(text: str) -> None:
    """The error has the value."""
    with pytest.raises(BadRequestError, match=r'^query parameter "n" must be an integer, got '):
        optional_int(make_request(f"n={text}"), "n", 3)


def test_the_minimum_of_an_integer() -> None:
    """The error has the minimum."""
    assert optional_int(make_request("n=2"), "n", 3, minimum=2) == 2
    assert optional_int(make_request(), "n", 1, minimum=2) == 1
    assert optional_int(make_request(), "n") is None
    with pytest.raises(BadRequestError, match=r"^query parameter \"n\" must be an integer >= 2, "):
        optional_int(make_request("n=1"), "n", 3, minimum=2)


def test_a_request_without_a_body_has_an_empty_one() -> None:
    """For example a GET."""
    assert request_body(make_request()) == b""


def test_a_body_is_decompressed_up_to_a_limit() -> None:
    """A body that is not valid gzip, or too long after decompression, is an error."""

    def read(body: bytes, encoding: str = "gzip") -> bytes:
        request = make_request(method="POST", content_encoding=encoding)
        request.scope["tbcore.body"] = body
        return request_body(request)

    packed = gzip.compress(b"hello" * 100_000)
    assert read(packed) == b"hello" * 100_000
    assert read(b"hello", "identity") == b"hello"
    assert read(gzip.compress(bytes(16 << 20))) == bytes(16 << 20)
    for body, encoding, message in [
        (b"hello", "gzip", "the body is not valid gzip: "),
        (b"", "gzip", "the body is not valid gzip: its end is missing"),
        (packed[:-1], "gzip", "the body is not valid gzip: its end is missing"),
        (packed + b"x", "gzip", "the body is not valid gzip: its end is missing"),
        (gzip.compress(bytes((16 << 20) + 1)), "gzip", "the body has more than 16777216 bytes"),
        (packed, "br", "the body's encoding must be gzip or none, got 'br'"),
    ]:
        with pytest.raises(BadRequestError, match=f"^{message}") as raised:
            read(body, encoding)
        assert "\n" not in str(raised.value)


def test_the_json_of_a_body_is_an_object() -> None:
    """Other bodies are errors of one line, and fields of other types, too."""

    def read(body: bytes) -> dict[str, Any]:
        request = make_request(method="POST")
        request.scope["tbcore.body"] = body
        return json_body(request)

    body = read(b'{"runs": ["a", ""], "tag": "b", "n": [1], "deep": [[' + b"0," * 99 + b"0]]}")
    assert strings_in(body, "runs") == ["a", ""]
    for field, shown in [("tag", '"b"'), ("n", "[1]"), ("gone", "null"), ("deep", "[[0,")]:
        with pytest.raises(BadRequestError) as raised:
            strings_in(body, field)
        assert str(raised.value).startswith(f'"{field}" must be an array of strings, got {shown}')
        assert len(str(raised.value)) < 200
    assert string_in(body, "tag") == "b"
    for field, shown in [("runs", '["a",""]'), ("gone", "null")]:
        with pytest.raises(BadRequestError) as raised:
            string_in(body, field)
        assert str(raised.value) == f'"{field}" must be a string, got {shown}'
    for wrong in (b"", b"[]", b"null", b"7", b"\xff", b"{", b"[" * 100_000, b'{"a": NaN}'):
        with pytest.raises(BadRequestError, match=r"^the body must be ") as raised:
            read(wrong)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [
        ("image/png", "image/png"),
        (" Audio/WAV ; codecs=1", "audio/wav"),
        ("audio/x-m4a", "audio/x-m4a"),
        ("image/svg+xml", "application/octet-stream"),
        ("text/html", "application/octet-stream"),
        ("audio/wav\r\nx: y", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_safe_content_types(given_type: str, expected: str) -> None:
    """A type in the list stays; any other becomes application/octet-stream."""
    assert safe_content_type(given_type) == expected
    assert bytes_response(b"", given_type).headers["content-type"] == expected


def test_the_query_of_an_item() -> None:
    """The query is as documented; `sample` is left out for the first sample."""
    address = ItemAddress("train", "input/image/2", 0)

    assert address.query == "index=0&tagname=input%2Fimage%2F2&run=train"
    assert address._replace(sample_index=3).query.endswith("&sample=3")


@given(texts, texts, st.integers(0, 2**62), st.integers(0, 2**31))
def test_the_query_of_an_item_can_be_parsed(run: str, tag: str, ordinal: int, sample: int) -> None:
    """This works for any names of runs and tags."""
    address = ItemAddress(run, tag, ordinal, sample)
    found = item_address(make_request(address.query))

    assert found[2:] == (ordinal, sample)
    if not any("\ud800" <= c <= "\udfff" for c in run + tag):
        assert found == address


def test_other_forms_of_the_query_of_an_item() -> None:
    """The tag may be `tag` or `tagname`, in any order, with additional parameters."""
    expected = ItemAddress("a b", "t/1", 7, 2)
    for query in (
        "run=a+b&tag=t%2F1&index=7&sample=2",
        "ts=1.5&sample=2&index=7&tagname=t/1&run=a%20b",
    ):
        assert item_address(make_request(query)) == expected
    assert item_address(make_request("run=&tag=&index=-1")) == ItemAddress("", "", -1)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("tag=t&index=0", '"run" is required'),
        ("run=r&index=0", '"tag" is required'),
        ("run=r&tagname=t", '"index" is required'),
        ("run=r&tagname=t&index=", '"index" must be an integer'),
        ("run=r&tagname=t&index=1.5", '"index" must be an integer'),
        ("run=r&tagname=t&index=0&sample=x", '"sample" must be an integer'),
    ],
)
def test_incomplete_queries_of_an_item(query: str, part: str) -> None:
    """The error has the missing or invalid parameter."""
    with pytest.raises(BadRequestError, match=part):
        item_address(make_request(query))


def test_only_long_responses_are_streamed() -> None:
    """An error in the first megabyte is raised; HEAD generates no more than that."""
    made = []

    def pieces(count: int) -> Iterator[bytes]:
        for number in range(count):
            made.append(number)
            yield b"%07d\n" % number * 1024
        if count == 3:
            raise BadRequestError("there is no fourth piece")

    def respond(count: int, method: str = "GET") -> Response:
        return streaming_response(make_request(method=method), pieces(count), "text/plain")

    few = respond(2)
    assert (few.headers["content-length"], few.headers["content-type"]) == ("16384", "text/plain")
    assert bytes(few.body)[8184:8200] == b"0000000\n0000001\n"
    with pytest.raises(BadRequestError, match="no fourth"):
        respond(3)

    for method, length in (("GET", 300 * 8192), ("HEAD", 0)):
        made.clear()
        many = respond(300, method)
        assert len(made) == 129
        assert "content-length" not in many.headers
        assert isinstance(many, StreamingResponse)
        assert len(asyncio.run(whole(many))) == length


async def whole(response: StreamingResponse) -> bytes:
    return b"".join([bytes(piece) async for piece in response.body_iterator])
