"""Markdown: converts untrusted markdown to a tree of harmless elements.

The content of a log is not trusted, so none of its HTML is passed on. Parsed markdown becomes
elements from a fixed list, with a few allowed attributes, and everything else stays text. The front
end creates DOM elements from the tree; `to_html` serializes it for clients that need HTML.

HTML tags in the text are accepted if they are on the list, since people log `<br>` and `<pre>`. Any
other tag, such as a tokenizer's `<unk>`, is shown as text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape, unescape
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Node = str | list[Any]
"""A text, or an element as [tag, attributes, child nodes]. This is also the JSON form."""
Nodes = list[Node]
Attributes = dict[str, str]

MAX_LENGTH = 30_000
"""Maximum number of characters to parse. In the worst case the parser takes 0.1 ms for each."""
MAX_NODES = 20_000
"""Maximum number of nodes, since a table with many columns can have more cells than characters."""
_MAX_DEPTH = 40
"""Maximum nesting of elements. Deeper elements are dropped, and their content is kept."""

_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
"""Matches allowed links. Relative links are not allowed: they would point to this server."""

_NAMES = """
a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol
p pre samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
_TAGS = frozenset(_NAMES.split())
"""Elements accepted as HTML tags. None of them loads or runs anything, or affects other elements.

`s` is missing, because `<s>` is a token of many language models.
"""
_VOID = frozenset({"br", "hr"})
"""Elements that have neither content nor an end tag."""
_TAG = r"<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*)(?P<rest>(?:[\s/][^<>]*)?)>"
_HTML = re.compile(rf"(?P<comment><!--.*?-->)|{_TAG}", re.DOTALL)
"""Matches a comment or a tag."""
_HTML_AFTER_COMMENTS = re.compile(rf"(?P<comment>(?!))|{_TAG}")
"""The same groups as in _HTML, but `comment` never matches."""
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_ALIGN = re.compile(r"text-align:(left|center|right)")

_PLAIN = re.compile(r"[^\W_](?:\w| (?=[^\W_]))*|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
"""Matches a few words or a number, which cannot contain markdown. Most table cells match."""


def to_nodes(sources: Sequence[str]) -> list[Nodes] | None:
    """The nodes of each text; None if all texts together are too long or have too many nodes."""
    if sum(map(len, sources)) > MAX_LENGTH:
        return None
    result: list[Nodes] = []
    num_left = MAX_NODES
    for source in sources:
        if _PLAIN.fullmatch(source):
            result.append([["p", {}, [source]]])
            continue
        tree = _Tree(num_left)
        _add(tree, _parser().parse(source))
        if tree.num_left < 0:
            return None
        num_left = tree.num_left
        result.append(tree.nodes)
    return result


def to_html(nodes: Iterable[Node]) -> str:
    """The nodes as HTML that is safe to insert into a page."""
    return "".join(
        escape(node, quote=False) if isinstance(node, str) else _element(*node) for node in nodes
    )


def _element(tag: str, attributes: Attributes, children: Nodes) -> str:
    names = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    if tag in _VOID:
        return f"<{tag}{names}>"
    return f"<{tag}{names}>{to_html(children)}</{tag}>"


class _Open(NamedTuple):
    """An element that has not been closed yet."""

    tag: str
    is_html: bool
    """Whether it was written as an HTML tag, whose end tag may be missing or misplaced."""
    children: Nodes
    num_dropped: Counter[str]
    """Maps a tag to the number of open HTML elements inside this one that were too deep."""


class _Tree:
    """Builds the tree from start and end tags.

    Tags from markdown are balanced; tags written as HTML need not be.
    """

    def __init__(self, num_left: int) -> None:
        self.nodes: Nodes = []
        self.num_left = num_left
        """How many more nodes may be added; negative if there were too many."""
        self._open = [_Open("", False, self.nodes, Counter())]
        """The open elements, outermost first."""

    def text(self, text: str) -> None:
        """Adds a text to the innermost open element."""
        if text:
            self._append(text)

    def leaf(self, tag: str, *children: Node, attributes: Attributes | None = None) -> None:
        """Adds a complete element to the innermost open element."""
        self._append([tag, attributes or {}, list(children)])

    def start(self, tag: str, attributes: Attributes, *, is_html: bool = False) -> None:
        """Opens an element. If it is too deep, its content is added to the element around it."""
        children = self._open[-1].children
        if len(self._open) < _MAX_DEPTH:
            inside: Nodes = []
            self._append([tag, attributes, inside])
            children = inside
        elif is_html:
            self._open[-1].num_dropped[tag] += 1
            return
        self._open.append(_Open(tag, is_html, children, Counter()))

    def end(self, tag: str, *, is_html: bool = False) -> None:
        """Closes the innermost open element with this tag, and all elements inside it."""
        if is_html and self._open[-1].num_dropped[tag]:
            self._open[-1].num_dropped[tag] -= 1
            return
        # An end tag from markdown closes all HTML elements inside its own. An HTML end tag is
        # ignored if it would have to close an element from markdown.
        i = len(self._open) - 1
        while i > 0 and self._open[i].is_html and not (is_html and self._open[i].tag == tag):
            i -= 1
        if i > 0 and self._open[i].is_html == is_html:
            del self._open[i:]

    def _append(self, node: Node) -> None:
        self.num_left -= 1
        if self.num_left >= 0:
            self._open[-1].children.append(node)


def _add(tree: _Tree, tokens: Iterable[Token]) -> None:
    """Adds the parser's tokens to the tree."""
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
                # A link, because loading the image would reveal to its server who reads this log.
                source = str(token.attrs.get("src", ""))
                tree.leaf("a", f"image: {token.content or source}", attributes=_href(source))
            case _ if token.nesting > 0:
                if not token.hidden:
                    tree.start(token.tag, _attributes(token))
            case _ if token.nesting < 0:
                if not token.hidden:
                    tree.end(token.tag)
            case _:
                tree.text(token.content)


def _attributes(token: Token) -> Attributes:
    """The allowed attributes of an element from markdown."""
    attributes = _href(str(token.attrs.get("href", "")))
    if "start" in token.attrs:
        attributes["start"] = str(token.attrs["start"])
    if align := _ALIGN.match(str(token.attrs.get("style", ""))):
        attributes["align"] = align[1]
    return attributes


def _add_html(tree: _Tree, content: str) -> None:
    """Adds text that contains HTML: accepted tags as elements, everything else as text."""
    at = 0
    # Do not search for comments after the last `-->`: the search would continue to the end of the
    # text from every `<!--`, which takes quadratic time.
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
            # As in HTML, a line break directly after `<pre>` is ignored.
            at += tag == "pre" and content.startswith("\n", at)
    tree.text(unescape(content[at:]))


def _link(attributes: str) -> Attributes:
    """The allowed attributes of an `<a>` that was written as HTML."""
    found = _HREF.search(attributes)
    url = unescape(next(filter(None, found.groups()), "")) if found else ""
    return _href(url)


def _href(url: str) -> Attributes:
    """An `href` if the URL is allowed. An empty one is not: it would be a link to this page."""
    return {"href": url} if _ABSOLUTE.match(url) else {}


@cache
def _parser() -> MarkdownIt:
    """The parser, which has no state between texts, so threads can share it."""
    # Imported here to keep server starts fast, since most never render any text.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _ABSOLUTE.match(url) is not None  # type: ignore[method-assign]
    return parser
