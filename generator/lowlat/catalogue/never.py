# SPDX-License-Identifier: GPL-2.0-or-later
"""Parameters found in blog posts that are never emitted, with the reason."""

from __future__ import annotations

NEVER = {
    "irqbalance": "a ban list of ours would replace the one it makes by itself of isolcpus and "
    "nohz_full",
    "kvm.lapic_timer_advance_ns": "gone by 6.12, where the kernel adapts by itself",
    "kthread_cpus": "no mainline kernel knows it; nohz_full moves kernel threads",
    "housekeeping": "no mainline kernel knows it; isolcpus and nohz_full take the isolated CPUs",
    "nosplitlock": "no kernel knows it; the parameter is split_lock_detect=",
    "idle=mwait": "current kernels reject it",
    "isolcpus=nohz": "before 6.17 it stops the tick only, and without CONFIG_NO_HZ_FULL it takes "
    "the whole parameter down; nohz_full does the work",
    "mce=off": "uncorrected memory errors would go unnoticed and corrupt data",
    "rcupdate.rcu_expedited": "makes more interrupts, not fewer",
    "nohz=off": "keeps the tick running on every CPU and defeats nohz_full",
    "pcie_aspm=force": "can lock devices up",
    "preempt=none": "kernels from 7.0 on reject it, and it lengthens scheduling delays",
    "preempt=voluntary": "kernels from 7.0 on reject it, and it lengthens scheduling delays",
    "processor.max_cstate=0": "means 1, not C0",
    "intel_idle.max_cstate=0": "does not mean C0: it hands over to acpi_idle",
    "tsc=reliable": "also skips the checks at boot; tsc=nowatchdog is what removes the noise",
    "numa_balancing": "takes enable or disable, not 0; kernel.numa_balancing sets it at run time",
    "nosmt": "halves the threads of the whole machine; whole cores are isolated instead",
    "mitigations": "buys throughput with security and no quiet: asynchronous noise stays",
    "selinux": "security, not noise",
    "audit": "security, not noise",
    "random.trust_cpu": "not noise",
    "arm64.nosve": "not noise",
    "rcupdate.rcu_cpu_stall_suppress": "only hides warnings",
    "hpet=disable": "removes the reference that the clock watchdog needs",
}
