# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU lists on the boot line: with strides where they are shorter; and the length of a line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.model.cpuset import CpuSet
from support import synthetic
from support.cli import lowlat
from support.machines import CONFIG, machine, write_tree
from support.synthetic import Kind, Shape

FIELD = Path(__file__).resolve().parents[1] / "machines" / "field"


@st.composite
def patterned(draw: st.DrawFn) -> CpuSet:
    """CPUs in groups equally far apart, with a few more and without a few."""
    group = draw(st.integers(1, 24))
    used, begin, end = (
        draw(st.integers(1, group)),
        draw(st.integers(0, 9)),
        draw(st.integers(9, 600)),
    )
    cpus = CpuSet.of(cpu for cpu in range(begin, end) if (cpu - begin) % group < used)
    odd = st.frozensets(st.integers(0, 600), max_size=4)
    return (cpus | CpuSet(draw(odd))) - CpuSet(draw(odd))


def all_in_strides(cpus: CpuSet) -> str:
    """The list of someone who takes the longest stride each time."""
    parts, ranges = [], list(cpus.ranges())
    while ranges:
        (first, last), rest = ranges[0], ranges[1:]
        step = rest[0][0] - first if rest else 0
        end = 1
        while end < len(ranges) and ranges[end] == (first + end * step, last + end * step):
            end += 1
        single = str(first) if first == last else f"{first}-{last}"
        stride = f"{first}-{ranges[end - 1][1]}:{last - first + 1}/{step}"
        parts.append(single if end == 1 else stride)
        ranges = ranges[end:]
    return ",".join(parts)


@given(st.one_of(patterned(), st.frozensets(st.integers(0, 300)).map(CpuSet)))
def test_no_form_of_a_list_is_shorter_and_it_means_the_same(cpus: CpuSet) -> None:
    assert CpuSet.parse_list(cpus.strided()) == cpus
    assert len(cpus.strided()) <= min(len(str(cpus)), len(all_in_strides(cpus)))


def words(line: str) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in line.split())


def test_processors_that_take_turns_get_a_line(tmp_path: Path) -> None:
    shape = Shape(packages=2, nodes=2, kinds=(Kind(128, threads=2),), numbering="turns")
    tree = synthetic.write_archive(shape.model(), tmp_path / "m.txt")
    odd = str(CpuSet.of(range(9, 512, 2)) - CpuSet.of(range(256, 265)))
    field = (FIELD / "epyc-7742-oddeven.txt.gz", "--for-device", "p1p1")
    for asked in (field, (tree, "--isolate", odd)):
        plan = lowlat("plan", "--root", *asked, "--json", "--enable", "systemd.cpu_affinity").json()
        line, cpus = plan["cmdline"]["text"], plan["cpus"]
        given = words(line)
        for name in ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"):
            wanted = cpus["housekeeping" if name == "irqaffinity" else "isolated"]
            held = given[name].replace("managed_irq,domain,", "")
            assert re.search(r":1/2", held) and len(held) < 60
            assert CpuSet.parse_list(held) == CpuSet.parse_list(wanted)
        # Everybody else reads plain lists.
        assert given["systemd.cpu_affinity"] == cpus["housekeeping"]
        assert "/" not in lowlat("cpus", "isolated", "--planned", "--root", *asked).out
        # The line means the same to lint, and to the reader of a stored plan.
        linted = lowlat("lint", "--root", asked[0], line)
        assert linted.status == 0, linted.out


def test_older_kernels_get_plain_lists(tmp_path: Path) -> None:
    old = write_tree(tmp_path, machine(cpus=32, release="4.4.302", config=CONFIG))
    odd = ",".join(map(str, range(1, 32, 2)))
    line = lowlat("plan", "--root", old, "--isolate", odd, "--json").json()["cmdline"]["text"]
    assert words(line)["nohz_full"] == odd
    for word, why in (
        ("nohz_full=1-31:1/2", "this kernel knows no strides"),
        ("systemd.cpu_affinity=0-31:1/2", "systemd knows numbers and ranges only"),
    ):
        said = lowlat("lint", "--root", old, "--all", word)
        assert said.status == 1 and why in said.out


@pytest.mark.parametrize(
    ("arch", "release", "size", "config"),
    [
        ("x86_64", "6.12.107", 2048, ""),
        ("aarch64", "6.12.107", 2048, ""),
        ("ppc64le", "6.12.107", 2048, ""),
        ("riscv64", "6.12.107", 1024, ""),
        ("riscv64", "5.15.1", 512, ""),
        ("s390x", "6.12.107", 4096, ""),
        ("s390x", "5.14.0-611.el9", 896, ""),
        ("s390x", "6.12.107", 2000, "CONFIG_COMMAND_LINE_SIZE=2000\n"),
        ("x86_64", "7.5.1", 4096, "CONFIG_COMMAND_LINE_SIZE=4096\n"),
    ],
)
def test_a_line_is_as_long_as_the_kernel_reads(
    arch: str, release: str, size: int, config: str, tmp_path: Path
) -> None:
    files = machine(release=release, config=CONFIG + config)
    root = write_tree(tmp_path, {**files, "proc/sys/kernel/arch": f"{arch}\n"})
    bare = lowlat("plan", "--root", root, "--json").json()
    ours = len(f"{bare['cmdline']['text']} lowlat.plan={bare['id']}")
    write_tree(root, {"proc/cmdline": f"root=/dev/{'x' * (size - ours - 12)}\n"})
    assert lowlat("plan", "--root", root).status == 0
    write_tree(root, {"proc/cmdline": f"root=/dev/{'x' * (size - ours - 11)}\n"})
    assert f"the kernel cuts it after {size - 1}" in lowlat("plan", "--root", root).refused()
    long = f"{'x' * (size - 10)} nohz_full=1-3"
    assert (
        f"the kernel cuts the line after {size - 1} bytes"
        in lowlat("lint", "--root", root, long).out
    )


def test_the_hint_makes_the_line_fit(tmp_path: Path) -> None:
    files = machine(cpus=900)
    files["proc/cmdline"] = "root=/dev/sda1 quiet\n"
    root = write_tree(tmp_path, files)
    hints = []
    for most in (420, 560, 890):
        scattered = ",".join(str(cpu) for cpu in range(1, most) if pow(7, cpu, 1499) % 2)
        asked = ("plan", "--root", root, "--isolate", scattered)
        hint = re.search(r"\(((?:--disable \w+ ?)+)(.*)\)", lowlat(*asked).refused())
        assert hint
        hints.append(hint[1].strip())
        assert re.fullmatch(r"|, and --isolate CPUs in fewer ranges: \d+ bytes less", hint[2])
        fits = lowlat(*asked, *hint[1].split()).status == 0
        assert fits is not bool(hint[2])
    assert hints == ["--disable rcu_nocbs", *["--disable rcu_nocbs --disable irqaffinity"] * 2]
