"""bundles: WebAssembly for tests of pages, and a new plugin whose script a bundler writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

WASM = bytes.fromhex(
    "0061736d01000000"  # the header
    "01070160027f7f017f"  # a type: two int32, to one
    "03020100"  # a function of it
    "070701036164640000"  # exported as `add`
    "0a09010700200020016a0b"  # its code
)
"""A WebAssembly module whose function `add` adds two numbers."""


def move_to_src(project: Path, package: str) -> list[str]:
    """Does what the comment in the template's script says; returns its command for a bundler.

    The script is in `src/` then, and `static/` has none.
    """
    script = project / package / "static" / "index.js"
    text = script.read_text(encoding="utf-8")
    source = project / "src" / "index.js"
    source.parent.mkdir()
    source.write_text(
        text.replace('../../tbcore/frame.js";', 'tbcore/frame.js";'), encoding="utf-8"
    )
    script.unlink()
    config = project / "tsconfig.json"
    include = re.sub(r'"include": \[.*\]', '"include": ["src"]', config.read_text(encoding="utf-8"))
    config.write_text(include, encoding="utf-8")
    [command] = re.findall(r"^ \*     (npx esbuild (?:.*\\\n \*)?.*)$", text, re.MULTILINE)
    return shlex.split(command.replace("\\\n *", " "))
