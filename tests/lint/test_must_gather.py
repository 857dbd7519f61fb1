# SPDX-License-Identifier: GPL-2.0-or-later
"""``lint`` reads what ``oc adm must-gather`` wrote: each node's line on its own machine."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import tarfile
from pathlib import Path

import pytest
import reference

from support import needs, work
from support.cli import lowlat
from support.machines import write_tree
from support.odd_files import ODD

CLUSTER = "mg/quay-io-sha256-1/cluster-scoped-resources"
NODES = "mg/quay-io-sha256-1/nodes"
MCO = "machineconfiguration.openshift.io"

LINE = "BOOT_IMAGE=(hd0)/vmlinuz-5.14.0-427.el9_4.x86_64 root=/dev/sda1 skew_tick=1 isolcpu=2-7"
LINE += " nohz=on rcu_nocbs=2-7\n"


def node(name: str, *, current: str = "rendered-1", desired: str = "rendered-1") -> str:
    notes = {f"{MCO}/currentConfig": current, f"{MCO}/desiredConfig": desired}
    labels = {"node-role.kubernetes.io/worker-cnf": ""}
    return json.dumps({"metadata": {"name": name, "labels": labels, "annotations": notes}})


PROFILE = """kind: PerformanceProfile
metadata: {name: du}
spec:
  cpu: {isolated: 2-7, reserved: 0-1}
  workloadHints: {realTime: false}
  nodeSelector: {node-role.kubernetes.io/worker-cnf: ""}
"""


@pytest.fixture(scope="module", autouse=True)
def _yaml() -> None:
    needs.module("yaml", "PyYAML is not installed")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference.bare_metal(tmp_path_factory.mktemp("host"), cpus=4)


def snapshot(folder: Path) -> bytes:
    """As gather-sysinfo packs it, with the links of sysfs."""
    machine = reference.bare_metal(folder, cpus=8)
    one = machine / "sys/devices/system/cpu/cpu1"
    one.rename(machine / "sys/one").parent.joinpath("devices/system/cpu/cpu1").symlink_to(
        "../../../one"
    )
    (machine / "proc/cmdline").write_text(LINE)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for part in ("proc", "sys"):
            archive.add(machine / part, part)
    return gzip.compress(packed.getvalue())


def tar_with(headers: dict[str, str]) -> bytes:
    """A tar file of two files, the first of which has these headers."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        first = tarfile.TarInfo("proc/cmdline")
        first.pax_headers = headers
        archive.addfile(first)
        archive.addfile(tarfile.TarInfo("proc/version"))
    return packed.getvalue()


def tar_header(kind: bytes) -> bytes:
    """The header of a file of a byte."""
    header = tarfile.TarInfo("name")
    header.type, header.size = kind, 1
    return header.tobuf()


def gathered(folder: Path, **more: str) -> Path:
    clusters = {"status": {"desired": {"version": "4.18.3"}}}
    config = {"spec": {"kernelArguments": ["isolcpus=2-7 nohz=on"]}}
    files = {
        f"{CLUSTER}/core/nodes/w1.yaml": node("w1"),
        f"{CLUSTER}/core/nodes/w2.yaml": node("w2", desired="rendered-2"),
        f"{CLUSTER}/{MCO}/machineconfigs/rendered-1.yaml": json.dumps(config),
        f"{CLUSTER}/performance.openshift.io/performanceprofiles/du.yaml": PROFILE,
        f"{CLUSTER}/config.openshift.io/clusterversions/version.yaml": json.dumps(clusters),
        **more,
    }
    return write_tree(folder, files) / "mg"


def test_each_node_is_judged_on_its_own_machine(host: Path, tmp_path: Path) -> None:
    folder = gathered(tmp_path)
    (tmp_path / NODES / "w1").mkdir(parents=True)
    (tmp_path / NODES / "w1/sysinfo.tgz").write_bytes(snapshot(tmp_path / "machine"))
    answer = lowlat("lint", "--root", host, folder, "--json")
    first, second = answer.json()["nodes"]
    assert answer.status == 1
    # Eight CPUs of its own, where the host has four.
    words = {word["word"]: word["verdict"] for word in first["lint"]["words"]}
    assert (words["isolcpu=2-7"], words["rcu_nocbs=2-7"]) == ("ignored", "assumed")
    assert first["source"] == "sysinfo.tgz"
    pending, asked, judged = first["notes"]
    assert pending == "machine config rendered-1 asks for isolcpus=2-7"
    assert asked.startswith("PerformanceProfile du of 4.18 asks for tsc=reliable ")
    assert "isolcpus=managed_irq,2-7" in asked and "nohz_full" not in asked
    command = shlex.split(judged.partition(": ")[2])
    assert command[0] == "lowlat-gen" and "harmful" not in lowlat(*command[1:]).out
    assert "nohz=on" in lowlat(*command[1:]).out
    # Without a line of its own, the machine config's; without a machine, that of --root.
    assert second["source"] == "the machine config rendered-1"
    assert [word["word"] for word in second["lint"]["words"]] == ["isolcpus=2-7", "nohz=on"]
    assert second["notes"][0] == "machine config rendered-2 is to come"
    assert "judged on that of --root" in second["notes"][-1]
    assert any("this machine has no CPU 4-7" in note for note in second["notes"])
    text = lowlat("lint", "--root", host, folder).out
    assert "w1 (line of sysinfo.tgz)\n" in text and "w2 (line of the machine config" in text
    assert max(len(row) for row in text.splitlines() if str(tmp_path) not in row) <= 80


def test_a_node_of_a_must_gather_is_a_machine_to_plan_for(tmp_path: Path) -> None:
    folder = gathered(tmp_path)
    (tmp_path / NODES / "w1").mkdir(parents=True)
    node = tmp_path / NODES / "w1/sysinfo.tgz"
    node.write_bytes(snapshot(tmp_path / "machine"))
    for whole in (folder, folder / "quay-io-sha256-1"):
        refused = lowlat("cpus", "isolated", "--planned", "--root", whole).refused()
        assert "is a must-gather" in refused and f"--root {node})" in refused
    words = ("--format", "performance-profile", "--isolate", "2-7", "--out", tmp_path / "out")
    assert lowlat("render", "--root", node, *words).status == 0
    written = (tmp_path / "out/performance-profile.yaml").read_text()
    assert "isolated: 2-7" in written.replace('"', "")
    node.write_bytes(gzip.compress(gzip.decompress(node.read_bytes())[:700]))
    assert "tar file is damaged" in lowlat("plan", "--root", node).refused()
    endless = b"".join(
        tar_header(tarfile.GNUTYPE_LONGNAME) + b"a".ljust(512, b"\0") for _ in range(3000)
    )
    node.write_bytes(endless + tar_header(tarfile.REGTYPE))
    assert "tar file is damaged" in lowlat("plan", "--root", node).refused()
    holed = {"GNU.sparse.map": "0,0", "GNU.sparse.size": "4000000000"}
    for headers in (holed, {"size": "9" * 30}):
        node.write_bytes(gzip.compress(tar_with(headers)))
        assert "larger than the tar file" in lowlat("plan", "--root", node).refused()


def test_the_operators_words_follow_its_release(host: Path, tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE)

    def names(*more: str) -> set[str]:
        words = lowlat("lint", "--root", host, path, "--json", *more).json()["words"]
        return {word["word"].partition("=")[0] for word in words}

    assert "nohz_full" in names() and "nohz_full" in names("--openshift", "4.23")
    assert not {"nohz_full", "mce"} & names("--openshift", "4.22.1")
    path.write_text(PROFILE.replace("realTime: false", "highPowerConsumption: true"))
    assert {"nohz_full", "mce", "idle", "intel_idle.max_cstate"} <= names("--openshift", "4.16")
    for wrong, why in {"4": "no version", "4.10": "from 4.11 on"}.items():
        assert why in lowlat("lint", "--root", host, path, "--openshift", wrong).refused()


def test_nodes_that_are_the_same_are_told_once(host: Path, tmp_path: Path) -> None:
    same = {f"{NODES}/{name}/proc_cmdline": LINE for name in ("w1", "w2")}
    folder = gathered(tmp_path, **same, **{f"{CLUSTER}/core/nodes/w2.yaml": node("w2")})
    assert lowlat("lint", "--root", host, folder).out.startswith("w1, w2 (line of proc_cmdline)\n")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"mg/readme": ""}, "not a must-gather"),
        ({f"{CLUSTER}/core/nodes/w1.yaml": node("w1")}, "the boot line of none of 1 nodes"),
        ({f"{CLUSTER}/core/nodes/w1.yaml": "a: [", f"{NODES}/w1/x": ""}, "is not YAML"),
        ({f"{CLUSTER}/core/namespaces/x.yaml": ""}, "the boot line of none of 0 nodes"),
    ],
)
def test_a_wrong_or_partial_folder_is_one_line(
    files: dict[str, str], why: str, host: Path, tmp_path: Path
) -> None:
    folder = write_tree(tmp_path, files) / "mg"
    assert why in lowlat("lint", "--root", host, folder).refused()


SECRET = "the_words_of_roots_file"  # noqa: S105

#: A file of each kind that a must-gather has.
PLACES = {
    "node": f"{CLUSTER}/core/nodes/w1.yaml",
    "config": f"{CLUSTER}/{MCO}/machineconfigs/rendered-1.yaml",
    "profile": f"{CLUSTER}/performance.openshift.io/performanceprofiles/du.yaml",
    "version": f"{CLUSTER}/config.openshift.io/clusterversions/version.yaml",
    "line": f"{NODES}/w1/proc_cmdline",
    "machine": f"{NODES}/w1/sysinfo.tgz",
}


def secrets(folder: Path) -> dict[str, Path]:
    """Outside of the folder, for each kind of file one that tells of the secret."""
    config = json.dumps({"spec": {"kernelArguments": [SECRET]}})
    texts = {
        **{"node": node(SECRET), "config": config, "profile": PROFILE.replace("du", SECRET)},
        **{"version": json.dumps({"status": {"desired": {"version": SECRET}}}), "line": SECRET},
    }
    write_tree(folder / "out", texts)
    machine = reference.bare_metal(folder / "out/tree", cpus=2)
    (machine / "proc/cmdline").write_text(SECRET)
    with tarfile.open(folder / "out/machine", "w:gz") as archive:
        archive.add(machine / "proc", "proc")
    return {kind: folder / "out" / kind for kind in PLACES}


@pytest.mark.security
@pytest.mark.parametrize("kind", PLACES)
def test_no_link_leads_out_of_the_folder(kind: str, host: Path, tmp_path: Path) -> None:
    """Neither a link in the place of a file, nor one in the place of its folder."""
    secret = secrets(tmp_path)[kind]
    folder = gathered(tmp_path / "in", **{f"{NODES}/w1/proc_cmdline": LINE})
    place = tmp_path / "in" / PLACES[kind]
    place.unlink(missing_ok=True)
    place.symlink_to(secret)
    assert "leads out of" in lowlat("lint", "--root", host, folder).refused()
    place.unlink()
    secret.rename(secret.with_name(place.name))
    for file in place.parent.iterdir():
        file.unlink()
    place.parent.rmdir()
    place.parent.symlink_to(secret.parent)
    answer = lowlat("lint", "--root", host, folder, "--json")
    assert SECRET not in answer.out + answer.err


@pytest.mark.security
@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("odd", ["a FIFO", "a folder", "a huge file"])
def test_what_is_no_plain_file_is_one_line(kind: str, odd: str, host: Path, tmp_path: Path) -> None:
    folder = gathered(tmp_path / "in", **{f"{NODES}/w1/proc_cmdline": LINE})
    place = tmp_path / "in" / PLACES[kind]
    place.unlink(missing_ok=True)
    ODD[odd](place)
    with work.bounded(f"{kind}: {odd}"):
        assert place.name in lowlat("lint", "--root", host, folder).refused()


@pytest.mark.security
def test_no_name_in_a_file_leads_out_of_the_folder(host: Path, tmp_path: Path) -> None:
    out = secrets(tmp_path)
    out["config"].with_suffix(".yaml").write_text(out["config"].read_text())
    (tmp_path / "out/proc_cmdline").write_text(SECRET)
    up = "../" * 4
    for name, config in (
        (f"{up}out", "rendered-1"),
        (str(tmp_path / "out"), "rendered-1"),
        ("w1", f"{up}../out/config"),
        ("w1", str(out["config"])),
        ("w1", "*"),
        ("w\0", "rendered-\0"),
    ):
        folder = gathered(tmp_path / "in", **{PLACES["node"]: node(name, current=config)})
        answer = lowlat("lint", "--root", host, folder)
        assert SECRET not in answer.out + answer.err, (name, config)
        assert answer.status < 2 or answer.err.count("\n") == 1, answer


#: What stands in a file may have any shape.
SHAPES = (
    *("1", "[]", '["a"]', '""', '{"metadata": 1}', '{"metadata": {"name": [1]}}', "null"),
    '{"metadata": {"name": "w1", "labels": [], "annotations": "x"}, "spec": 1}',
    '{"spec": {"kernelArguments": 3, "nodeSelector": []}, "status": {"desired": 1}}',
)


@pytest.mark.parametrize("kind", ["node", "config", "profile", "version"])
@pytest.mark.parametrize("text", SHAPES)
def test_a_file_of_any_shape(kind: str, text: str, host: Path, tmp_path: Path) -> None:
    line = {f"{NODES}/w1/proc_cmdline": LINE}
    answer = lowlat("lint", "--root", host, gathered(tmp_path, **{**line, PLACES[kind]: text}))
    assert answer.status in (0, 1) or answer.err.count("\n") == 1, answer
