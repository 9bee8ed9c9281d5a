"""bundles: makes a new plugin of the kind `page` one whose script a bundler writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path


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
