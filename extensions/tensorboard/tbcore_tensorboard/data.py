"""The data of the multiplexer for a process that hosts TensorBoard's code, in plain values.

`answer` is called with what `link.py` sends: the name of a query and its arguments, as JSON.
Results are tuples, lists, dicts, bytes and arrays, with the fields of TensorBoard's `DataProvider`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tbcore import Claim, Claims, DataError, Item, Multiplexer, NotFoundError, values

OLD_FORMS = {"scalars": "simple_value", "histograms": "histo", "images": "image", "audio": "audio"}
"""The field in which older writers log the data of these plugins."""
GRAPHS = {"graphs": "graph_def", "graph_tagged_run_metadata": "tagged_run_metadata"}
WAV = b"\x10\x0b"
"""The content of the metadata that TensorBoard gives to audio without metadata."""
RUN_GRAPH = "__run_graph__"
"""TensorBoard's tag of the graph of a run."""

Filter = Sequence[str] | None
Tagged = dict[str, dict[str, Any]]


class Data:
    """Answers queries about the runs of a multiplexer."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self._multiplexer = multiplexer

    def answer(self, query: str, arguments: list[Any]) -> Any:
        """The result of a query; raises AttributeError for an unknown one."""
        return getattr(self, f"query_{query}")(*arguments)

    def query_runs(self) -> list[tuple[str, float | None]]:
        """The runs, with the time of their first event."""
        return [(run, self._multiplexer.first_event_time(run)) for run in self._multiplexer.runs()]

    def query_with_data(self, plugins: Sequence[str]) -> list[str]:
        """Those of these names of plugins that have data."""
        return [name for name in plugins if self._multiplexer.has(_claims(name))]

    def query_list(self, plugin: str, kind: str, runs: Filter, tags: Filter) -> Tagged:
        """By run and tag: last step and time, three fields of the metadata, longest sequence."""
        if kind == "scalar":
            return {
                run: {
                    tag: (*point[:2], *self._about(run, tag, plugin), 0)
                    for tag, point in found.items()
                }
                for run, found in self.query_last(plugin, runs, tags).items()
            }

        def row(run: str, tag: str, claims: Claims) -> Any:
            length, ends = 0, (0, 0.0)
            # Metadata may be without a value, as that of hyperparameters, or all values scalars.
            with contextlib.suppress(NotFoundError, ValueError):
                found = self._multiplexer.item_series(run, tag, claims)
                ends = (int(found.step.max()), float(found.wall_time.max()))
            if kind == "blob":
                items = self._multiplexer.read_items(
                    run, tag, claims, _blobs_of(self, plugin, run, tag)
                )
                length = max((len(blobs) for _, blobs in items), default=0)
            return (*ends, *self._about(run, tag, plugin), length)

        return self._each(plugin, kind, runs, tags, row)

    def query_scalars(self, plugin: str, samples: int, runs: Filter, tags: Filter) -> Tagged:
        """By run and tag: the columns step, wall time and value."""

        def columns(run: str, tag: str, claims: Claims) -> Any:
            found = self._multiplexer.scalars(run, tag, claims=claims, samples=samples)
            return np.asarray(found.step), np.asarray(found.wall_time), np.asarray(found.value)

        return self._each(plugin, "scalar", runs, tags, columns)

    def query_last(self, plugin: str, runs: Filter, tags: Filter) -> Tagged:
        """By run and tag: step, wall time and value of the last point."""
        result: Tagged = {}
        for run in self._multiplexer.runs():
            if runs is None or run in runs:
                last = self._multiplexer.last_points(run, _claims(plugin, "scalar"))
                points = zip(
                    last.step.tolist(), last.wall_time.tolist(), last.value.tolist(), strict=True
                )
                found = {
                    tag: point
                    for tag, point in zip(last.tags, points, strict=True)
                    if tags is None or tag in tags
                }
                if found:
                    result[run] = found
        return result

    def query_tensors(self, plugin: str, samples: int, runs: Filter, tags: Filter) -> Tagged:
        """By run and tag: rows of step, wall time and array."""
        decode = values.bucket_table if plugin == "histograms" else _array

        def rows(run: str, tag: str, claims: Claims) -> Any:
            items = self._multiplexer.items(run, tag, claims)
            if 0 < samples < len(items):
                found = [(item, decode(item.read())) for item in _sampled(items, samples)]
            else:
                found = self._multiplexer.read_items(run, tag, claims, decode)
            return [(item.step, item.wall_time, value) for item, value in found]

        return self._each(plugin, "tensor", runs, tags, rows)

    def query_blobs(self, plugin: str, samples: int, runs: Filter, tags: Filter) -> Tagged:
        """By run and tag: rows of step, wall time and keys of blobs."""

        def rows(run: str, tag: str, claims: Claims) -> Any:
            by_step: dict[int, Item] = {}
            for item in self._multiplexer.items(run, tag, claims):
                by_step.setdefault(item.step, item)
            items = _sampled([by_step[step] for step in sorted(by_step)], samples)
            decode = _blobs_of(self, plugin, run, tag)
            return [
                (
                    item.step,
                    item.wall_time,
                    [_key(plugin, run, tag, item.ordinal, at) for at in range(length)],
                )
                for item in items
                if (length := len(decode(item.read())))
            ]

        return self._each(plugin, "blob", runs, tags, rows)

    def query_blob(self, key: str) -> bytes | None:
        """The bytes of a blob; None if there is none with this key."""
        try:
            plugin, run, tag, ordinal, at = json.loads(base64.urlsafe_b64decode(key + "=="))
            item = self._multiplexer.item(run, tag, _claims(plugin), ordinal)
            blob: bytes = _blobs_of(self, plugin, run, tag)(item.read())[at]
            return blob
        except (ValueError, TypeError, IndexError, NotFoundError, DataError):
            return None

    def _each(
        self, plugin: str, kind: str, runs: Filter, tags: Filter, read: Callable[..., Any]
    ) -> Tagged:
        claims = _claims(plugin, kind)
        wanted = None if tags is None else {"" if tag == RUN_GRAPH else tag for tag in tags}
        result: Tagged = {}
        for run, names in self._multiplexer.tags(claims).items():
            if runs is not None and run not in runs:
                continue
            for tag in names:
                if wanted is not None and tag not in wanted:
                    continue
                try:
                    found = read(run, tag, claims)
                except (NotFoundError, DataError):
                    continue
                if found is not None:
                    name = RUN_GRAPH if plugin == "graphs" and not tag else tag
                    result.setdefault(run, {})[name] = found
        return result

    def _about(self, run: str, tag: str, plugin: str) -> tuple[bytes, str, str]:
        """Content, description and display name in the metadata, as TensorBoard has them."""
        metadata = self._multiplexer.metadata(run, tag)
        is_old = not metadata.plugin_data.plugin_name and plugin in OLD_FORMS
        content = metadata.plugin_data.content or (WAV if is_old and plugin == "audio" else b"")
        name = metadata.display_name or (tag if is_old else "")
        return content, metadata.summary_description, name


def _claims(plugin: str, kind: str = "") -> Claims:
    is_scalar = {"scalar": True, "tensor": None}.get(kind)
    claims = [Claim(plugin_name=plugin, is_scalar=is_scalar)]
    field = (OLD_FORMS | GRAPHS).get(plugin)
    return [*claims, Claim(field)] if field else claims


def _sampled(items: list[Item], samples: int) -> list[Item]:
    """The items that TensorBoard's own provider would choose."""
    if not 0 < samples < len(items):
        return items
    chosen = sorted(random.Random(0).sample(range(len(items) - 1), samples - 1))
    return [*(items[at] for at in chosen), items[-1]]


def _array(value: Any) -> np.ndarray:
    array = values.tensor(value)
    if array.dtype.kind != "O":
        return array
    texts = [text.encode() if isinstance(text, str) else text for text in array.ravel().tolist()]
    return np.array([*texts, None], object)[:-1].reshape(array.shape)


def _blobs_of(data: Data, plugin: str, run: str, tag: str) -> Callable[[Any], list[bytes]]:
    metadata = data._multiplexer.metadata(run, tag)

    def blobs(value: Any) -> list[bytes]:
        if isinstance(value, bytes):
            return [value]
        if plugin == "images":
            image = values.image(value)
            return [str(image.width).encode(), str(image.height).encode(), *image.encoded]
        if plugin == "audio":
            return [clip.encoded for clip in values.audio(value, metadata).clips]
        return [bytes(blob) for blob in _array(value).ravel().tolist()]

    return blobs


def _key(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")
