# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no entry, though documents about low latency name it: with the reason, or with what to do
instead. The names are those of the kernel, or of the tool that sets it."""

from __future__ import annotations

_BANNED = "a ban list of ours would replace the one it makes by itself of isolcpus and nohz_full"
_HUGEPAGES = (
    "a size belongs before its count ('default_hugepagesz=1G hugepagesz=1G hugepages=N'); the "
    "setting hugepages sets pages of any size aside at run time"
)
_SIBLINGS = (
    "whoever can do without half the threads takes the siblings of isolated cores offline before "
    "planning: echo 0 >/sys/devices/system/cpu/cpuN/online"
)
_RESCTRL = (
    "a cache partition needs the work's own size: mount -t resctrl, then a group for the isolated "
    "CPUs whose mask overlaps no other, and few ways for the default group (pqos does it)"
)
_LATENCY = (
    "it bounds every CPU while a program holds it open: the work may open it and write 0 while it "
    "runs; pm_qos_resume_latency_us bounds the isolated CPUs and stays"
)

#: Harmful, useless or unknown to the kernel: never set.
NEVER = {
    # isolation and RCU
    "cpuset.cpus.exclusive": "lowlat.slice lies at the top, where a partition needs no such list",
    "sched_load_balance": "of control groups v1 only; cpuset.partition is what v2 has",
    "kthread_cpus": "no mainline kernel knows it; nohz_full moves kernel threads",
    "housekeeping": "no mainline kernel knows it; isolcpus and nohz_full take the isolated CPUs",
    "isolcpus=nohz": "before 6.17 it stops the tick only, and without CONFIG_NO_HZ_FULL it takes "
    "the whole parameter down; nohz_full does the work",
    "nohz": "on is the default, and nohz=off keeps the tick running on every CPU and defeats "
    "nohz_full",
    "rcutree.use_softirq": "PREEMPT_RT kernels do it by themselves, and elsewhere it trades a "
    "softirq for a thread on the same CPU",
    "rcutree.rcu_normal_wake_from_gp": "shortens waiting for grace periods, not noise; newer "
    "kernels choose it by themselves",
    "/sys/kernel/rcu_normal": "rcupdate.rcu_normal_after_boot sets it once the system is up",
    "/sys/kernel/rcu_expedited": "makes more interrupts, not fewer",
    "rcupdate.rcu_normal": "slows the boot down; rcupdate.rcu_normal_after_boot does the same once "
    "the system is up",
    "rcupdate.rcu_expedited": "makes more interrupts, not fewer",
    "rcupdate.rcu_cpu_stall_suppress": "only hides warnings",
    "preempt=none": "kernels from 7.0 on reject it, and it lengthens scheduling delays",
    "preempt=voluntary": "kernels from 7.0 on reject it, and it lengthens scheduling delays",
    # workqueues
    "/sys/bus/workqueue/devices/<wq>/cpumask": "workqueue.cpumask bounds them all; that of "
    "writeback is set beside it, because it does the most work",
    "workqueue.cpu_intensive_thresh_us": "decides which work counts as long, not where it runs",
    "workqueue.default_affinity_scope": "places unbound work among the housekeeping CPUs only",
    "workqueue.disable_numa": "newer kernels do not have it, and it moves no work off a CPU",
    # idle, frequency, clocks
    "idle=halt": "sleeps by HLT alone and keeps the idle driver from loading; "
    "intel_idle.max_cstate bounds the sleep with the driver in place",
    "idle=nomwait": "keeps the better idle driver from loading; intel_idle.max_cstate bounds the "
    "sleep",
    "nohalt": "of the IA-64 architecture, which current kernels do not have",
    "idle=mwait": "current kernels reject it",
    "idle=wfi": "only kernels after 7.0 know it on ARM; cpuidle.off does the same on all",
    "idle=yield": "only kernels after 7.0 know it on ARM; nohlt keeps CPUs awake on all",
    "idle=nop": "only kernels after 7.0 know it on ARM; nohlt keeps CPUs awake on all",
    "intel_idle.max_cstate=0": "does not mean C0: it hands over to acpi_idle",
    "processor.max_cstate=0": "means 1, not C0",
    "intel_idle.states_off": "the numbers of the states differ from processor to processor; "
    "intel_idle.max_cstate and pm_qos_resume_latency_us bound them by depth and by time",
    "intel_idle.no_acpi": "chooses the table of idle states, not their depth",
    "intel_idle.use_acpi": "chooses the table of idle states, not their depth",
    "intel_idle.preferred_cstates": "chooses between C1 and C1E on a few processors; "
    "pm_qos_resume_latency_us bounds the isolated CPUs on all",
    "intel_idle.ibrs_off": "a security setting of one processor generation, not noise",
    "cpuidle.governor": "pm_qos_resume_latency_us bounds what any of them chooses",
    "cpuidle/stateM/disable": "the numbers of the states differ from processor to processor; "
    "pm_qos_resume_latency_us bounds them by time",
    "intel_pstate": "disable loses turbo control and the energy preference to acpi-cpufreq; the "
    "governor performance holds the frequency with the driver in place",
    "amd_pstate": "disable loses the energy preference to acpi-cpufreq; the governor performance "
    "holds the frequency with the driver in place",
    "amd_prefcore": "ranks cores for tasks that are not pinned; pinned ones gain nothing",
    "intel_pstate/min_perf_pct": "the governor performance asks for the highest frequency already",
    "intel_pstate/max_perf_pct": "lowers the highest frequency; turbo is what switches turbo off",
    "intel_pstate/hwp_dynamic_boost": "helps tasks that wait for disks, not those that run",
    "intel_pstate/energy_efficiency": "follows the governor: performance switches it off",
    "tsc=reliable": "also skips the checks at boot; tsc=nowatchdog is what removes the noise",
    "tsc=recalibrate": "measures the TSC anew; tsc=nowatchdog is what removes the noise",
    "tsc=watchdog": "adds the clock watchdog, and changed its meaning in 7.3",
    "hpet=disable": "removes the reference that the clock watchdog needs",
    "no-kvmclock": "time in the guest would be wrong after a migration",
    "lapic=notscdeadline": "programs timers the slow way; it removes no interrupt",
    # fault detection
    "watchdog_thresh": "0 switches both lockup detectors off everywhere, as nowatchdog does by "
    "name; other values only move the noise",
    "kernel.hung_task_timeout_secs": "its thread belongs to no CPU and follows the others; 0 hides "
    "tasks that hang",
    "mce=off": "uncorrected memory errors would go unnoticed and corrupt data",
    "mce=dont_log_ce": "hides the errors and keeps the work",
    "nosplitlock": "no kernel knows it; the parameter is split_lock_detect=",
    "kernel.perf_cpu_time_max_percent": "switches the throttling of perf off, not perf: its "
    "interrupts may then take longer",
    "kernel.perf_event_paranoid": "decides who may use perf, not whether it runs",
    "acpi_pad": "ignores the firmware's call for less power in an emergency",
    "acpi_irq_*": "chooses the interrupt of ACPI, which irqaffinity places already",
    "nohibernate": "not noise",
    # memory
    "vm.swappiness": "shifts when pages are written out, not where; lock the work's memory "
    "(mlockall)",
    "vm.dirty_ratio": "shifts when pages are written out, not where; "
    "workqueue.writeback.cpumask decides where",
    "numa_balancing": "takes enable or disable, not 0; kernel.numa_balancing sets it at run time",
    # security
    "selinux": "security, not noise",
    "apparmor": "security, not noise",
    "audit": "security, not noise",
    "random.trust_cpu": "not noise",
    "noht": "no kernel of today knows it; nosmt is what switches second threads off",
    "noirqbalance": "no kernel of today balances interrupts; irqaffinity places them",
    "nosmt": "halves the threads of the whole machine; whole cores are isolated instead",
    "intel_iommu=off": "can keep a machine with many CPUs from booting; iommu.passthrough leaves "
    "interrupt remapping in place",
    "amd_iommu": "is on by default, and on is no value of it",
    "iommu.strict": "distributions flush lazily already, which is what 0 asks for",
    # devices and virtual machines
    "pcie_aspm=off": "leaves the links as the firmware set them; pcie_aspm.policy keeps them awake",
    "pcie_aspm=force": "can lock devices up",
    "kvm.lapic_timer_advance_ns": "gone by 6.12, where the kernel adapts by itself",
    "kvm.lapic_timer_advance": "is on by default",
    "kvm.halt_poll_ns": "the host polls by default; it matters to CPUs that guests share",
    "no-steal-acc": "changes what is shown, not what happens",
    "arm64.nosve": "not noise",
    "arm64.nosme": "not noise",
    "arm64.nomte": "not noise",
    "irqchip.gicv3_pseudo_nmi": "makes masking interrupts dearer, for diagnostics only",
    "irqbalance": _BANNED,
    "IRQBALANCE_BANNED_CPULIST": _BANNED,
    "IRQBALANCE_BANNED_CPUS": _BANNED,
    # scheduler
    "sched/features": "kernels from 5.10 on have what used to be set (NO_RT_RUNTIME_SHARE), and "
    "writing it interrupts every CPU",
    "kernel.sched_latency_ns": "a task that has its CPU to itself is not divided; newer "
    "kernels do not have the name",
    "kernel.sched_min_granularity_ns": "a task that has its CPU to itself is not divided; newer "
    "kernels do not have the name",
    "kernel.sched_migration_cost_ns": "isolated CPUs take part in no balancing; newer kernels do "
    "not have the name",
    "sched/base_slice_ns": "a task that has its CPU to itself is not divided",
    "ext_server": "serves sched_ext, which lowlat does not start; fair_server is its twin",
    "kernel.sched_autogroup_enabled": "divides time among sessions on one CPU: not noise",
}

_MITIGATIONS = (
    "off makes system calls, interrupts and exits of guests faster by a microsecond or less, but "
    "none rarer, and lets programs read what they may not: whoever trusts everything that runs on "
    "the machine may decide it"
)

#: Useful to some, but decided by the work or by another tool: what to do instead.
ELSEWHERE = {
    "/dev/cpu_dma_latency": _LATENCY,
    "force_latency": _LATENCY,
    "hugepagesz": _HUGEPAGES,
    "default_hugepagesz": _HUGEPAGES,
    "CPUSetPartition": "the newest systemd can make a partition of a slice of yours; "
    "cpuset.partition makes lowlat.slice one on every version",
    "resctrl.housekeeping": _RESCTRL,
    "resctrl": _RESCTRL,
    "rdt": "resctrl uses what the processor offers without it",
    "net.core.rps_default_mask": "the mask of interfaces made later, for machines that steer "
    "packets (RPS): give it the housekeeping CPUs",
    "queues": "ethtool -L DEVICE combined N, with as many queues as there are housekeeping CPUs; "
    "it makes new interrupts, so start the profile again after it",
    "coalescing": "ethtool -C DEVICE adaptive-rx off rx-usecs 0, where the driver knows it",
    "net.core.netdev_budget": "decides how long one round of packets takes on a housekeeping CPU: "
    "measure before you change it",
    "smt.siblings": _SIBLINGS,
    "cpuN/online": _SIBLINGS,
    "mitigations": _MITIGATIONS,
    "kpti": _MITIGATIONS,
    "cgroup_disable": "pressure stops the accounting for each control group: psi=0 stops all of it",
    "quiet": "slow consoles hold interrupts off: add quiet, or log to a console over the network",
    "kernel.printk": "slow consoles hold interrupts off: sysctl kernel.printk=3 keeps all but "
    "errors off them",
    "modprobe.blacklist": "what a module does at run time decides: name it yourself",
    "bootconfig": "parameters of a configuration appended to the initramfs: lowlat uses the "
    "command line, which every loader shows",
}

#: Other names by which documents know an entry.
ALIASES = {
    "smp_affinity": "irq.smp_affinity",
    "smp_affinity_list": "irq.smp_affinity",
    "writeback": "workqueue.writeback.cpumask",
    "default_smp_affinity": "irq.default_smp_affinity",
    "/sys/devices/virtual/workqueue/cpumask": "workqueue.cpumask",
    "nmi_watchdog": "kernel.nmi_watchdog",
    "watchdog_cpumask": "kernel.watchdog_cpumask",
    "ignore_ce": "mce",
    "check_interval": "machinecheck.check_interval",
    "split_lock_mitigate": "kernel.split_lock_mitigate",
    "khugepaged": "khugepaged.defrag",
    "ksm": "ksm.run",
    "iommu": "iommu.passthrough",
    "intel_pstate/no_turbo": "turbo",
    "cpufreq/boost": "turbo",
    "rps_cpus": "net.rps_cpus",
    "xps_cpus": "net.xps_cpus",
    "/sys/class/net/X/threaded": "net.threaded",
    "napi_defer_hard_irqs": "net.napi",
    "gro_flush_timeout": "net.napi",
    "intel_uncore_frequency": "uncore.min_freq",
    "busy_poll": "net.core.busy_poll",
    "busy_read": "net.core.busy_read",
    "AllowedCPUs": "cpuset.cpus",
    "CPUAffinity": "systemd.cpu_affinity",
    "cpuset.cpus.partition": "cpuset.partition",
    "timer_migration": "kernel.timer_migration",
    "sched_rt_runtime_us": "kernel.sched_rt_runtime_us",
    "sched_rt_runtime": "kernel.sched_rt_runtime_us",
}
