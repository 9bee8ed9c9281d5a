"""Groups of runs by a rule as on the page, and statistics of one value of each run of a group.

    seeds             runs whose names differ in a seed, such as `seed=3`, `_s3` or `-fold2`
    numbers           ... in an integer at the end of path segments
    exp/{seed}        ... where `{...}` is; `*` is any text that they have in common
    re:lr=([^_]+)     runs with the same text in the parentheses of a regular expression
    by:lr,model       runs with equal values of these attributes; also without `by:`
    by:lr~            runs with numbers in the same range of 1, 2, 5, 10, 20, 50, ...

A run that a rule does not match is a group of its own. tbcore/web/shell/state/groups.js is the same
for the page, and tests/groups.json has what both must do. The statistics are those of
`tbcore.values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import BadRequestError, ScalarSeries
from tbcore.engine import (
    RunColumns,
    fact_of,
    format_attribute,
    group_text,
    quoted,
    split_attributes,
)
from tbcore.values import (
    GroupCurve,
    Spread,
    common_points,
    effective_rows,
    group_curve,
    group_statistics,
)
from tbcore_logs.attributes import attribute_of, values_of
from tbcore_logs.errors import UnknownNameError, instead
from tbcore_logs.tables import Categories, LogTable

Floats = NDArray[np.float64]
Grid = int | Sequence[float] | NDArray[Any] | None
"""The maximum number of steps of a mean, or the steps; None for all steps of its runs."""
Grouper = Callable[[str], str]
"""Returns the name of a run's group."""

_FLAGS = re.IGNORECASE | re.ASCII
_ENDS = r"_\-. ,+"
SEED = re.compile(
    rf"(^|[{_ENDS}])(?:seed|s|fold|trial|rep|repeat|replica|try)[=_\-:]?\d+(?=\Z|[{_ENDS}])", _FLAGS
)
"""A word for the repetitions of an experiment, with a number."""
NUMBER = re.compile(r"(?<![\d.])(?<!\d[eE])[_\-. #=:]?(?<!\d[eE]-)\d+\Z", re.ASCII)
"""An integer at the end that is not the end of a decimal number."""
_FINITE = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?", re.ASCII)
"""A number as `group_text` writes it."""
_REST = re.compile(rf"^[{_ENDS}]+|[{_ENDS}=:#]+\Z")
_PART = re.compile(
    r"/(?:train(?:ing)?|evaluation|eval|val(?:id(?:ation)?)?|test(?:ing)?|dev)\Z", _FLAGS
)
"""A part of one training, as the last segment of a run."""
_WORDS = {"seeds": SEED, "numbers": NUMBER}
"""Maps the rules of one word to what they remove from each path segment."""


class Groups(NamedTuple):
    """The groups of some runs."""

    names: list[str]
    """In the order of their first runs."""
    of_run: NDArray[np.int64]
    """Shape (num_runs,): for each run, an index into `names`."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Shape (num_groups,): the number of runs of each group."""
        return np.bincount(self.of_run, minlength=len(self.names))


def group_runs(by: str, runs: Sequence[str], attributes: Callable[[], RunColumns]) -> Groups:
    """The groups of runs by a rule; `attributes` is called for a rule that needs them.

    Raises BadRequestError for a text that is not a rule, and UnknownNameError for an attribute that
    no run has.
    """
    grouper = _grouper(by, attributes)
    codes: dict[str, int] = {}
    of_run = [codes.setdefault(grouper(run), len(codes)) for run in runs]
    return Groups(list(codes), np.array(of_run, np.int64))


# -- rules -----------------------------------------------------------------------------------------


def _grouper(by: str, attributes: Callable[[], RunColumns]) -> Grouper:
    if by in _WORDS:
        return _without(_WORDS[by])
    if by.startswith("re:"):
        return _by_expression(by.removeprefix("re:"))
    if by.startswith("by:") or not re.search(r"[{}*]", re.sub(r'"[^"]*"', "", by)):
        return _by_attributes(by.removeprefix("by:"), attributes())
    return _by_pattern(by)


def _without(part: re.Pattern[str]) -> Grouper:
    """Removes a part from path segments, and separators that remain at their ends."""

    def rest(segment: str) -> str:
        found = part.sub("", segment)
        return found if found == segment else _REST.sub("", found) or "*"

    return lambda run: "/".join(map(rest, run.split("/")))


def _by_expression(text: str) -> Grouper:
    if not text:
        raise BadRequestError("a regular expression must follow re:")
    import re2  # 30 ms

    from tbcore.patterns import InvalidPatternError, Matcher

    text = text if text.startswith("(?i)") else f"(?i){text}"
    try:
        Matcher().search(text, [])  # To check it; re2 also takes what others do not.
    except InvalidPatternError as error:
        raise BadRequestError(error.reason) from None
    expression = re2.compile(text.encode("utf-8", "surrogatepass"))

    def group(run: str) -> str:
        found = expression.search(run.encode("utf-8", "surrogatepass"))
        captured = [found[0]] if found and not found.groups() else found.groups() if found else []
        return b" ".join(filter(None, captured)).decode("utf-8", "surrogatepass") or run

    return group


def _by_attributes(texts: str, columns: RunColumns) -> Grouper:
    values: dict[str, dict[str, str]] = {}
    for text in split_attributes(texts):
        is_range = len(text) > 1 and text[-1] == "~" != text[-2]
        name, found = _values(text[:-1] if is_range else text, columns)
        text_of = range_text if is_range else group_text
        pairs = zip(columns.runs, found, strict=True)
        values[name] = {run: text_of(value) for run, value in pairs if value is not None}
    if not values:
        raise BadRequestError("name hyperparameters after by:, as in by:lr,optimizer")

    def group(run: str) -> str:
        if not any(run in known for known in values.values()):
            return run
        part = _PART.search(run)
        texts = [
            f"{name}={known[run]}" if run in known else f"no {name}"
            for name, known in values.items()
        ]
        return ", ".join(texts) + (part[0] if part else "")

    return group


def range_text(value: Any) -> str:
    """The range of 1, 2, 5, 10, 20, 50, ... that has a number, with its lower end; the text of any
    other value."""
    text = group_text(value)
    if not _FINITE.fullmatch(text) or not (number := Decimal(text)):
        return text
    sign, digits, _ = number.as_tuple()
    digit, exponent = digits[0], number.adjusted()
    ends = (1, 2) if digit < 2 else (2, 5) if digit < 5 else (5, 10)
    first, last = (group_text(float(f"{'-' * sign}{end}e{exponent}")) for end in ends)
    return f"{last} to {first}" if sign else f"{first} to {last}"


def _values(text: str, columns: RunColumns) -> tuple[str, Sequence[Any]]:
    """The text of an attribute in its usual form, and its value for each of `columns.runs`."""
    index = columns.index
    attribute = attribute_of(text, columns)
    kind, name, stat, _ = attribute
    if kind == "fact":
        return format_attribute(attribute), fact_of(columns, name)
    known = index.hparam_names if kind == "hparam" else index.tags
    if not known.candidates(name):
        columns.report(*index.hparams.problems)
        what, rules = ("hyperparameter", _WORDS) if kind == "hparam" else ("tag", ())
        names = (index.scalar_tags if kind == "value" else known).most_common()
        line = f"no run has the {what} {quoted(name)}{instead(name, names, rules)}"
        raise UnknownNameError(line)
    if stat is None:
        return format_attribute(attribute), columns.hparams(name)
    return format_attribute(attribute), values_of(attribute, columns)


def _by_pattern(text: str) -> Grouper:
    segments = [_parsed(segment) for segment in text.split("/")]

    def group(run: str) -> str:
        own = run.split("/")
        if len(own) < len(segments):
            return run
        pairs = zip(segments, own, strict=False)
        named = [_matched(parts, segment) for parts, segment in pairs]
        known = [name for name in named if name is not None]
        return run if len(known) < len(named) else "/".join([*known, *own[len(segments) :]])

    return group


def _parsed(segment: str) -> list[str]:
    """The parts of a segment of a path pattern: `{...}`, `*`, and texts between them."""
    parts: list[str] = re.findall(r"\{[^{}]*\}|\*+|[^{}*]+|[{}]", segment)
    for part, following in zip(parts, [*parts[1:], "."], strict=True):
        if part in ("{", "}"):
            raise BadRequestError("unclosed {" if part == "{" else "unmatched }")
        if part[0] in "{*" and following[0] in "{*" and following != "{":
            raise BadRequestError("{} and * need text between them")
    return parts


def _matched(parts: Sequence[str], segment: str) -> str | None:
    """The segment with the braces in place of what they match; None if it does not match.

    The last wildcard matches all that remains before the text after it, every other one as few
    characters as possible. So there is no backtracking.
    """
    name, at = "", 0
    for index, part in enumerate(parts):
        if part[0] not in "{*":
            if not segment.startswith(part, at):
                return None
            name, at = name + part, at + len(part)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else ""
        is_last = index + 2 >= len(parts)
        end = len(segment) - len(following) if is_last else segment.find(following, at + 1)
        if end <= at:
            return None
        name += segment[at:end] if part[0] == "*" else part
        at = end
    return name if at == len(segment) else None


# -- statistics ------------------------------------------------------------------------------------


class GroupStatistics(NamedTuple):
    """Statistics of one value of each run, as columns of shape (num_groups,)."""

    mean: Floats
    """Of the finite values; NaN if there are none."""
    deviation: Floats
    """The standard deviation of the sample, over n - 1; NaN with fewer than two finite values."""
    n: NDArray[np.int64]
    """Number of finite values."""
    nonfinite: NDArray[np.int64]
    """Number of values that are NaN or infinite."""
    missing: NDArray[np.int64]
    """Number of runs without a value."""
    diverged: NDArray[np.int64] | None
    """Number of finite lowest or highest values of runs that end with NaN or infinity; None for
    other values."""
    ended: NDArray[np.int64] | None
    """Number of runs whose points end before the step of a value at a step, and which are in no
    other number; None for other values."""

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """The columns by name."""
        return {name: column for name, column in self._asdict().items() if column is not None}


def statistics_of(
    groups: Groups,
    values: Sequence[float | None],
    last: Sequence[float | None] | None = None,
    ended: Sequence[bool] | None = None,
) -> GroupStatistics:
    """The statistics of one value of each run, None for a run without one.

    `last` are the last values of the runs, if `values` are their lowest or highest ones. `ended` is
    whether the points of a run end before the step at which `values` are.
    """
    value = np.array(values, float)  # None becomes NaN.
    has_value = np.array([each is not None for each in values], np.bool_)
    is_out = np.zeros(len(value), np.bool_) if ended is None else has_value & np.array(ended, bool)

    def count(is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(groups.of_run[is_counted], minlength=len(groups.names))

    found = group_statistics(
        value, np.where(has_value & ~is_out, groups.of_run, -1), len(groups.names)
    )
    deviation = _deviation(found.low, found.high, found.count)
    diverged = None
    if last is not None:
        diverged = count(np.isfinite(value) & ~np.isfinite(np.array(last, float)))
    return GroupStatistics(
        found.average, deviation, found.count, found.nonfinite, count(~has_value), diverged,
        None if ended is None else count(is_out),
    )  # fmt: skip


def curve_of(
    all_series: Sequence[ScalarSeries], grid: Grid = None, spread: Spread = "deviation"
) -> GroupCurve:
    """The mean of several series at the steps of all of them, see `tbcore.values.group_curve`.

    Of more than `grid` steps, so many are taken; or `grid` are the steps.
    """
    runs = [effective_rows(each.step, each.value, each.segment_starts) for each in all_series]
    if grid is None or isinstance(grid, int):
        points = common_points((x for x, _ in runs), grid)
    else:
        points = np.unique(np.asarray(grid, np.float64))
    return group_curve(points, runs, "mean", spread)


def mean_table(
    runs: Mapping[str, ScalarSeries],
    by: str | None,
    grid: Grid,
    attributes: Callable[[], RunColumns],
) -> LogTable:
    """See `Logs.mean`; `runs` maps runs to their points of a tag."""
    groups = Groups([""], np.zeros(len(runs), np.int64))
    if by is not None:
        groups = group_runs(by, list(runs), attributes)
    members: list[list[ScalarSeries]] = [[] for _ in groups.names]
    for code, series in zip(groups.of_run.tolist(), runs.values(), strict=True):
        members[code].append(series)
    curves = [curve_of(own, grid) for own in members]
    codes = np.repeat(np.arange(len(curves)), [len(curve.x) for curve in curves])
    joined = {
        name: np.concatenate([np.empty(0, dtype), *(getattr(curve, name) for curve in curves)])
        for name, dtype in (("x", float), ("average", float), ("low", float), ("high", float),
                            ("count", np.int64), ("nonfinite", np.int64))
    }  # fmt: skip
    is_whole = grid is None or isinstance(grid, int) or np.asarray(grid).dtype.kind in "iu"
    columns: dict[str, Categories | NDArray[Any]] = {
        "step": joined["x"].astype(np.int64 if is_whole else float),
        "mean": joined["average"],
        "deviation": _deviation(joined["low"], joined["high"], joined["count"]),
        "n": joined["count"],
        "nonfinite": joined["nonfinite"],
        "runs": groups.sizes[codes],
    }
    if by is not None:
        columns = {"group": Categories(codes.astype(np.int32), groups.names), **columns}
    return LogTable(columns, missing_in(columns))


def missing_in(columns: Mapping[str, Categories | NDArray[Any]]) -> dict[str, NDArray[np.bool_]]:
    """For each column of statistics with NaN, where it is: statistics of too few values."""
    masks = {
        name: np.isnan(column)
        for name, column in columns.items()
        if not isinstance(column, Categories) and np.isnan(column).any()
    }
    for mask in masks.values():
        mask.flags.writeable = False
    return masks


def _deviation(low: Floats, high: Floats, count: NDArray[np.int64]) -> Floats:
    """The deviation of a mean between it and these ends; NaN with fewer than two values."""
    return np.where(count > 1, (high - low) / 2, np.nan)
