# SPDX-License-Identifier: GPL-2.0-or-later
"""Completions of bash, zsh and fish for an incomplete line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from lowlat.catalogue import CATALOGUE
from lowlat.cli import parser_of
from lowlat.explain import guides
from lowlat.host import noise
from lowlat.plan import profile
from lowlat.verbs import VERBS
from support import needs
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

COMPLETION = Path(__file__).parents[2] / "packaging/completion"

#: The files that lookups on the machine itself read.
PLACES = ("/etc/lowlat/", "/etc/tuned/", "/usr/lib/tuned/", "/lib/modules/", "/sys/class/")
FILES = (
    "etc/lowlat/profiles/own/lowlat.conf",
    "etc/tuned/own-tuned/tuned.conf",
    "usr/lib/tuned/profiles/cpu-partitioning/tuned.conf",
    "lib/modules/6.12.1-amd64/modules.dep",
    "home/.cache/lowlat/kernels/6.1.2-rt-amd64/boot/vmlinuz-6.1.2-rt-amd64",
    "work/a run.json",
    "work/b.json",
    "work/folder/c.json",
)
LINKS = {
    "sys/class/net/eth7": "../../devices/pci0000:00/0000:00:03.0/net/eth7",
    "sys/class/net/lo": "../../devices/virtual/net/lo",
    "sys/class/nvme/nvme0": "../../devices/pci0000:00/0000:00:04.0/nvme/nvme0",
}

TUNABLES = {entry.name for entry in CATALOGUE}
PROFILES = {*profile.packaged_names(), "own"}
KERNELS = {"6.12.1-amd64"}
LOADS = {"idle", "faults", "vm", "memory", "oom", "major-faults", "cpu", "timers", "paced", "ipi"}
LOADS |= {"files", "network", "mixed"}
WORKS = {"usleep", "clock_nanosleep", "memory", "registers", "kill", "clock_gettime"}

#: The beginning of a line, and all completions that it gets.
LINES: Mapping[str, set[str]] = {
    "lowlat-gen ": set(VERBS),
    "lowlat-gen pro": {"probe", "profile", "promote"},
    "lowlat-gen plan --hou": {"--housekeeping", "--housekeeping-cores", "--housekeeping-per"},
    "lowlat-gen plan --profile ": PROFILES,
    "lowlat-gen plan --profile=ow": {"own"},
    "lowlat-gen cpus --profile=own iso": {"isolated"},
    "lowlat-gen rehearse --profile own --profile lowlat-n": {"lowlat-nfv"},
    "lowlat-gen plan --enable ": TUNABLES,
    "lowlat-gen apply --disable cpuset.": {"cpuset.cpus", "cpuset.partition", "cpuset.sets"},
    "lowlat-gen explain ": {*TUNABLES, *PROFILES, *guides.names(), *noise.names()},
    "lowlat-gen plan --for-device ": {"eth7", "nvme0"},
    "lowlat-gen trial --kernel ": KERNELS,
    "lowlat-gen rehearse --kernel 6": {*KERNELS, "6.1.2-rt-amd64"},
    "lowlat-gen rehearse --kernel b": {"b.json"},
    "lowlat-gen rehearse --tuned-profile ": {"cpu-partitioning", "own-tuned"},
    "lowlat-gen measure --load ": LOADS,
    "lowlat-gen measure --work kill,me": {"kill,memory"},
    "lowlat-gen measure --policy other,f": {"other,fifo:1"},
    "lowlat-gen run --policy ": {"other", "fifo:1"},
    "lowlat-gen run --cpus ": {"auto"},
    "lowlat-gen apply --boot ": {"own", "tuned"},
    "lowlat-gen cpus ": {"isolated", "housekeeping"},
    "lowlat-gen plan --isolate ": set(),
    "lowlat-gen render --out ": {"folder"},
    "lowlat-gen plan --svg a": {"a run.json"},
    "lowlat-gen report b.json ": {"a run.json", "b.json", "folder"},
    "lowlat-gen report --against b.json b": {"b.json"},
    "lowlat-gen report --against folder/": {"folder/c.json"},
    "lowlat-gen run -- ": {"a run.json", "b.json", "folder"},
    "lowlat-measure --th": {"--threshold", "--throughput"},
    "lowlat-measure --load ": LOADS,
    "lowlat-measure --load=net": {"network"},
    "lowlat-measure --load-cpus ": {"all"},
    "lowlat-gen measure --load-cpus ": {"all", "siblings"},
    "lowlat-measure --policy ": {"other", "fifo:1", "deadline:5ms/10ms"},
    "lowlat-measure --work ": {*WORKS, "all"},
    "lowlat-measure --work usleep,clock_g": {"usleep,clock_gettime"},
    "lowlat-measure --second-opinion ": {"all", "oslat", "cyclictest", "osnoise", "timerlat"},
    "lowlat-measure --observer ": {"auto", "trace", "switches"},
    "lowlat-measure --throughput --se": {"--second-opinion", "--seed"},
    "lowlat-measure --json b": {"b.json"},
    "lowlat-measure --capture ": {"folder"},
    **{
        f"lowlat-gen {verb} --": {
            flag for flag in parser_of(verb)._option_string_actions if flag.startswith("--")
        }
        for verb in VERBS
    },
}

# Readline also splits words at "=" and ":".
BASH = r"""
for program in lowlat-gen lowlat-measure; do source "$1/$program.bash"; done
for line in "${@:2}"; do
  COMP_WORDS=()
  rest=$line
  while [[ $rest =~ ^\ *([=:]+|[^\ =:]+)(.*)$ ]]; do
    COMP_WORDS+=("${BASH_REMATCH[1]}")
    rest=${BASH_REMATCH[2]}
  done
  [[ $line != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _shtab_${COMP_WORDS[0]//-/_}
  printf '%s\n' "${COMPREPLY[@]}" $'\1'
done
"""

FISH = r"""
for program in lowlat-gen lowlat-measure; source $argv[1]/$program.fish; end
for line in $argv[2..-1]
  complete -C $line
  printf '%s\n' \x01
end
"""

# zsh completes only in a terminal. In that terminal, compadd prints each word that it gets.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $1/setup.zsh"
zpty -r -m shell heard $'*READY*'
for line in "${@:2}"; do
  zpty -w -n shell $'\x15'"$line"$'\t'
  zpty -r -m shell heard $'*\1*\1*'
  print -r -- ${${heard#*$'\1'}%$'\1'*}$'\n\1'
done
"""
ZSH_SETUP = r"""
unsetopt auto_list
fpath=(${${(%):-%x}:h} $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
compadd() {
  local -a given before hidden
  local word
  builtin compadd "$@"
  local result=$?
  if [[ " $* " != *' -'[AOD]' '* ]]; then
    builtin compadd -O given "$@"
    zparseopts -E P:=before p:=hidden
    for word in $given; do print -r -- $IPREFIX${before[2]}${hidden[2]}${(Q)word}; done
  fi
  return result
}
began() { compprefuncs=(began); print -n $'\1' }
ended() { comppostfuncs=(ended); print -n $'\1' }
began; ended
print READY
"""
SHELLS = {
    "bash": ("bash", "--norc", "-c", BASH, "bash"),
    "fish": ("fish", "--no-config", "-c", FISH),
    "zsh": ("zsh", "-f", "-c", ZSH, "zsh"),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine's files, and the completions that look there."""
    root = tmp_path_factory.mktemp("machine")
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    for link, target in LINKS.items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    (root / "completion").mkdir()
    (root / "completion/setup.zsh").write_text(ZSH_SETUP)
    for path in COMPLETION.iterdir():
        text = re.sub("|".join(PLACES), lambda found: f"{root}{found[0]}", path.read_text("utf-8"))
        (root / "completion" / path.name).write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module", params=SHELLS)
def offered(request: pytest.FixtureRequest, machine: Path) -> dict[str, set[str]]:
    """The completions of each line: the words alone, without the option's name and without the
    description."""
    shell = SHELLS[request.param]
    if not shutil.which(shell[0]):
        needs.absent(f"needs {shell[0]}: packaging/install-dependencies package")
    done = subprocess.run(
        [*shell, machine / "completion", *LINES],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        cwd=machine / "work",
        env={**os.environ, "HOME": str(machine / "home"), "TERM": "dumb"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = [answer.splitlines() for answer in done.stdout.split("\1\n")[:-1]]
    return {
        line: {re.sub(r"^--[a-z-]+=|/?(\t.*)?$", "", word) for word in answer if word.strip()}
        for line, answer in zip(LINES, answers)
    }


@pytest.mark.parametrize("line", LINES)
def test_what_is_offered(offered: dict[str, set[str]], line: str) -> None:
    assert offered[line] == LINES[line]
