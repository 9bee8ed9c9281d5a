"""Frames: the blocks of values that `SummaryReader` finds, as one frame of pandas."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Column = NDArray[Any]


class TagBlock(NamedTuple):
    """The values of one tag in one file."""

    dir_name: str
    """The file's directory, relative to the reader's path; "" for this path."""
    file_name: str
    tag: str
    columns: dict[str, Column]
    """Columns of shape (n,), with the same names in all blocks: `step` and `wall_time`, which
    hyperparameters lack, and `value` or others, each of float64 or objects."""


def frame_of(blocks: Sequence[TagBlock], extra: Set[str], pivot: bool) -> pandas.DataFrame:
    """The frame of all blocks; of wall times and names of files, it has those in `extra`.

    With `pivot` there is a column for each tag, or several as `TAG/COLUMN`, and a row for each
    step, within a directory or file if that is a column.
    """
    # 1. Make a row of each value, and sort the rows. Names are categories, which are sorted fast.
    # 2. Without `pivot` this is the result. With it, find the group that each row is in.
    # 3. Merge the values of each group, tag by tag.
    import pandas as pd

    if not blocks:
        return pd.DataFrame()
    found = list(blocks[0].columns)
    data: dict[str, Any] = {  # 1
        name: np.concatenate([block.columns[name] for block in blocks]) for name in found
    }
    lengths = [len(block.columns[found[0]]) for block in blocks]
    named = [name for name in ("dir_name", "file_name") if name in extra]
    for name in ("tag", *named):
        data[name] = pd.Categorical([getattr(block, name) for block in blocks]).repeat(lengths)
    step = [name for name in found if name == "step"]
    time = [name for name in found if name == "wall_time" and name in extra]
    values = [name for name in found if name not in ("step", "wall_time")]
    keys = [*named, *step] if pivot else [*named, "tag", *step]
    frame = pd.DataFrame(data)
    if keys:
        frame = frame.sort_values(keys, kind="stable", ignore_index=True)
    if not pivot:
        texts = {name: _strings(frame[name]) for name in ("tag", *named)}
        return frame.assign(**texts)[[*step, "tag", *values, *time, *named]].infer_objects()

    group = np.zeros(len(frame), np.int64)  # 2
    if keys:
        group = frame.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
    wide: dict[str, Column] = {}  # 3
    for tag, rows in frame.groupby("tag", observed=True).indices.items():
        for name in values:
            column = frame[name].to_numpy()[rows]
            wide[tag if name == "value" else f"{tag}/{name}"] = _merged(group, rows, column)
    times = {name: _merged(group, slice(None), frame[name].to_numpy()) for name in time}
    firsts = frame.iloc[np.unique(group, return_index=True)[1]].reset_index(drop=True)
    columns = {
        **{name: firsts[name] for name in step},
        **{name: wide[name] for name in sorted(wide)},
        **times,
        **{name: _strings(firsts[name]) for name in named},
    }
    return pd.DataFrame(columns).infer_objects()


def _strings(categories: pandas.Series) -> pandas.Series:
    return categories.astype(categories.cat.categories.dtype)


def _merged(group: NDArray[np.int64], rows: Any, column: Column) -> Column:
    """The values of each group: one, a list of several, or NaN. NaN is not in a list.

    `column` has the values in these rows, and `group` the ascending group of each row.
    """
    if column.dtype == object:  # whose elements may be arrays
        is_nan = np.array([isinstance(each, float) and each != each for each in column], np.bool_)
    else:
        is_nan = np.isnan(column)
    column, own = column[~is_nan], group[rows][~is_nan]
    merged = np.full(group[-1] + 1, np.nan, column.dtype)
    merged[own] = column
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    if len(starts) < len(own):
        merged = merged.astype(object)
        for start, end in zip(starts, [*starts[1:], len(own)], strict=True):
            if end - start > 1:
                merged[own[start]] = column[start:end].tolist()
    return merged


def objects(elements: Sequence[Any]) -> NDArray[np.object_]:
    """An array of shape (n,), also of elements that are arrays."""
    array = np.empty(len(elements), object)
    for index, element in enumerate(elements):
        array[index] = element
    return array
