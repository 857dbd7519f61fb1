# SPDX-License-Identifier: GPL-2.0-or-later
"""A Plan in the formats of other systems, each with what the format cannot carry; and a request
with enough housekeeping CPUs for a kubelet."""

import json
from collections.abc import Iterator
from urllib.parse import quote

from lowlat.base import encode
from lowlat.base.errors import Refused
from lowlat.base.terminal import plain
from lowlat.catalogue import lookup
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.render.files import expand
from lowlat.render.hooks import RenderedFile
from lowlat.render.performance_profile import PerformanceProfile, Pool

#: Slices and scopes of everything that is not a pod.
_SYSTEM = {"init.scope": "Scope", "system.slice": "Slice", "user.slice": "Slice"}


def export(name: str, plan: Plan, pool: Pool) -> tuple[tuple[RenderedFile, ...], tuple[str, ...]]:
    """A plan in the format of that name, and sentences on what the files cannot carry or the other
    system adds; ``pool`` has what a PerformanceProfile needs beyond the plan. Raises Refused if the
    plan isolates no CPU."""
    if not plan.isolated:
        why = f"--format {name}: profile {plan.profile} isolates no CPU"
        raise Refused(why, hint="choose another --profile")
    profile = PerformanceProfile(plan, pool)
    carried = profile.sets if name == "performance-profile" else _is_written
    lost = ", ".join(dict.fromkeys(s.name for s in plan.runtime if not carried(s)))
    told = expand(f"exports/{name}.txt.j2", _plain, plan=plan, profile=profile, lost=lost)
    return tuple(FORMATS[name](profile)), tuple(filter(None, told.splitlines()))


def _performance_profile(profile: PerformanceProfile) -> Iterator[RenderedFile]:
    """For OpenShift's Node Tuning Operator: performance.openshift.io/v2."""
    known = {"profile": profile, "spec": profile.spec}
    text = expand("exports/performance-profile.yaml.j2", encode.yaml, **known)
    yield RenderedFile("/performance-profile.yaml", 0o644, text)


def _kubelet(profile: PerformanceProfile) -> Iterator[RenderedFile]:
    """For a plain kubelet: its drop-in, and those for services and the container runtime."""
    plan, kept = profile.plan, str(profile.plan.housekeeping)
    text = expand("exports/kubelet.conf.j2", encode.yaml, plan=plan)
    yield RenderedFile("/etc/kubernetes/kubelet.conf.d/90-lowlat.conf", 0o644, text)
    text = f"[crio.runtime]\ninfra_ctr_cpuset = {encode.yaml(kept)}\n"
    yield RenderedFile("/etc/crio/crio.conf.d/90-lowlat.conf", 0o644, text)
    for unit, kind in _SYSTEM.items():
        text = f"[{kind}]\nAllowedCPUs={encode.unit(kept)}\n"
        yield RenderedFile(f"/etc/systemd/system/{unit}.d/90-lowlat.conf", 0o644, text)


def _ignition(profile: PerformanceProfile) -> Iterator[RenderedFile]:
    """For Ignition, specification 3.3.0, the first version with kernel arguments."""
    plan = profile.plan
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


def _bootc(profile: PerformanceProfile) -> Iterator[RenderedFile]:
    """For a bootc image: the boot line and the run-time values, to be copied by its build."""
    plan = profile.plan
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


def _by_systemd(plan: Plan, tmpfiles: str, folder: str) -> Iterator[RenderedFile]:
    """The run-time values for systemd-tmpfiles at boot, and the plan for verify."""
    settings = [setting for setting in plan.runtime if _is_written(setting)]
    text = expand("exports/lowlat.conf.j2", encode.tmpfiles, plan=plan, settings=settings)
    yield RenderedFile(f"{tmpfiles}/lowlat.conf", 0o644, text)
    yield RenderedFile(f"{folder}/plan.json", 0o644, plan.text())


def _is_written(setting: PlannedSetting) -> bool:
    """Whether the setting needs no more than writing a kernel file."""
    return setting.target.startswith("/") and lookup(setting.name).cgroup is None


def _plain(value: object) -> str:
    return plain(str(value))
