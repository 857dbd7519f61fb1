# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of lowlat-gen: run in this process, or as a program."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional
from unittest import mock

from lowlat import cli
from support.waits import GUARD_S

#: lowlat-gen as a program is started, and as a shell script calls it.
GEN = (sys.executable, "-m", "lowlat")
SHELL_GEN = shlex.join(GEN)

_NAME = "lowlat-gen: "


@dataclass(frozen=True)
class Answer:
    """The result of lowlat-gen: its status and both outputs."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        """The printed value; asserts an answer: 0, or 1 for what a verb finds fault with."""
        assert self.status in (0, 1), self
        return json.loads(self.out)

    def refused(self) -> str:
        """What the one line of a refusal says; asserts that there is nothing else."""
        assert (self.status, self.out) == (2, ""), self
        assert self.err.startswith(_NAME) and self.err.endswith("\n"), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err[len(_NAME) : -1]


def lowlat(*args: object, env: Optional[Mapping[str, str]] = None) -> Answer:
    """Run one command line in this process, since the start of a new Python takes longer than most
    of them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        open(os.devnull) as nothing,  # noqa: PTH123
        mock.patch.multiple(sys, stdin=nothing, stdout=out, stderr=err),
        mock.patch.dict(os.environ, env or {}),
    ):
        status = cli.main([str(arg) for arg in args])
    return Answer(status, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def lowlat_process(*args: object, env: Optional[Mapping[str, str]] = None) -> Answer:
    """Run lowlat-gen as a user does."""
    done = subprocess.run(
        [*GEN, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)
