"""The routes of texts as a client sees them: TensorBoard's API, steps and search."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tbcore_text
import tbcore_text.search
from tbcore_testing import EventFileWriter, SeriesTests, TbcoreClient, summaries, write_run
from tbcore_text.reader import MAX_CELLS, MAX_LENGTH

MakeClient = Callable[..., TbcoreClient]

TEXT = "data/plugin/text/text"
STEP = "data/plugin/text/step"
SEARCH = "data/plugin/text/search"


class TestRoutes(SeriesTests):
    plugin = tbcore_text
    data_type = "texts"
    samples = 100
    listing = f"{TEXT}?run={{run}}&tag={{tag}}"
    routes: ClassVar = {
        "data/plugin/text/tags": [],
        "data/plugin/text/runs": [],
        listing: [],
        f"{STEP}?run={{run}}&tag={{tag}}": [],
        "data/plugin/text/individualText?index={index}&tagname={tag}&run={run}": [],
    }

    def value(self, step: int) -> str:
        return str(step)


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves texts of every rank, one as PyTorch logs it, and a run without texts."""
    words = [(10, "a *red* fox"), (20, "a **blue** fox"), (20, "<unk> & <b>RED</b>")]
    table = [["name", "value"], ["rate", "1e-3"]]
    write_run(
        tbcore_logdir, "train", texts={"words": words, "list": [["x", "*y*"]], "table": [table]}
    )
    with EventFileWriter(tbcore_logdir / "eval" / "a.tfevents") as writer:
        for tag, strings, shape in (
            ("note/text_summary", [b"by add_text"], (1,)),
            ("cube", [b"a", b"b", b"c", b"d"], (2, 1, 2)),
            ("empty", [], (0,)),
            ("bytes", [b"\xff\xfe"], ()),
        ):
            value = summaries.string_tensor(tag, strings, shape=shape, plugin_name="text")
            writer.add_summary(1, value)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_text])


def texts(client: TbcoreClient, run: str, tag: str, **more: Any) -> list[str]:
    response = client.get(TEXT, params={"run": run, "tag": tag, **more})
    assert response.status_code == 200, response.text
    return [row["text"] for row in response.json()]


def at_step(client: TbcoreClient, run: str, tag: str, **more: Any) -> Any:
    response = client.get(STEP, params={"run": run, "tag": tag, **more})
    assert response.status_code == 200, response.text
    return response.json()


def found(client: TbcoreClient, query: str, **more: Any) -> Any:
    """(run, tag, step, nth) of each match, and the whole response."""
    body = {
        "query": query,
        "runs": ["train", "eval", "numbers", "gone"],
        "tags": [
            "words",
            "list",
            "table",
            "note/text_summary",
            "cube",
            "empty",
            "bytes",
            "missing",
        ],
        **more,
    }
    response = client.post(SEARCH, json=body)
    assert response.status_code == 200, response.text
    result = response.json()
    matches = [
        (series["run"], series["tag"], match["step"], match["nth"])
        for series in result["found"]
        for match in series["matches"]
    ]
    return matches, result


def test_tags_name_every_run(client: TbcoreClient) -> None:
    """/runs, which front ends of 2017 use, lists only runs with texts."""
    tags = {
        "train": ["words", "list", "table"],
        "eval": ["note/text_summary", "cube", "empty", "bytes"],
    }
    assert client.get("data/plugin/text/tags").json() == {**tags, "numbers": []}
    assert client.get("data/plugin/text/runs").json() == tags
    assert client.get("data/plugins_listing").json() == {"text": True}


def test_texts_are_those_of_tensorboard(client: TbcoreClient) -> None:
    """Keys, order and HTML are those of TensorBoard 2.21 for these texts."""
    response = client.get(TEXT, params={"run": "train", "tag": "words"})

    assert response.json()[0] == {
        "wall_time": 1700000001.0,
        "step": 10,
        "text": "<p>a <em>red</em> fox</p>",
    }
    assert texts(client, "train", "list") == [
        "<table>\n<tbody>\n<tr>\n<td><p>x</p></td>\n</tr>\n"
        "<tr>\n<td><p><em>y</em></p></td>\n</tr>\n</tbody>\n</table>"
    ]
    assert texts(client, "train", "table", markdown="false") == [
        "<table>\n<tbody>\n<tr>\n<td>name</td>\n<td>value</td>\n</tr>\n"
        "<tr>\n<td>rate</td>\n<td>1e-3</td>\n</tr>\n</tbody>\n</table>"
    ]
    assert texts(client, "eval", "note/text_summary") == [
        "<table>\n<tbody>\n<tr>\n<td><p>by add_text</p></td>\n</tr>\n</tbody>\n</table>"
    ]
    assert texts(client, "eval", "empty") == ["<table>\n<tbody>\n</tbody>\n</table>"]


def test_without_markdown_everything_is_text(client: TbcoreClient) -> None:
    assert texts(client, "train", "words", markdown="false") == [
        "a *red* fox",
        "a **blue** fox",
        "&lt;unk&gt; &amp; &lt;b&gt;RED&lt;/b&gt;",
    ]
    assert texts(client, "eval", "bytes") == ["<p>\ufffd\ufffd</p>"]


def test_arrays_of_higher_rank_show_their_first_table(client: TbcoreClient) -> None:
    [html] = texts(client, "eval", "cube", markdown="false")
    assert html.startswith("<p><strong>Warning:</strong>")
    assert html.endswith("<tr>\n<td>a</td>\n<td>b</td>\n</tr>\n</tbody>\n</table>")
    [sample] = at_step(client, "eval", "cube")["samples"]
    assert sample["shape"] == [2, 1, 2]
    assert sample["cells"] == [["a", "b"]]
    whole = client.get(f"data/plugin/text/individualText?{sample['query']}")
    assert whole.text == "a,b\r\nc,d\r\n"
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"


def test_a_step_has_the_text_and_its_markdown(client: TbcoreClient) -> None:
    """Each of several texts with the same step can be requested."""
    [sample] = at_step(client, "train", "words", step=20, nth=1)["samples"]
    query = sample.pop("query")
    assert sample == {
        "content_type": "text/plain",
        "shape": [],
        "cells": [["<unk> & <b>RED</b>"]],
        "nodes": [[[["p", {}, ["<unk>", " & ", ["b", {}, ["RED"]]]]]]],
        "length": 18,
        "is_cut": False,
    }
    whole = client.get(f"data/plugin/text/individualText?{query}")
    assert whole.text == "<unk> & <b>RED</b>"
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert at_step(client, "eval", "empty")["samples"] == []


def test_long_texts_are_cut(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """The whole text can be fetched. Long texts are not parsed as markdown."""
    long = "0123456789" * (MAX_LENGTH // 10) + "end"
    rows = [["a", "b", "c"] for _ in range(MAX_CELLS)]
    wide = [[str(i) for i in range(2 * MAX_CELLS)]]
    write_run(tbcore_logdir, "train", texts={"long": [long], "rows": [rows], "wide": [wide]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_text])

    [sample] = at_step(client, "train", "long")["samples"]
    assert (sample["length"], sample["is_cut"], sample["nodes"]) == (len(long), True, None)
    assert sample["cells"] == [[long[:MAX_LENGTH]]]
    assert client.get(f"data/plugin/text/individualText?{sample['query']}").text == long
    assert texts(client, "train", "long") == [f"<pre>{long}</pre>"]
    for tag in ("rows", "wide"):
        [sample] = at_step(client, "train", tag)["samples"]
        assert sample["is_cut"], tag
        assert 0 < sum(map(len, sample["cells"])) <= MAX_CELLS
        assert len(sample["nodes"][0]) == len(sample["cells"][0])


def test_an_invalid_value_affects_only_its_own_step(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """It is omitted from listings, and a request for its step is a one-line error."""
    with EventFileWriter(tbcore_logdir / "train" / "a.tfevents") as writer:
        writer.add_summary(1, summaries.text("words", "one"))
        writer.add_summary(
            2, summaries.string_tensor("words", [b"a"] * 3, shape=(2, 2), plugin_name="text")
        )
        writer.add_summary(3, summaries.text("words", "three"))
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_text])

    assert texts(client, "train", "words") == ["<p>one</p>", "<p>three</p>"]
    response = client.get(STEP, params={"run": "train", "tag": "words", "step": 2})
    assert response.status_code == 404
    assert "\n" not in response.text.strip()
    assert found(client, "e")[0] == [("train", "words", 3, 0), ("train", "words", 1, 0)]


def test_search_ignores_case(client: TbcoreClient) -> None:
    """Matches are sorted from new to old, and have their context."""
    matches, result = found(client, "red")
    assert matches == [("train", "words", 20, 1), ("train", "words", 10, 0)]
    assert result["found"][0]["matches"][1] == {
        "step": 10, "nth": 0, "before": "a *", "match": "red", "after": "* fox",
    }  # fmt: skip
    assert result["next"] is None
    assert result["num_read"] == 9
    assert found(client, "1E-3")[0] == [("train", "table", 0, 0)]
    assert found(client, ".*")[0] == []
    assert found(client, "red", tags=["list"])[0] == []
    assert found(client, "red", runs=["eval"])[0] == []


def test_search_continues_where_it_stopped(
    client: TbcoreClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any time, each request reads one text, and all together find every match."""
    everything, _ = found(client, "a")
    monkeypatch.setattr(tbcore_text.search, "TIMEOUT_SECONDS", -1.0)
    matches, after, num_requests = [], None, 0
    while num_requests == 0 or after is not None:
        more, result = found(client, "a", after=after)
        matches += more
        after = result["next"]
        num_requests += 1
    assert matches == everything
    assert num_requests >= 9
    monkeypatch.setattr(tbcore_text.search, "TIMEOUT_SECONDS", 60.0)
    monkeypatch.setattr(tbcore_text.search, "MAX_SERIES", 1)
    first, result = found(client, "a")
    rest, _ = found(client, "a", after=result["next"])
    assert {match[1] for match in first} == {"words"}
    assert {match[1] for match in rest} == {"table"}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"null", b"[" * 9000, b'{"query": "a", "runs": ["b"]}',
        b'{"query": "", "runs": [], "tags": []}', b'{"query": "a", "runs": "b", "tags": []}',
        b'{"query": 1, "runs": [], "tags": []}', b'{"query": "a", "runs": [1], "tags": []}',
        b'{"query": "a", "runs": [], "tags": [], "after": {"run": "a"}}',
        b'{"query": "a", "runs": [], "tags": [], "after": {"run": 1, "tag": "a", "ordinal": 1}}',
        b'{"query": "a", "runs": [], "tags": [], "after": {"run": "a", "tag": "a", "ordinal": ""}}',
        b'{"query": "a", "runs": [], "tags": [], "after": 7}', b"\xff",
    ],
)  # fmt: skip
def test_an_invalid_search_is_rejected(client: TbcoreClient, body: bytes) -> None:
    response = client.post(SEARCH, content=body)
    assert response.status_code == 400
    assert re.match(r'(the body|"\w+") must be ', response.text)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("data/plugin/text/individualText?run=train&tag=words&index=0&sample=1", 404),
        (SEARCH, 405),
    ],
)
def test_errors_are_one_line(client: TbcoreClient, path: str, status: int) -> None:
    response = client.get(path)
    assert response.status_code == status
    assert "\n" not in response.text.strip()
