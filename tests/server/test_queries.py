"""Queries: what they find, and that Python and the page agree."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from machine import node_command

import tbcore
from tbcore.queries.evaluation import (
    And,
    Attribute,
    Comparison,
    Expression,
    Glob,
    HParam,
    Node,
    Not,
    Or,
    Point,
    QueryError,
    Word,
    matching_runs,
)
from tbcore.queries.offers import format_attribute
from tbcore.queries.syntax import parse, parse_attribute
from tbcore.queries.terms import TERMS as WORDS_OF_TERMS
from tbcore.store.state import run_state
from tbcore_testing.demo import write_demo

TABLE = json.loads((Path(__file__).parents[1] / "queries.json").read_text(encoding="utf-8"))
"""tests/page/unit/queries.test.mjs tests the page with these cases."""


MAX_SECONDS = 2.0
"""Maximum CPU time of a query in Python. Most take a millisecond; the machine may be busy."""


class Facts:
    """The facts of runs as in tests/queries.json."""

    def __init__(self, runs: Sequence[dict[str, Any]], now: float) -> None:
        self.now = now
        self.runs = [run["name"] for run in runs]
        self.first_event_times = [run["first"] for run in runs]
        self.last_event_times = [run["last"] for run in runs]
        self.states = [run_state(run["last"], run["modified"], self.now, None) for run in runs]
        self.logged = runs
        self.scalars: list[dict[str, list[Point]]] = [
            {tag: [(step, float(value)) for step, value in points] for tag, points in tags.items()}
            for tags in (run["scalars"] for run in runs)
        ]
        self.is_nonfinite = [
            any(not math.isfinite(value) for points in tags.values() for _, value in points)
            for tags in self.scalars
        ]

    def last_steps(self) -> list[int | None]:
        return [run["last_step"] for run in self.logged]

    def hparams(self, name: str) -> list[HParam | None]:
        values = [run["hparams"].get(closest(name, run["hparams"])) for run in self.logged]
        # Logged numbers are floats.
        return [float(value) if type(value) is int else value for value in values]

    def points(self, tag: str, stat: str, step: int | None) -> list[Point | None]:
        return [point_of(tags.get(closest(tag, tags), []), stat, step) for tags in self.scalars]

    def has(self, tag: str | Glob) -> list[bool]:
        def is_match(name: str) -> bool:
            return name == tag if isinstance(tag, str) else bool(tag.pattern.fullmatch(name))

        return [any(is_match(t.lower()) for t in [*r["scalars"], *r["tags"]]) for r in self.logged]


def closest(name: str, names: Iterable[str]) -> str:
    """The name if it is among these, else the first that differs in case alone."""
    equal = [other for other in names if other.lower() == name.lower()]
    return name if name in equal or not equal else equal[0]


def names_found(query: str, names: Sequence[str]) -> list[bool]:
    """Whether each name matches a query with neither facts nor comparisons."""
    return matching_runs(parse(query), cast(Any, SimpleNamespace(runs=names))).tolist()


def point_of(points: Sequence[Point], stat: str, limit: int | None) -> Point | None:
    """The point that a statistic selects."""
    if stat in ("min", "max"):
        choose = min if stat == "min" else max
        finite = [point for point in points if math.isfinite(point[1])]
        return choose(finite, key=lambda point: point[1], default=None)
    if stat == "nan":
        return next(((step, step) for step, value in points if not math.isfinite(value)), None)
    if stat == "change" and points:
        last, earlier = points[-1], point_of(points, "at", points[-1][0] - (limit or 0))
        return earlier and (last[0], last[1] - earlier[1])
    before = [(s, v) for s, v in points if limit is None or s <= limit]
    return before[-1] if before else None


FACTS = Facts(TABLE["runs"], TABLE["now"])


@pytest.mark.parametrize("case", TABLE["queries"], ids=lambda case: case["query"])
def test_queries_find_runs(case: dict[str, Any]) -> None:
    """Each query finds the runs of the table, in their order."""
    found = matching_runs(parse(case["query"]), FACTS)
    assert [run for run, is_found in zip(FACTS.runs, found, strict=True) if is_found] == (
        case["finds"]
    )


@pytest.mark.parametrize("case", TABLE["mistakes"], ids=lambda case: case["query"])
def test_mistakes_have_a_place(case: dict[str, Any]) -> None:
    """The message says what is wrong, and the place where; the whole text counts from 1."""
    if case["message"] is None:
        parse(case["query"])
        return
    with pytest.raises(QueryError) as caught:
        parse(case["query"])
    assert (caught.value.message, caught.value.at) == (case["message"], case["at"])
    assert str(caught.value) == f"{case['message']}, at character {case['at'] + 1}"


def test_examples_of_the_documentation_find_runs_of_the_demo(tmp_path: Path) -> None:
    """All but those about the time."""
    text = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
    table = text[text.index("| query | runs |") : text.index("The query is part")]
    queries = [query.replace("\\|", "|") for query in re.findall(r"(?m)^\| `(.+?)` \|", table)]
    write_demo(tmp_path)
    logs = tbcore.open(tmp_path)
    assert len(queries) > 4
    assert [query for query in queries if not logs.find(query)] == ["live | age<2h"]


def test_each_term_is_documented_and_has_cases() -> None:
    """tests/page/unit/completions.test.mjs compares the documentation and the page."""
    page = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
    table = page[page.index("## Terms") : page.index("## Combine terms")]
    cases = [case["query"].lower() for case in [*TABLE["queries"], *TABLE["mistakes"]]]
    for word in WORDS_OF_TERMS:
        assert f"`{word}" in table, word
        assert any(word in case for case in cases), word


def test_queries_are_not_too_long() -> None:
    """500 characters are enough for everybody, and 501 are a mistake."""
    parse("x" * 500)
    with pytest.raises(QueryError, match=r"^longer than 500 characters, at character 501$"):
        parse("x" * 501)


@pytest.mark.parametrize("case", TABLE["attributes"], ids=lambda case: case["text"])
def test_attributes_are_texts(case: dict[str, Any]) -> None:
    """An attribute is formatted as the text that it is parsed from."""
    attribute = parse_attribute(case["text"])
    assert attribute._asdict() == case["attribute"]
    assert format_attribute(attribute) == case["text"]


def test_other_texts_of_attributes() -> None:
    """Texts that name the same attribute, and those that name none."""
    for case in TABLE["otherAttributes"]:
        assert parse_attribute(case["text"]) == parse_attribute(case["same"])
    for case in TABLE["attributeMistakes"]:
        with pytest.raises(QueryError) as caught:
            parse_attribute(case["text"])
        assert (caught.value.message, caught.value.at) == (case["message"], case["at"])


def test_expressions_have_more_time_for_more_names() -> None:
    """Half a second for every 25,000, so that a million runs can be searched."""
    names = [f"sweep/run{number}/seed1" for number in range(120_000)]
    assert sum(names_found("re:run7$ | re:1/seed1$", names)) == 12_000
    # The expressions of a query share its time: the first one must not use up that of the others.
    names = names[:50] * 10_000
    assert sum(names_found(" | ".join(["re:1/seed1$"] * 3), names)) == 50_000
    query = "re:(a?){200}[ab]{500}c"
    with pytest.raises(QueryError, match="takes too long"):
        names_found(query, ["ab" * 2000] * 120_000)


def test_no_query_takes_long() -> None:
    """Parts of a glob are looked for once; expressions have a limit, and are a mistake beyond."""
    for glob, length in [("*a" * 4 + "*b", 300), ("*a" * 240 + "*b", 20_000)]:
        names = ["a" * length, "a" * length + "b"]
        started = time.thread_time()
        assert names_found(glob, names) == [False, True]
        assert time.thread_time() - started < MAX_SECONDS
    query = "x | re:(a?){200}[ab]{500}c"
    with pytest.raises(QueryError, match=r"^the expression takes too long, at character 8$"):
        names_found(query, ["ab" * 20_000] * 20)


# -- the page finds the same -----------------------------------------------------------------------

PIECES = [
    *("a", "B", "loss", "LOSS", "Größe", "😀", "x(1)", "*", "?", "\\", '"', '""', '"a b"', '"*"'),
    *(" ", " ", " ", "\t", "\xa0", "|", " | ", "-", " -", "(", ")", "(a | b)", "((", "))"),
    *("lr", "Model", "model=a", "<", "<=", ">", ">=", "=", "==", "!=", "!", "=a*", '="0.1"'),
    *("0.1", "1e-3", ".9", "1.", "+1", "-2", "1e400", "nan", "inf", "-Infinity", "true", "1_0"),
    *(
        ":",
        ":last",
        ":MIN",
        ":max",
        ":at(",
        ":at(10)",
        ":at( -5 )",
        ":at(1e1)",
        ":at(.5)",
        ":b",
        ":change(",
        ":Change(3)",
    ),
    *(
        "step",
        "age",
        "took",
        "2h",
        "1.5m",
        "0s",
        "1W",
        "live",
        "QUIET",
        "has:",
        "has:nan",
        "newest:",
        "newest:2",
    ),
    *("=>", " > ", "< ", "1<lr<2", "0<loss:at(1)", "1h<age<", "=<a"),
    *("has:loss", "has:*o*", 'has:"*"', "re:", "re:a|b", "re:(a|b)", "RE:^x", "re:[", 're:"a b"'),
]
"""What queries are made of."""
ALPHABET = 'aAbBxX019 ._/-*?"()|:<>=!\\[]{}^$+,\n\t\xa0\u3000\ufeffäÄßıİσςΣé€中😀'
"""Characters that had their case, or none, in all versions of Unicode since 2010."""
RANDOM_TEXTS = st.text(ALPHABET, max_size=4)
NAMES = st.sampled_from(
    ["a", "b", "A b", "loss", "Loss", "lr", "LR", "model", "x(1)", "a*", "Größe"]
)
NUMBERS = st.sampled_from([0.1, 0.01, -0.0, 1.0, 2.0, 1e-7, 1.5e-6, 1e21, 123456789012345680.0])
VALUES = NUMBERS | st.sampled_from(["NaN", "Infinity", "-Infinity", 1e-40, 16777217.0, 0.30000001])
TERMS = st.one_of(
    st.builds(
        "{}{}{}".format,
        NAMES.map(lambda name: '"A b"' if " " in name or "(" in name else name)
        | st.builds("{}:{}".format, NAMES.filter(str.isalnum), st.sampled_from(["last", "min"]))
        | st.sampled_from(
            ["step", "age", "took", "loss:max", "loss:at(10)", "a:at(-1)", "a:change(3)"]
        ),
        st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
        st.sampled_from(
            ["0.1", "1e-7", "2", "nan", "1s", "2h", "a", "true", "1*", "1e21", "16777216"]
        ),
    ),
    st.builds("has:{}".format, NAMES | RANDOM_TEXTS),
    RANDOM_TEXTS,
)
QUERIES = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds("-({})".format, inner),
        st.builds("{} {}".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
    ),
    max_leaves=6,
) | st.lists(st.sampled_from(PIECES) | RANDOM_TEXTS, max_size=10).map("".join)
TIMES = st.none() | st.sampled_from([0.0, 92800.0, 99699.5, 99701.0, 99940.0, 100000.0, 100301.0])
RUNS = st.fixed_dictionaries(
    {
        "name": NAMES | st.text(ALPHABET, min_size=1, max_size=8),
        "hparams": st.dictionaries(
            NAMES, NUMBERS | st.booleans() | RANDOM_TEXTS | st.sampled_from(["1e-7", "nan", "True"])
        ),
        "scalars": st.dictionaries(
            NAMES,
            st.lists(st.tuples(st.integers(-2, 12), VALUES).map(list), min_size=1, max_size=4),
            max_size=3,
        ),
        "tags": st.lists(NAMES | RANDOM_TEXTS, max_size=2),
        "first": TIMES,
        "last": TIMES,
        "modified": TIMES,
        "last_step": st.none() | st.integers(-2, 12),
    }
)


@pytest.fixture(scope="module")
def page() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """A function that returns what the modules of the page answer to a question, in node."""
    if not (Path(__file__).parents[2] / "node_modules").exists():
        pytest.skip("needs node_modules of the repository, which `npm ci` installs")
    runner = Path(__file__).parents[1] / "page" / "unit" / "query-runner.mjs"
    with subprocess.Popen(
        [node_command(Path(sys.executable)), str(runner)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(question: dict[str, Any]) -> dict[str, Any]:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield ask


def answer_of(find: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """What is found, or the mistake, as query-runner.mjs answers."""
    started = time.thread_time()
    try:
        return {"matches": list(find())}
    except QueryError as error:
        return {"error": {"message": error.message, "at": error.at}}
    finally:
        assert time.thread_time() - started < MAX_SECONDS


def test_properties_what_the_page_finds_itself_is_what_the_server_finds(
    page: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Any other query is found, or has a mistake; there is never another exception."""
    num_plain = 0

    @settings(max_examples=500, suppress_health_check=list(HealthCheck))
    @given(query=QUERIES, runs=st.lists(RUNS, max_size=3), now=st.just(100000.0))
    def check(query: str, runs: list[dict[str, Any]], now: float) -> None:
        nonlocal num_plain
        facts = Facts(runs, now)

        def find() -> Iterable[str]:
            found = matching_runs(parse(query), facts).tolist()
            return (run for run, is_found in zip(facts.runs, found, strict=True) if is_found)

        answer = answer_of(find)
        in_page = page({"query": query, "runs": facts.runs})
        num_plain += in_page["matches"] is not None
        assert in_page in (answer, {"matches": None})

    check()
    assert num_plain > 20


def is_about_names(node: Node) -> bool:
    """Whether a query has only words, globs and expressions."""
    match node:
        case Not(part):
            return is_about_names(part)
        case And(parts) | Or(parts):
            return all(map(is_about_names, parts))
    return isinstance(node, Word | Glob | Expression)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(query=QUERIES, tags=st.lists(NAMES | st.text(ALPHABET, max_size=8), max_size=3))
def test_properties_the_page_finds_tags_as_the_server_finds_runs_by_name(
    page: Callable[[dict[str, Any]], dict[str, Any]], query: str, tags: list[str]
) -> None:
    """In a query for tags, which only the page answers, comparisons and facts are words."""
    try:
        assume(is_about_names(parse(query)))
    except QueryError:
        reject()

    def find() -> Iterable[str]:
        return (
            tag for tag, is_found in zip(tags, names_found(query, tags), strict=True) if is_found
        )

    assert answer_of(find) == page({"query": query, "tags": tags})


@settings(max_examples=300)
@given(st.text(ALPHABET, max_size=10) | NAMES)
def test_properties_a_name_is_an_attribute_when_formatted(name: str) -> None:
    """The text of an attribute is parsed as this attribute, also within a query."""
    for attribute in (
        Attribute("hparam", name),
        Attribute("value", name, "last"),
        Attribute("value", name, "at", -7),
        Attribute("value", name, "change", 7),
    ):
        text = format_attribute(attribute)
        assert parse_attribute(text) == attribute
        query = parse(f"{text}>1")
        assert isinstance(query, Comparison)
        assert query.attribute == attribute
