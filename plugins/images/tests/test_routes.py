"""The routes of images as a client sees them: listings, bytes, images of one step, errors."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tbcore_images
from tbcore.testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

IMAGES = "data/plugin/images/images"
INDIVIDUAL = "data/plugin/images/individualImage"
FIRST, SECOND = summaries.png(28, 14), summaries.png(28, 14, (0, 0, 9))
GIF = b"GIF89a" + b"\x07\x00\x09\x00" + bytes(8)


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves a run in each form, and one without images."""
    points = [(63702821, FIRST, 1440210599.246), (63702822, SECOND)]
    write_run(tbcore_logdir, "train", images={"input/image/2": points, "other image": [FIRST]})
    with EventFileWriter(tbcore_logdir / "eval" / "a.tfevents") as writer:
        writer.add_image("batch", [FIRST, SECOND], 1, as_tensor=True)
        writer.add_image("batch", [SECOND], 2, as_tensor=True)
        writer.add_summary(3, summaries.image("batch", [], width=1, height=1, as_tensor=True))
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_images])


def listing(client: TbcoreClient, run: str, tag: str, **more: Any) -> Any:
    response = client.get(IMAGES, params={"run": run, "tag": tag, **more})
    assert response.status_code == 200, response.text
    return response.json()


def test_tags_list_every_run(client: TbcoreClient) -> None:
    """Runs without images have an empty list."""
    assert client.get("data/plugin/images/tags").json() == {
        "train": ["input/image/2", "other image"],
        "eval": ["batch"],
        "numbers": [],
    }
    assert client.get("data/plugins_listing").json() == {"images": True}


def test_a_listing_has_the_documented_form(client: TbcoreClient) -> None:
    """The query string is exact, too."""
    assert listing(client, "train", "input/image/2")[0] == {
        "width": 28,
        "height": 14,
        "wall_time": 1440210599.246,
        "step": 63702821,
        "query": "index=0&tagname=input%2Fimage%2F2&run=train",
    }


@pytest.mark.parametrize("path", [INDIVIDUAL, "data/individualImage", "legacy/data/individualImage",
                                  "individualImage", "legacy/individualImage"])  # fmt: skip
def test_the_query_of_an_entry_gives_the_bytes_that_were_logged(
    client: TbcoreClient, path: str
) -> None:
    """On every current and legacy route, with parameters that front ends append."""
    for entry, expected in zip(
        listing(client, "train", "input/image/2"), (FIRST, SECOND), strict=True
    ):
        for query in (entry["query"], f"{entry['query']}&ts={entry['wall_time']}"):
            response = client.get(f"{path}?{query}")
            assert response.status_code == 200
            assert response.headers["content-type"] == "image/png"
            assert response.headers["x-content-type-options"] == "nosniff"
            assert "content-encoding" not in response.headers
            assert response.content == expected


def test_the_query_of_other_servers_is_accepted(client: TbcoreClient) -> None:
    """With `tag` instead of `tagname`, in any order."""
    response = client.get(f"{INDIVIDUAL}?run=train&tag=input/image/2&index=1")

    assert response.content == SECOND


def test_several_images_of_one_step(client: TbcoreClient) -> None:
    """The first by default. Steps that do not have the requested sample are omitted."""
    assert [entry["step"] for entry in listing(client, "eval", "batch")] == [1, 2]
    (entry,) = listing(client, "eval", "batch", sample=1)
    assert (entry["step"], entry["width"]) == (1, 28)
    assert entry["query"] == "index=0&tagname=batch&run=eval&sample=1"
    assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == SECOND
    assert listing(client, "eval", "batch", sample=2) == listing(client, "eval", "batch", sample=-1)
    assert listing(client, "eval", "batch", sample=2) == []


def test_the_images_of_one_step(client: TbcoreClient) -> None:
    """Each has its size and content type, as the front end's slider needs."""
    names = {"runs": ["eval"], "tags": ["batch"]}
    assert client.post("data/plugin/images/steps", json=names).json()["step"] == [1, 2, 3]
    found = client.get("data/plugin/images/step?tag=batch&run=eval&step=1").json()
    first, second = found["samples"]
    assert first == {
        "width": 28, "height": 14, "content_type": "image/png",
        "query": "index=0&tagname=batch&run=eval",
    }  # fmt: skip
    assert client.get(f"{INDIVIDUAL}?{second['query']}").content == SECOND
    assert client.get("data/plugin/images/step?tag=batch&run=eval").json()["samples"] == []


def test_size_and_type_come_from_the_image_itself(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The logged size is used only if the image's header has none."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        for step, data in enumerate((FIRST, GIF, b"<svg/>", b"")):
            for as_tensor in (False, True):
                writer.add_summary(
                    step,
                    summaries.image(
                        f"i{as_tensor:d}", data, width=3, height=4, as_tensor=as_tensor
                    ),
                )
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_images])

    for tag in ("i0", "i1"):
        entries = listing(client, "run", tag)
        assert [(e["width"], e["height"]) for e in entries] == [(28, 14), (7, 9), (3, 4), (3, 4)]
        responses = [client.get(f"{INDIVIDUAL}?{entry['query']}") for entry in entries]
        assert [response.headers["content-type"] for response in responses] == [
            "image/png", "image/gif", "application/octet-stream", "application/octet-stream",
        ]  # fmt: skip
        assert [response.content for response in responses] == [FIRST, GIF, b"<svg/>", b""]


def test_images_can_be_revalidated(client: TbcoreClient) -> None:
    """Each sample of a step has its own ETag."""
    paths = [f"{INDIVIDUAL}?run=eval&tag=batch&index=0&sample={sample}" for sample in (0, 1)]
    tags = [client.get(path).headers["etag"] for path in paths]
    assert tags[0] != tags[1]

    again = client.get(paths[0], headers={"If-None-Match": tags[0]})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
    assert client.get(paths[1], headers={"If-None-Match": tags[0]}).content == SECOND


def test_long_series_are_sampled_to_ten_and_queries_stay_valid(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """With the last step. A query refers to the same image after more were logged."""
    pictures = [summaries.png(1 + step, 1) for step in range(40)]
    write_run(tbcore_logdir, "run", images={"a": pictures, "b": pictures}, filename="a.tfevents")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_images])
    before = listing(client, "run", "a")
    assert len(before) == 10
    assert before[-1]["step"] == 39
    assert [e["step"] for e in before] == [e["step"] for e in listing(client, "run", "b")]

    more = [(step, summaries.png(1 + step, 1)) for step in range(40, 80)]
    write_run(tbcore_logdir, "run", images={"a": more}, filename="a.tfevents")
    client.reload()

    for entry in before:
        assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == pictures[entry["step"]]
    everything = tbcore_client(
        tbcore_logdir, plugins=[tbcore_images], samples_per_plugin={"images": 0}
    )
    assert len(listing(everything, "run", "a")) == 80


@pytest.mark.parametrize("path", [INDIVIDUAL, "data/individualImage", "individualImage"])
@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=batch&index=0", 400, 'query parameter "run" is required'),
        ("run=eval&index=0", 400, 'query parameter "tag" is required'),
        ("run=eval&tag=batch", 400, 'query parameter "index" is required'),
        ("run=eval&tag=batch&index=x", 400, '"index" must be an integer'),
        ("run=eval&tag=batch&index=0&sample=x", 400, '"sample" must be an integer'),
        ("run=eval&tag=batch&index=3", 404, "no item 3"),
        ("run=eval&tag=batch&index=-1", 404, "no item -1"),
        ("run=eval&tag=batch&index=" + "9" * 40, 404, "no item"),
        ("run=eval&tag=batch&index=0&sample=2", 404, "there is no sample 2"),
        ("run=eval&tag=batch&index=0&sample=-1", 404, "there is no sample -1"),
        ("run=eval&tag=batsh&index=0", 404, "'batch'"),
        ("run=numbers&tag=loss&index=0", 404, "'loss'"),
    ],
)
def test_errors_of_one_image(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """One line of plain text."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert part in response.text
    assert len(response.text.splitlines()) == 1


@pytest.mark.parametrize("path", [IMAGES, "data/images", "data/plugin/images/step"])
@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=batch", 400, 'query parameter "run" is required'),
        ("run=eval", 400, 'query parameter "tag" is required'),
        ("run=evil&tag=batch", 404, "'eval'"),
        ("run=numbers&tag=loss", 404, "'loss'"),
    ],
)
def test_errors_of_a_listing(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """One line of plain text."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert part in response.text


@pytest.mark.parametrize("change", ["deleted", "replaced", "overwritten"])
def test_an_image_whose_file_changed_is_not_found(
    tbcore_logdir: Path, tbcore_client: MakeClient, change: str
) -> None:
    """Bytes that differ from those that were logged are never served."""
    path = write_run(tbcore_logdir, "run", images={"i": [FIRST]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_images])
    (entry,) = listing(client, "run", "i")
    other = write_run(tbcore_logdir / "elsewhere", "run", images={"i": [SECOND]})
    if change == "overwritten":
        path.write_bytes(other.read_bytes())
    elif change == "replaced":
        other.replace(path)
    else:
        path.unlink()

    for url in (f"{INDIVIDUAL}?{entry['query']}", f"{IMAGES}?run=run&tag=i"):
        response = client.get(url)
        assert response.status_code == 404
        assert len(response.text.splitlines()) == 1
        expected = "No such file" if change == "deleted" else "no longer what was logged"
        assert expected in response.text

    client.reload()
    if change == "deleted":
        assert client.get("data/plugin/images/tags").json() == {"elsewhere/run": ["i"]}
    else:
        assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == SECOND


@pytest.mark.parametrize(
    "tag", ["a b+c%20d&e=f#g?h", "läuf/\U0001f40d", "<b>", "index=1&run=x", " ", "per%cent"]
)
def test_queries_escape_any_name_that_can_be_logged(
    tbcore_logdir: Path, tbcore_client: MakeClient, tag: str
) -> None:
    """Names of tags and runs. The query from the listing works unchanged."""
    write_run(tbcore_logdir, "a&b=c d+ü", images={tag: [FIRST]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_images])

    (entry,) = listing(client, "a&b=c d+ü", tag)

    assert urllib.parse.quote(entry["query"], safe="%&=+") == entry["query"]
    assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == FIRST


def test_a_restart_drops_images_and_their_indices(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The index of a dropped image is not used again."""
    write_run(tbcore_logdir, "run", images={"i": [FIRST, FIRST]})
    write_run(tbcore_logdir, "run", images={"i": [(1, SECOND)]}, restart_at=1)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_images])

    assert [(e["step"], e["query"][:7]) for e in listing(client, "run", "i")] == [
        (0, "index=0"), (1, "index=2"),
    ]  # fmt: skip
    assert client.get(f"{INDIVIDUAL}?run=run&tag=i&index=1").status_code == 404


def test_the_legacy_index_lists_images(client: TbcoreClient) -> None:
    """`/images` without data/ is a page, not an alias of data/images."""
    index = client.get("legacy/data/runs").json()

    assert index["train"]["images"] == ["input/image/2", "other image"]
    assert index["numbers"]["images"] == []
    assert client.get("images", follow_redirects=False).status_code == 302
    assert client.get("data/images?run=eval&tag=batch").json() == listing(client, "eval", "batch")
