# SPDX-License-Identifier: GPL-2.0-or-later
"""``watch --metrics``: the file that it writes, and the alerts and the dashboard on it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from booted import planned, thread

from lowlat.host.root import BOOT_ID
from support import debs
from support.cli import lowlat
from support.machines import write_tree
from support.waits import GUARD_S

ROOT = Path(__file__).parents[2]
RULES = ROOT / "packaging/metrics/lowlat.rules.yml"
DASHBOARD = ROOT / "packaging/metrics/lowlat.dashboard.json"
PAGE = ROOT / "packaging/doc/fleet.md"
IRQ = "proc/irq/24/smp_affinity"

COUNTS = """           CPU0       CPU1       CPU2       CPU3
  20:         10          5          0          0   PCI-MSI 1-edge      nvme0q0
  24:        900          0         70          0   PCI-MSI 2-edge      eth0
 NMI:          1          2          3          4   Non-maskable interrupts
 LOC:       1000       1000       2000       1000   Local timer interrupts
 RES:          9          8          7          6   Rescheduling interrupts
 CAL:         19         18         17         16   Function call interrupts
 TLB:         19         18         17         16   TLB shootdowns
 MCP:          1          1          1          1   Machine check polls
 ERR:          5
"""
SOFTIRQS = """                    CPU0       CPU1       CPU2       CPU3
          HI:          0          0          1          0
       TIMER:         50         51         52         53
      NET_RX:          5          0         30          0
"""

#: By name and labels.
Samples = Mapping[str, str]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = planned(tmp_path_factory.mktemp("host"), "--isolate", "1-3")
    (root / IRQ).write_text("f\n")
    assert lowlat("runtime", "start", "--root", root).status == 0
    stray = thread(70, "busy", "f", kernel=False, cpu=2)
    files = {"proc/interrupts": COUNTS, "proc/softirqs": SOFTIRQS, **stray}
    line = (root / "proc/cmdline").read_text()
    return write_tree(root, {**files, "proc/cmdline": f"{line.strip()} lowlat.plan={_id(root)}\n"})


def _id(root: Path) -> str:
    return str(json.loads((root / "run/lowlat/plan.json").read_text())["id"])


@pytest.fixture
def undone(host: Path) -> Path:
    """The host, after another program moved an interrupt."""
    return write_tree(host, {IRQ: "f\n", "proc/7/comm": "irqbalance\n"})


def samples(text: str) -> Samples:
    rows = (line.rpartition(" ")[::2] for line in text.splitlines() if line[0] != "#")
    return MappingProxyType(dict(rows))


def written(root: Path, out: Path, status: int) -> str:
    answer = lowlat("watch", "--once", "--root", root, "--metrics", out)
    assert (answer.status, answer.err) == (status, "")
    assert [path.name for path in out.parent.glob(f"*{out.name}*")] == [out.name]
    return out.read_text()


def test_counts_are_those_of_the_kernel(undone: Path, tmp_path: Path) -> None:
    text = written(undone, tmp_path / "lowlat.prom", 1)
    found = samples(text)
    assert len(found) == sum(line[0] != "#" for line in text.splitlines())

    def interrupts(cpu: int) -> dict[str, str]:
        name = f'lowlat_cpu_interrupts_total{{cpu="{cpu}",type="'
        return {key[len(name) : -2]: found[key] for key in found if key.startswith(name)}

    # A TLB shoot-down counts as a function call, too.
    expected = {"device": "70", "ipi": "24", "nmi": "3", "other": "1", "timer": "2000"}
    assert interrupts(2) == expected
    assert interrupts(0) == {}, "housekeeping"
    assert found['lowlat_cpu_softirqs_total{cpu="2",type="NET_RX"}'] == "30"
    assert [found[f'lowlat_cpu_unexpected_tasks{{cpu="{cpu}"}}'] for cpu in (1, 2, 3)] == list(
        "010"
    )
    series = Counter(re.findall(r'cpu="(\d+)"', "".join(found)))
    assert set(series) == set("123") and max(series.values()) < 20


def test_settings_plan_and_time_are_told(undone: Path, tmp_path: Path) -> None:
    found = samples(written(undone, tmp_path / "lowlat.prom", 1))
    rows = lowlat("watch", "--once", "--root", undone, "--json").out.splitlines()
    assert found['lowlat_settings{state="undone"}'] == "1" == str(len(rows))
    assert int(found['lowlat_settings{state="effective"}']) > 5
    told = 'setting="irq.smp_affinity",state="undone",by="irqbalance"'
    assert found[f"lowlat_findings{{{told}}}"] == "1"
    plan = f'plan="{_id(undone)}",profile="lowlat",isolated="1-3",tick="stopped"'
    assert found[f"lowlat_plan_info{{{plan}}}"] == "1"
    assert found['lowlat_boot_info{boot="tuned",trial="none"}'] == "1"
    assert found["lowlat_watch_problem"] == "0"
    assert float(found["lowlat_watch_last_look_timestamp_seconds"]) > 1.7e9


def test_a_boot_without_settings_still_counts(host: Path, tmp_path: Path) -> None:
    other = write_tree(tmp_path, {path: (host / path).read_text() for path in (
        "proc/interrupts", "proc/softirqs", "sys/devices/system/cpu/isolated",
    )})  # fmt: skip
    line = "quiet lowlat.plan=0123456789ab systemd.wants=lowlat-trial.service\n"
    seen = {"schema": "lowlat.trials/1", "pending": None, "seen": ["tuned"], "failed": "hung"}
    stored = {"var/lib/lowlat/trials.json": json.dumps({"writer": "1.0.0", **seen})}
    write_tree(other, {"proc/cmdline": line, BOOT_ID[1:]: "b\n", **stored})
    found = samples(written(other, tmp_path / "lowlat.prom", 1))
    assert found["lowlat_watch_problem"] == "1"
    assert found['lowlat_boot_info{boot="trial",trial="failed"}'] == "1"
    assert found['lowlat_cpu_interrupts_total{cpu="1",type="device"}'] == "5"
    assert not any("plan_info" in key or "unexpected" in key for key in found)
    write_tree(other, {"proc/cmdline": "quiet\n", "run/lowlat/now.json": ""})
    found = samples(written(other, tmp_path / "lowlat.prom", 1))
    assert found['lowlat_boot_info{boot="now",trial="failed"}'] == "1"


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_alerts_dashboard_and_page_know_the_metrics(undone: Path, tmp_path: Path) -> None:
    text = written(undone, tmp_path / "lowlat.prom", 1)
    names = set(re.findall(r"^# TYPE (\w+) ", text, re.M))
    asked = "\n".join([RULES.read_text(), *expressions()])
    assert set(re.findall(r"\blowlat_\w+", asked)) <= names
    assert set(re.findall(r"^\| `(lowlat_\w+)", PAGE.read_text(), re.M)) == names
    # What is compared in an expression is a label, with a value that there can be.
    labels = set(re.findall(r'[{,](\w+)="', text)) | {"instance"}
    assert set(re.findall(r'(\w+)(?:=|!=|=~)"', asked)) <= labels
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------------- promtool


def promtool(*words: object, stdin: str = "") -> str:
    program = debs.PROMTOOL.tree() / debs.PROMTOOL.file
    argv = [str(word) for word in (program, *words)]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=GUARD_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.proof
def test_promtool_reads_the_metrics(undone: Path, tmp_path: Path) -> None:
    hostile = thread(7, 'irq"ba\\la\nnce', "f", kernel=False, cpu=1)
    write_tree(undone, {**hostile, "proc/8/comm": "irqbalance\n"})
    text = written(undone, tmp_path / "lowlat.prom", 1)
    assert promtool("check", "metrics", stdin=text) == ""


@pytest.mark.proof
def test_promtool_tries_the_alerts_and_the_dashboard(tmp_path: Path) -> None:
    for file in (RULES, Path(__file__).with_name("alerts.yml")):
        (tmp_path / file.name).write_text(file.read_text())
    assert "3 rules found" in promtool("check", "rules", RULES)
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "alerts.yml")
    asked = [text.replace("$__rate_interval", "5m") for text in expressions()]
    rules = [{"record": f"lowlat:panel{number}", "expr": expr} for number, expr in enumerate(asked)]
    (tmp_path / "panels.yml").write_text(
        json.dumps({"groups": [{"name": "panels", "rules": rules}]})
    )
    assert f"{len(asked)} rules found" in promtool("check", "rules", tmp_path / "panels.yml")
