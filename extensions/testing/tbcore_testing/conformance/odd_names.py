"""Names of runs and tags that are hard to handle: markup, paths, quotes, inherited members."""

from __future__ import annotations

MARKUP = "<img src=x onerror=\"document.body.id='tbcore-markup'\"><b id=tbcore-markup>b</b>"
"""Markup that adds an element with the id `tbcore-markup` to a page that uses it as HTML."""

ODD_TAGS = [
    MARKUP,
    "a/b/c/d/e",
    "../../../../etc/passwd",
    "..",
    "/",
    "//double//",
    "quotes \"'`",
    "percent %41%2F%00%",
    "query?run=x&tag=y#z",
    "plus + and space",
    "back\\slash",
    "new\nline\ttab",
    "nul\x00byte",
    "${7*7} {{7*7}}",
    "__proto__",
    "constructor",
    "toString",
    "名前 ñ é عربى 🙂",
    "\u202eright to left",
    "\u00e9 is not e\u0301",  # They look the same.
    " ",
    "long " + 2000 * "x",
]
ODD_RUNS = [
    "<b id=tbcore-markup>",
    "quotes \"'`",
    "percent %41%2F%",
    "query?run=x&tag=y#z",
    "名前 ñ 🙂",
    "...",
    "__proto__",
    "deep/below/other/runs",
    "new\nline",
    200 * "x",
]
"""Names of runs. Runs are directories, so a `/` in a name separates two directories."""

INHERITED_NAMES = [
    *("constructor", "toString", "__proto__", "valueOf", "hasOwnProperty", "isPrototypeOf"),
    *("toLocaleString", "propertyIsEnumerable", "length", "map", "forEach", "at"),
    *("get", "set", "has", "size", "keys", "values", "entries", "toJSON"),
]
"""Members that JavaScript's objects, arrays and maps inherit; names of runs, sections and tags.

An object that is used as a map has them although nobody added them."""
