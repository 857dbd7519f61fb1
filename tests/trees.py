# SPDX-License-Identifier: GPL-2.0-or-later
"""Small host trees for tests: a machine's files, and the command line run on them."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional
from unittest import mock

from lowlat import cli
from support.waits import GUARD_S

CPU = "sys/devices/system/cpu"

#: lowlat-gen as a shell script calls it.
SHELL_GEN = f"{shlex.quote(sys.executable)} -m lowlat"

CPUINFO_X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Test CPU\n"
FLAGS = "fpu tsc lm constant_tsc nonstop_tsc"

CONFIG = """CONFIG_CPU_ISOLATION=y
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
CONFIG_NUMA_BALANCING=y
CONFIG_SOFTLOCKUP_DETECTOR=y
CONFIG_COMPACTION=y
CONFIG_TRANSPARENT_HUGEPAGE=y
CONFIG_PREEMPT_DYNAMIC=y
CONFIG_IRQ_FORCED_THREADING=y
CONFIG_X86_MCE=y
CONFIG_CPU_FREQ_GOV_PERFORMANCE=y
CONFIG_RCU_LAZY=y
CONFIG_DEBUG_FS=y
"""


def fair_server(cpus: Iterable[int], *, planned: bool = True) -> dict[str, str]:
    """The files of the fair server of these CPUs, with the planned values or the kernel's
    defaults."""
    runtime, period = (209715200, 4194304000) if planned else (50000000, 1000000000)
    folder = "sys/kernel/debug/sched/fair_server"
    files: dict[str, str] = {}
    for cpu in cpus:
        files[f"{folder}/cpu{cpu}/runtime"] = f"{runtime}\n"
        files[f"{folder}/cpu{cpu}/period"] = f"{period}\n"
    return files


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def machine(
    cpus: int = 4,
    threads: int = 1,
    release: str = "6.12.107-test",
    config: Optional[str] = CONFIG,
    flags: str = FLAGS,
    cpuinfo: Optional[str] = None,
) -> dict[str, str]:
    """An x86-64 machine with one node; siblings are adjacent."""
    files = {
        f"{CPU}/online": f"0-{cpus - 1}\n",
        f"{CPU}/possible": f"0-{cpus - 1}\n",
        f"{CPU}/present": f"0-{cpus - 1}\n",
        f"{CPU}/isolated": "\n",
        "sys/devices/system/node/node0/cpulist": f"0-{cpus - 1}\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
        "proc/cpuinfo": cpuinfo if cpuinfo is not None else f"{CPUINFO_X86}flags\t\t: {flags}\n",
        "proc/sys/kernel/osrelease": f"{release}\n",
        "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro quiet\n",
    }
    if config is not None:
        files[f"boot/config-{release}"] = config
    for cpu in range(cpus):
        first = cpu - cpu % threads
        siblings = f"{first}-{first + threads - 1}\n" if threads > 1 else f"{cpu}\n"
        files[f"{CPU}/cpu{cpu}/topology/core_cpus_list"] = siblings
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0\n"
    return files


@dataclass(frozen=True)
class Answer:
    """The result of lowlat-gen: its status and both outputs."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def refused(self) -> str:
        """The one line of a refusal; asserts that there is nothing else."""
        assert self.status == 2, (self.status, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("lowlat-gen: ") and self.err.count("\n") == 1, self.err
        return self.err


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
        [sys.executable, "-m", "lowlat", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)
