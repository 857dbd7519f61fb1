# SPDX-License-Identifier: GPL-2.0-or-later
"""A Plan in the forms of other systems, each with what is lost on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Callable
from urllib.parse import quote

from lowlat.base import encode
from lowlat.base.errors import Refused
from lowlat.catalogue import lookup
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.render.files import expand
from lowlat.render.hooks import RenderedFile

#: Boot parameters that the Node Tuning Operator writes itself, from the two CPU lists.
_OPERATORS = frozenset({"isolcpus", "nohz_full", "rcu_nocbs", "skew_tick", "systemd.cpu_affinity"})

#: Run-time settings that the operator's own TuneD profile, or one that it includes, sets as well.
_OPERATOR_SETS = frozenset(
    {
        "hugepages",
        "irq.default_smp_affinity",
        "irq.smp_affinity",
        "kernel.numa_balancing",
        "kernel.timer_migration",
        "kthread.affinity",
        "workqueue.cpumask",
        "workqueue.writeback.cpumask",
    }
)

_HUGE_PAGES = re.compile(r".*/node/node(\d+)/hugepages/hugepages-(\d+)kB/nr_hugepages")

#: What "rt" in a kernel's release says to the operator, too.
_REALTIME = re.compile(r"[.+-]rt")

#: Values that can be written to a file as they are.
_WRITABLE = ("/proc/", "/sys/")

_REALTIME_GAP = (
    "for the real-time kernel the operator adds nosoftlockup, rcutree.kthread_prio=11 and, on x86, "
    "tsc=reliable, nmi_watchdog=0 and mce=off, which hides memory errors: a Tuned object that "
    "includes openshift-node-performance-lowlat takes a word back by cmdline_lowlat=-mce=off"
)
_NO_TRIAL = "there is no trial, and no way back by itself"


@dataclass(frozen=True)
class Export:
    """The files, and what they cannot carry or the other side adds: ``gaps``, a sentence each."""

    files: tuple[RenderedFile, ...]
    gaps: tuple[str, ...] = ()


def performance_profile(plan: Plan) -> Export:
    """For OpenShift's Node Tuning Operator: performance.openshift.io/v2."""
    realtime = bool(_REALTIME.search(plan.kernel or ""))
    text = expand(
        "kubernetes/performance-profile.yaml.j2",
        encode.yaml,
        plan=plan,
        balanced=not _domains(plan),
        realtime=realtime,
        pages=list(_pages(plan.runtime)),
        words=[p.word for p in plan.parameters if p.name not in _OPERATORS],
    )
    gaps = [
        *_not_carried(setting for setting in plan.runtime if setting.name not in _OPERATOR_SETS),
        "the operator writes its own boot line around it: nohz=on, nohz_full=, rcu_nocbs=, "
        "skew_tick=1, isolcpus=managed_irq, tuned.non_isolcpus= and systemd.cpu_affinity=, on x86 "
        "also iommu=pt, intel_iommu=on (Intel) and a mode of the frequency driver",
        "the operator's TuneD profile sets more: the performance governor and light idle states "
        "on every CPU, no transparent huge pages, and priorities of ksoftirqd and rcuc",
        *([_REALTIME_GAP] if realtime else []),
        *_balancing(plan),
        "pods without exclusive CPUs run on the isolated ones that no other pod has",
        "every node of the pool needs these CPU numbers: one profile and pool for each class",
        f"the Machine Config Operator reboots the pool into it: {_NO_TRIAL}",
    ]
    return Export((RenderedFile("/performance-profile.yaml", 0o644, text),), tuple(gaps))


def kubelet(plan: Plan) -> Export:
    """For a plain kubelet: its drop-in, and what keeps services and the runtime on its CPUs."""
    units = ("init.scope", "system.slice", "user.slice")
    kept = str(plan.housekeeping)
    allowed = f"[{{}}]\nAllowedCPUs={encode.unit(kept)}\n"
    files = [
        RenderedFile(
            "/etc/kubernetes/kubelet.conf.d/90-lowlat.conf",
            0o644,
            expand("kubernetes/kubelet.conf.j2", encode.yaml, plan=plan),
        ),
        RenderedFile(
            "/etc/crio/crio.conf.d/90-lowlat.conf",
            0o644,
            f"[crio.runtime]\ninfra_ctr_cpuset = {encode.yaml(kept)}\n",
        ),
    ]
    for unit in units:
        path = f"/etc/systemd/system/{unit}.d/90-lowlat.conf"
        content = allowed.format(unit.partition(".")[2].capitalize())
        files.append(RenderedFile(path, 0o644, content))
    line = f"apply --profile {plan.profile} --isolate {plan.isolated}"
    gaps = [
        f"it carries neither boot line nor run-time settings: 'lowlat-gen {line}' on the node does",
        *_balancing(plan),
        "the kubelet reads the folder only with --config-dir=/etc/kubernetes/kubelet.conf.d",
        "kubelets before 1.32 do not know strict-cpu-reservation and do not start with it",
        "a kubelet that ran with another CPU policy does not start either: drain the node, then "
        "delete /var/lib/kubelet/cpu_manager_state",
        "containerd has no setting for its pause containers, which may run on isolated CPUs; "
        "CRI-O has",
        "AllowedCPUs= needs control groups v2",
    ]
    return Export(tuple(files), tuple(gaps))


def ignition(plan: Plan) -> Export:
    """For Ignition, specification 3.3.0, the first with kernel arguments."""
    files = [
        {
            "path": file.path,
            "mode": file.mode,
            "overwrite": True,
            "contents": {"source": f"data:,{quote(file.content)}"},
        }
        for file in _by_systemd(plan, "/etc/tmpfiles.d", "/etc/lowlat")
    ]
    document = {
        "ignition": {"version": "3.3.0"},
        "kernelArguments": {"shouldExist": [parameter.word for parameter in plan.parameters]},
        "storage": {"files": files},
    }
    text = json.dumps(document, indent=2) + "\n"
    gaps = [
        *_systemd_gaps(plan),
        "Ignition acts at a machine's first boot only: an installed one keeps what it has",
        "every machine that gets it needs these CPU numbers: one for each class",
        f"the first boot has it already: {_NO_TRIAL}",
    ]
    return Export((RenderedFile("/lowlat.ign", 0o644, text),), tuple(gaps))


def bootc(plan: Plan) -> Export:
    """For an image of bootc's: the boot line and the run-time values as its build copies them."""
    words = ", ".join(encode.yaml(parameter.word) for parameter in plan.parameters)
    kargs = RenderedFile("/usr/lib/bootc/kargs.d/90-lowlat.toml", 0o644, f"kargs = [{words}]\n")
    options = f"--source lowlat --options '{plan.cmdline.text}'"
    gaps = [
        *_systemd_gaps(plan),
        "every machine of the image needs these CPU numbers; for one machine alone (ostree 2026.1 "
        f"and newer): bootc loader-entries set-options-for-source {options}",
        f"the update boots into it: {_NO_TRIAL}; 'bootc rollback' is by hand",
    ]
    files = (kargs, *_by_systemd(plan, "/usr/lib/tmpfiles.d", "/usr/share/lowlat"))
    return Export(files, tuple(gaps))


#: By the name that --format takes.
FORMATS: Mapping[str, Callable[[Plan], Export]] = MappingProxyType(
    {
        "performance-profile": performance_profile,
        "kubelet": kubelet,
        "ignition": ignition,
        "bootc": bootc,
    }
)

#: Those of nodes on whose housekeeping CPUs a kubelet has to live.
KUBERNETES = frozenset({"performance-profile", "kubelet"})


def export(name: str, plan: Plan) -> Export:
    """A plan in the form of that name. Raises Refused where it isolates no CPU."""
    if not plan.isolated:
        raise Refused(
            f"--format {name}: profile {plan.profile} isolates no CPU",
            hint="choose another --profile",
        )
    return FORMATS[name](plan)


def _domains(plan: Plan) -> bool:
    """Whether the boot line takes the isolated CPUs out of load balancing."""
    values = [p.value for p in plan.parameters if p.name == "isolcpus"]
    return any(not re.match(r"managed_irq,[0-9]", value) for value in values)


def _balancing(plan: Plan) -> Iterator[str]:
    if _domains(plan):
        yield (
            "isolcpus= takes the isolated CPUs out of load balancing: of a container with several "
            "of them all threads stay on one unless it places them; --disable isolcpus leaves "
            "balancing on"
        )


def _pages(settings: Iterable[PlannedSetting]) -> Iterator[dict[str, object]]:
    for setting in settings:
        found = _HUGE_PAGES.fullmatch(setting.target)
        if found:
            kib = int(found[2])
            size = next(
                f"{kib >> bits}{unit}"
                for bits, unit in ((20, "G"), (10, "M"), (0, "k"))
                if kib >> bits
            )
            yield {"size": size, "count": int(setting.value), "node": int(found[1])}


def _by_systemd(plan: Plan, tmpfiles: str, folder: str) -> Iterator[RenderedFile]:
    """The run-time values as systemd-tmpfiles writes them at boot, and the plan for verify."""
    lines = [encode.tmpfiles(s.target, s.value) for s in plan.runtime if _writable(s)]
    head = f"# SPDX-License-Identifier: GPL-2.0-or-later\n# Plan {plan.id} of lowlat-gen.\n"
    yield RenderedFile(f"{tmpfiles}/lowlat.conf", 0o644, head + "".join(lines))
    yield RenderedFile(f"{folder}/plan.json", 0o644, plan.text())


def _writable(setting: PlannedSetting) -> bool:
    """Whether writing a file is all that the setting takes."""
    return setting.target.startswith(_WRITABLE) and lookup(setting.name).cgroup is None


def _systemd_gaps(plan: Plan) -> Iterator[str]:
    yield from _not_carried(setting for setting in plan.runtime if not _writable(setting))
    yield (
        "systemd-tmpfiles writes the run-time values once a boot: devices that come later keep "
        "their own, and nothing puts old values back"
    )


def _not_carried(settings: Iterable[PlannedSetting]) -> Iterator[str]:
    names = ", ".join(dict.fromkeys(setting.name for setting in settings))
    if names:
        yield f"run-time settings that it does not carry: {names}"
