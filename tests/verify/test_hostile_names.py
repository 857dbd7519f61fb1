# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence script on a machine where others chose the names of processes, control groups,
devices and interrupts: nothing of them runs, all of them are recorded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lowlat.host.archive import Archive, Contents, parse
from lowlat.host.root import Root
from lowlat.host.tasks import read as read_task
from lowlat.model.cpuset import CpuSet
from lowlat.verify import counters, evidence, tasks
from support import shells
from support.machines import machine, write_tree
from support.shells import Shell

pytestmark = pytest.mark.security

TOOLS = "cat grep readlink sed sleep sort stat taskset tr xargs"

#: A command of a name leaves a file in the folder where the script runs.
RUN = "$(>ran)"

#: PR_SET_NAME takes 15 bytes. The fields of a name with "*" depend on the files beside the script.
PROCESSES = (
    b") a * group\n",
    b") * group",
    b"x\n",
    b"\n",
    b"\n\n\n",
    b"x\n1 (y) S 1 1",
    b"x) S 1 1 1 1 1",
    b") S 1 1 1 0 -1",
    b"(((", b")))", b")", b"(", b"a\n) (b", b") (",
    RUN.encode(), b"`>ran`", b"a[$(>ran)]", b"x; >ran", b"x\n>ran", b"x|>ran", b"&>ran",
    b"*", b"[a-z]*", b"?", b"-n", b"-e", b"--", b"%s%n%d", b"\\", b"a\\", b"a\\nb", b"\\0101\\c",
    b"\\x41", b"\t\v\f\r", b"\x1b[31m", b"\x7f\x01", b"\xff\xfe", "é".encode(),
    "\u2028\u2029\x85".encode(), b" ", b"a  b", b" a ", b"'", b'"', b"it's", b"#", b"~", b"$",
    b"$$", b"${x}", b"$((1/0))",
    b"| \\", b"f /proc/1 x", b"d /proc 1", b"# complete", b"# incomplete",
    b"softirqs", b"tasks\n", b"after\n", b"a\nafter\nb",
)  # fmt: skip

#: A control group may have any name without "/" and line end.
GROUPS = (
    f"path[{RUN}]", RUN, "`>ran`", "x[a$(>ran)]", "*", "[0-9]*", "?", "a b", " ", "-", "--", "-e",
    "\\", "a\\nb", "\\x41", "a\tb", "'", '"', "it's", "é", "\u2028", "$x", "${x}", "%s", "#", "~",
)  # fmt: skip

#: Of a device too.
DEVICES = (*GROUPS, "eth0", "a\vb", "\x1b[31m")


def stat_text(number: int, name: bytes, flags: int) -> bytes:
    """A stat file of a thread that ran last on CPU 1, of the policy "other"."""
    fields = {3: "S", 9: str(flags), 39: "1", 40: "0", 41: "0"}
    text = " ".join(fields.get(field, "0") for field in range(3, 53))
    return b"%d (%s) %s\n" % (number, name, text.encode())


def add_task(tree: Path, number: int, name: bytes, group: str, flags: int = 0x400000) -> None:
    for folder in (tree / f"proc/{number}", tree / f"proc/{number}/task/{number}"):
        folder.mkdir(parents=True)
        shown = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        (folder / "stat").write_bytes(stat_text(number, name, flags))
        (folder / "status").write_bytes(
            b"Name:\t%s\nPid:\t%d\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n" % (shown, number)
        )
        (folder / "comm").write_bytes(name + b"\n")
        (folder / "schedstat").write_text("5 6 7\n")
        (folder / "cgroup").write_text(f"1:name=x:/old\n0::/user.slice/{group}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A machine with all of these names, and kernel threads before and after them."""
    top = write_tree(tmp_path / "tree", machine())
    write_tree(
        top,
        {
            "proc/uptime": "100.00 1.00\n",
            "proc/stat": "cpu  1 1 1 1\ncpu1 1 0 1 100 1 0\n",
            "proc/softirqs": "          CPU0 CPU1\n  TIMER: 1 2\n",
            "proc/interrupts": "           CPU0       CPU1\n"
            + "".join(
                f"{number:3}: {1:10} {2:10} PCI {name}\n" for number, name in enumerate(DEVICES)
            ),
        },
    )
    add_task(top, 2, b"kthreadd", "", 0x208040)
    for number, name in enumerate(PROCESSES):
        add_task(top, 1000 + number, name, GROUPS[number % len(GROUPS)])
    add_task(top, 9999, b"kworker/1:0-a) b", "", 0x4208060)
    for device in DEVICES:
        write_tree(top, {f"sys/class/net/{device}/threaded": "0\n"})
        (top / f"sys/class/net/{device}/threaded").chmod(0o600)
    for group in GROUPS:
        write_tree(top, {f"sys/fs/cgroup/{group}/cpuset.cpus": "0-1\n"})
    return top


@pytest.fixture(params=shells.SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    made = shells.make(request.param, tmp_path / "tools", TOOLS)
    (made.tools / "dmesg").write_text(f"#!/bin/sh\nprintf '%s\\n' '{RUN} \\n' '# complete' '*'\n")
    (made.tools / "dmesg").chmod(0o755)
    return made


def gathered(shell: Shell, tree: Path, *options: str, status: int = 0, unread: int = 0) -> Contents:
    """What the script finds in the tree; asserts that nothing ran."""
    beside = tree.parent / "beside"
    beside.mkdir()
    # With these, "*" gives as many fields as the script reads.
    for name in "bcdef":
        (beside / name).touch()
    text = re.sub(
        r"(?m)(?<=[\s'\"<])/(proc|sys|etc|run|usr|var)(?=/)", rf"{tree}/\1", evidence.script()
    )
    script = tree.parent / "evidence.sh"
    script.write_text(text.replace("sleep 1", ":"))
    done = shell.run(script, *options, cwd=beside)
    assert sorted(path.name for path in beside.iterdir()) == list("bcdef")
    said = b"evidence.sh: a part of the archive is missing: it is incomplete\n" * status
    assert done.returncode == status and done.stderr.endswith(said), done.stderr
    told = b"# %d files or tasks could not be read" % unread
    assert done.stdout.split(b"\n")[-3:-1] == [told, b"# incomplete" if status else b"# complete"]
    return parse(done.stdout.replace(f" {tree}/".encode(), b" /"))


def shown(name: bytes) -> str:
    """A name on one line, as the archive has it."""
    return re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "?", name.decode("utf-8", "replace"))


def test_hostile_names_are_recorded_and_not_evaluated(shell: Shell, tree: Path) -> None:
    contents = gathered(shell, tree, "-d", "1", "-c", "0,1")
    root = Archive("script", contents)
    names = {1000 + number: shown(name) for number, name in enumerate(PROCESSES)}
    listed = tasks.read(root, CpuSet.parse_list("0-3"))
    assert {task.tid: task.comm for task in listed if not task.kernel} == names
    assert {(task.tid, task.kind) for task in listed if task.kernel} == {
        (2, "kernel"),
        (9999, "bound"),
    }
    assert {(task.policy, task.cpu, task.runs, task.ran_ns) for task in listed} == {
        ("other", 1, 7, 5)
    }
    # Python sees the same tasks.
    live = tasks.listing(Root(str(tree)), CpuSet.parse_list("0-3")).split("\n")
    assert sorted(int(line.split()[0]) for line in live) == sorted(task.tid for task in listed)
    assert root.names("/proc") == ("2", "9999")
    thread = read_task(root, "/proc/9999")
    assert thread is not None and thread.comm == "kworker/1:0-a) b"
    for name in DEVICES:
        path = f"/sys/class/net/{shown(name.encode())}"
        assert root.read(f"{path}/threaded") == "0" and root.mode(f"{path}/threaded") == 0o600
    assert set(root.names("/sys/class/net")) == {shown(name.encode()) for name in DEVICES}
    assert set(root.names("/sys/fs/cgroup")) == set(GROUPS)
    text = root.read("/.lowlat/counters") or ""
    rows = counters.parse_interrupts(text.partition("\nbefore\n")[2].partition("\nsoftirqs\n")[0])
    assert len(rows) == len(DEVICES) and {row[1] for row in rows.values()} == {2}
    assert "after" in text.splitlines()


def test_a_path_with_a_line_end_is_counted_as_cut_off(shell: Shell, tree: Path) -> None:
    write_tree(tree, {"sys/class/net/a\nb/threaded": "1\n"})
    contents = gathered(shell, tree, "-d", "0", status=1)
    assert "a" not in contents.folders["/sys/class/net"]


def test_what_cannot_be_read_is_counted(shell: Shell, tree: Path) -> None:
    """A stat file without numbers is no task, and nothing is calculated with it."""
    broken = [b"1 (x) S 1\n", b"\n", b"1 (x) S" + b" $(>ran)" * 50, b"1 (x) S" + b" 1x" * 50]
    for number, text in enumerate(broken):
        (tree / f"proc/{1000 + number}/stat").write_bytes(text)
    contents = gathered(shell, tree, "-d", "0", unread=len(broken))
    assert contents.folders["/proc"] == ("2", "9999")


@pytest.mark.parametrize("tool", ["sort", "stat"])
def test_without_a_tool_it_is_not_complete(tmp_path: Path, tree: Path, tool: str) -> None:
    shell = shells.make("dash", tmp_path / "tools", TOOLS.replace(tool, ""))
    gathered(shell, tree, "-d", "0", status=1, unread=1)  # there is no dmesg either


NAMED = """import ctypes, sys
ctypes.CDLL(None).prctl(15, ctypes.c_char_p(bytes.fromhex(sys.argv[1])), 0, 0, 0)
print(flush=True)
sys.stdin.read()
"""


def test_a_process_that_names_itself(shell: Shell, tmp_path: Path) -> None:
    """The kernel's own text of such a name."""
    script = tmp_path / "evidence.sh"
    script.write_text(evidence.script())
    argv = [sys.executable, "-c", NAMED, b") \nx".hex()]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
        assert named.stdout is not None and named.stdout.readline()
        done = shell.run(script, "-d", "0", "-c", "0-4095")
    assert (done.returncode, done.stderr) == (0, b"")
    listed = tasks.parse(Archive("s", parse(done.stdout)).read("/.lowlat/tasks") or "")
    assert [task.comm for task in listed if task.pid == named.pid] == [") ?x"]
    assert len(listed) > 1
