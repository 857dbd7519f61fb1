# SPDX-License-Identifier: GPL-2.0-or-later
"""What GRUB passes to the kernel for the words of a linux line in grub.cfg. GRUB's grammar is
neither the shell's, which reads /etc/default/grub, nor the kernel's, which splits the line
again."""

import re
from collections.abc import Iterable, Iterator, Mapping

from lowlat.model import cmdline

#: The parts of a word (grub-core/script/yylex.l). Other characters end the word or the command.
_QUOTED = r"""'(?P<single>[^']*)'|\$?"(?P<double>(?:\\.|[^"\\])*)\""""
_NAME = r"[A-Za-z_]\w*|\d+|[?#*@]"
_VARIABLE = rf"\$(?:(?P<name>{_NAME})|\{{(?P<braced>{_NAME})\}})"
_PLAIN = r"""(?P<hex>\\x[0-9a-fA-F]{2})|\\(?P<escaped>.)|(?P<plain>[^{}|&$;<>\s'"\\])"""
_PART = re.compile(rf"{_QUOTED}|{_VARIABLE}|{_PLAIN}", re.ASCII)
_IN_QUOTES = re.compile(rf"\\(?P<escaped>[\\$\"])|{_VARIABLE}|(?P<plain>.)", re.ASCII)
_WORD = re.compile(rf"(?:{re.sub('[?]P<[a-z]+>', '?:', _PART.pattern)})+|\S", re.ASCII)

#: Stands for a "$" that is none of a variable until the word is written.
_DOLLAR = "\0"


def split(text: str) -> tuple[str, ...]:
    """The words of a linux line as written: quotes and backslashes stay."""
    return tuple(_WORD.findall(text))


def passed(text: str, known: Mapping[str, str], *, hexadecimal: bool = False) -> tuple[str, ...]:
    r"""The parameters that the kernel gets for this text, split as the kernel does. A variable that
    is not among the ``known`` ones stays as written; any other "$" is written "\$".

    GRUB quotes its arguments anew (grub_create_loader_cmdline() in grub-core/lib/cmdline.c), after
    its lexer removed the quotes of grub.cfg. Fedora's and RHEL's leave "\x" and two
    ``hexadecimal`` digits alone.
    """
    arguments: list[str] = []
    for word in split(text):
        if word[0] == "#" or not _PART.match(word):
            break  # the command ends
        arguments += _arguments(word, known, hexadecimal)
    line = " ".join(_quoted(each, hexadecimal) for each in arguments)
    return tuple(cmdline.WORD.findall(line))


def _arguments(word: str, known: Mapping[str, str], hexadecimal: bool) -> list[str]:
    """GRUB's arguments for one word: the value of a variable outside quotes is split at blanks."""
    arguments = [""]
    for part in _PART.finditer(word):
        if part["double"] is not None:
            arguments[-1] += "".join(_texts(_IN_QUOTES.finditer(part["double"]), known))
            continue
        (text,) = _texts([part], known)
        text = text[1:] if part["hex"] and not hexadecimal else text
        values = re.split(r"\s+", text.rstrip()) if part["name"] or part["braced"] else [text]
        arguments[-1] += values[0]
        arguments += values[1:]
    return arguments


def _texts(parts: Iterable[re.Match[str]], known: Mapping[str, str]) -> Iterator[str]:
    for part in parts:
        found = part.groupdict()
        name = found["name"] or found["braced"]
        if name and name not in known:
            yield part[0]
            continue
        kinds = ("single", "hex", "escaped", "plain")
        text = known[name] if name else next(filter(None, map(found.get, kinds)), "")
        yield text.replace("$", _DOLLAR)


def _quoted(argument: str, hexadecimal: bool) -> str:
    kept = r"(\\x[0-9a-fA-F]{2})" if hexadecimal else "(?!)()"
    text = re.sub(rf"{kept}|([\\'\"])", lambda m: m[1] or f"\\{m[2]}", argument)
    text = text.replace(_DOLLAR, r"\$")
    return f'"{text}"' if " " in text else text
