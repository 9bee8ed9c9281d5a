"""What a shell offers for arguments and options: runs, tags, columns and hyperparameters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from tbcore.engine import format_name, in_quotes
from tbcore_logs.commands.arguments import default_logdir

if TYPE_CHECKING:
    from tbcore_logs.names import Names

Offers = list["CompletionItem[str]"]
_STATS = "last", "min", "max", "nan", "argmin", "argmax"
_LIKE_OTHER = re.compile(rf'[,"]|:(?:{"|".join(_STATS)}|(?:at|change)\(\d+\))\Z')
"""Finds what a name of a column without quotes may not have."""
_OWN_COLUMNS = "run", "state", "step", "started", "age", "took"
_COLUMNS_OF_GROUPS = "group", "runs"
_RULES = "seeds", "numbers"


class Typed(NamedTuple):
    """What a command line has beyond what click passes; `obj` of its context."""

    has_separator: bool = False
    """Whether `--` precedes the word that is completed."""
    value: str = ""
    """The value of an option that is completed, if it begins with a dash; else ""."""


def runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """The names of runs, the last of several with commas."""
    return _listed(_runs(context.params.get("logdir")), _value(context, incomplete))


def tags(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """The tags, the last of several with commas."""
    return _listed(_names(context).tags, _value(context, incomplete))


def columns(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """The columns of `ls`, the last of several with commas."""
    text = _value(context, incomplete)
    start, partial = _last_name(text)
    offers = _columns(_names(context), partial)
    return [CompletionItem(start + each) for each in offers]


def sort(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """What `ls` sorts by."""
    text = _value(context, incomplete)
    own = _COLUMNS_OF_GROUPS if context.params.get("by") else _OWN_COLUMNS
    partial = _last_name(text)[1]
    return [*_beginning(text, own), *map(CompletionItem, _columns(_names(context), partial))]


def by(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """Rules of groups of one word, and hyperparameters, the last of several with commas."""
    text = _value(context, incomplete)
    return _listed([*_names(context).hparams, *(() if "," in text else _RULES)], text)


def where(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """Queries with another name as their last term, and an operator behind it."""
    text = _value(context, incomplete)
    complete = re.match(r'(?:(?:"(?:[^"]|"")*+"|[^\s(|"])*[\s(|])*-?', text)
    start = complete.end() if complete else 0
    names = _names(context)
    terms = [f"{format_name(name)}{sign}" for name in names.hparams for sign in "=<>"]
    scalars = [format_name(tag) for tag, is_scalar in names.tags.items() if is_scalar]
    terms += [f"{tag}:{stat}{sign}" for tag in scalars for stat in _STATS[:4] for sign in "<>"]
    terms += [f"has:{format_name(tag)}" for tag in names.tags]
    terms += [f"{tag}:change(" for tag in scalars]
    terms += ["has:nan", "live", "quiet", "step>=", "age<", "took>", "newest:"]
    return [CompletionItem(text[:start] + each) for each in terms if each.startswith(text[start:])]


def names_of_show(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """`[LOGDIR] RUN [TAG]`."""
    given = context.params.get("names") or ()
    if not given:
        return _runs_or_directories(context, incomplete)
    offers: Offers = []
    if len(given) == 1 and os.path.isdir(given[0]):
        offers = _positional(context, [n for n in _runs(given[0]) if n != "."], incomplete)
    if len(given) < 3:
        logdir = given[0] if len(given) == 2 else default_logdir()
        offers += _positional(context, _tags_of(logdir, given[-1]), incomplete, is_path=False)
    return offers


def names_of_diff(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """`[LOGDIR] A B`."""
    given = context.params.get("names") or ()
    if not given:
        return _runs_or_directories(context, incomplete)
    own = _runs(None)
    logdir = None if os.path.normpath(given[0]) in own else given[0]
    known = own if logdir is None else _runs(logdir)
    return _positional(context, known, incomplete) if len(given) < 3 else []


def _runs_or_directories(context: click.Context, incomplete: str) -> Offers:
    """Runs in the default directory, else in the working directory, else directories."""
    offers = _positional(context, _runs(None), incomplete)
    offers = offers or _positional(context, _runs("."), incomplete)
    return offers or [CompletionItem(incomplete, type="dir")]


def _positional(
    context: click.Context, names: Iterable[str], incomplete: str, *, is_path: bool = True
) -> Offers:
    """Names of which none is taken for an option: a run with a leading dash is a path, `./-a`."""
    if not _typed(context).has_separator:
        names = [f"./{n}" if n.startswith("-") else n for n in names if is_path or n[:1] != "-"]
    return _beginning(incomplete, names)


def _typed(context: click.Context) -> Typed:
    """What is not known to click's own scripts for shells is taken for missing."""
    return context.obj if isinstance(context.obj, Typed) else Typed()


def _value(context: click.Context, incomplete: str) -> str:
    return str(_typed(context).value or incomplete)


def _beginning(text: str, names: Iterable[str]) -> Offers:
    return [CompletionItem(name) for name in names if name.startswith(text)]


def _listed(names: Iterable[str], text: str) -> Offers:
    """Texts that end with another name in place of the last one, which is incomplete.

    Names are quoted as `--runs` and the like need it.
    """
    start, partial = _last_name(text)
    quoted = (f'"{n.replace(chr(34), 2 * chr(34))}"' if re.search('[,"]', n) else n
              for n in names if n.startswith(partial))  # fmt: skip
    return [CompletionItem(start + name) for name in quoted]


def _last_name(text: str) -> tuple[str, str]:
    """Text with names and commas, divided before the last name; the name is without quotes."""
    complete = re.match(r'(?:(?:"(?:[^"]|"")*+"|[^",]*),)*', text)
    end = complete.end() if complete else 0
    name = text[end:]
    return text[:end], name[1:].replace('""', '"') if name.startswith('"') else name


def _columns(names: Names, partial: str) -> list[str]:
    """Hyperparameters and tags; if there is a single one, with its statistics. Names are in quotes
    where they would else mean something else.
    """
    partial = partial.replace('"', "")
    scalars = [tag for tag, is_scalar in names.tags.items() if is_scalar]
    found = [name for name in [*names.hparams, *scalars] if _unquoted(name).startswith(partial)]
    stated = [t for t in scalars if t == partial or partial.startswith(f"{_unquoted(t)}:")]
    if len(found) == 1 and found[0] in scalars:
        stated += found
    texts = [in_quotes(name) if _LIKE_OTHER.search(name) else name for name in found]
    for tag in dict.fromkeys(stated):
        text = in_quotes(tag) if re.search('[,"]', tag) else tag
        texts += [f"{text}:{stat}" for stat in _STATS]
    return [text for text in texts if _unquoted(text).startswith(partial)]


def _unquoted(text: str) -> str:
    return text.replace('"', "")


def _runs(logdir: str | None) -> Mapping[str, Any]:
    from tbcore_logs.names import files_of_runs

    return files_of_runs(logdir or default_logdir())


def _names(context: click.Context) -> Names:
    from tbcore_logs.names import names_in

    return names_in(list(_runs(context.params.get("logdir")).values()))


def _tags_of(logdir: str, run: str) -> Iterable[str]:
    from tbcore_logs.names import names_in

    path = os.path.join(logdir, run)
    return names_in([_runs(path if os.path.isdir(path) else run).get(".", [])]).tags


Complete = Callable[[click.Context, click.Parameter, str], Offers]
"""The type of `shell_complete` of parameters."""
