# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel itself counts of each process: without places, without cost."""

import re
import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

#: By kind; the others are not in the kernel's accounts.
Account = Mapping[str, int]

_VOLUNTARY = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)


def read(pid: int) -> Account:
    """The counts of a process and its ended children so far: proc_pid_stat(5), fields 10 to 13, and
    voluntary_ctxt_switches in proc_pid_status(5) of its threads."""
    minor = major = switches = 0
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        faults = [int(field) for field in fields[7:11]]
        minor, major = faults[0] + faults[1], faults[2] + faults[3]
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                text = (thread / "status").read_text(errors="replace")
                switches += sum(map(int, _VOLUNTARY.findall(text)))
    return {"minor-faults": minor, "major-faults": major, "switches": switches}


def of_children() -> Account:
    """The counts of this process's children that have ended, and of theirs (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "minor-faults": used.ru_minflt,
        "major-faults": used.ru_majflt,
        "switches": used.ru_nvcsw,
    }


def difference(after: Account, before: Account) -> Account:
    return {kind: max(0, count - before.get(kind, 0)) for kind, count in after.items()}
