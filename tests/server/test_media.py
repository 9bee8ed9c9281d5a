"""Routes of tbcore.media, for tabs with a slider for the step, on real event files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from tbcore import BadRequestError
from tbcore.http.parameters import BODY_KEY, query_of
from tbcore.media import Media, Sample, index_at_or_before, sort_by_step, union_of_steps
from tbcore.values import IMAGE_CLAIMS as CLAIMS
from tbcore.values import Metadata, Value, image
from tbcore_testing import EventFileWriter, TbcoreClient, make_client, summaries, write_run

steps_of = st.lists(st.integers(-3, 6), max_size=12)


def letters(value: Value, metadata: Metadata) -> list[Sample]:
    """A decoder of any bytes; its fields have their number."""
    return [Sample(data, "text/plain", {"size": len(data)}) for data in image(value).encoded]


def log(run: Path, tag: str, *points: tuple[int, Any]) -> None:
    with EventFileWriter(run / f"{tag}.tfevents") as writer:
        for step, data in points:
            logged = data if isinstance(data, list) else [data]
            value = summaries.image(tag, logged, width=1, height=1, as_tensor=True)
            writer.add_summary(step, value)


@pytest.fixture
def client(tmp_path: Path) -> TbcoreClient:
    """A client of a run with steps out of order, and with some that were logged several times."""
    log(tmp_path / "train", "i", (10, b"a"), (0, b"bb"), (10, b"ccc"), (30, b"dddd"))
    log(tmp_path / "train", "j", (5, b"e"), (10, b"f"))
    log(tmp_path / "eval", "i", (10, b"x"), (10, b"y"), (10, b"z"))
    log(tmp_path / "eval", "many", (2**62, [b"1", b"22"]))
    write_run(tmp_path, "numbers", scalars={"i": [0.5]})
    return make_client(tmp_path, plugins=[])


@pytest.fixture
def media(client: TbcoreClient) -> Media:
    return Media(client.multiplexer, CLAIMS, letters)


def ask(media: Media, route: str, query: str = "", body: bytes = b"", **headers: str) -> Response:
    (found,) = [one for one in media.routes() if one.path == f"/{route}"]
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": "GET", "query_string": query.encode()}
    response: Response = found.endpoint(Request({**scope, "headers": raw, BODY_KEY: body}))
    return response


def data_of(response: Response) -> Any:
    import orjson

    assert response.status_code == 200
    return orjson.loads(bytes(response.body))


def test_the_steps_are_those_of_all_series(media: Media) -> None:
    """They are those of the requested runs and tags; unknown ones are ignored."""

    def steps(runs: str, tags: str) -> Any:
        names = f'{{"runs": {runs}, "tags": {tags}}}'.replace("'", '"')
        response = data_of(ask(media, "steps", body=names.encode()))
        return dict(zip(response["step"], response["count"], strict=True))

    assert steps("['train']", "['i']") == {0: 1, 10: 2, 30: 1}
    assert steps("['train', 'eval', 'numbers', 'gone']", "['i', 'j', 'k', 'i']") == {
        0: 1, 5: 1, 10: 3, 30: 1,
    }  # fmt: skip
    assert steps("['eval']", "['many']") == {2**62: 1}
    assert steps("[]", "['i']") == {}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b"\xff", b'{"runs": [1], "tags": []}', b'{"runs": "a", "tags": []}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_an_invalid_body(media: Media, body: bytes) -> None:
    with pytest.raises(BadRequestError, match=r'(the body|"\w+") must be '):
        ask(media, "steps", body=body)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("", (3, 30, 0)),
        ("&step=30", (3, 30, 0)),
        ("&step=31", (3, 30, 0)),
        ("&step=29", (2, 10, 1)),
        ("&step=10", (0, 10, 0)),
        ("&step=10&nth=1", (2, 10, 1)),
        ("&step=10&nth=7", (2, 10, 1)),
        ("&step=10&nth=" + "9" * 40, (2, 10, 1)),
        ("&step=10&nth=-1", (1, 0, 0)),
        ("&step=10&nth=-" + "9" * 40, (1, 0, 0)),
        ("&step=9", (1, 0, 0)),
        ("&step=0", (1, 0, 0)),
        ("&step=" + "9" * 40, (3, 30, 0)),
        ("&step=-1", None),
        ("&step=-" + "9" * 40, None),
    ],
)
def test_the_item_is_the_last_one_at_or_before_the_step(
    media: Media, place: str, expected: Any
) -> None:
    found = data_of(ask(media, "step", f"run=train&tag=i{place}"))
    if expected is None:
        assert found == {"first_step": 0, "index": None, "samples": []}
        return
    index, step, nth = expected
    assert (found["index"], found["step"], found["nth"]) == (index, step, nth)
    assert found["first_step"] == 0
    assert found["samples"] == [
        {
            "size": index + 1,
            "content_type": "text/plain",
            "query": f"index={index}&tagname=i&run=train",
        }
    ]


def test_a_step_that_did_not_change_is_not_read_again(
    client: TbcoreClient, media: Media, tmp_path: Path
) -> None:
    """The response has an etag, which changes only if another item is the last one."""
    last = ask(media, "step", "run=train&tag=i").headers["etag"]
    assert ask(media, "step", "run=train&tag=i&step=30").headers["etag"] == last
    assert ask(media, "step", "run=train&tag=i&step=29").headers["etag"] != last
    again = ask(media, "step", "run=train&tag=i", if_none_match=last)
    assert (again.status_code, again.body) == (304, b"")
    log(tmp_path / "train", "i", (40, b"new"))
    client.reload()
    assert ask(media, "step", "run=train&tag=i&step=30", if_none_match=last).status_code == 304
    assert data_of(ask(media, "step", "run=train&tag=i", if_none_match=last))["step"] == 40


def test_bytes_are_those_of_the_sample(media: Media) -> None:
    found = data_of(ask(media, "step", "run=eval&tag=many"))
    for sample, expected in zip(found["samples"], (b"1", b"22"), strict=True):
        scope = {
            "type": "http",
            "method": "GET",
            "query_string": sample["query"].encode(),
            "headers": [],
        }
        response = media.individual(Request(scope))
        assert response.body == expected
        assert query_of(Request(scope))["run"] == "eval"


def test_both_forms_under_one_tag_are_one_series(tmp_path: Path) -> None:
    """Items are in the order written, whatever form they have."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for step in range(6):
            value = summaries.image("i", bytes(step), width=1, height=1, as_tensor=step % 2 == 1)
            writer.add_summary(10 - step, value)
    multiplexer = make_client(tmp_path, plugins=[]).multiplexer
    media = Media(multiplexer, CLAIMS, letters)

    series = multiplexer.item_series("run", "i", CLAIMS)
    assert series.ordinal.tolist() == list(range(6))
    assert series.step.tolist() == [10, 9, 8, 7, 6, 5]
    assert len(series) == len(series.wall_time) == 6
    for step in range(5, 11):
        found = data_of(ask(media, "step", f"run=run&tag=i&step={step}"))
        assert (found["index"], found["samples"][0]["size"]) == (10 - step, 10 - step)
    legacy = multiplexer.items_etag("run", "i", CLAIMS[:1])
    assert (
        len({legacy, *(multiplexer.items_etag("run", "i", c) for c in (CLAIMS, CLAIMS[1:]))}) == 3
    )


@given(steps_of)
def test_items_are_sorted_by_step_and_duplicates_are_numbered(steps: list[int]) -> None:
    """Items with the same step stay in the order written."""
    order, ordered, nths = sort_by_step(np.array(steps, np.int64))
    assert ordered.tolist() == sorted(steps)
    assert order.tolist() == sorted(range(len(steps)), key=lambda i: (steps[i], i))
    expected = [sum(steps[other] == steps[i] for other in range(i)) for i in order.tolist()]
    assert nths.tolist() == expected


@given(steps_of, st.integers(-4, 7) | st.none(), st.integers(0, 4))
def test_the_index_is_that_of_a_linear_search(steps: list[int], step: int | None, nth: int) -> None:
    _, ordered, nths = sort_by_step(np.array(steps, np.int64))
    places = list(zip(ordered.tolist(), nths.tolist(), strict=True))
    below = [i for i, place in enumerate(places) if step is None or place <= (step, nth)]
    assert index_at_or_before(ordered, step, nth) == (below[-1] if below else -1)


@given(st.lists(steps_of, max_size=4))
def test_the_union_of_steps_has_the_largest_count(series: list[list[int]]) -> None:
    steps, counts = union_of_steps([np.array(one, np.int64) for one in series])
    everything = sorted({step for one in series for step in one})
    assert steps.tolist() == everything
    assert counts.tolist() == [max(one.count(step) for one in series) for step in everything]


def test_every_item_can_be_requested_with_doubles(tmp_path: Path) -> None:
    """Steps in nanoseconds, and the largest steps, can be requested as numbers of JavaScript."""
    now = 1_700_000_000_123_456_789
    steps = [now, now + 1, now + 1000, 2**53 + 1, -(2**63), 2**63 - 1, 2**63 - 2]
    log(tmp_path / "run", "i", *((step, str(step).encode()) for step in steps))
    media = Media(make_client(tmp_path, plugins=[]).multiplexer, CLAIMS, letters)

    columns = data_of(ask(media, "steps", body=b'{"runs": ["run"], "tags": ["i"]}'))
    places = [
        (float(step), nth)
        for step, count in zip(columns["step"], columns["count"], strict=True)
        for nth in range(count)
    ]
    found = []
    for place, nth in places:
        # As JavaScript prints it: the fewest digits that identify the double, then zeros.
        text = format(Decimal(repr(place)), "f")
        response = data_of(ask(media, "step", f"run=run&tag=i&step={text.split('.')[0]}&nth={nth}"))
        assert (float(response["step"]), response["nth"]) == (place, nth)
        found.append(response["step"])
    assert found == sorted(steps)


def test_a_decoder_must_return_a_sequence(client: TbcoreClient) -> None:
    """A Sample is a tuple, too, so the error must not be about its fields."""
    decode: Any = lambda value, metadata: Sample(b"")  # noqa: E731
    media = Media(client.multiplexer, CLAIMS, decode)
    with pytest.raises(TypeError, match=r"must return a sequence of Sample, got one Sample$"):
        ask(media, "step", "run=train&tag=i")
    with pytest.raises(TypeError, match=r"must return a sequence of Sample, got one Sample$"):
        media.listing("train", "i", sample_index=0, samples=0)
