"""The routes of meshes as a client sees them: what is drawn, what is left out, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import tbcore_mesh
from tbcore_testing import EventFileWriter, RouteTests, TbcoreClient, summaries

MakeClient = Callable[..., TbcoreClient]

PLACES = [[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]]
FACES = [[0, 1, 2], [0, 2, 3]]
COLORS = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 8, 7]]
NONE = np.zeros((1, 0, 3))


class TestRoutes(RouteTests):
    plugin = tbcore_mesh
    routes: ClassVar = {
        "data/plugin/mesh/tags": [],
        "data/plugin/mesh/step?run={run}&tag={tag}": [],
        "data/plugin/mesh/individualMesh?run={run}&tag={tag}&index={index}": [],
        "data/plugin/mesh/frame?run={run}&tag={tag}": [],
        "data/plugin/mesh/meshes?run={run}&tag={tag}": [],
        "data/plugin/mesh/data?run={run}&tag={tag}&content_type=FACE&step=1": [],
    }

    def write_logs(self, logdir: Path) -> None:
        log(logdir / "eval", [PLACES], [FACES], name="batch")

    def test_an_unknown_run_or_mesh_is_named(self, client: TbcoreClient) -> None:
        for address in list(self.routes)[1:]:
            for run, tag, named in (
                ("evil", "batch", "'evil'"),
                ("eval", "other", "'other'"),
                ("eval", "batch_FACE", "'batch_FACE'"),
            ):
                response = client.get(address.format(run=run, tag=tag, index=0))
                assert (response.status_code, len(response.text.splitlines())) == (404, 1), address
                assert named in response.text, address


def log(folder: Path, *arrays: Any, name: str = "m", step: int = 1, **options: Any) -> None:
    """Logs a batch of meshes: its vertices, faces and colours."""
    with EventFileWriter(folder / f"{name}{step}.tfevents") as writer:
        writer.add_summary(step, *summaries.mesh(name, *arrays, **options))


@pytest.fixture
def samples(tbcore_logdir: Path, tbcore_client: MakeClient) -> Callable[..., list[Any]]:
    """`samples(...)` logs a batch, and returns the fields of its meshes and their files."""

    def get(*arrays: Any, **options: Any) -> list[Any]:
        log(tbcore_logdir, *arrays, **options)
        client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])
        response = client.get("data/plugin/mesh/step?run=.&tag=m")
        assert response.status_code == 200, response.text
        return [
            (each, client.get(f"data/plugin/mesh/individualMesh?{each['query']}").content)
            for each in response.json()["samples"]
        ]

    return get


def read_ply(content: bytes) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """The vertices, faces and colours in a file."""
    header, _, body = content.partition(b"end_header\n")
    lines = header.decode("ascii").splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    assert (len(content) - len(body)) % 4 == 0
    [num_vertices, num_faces] = [int(line.split()[2]) for line in lines if "element" in line]
    columns: list[Any] = [("place", "<f4", 3)]
    if any("red" in line for line in lines):
        columns.append(("color", "u1", 4))
    vertices = np.frombuffer(body, columns, num_vertices)
    faces = np.frombuffer(body, [("n", "u1"), ("v", "<u4", 3)], num_faces, vertices.nbytes)
    assert len(body) == vertices.nbytes + faces.nbytes
    assert (faces["n"] == 3).all()
    colors = vertices["color"] if len(columns) > 1 else None
    return vertices["place"], faces["v"], colors


@pytest.mark.parametrize("as_integers", [False, True])
def test_a_batch_has_a_file_for_each_mesh(samples: Any, as_integers: bool) -> None:
    """As PyTorch logs them, and with the types of TensorBoard's own writer."""
    moved = np.add(PLACES, [10, 0, 0])
    batch = samples(
        [PLACES, moved], [FACES, FACES[::-1]], [COLORS, COLORS[::-1]], as_integers=as_integers
    )

    assert [fields["label"] for fields, _ in batch] == ["4 vertices, 2 faces"] * 2
    assert [fields["notes"] for fields, _ in batch] == [[], []]
    assert [fields["sphere"][0] for fields, _ in batch] == [[1, 1, 1], [11, 1, 1]]
    for (_, content), expected in zip(batch, ((PLACES, FACES, COLORS),), strict=False):
        places, faces, colors = read_ply(content)
        assert places.tolist() == expected[0]
        assert faces.tolist() == expected[1]
        assert colors is not None
        assert colors.tolist() == [[*color, 255] for color in expected[2]]
    places, faces, _ = read_ply(batch[1][1])
    assert (places.tolist(), faces.tolist()) == (moved.tolist(), FACES[::-1])


def test_a_point_cloud_has_no_faces_and_needs_no_colours(samples: Any) -> None:
    [(fields, content)] = samples([PLACES])
    places, faces, colors = read_ply(content)
    assert (places.tolist(), len(faces), colors) == (PLACES, 0, None)
    assert fields["label"] == "4 vertices"


@pytest.mark.parametrize(
    ("colors", "expected"),
    [
        ([[0, 0.5, 1]] * 4, [0, 128, 255, 255]),
        ([[0, 300, -5]] * 4, [0, 255, 0, 255]),
        ([[np.nan, np.inf, 2]] * 4, [0, 255, 2, 255]),
    ],
)
def test_colours_are_bytes_or_fractions(
    samples: Any, colors: ArrayLike, expected: list[int]
) -> None:
    """PyTorch logs both as float32."""
    [(_, content)] = samples([PLACES], None, [colors])
    found = read_ply(content)[2]
    assert found is not None
    assert found[0].tolist() == expected


def test_faces_and_colours_of_one_mesh_are_those_of_a_whole_batch(samples: Any) -> None:
    batch = samples([PLACES, PLACES], [FACES], [COLORS])
    assert [fields["label"] for fields, _ in batch] == ["4 vertices, 2 faces"] * 2
    assert batch[0][1] == batch[1][1]


LEFT_OUT = {
    "faces out of range": (
        ([PLACES], [[[0, 1, 2], [0, 1, 4], [-1, 0, 1], [0, 0.5, 1], [np.nan, 0, 1]]]),
        ["Without 4 of 5 faces: their vertices do not exist."],
        (4, 1),
    ),
    "vertices that are not finite": (
        ([[[np.nan, 0, 0], *PLACES, [0, np.inf, 0]]], [[[1, 2, 3], [0, 1, 2]]], [[[7] * 3] * 6]),
        ["Without 2 of 6 vertices: they are not finite."],
        (4, 1),
    ),
    "colours of another length": (
        ([PLACES], [FACES], [COLORS[:3]]),
        ["Without colours: there are 3 for 4 vertices."],
        (4, 2),
    ),
    "another batch size": (
        ([PLACES], [FACES, FACES]),
        ["Without faces: they are for 2 meshes, and there are 1."],
        (4, 0),
    ),
    "another shape": (
        ([PLACES], [[[0, 1, 2, 3]]]),
        ["Without faces: faces must have the shape (batch, n, 3), got float32 of (1, 1, 4)."],
        (4, 0),
    ),
    "no vertices": ((NONE,), ["The mesh has no vertices at this step."], (0, 0)),
    "no finite vertices": (
        ([[[np.nan] * 3]],),
        ["Without 1 of 1 vertices: they are not finite."],
        (0, 0),
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_does_not_fit_is_left_out_with_a_line(samples: Any, case: str) -> None:
    arrays, notes, sizes = LEFT_OUT[case]
    [(fields, content)] = samples(*arrays)
    places, faces, _ = read_ply(content)
    assert fields["notes"] == notes
    assert (len(places), len(faces)) == sizes
    assert (fields["sphere"] is None) == (sizes[0] == 0)
    if len(faces):
        assert faces.tolist()[0] == [0, 1, 2]


def test_what_is_no_mesh_is_an_error_in_one_line(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Anybody can log under the plugin's name. Other meshes of the run are shown."""
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        good = summaries.mesh("good", [PLACES])
        lone = summaries.mesh("lone", [PLACES], [FACES])[1:]
        flat = summaries.mesh("flat", [[[1, 2], [3, 4]]])
        writer.add_summary(1, *good, *lone, *flat)
        writer.add_tensor("bare", [[1, 2, 3]], 1, plugin_name="mesh")
        writer.add_tensor("junk", [[1, 2, 3]], 1, plugin_name="mesh", plugin_content=b"\xff\xff")
        texts = summaries.string_tensor("texts", [b"a", b"b"], plugin_name="mesh")
        writer.add_summary(1, texts)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh], dev=False)

    tags = client.get("data/plugin/mesh/tags").json()["."]
    assert {*tags} == {"good", "lone", "flat", "bare", "junk", "texts"}
    for name, reason in {
        "lone": "faces or colours were logged for it, but no vertices",
        "flat": "vertices must have the shape (batch, n, 3), got float32 of (1, 2, 2)",
        "bare": "its metadata does not say which part of a mesh it is",
        "junk": "its metadata does not say which part of a mesh it is",
        "texts": "its metadata does not say which part of a mesh it is",
    }.items():
        for route in ("step", "individualMesh"):
            response = client.get(f"data/plugin/mesh/{route}?run=.&tag={name}&index=0")
            assert (response.status_code, response.text) == (404, reason), name
        for route in ("frame", "meshes", "data?content_type=FACE&step=9"):
            join = "&" if "?" in route else "?"
            response = client.get(f"data/plugin/mesh/{route}{join}run=.&tag={name}")
            assert response.status_code == 200, (route, response.text)
    assert client.get("data/plugin/mesh/step?run=.&tag=good").status_code == 200


def test_the_frame_is_around_all_steps(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """So the steps of a mesh can be compared. It has one for each mesh of the batch."""
    for step in range(40):
        places = np.add(PLACES, [step, 0, 0])
        log(tbcore_logdir, [places], step=step)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])

    [(center, radius)] = client.get("data/plugin/mesh/frame?run=.&tag=m").json()

    assert center[0] + radius >= 41 - 1e-6  # The last step is always among those that are read.
    assert center[0] - radius < 5
    assert center[1:] == [1, 1]
    log(tbcore_logdir, [np.full((2, 3), 1000.0)], step=50)
    client.reload()
    [(center, radius)] = client.get("data/plugin/mesh/frame?run=.&tag=m").json()
    assert center[0] + radius >= 1000


def test_settings_for_three_js(samples: Any) -> None:
    """The tab applies some of them, and ignores all others."""

    def drawing(config: Any) -> Any:
        text = config if isinstance(config, str) else json.dumps(config)
        [(fields, _)] = samples([PLACES], config=text)
        return fields["drawing"]

    assert drawing(
        {
            "camera": {"cls": "PerspectiveCamera", "fov": 75, "near": 1},
            "material": {"cls": "PointsMaterial", "size": 0.05, "color": 255, "wireframe": True},
            "lights": [],
        }
    ) == {"fov": 75, "size": 0.05, "color": "#0000ff", "wireframe": True}


@pytest.mark.parametrize(
    "config",
    [
        "",
        "null",
        "[1]",
        "{",
        "[" * 100_000,
        '{"camera": 5, "material": [1]}',
        '{"camera": {"fov": NaN}, "material": {"size": -1, "color": "url(x)", "wireframe": "no"}}',
        '{"camera": {"fov": "75"}, "material": {"size": Infinity, "color": -1}}',
    ],
)
def test_other_settings_are_ignored(samples: Any, config: str) -> None:
    [(fields, _)] = samples([PLACES], config=config)
    assert fields["drawing"] == {}


def test_names_come_from_the_metadata(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """tensorboardX numbers its tags. Two meshes with parts at different steps do not mix."""
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        for step in (1, 2):
            values = summaries.mesh("x/<b>y</b>", [PLACES], [FACES], [COLORS])
            for number, value in enumerate(values, 1):
                value.tag = f"t_{number}"
            writer.add_summary(step, *(values if step == 1 else values[:1]))
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])

    assert client.get("data/plugin/mesh/tags").json() == {".": {"x/<b>y</b>": {"samples": 1}}}
    labels = {}
    for step in (1, 2):
        query = {"run": ".", "tag": "x/<b>y</b>", "step": step}
        found = client.get("data/plugin/mesh/step", params=query).json()
        labels[found["step"]] = found["samples"][0]["label"]
    assert labels == {1: "4 vertices, 2 faces", 2: "4 vertices"}


def test_parts_for_programs(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """TensorBoard's API has the numbers of one part, in the types of its own page."""
    log(tbcore_logdir, [PLACES, PLACES], [FACES, FACES[::-1]], [[[0.5] * 3] * 4, [[1] * 3] * 4])
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])

    def data(query: str) -> Any:
        return client.get(f"data/plugin/mesh/data?run=.&tag=m&step=1&{query}")

    found = np.frombuffer(data("content_type=FACE&sample=1").content, "<i4")
    assert found.tolist() == np.ravel(FACES[::-1]).tolist()
    assert data("content_type=COLOR").content == bytes([128] * 12)
    assert data("content_type=COLOR&step=2").content == bytes([128] * 12)  # The first one counts.
    for query, status in (
        ("content_type=VERTEX&sample=2", 404),
        ("content_type=VERTEX&sample=-1", 404),
        ("content_type=NORMAL", 400),
        ("", 400),
    ):
        assert data(query).status_code == status, query


def test_the_frame_leaves_out_what_the_picture_leaves_out(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """A vertex of float64 that float32 cannot have is not finite, so it is not drawn."""
    far = [[*PLACES, [1e200, 0, 0]]]
    [vertices] = summaries.mesh("m", [PLACES])
    content = vertices.metadata.plugin_data.content
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        own = {"plugin_name": "mesh", "plugin_content": content}
        writer.add_tensor("m", far, step=1, dtype="float64", **own)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])
    [entry] = client.get("data/plugin/mesh/step?run=.&tag=m").json()["samples"]
    assert entry["notes"] == ["Without 1 of 5 vertices: they are not finite."]
    assert client.get("data/plugin/mesh/frame?run=.&tag=m").json() == [entry["sphere"]]


def test_colours_with_alpha_and_shapes_without_a_batch(
    tbcore_logdir: Path, tbcore_client: MakeClient, samples: Callable[..., list[Any]]
) -> None:
    """The alpha is left out, and a shape (n, 3) is that of one mesh."""
    colors = [[*color, 128] for color in COLORS]
    [(fields, content)] = samples([PLACES], [FACES], [colors])
    assert fields["notes"] == []
    found = read_ply(content)[2]
    assert found is not None
    assert found[:, :3].tolist() == COLORS
    log(tbcore_logdir, PLACES, FACES, COLORS, name="alone")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_mesh])
    assert client.get("data/plugin/mesh/tags").json()["."]["alone"] == {"samples": 1}
    data = client.get("data/plugin/mesh/data?run=.&tag=m&content_type=COLOR&step=1")
    assert data.content == np.array(COLORS, np.uint8).tobytes()
