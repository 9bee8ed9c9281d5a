"""Meshes of TensorBoard and of other writers: the API has what TensorBoard's plugin has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore_mesh
from tbcore.engine import Summary
from tbcore_testing import EventFileWriter, make_client

REPOSITORY = Path(__file__).resolve().parents[2]
FRAMEWORKS = REPOSITORY.parent / "shared" / "data" / "frameworks"


@pytest.fixture(params=["TensorBoard's writer", "torch213/all", "tensorboardX/all"])
def logdir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Meshes of each writer."""
    reason = "tensorboard is not installed, and it is what the meshes are compared with"
    pytest.importorskip("tensorboard.plugins.mesh.mesh_plugin", reason=reason)
    if "/" in request.param:
        logdir = FRAMEWORKS / request.param
        if not logdir.is_dir():
            pytest.skip(f"no logs of other programs at {logdir}")
        return logdir
    write_like_tensorboard(tmp_path)
    return tmp_path


def write_like_tensorboard(logdir: Path) -> None:
    """A batch of two meshes at several steps, and a point cloud, by TensorBoard's own functions.

    They are what its `mesh_summary` calls, which itself needs TensorFlow.
    """
    from tensorboard.plugins.mesh import metadata
    from tensorboard.util.tensor_util import make_tensor_proto

    generator = np.random.default_rng(0)
    parts = {
        2: generator.integers(0, 8, (2, 5, 3)).astype(np.int32),
        3: generator.integers(0, 256, (2, 8, 3)).astype(np.uint8),
    }
    config = json.dumps({"camera": {"cls": "PerspectiveCamera", "fov": 75}})
    for run in ("train", "a/eval"):
        with EventFileWriter(logdir / run / "a.tfevents") as writer:
            for step in (0, 10, 20):
                vertices = generator.normal(size=(2, 8, 3)).astype(np.float32)
                for name, arrays in (("shape", {1: vertices, **parts}), ("cloud", {1: vertices})):
                    components = metadata.get_components_bitmask([*arrays])
                    for part, array in arrays.items():
                        about = metadata.create_summary_metadata(
                            name, None, part, components, array.shape, "a *shape*", config
                        )
                        value = Summary.Value(tag=metadata.get_instance_name(name, part))
                        value.tensor.ParseFromString(make_tensor_proto(array).SerializeToString())
                        value.metadata.ParseFromString(about.SerializeToString())
                        writer.add_summary(step, value)


class Theirs:
    """TensorBoard's mesh plugin with a log directory."""

    def __init__(self, logdir: Path) -> None:
        from tensorboard.backend.event_processing import (
            data_provider,
            plugin_event_multiplexer,
        )
        from tensorboard.plugins.base_plugin import TBContext
        from tensorboard.plugins.mesh.mesh_plugin import MeshPlugin

        multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"mesh": 0})
        multiplexer.AddRunsFromDirectory(str(logdir))
        multiplexer.Reload()
        provider = data_provider.MultiplexerDataProvider(multiplexer, str(logdir))
        context = TBContext(data_provider=provider, sampling_hints={"mesh": 1000})
        self.apps = MeshPlugin(context).get_plugin_apps()

    def get(self, route: str, **query: Any) -> bytes:
        from werkzeug.test import Client

        response = Client(self.apps[route]).get(route, query_string=query)
        assert response.status_code == 200
        return response.data


def test_every_route_has_what_tensorboard_has(logdir: Path) -> None:
    client = make_client(logdir, plugins=[tbcore_mesh], samples_per_plugin={"mesh": 0})
    theirs = Theirs(logdir)

    def ours(route: str, **query: Any) -> bytes:
        response = client.get(f"data/plugin/mesh{route}", params=query)
        assert response.status_code == 200, response.text
        return response.content

    tags = {run: meshes for run, meshes in json.loads(ours("/tags")).items() if meshes}
    assert tags
    assert tags == json.loads(theirs.get("/tags"))
    num_values = 0
    for run, name in ((run, name) for run, meshes in tags.items() for name in meshes):
        rows = json.loads(ours("/meshes", run=run, tag=name))
        expected = json.loads(theirs.get("/meshes", run=run, tag=name))
        for each in (rows, expected):
            # The order of the parts at one step is not defined.
            each.sort(key=lambda row: (row["step"], row["content_type"]))
        assert rows == expected
        for row in rows:
            part = ("", "VERTEX", "FACE", "COLOR")[row["content_type"]]
            for sample in range(row["data_shape"][0]):
                query = {"run": run, "tag": name, "step": row["step"], "sample": sample}
                found = ours("/data", **query, content_type=part)
                assert found == theirs.get("/data", **query, content_type=part)
                num_values += len(found) > 0
    assert num_values > 10
