"""Markdown becomes elements from a fixed list, and nothing that loads or runs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tbcore_text.markdown import MAX_LENGTH, Nodes, to_html, to_nodes


def nodes(source: str) -> Nodes:
    parsed = to_nodes([source])
    assert parsed is not None
    return parsed[0]


def html(source: str) -> str:
    return to_html(nodes(source))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", ""),
        ("two words", "<p>two words</p>"),
        ("-1.5e-7", "<p>-1.5e-7</p>"),
        (
            "*a* **b** `c<d` ~~e~~",
            "<p><em>a</em> <strong>b</strong> <code>c&lt;d</code> <s>e</s></p>",
        ),
        ("a\nb  \nc", "<p>a\nb<br>c</p>"),
        ("# T\n\n- x\n- y", "<h1>T</h1><ul><li>x</li><li>y</li></ul>"),
        ("3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>'),
        ("```py\nif a < b:\n```", "<pre><code>if a &lt; b:\n</code></pre>"),
        ("> q\n\n***", "<blockquote><p>q</p></blockquote><hr>"),
        (
            "|a|b|\n|-|-:|\n|1|2|",
            '<table><thead><tr><th>a</th><th align="right">b</th></tr></thead>'
            '<tbody><tr><td>1</td><td align="right">2</td></tr></tbody></table>',
        ),
        (
            "[t](https://example.org/?a=1&b)",
            '<p><a href="https://example.org/?a=1&amp;b">t</a></p>',
        ),
        ("a<br>b<BR/>c", "<p>a<br>b<br>c</p>"),
        ("<pre>\n x < y &amp; z\n</pre>", "<pre> x &lt; y &amp; z\n</pre>"),
        ("<b>a *b*</b>", "<p><b>a <em>b</em></b></p>"),
        ('<a href="https://example.org">a</a>', '<p><a href="https://example.org">a</a></p>'),
        ("a <!-- b --> c", "<p>a  c</p>"),
        # Tags that are not on the list stay text.
        ("a<s>[INST] <unk> <|end|>", "<p>a&lt;s&gt;[INST] &lt;unk&gt; &lt;|end|&gt;</p>"),
        ("a <x-y z='1'>", "<p>a &lt;x-y z='1'&gt;</p>"),
        ("<unk>", "&lt;unk&gt;"),
        # HTML end tags do not close elements of markdown.
        ("a</td></table>b", "<p>ab</p>"),
        ("*a <b>b* c</b>", "<p><em>a <b>b</b></em> c</p>"),
        ("<div>\n\na\n\n</div>\n\nb", "<div>\n<p>a</p></div>\n<p>b</p>"),
    ],
)
def test_the_html_of_a_text(source: str, expected: str) -> None:
    assert html(source) == expected


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![a](https://example.org/a.png)",
    "![a][b]\n\n[b]: https://example.org/a.png",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x)",
    "[a](//example.org)",
    "[a](../data/runs)",
    "<javascript:alert(1)>",
    '<a href="javascript:alert(1)">a</a>',
    '<a href=" jav&#x61;script:alert(1)">a</a>',
    "<a href='&#1;javascript:alert(1)'>a</a>",
    '<a href="https://example.org" onclick="alert(1)" style="x" target=y>a</a>',
    '<p style="position:fixed" onmouseover="alert(1)">a</p>',
    "<svg><style><!--</style><img src=x onerror=alert(1)>--></svg>",
    "<math><mtext></p><style><a id='</style><img src onerror=alert(1)>'>",
    "<iframe src=https://example.org></iframe><object data=x><embed src=x>",
    "<form action=https://example.org><input><button>a</button></form>",
    "<link rel=stylesheet href=//example.org><meta http-equiv=refresh content=0><base href=//x>",
    "<style>*{display:none}</style>",
    "<b\nonclick=alert(1)>a",
    "<b/onclick=alert(1)>a",
    "[a](https://example.org \"' onclick=alert(1) x='\")",
    "`<script>`\n\n    <script>alert(1)</script>\n\n```<script>\n<script>\n```",
    "<!-- --!><script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]><?php <script> ?><!DOCTYPE a [<script>]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<<b>script>alert(1)<</b>/script>",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_nothing_loads_or_runs(source: str) -> None:
    """Everything between < and > is an allowed element, with no attribute but an absolute link."""
    result = html(source)
    allowed = r'</?(?:p|b|s|br|pre|code|em|div)>|</a>|<a(?: href="https://[^"<>]*")?>'
    assert re.sub(allowed, "", result).count("<") == 0, result
    assert "onclick" not in re.sub(r">[^<]*<", "><", result)


def test_the_tree_contains_only_allowed_elements_and_attributes() -> None:
    def elements(tree: Nodes) -> list[tuple[str, tuple[str, ...]]]:
        return [
            each
            for node in tree
            if isinstance(node, list)
            for each in [(node[0], tuple(node[1])), *elements(node[2])]
        ]

    found = {each for source in HOSTILE for each in elements(nodes(source))}

    assert {name for _, names in found for name in names} <= {"href"}
    assert {tag for tag, _ in found} <= {"p", "b", "s", "br", "pre", "code", "em", "div", "a"}


@pytest.mark.parametrize(
    "source",
    ["<b>" * 9000, "> " * 9000, "*a **b " * 3000, "- " * 9000, "<ul><li>" * 3000, "</b>" * 7000],
)
def test_the_depth_of_the_tree_is_limited(source: str) -> None:
    """Browsers and JSON parsers fail at some depth."""
    result = json.dumps(nodes(source))

    depth = np.cumsum([(char == "[") - (char == "]") for char in result])
    assert 0 < depth.max() < 200


def test_the_end_tag_of_a_dropped_element_closes_no_other() -> None:
    """An element around the dropped one may have the same tag."""
    deep = "<i>" * 37
    source = f"<b>a{deep}<b><u>b</b>c</u>d</b>e"

    assert html(source) == f"<p><b>a{deep}bcd{'</i>' * 37}</b>e</p>"


def test_texts_that_are_too_long_are_not_parsed() -> None:
    """A long text, several that are too long together, a table with more cells than characters."""
    assert to_nodes(["a. " * (MAX_LENGTH // 3 + 1)]) is None
    assert to_nodes(["a" * MAX_LENGTH, "b"]) is None
    assert to_nodes(["|a" * 500 + "\n" + "|-" * 500 + "\n" + "|\n" * 500]) is None
    assert to_nodes(["a" * MAX_LENGTH]) is not None
