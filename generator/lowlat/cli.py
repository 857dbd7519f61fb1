# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: find the verb, run it, turn its error into one line and an exit status.

Exit status: 0 done; 1 completed, but a check failed; 2 refused; 130 interrupted; 141 the reader of
the output went away. Only the module of the called verb
is imported.
"""

import argparse
import difflib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from types import ModuleType
from typing import Any, Callable, NoReturn, Optional, TextIO, cast

from lowlat import __version__
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import Screen
from lowlat.verbs import VERBS, WORDS
from lowlat.verbs.arguments import add_arguments, filled

#: As of a program that SIGPIPE ends: a check that failed must not look like one that passed.
_READER_GONE = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message[:200].replace("\n", " "), hint=f"see '{self.prog} --help'")

    def print_help(self, file: object = None) -> None:
        # argparse's own method hides errors of a failed write.
        sys.stdout.write(self.format_help())


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command line and return its exit status."""
    _prepare_output()
    with redirect_stdout(_screen(sys.stdout)), redirect_stderr(_screen(sys.stderr)):
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(argv: list[str]) -> int:
    try:
        status = _run(argv)
        sys.stdout.flush()
        return status
    except LowlatError as error:
        return _ended(str(error), error.status)
    except KeyboardInterrupt:
        return _ended("interrupted", 130)
    except MemoryError:
        return _ended(str(Refused("there is not enough memory", hint="see 'ulimit -v'")), 2)
    except RecursionError:
        return _ended("the input is nested too deeply", 2)
    except ImportError as error:  # a library that does not fit into memory, or is not there
        return _ended(f"a part of lowlat-gen cannot be loaded: {error}", 2)
    except BrokenPipeError:
        _discard(sys.stdout)
        return _READER_GONE
    except OSError as error:
        # Verbs handle errors of other files; this one is about standard output.
        what = error.filename or "standard output"
        return _ended(f"{what}: {error.strerror or error}", 1)


def _ended(why: str, status: int) -> int:
    """Print the reason on one line; discard buffered output that standard output cannot take."""
    for stream, text in ((sys.stderr, f"lowlat-gen: {why}\n"), (sys.stdout, "")):
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            _discard(stream)
    return status


def _prepare_output() -> None:
    # Replace closed outputs, and characters that an output cannot encode.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _screen(stream: TextIO) -> TextIO:
    return cast(TextIO, Screen(stream))


def _discard(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(argv: list[str]) -> int:
    if not argv:
        return int(_load_verb("status").standing())
    if argv[0] == "help" and argv[1:]:
        argv = [argv[1], "--help"]
    if argv[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"lowlat-gen {__version__}")
        return 0
    if argv[0].startswith("-"):
        raise Refused(f"{argv[0][:40]} stands before the verb", hint="lowlat-gen VERB [options]")
    if argv[0] not in VERBS:
        raise Refused(f"there is no verb '{argv[0][:40]}'", hint=_meant(argv[0][:40]))
    module = _load_verb(argv[0])
    try:
        args = arguments(argv[0], argv[1:])
    except SystemExit:
        return 0  # the help was printed
    return int(module.main(args))


def _load_verb(name: str) -> ModuleType:
    """The verb's module. Raises ImportError or MemoryError; Python itself raises anything for lack
    of memory: SyntaxError, SystemError, an OSError of a folder."""
    try:
        return importlib.import_module(f"lowlat.verbs.{name}")
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        raise ImportError(str(error)) from error


def _meant(word: str) -> str:
    """The verb that may be meant by a word, or the page about it."""
    # Imported late: the pages are read only here.
    from lowlat.explain import guides

    near = [WORDS[word]] if word in WORDS else difflib.get_close_matches(word, VERBS, n=1)
    if near:
        return f"did you mean {near[0]}?"
    if guides.find(word):
        return f"'lowlat-gen explain {word}' has a page about it"
    return f"there are: {', '.join(VERBS)}"


def arguments(verb: str, words: Sequence[str]) -> Any:
    """The arguments of a verb, as its main() takes them."""
    return filled(_arguments(verb), parser_of(verb).parse_args(words))


def _arguments(verb: str) -> Callable[..., object]:
    """The dataclass of a verb's arguments."""
    module = importlib.import_module(f"lowlat.verbs.{verb}")
    kind: Callable[..., object] = getattr(module, f"{verb.capitalize()}Arguments")
    return kind


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of a verb's options."""
    text = VERBS[verb]
    parser = _Parser(
        prog=f"lowlat-gen {verb}", allow_abbrev=False, description=text[0].upper() + text[1:] + "."
    )
    add_arguments(parser, _arguments(verb))
    return parser


def _usage() -> str:
    lines = [f"  {verb:10} {text}" for verb, text in VERBS.items()]
    return "\n".join(
        [
            "usage: lowlat-gen VERB [options]",
            "",
            "Choose CPUs, write the settings that keep them quiet, and measure the effect.",
            "",
            *lines,
            "",
            "'lowlat-gen help VERB' shows the options of a verb.",
            "'lowlat-gen' alone shows the state of this machine and the next step.",
            "Exit status: 0 done; 1 completed, a check failed; 2 refused, nothing changed.",
        ]
    )
