"""The core stays small: what is neither core nor dashboard belongs in `extensions/`."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "tbcore"

MAX_CODE_LINES = 12_098
"""A feature that needs more says in its commit why the core must have it."""
MAX_MODULES = 118
MAX_MODULE_LINES = 449

_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def code_lines(source: str) -> int:
    """The number of lines that are neither blank, comment, docstring nor import."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        is_text = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            skipped.update(range(node.lineno, (node.end_lineno or 0) + 1))
    kept: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            kept.update(range(token.start[0], token.end[0] + 1))
    return len(kept - skipped)


def sources() -> dict[str, str]:
    """The modules of the core, without those that protoc generates."""
    return {
        path.relative_to(CORE).as_posix(): path.read_text(encoding="utf-8")
        for path in CORE.rglob("*.py")
        if not path.name.endswith("_pb2.py")
    }


def test_lines_of_code_are_counted() -> None:
    source = '"""Docstring."""\n\nimport a\n\n# Comment.\nX = (\n    1,\n)\n"""Text."""\n'
    assert code_lines(source) == 3


def test_the_core_is_no_larger() -> None:
    found = sources()
    assert sum(map(code_lines, found.values())) <= MAX_CODE_LINES
    assert len(found) <= MAX_MODULES


def test_no_module_is_too_long() -> None:
    """A module is split where its subject splits."""
    lines = {name: source.count("\n") for name, source in sources().items()}
    assert {name: n for name, n in lines.items() if n > MAX_MODULE_LINES} == {}
