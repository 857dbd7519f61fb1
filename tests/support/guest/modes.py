# SPDX-License-Identifier: GPL-2.0-or-later
"""How often QEMU itself spoils a boot, by how it runs the guest's CPUs.

    PYTHONPATH=tests python -m support.guest.modes BOOTS

boots the pinned 6.12 with the default profile's line so often each way, two at a time, and prints
the table of MODES.md.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.rehearse import qemu
from lowlat.rehearse.kernel import BootableKernel
from lowlat.verify import evidence
from support.cli import GEN
from support.guest import emulator, matrix
from support.guest.kernels import KERNELS, packaged_or_skip
from support.waits import GUARD_S

_TOGETHER = 2


def _line(kernel: BootableKernel, folder: Path) -> str:
    """What the default profile plans for this kernel."""
    tree = matrix.machine(kernel, matrix.CAPTURES["amd64"], folder / "machine.txt", {})
    words = ("--root", str(tree), "--kernel", kernel.release, "--profile", "lowlat", "--json")
    told = process.run([*GEN, "plan", *words], timeout=GUARD_S)
    return str(json.loads(told.stdout)["cmdline"]["text"])


def main(count: int) -> None:
    kernel = packaged_or_skip(KERNELS["6.12"])
    # Without its model of the CPU, which is the emulator's.
    ways = {"threads": emulator.THREADS, "icount": qemu.emulation(kernel.release, 4)[2:]}
    vars(emulator)["_AGAIN"] = 0
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="modes-") as name:
        line = _line(kernel, Path(name))
        told = Path(name) / "told"
        os.environ["LOWLAT_SPOILT"] = str(told)

        def boot(way: str, at: int) -> None:
            folder = Path(name) / way / str(at)
            folder.mkdir(parents=True)
            hardware = emulator.Hardware(accel=ways[way])
            trial = matrix.Trial(kernel, line, hardware)
            with suppress(LowlatError):
                matrix.boot(trial, folder, evidence.script())
            load.append(os.getloadavg()[0])
            print(told.read_text().splitlines()[-1], file=sys.stderr, flush=True)

        with ThreadPoolExecutor(_TOGETHER) as pool:
            for done in [pool.submit(boot, way, at) for at in range(count) for way in ways]:
                done.result()
        rows = [json.loads(row) for row in told.read_text().splitlines()]
    version = ".".join(map(str, emulator.version()))
    print(f"QEMU {version}, host {platform.release()}, {os.cpu_count()} CPUs, guest", end=" ")
    print(f"{kernel.release}; load {min(load):.0f} to {max(load):.0f}\n\n    {line}\n")
    heads = ("way", "boots", "passed", "spoilt", "failed", "seconds", "signs")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for way, options in ways.items():
        of_way = [row for row in rows if f"/{way}/" in row["boot"]]
        came = Counter(row["outcome"] for row in of_way)
        times = [row["seconds"] for row in of_way if row["outcome"] == "pass"] or [0]
        signs = Counter(row["sign"] for row in of_way if row["sign"])
        cells = (
            *(f"`{' '.join(options[:4])}`", len(of_way)),
            *(came[outcome] for outcome in ("pass", "spoilt", "fail")),
            f"{median(times):.0f} ({min(times)} to {max(times)})",
            "; ".join(f"{many} {sign}" for sign, many in signs.items()),
        )
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main(int(sys.argv[1]))
