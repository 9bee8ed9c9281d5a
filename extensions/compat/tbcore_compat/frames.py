"""Frames: combines the blocks of values that `SummaryReader` finds into a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

EXTRA_COLUMNS = (
    "content_type", "dir_name", "file_name", "height", "length_frames", "max", "min", "num",
    "sample_rate", "sum", "sum_squares", "wall_time", "width",
)  # fmt: skip
"""Columns that a frame has only on demand."""

Block = Mapping[str, Any]
"""The values of one tag in one file. It has columns of shape (n,): `value` or others, as float64 or
objects, and except for hyperparameters, `step` and `wall_time`. It also has strings: `tag`,
`file_name`, and `dir_name`, which is relative to the reader's path. All blocks of a frame have the
same keys in the same order, and the first one is a column."""


def frame_of(blocks: Sequence[Block], extra: Collection[str], pivot: bool) -> pandas.DataFrame:
    """A frame with the values of all blocks, and the EXTRA_COLUMNS that are in `extra`.

    With `pivot` there is a column for each tag (or columns `TAG/COLUMN`), and a row for each step.
    If directories or files are columns, there is a row for each step in each of them.
    """
    # 1. Make a row of each value, and sort the rows. Names are categories, as these sort fast.
    #    Without `pivot`, this is the result.
    # 2. Find the group of rows that each row becomes a part of.
    # 3. Merge the values of each group, tag by tag.
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        message = "SummaryReader needs pandas: pip install pandas"
        raise ModuleNotFoundError(message, name="pandas") from None

    if not blocks:
        return pd.DataFrame()
    lengths = [len(next(iter(block.values()))) for block in blocks]  # 1
    data: dict[str, Any] = {}
    for name in blocks[0]:
        if name not in EXTRA_COLUMNS or name in extra:
            each = [block[name] for block in blocks]
            is_text = isinstance(each[0], str)
            data[name] = pd.Categorical(each).repeat(lengths) if is_text else np.concatenate(each)
    step, time, places = (
        [name for name in names if name in data]
        for names in (["step"], ["wall_time"], ["dir_name", "file_name"])
    )
    values = [name for name in data if name not in ("tag", *step, *time, *places)]
    keys = [*places, *step] if pivot else [*places, "tag", *step]
    frame = pd.DataFrame(data, copy=False).sort_values(keys, kind="stable", ignore_index=True)
    if not pivot:
        texts = {name: _strings(frame[name]) for name in ("tag", *places)}
        return frame.assign(**texts)[[*step, "tag", *values, *time, *places]].infer_objects()

    group = np.zeros(len(frame), np.int64)  # 2
    if keys:
        group = frame.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
    wide = {}  # 3
    for tag, rows in frame.groupby("tag", observed=True):
        for name in values:
            wide[tag if name == "value" else f"{tag}/{name}"] = _merged(rows[name], group)
    firsts = frame.iloc[np.unique(group, return_index=True)[1]].reset_index(drop=True)
    columns = {
        **{name: firsts[name] for name in step},
        **{name: wide[name] for name in sorted(wide)},
        **{name: _merged(frame[name], group) for name in time},
        **{name: _strings(firsts[name]) for name in places},
    }
    return pd.DataFrame(columns).infer_objects()


def _strings(categories: pandas.Series) -> pandas.Series:
    """The column with texts in place of categories. Faster than `astype`, which makes an object of
    each text."""
    import pandas as pd

    texts = categories.cat.categories.take(categories.cat.codes)
    return pd.Series(texts, categories.index)


def _merged(column: pandas.Series, group: NDArray[np.int64]) -> pandas.Series:
    """The value of each group, a list of several values, or NaN. NaN in a list is dropped.

    `group` has the ascending group of each row of the frame that the column is from.
    """
    import pandas as pd

    column = column.dropna()
    column.index = pd.Index(group[column.index])
    is_one = ~column.index.duplicated(keep=False)
    if not is_one.all():
        several = column[~is_one]
        groups, starts = np.unique(several.index, return_index=True)
        lists = [part.tolist() for part in np.split(several.to_numpy(), starts[1:])]
        column = pd.concat([column[is_one].astype(object), pd.Series(lists, groups)])
    return column.reindex(range(group[-1] + 1))
