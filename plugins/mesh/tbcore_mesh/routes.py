"""Routes: those of the tab, and the HTTP API of TensorBoard's mesh plugin."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import BadRequestError, Claims, DataError, Item, Multiplexer, NotFoundError
from tbcore.http import (
    bytes_response,
    json_response,
    optional,
    optional_int,
    required,
)
from tbcore.media import Media
from tbcore_mesh.metadata import COLOR, FACE, PARTS, VERTEX, Part, make_group, parts_of
from tbcore_mesh.reader import Sphere, batch, color_bytes, decode_meshes, sphere, union, vertices_of

FRAME_STEPS = 16
"""Maximum number of steps of a mesh that are read for its frame."""
_MAX_CACHED = 10_000
"""Maximum number of steps whose spheres are kept: a few hundred bytes each."""

_TYPES = {VERTEX: "<f4", FACE: "<i4", COLOR: "u1"}
"""The dtypes of parts in TensorBoard's API."""


def make_routes(multiplexer: Multiplexer, claims: Claims, samples: int) -> list[Route]:
    """/tags, /meshes and /data as TensorBoard has them; /frame and those of `Media` for the tab.

    /meshes and /data are for at most `samples` steps of a series; 0 means all.
    """
    media = Media(multiplexer, claims, decode_meshes, group=make_group(multiplexer))
    spheres_of: dict[str, list[Sphere | None]] = {}
    """The spheres around the meshes in an item, by the item's etag."""

    def tags(_request: Request) -> Response:
        found = {
            run: {
                name: {"samples": _batch_size(parts)}
                for name, parts in parts_of(multiplexer, run, tags).items()
            }
            for run, tags in multiplexer.tags(claims).items()
        }
        return json_response(found)

    def meshes(request: Request) -> Response:
        run, name = required(request, "run", "tag")
        rows = [
            {
                "wall_time": item.wall_time,
                "step": item.step,
                "content_type": PARTS.index(part),
                "components": about.components,
                "config": about.config,
                "data_shape": about.shape,
            }
            for part, (tag, about) in parts_in(run, name).items()
            for item in multiplexer.items(run, tag, claims, samples=samples)
        ]
        return json_response(sorted(rows, key=lambda row: row["step"]))

    def data(request: Request) -> Response:
        run, name = required(request, "run", "tag")
        part = optional(request, "content_type", "")
        if part not in _TYPES:
            raise BadRequestError(f"content_type must be VERTEX, FACE or COLOR, got {part!r}")
        step = optional_int(request, "step", 0)
        sample = optional_int(request, "sample", 0)
        found = []
        for item in items_of(run, name, part, samples):
            if item.step == step:
                arrays = batch(item.read(), part)
                if not 0 <= sample < len(arrays):
                    raise NotFoundError(f"no sample {sample}: step {step} has {len(arrays)}")
                array = color_bytes(arrays)[sample] if part == COLOR else arrays[sample]
                found.append(array.astype(_TYPES[part]).tobytes())
        return bytes_response(b"".join(found), "application/octet-stream", request=request)

    def frame(request: Request) -> Response:
        """A sphere around each mesh of a batch, from up to FRAME_STEPS of its steps."""
        run, name = required(request, "run", "tag")
        spheres = [read_spheres(item) for item in items_of(run, name, VERTEX, FRAME_STEPS)]
        return json_response([*map(union, zip_longest(*spheres))])

    def parts_in(run: str, name: str) -> dict[str, Part]:
        meshes = parts_of(multiplexer, run, multiplexer.tags(claims).get(run, []))
        if name not in meshes:
            multiplexer.metadata(run, name)  # An unknown run or tag raises, with similar names.
            raise NotFoundError(f"tag {name!r} of run {run!r} is a part of a mesh")
        return meshes[name]

    def items_of(run: str, name: str, part: str, samples: int) -> list[Item]:
        """The items of one part of a mesh; none if it has no such part."""
        parts = parts_in(run, name)
        if part not in parts:
            return []
        return multiplexer.items(run, parts[part].tag, claims, samples=samples)

    def read_spheres(item: Item) -> list[Sphere | None]:
        """The spheres around the meshes in an item with vertices; none if it cannot be read."""
        spheres = spheres_of.get(item.etag)
        if spheres is None:
            try:
                spheres = [*map(sphere, vertices_of(item.read()))]
            except (DataError, NotFoundError):
                return []
            if len(spheres_of) >= _MAX_CACHED:
                spheres_of.clear()
            spheres_of[item.etag] = spheres
        return spheres

    return [
        *(route for route in media.routes() if route.path != "/tags"),
        Route("/individualMesh", media.individual),
        Route("/frame", frame),
        Route("/tags", tags),
        Route("/meshes", meshes),
        Route("/data", data),
    ]


def _batch_size(parts: Mapping[str, Part]) -> int:
    """The number of meshes in each value of the first step: 1 in a shape without a batch."""
    shapes = (part.about.shape for part in parts.values())
    return next((shape[0] for shape in shapes if len(shape) > 2), 1)
