"""What mkdocs does otherwise for this repository; `mkdocs.yml` names this file.

Pages keep the paths that they have in the repository, and those outside of `docs/` are pages too.
So each relative link leads to the same place on the site as on a code host, and no text is there
twice.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a test uses this file where mkdocs is not installed
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent

PAGES = (
    "*.md",
    "LICENSE",
    "docs/*.md",
    "docs/*.css",
    "docs/*.svg",
    "docs/examples/*/README.md",
    "plugins/*/*.md",
    "benchmarks/README.md",
)
"""The files of the site, pages and what they link to."""


def anchor(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def site_files() -> list[Path]:
    """All files of `PAGES`, by path."""
    return sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})


def on_config(config: MkDocsConfig) -> None:
    """Gives headings the anchors that links use."""
    config.mdx_configs["toc"]["slugify"] = anchor


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the theme, and ours with their paths in the repository."""
    from mkdocs.structure.files import File, Files

    theirs = [file for file in files if file.src_dir != config.docs_dir]
    ours = [
        File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path))
        for path in site_files()
    ]
    return Files([*theirs, *ours])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text without the names of files after ``` and a language, which mkdocs does not know."""
    return re.sub(r"^(```\w+) file=\S+$", r"\1", markdown, flags=re.MULTILINE)
