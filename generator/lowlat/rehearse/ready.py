# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether this machine can boot guests: their programs, a kernel, and its folders."""

from collections.abc import Iterator
from functools import partial
from typing import Callable

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.measure.child import find_harness
from lowlat.rehearse import enclosure, packages, qemu, vm
from lowlat.rehearse import kernel as kernels
from lowlat.rehearse.kernel import BootableKernel


def missing_programs() -> Iterator[LowlatError]:
    """An error for each program that a guest needs and this machine lacks."""
    needed: list[Callable[[], str]] = [vm.runner, qemu.program]
    needed += [partial(process.need, tool) for tool in vm.TOOLS]
    for find in (*needed, find_harness):
        try:
            find()
        except LowlatError as error:
            yield error


def check_programs() -> None:
    """Raises Refused if a program is missing."""
    for error in missing_programs():
        raise error


def check_reach(kernel: BootableKernel) -> None:
    """Raises Refused if a guest of this kernel could not read the files that it needs."""
    enclosure.check(vm.runs_on(kernel))


def check(*, fetch: bool) -> None:
    """Raises Refused if a rehearsal with no other option would be refused here; ``fetch`` as for
    find_kernel(), but nothing is fetched."""
    check_programs()
    kernel = kernels.find("")
    if kernel is not None:
        check_reach(kernel)
    elif fetch:
        packages.check_host()
    else:
        find_kernel("", fetch=False)


def find_kernel(text: str, *, fetch: bool) -> BootableKernel:
    """The kernel to boot, with ``fetch`` also from the distribution's packages. Raises Refused if
    there is none."""
    kernel = kernels.find(text)
    if kernel is not None:
        return kernel
    if fetch:
        return packages.fetch(text, kernels.cache_folder())
    which = f"--kernel {text}: no such kernel" if text else "no bootable kernel"
    hint = "--fetch-kernel takes one from the distribution's packages, --kernel PATH names one"
    raise Refused(f"{which} in /boot or the cache", hint=hint)
