"""Metadata: what writers say about each part of a mesh.

A mesh is logged as up to three series, its parts: vertices, faces and colours. The metadata of each
has the name that the user gave to the mesh, and says which part it is. Tags need not say it:
PyTorch logs `bunny_VERTEX`, and tensorboardX `bunny_1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tbcore import DecodeError, Multiplexer
from tbcore.media import Group
from tbcore.values import fields

UNDEFINED, VERTEX, FACE, COLOR = PARTS = ("UNDEFINED", "VERTEX", "FACE", "COLOR")
"""The names of parts, by their numbers in metadata. Source: MeshPluginData.ContentType in
tensorboard/plugins/mesh/plugin_data.proto."""
_ORDER = (VERTEX, FACE, COLOR, UNDEFINED)
"""The vertices come first: a mesh has their steps."""
_ALL_COMPONENTS = 0b1110
"""The components of a mesh whose writer did not log them, as TensorBoard reads it."""
_MAX_SHAPE_BYTES = 100


class MeshMetadata(NamedTuple):
    """The metadata of one part of a mesh: a MeshPluginData."""

    name: str
    """The name of the mesh; several parts have the same."""
    part: str
    """One of PARTS."""
    components: int
    """A bit for each part that the mesh has: 1 << its number."""
    shape: list[int]
    """The shape of the first tensor."""
    config: str
    """JSON with settings for the classes of three.js, which TensorBoard draws with."""


def mesh_metadata(content: bytes) -> MeshMetadata:
    """The metadata of one part. Raises DecodeError if it is not that of a mesh."""
    found = fields(content)

    def last(number: int, default: Any) -> Any:
        value = found.get(number, [default])[-1]
        return value if isinstance(value, type(default)) else default

    part = last(3, 0)
    if not 0 < part < len(PARTS):
        raise DecodeError(f"its metadata is not that of a part of a mesh: got type {part}")
    return MeshMetadata(
        name=last(2, b"").decode(errors="replace"),
        part=PARTS[part],
        components=last(7, 0) or _ALL_COMPONENTS,
        shape=[*_shape(found.get(6, []))],
        config=last(5, b"").decode(errors="replace"),
    )


def _shape(values: Iterable[int | bytes]) -> Iterable[int]:
    """The sizes in a repeated field, which writers store one by one or packed as varints."""
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        size = shift = 0
        for byte in value[:_MAX_SHAPE_BYTES]:
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                yield size
                size = shift = 0


class Part(NamedTuple):
    """One part of a mesh in a run."""

    tag: str
    about: MeshMetadata


def parts_of(multiplexer: Multiplexer, run: str, tags: Sequence[str]) -> dict[str, dict[str, Part]]:
    """The meshes of a run: maps each name to its parts, by their names, with the vertices first.

    A tag without such metadata is a mesh of its own, whose only part is UNDEFINED.
    """
    meshes: dict[str, dict[str, Part]] = {}
    for tag in tags:
        try:
            about = mesh_metadata(multiplexer.metadata(run, tag).plugin_data.content)
        except DecodeError:
            about = MeshMetadata("", UNDEFINED, 0, [], "")
        meshes.setdefault(about.name or tag, {}).setdefault(about.part, Part(tag, about))
    return {
        name: {part: parts[part] for part in _ORDER if part in parts}
        for name, parts in meshes.items()
    }


def make_group(multiplexer: Multiplexer) -> Group:
    """The function with which `Media` finds the parts of meshes."""

    def group(run: str, tags: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return {
            name: {part: tag for part, (tag, _) in parts.items()}
            for name, parts in parts_of(multiplexer, run, tags).items()
        }

    return group


def drawing_of(config: str) -> dict[str, Any]:
    """The settings in the metadata that the tab applies; empty if there are none.

    `fov` in degrees, `size` of points in the unit of the vertices, `color` as "#rrggbb", and
    `wireframe`.
    """
    try:
        settings = json.loads(config)
    except (ValueError, RecursionError):
        return {}

    def setting(group: str, name: str) -> Any:
        found = settings.get(group) if isinstance(settings, dict) else None
        return found.get(name) if isinstance(found, dict) else None

    drawing: dict[str, Any] = {}
    for group, name, low, high in (("camera", "fov", 5, 150), ("material", "size", 0, 1e30)):
        value = setting(group, name)
        if isinstance(value, int | float) and low < value < high:
            drawing[name] = float(value)
    color = setting("material", "color")
    if isinstance(color, int) and 0 <= color <= 0xFFFFFF:
        color = f"#{color:06x}"
    if isinstance(color, str) and re.fullmatch("#[0-9a-fA-F]{6}", color):
        drawing["color"] = color
    if setting("material", "wireframe") is True:
        drawing["wireframe"] = True
    return drawing
