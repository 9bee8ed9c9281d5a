"""Samples of tbcore.media that are made of several series, on real event files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.routing import Route

from tbcore import Claim, DecodeError, Multiplexer, PluginInfo, hookimpl
from tbcore.media import Group, Media, Sample
from tbcore.values import Metadata, Value, fields, tensor
from tbcore_testing import EventFileWriter, TbcoreClient, make_client, summaries

CLAIMS = (Claim("tensor", plugin_name="mesh", is_scalar=False),)
PARTS = {1: "vertices", 2: "faces"}
Calls = list[tuple[str, list[str]]]


def meshes(values: Mapping[str, Value], metadata: Mapping[str, Metadata]) -> list[Sample]:
    """A sample for each element of the vertices, whose bytes are the numbers of all parts."""
    assert values.keys() == metadata.keys()
    numbers = {part: tensor(value)[:, :, 0].tolist() for part, value in values.items()}
    texts = [
        "; ".join(f"{part} {each[i]}" for part, each in numbers.items())
        for i in range(len(numbers["vertices"]))
    ]
    return [Sample(text.encode(), "text/plain", {"parts": [*numbers]}) for text in texts]


def by_metadata(multiplexer: Multiplexer) -> Group:
    """A group as of meshes: the metadata has the name in field 2, and the part in field 3."""

    def group(run: str, tags: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for tag in tags:
            content = fields(multiplexer.metadata(run, tag).plugin_data.content)
            name, part = content[2][0], content[3][0]
            assert isinstance(name, bytes)
            assert isinstance(part, int)
            found.setdefault(name.decode(), {})[PARTS[part]] = tag
        order = ["vertices", "faces"]
        return {
            name: {part: parts[part] for part in order if part in parts}
            for name, parts in found.items()
            if "vertices" in parts
        }

    return group


def value(tag: str, name: str, part: int, numbers: Any) -> Any:
    encoded = name.encode()
    content = b"\x12%c%s\x18%c" % (len(encoded), encoded, part)
    # With a further column, since a tensor of one number is a scalar.
    points = [[[*point, 0] for point in sample] for sample in numbers]
    return summaries.tensor(tag, points, plugin_name="mesh", plugin_content=content)


def client_of(
    logdir: Path, group: Callable[[Multiplexer], Group], *, dev: bool = True
) -> TbcoreClient:
    def routes(multiplexer: Multiplexer) -> list[Route]:
        media = Media(multiplexer, CLAIMS, meshes, group=group(multiplexer))
        return [*media.routes(), Route("/geometry", media.individual)]

    plugin = SimpleNamespace(
        plugin_info=hookimpl(lambda: PluginInfo(title="M", claims=CLAIMS, module=None)),
        routes=hookimpl(routes),
    )
    return make_client(logdir, plugins={"mesh": plugin}, dev=dev)


@pytest.fixture
def client(tmp_path: Path) -> TbcoreClient:
    """One mesh with faces at steps 1 and 3, a cloud, and faces without vertices."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        faces = value("b_FACE", "bunny", 2, [[[7, 8]]])
        writer.add_summary(1, faces, value("b_VERTEX", "bunny", 1, [[[1]], [[2]]]), wall_time=1)
        writer.add_summary(2, value("b_VERTEX", "bunny", 1, [[[3]]]), wall_time=2)
        writer.add_summary(3, value("b_VERTEX", "bunny", 1, [[[4]]]), wall_time=3)
        writer.add_summary(3, value("b_FACE", "bunny", 2, [[[9]]]), wall_time=3.5)
        writer.add_summary(5, value("c", "cloud", 1, [[[5]]]), value("lone", "lone", 2, [[[6]]]))
        writer.add_scalar("loss", 1, 0)
    return client_of(tmp_path, by_metadata)


def step(client: TbcoreClient, name: str, query: str = "") -> Any:
    response = client.get(f"data/plugin/mesh/step?run=run&tag={name}{query}")
    assert response.status_code == 200, response.text
    return response.json()


def contents(client: TbcoreClient, name: str, query: str = "") -> list[str]:
    samples = step(client, name, query)["samples"]
    return [client.get(f"data/plugin/mesh/geometry?{each['query']}").text for each in samples]


def test_names_take_the_place_of_tags(client: TbcoreClient) -> None:
    """The steps of a sample are those of its first part."""
    assert client.get("data/plugin/mesh/tags").json() == {"run": ["bunny", "cloud"]}
    names = {"runs": ["run", "gone"], "tags": ["bunny", "b_FACE", "lone"]}
    steps = client.post("data/plugin/mesh/steps", json=names).json()
    assert steps == {"step": [1, 2, 3], "count": [1, 1, 1]}


def test_a_sample_has_the_parts_of_its_step_only(client: TbcoreClient) -> None:
    """Faces of an earlier step may not fit to the vertices of a later one."""
    found = step(client, "bunny", "&step=2")
    assert [sample["parts"] for sample in found["samples"]] == [["vertices"]]
    assert (found["first_step"], found["step"], found["index"], found["wall_time"]) == (1, 2, 1, 2)
    assert contents(client, "bunny", "&step=2") == ["vertices [3.0]"]
    assert contents(client, "bunny") == ["vertices [4.0]; faces [9.0]"]
    assert contents(client, "cloud") == ["vertices [5.0]"]
    assert step(client, "bunny", "&step=0")["index"] is None


def test_a_part_is_the_one_that_was_written_at_the_nearest_time(tmp_path: Path) -> None:
    """A step may be logged twice; what is written together may have one time, and one place."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for number, wall_time in ((1, 10.0), (2, 10.0), (3, 20.0)):
            vertices = value("v", "m", 1, [[[number]]])
            writer.add_summary(5, vertices, value("f", "m", 2, [[[number]]]), wall_time=wall_time)
        writer.add_summary(5, value("v", "m", 1, [[[4]]]), wall_time=21.0)
    client = client_of(tmp_path, by_metadata)
    assert [contents(client, "m", f"&step=5&nth={nth}")[0] for nth in range(4)] == [
        *(f"vertices [{number}.0]; faces [{number}.0]" for number in (1, 2, 3)),
        "vertices [4.0]; faces [3.0]",
    ]


def test_the_etag_is_that_of_all_parts(client: TbcoreClient, tmp_path: Path) -> None:
    """A part that is written later makes another sample."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        writer.add_summary(1, value("v", "m", 1, [[[1]]]))
    before = step(client, "bunny", "&step=2")
    address = f"data/plugin/mesh/geometry?{before['samples'][0]['query']}"
    etag = client.get(address).headers["etag"]
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    with EventFileWriter(tmp_path / "run" / "b.tfevents") as writer:
        writer.add_summary(2, value("b_FACE", "bunny", 2, [[[1]]]), wall_time=2)
    client.reload()
    response = client.get(address, headers={"If-None-Match": etag})
    assert response.text == "vertices [3.0]; faces [1.0]"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("run=run&tag=bunnny", "no tag 'bunnny' in run 'run'; close: 'bunny'"),
        ("run=run&tag=b_FACE", "no tag 'b_FACE' in run 'run'"),
        ("run=rum&tag=bunny", "no run 'rum'; close: 'run'"),
    ],
)
def test_unknown_names_are_not_found(client: TbcoreClient, query: str, reason: str) -> None:
    for path in ("step", "geometry"):
        index = query.replace("tag=", "index=0&tagname=") if path == "geometry" else query
        response = client.get(f"data/plugin/mesh/{path}?{index}")
        assert (response.status_code, response.text) == (404, reason)


def test_a_damaged_part_is_an_error(tmp_path: Path) -> None:
    """It is not a sample without that part."""
    path = tmp_path / "run" / "a.tfevents"
    with EventFileWriter(path) as writer:
        writer.add_summary(1, value("v", "m", 1, [[[1]]]))
        writer.add_summary(1, value("f", "m", 2, [[[1]]]))
    client = client_of(tmp_path, by_metadata)
    data = path.read_bytes()
    path.write_bytes(data[:-20] + b"x" * 20)
    response = client.get("data/plugin/mesh/step?run=run&tag=m")
    assert response.status_code == 404
    assert "is no longer what was logged" in response.text


def test_runs_are_grouped_again_when_tags_are_added(tmp_path: Path) -> None:
    """Not for each request, and not when a series becomes longer."""
    for run in ("a", "b"):
        with EventFileWriter(tmp_path / run / "a.tfevents") as writer:
            writer.add_summary(1, value("v", "m", 1, [[[1]]]))
    calls: Calls = []

    def recorded(multiplexer: Multiplexer) -> Group:
        def group(run: str, tags: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
            calls.append((run, [*tags]))
            return {"m": {"vertices": tags[0]}, "none": {}}

        return group

    client = client_of(tmp_path, recorded)
    for _ in range(2):
        assert client.get("data/plugin/mesh/tags").json() == {"a": ["m"], "b": ["m"]}
    assert calls == [("a", ["v"]), ("b", ["v"])]
    for tag in ("v", "w"):
        with EventFileWriter(tmp_path / "b" / f"{tag}.tfevents") as writer:
            writer.add_summary(2, value(tag, "n", 1, [[[1]]]))
        client.reload()
        client.get("data/plugin/mesh/tags")
    assert calls[2:] == [("a", ["v"]), ("b", ["v", "w"])]


def test_metadata_that_cannot_be_decoded_hides_its_run_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Anybody can write a log: one must not close the tab for all others."""
    for run, content in (("bad", b"\xff"), ("good", b"\x12\x01m\x18\x01")):
        with EventFileWriter(tmp_path / run / "a.tfevents") as writer:
            writer.add_summary(
                1, summaries.tensor("v", [[[1, 0]]], plugin_name="mesh", plugin_content=content)
            )
    with pytest.raises(DecodeError):
        fields(b"\xff")
    client = client_of(tmp_path, by_metadata)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            names = client.get("data/plugin/mesh/tags").json()
    assert names == {"bad": [], "good": ["m"]}
    assert [r.getMessage() for r in caplog.records if "left out" in r.getMessage()] == [
        "run 'bad': its samples are left out: "
        "1 bytes are not a protocol buffer: a number does not end"
    ]


def test_samples_of_several_series_have_no_listing(client: TbcoreClient) -> None:
    media = Media(client.multiplexer, CLAIMS, meshes, group=by_metadata(client.multiplexer))
    with pytest.raises(TypeError, match="have no listing"):
        media.listing("run", "bunny", sample_index=0, samples=0)
