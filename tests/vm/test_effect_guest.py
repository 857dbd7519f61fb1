# SPDX-License-Identifier: GPL-2.0-or-later
"""What kernels make of their lines: every Effect is the state of a kernel that booted the line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lowlat.kernel.effect import read
from lowlat.probe import probe
from support.guest import effects, results
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = pytest.mark.vm

#: How many guests run at once.
_TOGETHER = 2

#: Eight CPUs: threads 0 and 1 are a core, 0-3 a package and a node.
LINES = (
    "isolcpus=2-7",
    "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 rcu_nocbs=2-7 irqaffinity=0-1",
    "isolcpus=managed_irq,2-7 skew_tick=1 rcu_nocb_poll",
    "isolcpus=nohz,domain,2-7",
    "isolcpus=inverse,4-7 nohz_full=2,,3,",
    "isolcpus=domain,managed_irq:2-7 rcu_nocbs=2-3",
    "isolcpus=6-9 nohz_full=6-9 rcu_nocbs=6-9 irqaffinity=2,9",
    "isolcpus=2-N nohz_full=all rcu_nocbs=all",
    "isolcpus=0-7:1/2 nohz_full=1-7:1/2 rcu_nocbs=0-7:3/4",
    "isolcpus=0-7",
    "isolcpus=0-3 nohz_full=0-3",
    "isolcpus=0-3 nohz_full=4-7",
    "isolcpus=2-5 isolcpus=4-7",
    "isolcpus=2-7 isolcpus=managed_irq,2-7",
    "nohz_full=2-3 nohz_full=4-5",
    "isolcpus=2-7 nohz_full=4-7 rcu_nocbs=2-3",
    "isolcpus=domain,nohz,4-7 nohz_full=6-7",
    "rcu_nocbs=4-7 rcu_nocb_poll",
    "rcu_nocbs nohz_full=6",
    "rcu_nocbs irqaffinity",
    "rcu_nocbs=1-3x rcu_nocb_poll nohz_full=x isolcpus=y",
    "rcu_nocbs=2-3 rcu_nocbs=4-5 irqaffinity=2 irqaffinity=4",
    "irqaffinity=2-3,x,5 isolcpus= nohz_full=",
    "nosmt isolcpus=3,5,7 rcu_nocbs=3,5,7",
    "nosmt isolcpus=4-7 nohz_full=4-7 irqaffinity=1-3",
    "nr_cpus=4 isolcpus=4-7 nohz_full=4-7 rcu_nocbs=4-7",
    "nr_cpus=6 nr_cpus=5 isolcpus=3-N rcu_nocbs=4-5",
    "maxcpus=5 isolcpus=4-7 nohz_full=4-7",
    "maxcpus=4 isolcpus=0-3 rcu_nocbs=2-5",
    "maxcpus=0 isolcpus=1-3",
    "possible_cpus=6 isolcpus=4-5 nohz_full=4-7",
    "nosmp isolcpus=1-3",
    "maxcpus=3 nosmt isolcpus=2,4",
    "mitigations=auto,nosmt isolcpus=5-6",
    "nohz=off nohz_full=4-7 isolcpus=4-7",
    "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=0:8,1:16",
    "hugepages=1 hugepagesz=2M hugepages=8 default_hugepagesz=1G",
    "default_hugepagesz=1G hugepages=1 hugepagesz=3M hugepages=5 hugepagesz=2M",
    "hugepagesz=2M hugepages=4 hugepagesz=2M hugepages=6 hugepages=7",
    "clocksource=hpet clocksource=acpi_pm",
    "clocksource=hpet clocksource=none nowatchdog",
    "notsc nohz_full=4-7 nosoftlockup",
    "tsc=unstable clocksource=tsc nmi_watchdog=panic,0",
    "tsc=reliable nosoftlockup=1 nmi_watchdog=0 nmi_watchdog=1",
    "idle=poll idle=nomwait nohz_full=2-3 nowatchdog",
    "idle=halt idle=other workqueue.unbound_cpus=2-3 isolcpus=4-7",
    "workqueue.unbound_cpus=2-3 isolcpus=2-7 nohz_full=2-7",
    "workqueue.unbound_cpus=4-9",
    'isolcpus="2-7" nohz-full=4-7 rcu-nocbs=2-7 -- irqaffinity=2',
    "isolcpus=2-7:3/2 nohz_full=5-3 rcu_nocbs=4-2",
    "highres=off nohz=no nohz=on nohz_full=4-7 hugepages=4,5 threadirqs=1 skew_tick=x",
)


@pytest.mark.parametrize("name", ["6.1", "6.12", "newest"])
def test_every_effect_is_the_state_of_the_kernel(name: str, tmp_path: Path) -> None:
    """By the machine as it is without the line, and as it is after the boot with it."""
    kernel = packaged_or_skip(KERNELS[name])
    host = probe(effects.boot(kernel, "", tmp_path / "plain"))

    def disagreements(at: int) -> dict[str, object]:
        """By key, what the kernel shows and what the Effect has."""
        shown = effects.boot(kernel, LINES[at], tmp_path / str(at))
        found: dict[str, object] = {}
        for machine in (probe(shown), host):
            effect = read(shown.read("/proc/cmdline") or "", host.kernel, machine)
            seen, expected = effects.of_kernel(shown), effects.of_effect(effect)
            found |= {k: (seen[k], expected[k]) for k in seen if seen[k] != expected[k]}
            found |= dict.fromkeys(effects.complaints(shown, effect), "a complaint")
        return found

    with ThreadPoolExecutor(_TOGETHER) as pool:
        found = dict(zip(LINES, pool.map(disagreements, range(len(LINES)))))
    wrong = {line: differs for line, differs in found.items() if differs}
    count = f"{len(LINES) - len(wrong)} of {len(LINES)}"
    results.add(kernel.release, "lines that try each rule of a boot line", count, "")
    assert wrong == {}
