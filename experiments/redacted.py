"""What a command, an option or a URL says, without the secrets in it."""

import re
import shlex
from collections.abc import Iterable

_SECRET = re.compile(r"pass|pwd|secret|token|credential|key$|\.key\.|\bsas\b", re.IGNORECASE)
_SECRET_IN_URL = re.compile(
    r"((?:pass(?:word|wd|phrase)?|pwd|token|secret[\w.]*|signature|\bsig|accountkey|accesskey)=)[^;&]*"
    r"|(?<=://)([^/@:\s]*:)[^/\s]+(?=@)"  # user:password@host
    r"|(jdbc:oracle:\w+:[^/@\s]*/)\S+(?=@)",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """A URL without the password in it."""
    return _SECRET_IN_URL.sub(lambda found: f"{found[1] or found[2] or found[3]}***", text)


def is_secret(option: str) -> bool:
    """Whether the value of an option of this name must not be shown."""
    return _SECRET.search(option) is not None


def command_text(words: Iterable[str]) -> str:
    """A command of planscope's as a shell takes it, for people to give again; secrets in it are ***."""
    return shlex.join(["planscope", *map(_harmless, words)])


def _harmless(word: str) -> str:
    name, sign, value = word.partition("=")
    if re.search(r"\s", name) and "://" not in name:  # SQL
        return word
    if sign and name.startswith("--"):  # --option=NAME=VALUE
        return f"{name}={_harmless(value)}"
    return f"{name}=***" if sign and is_secret(name) else redacted(word)
