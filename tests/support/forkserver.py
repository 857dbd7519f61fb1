# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs command lines of lowlat-gen, each in a fork of this process and so in its mount namespace.
Reads and writes one JSON object per line. hosttree.py starts it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def run(argv: Sequence[str], env: Mapping[str, str], stdin: str, root: str) -> dict[str, Any]:
    """Run one command line on the machine whose / is ``root``; returns its status (negative: the
    signal) and both outputs."""
    given, out, err = (os.memfd_create(name) for name in ("in", "out", "err"))
    os.write(given, stdin.encode())
    os.lseek(given, 0, os.SEEK_SET)
    child = os.fork()
    if child == 0:
        _in_child(argv, env, (given, out, err), root)
    _, status = os.waitpid(child, 0)
    answer = {
        "status": os.waitstatus_to_exitcode(status),
        "out": _content(out),
        "err": _content(err),
    }
    for fd in (given, out, err):
        os.close(fd)
    return answer


def _in_child(argv: Sequence[str], env: Mapping[str, str], fds: Sequence[int], root: str) -> None:
    status = 70
    try:
        if root != "/":
            os.chroot(root)
            os.chdir("/")
        os.setsid()
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.environ.update(env)
        from lowlat import cli

        sys.argv = ["lowlat-gen", *argv]
        status = cli.main(list(argv))
    except BaseException as error:
        print(f"Traceback: {error!r}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _content(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    with os.fdopen(os.dup(fd), "rb") as file:
        return file.read().decode("utf-8", "replace")


def serve() -> None:
    # Loaded once for all.
    for name in ("lowlat.boot.apply", "lowlat.boot.promote", "lowlat.boot.rollback", *sys.argv[1:]):
        importlib.import_module(name)

    for row in sys.stdin:
        asked = json.loads(row)
        if "program" in asked:
            done = subprocess.run(
                asked["program"],
                input=asked.get("stdin", ""),
                capture_output=True,
                text=True,
                check=False,
            )
            answer = {"status": done.returncode, "out": done.stdout, "err": done.stderr}
        else:
            more = asked.get("env", {}), asked.get("stdin", ""), asked.get("root", "/")
            answer = run(asked["argv"], *more)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
