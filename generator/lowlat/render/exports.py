# SPDX-License-Identifier: GPL-2.0-or-later
"""A Plan in the formats of other systems, each with what the format cannot carry; and a request
with enough housekeeping CPUs for a kubelet."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from lowlat.base import encode
from lowlat.base.errors import Refused
from lowlat.base.terminal import plain
from lowlat.catalogue import lookup, operator
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.render.files import expand
from lowlat.render.hooks import RenderedFile

#: Run-time settings that the operator's TuneD profile, or one that it includes, sets too.
_OPERATOR_SETS = re.compile(
    r"hugepages|irq\.(default_)?smp_affinity|kernel\.(numa_balancing|timer_migration)|"
    r"kthread\.affinity|workqueue\.(writeback\.)?cpumask"
)

_HUGE_PAGES = re.compile(r".*/node/node(\d+)/hugepages/hugepages-(\d+)kB/nr_hugepages")
_SIZES = {64: "64k", 2 << 10: "2M", 32 << 10: "32M", 512 << 10: "512M", 1 << 20: "1G"}

#: Slices and scopes of everything that is not a pod.
_SYSTEM = {"init.scope": "Scope", "system.slice": "Slice", "user.slice": "Slice"}


def export(name: str, plan: Plan) -> tuple[tuple[RenderedFile, ...], tuple[str, ...]]:
    """A plan in the format of that name, and sentences on what the files cannot carry or the other
    system adds. Raises Refused if the plan isolates no CPU."""
    if not plan.isolated:
        why = f"--format {name}: profile {plan.profile} isolates no CPU"
        raise Refused(why, hint="choose another --profile")
    carried = _operator_sets if name == "performance-profile" else _is_written
    lost = ", ".join(dict.fromkeys(s.name for s in plan.runtime if not carried(s)))
    told = expand(f"exports/{name}.txt.j2", _plain, **_known(plan), lost=lost)
    return tuple(FORMATS[name](plan)), tuple(filter(None, told.splitlines()))


def _performance_profile(plan: Plan) -> Iterator[RenderedFile]:
    """For OpenShift's Node Tuning Operator: performance.openshift.io/v2."""
    known = _known(plan)
    words = [p.word for p in plan.parameters if p.name not in known["operators"]]
    known = {**known, "pages": list(_pages(plan)), "words": words}
    text = expand("exports/performance-profile.yaml.j2", encode.yaml, **known)
    yield RenderedFile("/performance-profile.yaml", 0o644, text)


def _kubelet(plan: Plan) -> Iterator[RenderedFile]:
    """For a plain kubelet: its drop-in, and those for services and the container runtime."""
    kept = str(plan.housekeeping)
    text = expand("exports/kubelet.conf.j2", encode.yaml, plan=plan)
    yield RenderedFile("/etc/kubernetes/kubelet.conf.d/90-lowlat.conf", 0o644, text)
    text = f"[crio.runtime]\ninfra_ctr_cpuset = {encode.yaml(kept)}\n"
    yield RenderedFile("/etc/crio/crio.conf.d/90-lowlat.conf", 0o644, text)
    for unit, kind in _SYSTEM.items():
        text = f"[{kind}]\nAllowedCPUs={encode.unit(kept)}\n"
        yield RenderedFile(f"/etc/systemd/system/{unit}.d/90-lowlat.conf", 0o644, text)


def _ignition(plan: Plan) -> Iterator[RenderedFile]:
    """For Ignition, specification 3.3.0, the first version with kernel arguments."""
    files = [
        {
            "path": f.path,
            "mode": f.mode,
            "overwrite": True,
            "contents": {"source": f"data:,{quote(f.content)}"},
        }
        for f in _by_systemd(plan, "/etc/tmpfiles.d", "/etc/lowlat")
    ]
    document = {
        "ignition": {"version": "3.3.0"},
        "kernelArguments": {"shouldExist": [parameter.word for parameter in plan.parameters]},
        "storage": {"files": files},
    }
    yield RenderedFile("/lowlat.ign", 0o644, json.dumps(document, indent=2) + "\n")


def _bootc(plan: Plan) -> Iterator[RenderedFile]:
    """For a bootc image: the boot line and the run-time values, to be copied by its build."""
    words = ", ".join(encode.yaml(parameter.word) for parameter in plan.parameters)
    yield RenderedFile("/usr/lib/bootc/kargs.d/90-lowlat.toml", 0o644, f"kargs = [{words}]\n")
    yield from _by_systemd(plan, "/usr/lib/tmpfiles.d", "/usr/share/lowlat")


#: By the format's name in --format.
FORMATS = {
    "performance-profile": _performance_profile,
    "kubelet": _kubelet,
    "ignition": _ignition,
    "bootc": _bootc,
}

#: Formats for nodes whose kubelet runs on the housekeeping CPUs.
KUBERNETES = ("performance-profile", "kubelet")


def _known(plan: Plan) -> dict[str, Any]:
    """``balanced``: the boot line leaves the isolated CPUs in load balancing. ``realtime``: the
    kernel's release contains "rt", which the operator interprets too. ``operators`` are the names
    of the words that every release of the operator writes for this profile."""
    isolated = [p.value for p in plan.parameters if p.name == "isolcpus"]
    realtime = bool(re.search(r"[.+-]rt", plan.kernel or ""))
    return {
        "plan": plan,
        "balanced": all(re.match(r"managed_irq,[0-9]", value) for value in isolated),
        "realtime": realtime,
        "operators": operator.always({"realTime"} if realtime else set()),
    }


def _pages(plan: Plan) -> Iterator[dict[str, object]]:
    for setting in plan.runtime:
        found = _HUGE_PAGES.fullmatch(setting.target)
        if found:
            size = _SIZES.get(int(found[2]), f"{found[2]}k")
            yield {"size": size, "count": int(setting.value), "node": int(found[1])}


def _by_systemd(plan: Plan, tmpfiles: str, folder: str) -> Iterator[RenderedFile]:
    """The run-time values for systemd-tmpfiles at boot, and the plan for verify."""
    settings = [setting for setting in plan.runtime if _is_written(setting)]
    text = expand("exports/lowlat.conf.j2", encode.tmpfiles, plan=plan, settings=settings)
    yield RenderedFile(f"{tmpfiles}/lowlat.conf", 0o644, text)
    yield RenderedFile(f"{folder}/plan.json", 0o644, plan.text())


def _is_written(setting: PlannedSetting) -> bool:
    """Whether the setting needs no more than writing a kernel file."""
    return setting.target.startswith("/") and lookup(setting.name).cgroup is None


def _operator_sets(setting: PlannedSetting) -> bool:
    return _OPERATOR_SETS.fullmatch(setting.name) is not None


def _plain(value: object) -> str:
    return plain(str(value))
