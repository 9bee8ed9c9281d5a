"""Print how programs ask about runs: `tbcore help agents`."""

from __future__ import annotations

from pathlib import Path

import click

from tbcore.engine import Command


@click.command("help", cls=Command, short_help=__doc__)
@click.argument("topic", type=click.Choice(["agents"]))
def help_(*, topic: str) -> int:
    """Print a text for programs and language models that ask about runs, with twenty questions."""
    click.echo(Path(__file__).with_name(f"{topic}.md").read_text(encoding="utf-8"), nl=False)
    return 0
