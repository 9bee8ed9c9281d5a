"""Markdown as a tree of harmless elements.

Anybody may have written what is in a log. So no HTML is taken over from it: what the parser finds
becomes elements of a short list, with attributes of a shorter one, and everything else stays the
text that it is. The page makes elements of the tree; `to_html` writes it for clients that want
HTML.

HTML in a text is understood as far as it makes no more than such elements: people log `<br>` and
`<pre>`. A tag that is none of these, such as the `<unk>` of a tokenizer, is shown as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape, unescape
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Node = str | list[Any]
"""A text, or an element: [tag, attributes, child nodes]. The same as JSON."""
Nodes = list[Node]
Attributes = dict[str, str]

MAX_LENGTH = 30_000
"""Characters that are read as markdown: some take the parser a tenth of a millisecond each."""
MAX_NODES = 20_000
"""A table with many columns can have far more cells than characters."""
_MAX_DEPTH = 40
"""Elements inside each other. What is deeper is drawn flat."""

_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
"""Links that go where they say. Relative ones would be addresses of this server."""

_NAMES = """
a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol
p pre samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
_TAGS = frozenset(_NAMES.split())
"""Elements that may be written as HTML: none loads or runs anything, or changes what is around
it. Not `s`: language models have a token of that name."""
_VOID = frozenset({"br", "hr"})
_TAG = r"<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*)(?P<rest>(?:[\s/][^<>]*)?)>"
_HTML = re.compile(rf"(?P<comment><!--.*?-->)|{_TAG}", re.DOTALL)
_HTML_AFTER_COMMENTS = re.compile(rf"(?P<comment>(?!))|{_TAG}")
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_ALIGN = re.compile(r"text-align:(left|center|right)")

_PLAIN = re.compile(r"[^\W_](?:\w| (?=[^\W_]))*|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
"""A few words or a number, as most cells of tables are: nothing that markdown could mean."""


def to_nodes(sources: Sequence[str]) -> list[Nodes] | None:
    """What each text says, as nodes; None when they are too long together, or have too many."""
    if sum(map(len, sources)) > MAX_LENGTH:
        return None
    made: list[Nodes] = []
    num_left = MAX_NODES
    for source in sources:
        if _PLAIN.fullmatch(source):
            made.append([["p", {}, [source]]])
            continue
        tree = _Tree(num_left)
        _add(tree, _parser().parse(source))
        if tree.num_left < 0:
            return None
        num_left = tree.num_left
        made.append(tree.nodes)
    return made


def to_html(nodes: Iterable[Node]) -> str:
    """HTML of nodes, which a page can use as it is."""
    return "".join(
        escape(node, quote=False) if isinstance(node, str) else _element(*node) for node in nodes
    )


def _element(tag: str, attributes: Attributes, children: Nodes) -> str:
    names = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    if tag in _VOID:
        return f"<{tag}{names}>"
    return f"<{tag}{names}>{to_html(children)}</{tag}>"


class _Open(NamedTuple):
    """An element that has not ended."""

    tag: str
    is_html: bool  # written as HTML in the text: it may end anywhere, or never
    children: Nodes


class _Tree:
    """Nodes as they come, from a parser whose own elements end where they should."""

    def __init__(self, num_left: int) -> None:
        self.nodes: Nodes = []
        self.num_left = num_left
        self._open = [_Open("", False, self.nodes)]

    def text(self, text: str) -> None:
        if text:
            self._append(text)

    def leaf(self, tag: str, *children: Node, attributes: Attributes | None = None) -> None:
        self._append([tag, attributes or {}, list(children)])

    def start(self, tag: str, attributes: Attributes, *, is_html: bool = False) -> None:
        children = self._open[-1].children
        if len(self._open) < _MAX_DEPTH:
            inside: Nodes = []
            self._append([tag, attributes, inside])
            children = inside
        elif is_html:
            return
        self._open.append(_Open(tag, is_html, children))

    def end(self, tag: str, *, is_html: bool = False) -> None:
        at = len(self._open) - 1
        while at > 0 and self._open[at].is_html and not (is_html and self._open[at].tag == tag):
            at -= 1
        if at > 0 and self._open[at].is_html == is_html:
            del self._open[at:]

    def _append(self, node: Node) -> None:
        self.num_left -= 1
        if self.num_left >= 0:
            self._open[-1].children.append(node)


def _add(tree: _Tree, tokens: Iterable[Token]) -> None:
    for token in tokens:
        match token.type:
            case "inline":
                _add(tree, token.children or ())
            case "softbreak":
                tree.text("\n")
            case "hardbreak" | "hr":
                tree.leaf("br" if token.type == "hardbreak" else "hr")
            case "code_inline":
                tree.leaf("code", token.content)
            case "code_block" | "fence":
                tree.leaf("pre", ["code", {}, [token.content]])
            case "html_inline" | "html_block":
                _add_html(tree, token.content)
            case "image":
                # To load it would tell its server who reads this log, and when.
                source = str(token.attrs.get("src", ""))
                tree.leaf("a", f"image: {token.content or source}", attributes=_leading_to(source))
            case _ if token.nesting > 0:
                if not token.hidden:
                    tree.start(token.tag, _attributes(token))
            case _ if token.nesting < 0:
                if not token.hidden:
                    tree.end(token.tag)
            case _:
                tree.text(token.content)


def _attributes(token: Token) -> Attributes:
    attributes = _leading_to(str(token.attrs.get("href", "")))
    if "start" in token.attrs:
        attributes["start"] = str(token.attrs["start"])
    if align := _ALIGN.match(str(token.attrs.get("style", ""))):
        attributes["align"] = align[1]
    return attributes


def _add_html(tree: _Tree, content: str) -> None:
    at = 0
    # Behind the last end of a comment none is looked for: each beginning would be followed to the
    # end of the text.
    last = content.rfind("-->") + len("-->") if "-->" in content else 0
    tags = chain(_HTML.finditer(content, 0, last), _HTML_AFTER_COMMENTS.finditer(content, last))
    for found in tags:
        tree.text(unescape(content[at : found.start()]))
        at = found.end()
        if found["comment"]:
            continue
        tag = found["tag"].lower()
        if tag not in _TAGS:
            tree.text(found[0])
        elif tag in _VOID:
            tree.leaf(tag)
        elif found["end"]:
            tree.end(tag, is_html=True)
        else:
            tree.start(tag, _link(found["rest"]) if tag == "a" else {}, is_html=True)
            # As in HTML, the line that `<pre>` stands in is none of its own.
            at += tag == "pre" and content.startswith("\n", at)
    tree.text(unescape(content[at:]))


def _link(attributes: str) -> Attributes:
    found = _HREF.search(attributes)
    address = unescape(next(filter(None, found.groups()), "")) if found else ""
    return _leading_to(address)


def _leading_to(address: str) -> Attributes:
    # The parser takes none for an address, too, and that would be this very page.
    return {"href": address} if _ABSOLUTE.match(address) else {}


@cache
def _parser() -> MarkdownIt:
    """It keeps nothing between two texts, so threads may share it."""
    # A server starts more often than somebody looks at texts.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _ABSOLUTE.match(url) is not None  # type: ignore[method-assign]
    return parser
