"""Print the line that makes a shell complete commands and names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress

import click

from tbcore.engine import Command

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
    if shell != "bash":
        last = _words(words[-1])[0][-1] if shell == "fish" else words[-1]
        printed = _offers(context, words[:-1], last)
    elif len(words) != 2:
        raise click.UsageError("expected the line and the word of Readline", context)
    else:
        line, readline_word = words
        before, _ = _words(line)
        # Readline replaces only the end of a word: what follows a quote, a colon or an equals sign.
        (*_, start), quote = _words(line.removesuffix(readline_word))
        offers = _offers(context, before[1:-1], before[-1])
        printed = [(kind, _in_bash(text.removeprefix(start), quote)) for kind, text in offers]
    for kind, text in dict.fromkeys(printed):
        # Names with control characters cannot be offered.
        if text.isprintable():
            click.echo(f"={text}" if kind == "plain" else kind)
    return 0


def _offers(context: click.Context, words: Sequence[str], last: str) -> list[tuple[str, str]]:
    """The kinds and texts of what may stand in place of the last word, which is incomplete."""
    from click.shell_completion import ShellComplete

    root = context.find_root()
    if isinstance(root.command, click.Group) and not words and not last.startswith("-"):
        # Click would import all commands, to leave out hidden ones.
        names = root.command.list_commands(root)
        return [("plain", name) for name in names if name.startswith(last)]
    # With a parent, it does not search for the commands of extensions again.
    found = ShellComplete(root.command, {"parent": root}, "tbcore", "").get_completions(
        [*words], last
    )
    option = re.match("--[^=]+=", last)  # Click offers values without their option.
    return [(each.type, (option[0] if option else "") + each.value) for each in found]


def _words(line: str) -> tuple[list[str], str]:
    """The words of the start of a command line without their quotes, and the quote that is open.

    The last word is incomplete, and may be empty.
    """
    for quote in ("", "'", '"'):
        with suppress(ValueError):  # It is another quote.
            *words, last = shlex.split(f"{line}\0{quote}")
            return [*words, last.removesuffix("\0")], quote
    return [""], ""


def _in_bash(text: str, quote: str) -> str:
    """A text as it is typed in bash, behind an open quote if there is one."""
    if quote == "'":
        return text.replace("'", r"'\''")
    special = r'["\\$`]' if quote else r"[^\w@%+=:,./-]"
    return re.sub(special, lambda c: f"\\{c[0]}", text)
