"""Adapts mkdocs to this repository; `mkdocs.yml` names this file.

Pages keep their paths in the repository, and files outside `docs/` are pages too. So each relative
link works on the site as it does on a code host, and no text exists twice.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a test uses this file without mkdocs
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent

PAGES = (
    "*.md",
    "LICENSE",
    "docs/*.md",
    "docs/*.css",
    "docs/*.svg",
    "docs/pictures/*.png",
    "docs/examples/*/README.md",
    "plugins/*/*.md",
    "extensions/*/*.md",
    "extensions/logs/tbcore_logs/commands/agents.md",
    "benchmarks/README.md",
)
"""Patterns of the site's files: pages, and the files that they link to."""


def anchor(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, in the form that code hosts use."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def site_files() -> list[Path]:
    """All files that match `PAGES`, sorted by path."""
    return sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})


def on_config(config: MkDocsConfig) -> None:
    """Gives headings the anchors that links use."""
    config.mdx_configs["toc"]["slugify"] = anchor


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the theme, and those of the repository with their paths there."""
    from mkdocs.structure.files import File, Files

    theme_files = [file for file in files if file.src_dir != config.docs_dir]
    repository_files = [
        File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path))
        for path in site_files()
    ]
    return Files([*theme_files, *repository_files])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page without what only readers on a code host need.

    mkdocs does not know the file name in ```` ```python file=NAME ````, and the site has no dark
    theme, so a dark picture would not match it.
    """
    markdown = re.sub(r"^(```\w+) file=\S+$", r"\1", markdown, flags=re.MULTILINE)
    return re.sub(
        r'^ *<source media="\(prefers-color-scheme: dark\)".*\n', "", markdown, flags=re.M
    )
