"""Print the line that makes a shell complete commands and names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tbcore.engine import Command
from tbcore_logs.commands.offers import Typed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The scripts run this command with the words of the command line. It prints a line for each offer:
# `=` and the word, or `dir` or `file` for what the shell itself has to find.
SCRIPTS = {
    "bash": """\
_tbcore() {
    local offer
    COMPREPLY=()
    while IFS= read -r offer; do
        case $offer in
            '='*) COMPREPLY+=("${offer:1}") ;;
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
        esac
    done < <(tbcore completion bash -- "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
}
complete -o nosort -F _tbcore tbcore
""",
    "zsh": """\
_tbcore() {
    local offer
    local -a typed values
    (( CURRENT > 2 )) && typed=("${(@Q)words[2,CURRENT-1]}")
    [[ -n $compstate[quote] ]] && typed+=("$PREFIX") || typed+=("${(Q)PREFIX}")
    for offer in "${(@f)$(tbcore completion zsh -- "${(@)typed}" 2>/dev/null)}"; do
        case $offer in
            '='*) values+=("${offer#=}") ;;
            dir) _files -/ ;;
            file) _files ;;
        esac
    done
    compadd -U -V offers -a values
}
compdef _tbcore tbcore
""",
    "fish": """\
function _tbcore
    for offer in (tbcore completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
        switch $offer
            case '=*'
                string sub -s 2 -- $offer
            case dir
                __fish_complete_directories (commandline -ct)
            case file
                __fish_complete_path (commandline -ct)
        end
    end
end
complete -c tbcore -f -k -a '(_tbcore)'
""",
}


@click.command(cls=Command, short_help=__doc__)
@click.argument("shell", type=click.Choice(list(SCRIPTS)), metavar="bash|zsh|fish")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.pass_context
def completion(context: click.Context, *, shell: str, words: tuple[str, ...]) -> int:
    """Print a script for a shell, which then completes commands, options, and names in logs.

    The script is for the shell's start file: eval "$(tbcore completion bash)", the same with zsh,
    or `tbcore completion fish | source`. With WORDs, which only the script passes, print what may
    stand in place of the last one.
    """
    if not words:
        click.echo(SCRIPTS[shell], nl=False)
        return 0
    if shell == "bash":
        if len(words) != 2:
            raise click.UsageError("expected the line and the word of Readline", context)
        line, readline_word = words
        *before, last = _split(line)
        offers = _offers(context, [word.text for word in before[1:]], last.text)
        # Readline replaces only the end of a word: what follows a quote, a colon or an equals sign.
        kept = last.typed.removesuffix(readline_word)
        start = _split(kept)[-1]
        ends = [(o.type, o.value.removeprefix(start.text)) for o in offers]
        printed = [(kind, _in_bash(end, start.quote)) for kind, end in ends]
    else:
        last_text = _split(words[-1])[-1].text if shell == "fish" else words[-1]
        offers = _offers(context, list(words[:-1]), last_text)
        printed = [(offer.type, offer.value) for offer in offers]
    for kind, text in dict.fromkeys(printed):
        # Names with control characters cannot be offered.
        if text.isprintable():
            click.echo(f"={text}" if kind == "plain" else kind)
    return 0


def _offers(context: click.Context, words: list[str], last: str) -> list[CompletionItem[str]]:
    """The words that may stand in place of the last one, which is incomplete."""
    from click.shell_completion import CompletionItem, ShellComplete

    def offers(last: str, value: str = "") -> list[CompletionItem[str]]:
        typed = Typed(has_separator="--" in words, value=value)
        root = context.find_root()
        if isinstance(root.command, click.Group) and not words and not last.startswith("-"):
            # Click would import all commands, to leave out hidden ones.
            names = root.command.list_commands(root)
            return [CompletionItem(name) for name in names if name.startswith(last)]
        # With a parent, it does not search for the commands of extensions again.
        shared = {"obj": typed, "parent": root}
        return ShellComplete(root.command, shared, "tbcore", "").get_completions([*words], last)

    if words and words[-1].startswith("--") and words[-1] != "--" and last.startswith("-"):
        # Click would offer options, but this may be the value of one.
        found = [offer for offer in offers("", last) if offer.value.startswith(last)]
        if found:
            return found
    found = offers(last)
    option, has_value, _ = last.partition("=")
    if has_value and option.startswith("--") and "--" not in words:
        for offer in found:
            offer.value = f"{option}={offer.value}"
    return found


@dataclass
class _Word:
    """A word of a command line."""

    typed: str = ""
    text: str = ""
    """Without quotes and backslashes."""
    quote: str = ""
    """The quote that is open at its end; else ""."""


_PART = re.compile(
    r"""\\(?P<escaped>.|\Z) | '(?P<single>[^']*)(?P<single_end>'|\Z)
    | "(?P<double>(?:\\.|[^"\\])*)\\?(?P<double_end>"|\Z) | (?P<plain>[^\s\\'"]+) | \s+""",
    re.VERBOSE | re.DOTALL,
)
"""A part of a word, or what stands between two words."""


def _split(line: str) -> list[_Word]:
    """The words of the start of a command line. The last one is incomplete, and may be empty."""
    words = [_Word()]
    for part in _PART.finditer(line):
        kind, word = part.lastgroup, words[-1]
        if kind is None:
            words.append(_Word())
            continue
        word.typed += part[0]
        word.quote = {"single_end": "'", "double_end": '"'}.get(kind, "") if not part[kind] else ""
        word.text += part["escaped"] or part["single"] or part["plain"] or ""
        word.text += re.sub(r'\\(["\\$`])', r"\1", part["double"] or "")
    return words


def _in_bash(text: str, quote: str) -> str:
    """A text as it is typed in bash, behind an open quote if there is one."""
    if quote == "'":
        return text.replace("'", r"'\''")
    special = r'["\\$`]' if quote else r"[^\w@%+=:,./-]"
    return re.sub(special, lambda c: f"\\{c[0]}", text)
