"""The routes of images as a client sees them: listings, bytes, images of one step, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tbcore_images
from tbcore_testing import EventFileWriter, MediaTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

IMAGES = "data/plugin/images/images"
INDIVIDUAL = "data/plugin/images/individualImage"
FIRST, SECOND = summaries.png(28, 14), summaries.png(28, 14, (0, 0, 9))
GIF = b"GIF89a" + b"\x07\x00\x09\x00" + bytes(8)


class TestRoutes(MediaTests):
    plugin = tbcore_images
    data_type = tag_type = "images"
    content_type = "image/png"
    samples = 10
    listing = f"{IMAGES}?run={{run}}&tag={{tag}}"
    individual = f"{INDIVIDUAL}?index={{index}}&tagname={{tag}}&run={{run}}"
    routes: ClassVar = {
        "data/plugin/images/tags": [],
        "data/plugin/images/step?run={run}&tag={tag}": [],
        listing: ["data/images", "legacy/data/images"],
        individual: [
            f"{prefix}individualImage" for prefix in ("data/", "legacy/data/", "", "legacy/")
        ],
    }

    def value(self, step: int) -> bytes:
        return summaries.png(1 + step, 1)

    def summary(self, tag: str, values: Sequence[bytes]) -> Any:
        return summaries.image(tag, values, as_tensor=True)


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


def test_a_listing_has_the_documented_form(client: TbcoreClient) -> None:
    """The query string is exact, too."""
    assert listing(client, "train", "input/image/2")[0] == {
        "width": 28,
        "height": 14,
        "wall_time": 1440210599.246,
        "step": 63702821,
        "query": "index=0&tagname=input%2Fimage%2F2&run=train",
    }


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


def test_the_address_of_the_old_page_is_not_a_listing(client: TbcoreClient) -> None:
    """`/images` without data/ redirects to the page, and is not the same as data/images."""
    assert client.get("images?run=eval&tag=batch", follow_redirects=False).status_code == 302
