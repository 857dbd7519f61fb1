# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU frequency, energy preference and turbo. For a guest only if its host passes them on."""

from typing import Optional

from lowlat.catalogue.entry import PARAMETERS, Evidence, Need, Risk, Target, Tunable, Value
from lowlat.catalogue.needs import ISOLATION, OWNS_FREQUENCY, PHYSICAL, config, done_by, feature

_CPU = "/sys/devices/system/cpu"
_PREFERENCE = f"{_CPU}/cpufreq/policy0/energy_performance_preference"

#: The files that switch turbo off, each with the value for it.
_TURBO = (Value(f"{_CPU}/intel_pstate/no_turbo", "1"), Value(f"{_CPU}/cpufreq/boost", "0"))


def _has_driver(target: Target) -> Optional[bool]:
    power = target.machine.power
    if power.frequency_driver:
        return True
    # A machine that reports an idle driver but no frequency driver has none.
    return False if power.idle_driver else None


def _has_performance(target: Target) -> Optional[bool]:
    governors = target.machine.power.governors
    return "performance" in governors if governors else _has_driver(target)


_PERFORMANCE = Need(
    _has_performance,
    "no frequency driver here offers the performance governor",
    "assumed: frequency driver not known",
    wants="a frequency driver with the performance governor",
)


def _shows(*paths: str) -> Need:
    """One of these files exists; unknown on a machine that does not report its driver."""

    def test(target: Target) -> Optional[bool]:
        if any(path in target.kernel.features for path in paths):
            return True
        return None if _has_driver(target) is None else False

    return Need(
        test,
        "the frequency driver here does not offer this setting",
        "assumed: frequency driver not known",
        wants=f"a frequency driver that offers {' or '.join(paths)}",
        features=paths,
    )


_BY_DEFAULT = feature("/sys/module/cpufreq/parameters/default_governor", "cpufreq.default_governor")

ENTRIES = (
    Tunable(
        name="cpufreq.default_governor",
        why="starts every CPU at its highest frequency, so that no work waits for the ramp-up",
        source=f"{PARAMETERS} cpufreq.default_governor; admin-guide/pm/cpufreq.rst",
        value="performance",
        needs=(OWNS_FREQUENCY, config("CPU_FREQ_GOV_PERFORMANCE"), _BY_DEFAULT),
        cost="more power",
        risk=Risk.POWER,
        stands_in=("scaling_governor",),
        accepts=r"performance",
        sign=Evidence(path=f"{_CPU}/cpufreq/policy0/scaling_governor"),
    ),
    Tunable(
        name="scaling_governor",
        silences={
            "thread: sugov:[0-9]*": "kernel/sched/cpufreq_schedutil.c sugov_kthread_create()",
            "thread: kworker/* (*dbs_work_handler*": "drivers/cpufreq/cpufreq_governor.c",
        },
        why="holds the isolated CPUs at their highest frequency",
        source="admin-guide/pm/cpufreq.rst",
        rows=(Value(f"{_CPU}/cpu{{cpu}}/cpufreq/scaling_governor", "performance"),),
        evidence="in cpuN/cpufreq, scaling_governor is performance, and scaling_max_freq equals "
        "cpuinfo_max_freq",
        sign=Evidence(path="scaling_max_freq", like="cpuinfo_max_freq"),
        needs=(ISOLATION, OWNS_FREQUENCY, _PERFORMANCE),
        cost="more power on the isolated CPUs",
        risk=Risk.POWER,
    ),
    Tunable(
        name="energy_performance_preference",
        why="tells the isolated CPUs to prefer speed over power where the processor chooses the "
        "frequency itself",
        source="admin-guide/pm/intel_pstate.rst; admin-guide/pm/amd-pstate.rst",
        rows=(Value(f"{_CPU}/cpu{{cpu}}/cpufreq/energy_performance_preference", "performance"),),
        needs=(ISOLATION, OWNS_FREQUENCY, _shows(_PREFERENCE)),
        unneeded=done_by(
            ("scaling_governor",),
            "with the performance governor, the driver itself prefers performance",
        ),
        cost="more power on the isolated CPUs",
        risk=Risk.POWER,
    ),
    Tunable(
        name="uncore.min_freq",
        why="holds caches, memory controllers and the mesh between them at their highest "
        "frequency, so that no access waits for them to speed up",
        source="admin-guide/pm/intel_uncore_frequency_scaling.rst",
        rows=(Value(f"{_CPU}/intel_uncore_frequency/{{package}}/min_freq_khz", "{khz}"),),
        needs=(
            PHYSICAL,
            Need(
                lambda target: bool(target.machine.power.uncore_khz),
                "the module intel_uncore_frequency shows no package here",
                wants="the module intel_uncore_frequency",
            ),
        ),
        cost="more power in every package, and less turbo headroom for its cores",
        risk=Risk.POWER,
    ),
    Tunable(
        name="turbo",
        why="keeps CPUs out of turbo frequencies: each change into or out of turbo halts the core "
        "for some microseconds",
        source="admin-guide/pm/intel_pstate.rst no_turbo; ABI/testing/sysfs-devices-system-cpu",
        rows=_TURBO,
        either=True,
        needs=(OWNS_FREQUENCY, _shows(*(row.path for row in _TURBO))),
        cost="every CPU loses a third of its speed or more",
        risk=Risk.THROUGHPUT,
    ),
)
