"""The order of names: numbers in them are numbers. tbcore/web/lib/address.js is the same for the
page, and tests/names.json has what both must do.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from typing import Any

_DECIMAL = re.compile(r"(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3})(?![\da-z]))?", re.ASCII | re.IGNORECASE)
_VERSION = re.compile(r"\d+(?:\.\d+){2}", re.ASCII)
_IN_VERSION = re.compile(r"(?:\d\.|(?<![a-z])v)\Z", re.ASCII | re.IGNORECASE)
"""The end of a text after which a number is a part of a version: `1.`, or a separate `v`."""


_FIRST = [
    re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.ASCII | re.IGNORECASE)
    for words in ("loss|losses", "acc|accuracy", "val|valid|validation|eval")
]


def tag_rank(tag: str) -> int:
    """What most readers look at first has the lowest rank: losses, then accuracies.

    tbcore/web/lib/text-names.js has the same words for the page.
    """
    ranks = (rank for rank, words in enumerate(_FIRST) if words.search(tag))
    return next(ranks, len(_FIRST))


def default_tags(num_runs: Counter[str]) -> list[str]:
    """The three tags that most runs have; of equally many, what most readers look at first, since
    writers of CSV and others begin with an epoch or a learning rate."""
    common = num_runs.most_common(1000)
    return [tag for tag, _ in sorted(common, key=lambda item: (-item[1], tag_rank(item[0])))[:3]]


def name_key(name: str) -> list[tuple[Any, ...]]:
    """A key that sorts names in natural order, in which children follow their parent.

    lr0.001 < lr0.005 < lr0.01, v1.9 < v1.10, 1.9.0 < 1.10.0, lr1e-4 < lr5e-4 < lr1e-3
    """
    if not name.isascii():  # As in JavaScript, a character above U+FFFF is two.
        name = "".join(map(chr, array("H", name.encode("utf-16", "surrogatepass"))[1:]))
    return [(_parts(segment), segment) for segment in name.split("/")]


def _parts(segment: str) -> list[tuple[Any, ...]]:
    """The characters and the numbers of a path segment; among characters, a number is a digit."""
    parts: list[tuple[Any, ...]] = []
    at = 0
    while at < len(segment):
        decimal = _DECIMAL.match(segment, at)
        if decimal is None:
            parts.append((ord(segment[at]),))
            at += 1
            continue
        whole, fraction, exponent = decimal.groups("")
        if _VERSION.match(segment, at) or _IN_VERSION.search(segment[max(0, at - 2) : at]):
            fraction = exponent = ""
            at += len(whole)
        else:
            at = decimal.end()
        significant = (whole + fraction).lstrip("0")
        power = len(significant) - len(fraction) + int(exponent or 0)
        # 0.DIGITS * 10 ** power
        number = (power, significant.rstrip("0")) if significant else (-float("inf"), "")
        parts.append((ord("0"), *number))
    return parts
