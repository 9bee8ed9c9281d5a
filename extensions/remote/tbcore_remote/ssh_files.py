"""SshHost: a host's address, user and keys, from the configuration files of ssh.

The files are read as by ssh, except that nothing is executed: a host to which ssh would connect
through a program is refused. Words of the configuration that are not named here are ignored.
"""

from __future__ import annotations

import getpass
import glob
import hmac
import os
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

CONFIG_FILES = {"~/.ssh/config": "~/.ssh", "/etc/ssh/ssh_config": "/etc/ssh"}
"""The user's and the system's configuration, each with the folder for relative paths in it."""
_KNOWN_HOSTS = {
    "userknownhostsfile": ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"],
    "globalknownhostsfile": ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"],
}
"""Maps words that name files of known hosts to the defaults of ssh."""
_WORDS = {"hostname", "port", "user", "hostkeyalias", "identityfile", *_KNOWN_HOSTS}
_REFUSED = {"proxyjump": "proxy", "proxycommand": "proxy", "revokedhostkeys": "revoked"}
"""Words for which a host is refused, unless their value is `none`. The words of a group, such as
`proxy`, set the same option, so only the first one in the configuration counts."""

_MAX_CHARACTERS = 1 << 24
"""Maximum length of a file."""
_MAX_FILES = 200
"""Maximum number of configuration files that are read for a host: they may include each other."""
_MAX_WILDCARDS = 2
"""Maximum number of parts with wildcards in the path of an Include: each lists directories."""

_LINE = re.compile(r"\s*\"?([^\s\"=#]+)\"?(?:\s*=\s*|\s+|$)(.*)")
_CHARACTER = re.compile(r"\\['\"\\ ]|.")
"""A character of a line, which may be escaped."""
_TOKEN = re.compile(r"%(.?)|\$\{([^}]*)\}")
_KNOWN_KEY = re.compile(r"\s*(?:@(\S+)\s+)?([^@#\s]\S*)\s+(\S+)\s+(\S+)")


class SshError(OSError):
    """A host is refused, or a file of ssh is not valid. The message has one line."""


class KnownKey(NamedTuple):
    """A line of a known_hosts file."""

    marker: str | None
    """`revoked`, `cert-authority`, or None for a key of the host itself."""
    key_type: str
    key: str
    """The key in base64."""
    where: str
    """The line's number and its file."""


class SshHost:
    """The configuration of a host.

    The first value of each word counts. `user` and `port` take precedence over all files. Every
    method raises SshError if a file is not valid, or if ssh would run a program to connect.
    """

    def __init__(
        self,
        name: str,
        user: str | None = None,
        port: int | None = None,
        config_files: Mapping[str, str] = CONFIG_FILES,
    ) -> None:
        self.name = name
        """The host's name as given, which the configuration may map to another one."""
        given = {"user": user, "port": port}
        self._values = {word: [str(value)] for word, value in given.items() if value}
        """Maps each word, in lower case, to its values."""
        self._num_files = 0
        self._is_final = self._has_final = False
        """Whether this is the second pass over the files, and whether a `Match final` needs it."""
        self._read_all(config_files)
        if self._has_final:
            self._is_final = True
            self._values.setdefault("hostname", ["%h"])
            self._read_all(config_files)

    @property
    def address(self) -> str:
        """The name or IP address to connect to."""
        return _expanded(self._value("hostname", "%h"), {"%": "%", "h": self.name})

    @property
    def port(self) -> int:
        """The port to connect to."""
        text = self._value("port", "22")
        if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 65536:
            raise SshError(f"{text!r} is not a valid port of {self.name}; expected 1 to 65535")
        return int(text)

    @property
    def user(self) -> str:
        """The user to log in as."""
        return self._value("user", "") or getpass.getuser()

    @property
    def key_name(self) -> str:
        """The name under which known_hosts files have the host's keys."""
        name = self.address.lower()
        return self._value("hostkeyalias", name if self.port == 22 else f"[{name}]:{self.port}")

    def known_keys(self) -> list[KnownKey]:
        """The lines of known_hosts files for this host.

        As in ssh, keys without a port are valid for any port, unless there is a key for this port.
        """
        paths = [path for word in _KNOWN_HOSTS for path in self.paths(word)]
        keys = list(_known_keys(self.key_name, paths))
        if not self.has("hostkeyalias") and all(key.marker for key in keys):
            keys += _known_keys(self.address.lower(), paths)
        return keys

    def paths(self, word: str) -> list[str]:
        """The paths of existing files in the value of a word, such as `identityfile`."""
        values = {
            "%": "%", "d": os.path.expanduser("~"), "h": self.address, "n": self.name,
            "k": self._value("hostkeyalias", self.name), "p": str(self.port), "r": self.user,
        }  # fmt: skip
        texts = self._values.get(word, _KNOWN_HOSTS.get(word, []))
        named = [text for text in texts if text.lower() != "none"]
        paths = [_expanded(os.path.expanduser(text), values) for text in named]
        return [path for path in paths if os.path.isfile(path)]

    def has(self, word: str) -> bool:
        """Whether the configuration has a word, in lower case."""
        return word in self._values

    def _value(self, word: str, default: str) -> str:
        return self._values.get(word, [default])[0]

    # -- reading the configuration ---------------------------------------------------------------

    def _read_all(self, config_files: Mapping[str, str]) -> None:
        for path, folder in config_files.items():
            self._read(os.path.expanduser(path), folder)

    def _read(self, path: str, folder: str) -> None:
        """Reads a file and those that it includes."""
        self._num_files += 1
        if self._num_files > _MAX_FILES:
            raise SshError(f"{path} is included too often")
        is_active = True
        for where, line in _lines(path):
            match = _LINE.match(line)
            if match is None:
                continue
            word, values = match[1].lower(), _split(match[2], where)
            if word == "host":
                is_active = _matches(self.name, values)
            elif word == "match":
                is_active = self._holds(values, where)
            elif word == "include" and is_active:
                for included in _included(values, folder, where):
                    self._read(included, folder)
            elif word in _WORDS | _REFUSED.keys() and is_active:
                if not values:
                    raise SshError(f"{match[1]} has no value ({where})")
                known = self._values.setdefault(_REFUSED.get(word, word), values)
                if word == "identityfile" and values[0] not in known:
                    known.append(values[0])
                if word in _REFUSED and known[0].lower() != "none":
                    raise self._refusal(match[1], where)

    def _holds(self, criteria: list[str], where: str) -> bool:
        """Whether the criteria of a Match line are met."""
        result, unknown = True, ""
        rest = iter(criteria)
        for each in rest:
            word = each.lower().removeprefix("!")
            if word in ("all", "final", "canonical"):
                holds = word == "all" or self._is_final
                self._has_final |= word == "final"
            elif word == "user":
                holds = _matches(self.user, next(rest, "").split(","))
            elif word in ("host", "originalhost"):
                name = self.address if word == "host" else self.name
                holds = _matches(name, next(rest, "").lower().split(","))
            else:
                unknown = f"Match {word}"
                next(rest, "")
                continue
            result &= holds != each.startswith("!")
        if result and unknown:
            raise self._refusal(unknown, where)
        return result

    def _refusal(self, word: str, where: str) -> SshError:
        reason = f"is configured with {word} ({where}), which only ssh itself can use"
        return SshError(f"{self.name} {reason}; forward a port with `ssh -L`")


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """Yields the place of each line (its number and the file) and the line; none without a file."""
    if not os.path.isfile(path):
        return
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_CHARACTERS).replace("\0", "")
            is_whole = not file.read(1)
    except OSError as error:
        raise SshError(f"cannot read {path}: {error.strerror}") from None
    if not is_whole:
        raise SshError(f"{path} is too large to be a file of ssh")
    for number, line in enumerate(text.split("\n"), 1):
        yield f"line {number} of {path}", line


def _split(text: str, where: str) -> list[str]:
    """The words of a line, without quotes, escapes and comments.

    Source: argv_split, OpenSSH's misc.c.
    """
    words = [""]
    quote = ""
    for each in _CHARACTER.findall(text.rstrip()):
        if each in ("'", '"') and quote in ("", each):
            quote = "" if quote else each
        elif not quote and each in (" ", "\t"):
            words.append("")
        elif not quote and each == "#" and not words[-1]:
            break
        else:
            words[-1] += each if quote and each == "\\ " else each[-1]
    if quote:
        raise SshError(f"a quote is not closed ({where})")
    return [word for word in words if word]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name matches one of the patterns, and none of those that begin with `!`."""
    found = set()
    for each in patterns:
        pattern = each.removeprefix("!")
        has_wildcards = "*" in pattern or "?" in pattern  # Most have none, and fnmatch is slow.
        if (has_wildcards and fnmatchcase(name, pattern.replace("[", "[[]"))) or pattern == name:
            found.add(each.startswith("!"))
    return found == {False}


def _included(patterns: Iterable[str], folder: str, where: str) -> Iterator[str]:
    """The paths of the files that an Include names."""
    for pattern in patterns:
        if sum(map(glob.has_magic, pattern.split("/"))) > _MAX_WILDCARDS:
            raise SshError(f"{pattern!r} has too many wildcards ({where})")
        path = pattern if pattern.startswith("~") else os.path.join(folder, pattern)
        yield from sorted(glob.glob(os.path.expanduser(path)))


def _expanded(text: str, values: Mapping[str, str]) -> str:
    """The text with tokens such as %h, and variables such as ${HOME}, replaced by their values."""
    try:
        return _TOKEN.sub(
            lambda each: values[each[1]] if each[2] is None else os.environ[each[2]], text
        )
    except KeyError as error:
        raise SshError(f"{error} in {text!r} of ssh's configuration has no value") from None


def _known_keys(name: str, paths: Iterable[str]) -> Iterator[KnownKey]:
    """Yields the lines of known_hosts files for a name, such as `[host]:2222`."""
    for path in paths:
        for where, line in _lines(path):
            match = _KNOWN_KEY.match(line)
            if match is not None and _is_for(name, match[2]):
                yield KnownKey(match[1], match[3], match[4], where)


def _is_for(name: str, names: str) -> bool:
    """Whether a name is among those in a line of a known_hosts file, which may be hashed."""
    if not names.startswith("|1|"):
        return _matches(name, names.lower().split(","))
    try:
        salt, digest = map(b64decode, names[3:].split("|"))
    except ValueError:
        return False
    return hmac.digest(salt, name.encode(), "sha1") == digest
