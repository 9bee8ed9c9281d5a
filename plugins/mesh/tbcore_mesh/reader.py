"""Reader: meshes as files in the PLY format, from the tensors of their parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import DecodeError
from tbcore.media import Sample
from tbcore.values import Metadata, Value, tensor
from tbcore_mesh.metadata import COLOR, FACE, VERTEX, drawing_of, mesh_metadata

Array = NDArray[Any]

_FACE = np.dtype([("count", "u1"), ("vertices", "<u4", 3)])
_FACE_PROPERTY = "property list uchar uint vertex_indices"


class Sphere(NamedTuple):
    """A sphere around the finite vertices of a mesh."""

    center: list[float]
    radius: float


def batch(value: Value, what: str) -> Array:
    """The numbers of a part, of shape (batch, n, 3). Raises DecodeError for any others.

    Of colours with alpha, this is left out.
    """
    array = tensor(value)
    if array.ndim == 2:
        array = array[None]
    if array.ndim == 3 and array.shape[2] == 4 and what in ("colours", COLOR):
        array = array[..., :3]
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype.kind not in "iuf":
        raise DecodeError(
            f"{what} must have the shape (batch, n, 3), got {array.dtype} of {array.shape}"
        )
    return array


def vertices_of(value: Value) -> Array:
    """The vertices as float32 of shape (batch, n, 3); larger numbers become infinite."""
    with np.errstate(over="ignore"):
        return batch(value, "vertices").astype("<f4")


def color_bytes(array: Array) -> Array:
    """Colours as uint8. Floats are fractions if none of them is above 1.

    PyTorch logs uint8, too, as float32.
    """
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "f":
        array = np.nan_to_num(array)
        if array.size and array.max() <= 1:
            array = np.round(array * 255)
    return np.clip(array, 0, 255).astype(np.uint8)


def sphere(vertices: Array) -> Sphere | None:
    """The sphere around vertices of shape (n, 3), in the middle of them; None if none is finite."""
    is_finite = np.isfinite(vertices)
    if not is_finite.all():
        vertices = vertices[is_finite.all(1)]
    if len(vertices) == 0:
        return None
    center = (vertices.min(0).astype(np.float64) + vertices.max(0)) / 2
    away = vertices - center
    return Sphere(center.tolist(), float(np.sqrt(np.einsum("ij,ij->i", away, away).max())))


def union(spheres: Iterable[Sphere | None]) -> Sphere | None:
    """A sphere around all of these; None if there are none."""
    found = [each for each in spheres if each]
    if not found:
        return None
    centers, radii = np.array([each.center for each in found]), np.array([[r] for _, r in found])
    center = ((centers - radii).min(0) + (centers + radii).max(0)) / 2
    distances = np.linalg.norm(centers - center, axis=1, keepdims=True)
    return Sphere(center.tolist(), float((distances + radii).max()))


def decode_meshes(values: Mapping[str, Value], metadata: Mapping[str, Metadata]) -> list[Sample]:
    """The meshes that were logged together at one step, as PLY files.

    What does not fit to the vertices is left out, and a line in `notes` says so.
    """
    if VERTEX not in values:
        if FACE in values or COLOR in values:
            raise DecodeError("faces or colours were logged for it, but no vertices")
        raise DecodeError("its metadata does not say which part of a mesh it is")
    vertices = vertices_of(values[VERTEX])
    notes: list[str] = []
    faces = _fitting(values.get(FACE), "faces", len(vertices), notes)
    colors = _fitting(values.get(COLOR), "colours", len(vertices), notes)
    if colors is not None:
        colors = color_bytes(colors)
    contents = (
        metadata[part].plugin_data.content for part in values if part in (VERTEX, FACE, COLOR)
    )
    drawing = next(filter(None, (drawing_of(mesh_metadata(each).config) for each in contents)), {})
    return [
        _sample(
            places,
            None if faces is None else faces[i % len(faces)],
            None if colors is None else colors[i % len(colors)],
            notes,
            drawing,
        )
        for i, places in enumerate(vertices)
    ]


def _fitting(value: Value | None, what: str, size: int, notes: list[str]) -> Array | None:
    """The faces or colours of a batch of this size, or one for all; None if there are none."""
    if value is None:
        return None
    try:
        array = batch(value, what)
    except DecodeError as error:
        notes.append(f"Without {what}: {error}.")
        return None
    if len(array) in (1, size):
        return array
    notes.append(f"Without {what}: they are for {len(array)} meshes, and there are {size}.")
    return None


def _sample(
    places: Array,
    faces: Array | None,
    colors: Array | None,
    notes: list[str],
    drawing: Mapping[str, Any],
) -> Sample:
    """One mesh: `places` is float32 of shape (n, 3), and `colors` is uint8."""
    notes = [*notes]
    num_vertices = len(places)
    if num_vertices == 0:
        notes.append("The mesh has no vertices at this step.")
    # 1. Leave out colours that are not those of the vertices.
    if colors is not None and len(colors) != num_vertices:
        notes.append(f"Without colours: there are {len(colors):,} for {num_vertices:,} vertices.")
        colors = None
    # 2. Leave out faces with a vertex that does not exist. In a comparison, NaN is False.
    indices = np.zeros((0, 3), np.int64)
    if faces is not None:
        exists = ((faces >= 0) & (faces < num_vertices) & (faces == np.floor(faces))).all(1)
        indices = faces[exists].astype(np.int64)
        if missing := len(faces) - len(indices):
            notes.append(
                f"Without {missing:,} of {len(faces):,} faces: their vertices do not exist."
            )
    # 3. Leave out vertices that are not finite, and their faces; number the others again.
    is_finite = np.asarray(np.isfinite(places).all(1))
    if not is_finite.all():
        missing = num_vertices - int(is_finite.sum())
        notes.append(f"Without {missing:,} of {num_vertices:,} vertices: they are not finite.")
        numbers = np.cumsum(is_finite) - 1
        indices = numbers[indices[is_finite[indices].all(1)]]
        places = places[is_finite]
        colors = None if colors is None else colors[is_finite]
    counts = [_plural(len(places), "vertex", "vertices"), _plural(len(indices), "face", "faces")]
    fields = {
        "label": ", ".join(filter(None, counts)),
        "sphere": sphere(places),
        "drawing": drawing,
        "notes": notes,
    }
    return Sample(_ply(places, indices, colors), fields=fields)


def _plural(count: int, one: str, many: str) -> str:
    """A count with its noun; empty for none."""
    return f"{count:,} {one if count == 1 else many}" if count else ""


def _ply(places: Array, indices: Array, colors: Array | None) -> bytes:
    """A PLY file, little-endian. Vertices begin at a multiple of four: pages need not copy them.

    Each vertex has 12 bytes or, with a colour, 16; each face has 13.
    """
    properties = [f"property float {axis}" for axis in "xyz"]
    columns: list[tuple[str, str, int]] = [("place", "<f4", 3)]
    if colors is not None:
        properties += [f"property uchar {channel}" for channel in ("red", "green", "blue", "alpha")]
        columns.append(("color", "u1", 4))
    vertices = np.full(len(places), 255, columns)
    vertices["place"] = places
    if colors is not None:
        vertices["color"][:, :3] = colors
    faces = np.full(len(indices), 3, _FACE)
    faces["vertices"] = indices
    lines = [
        "ply", "format binary_little_endian 1.0",
        f"element vertex {len(vertices)}", *properties,
        f"element face {len(faces)}", _FACE_PROPERTY,
    ]  # fmt: skip
    end = "comment{}\nend_header\n"
    size = sum(len(line) + 1 for line in lines) + len(end.format(""))
    header = "\n".join([*lines, end.format(" " * (-size % 4))])
    return b"".join([header.encode(), vertices.tobytes(), faces.tobytes()])
