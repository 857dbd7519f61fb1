# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms of ``cpus --as``, read by the programs that take them. Debian's packages of these are
unpacked in a folder; none is installed. Docker's form is not read: its daemon does that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lowlat.base.process import find
from lowlat.model.cpuset import CpuSet
from support import debs, needs, synthetic
from support.cli import lowlat
from support.harness import needs_two_cpus
from support.synthetic import Kind, Shape
from support.waits import GUARD_S

pytestmark = [pytest.mark.packages, needs_two_cpus]

#: Starts DPDK with these words; prints its number of CPUs and the main one.
_DPDK = """import ctypes, sys
eal = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
words = [word.encode() for word in ("lowlat", *sys.argv[2:])]
assert eal.rte_eal_init(len(words), (ctypes.c_char_p * (len(words) + 1))(*words)) >= 0
print("found", eal.rte_lcore_count(), eal.rte_get_main_lcore())
"""

_DOMAIN = """<domain type='kvm'><name>lowlat</name><memory>1</memory><vcpu>1</vcpu>
<os><type>hvm</type></os>{}</domain>"""


#: Shapes that Slurm numbers otherwise than Linux, one of them with a core that is offline now.
_SHAPES = {
    "far": Shape(packages=2, kinds=(Kind(4, 2),), numbering="far"),
    "turns": Shape(packages=2, kinds=(Kind(4, 2),), numbering="turns"),
    "nodes": Shape(packages=2, dies=2, kinds=(Kind(4, 2),), nodes=4, numbering="far"),
    "offline": Shape(kinds=(Kind(8, 2),), numbering="far", offline=(3, 11)),
}

_SLURM = """ClusterName=lowlat
SlurmctldHost=localhost
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
PluginDir={plugins}
SlurmdSpoolDir={folder}
SlurmdPidFile={folder}/pid
NodeName=lowlat {node} {kept}
"""


def printed(form: str) -> str:
    return lowlat("cpus", "isolated", "--planned", "--as", form).out


def run(*argv: str | Path, **more: str) -> tuple[int, str]:
    done = subprocess.run(
        list(map(str, argv)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=GUARD_S,
        env={**os.environ, **more},
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def unpacked() -> Path:
    return debs.CONSUMERS.tree()


def test_dpdk_takes_its_cpus(unpacked: Path) -> None:
    (library,) = unpacked.rglob("librte_eal.so.*[0-9].0")
    alone = ("--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "-m", "64")
    words = (*printed("dpdk").split(), *alone)
    folder = {"LD_LIBRARY_PATH": str(library.parent)}
    status, said = run(sys.executable, "-c", _DPDK, library, *words, **folder)
    found = f"found {len(CpuSet.parse_list(words[1]))} {words[3]}"
    assert (status, said.splitlines()[-1]) == (0, found), said


def test_libvirt_takes_its_pins(unpacked: Path, tmp_path: Path) -> None:
    (grammar,) = unpacked.rglob("domain.rng")
    (lint,) = unpacked.rglob("bin/xmllint")
    domain = tmp_path / "domain.xml"
    domain.write_text(_DOMAIN.format(printed("libvirt")))
    assert run(lint, "--noout", "--relaxng", grammar, domain) == (0, f"{domain} validates\n")
    domain.write_text(domain.read_text().replace("cpuset='", "cpuset='x"))
    assert run(lint, "--noout", "--relaxng", grammar, domain)[0] != 0, "the grammar sees CPUs"


@pytest.mark.parametrize("name", _SHAPES)
def test_slurm_keeps_its_jobs_off_the_housekeeping_cpus(name: str, tmp_path: Path) -> None:
    """slurmd, with hwloc's view of that machine, tells which CPUs of the kernel it reserves."""
    packages, shape = debs.SLURM.tree(), _SHAPES[name]
    now, booted = (
        synthetic.write(replace(shape, offline=off).model(), tmp_path / str(len(off)))
        for off in (shape.offline, ())
    )
    kept = lowlat("cpus", "housekeeping", "--as", "slurm", "--root", now).out.strip()
    ours = lowlat("cpus", "housekeeping", "--root", now).out.strip()
    (slurmd,) = packages.rglob("slurmd-wlm")
    (plugins,) = (path.parent for path in packages.rglob("auth_none.so"))
    view = {
        "HWLOC_FSROOT": str(booted),
        "HWLOC_COMPONENTS": "linux,stop",
        "LD_LIBRARY_PATH": f"{plugins.parent}:{plugins}",
    }
    status, told = run(slurmd, "-C", **view)
    node = re.search(r"CPUs=.*?ThreadsPerCore=\d+", told)
    assert status == 0 and node, told
    conf = tmp_path / "slurm.conf"
    text = _SLURM.format(plugins=plugins, folder=tmp_path / "spool", node=node[0], kept=kept)
    (tmp_path / "spool").mkdir()
    conf.write_text(text)
    # It ends where it does not find the program that starts jobs.
    _, told = run(slurmd, "-D", "-N", "lowlat", "-f", conf, "-d", tmp_path / "none", **view)
    assert re.findall(r"Reserved machine CPU IDs: (\S+)", told) == [ours], told


def test_systemd_takes_its_drop_in(tmp_path: Path) -> None:
    analyze = find("systemd-analyze")
    if analyze is None:
        needs.absent("systemd-analyze is not installed")
    drop_in = tmp_path / "work.service.d/lowlat.conf"
    drop_in.parent.mkdir()
    (tmp_path / "work.service").write_text("[Service]\nExecStart=/bin/true\n")
    folder = {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    drop_in.write_text(printed("systemd"))
    assert run(analyze, "verify", "work.service", **folder) == (0, "")
    drop_in.write_text(f"{drop_in.read_text()}CPUAffinity=one\n")
    assert "Failed to parse CPU affinity" in run(analyze, "verify", "work.service", **folder)[1]
