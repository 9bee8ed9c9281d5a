"""Query syntax: parses queries and attributes into trees.

    vit lr>1e-3 | -(has:nan | live)     ->     Or(And(Word, Comparison), Not(Or(Has, Term)))

A chunk is a stretch of text without a blank, `|`, `(` or `)`, except in double quotes, `:at( )` and
`:change( )`. The parser looks for operators and colons in a chunk's mask: the chunk with each
character in quotes, of `at( )` and of `change( )` replaced by `"`. Positions in both are the same.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from tbcore.queries import STATS
from tbcore.queries.evaluation import (
    DECIMAL,
    And,
    Attribute,
    Comparison,
    Expression,
    Node,
    Not,
    Offer,
    Or,
    Place,
    QueryError,
    Word,
    ignoring_case,
    read_number,
)
from tbcore.queries.terms import MASKED, QUOTED, TERMS, WITH_STEP, name_or_glob, unquoted

MAX_QUERY_CHARACTERS = 500
"""Maximum number of characters of a query."""
MAX_DEPTH = 50
"""Maximum depth of nested parentheses."""
MAX_STEP = 2**53 - 1
"""Highest step in `at( )` and `change( )`: up to there, numbers in JavaScript are exact."""
FACTS = ("step", "age", "took")
"""On the left of a comparison, these names are hyperparameters only if they are quoted."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
"""Seconds of each unit of a duration."""

_BLANK = " \t\n\r\f\v\xa0"
_CHUNK = re.compile(rf'(?:{QUOTED.pattern}|:(?:{WITH_STEP})|[^{_BLANK}|()"])*')
_OPERATOR = re.compile(r"[<>]=?|!=|==?")
_BEFORE_JSON = re.compile(
    rf'((?:{QUOTED.pattern}|[^{_BLANK}|()"=<>!])+)(==?|!=)(?=[{{\[])', re.ASCII
)
"""A name and an operator before a list or dict."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Maps operators to those that mean the same with the operands swapped."""
_OPERAND = rf'[^{_BLANK}|()"=<>!]+'
"""A name or value next to an operator with blanks around it."""
_EXPRESSION = re.compile(rf"(?:\\[^{_BLANK}]|[^{_BLANK}()])*")
"""The part of a regular expression before the next blank or parenthesis."""
_DURATION = re.compile(rf"({DECIMAL})([smhdw])", re.ASCII | re.IGNORECASE)


def parse(text: str) -> Node:
    """The tree of a query. Raises QueryError."""
    if len(text) > MAX_QUERY_CHARACTERS:
        raise QueryError(f"longer than {MAX_QUERY_CHARACTERS} characters", MAX_QUERY_CHARACTERS)
    if not text.strip(_BLANK):
        return And(())
    parser = _Parser(text)
    query = parser.alternatives()
    if parser.at < len(text):
        raise QueryError("unmatched )", parser.at)
    return query


def parse_attribute(text: str) -> Attribute:
    """The attribute for a text such as `lr` or `val/loss:last`. Raises QueryError."""
    chunk = _Parser(text).chunk()
    end = _OPERATOR.search(_mask(chunk))
    length = end.start() if end else len(chunk)
    if length < len(text) or not chunk or chunk.startswith(":"):
        at = 0 if chunk.startswith(":") else length
        raise QueryError("expected a name such as lr or val/loss:last", at)
    return _attribute(chunk, 0)


class _Parser:
    """Parses a query from left to right, and raises QueryError at the first mistake."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[int] = []
        """The positions of the parentheses that are open."""
        self.at = 0

    def alternatives(self) -> Node:
        """Parses terms separated by `|`, up to a `)` or the end."""
        alternatives: list[Node] = []
        bar: int | None = None
        while True:
            terms: list[Node] = []
            while self._next_char() not in ("", "|", ")"):
                terms.append(self._term())
            if not terms:
                self._raise_nothing(bar)
            alternatives.append(terms[0] if len(terms) == 1 else And(tuple(terms)))
            if self._next_char() != "|":
                return alternatives[0] if bar is None else Or(tuple(alternatives))
            bar = self.at
            self.at += 1

    def _raise_nothing(self, bar: int | None) -> NoReturn:
        """Raises QueryError for a missing term; `bar` is the position of the last `|`."""
        char = self._text[self.at : self.at + 1]
        if bar is not None:
            raise QueryError("nothing after |", bar)
        if char == "|":
            raise QueryError("nothing before |", self.at)
        if not self._open:
            raise QueryError("unmatched )", self.at)
        raise QueryError("nothing in ( )" if char else "unclosed (", self._open[-1])

    def _term(self) -> Node:
        is_negated = False
        while self._text.startswith("-", self.at):
            following = self._text[self.at + 1 : self.at + 2]
            if following in ("", "|", ")", *_BLANK):
                raise QueryError("nothing after -", self.at)
            is_negated = not is_negated
            self.at += 1
        node = self._group() if self._text[self.at] == "(" else self._atom()
        return Not(node) if is_negated else node

    def _group(self) -> Node:
        if len(self._open) == MAX_DEPTH:
            raise QueryError("nested too deeply", self.at)
        self._open.append(self.at)
        self.at += 1
        inside = self.alternatives()
        start = self._open.pop()
        if not self._text.startswith(")", self.at):
            raise QueryError("unclosed (", start)
        self.at += 1
        return inside

    def _atom(self) -> Node:
        start = self.at
        if self._text[start : start + 3].lower() == "re:":
            return self._expression()
        if (compared := self._json()) is not None:
            return compared
        chunk = self.chunk()
        mask = _mask(chunk)
        if operator := _OPERATOR.search(mask):
            return _comparison(chunk, operator, start, self._text)
        lowered = mask.lower()
        for word, term in TERMS.items():
            if lowered == word or (lowered.startswith(word) and word[-1] in ":#"):
                return term(chunk[len(word) :], start + len(word))
        name = name_or_glob(chunk)
        return Word(name) if isinstance(name, str) else name

    def _json(self) -> Comparison | None:
        """Parses a comparison with a list or dict as it is printed, in which quotes are its own.

        None if there is none here, and nothing is parsed.
        """
        text, start = self._text, self.at
        found = _BEFORE_JSON.match(text, start)
        if found is None or (attribute := _attribute(found[1], start)).kind != "hparam":
            return None
        try:
            _, end = json.JSONDecoder().raw_decode(text, found.end())
        except (ValueError, RecursionError):
            return None
        if text[end : end + 1] not in ("", "|", ")", *_BLANK):
            return None
        self.at = end
        value, place = text[found.end() : end].lower(), Place(start, found.start(3), end)
        return Comparison(attribute, found[3].replace("==", "="), None, value, place)

    def chunk(self) -> str:
        """Parses the chunk that starts here, and returns it with its quotes."""
        start = self.at
        found = _CHUNK.match(self._text, start)
        assert found is not None  # It may be empty.
        self.at = found.end()
        chunk, char = found[0], self._text[self.at : self.at + 1]
        if char == '"':
            raise QueryError("unclosed quote", self.at)
        if char == "(" and _mask(chunk).lower().endswith((":at", ":change")):
            raise QueryError("unclosed (", self.at)
        return chunk

    def _expression(self) -> Expression:
        # 1. Find the end: the closing quote, or a blank, or a `)` without a `(` in the expression.
        # 2. Compile the expression, to check it.
        self.at += 3  # 1
        start = self.at
        if self._text.startswith('"', start):
            quoted = QUOTED.match(self._text, start)
            if quoted is None:
                raise QueryError("unclosed quote", start)
            pattern, self.at, start = unquoted(quoted[0]), quoted.end(), start + 1
        else:
            depth = 0
            while depth >= 0:
                self.at = _EXPRESSION.match(self._text, self.at).end()  # type: ignore[union-attr]
                char = self._text[self.at : self.at + 1]
                if char not in ("(", ")"):
                    break
                depth += 1 if char == "(" else -1
                self.at += depth >= 0
            pattern = self._text[start : self.at]
        from tbcore.patterns import InvalidPatternError, Matcher  # 30 ms, not when a server starts

        try:  # 2
            Matcher().search(ignoring_case(pattern), [])
        except InvalidPatternError as error:
            raise QueryError(error.reason, start) from None
        return Expression(pattern, start)

    def _next_char(self) -> str:
        """Skips blanks, and returns the character after them; "" at the end."""
        rest = self._text[self.at :]
        self.at += len(rest) - len(rest.lstrip(_BLANK))
        return self._text[self.at : self.at + 1]


def _comparison(chunk: str, found: re.Match[str], start: int, query: str) -> Comparison:
    operator, name, value = found[0], chunk[: found.start()], chunk[found.end() :]
    at, end = start + found.start(), start + len(chunk)
    if not name or not (value or name.startswith(":")):
        _raise_if_blanks(operator, query, at)
    if not name or name.startswith(":"):
        raise QueryError(f"nothing before {operator}", start)
    if not value:
        raise QueryError(f"nothing after {operator}", at)
    if operator[0] == "=" and value[0] in "<>":
        meant = Offer(start, end, f"{name}{value[0]}={value[1:]}")
        raise QueryError(f"write {value[0]}= instead of {operator}{value[0]}", at, meant)
    turned = None if query[:start].endswith("-") else _name_first(name, operator, value)
    if turned is not None:
        raise QueryError(f"write {turned}", start, Offer(start, end, turned))
    attribute = _attribute(name, start)
    value_at = start + found.end()
    number = read_number(value)
    if attribute.kind == "fact" and attribute.name != "step":
        duration = _DURATION.fullmatch(value)
        if duration is None:
            raise QueryError(f"expected a duration such as 2h after {operator}", value_at)
        number = float(duration[1]) * SECONDS[duration[2].lower()]
    elif number is None and (attribute.kind != "hparam" or operator[0] in "<>"):
        raise QueryError(f"expected a number after {operator}", value_at)
    normal = "=" if operator == "==" else operator
    return Comparison(attribute, normal, number, name_or_glob(value), Place(start, at, end))


def _raise_if_blanks(operator: str, query: str, at: int) -> None:
    """Raises QueryError if the operator at this position has operands, with blanks between."""
    after = at + len(operator)
    name = re.search(rf"({_OPERAND})[{_BLANK}]*\Z", query[:at])
    value = re.match(rf"[{_BLANK}]*({_OPERAND})", query[after:])
    if name and value:
        joined = name[1] + operator + value[1]
        offer = Offer(name.start(), after + value.end(), joined)
        raise QueryError(f"write it without blanks: {joined}", at, offer)


def _name_first(first: str, operator: str, rest: str) -> str | None:
    """`lr>3 lr<4` for `3<lr<4`, and `lr>3` for `3<lr`.

    None if the first operand is not a number, or the second one is not a name.
    """
    is_number = read_number(first) is not None or _DURATION.fullmatch(first)
    if operator not in _TURNED or not is_number:
        return None
    second = _OPERATOR.search(_mask(rest))
    name = rest[: second.start()] if second else rest
    if not name or read_number(name) is not None:
        return None
    if second is None:
        return f"{name}{_TURNED[operator]}{first}"
    last = rest[second.end() :]
    if second[0] not in _TURNED or not last or _OPERATOR.search(_mask(last)):
        return None
    return f"{name}{_TURNED[operator]}{first} {name}{second[0]}{last}"


def _attribute(text: str, start: int) -> Attribute:
    """The attribute that a chunk names; `start` is the chunk's position in the query."""
    name, colon, stat = text, "", ""
    if ":" in _mask(text):
        cut = _mask(text).rindex(":")
        name, colon, stat = text[:cut], ":", text[cut + 1 :]
    if not colon:
        is_fact = name.lower() in FACTS
        return Attribute("fact", name.lower()) if is_fact else Attribute("hparam", unquoted(name))
    at = start + len(name) + 1
    if stat.lower() in STATS:
        return Attribute("value", unquoted(name), stat.lower())
    found = re.fullmatch(r"(at|change)\(([^)]*)\)", stat.lower())
    if found is None:
        known = f"{', '.join(STATS)}, at(STEP) or change(STEPS)"
        raise QueryError(f"unknown statistic '{stat}'; expected {known}", at)
    step, least = read_number(found[2].strip(_BLANK)), 1 if found[1] == "change" else -MAX_STEP
    if step is None or not least <= step <= MAX_STEP or step != int(step):
        what = "a step" if found[1] == "at" else "a number of steps"
        raise QueryError(f"expected {what} in {found[1]}( )", at)
    return Attribute("value", unquoted(name), found[1], int(step))


def _mask(chunk: str) -> str:
    """The chunk's mask; see the docstring of the module."""
    return MASKED.sub(lambda found: '"' * len(found[0]), chunk)
