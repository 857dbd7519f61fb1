# SPDX-License-Identifier: GPL-2.0-or-later
"""``render --format``: each format passes its reader's own parser, and lists what it cannot
express."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Optional
from urllib.parse import unquote

import pytest

from lowlat.host.archive import open_root
from lowlat.kernel.effect import Effect
from lowlat.kernel.effect import read as read_effect
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.probe import probe
from support import needs
from support.cli import Answer, lowlat
from support.machines import machine, write_tree
from support.waits import GUARD_S

DATA = Path(__file__).parents[1] / "data"
FORMATS = ("performance-profile", "kubelet", "ignition", "bootc")
CONFIG = "CONFIG_HUGETLBFS=y\nCONFIG_CPU_ISOLATION=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n"
CONFIG += "CONFIG_X86_MCE=y\n"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "host", machine(cpus=16, threads=2, config=CONFIG))


def render(host: Path, name: str, *more: str) -> tuple[Path, Answer]:
    out = host.parent / name
    answer = lowlat("render", "--root", host, "--format", name, "--out", out, *more)
    assert answer.status == 0, answer.err
    return out, answer


def plan_of(host: Path, *more: str) -> Any:
    return lowlat("plan", "--root", host, "--json", *more).json()


def performance_profile(host: Path, *more: str) -> tuple[Any, Answer]:
    yaml = needs.module("yaml", "PyYAML is not installed")
    out, answer = render(host, "performance-profile", *more)
    return yaml.safe_load((out / "performance-profile.yaml").read_text()), answer


def strict(node: Any) -> Any:
    """The schema with the strictness of the operator's decoder: an unknown field is an error."""
    if isinstance(node, dict):
        found = {key: strict(value) for key, value in node.items()}
        return {**found, "additionalProperties": False} if "properties" in found else found
    return [strict(item) for item in node] if isinstance(node, list) else node


def schema_errors(profile: Any) -> list[str]:
    jsonschema = needs.module("jsonschema", "jsonschema is not installed")
    schema = strict(json.loads((DATA / "performance-profile-v2.schema.json").read_text()))
    schema["properties"]["metadata"] = {"type": "object"}
    found = jsonschema.Draft202012Validator(schema).iter_errors(profile)
    return [error.message for error in found]


def webhook_errors(profile: Any) -> list[str]:
    """The rules of the operator's webhook (performanceprofile_validation.go) for the fields that
    lowlat writes; rules that need a cluster are left out."""
    spec, errors = profile["spec"], []
    sets = {name: CpuSet.parse_list(spec["cpu"].get(name, "")) for name in ("reserved", "isolated")}
    offlined = CpuSet.parse_list(spec["cpu"].get("offlined", ""))
    errors += [f"{name} CPUs can not be empty" for name, cpus in sets.items() if not cpus]
    if sets["reserved"] & sets["isolated"] or offlined & (sets["reserved"] | sets["isolated"]):
        errors.append("cpus overlap")
    key = next(iter(spec["nodeSelector"]))
    if len(spec["nodeSelector"]) != 1 or not re.fullmatch(r"[^/]+/[^/]+", key):
        errors.append("nodeSelector is not one domain/role")
    pages = spec.get("hugepages", {}).get("pages", [])
    if pages and spec["hugepages"].get("defaultHugepagesSize") not in ("2M", "1G"):
        errors.append("defaultHugepagesSize must be specified")
    if any(page["size"] not in ("2M", "1G") for page in pages):
        errors.append("no such page size")
    if len({(page["size"], page.get("node")) for page in pages}) < len(pages):
        errors.append("page has duplication")
    realtime = spec["realTimeKernel"]["enabled"]
    if realtime and not spec["workloadHints"]["realTime"]:
        errors.append("realtime kernel is enabled, but the hint is disabled")
    return errors


def test_every_format_tells_its_gaps_and_writes_what_it_names(host: Path) -> None:
    for name in FORMATS:
        out, answer = render(host, name)
        told, _, gaps = answer.out.partition("\n\n")
        files = sorted(str(path) for path in out.rglob("*") if path.is_file())
        assert sorted(told.split()) == files
        assert gaps.startswith(f"What {name} leaves out") and gaps.count("\n  - ") >= 3


def test_a_performance_profile_is_the_plan(host: Path) -> None:
    profile, answer = performance_profile(host)
    plan = plan_of(host, "--isolate", profile["spec"]["cpu"]["isolated"])
    assert schema_errors(profile) == [] and webhook_errors(profile) == []
    spec = profile["spec"]
    assert spec["cpu"]["reserved"] == plan["cpus"]["housekeeping"]
    # Every release of the operator writes these words; they would be on the line twice.
    theirs = {"isolcpus", "rcu_nocbs", "skew_tick", "rcupdate.rcu_normal_after_boot"}
    words = [p["name"] for p in plan["cmdline"]["parameters"] if p["name"] not in theirs]
    # Up to 4.22 it writes nohz_full for the hint realTime alone.
    assert "nohz_full" in words
    assert [word.partition("=")[0] for word in spec["additionalKernelArgs"]] == words
    assert spec["cpu"]["balanceIsolated"] is False and "load balancing" in answer.out
    assert spec["numa"] == {"topologyPolicy": "single-numa-node"}
    assert "mce=off" not in answer.out and "intel_pstate" in answer.out
    (host / "proc/cpuinfo").write_text("vendor_id\t: AuthenticAMD\nmodel name\t: Test CPU\n")
    assert "intel_pstate" not in performance_profile(host)[1].out


#: Options of a profile, and the releases of the operator that it shall be right for.
RELEASES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((), ("4.11", "4.15", "4.18", "4.22", "4.23", "5.1")),
    (("--openshift", "4.11", "--profile", "lowlat-poll"), ("4.11",)),
    (("--openshift", "4.18"), ("4.18",)),
    (("--openshift", "4.18", "--enable", "hugepages=1G:1@0"), ("4.18",)),
    (("--openshift", "4.23", "--disable", "isolcpus"), ("4.23",)),
    (("--openshift", "4.23", "--isolate", "a=4-9,v=10-15", "--ovs-dpdk", "v"), ("4.23",)),
    (("--openshift", "4.16", "--isolate", "4-15", "--shared", "2-3"), ("4.16", "4.22")),
]


@pytest.mark.parametrize("release", ["6.12.107-test", "5.14.0-427.rt.el9.x86_64"])
def test_the_operators_line_is_the_plans_or_the_gap_is_told(tmp_path: Path, release: str) -> None:
    """By the effect on the kernel, for each release."""
    files = machine(cpus=16, threads=2, config=CONFIG, release=release)
    host = write_tree(tmp_path / "host", files)
    here = probe(open_root(str(host)))
    for options, releases in RELEASES[: 3 if "rt" in release else None]:
        profile, answer = performance_profile(host, *options)
        assert schema_errors(profile) == [] and webhook_errors(profile) == []
        told = re.search(r"adds to the plan's boot line: (.*?) - ", " ".join(answer.out.split()))
        added = told[1].split() if told else []
        cpu = profile["spec"]["cpu"]
        isolated = ",".join(filter(None, (cpu["isolated"], cpu.get("ovsDpdk"))))
        ours = plan_of(host, *planned(options), "--isolate", isolated)["cmdline"]["text"].split()
        for version in releases:
            words = operators_words(host, version)
            assert "--openshift" not in options or set(added) <= set(words) - set(ours)
            rest = [word for word in words if word not in added]
            assert effect(here, rest) == effect(here, ours), (options, version)
            assert added or effect(here, words) == effect(here, ours)
            names = [word.partition("=")[0] for word in words]
            twice = {name for name in names if names.count(name) > 1}
            assert "--openshift" not in options or twice <= {"tsc", "irqaffinity"}


def planned(options: tuple[str, ...]) -> list[str]:
    """Those that are plan's too, without the choice of the CPUs."""
    pairs = zip(options[::2], options[1::2])
    kept = ("--profile", "--enable", "--disable")
    return [word for pair in pairs if pair[0] in kept for word in pair]


def operators_words(host: Path, version: str) -> list[str]:
    """The line of a release's operator around the profile that was written last, without the words
    that TuneD alone reads."""
    path = host.parent / "performance-profile/performance-profile.yaml"
    answer = lowlat("lint", "--root", host, path, "--openshift", version, "--json")
    words = [word["word"] for word in answer.json()["words"]]
    return [word for word in words if not word.startswith("tuned.")]


def effect(here: Machine, words: list[str]) -> Effect:
    return read_effect(" ".join(words), here.kernel, here)


def test_openvswitch_and_pods_that_share_get_their_cpus(host: Path) -> None:
    profile, _ = performance_profile(host, *RELEASES[5][0])
    kept = {"isolated": "4-9", "reserved": "0-3", "ovsDpdk": "10-15", "balanceIsolated": False}
    assert profile["spec"]["cpu"] == kept
    # The kubelet keeps pods off the CPUs of OVS-DPDK only if it reserves strictly.
    told = json.loads(profile["metadata"]["annotations"]["kubeletconfig.experimental"])
    assert told == {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
    profile, _ = performance_profile(host, *RELEASES[6][0])
    assert profile["spec"]["cpu"]["reserved"] == "0-1"
    assert profile["spec"]["cpu"]["shared"] == "2-3"
    assert profile["spec"]["workloadHints"] == {"realTime": False, "mixedCpus": True}


def test_a_profile_balances_where_the_line_does(host: Path) -> None:
    profile, answer = performance_profile(host, "--disable", "isolcpus")
    assert profile["spec"]["cpu"]["balanceIsolated"] is True
    assert "load balancing" not in answer.out
    told = " ".join(answer.out.split())
    assert "boot RHEL's kernel, and this plan is for" in told and "kernel is not PREEMPT_RT" in told


def test_the_real_time_kernel_comes_with_what_the_operator_adds(tmp_path: Path) -> None:
    files = machine(cpus=16, threads=2, config=CONFIG, release="5.14.0-427.rt.el9.x86_64")
    profile, answer = performance_profile(write_tree(tmp_path / "host", files))
    assert schema_errors(profile) == [] and webhook_errors(profile) == []
    assert profile["spec"]["realTimeKernel"] == {"enabled": True}
    args = profile["spec"]["additionalKernelArgs"]
    assert not [word for word in args if word.startswith("nohz_full")]
    told = " ".join(answer.out.split())
    assert "mce=off, which hides memory errors" in told
    assert "boot RHEL's kernel" not in told and "PREEMPT_RT" not in told


def test_huge_pages_are_the_operators_to_reserve(host: Path) -> None:
    wanted = ("--enable", "hugepages=1G:4@0")
    profile, answer = performance_profile(host, *wanted)
    assert schema_errors(profile) == [] and webhook_errors(profile) == []
    pages = profile["spec"]["hugepages"]
    assert pages == {
        "defaultHugepagesSize": "1G",
        "pages": [{"size": "1G", "count": 4, "node": 0}],
    }
    assert "hugepages" not in answer.out


def test_what_goes_beyond_the_files_of_the_kernel_is_named(host: Path) -> None:
    for name in ("ignition", "bootc"):
        _, answer = render(host, name, "--profile", "lowlat-rt")
        lost = re.search(r"does not carry: ([a-z_., \n]+)\n  - ", answer.out)
        assert lost and "kthread." in lost[1]


@pytest.mark.parametrize("spoiled", ["overlap", "unknown", "selector", "empty", "pages"])
def test_the_rules_refuse_what_the_webhook_does(host: Path, spoiled: str) -> None:
    profile, _ = performance_profile(host)
    spec = profile["spec"]
    changes: dict[str, tuple[Any, str, Any]] = {
        "overlap": (spec["cpu"], "reserved", spec["cpu"]["isolated"]),
        "unknown": (spec, "realTimeKernal", {"enabled": True}),
        "selector": (spec, "nodeSelector", {"worker": ""}),
        "empty": (spec["cpu"], "isolated", ""),
        "pages": (spec, "hugepages", {"pages": [{"size": "2M", "count": 1}]}),
    }
    where, key, value = changes[spoiled]
    where[key] = value
    assert schema_errors(profile) + webhook_errors(profile)


# --------------------------------------------------------------- room for a kubelet


@pytest.mark.parametrize(
    ("cpus", "threads", "reserved"),
    [(16, 2, "0-3"), (16, 1, "0-3"), (6, 1, "0-2"), (4, 1, "0-1"), (4, 2, "0-1"), (2, 1, "0")],
)
def test_a_kubelet_has_four_threads_or_half(
    tmp_path: Path, cpus: int, threads: int, reserved: str
) -> None:
    host = write_tree(tmp_path / "host", machine(cpus=cpus, threads=threads, config=CONFIG))
    out, _ = render(host, "kubelet")
    text = (out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").read_text()
    assert f'reservedSystemCPUs: "{reserved}"\n' in text


def test_who_chooses_gets_what_was_chosen(host: Path) -> None:
    for words in (("--housekeeping-cores", "1"), ("--isolate", "2-15")):
        out, _ = render(host, "kubelet", *words)
        text = (out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").read_text()
        assert 'reservedSystemCPUs: "0-1"\n' in text
    out, _ = render(host, "bootc")
    assert "nohz_full=2-15" in (out / "usr/lib/bootc/kargs.d/90-lowlat.toml").read_text()


def test_the_kubelets_files(host: Path) -> None:
    yaml = needs.module("yaml", "PyYAML is not installed")
    out, answer = render(host, "kubelet")
    found = yaml.safe_load((out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").read_text())
    assert found == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        # This map holds texts only: the kubelet rejects booleans in it.
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true", "strict-cpu-reservation": "true"},
        "reservedSystemCPUs": "0-3",
        "topologyManagerPolicy": "best-effort",
    }
    kept = (out / "etc/systemd/system/system.slice.d/90-lowlat.conf").read_text()
    assert kept == "[Slice]\nAllowedCPUs=0-3\n"
    crio = toml((out / "etc/crio/crio.conf.d/90-lowlat.conf").read_text())
    assert crio == {"crio": {"runtime": {"infra_ctr_cpuset": "0-3"}}}
    assert "apply --profile lowlat --isolate 4-15" in " ".join(answer.out.split())


def test_the_kubelets_pods_are_told_where_they_run(host: Path) -> None:
    """Ordinary pods have the isolated CPUs alone, and where nothing is balanced there, pile up."""
    told = {}
    for words in ((), ("--disable", "isolcpus")):
        out, answer = render(host, "kubelet", *words)
        assert (out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").is_file()
        told[words] = " ".join(answer.out.split())
        assert "pods that are not Guaranteed" in told[words]
        assert "leaves them isolated CPUs alone" in told[words]
        assert "kubelets before 1.33 do not start with strict-cpu-reservation" in told[words]
        assert "CPUManagerPolicyAlphaOptions" in told[words]
    piled = ["they pile up there" in text and "(a taint" in text for text in told.values()]
    assert piled == [True, False]


#: The error of the decoder of tests/render/kubelet for each text, as the kubelet's own decoder
#: reports it.
STRICT = {
    "foo: 1": 'unknown field "foo"',
    "cpuManagerPolicyOptions: {full-pcpus-only: true}": "cannot unmarshal bool",
    "cpuManagerPolicy: static\ncpuManagerPolicy: none": "already set",
}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    if go is None:
        needs.absent("go is not installed: apt install golang")
    program = tmp_path_factory.mktemp("kubelet") / "decode"
    sources = Path(__file__).with_name("kubelet")
    subprocess.run([go, "build", "-o", program, "."], cwd=sources, check=True, timeout=8 * GUARD_S)
    return program


def decoded(decoder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([decoder], input=text, capture_output=True, text=True, check=False)


@pytest.mark.proof
def test_the_kubelet_decodes_its_file(host: Path, decoder: Path) -> None:
    out, _ = render(host, "kubelet")
    text = (out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").read_text()
    done = decoded(decoder, text)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["cpuManagerPolicy"], found["reservedSystemCPUs"]) == ("static", "0-3")
    assert found["cpuManagerPolicyOptions"]["strict-cpu-reservation"] == "true"
    head = "".join(line for line in text.splitlines(True) if line.startswith(("apiV", "kind")))
    for wrong, said in STRICT.items():
        refused = decoded(decoder, f"{head}{wrong}\n")
        assert refused.returncode == 1 and said in refused.stderr, refused


# --------------------------------------------------------------- images


def toml(text: str) -> Any:
    return needs.module("tomllib", "Python before 3.11").loads(text)


def test_bootc_reads_the_line(host: Path) -> None:
    out, _ = render(host, "bootc")
    words = toml((out / "usr/lib/bootc/kargs.d/90-lowlat.toml").read_text())
    assert words == {"kargs": plan_of(host)["cmdline"]["text"].split()}
    plan = out / "usr/share/lowlat/plan.json"
    assert lowlat("render", "--plan", plan, "--out", out.parent / "again").status == 0


def test_ignition_carries_line_and_files(host: Path) -> None:
    out, _ = render(host, "ignition")
    found = json.loads((out / "lowlat.ign").read_text())
    assert found["kernelArguments"]["shouldExist"] == plan_of(host)["cmdline"]["text"].split()
    files = {file["path"]: file["contents"]["source"] for file in found["storage"]["files"]}
    stored = json.loads(unquote(files["/etc/lowlat/plan.json"].removeprefix("data:,")))
    assert stored["id"] == plan_of(host)["id"]
    validate = shutil.which("ignition-validate")
    if not validate:
        needs.absent("ignition-validate is not installed (package ignition)")
    # ignition-validate exits with 0 on an unknown key, so any output is a failure.
    path = str(out / "lowlat.ign")
    done = subprocess.run([validate, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def tmpfiles() -> Optional[str]:
    return shutil.which("systemd-tmpfiles")


@needs.that(bool(tmpfiles()), "no systemd-tmpfiles")
def test_systemd_writes_the_run_time_values(host: Path) -> None:
    out, _ = render(host, "bootc")
    files = ("proc/sys/vm/stat_interval", "proc/irq/7/smp_affinity", "proc/irq/x/smp_affinity")
    tree = write_tree(host.parent / "tree", dict.fromkeys(files, ""))
    rules = out / "usr/lib/tmpfiles.d/lowlat.conf"
    command = [str(tmpfiles()), "--create", f"--root={tree}", str(rules)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    planned = {setting["name"]: setting["value"] for setting in plan_of(host)["runtime"]}
    assert (tree / files[0]).read_text() == planned.get("vm.stat_interval", "")
    assert (tree / files[1]).read_text().strip() == planned["irq.smp_affinity"]
    assert (tree / files[2]).read_text() == ""
