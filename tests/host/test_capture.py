# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture gives the plan of its machine, contains no secrets, and cannot harm its reader."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Tree
from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE
from lowlat.host import archive
from lowlat.host.archive import Archive, Contents, Recorder, open_root
from lowlat.host.redact import redact
from lowlat.host.root import Root
from lowlat.probe import probe
from lowlat.verbs.capture import capture
from support import synthetic
from support.cli import lowlat
from support.runs import document

SECRETS = {
    "root=UUID=0e1d2c3b-aaaa-bbbb-cccc-0123456789ab": "0e1d2c3b",
    "ip=192.168.7.13::192.168.7.1:255.255.255.0:venus:eth0:none": "venus",
    "rd.lvm.lv=vg_venus/root": "venus",
    "systemd.hostname=venus": "venus",
    "BOOTIF=01-52-54-00-ab-cd-ef": "ab-cd-ef",
    "foo=fe80::5054:ff:feab:cdef": "feab",
    "luks.key=/hunter2": "hunter2",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def host(tree: Tree) -> Path:
    """A machine with devices, and with everything that a capture must not contain."""
    root = tree(synthetic.Shape(packages=2, nodes=2, kinds=(synthetic.Kind(4, 2),)))
    cpuinfo = (root / "proc/cpuinfo").read_text()
    write(
        root,
        {
            "proc/cmdline": f"quiet {' '.join(SECRETS)} isolcpus=3 -- --token hunter3\n",
            "proc/cpuinfo": f"{cpuinfo}\nSerial\t\t: 00000000deadbeef\n",
            "proc/version": "Linux version 6.1.0 (smith@venus) (gcc 12) #1 SMP PREEMPT_RT\n",
            "proc/sysinfo": "Sequence Code: 000EAA14\nLPAR Name: VENUS\n",
            "proc/7/comm": "mistress\n",
            "proc/8/comm": "irqbalance\n",
            "etc/default/grub": "GRUB_CMDLINE_LINUX='password=hunter4'\nGRUB_ENABLE_BLSCFG=true\n",
            "boot/grub2/grub.cfg": "password hunter5\n",
        },
    )
    for address, node in (("0000:3b:00.0", 0), ("0000:af:00.0", 1)):
        folder = f"sys/bus/pci/devices/{address}"
        write(root, {f"{folder}/class": "0x020000\n", f"{folder}/numa_node": f"{node}\n"})
        write(root, {f"{folder}/local_cpulist": f"{8 * node}-{8 * node + 7}\n"})
    names = root / "sys/class/net"
    names.mkdir(parents=True)
    (names / "enx5254001234ab").symlink_to("../../devices/pci0000:3a/0000:3b:00.0/net/x")
    (names / "enx5254001234cd").symlink_to("../../devices/pci0000:ae/0000:af:00.0/net/x")
    return root


def test_the_archive_plans_as_the_machine(host: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "host.txt", tmp_path / "host.txt.gz"
    for out in (plain, packed):
        assert lowlat("capture", out, "--root", host).status == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    plans = [lowlat("plan", "--json", "--root", root).out for root in (host, plain, packed)]
    assert '"schema"' in plans[0]
    assert plans[0] == plans[1] == plans[2]


def test_an_archive_with_other_line_ends_plans_alike(host: Path, tmp_path: Path) -> None:
    archive = tmp_path / "host.txt"
    assert lowlat("capture", archive, "--root", host).status == 0
    planned = lowlat("plan", "--root", archive, "--json").json()
    archive.write_bytes(archive.read_bytes().replace(b"\n", b"\r\n"))
    assert lowlat("plan", "--root", archive, "--json").json() == planned


def test_this_machine_too(tmp_path: Path) -> None:
    out = tmp_path / "this.txt"
    out.write_text(capture(Root()))
    live, replayed = probe(Root()), probe(open_root(str(out)))
    assert (replayed.cpus, replayed.cores, replayed.nodes) == (live.cpus, live.cores, live.nodes)
    assert (replayed.arch, replayed.kernel.release) == (live.arch, live.kernel.release)
    assert [d.address for d in replayed.devices] == [d.address for d in live.devices]
    assert replayed.hypervisor == live.hypervisor


def test_every_synthetic_machine_comes_back_whole(tree: Tree) -> None:
    for name, shape in synthetic.NAMED.items():
        if shape.model().online and len(shape.model().threads) < 256:
            recorder = Recorder(Root(str(tree(shape))))
            machine = probe(recorder)
            text = archive.dump(recorder.contents).encode()
            assert probe(Archive(name, archive.parse(text))) == machine, name


def test_a_capture_of_a_capture_is_the_same(host: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    first.write_text(capture(Root(str(host))))
    second.write_text(capture(open_root(str(first))))
    assert first.read_text() == second.read_text()


def test_nothing_private_is_kept(host: Path) -> None:
    text = capture(Root(str(host)))
    for secret in (
        *SECRETS.values(),
        *("hunter", "smith", "venus", "VENUS", "deadbeef", "EAA14", "mistress", "192.168"),
        *("5254001234", "54:00"),
    ):
        assert secret not in text, secret
    assert "irqbalance" in text
    assert "isolcpus=3" in text
    assert "enx000000000000" in text
    assert "enx000000000001" in text


@pytest.fixture
def watched(host: Path) -> Path:
    """The same machine with all files that verify reads, and private files beside them."""
    flags = "0 " * 12 + "77 " + "0 " * 17 + "0 0 0 0 0"
    write(
        host,
        {
            "var/log/dmesg": "Linux version 6.1.0 (smith@venus) (gcc 12) #1\n"
            "Kernel command line: quiet user=hunter6\n"
            "usb 1-1: SerialNumber: 00000000deadbeef\n"
            'Unknown kernel command line parameters "splash user=hunter7", will be passed\n'
            "NO_HZ: Full dynticks CPUs: 3.\n",
            "proc/2/stat": f"2 (kthreadd) S 0 0 0 0 -1 2097152 {flags}\n",
            "proc/2/status": "Name:\tkthreadd\nCpus_allowed:\tf\nGroups:\t98765\n",
            "proc/7/stat": f"7 (mistress) S 1 0 0 0 -1 4194304 {flags}\n",
            "proc/9/comm": "kubelet\n",
            "etc/tuned/active_profile": "mine\n",
            "etc/tuned/mine/tuned.conf": "[main]\n# for smith at venus\nsummary=x\n",
            "etc/sysctl.d/9.conf": "# smith\nkernel.hostname=venus\nkernel.timer_migration=0\n",
            "proc/sys/kernel/random/boot_id": "0e1d2c3b-1111-2222-3333-0123456789ab\n",
            "run/lowlat/runtime.json": '{"boot": "0e1d2c3b-1111-2222-3333-0123456789ab"}\n',
            ".lowlat/counters": "seconds 1\nspinning \nwatching \nbefore\nCPU0\nafter\nCPU0\n",
            "sys/devices/system/cpu/isolated": "3\n",
        },
    )
    return host


def test_evidence_keeps_what_verify_reads_and_nothing_private(watched: Path) -> None:
    text = capture(Root(str(watched)), 1.0)
    assert text.startswith(capture(Root(str(watched))).split("\n", 1)[0])
    for secret in ("hunter", "smith", "venus", "deadbeef", "mistress", "98765", "SerialNumber"):
        assert secret not in text, secret
    for kept in (
        *("NO_HZ: Full dynticks CPUs: 3.", "Linux version 6.1.0", "splash", "kthreadd"),
        *("Cpus_allowed:", "timer_migration=0", "summary=x", "kubelet", "seconds 1"),
    ):
        assert kept in text, kept


def test_the_boot_of_a_record_is_still_told_from_another(watched: Path) -> None:
    contents = archive.parse(capture(Root(str(watched)), 1.0).encode())
    boot = contents.files["/proc/sys/kernel/random/boot_id"].strip()
    assert boot in contents.files["/run/lowlat/runtime.json"]
    assert boot.startswith(b"0e1d2c3b")


def test_evidence_of_evidence_is_the_same(watched: Path, tmp_path: Path) -> None:
    first = tmp_path / "1.txt"
    first.write_text(capture(Root(str(watched)), 1.0))
    assert capture(open_root(str(first)), 1.0) == first.read_text()


def test_a_command_line_keeps_its_length_and_our_parameters() -> None:
    line = " ".join(f"{entry.name}=1" for entry in CATALOGUE).encode()
    private = b" root=/dev/disk/by-uuid/0e1d2c3b " + line
    made = redact(Contents(files={"/proc/cmdline": private}))
    assert made.files["/proc/cmdline"].endswith(line)
    assert len(made.files["/proc/cmdline"]) == len(private)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        st.binary(max_size=60)
        | st.lists(st.sampled_from([b"a", b"", b"\\", b"|"])).map(b"\n".join),
        max_size=5,
    )
)
def test_any_bytes_come_back(files: dict[str, bytes]) -> None:
    contents = Contents(files={f"/{name}": data for name, data in files.items()})
    contents.folders = {path: (path[1:], "b c") for path in contents.files}
    contents.links = dict.fromkeys(contents.files, "../a b\n")
    text = archive.dump(contents, ("a remark",))
    assert archive.parse(text.encode()) == contents


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF" + bytes(1000),
        b"\x1f\x8b" + bytes(30),
        gzip.compress(b"lowlat.capture/1 x\nf /a 1\n", mtime=0)[:-6],
        gzip.compress(bytes(1 << 28), mtime=0),
    ],
)
def test_garbage_is_refused_in_one_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(data)
    assert f"--root {path}: not a capture archive" in lowlat("plan", "--root", path).refused()


def test_a_damaged_archive_is_a_plan_or_a_refusal(host: Path, tmp_path: Path) -> None:
    whole = capture(Root(str(host))).encode()
    path = tmp_path / "damaged"
    for seed in range(40):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.randint(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        answer = lowlat("plan", "--json", "--root", path)
        assert answer.status == 0 or answer.refused()


def test_a_link_out_of_a_captured_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("/proc/version")
    (tmp_path / "folder").symlink_to("/proc")
    root = Root(str(tmp_path))
    assert root.read("/file") is None
    assert root.names("/folder") == ()


def test_nothing_is_written_into_an_archive() -> None:
    with pytest.raises(Refused):
        Archive("x", Contents()).host("/sys/devices")


def test_a_root_that_is_reached_by_a_link_is_read(tree: Tree, tmp_path: Path) -> None:
    real = tree(synthetic.Shape())
    (tmp_path / "link").symlink_to(real)
    assert probe(Root(str(tmp_path / "link"))) == probe(Root(str(real)))


# --------------------------------------------------------------- runs

#: What must not be in a run that is passed on.
NAMES = (
    *("rack7-node1", "rack7-node2", "alice", "52:54:00:12:34:56", "192.0.2.7"),
    *("525400123456", "0b5e3f6a-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "hunter2"),
)


def named_run(folder: Path, host: str, boot: str) -> Path:
    """With a name, a secret or an address wherever a run has free text."""
    run = document(f"{host}-stock", 10.0, boot_id=boot)
    run["host"] = {"name": f"{host}.example.org", "arch": "x86_64", "online": "0-3"}
    disk = "root=UUID=0b5e3f6a-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
    run["cmdline"] = f"{disk} quiet nohz_full=2-3 systemd.setenv=PASS=hunter2"
    run["problems"] = [f"ssh from 192.0.2.7 to {host} ran as /home/alice/bin/run"]
    run["loads"][0]["output"] += f"system-info:\n      hostname: {host}\n"
    run["cpus"][0]["causes"] = [
        {"class": "irq", "cause": "irq 24 enx525400123456-tx", "events": 1, "time_ns": 900},
        {"class": "thread", "cause": "52:54:00:12:34:56", "events": 1, "time_ns": 900},
    ]
    path = folder / f"{host}-stock.json"
    path.write_text(json.dumps(run))
    return path


def test_runs_are_passed_on_without_names(tmp_path: Path) -> None:
    boot = "11111111-2222-3333-4444-555555555555"
    paths = [named_run(tmp_path, f"rack7-node{n}", boot[:-1] + str(n)) for n in (1, 2)]
    before = "".join(path.read_text() for path in paths)
    assert all(name in before for name in NAMES)
    out = tmp_path / "out"
    answer = lowlat("capture", out, "--runs", *paths)
    assert answer.status == 0 and "2 runs" in answer.out
    found = {path.name: path.read_text() for path in out.iterdir()}
    assert sorted(found) == ["host1-stock.json", "host2-stock.json"]
    assert [name for name in NAMES for text in found.values() if name in text] == []
    runs = [json.loads(found[name]) for name in sorted(found)]
    assert [run["host"]["name"] for run in runs] == ["host1", "host2"]
    assert [run["boot_id"] for run in runs] == [boot[:-1] + "1", boot[:-1] + "2"]
    assert "nohz_full=2-3" in runs[0]["cmdline"] and runs[0]["label"] == "host1-stock"
    # The figures are the same.
    told = [lowlat("report", one, "--json").json() for one in (paths[0], out / "host1-stock.json")]
    whole, less = ([figure["value"] for figure in one["figures"]] for one in told)
    assert whole == less and len(whole) > 20


@pytest.mark.parametrize("host", ["host", "cpu", "work", "10.lab", "noise.example"])
def test_a_host_with_a_name_of_every_run_loses_that_alone(tmp_path: Path, host: str) -> None:
    path = named_run(tmp_path, host, "11111111-2222-3333-4444-555555555555")
    path.write_text(path.read_text().replace('"isolated": "2-3"', '"isolated": "2-10"'))
    assert lowlat("capture", tmp_path / "out", "--runs", path).status == 0
    (kept,) = (tmp_path / "out").iterdir()
    given, passed = (json.loads(one.read_text()) for one in (path, kept))
    assert keys(passed) == keys(given)
    assert (passed["host"]["name"], passed["cpus"][0]["cpu"]) == ("host1", given["cpus"][0]["cpu"])
    assert passed["isolated"] == given["isolated"] == "2-10"


def keys(value: object) -> object:
    """The names of a document, at every depth."""
    if isinstance(value, dict):
        return {name: keys(one) for name, one in value.items()}
    return [keys(one) for one in value] if isinstance(value, list) else None


def test_only_documents_of_lowlat_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "other.json").write_text("{}")
    for name, told in (("notes.txt", "not JSON"), ("other.json", "not a document of lowlat")):
        assert told in lowlat("capture", tmp_path / "out", "--runs", tmp_path / name).refused()
    told = lowlat("capture", "--runs", tmp_path / "other.json").refused()
    assert "takes a folder alone" in told
