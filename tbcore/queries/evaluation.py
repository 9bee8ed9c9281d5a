"""Query evaluation: the trees of queries, and the runs or names of tags that match one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import BadRequestError
from tbcore.values import hparam_text

DECIMAL = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?"
"""A pattern for finite numbers."""
_NUMBER = re.compile(rf"{DECIMAL}|[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE)
_NAMES_OF_ONE_LIMIT = 25_000
"""Number of names for which the time limit of expressions is meant; more names have more time."""

HParam = float | str | bool
"""The value of a hyperparameter; a list or dict is a str of JSON."""
Point = tuple[int, float]
"""Step and value."""
Mask = NDArray[np.bool_]
"""Whether each run matches, of shape (num_runs,)."""

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Offer(NamedTuple):
    """What may be meant in place of a part of a query."""

    start: int
    """The position of the part, in characters from 0."""
    end: int
    text: str
    label: str = ""
    """What a button for it says, if it does not say the text."""

    def in_query(self, query: str) -> str:
        """The query with this text in place of the part."""
        return query[: self.start] + self.text + query[self.end :]


class QueryError(BadRequestError):
    """A text is not a valid query: `message` names the mistake, `at` is its 0-based position."""

    def __init__(self, message: str, at: int, offer: Offer | None = None) -> None:
        super().__init__(f"{message}, at character {at + 1}")
        self.message = message
        self.at = at
        self.offer = offer


class Attribute(NamedTuple):
    """The left side of a comparison: a hyperparameter, a value of a tag, or one of FACTS."""

    kind: Literal["hparam", "value", "fact"]
    name: str
    """The name of the hyperparameter, the tag, or one of FACTS."""
    stat: str | None = None
    """`last`, `min`, `max`, `nan`, `at` or `change` for a value, else None."""
    step: int | None = None
    """The step for `at`, the number of steps for `change`, else None."""


class Word(NamedTuple):
    """Matches names that contain a text."""

    text: str
    """Lower-cased."""


class Glob(NamedTuple):
    """Matches whole names, or whole values of a hyperparameter."""

    pattern: re.Pattern[str]
    """For `fullmatch` with the lower-cased text; takes linear time."""


class Expression(NamedTuple):
    """Matches names in which a regular expression is found."""

    pattern: str
    at: int
    """Its position in the query."""


class Place(NamedTuple):
    """Where a comparison or `has:` is in a query, in characters from 0."""

    start: int
    name_end: int
    end: int


class Comparison(NamedTuple):
    """An attribute compared with a value."""

    attribute: Attribute
    operator: str
    """One of `=`, `!=`, `<`, `<=`, `>`, `>=`."""
    number: float | None
    """The value, in seconds for durations. None if it is not a number, which only the values of
    hyperparameters may be."""
    text: str | Glob
    """The value as a text, lower-cased."""
    place: Place

    @property
    def name(self) -> str:
        """Of the attribute."""
        return self.attribute.name


class Has(NamedTuple):
    """Matches runs that have a tag."""

    tag: str | Glob | None
    """Lower-cased; None matches runs with a scalar that is NaN or infinite."""
    name: str
    """The tag as it is written, without quotes."""
    place: Place


class Term(NamedTuple):
    """Matches runs by what is known about them; see `tbcore.queries.terms`."""

    found: Callable[[QueriedRuns], Sequence[bool] | Mask]
    """Returns whether each run matches. May raise QueryError."""


class Not(NamedTuple):
    part: Node


class And(NamedTuple):
    parts: tuple[Node, ...]
    """If there are none, everything matches."""


class Or(NamedTuple):
    parts: tuple[Node, ...]


Node = Word | Glob | Expression | Comparison | Has | Term | Not | And | Or


class QueriedRuns(Protocol):
    """Attributes of runs. Each sequence has one element per run: None where a run has no value.

    All times are in seconds since the epoch.
    """

    now: float
    runs: Sequence[str]
    first_event_times: Sequence[float | None]
    last_event_times: Sequence[float | None]
    states: Sequence[str]
    """As `run_state` returns them: `live` if the run is being written."""
    is_nonfinite: Sequence[bool]
    """Whether the run has a scalar that is NaN or infinite."""

    def last_steps(self) -> Sequence[int | None]: ...

    def hparams(self, name: str) -> Sequence[HParam | None]: ...

    def points(self, tag: str, stat: str, step: int | None) -> Sequence[Point | None]: ...

    def has(self, tag: str | Glob) -> Sequence[bool]:
        """Whether each run has a tag whose lower-cased name equals `tag`, or matches the glob."""
        ...

    def noted(self, sign: str, text: str | Glob, at: int) -> Sequence[bool]:
        """Whether users have noted such a thing about each run.

        `sign` is `#` for a label, `note:` for the text of a note, and `is:` for `starred` or
        `archived`; `text` is lower-cased. Raises QueryError for the position `at` if there are no
        notes.
        """
        ...


def matching_runs(query: Node, facts: QueriedRuns, check: Callable[[], object] = bool) -> Mask:
    """Whether each run matches the query, as an array of shape (num_runs,).

    Raises QueryError if a regular expression takes too long. `check` is called before each part of
    the query, and may raise an exception to end the evaluation.
    """
    return _Evaluation(facts, check).of(query)


def comparisons(node: Node) -> Iterator[Comparison | Has]:
    """The comparisons, and what is `has:`, in the order of the query."""
    match node:
        case Not(part):
            yield from comparisons(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from comparisons(part)
        case Comparison() | Has():
            yield node


class _Evaluation:
    def __init__(self, facts: QueriedRuns, check: Callable[[], object]) -> None:
        self._facts, self._check = facts, check
        self._lowered = [name.lower() for name in facts.runs]
        self._matcher: Any = None
        """Shared by all regular expressions of the query: its time limit is for all together."""

    def of(self, node: Node) -> Mask:
        self._check()
        match node:
            case Not(part):
                return ~self.of(part)
            case And(parts):
                return reduce(operator.and_, map(self.of, parts), self._all(True))
            case Or(parts):
                return reduce(operator.or_, map(self.of, parts), self._all(False))
            case Word(text):
                return _array([text in name for name in self._lowered])
            case Glob(pattern):
                return _array([pattern.fullmatch(name) is not None for name in self._lowered])
            case Expression():
                return self._matches(node)
            case Has(tag):
                return _array(self._facts.is_nonfinite if tag is None else self._facts.has(tag))
            case Term(found):
                return _array(found(self._facts))
            case Comparison(Attribute("hparam", name)):
                return _compare_hparams(self._facts.hparams(name), node)
            case Comparison():
                return _compare_numbers(self._facts, node)

    def _all(self, value: bool) -> Mask:
        return np.full(len(self._lowered), value)

    def _matches(self, node: Expression) -> Mask:
        from tbcore.patterns import Matcher  # 30 ms, not when a server starts

        if self._matcher is None:
            self._matcher = Matcher(scale=max(1, len(self._lowered) / _NAMES_OF_ONE_LIMIT))
        try:
            found: Mask = self._matcher.search(ignoring_case(node.pattern), self._facts.runs)
        except BadRequestError:
            raise QueryError("the expression takes too long", node.at) from None
        return found


def fact_of(facts: QueriedRuns, name: str) -> Sequence[float | None]:
    """The last step of each run, its age or how long it took: `step`, `age` or `took`."""
    if name == "step":
        return facts.last_steps()
    starts = facts.first_event_times if name == "took" else facts.last_event_times
    ends = facts.last_event_times if name == "took" else [facts.now] * len(starts)
    return [
        None if start is None or end is None else end - start
        for start, end in zip(starts, ends, strict=True)
    ]


def _compare_numbers(facts: QueriedRuns, node: Comparison) -> Mask:
    kind, name, stat, step = node.attribute
    column: Sequence[float | None]
    if kind == "value":
        assert stat is not None
        points = facts.points(name, stat, step)
        column = [None if point is None else point[1] for point in points]
    else:
        column = fact_of(facts, name)
    is_known = _array([value is not None for value in column])
    # Most values are logged as float32. Compared as float32, 0.1 equals a logged 0.1.
    dtype = np.float32 if kind == "value" and stat != "nan" else np.float64
    with np.errstate(over="ignore"):
        values = np.array([0 if value is None else value for value in column], float).astype(dtype)
        number = np.array(node.number, float).astype(dtype)
    is_true: Mask
    if node.operator in _COMPARE:
        is_true = _COMPARE[node.operator](values, number)
    else:
        is_equal = (values == number) | (np.isnan(values) & np.isnan(number))
        is_true = is_equal == (node.operator == "=")
    return is_true & is_known


def _compare_hparams(column: Sequence[HParam | None], node: Comparison) -> Mask:
    # The runs of a sweep have few different values, so each is compared once.
    answers: dict[tuple[type, HParam | None], bool] = {(type(None), None): False}
    found = []
    for value in column:
        key = type(value), value
        answer = answers.get(key)
        if answer is None:
            assert value is not None
            answer = answers[key] = compare_hparam(value, node)
        found.append(answer)
    return _array(found)


def compare_hparam(value: HParam, node: Comparison) -> bool:
    """Whether a comparison is true of a value."""
    number = _as_number(value)
    is_comparable = not isinstance(number, bool | str) and node.number is not None
    if node.operator in _COMPARE:
        return is_comparable and bool(_COMPARE[node.operator](number, node.number))
    if not is_comparable:
        text = hparam_text(value).lower()
        match node.text:
            case Glob(pattern):
                is_equal = pattern.fullmatch(text) is not None
            case _:
                is_equal = text == node.text
    else:
        is_equal = number == node.number or (number != number and node.number != node.number)
    return is_equal == (node.operator == "=")


def _as_number(value: HParam) -> HParam:
    """The number in a text, as which the text is compared; any other value itself."""
    number = read_number(value) if isinstance(value, str) else None
    return value if number is None else number


def group_text(value: HParam) -> str:
    """A text that is the same for values that `=` takes for equal, but for their case.

    `groupText` in tbcore/web/lib/queries/names.js is the same.
    """
    return hparam_text(_as_number(value))


def _array(values: Sequence[bool] | Mask) -> Mask:
    return np.array(values, np.bool_)


def read_number(text: str) -> float | None:
    """The number in a text such as `1`, `.9`, `1e-3`, `inf` or `nan`; None for any other text."""
    return float(text) if _NUMBER.fullmatch(text) else None


def ignoring_case(pattern: str) -> str:
    """The regular expression, made to ignore case as the page does."""
    return pattern if pattern.startswith("(?i)") else f"(?i){pattern}"
