# SPDX-License-Identifier: GPL-2.0-or-later
"""``lint`` reads TuneD profiles by TuneD's rules; TuneD itself is the oracle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import reference

from support import tuned_oracle
from support.cli import Answer, lowlat
from support.machines import write_tree

#: A profile of one's own over stock ones, and what TuneD does with it: a later profile replaces an
#: option, "-" takes words back, and drop= takes an option back.
CHILD = """[main]
include=parent, -not-there
[variables]
include=/etc/tuned/more.conf
others=${f:cpulist_invert:${isolated_cores}}
flags=${f:regex_search_ternary:${unset}:\\by\\b:managed_irq,:}
[bootloader]
drop=cmdline_gone
cmdline_b=+isolcpus=${flags}${isolated_cores} irqaffinity=${others}
cmdline_c=-quiet
cmdline_d=tuned.mask=${f:cpulist2hex_invert:${isolated_cores}} rcu_nocbs=${f:cpulist_pack:2,3,4}
"""
PARENT = (
    "[bootloader]\ncmdline_a=quiet skew_tick=1\ncmdline_b=+isolcpus=1\ncmdline_gone=+nohz=off\n"
)
VARIABLES = "isolated_cores=2-4 # mine\n"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CPUs of this machine, so that TuneD reads the same ones."""
    root = reference.bare_metal(tmp_path_factory.mktemp("host"), cpus=8)
    return write_tree(root, {"etc/tuned/more.conf": VARIABLES})


def lines(host: Path, *given: object) -> str:
    document = lowlat("lint", "--root", host, *given, "--json").json()
    return " ".join(word["word"] for word in document["words"])


def test_a_profile_is_read_with_those_that_it_includes(host: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {"child/tuned.conf": CHILD, "parent/tuned.conf": PARENT})
    line = "skew_tick=1 isolcpus=2-4 irqaffinity=0,1,5,6,7 tuned.mask=000000e3 rcu_nocbs=2-4"
    assert lines(host, tmp_path / "child") == lines(host, tmp_path / "child/tuned.conf") == line


@pytest.mark.parametrize("name", ["realtime", "cpu-partitioning", "realtime-virtual-host"])
def test_tuned_makes_the_same_line(name: str, tmp_path: Path) -> None:
    tuned = tuned_oracle.oracle("installed")
    stock = Path(tuned.stock_profiles, name, "tuned.conf").read_text()
    # Only the variables of the child are known: TuneD reads /etc of this host.
    own = "isolated_cores=0\nno_balance_cores=0\n"
    text = re.sub(r"(?m)^include ?= ?/etc/.*$", own, stock.replace("${f:exec:mktemp:-d}", "x"))
    text = re.sub(r"(?m)^(isolated_cores|no_balance_cores) ?= ?\$.*$", "", text)
    write_tree(tmp_path, {f"mine-{name}/tuned.conf": text})
    answers, log = tuned.load([f"mine-{name}"], [tuned.stock_profiles, tmp_path])
    options = answers[f"mine-{name}"]["units"]["bootloader"]
    theirs = " ".join(value.lstrip("+") for key, value in options.items() if "cmdline" in key)
    ours = lowlat("lint", "--root", "/", tmp_path / f"mine-{name}", "--json").json()["words"]
    assert " ".join(word["word"] for word in ours) == " ".join(theirs.split()), log


def refused(host: Path, folder: Path, text: str) -> str:
    answer: Answer = lowlat("lint", "--root", host, write_tree(folder, {"tuned.conf": text}))
    return answer.refused()


def test_what_cannot_be_known_is_one_clear_line(host: Path, tmp_path: Path) -> None:
    for text, why in {
        "[main]\ninclude=gone\n[bootloader]\ncmdline=x": "includes 'gone', which is not here",
        "[main]\ninclude=${f:exec:uname:-r}\n": "only TuneD knows what the profile includes",
        "[bootloader]\ncmdline=a=${b}": "the TuneD variable b has no value",
        "[bootloader]\ncmdline=a=${f:exec:x}": "only TuneD knows what cmdline becomes",
        "[bootloader]\ncmdline=a=${f:cpulist2hex:x}": "only TuneD knows what cmdline becomes",
        "[main]\nsummary=x\n": "adds no word to the boot line",
        "[bootloader\n[main]\n": "cannot be parsed",
        "[variables]\na=" + "x" * 4000 + "\nb=${a}${a}\n[bootloader]\ncmdline=${b}": "longer than",
    }.items():
        assert why in refused(host, tmp_path, text), text


@pytest.mark.security
def test_no_profile_of_others_shows_a_file_of_the_host(host: Path, tmp_path: Path) -> None:
    """Neither as a file of variables, nor through a link in the place of a profile."""
    root = reference.bare_metal(tmp_path / "host", cpus=2)
    write_tree(root, {"root/my.cnf": "password = words_of_roots_file\n"})
    for more in ("/root/my.cnf", "/etc/tuned/../../root/my.cnf"):
        text = f"[variables]\ninclude={more}\n[bootloader]\ncmdline=x=${{password}}\n"
        folder = write_tree(tmp_path / "child", {"tuned.conf": text})
        for tree in (host, root):
            said = lowlat("lint", "--root", tree, folder).refused()
            assert "includes variables of" in said and "words_of" not in said
    out = write_tree(
        tmp_path / "out", {"tuned.conf": "[bootloader]\ncmdline=words_of_roots_file\n"}
    )
    (tmp_path / "in/child").mkdir(parents=True)
    (tmp_path / "in/child/tuned.conf").write_text("[main]\ninclude=parent\n[bootloader]\n")
    (tmp_path / "in/parent").symlink_to(out)
    assert "leads out of" in lowlat("lint", "--root", host, tmp_path / "in/child").refused()
    (tmp_path / "in/child/tuned.conf").unlink()
    (tmp_path / "in/child/tuned.conf").symlink_to(out / "tuned.conf")
    assert "leads out of" in lowlat("lint", "--root", host, tmp_path / "in/child").refused()
