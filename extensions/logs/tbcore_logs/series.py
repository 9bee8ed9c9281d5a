"""ScalarSeries: the points of one tag, with methods that draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from tbcore import ScalarSeries as Points
from tbcore import SmoothingKind
from tbcore.engine import Point
from tbcore_logs.drawings import line_svg, table_html
from tbcore_logs.tables import Categories, LogTable, ScalarTable

if TYPE_CHECKING:
    import pandas

__all__ = ["Point", "ScalarSeries", "table_of"]


class ScalarSeries(Points, Sequence[Point]):
    """Points of one tag, in the order they were written: a sequence of Point, and arrays of their
    steps, times and values, which are faster. Arrays are read-only."""

    def __init__(self, points: Points) -> None:
        """Not called by users. Columns are those of `points`, which may compute them on demand."""
        self._points = points

    @property
    def ordinal(self) -> NDArray[np.int64]:
        """Shape (n,), ascending: position of the point among all rows written to its tag, from 0.
        It never changes."""
        return self._points.ordinal

    @property
    def step(self) -> NDArray[np.int64]:
        """Shape (n,), not necessarily ascending."""
        return self._points.step

    @property
    def wall_time(self) -> NDArray[np.float64]:
        """Shape (n,), seconds since the epoch."""
        return self._points.wall_time

    @property
    def value(self) -> NDArray[np.floating[Any]]:
        """Shape (n,), float32, or float64 if a value needs it."""
        return self._points.value

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> ScalarSeries: ...
    def __getitem__(self, index: int | slice) -> Point | ScalarSeries:
        if not isinstance(index, slice):
            if not -len(self) <= index < len(self):
                known = f"no point {index}: there are {len(self):,}"
                raise IndexError(f"{known}; series.at({index}) is the last point up to a step")
            return self._point(range(len(self))[index])
        steps, times = self.step[index], self.wall_time[index]
        return ScalarSeries(Points(self.ordinal[index], steps, times, self.value[index]))

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same steps, times and values, with NaN equal to NaN."""
        if not isinstance(other, ScalarSeries):
            return NotImplemented
        columns = zip(self._columns, other._columns, strict=True)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in columns)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Point]:
        return map(Point, *(column.tolist() for column in self._columns))

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.step, self.wall_time, self.value

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with the columns `step`, `wall_time` and `value`."""
        columns = {"step": self.step, "wall_time": self.wall_time, "value": self.value}
        return LogTable(columns).to_pandas()

    def steps(self, rows: slice) -> NDArray[np.int64]:
        return self._points.steps(rows)

    def between(self, first: int, last: int) -> ScalarSeries:
        return ScalarSeries(super().between(first, last))

    def smooth(self, weight: float, kind: SmoothingKind = "exponential") -> ScalarSeries:
        return ScalarSeries(super().smooth(weight, kind))

    def __reduce__(self) -> tuple[Any, ...]:
        return ScalarSeries, (Points(self.ordinal, *self._columns),)

    def _repr_html_(self) -> str:
        """For notebooks: the line, and a table of the most important points."""
        points = {"last": self.last, "min": self.min, "max": self.max}
        caption = f"{len(self):,} points"
        if self.num_nonfinite:
            caption += f", {self.num_nonfinite:,} of them NaN or infinite"
        rows = [(name, point.step, point.value) for name, point in points.items() if point]
        table = table_html(("", "step", "value"), rows, caption)
        return f"{self.plot()}{table}"

    def plot(self, *, ax: Any = None) -> Any:
        """Draws the line on `ax`, axes of matplotlib, and returns `ax`.

        Without `ax`, returns the line as SVG: a str that notebooks display, "" if no value is
        finite.
        """
        if ax is None:
            return line_svg(self.step, self.value, label="step")
        ax.plot(self.step, self.value)
        ax.set_xlabel("step")
        return ax


def table_of(points: Sequence[tuple[str, str, ScalarSeries]]) -> ScalarTable:
    """The points of several series, each with its run and tag."""
    lengths = [len(series) for *_, series in points]

    def categories(names: Sequence[str]) -> Categories:
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        each = np.array([codes[name] for name in names], np.int32)
        return Categories(np.repeat(each, lengths), list(codes))

    def column(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(s, name) for *_, s in points)])

    return ScalarTable(
        categories([run for run, *_ in points]),
        categories([tag for _, tag, _ in points]),
        column("step", np.int64),
        column("wall_time", np.float64),
        column("value", np.float32),
    )
