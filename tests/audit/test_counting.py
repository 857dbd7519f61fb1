# SPDX-License-Identifier: GPL-2.0-or-later
"""From what ``perf script`` prints to counts by kind and place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from lowlat.audit import counting, lines, perf_script
from lowlat.audit.counting import Counts, Scope
from lowlat.audit.perf_script import Frame
from lowlat.model.cpuset import CpuSet

APP, LIBC = "/opt/app/bin/feed", "/usr/lib/x86_64-linux-gnu/libc.so.6"
SCOPE = Scope(CpuSet.of([2, 3]), 70, "x86_64", APP)

FEED = f"\t            1369 feed+0x49 ({APP})"
MAIN = f"\t            114d main+0x6d ({APP})"
START = f"\t           27249 __libc_start_call_main+0x79 ({LIBC})"


def libc(symbol: str) -> str:
    return f"\t          101829 {symbol}+0x19 ({LIBC})"


def event(text: str, *frames: str, cpu: int = 2, tid: int = 70, pid: int = 70) -> str:
    head = f"{pid:5}/{tid:<5} [{cpu:03}] 41198.094630123: {text}"
    return "\n".join((head, *frames, ""))


def call(number: int, *arguments: int, at: Iterable[str] = (FEED, MAIN), **how: int) -> str:
    six = ", ".join(f"{one:x}" for one in (*arguments, 0, 0, 0, 0, 0, 0)[:6])
    return event(f"raw_syscalls:sys_enter: NR {number} ({six})", libc("syscall"), *at, **how)


def fault(*frames: str, **how: int) -> str:
    return event("          minor-faults: ", *frames, **how)


def tally(*texts: str, scope: Scope = SCOPE) -> Counts:
    text = "\n".join(texts)
    return counting.count(perf_script.parse(text.splitlines()), scope)


def kinds(found: Counts) -> dict[tuple[str, str], int]:
    counts: Counter[tuple[str, str]] = Counter()
    for site, count in found.sites.items():
        counts[site.kind, site.what] += count
    return dict(counts)


def test_a_row_has_its_kind_its_call_and_its_own_callers() -> None:
    found = tally(call(202, 0x563B, 0x80), call(202, 0x563B, 0x81), fault(FEED, MAIN, START))
    assert kinds(found) == {
        ("calls", "futex"): 2,
        ("futex-waits", "futex"): 1,  # 0x81 wakes
        ("minor-faults", ""): 1,
    }
    own = (Frame(0x1369, "feed", APP), Frame(0x114D, "main", APP))
    assert {site.callers for site in found.sites} == {own}


@pytest.mark.parametrize(
    ("line", "kind", "what"),
    [
        ("signal:signal_deliver: sig=10 errno=0 code=-6 sa_handler=0", "signals", "SIGUSR1"),
        ("signal:signal_deliver: sig=99 errno=0 code=0 sa_handler=0", "signals", "signal 99"),
        ("sched:sched_switch: prev_comm=a prev_state=S ==> next_comm=c", "switches", "madvise"),
        ("  major-faults:u: ", "major-faults", "madvise"),
        ("migrations: ", "migrations", "madvise"),
        ("tlb:tlb_flush: pages:1 reason:remote ipi send (4)", "ipis", "madvise"),
    ],
)  # fmt: skip
def test_each_kind_of_event(line: str, kind: str, what: str) -> None:
    assert kinds(tally(event(line, libc("__GI___madvise@@GLIBC_2.2.5"), FEED))) == {(kind, what): 1}


def test_libraries_and_what_has_no_name_are_no_places_of_the_program() -> None:
    loader = f"\t            2aa4 _dl_start+0x1 ({LIBC.replace('libc.so.6', 'ld.so')})"
    vdso = "\t             8f0 __vdso_clock_gettime+0x10 ([vdso])"
    unknown = "\t          ffffff [unknown] ([unknown])"
    found = tally(fault(loader), fault(vdso, FEED), fault(unknown), fault())
    names = {site.foreign.symbol if site.foreign else None for site in found.sites}
    assert names == {"_dl_start", "", None}
    assert [frame.symbol for site in found.sites for frame in site.callers] == ["feed"]
    assert sum(found.sites.values()) == 4


def test_a_program_below_usr_lib_is_its_own_place() -> None:
    inside = FEED.replace(APP, "/usr/lib/feed/feed")
    scope = replace(SCOPE, executable="/usr/lib/feed/feed")
    assert [site.callers for site in tally(fault(inside)).sites] == [()]
    (site,) = tally(fault(inside), scope=scope).sites
    assert [frame.symbol for frame in site.callers] == ["feed"]


def test_other_cpus_are_counted_apart_but_leaving_one_of_these_counts() -> None:
    found = tally(
        fault(FEED, cpu=1), call(110, cpu=1), call(203, cpu=2), event("migrations: ", FEED, cpu=1),
        event("migrations: ", FEED, cpu=0), event("migrations: ", FEED, cpu=3),
    )  # fmt: skip
    assert kinds(found) == {("calls", "sched_setaffinity"): 1, ("migrations", ""): 2}
    assert found.elsewhere == {"minor-faults": 1, "calls": 1, "migrations": 1}


def test_the_mark_itself_does_not_count() -> None:
    """The thread was late on its way to the answer (the read), and another one waits on."""
    scope = replace(SCOPE, mark_fd=9)
    switch = "sched:sched_switch: prev_state=S"
    found = tally(
        fault(FEED), call(110, tid=71), call(0, 9, 0x7FF, 1), event(switch), fault(FEED),
        call(0, 8, 0x7FF, 1), event(switch), call(1, 9, 0x7FF, 1), fault(FEED), call(231, tid=71),
        scope=scope,
    )  # fmt: skip
    assert kinds(found) == {
        ("calls", "getppid"): 1,
        ("minor-faults", ""): 1,
        ("calls", "read"): 1,
        ("switches", ""): 1,
    }
    # In another process, and in other calls, 9 is another thing.
    others = tally(call(1, 9, 0, 0, pid=80), call(231, 9), fault(FEED), scope=scope)
    assert kinds(others)["minor-faults", ""] == 1


def test_only_the_time_observed_counts() -> None:
    at = 41_198_094_630_123
    assert kinds(tally(fault(FEED), scope=replace(SCOPE, begin_ns=at, end_ns=at))) != {}
    for outside in (replace(SCOPE, begin_ns=at + 1), replace(SCOPE, end_ns=at - 1)):
        assert kinds(tally(fault(FEED), scope=outside)) == {}


def test_from_the_start_is_from_execve_on() -> None:
    execs = event("PERF_RECORD_COMM exec: a: b:70/70")
    child = event("PERF_RECORD_COMM exec: sh:69/69", tid=69, pid=69)
    scope = replace(SCOPE, from_start=True)
    assert kinds(tally(call(59), child, fault(FEED), execs, call(110), scope=scope)) == {
        ("calls", "getppid"): 1
    }


def test_interrupts_of_others_are_not_the_programs() -> None:
    sent = [event(f"ipi:ipi_send_{what}: cpu=1 callsite=x", FEED) for what in ("cpu", "cpumask")]
    membarrier = tally(call(324), *sent, call(110), *sent, call(11), *sent)
    assert kinds(membarrier)["ipis", ""] == 2
    arm = tally(call(215), *sent, scope=replace(SCOPE, machine="aarch64"))
    assert kinds(arm) == {("calls", "munmap"): 1, ("ipis", ""): 2}


def test_calls_without_a_known_name() -> None:
    found = kinds(tally(call(463), call(999), call(-1 & 0), event("raw_syscalls:sys_enter: odd")))
    assert {what for _, what in found} == {
        "setxattrat", "call 999", "read", "call of unknown number",
    }  # fmt: skip
    strange = replace(SCOPE, machine="s390x")
    assert kinds(tally(call(4), scope=strange)) == {("calls", "call 4"): 1}


def test_losses_add_up_and_odd_lines_are_passed_over() -> None:
    found = tally(
        event("PERF_RECORD_LOST lost 2322"), event("PERF_RECORD_LOST lost 8"), "", "\t odd (line",
        "   70/70    [002] 1.000000001: power:cpu_idle: state=1", fault(FEED),
        "\x1b[31m   70/70", event("PERF_RECORD_FORK(70:71):(70:70)"),
    )  # fmt: skip
    assert (found.lost, kinds(found)) == (2330, {("minor-faults", ""): 1})


def test_a_symbol_may_hold_anything() -> None:
    odd = f"\t            1369 std::map<int, (lambda at x.c:1)>::at(int)+0x4+0x49 ({APP} (deleted))"
    (site,) = tally(fault(odd)).sites
    (frame,) = site.callers
    assert frame.symbol == "std::map<int, (lambda at x.c:1)>::at(int)+0x4"
    assert frame.object == f"{APP} (deleted)"


# ------------------------------------------------------------------- lines


def test_an_offset_becomes_the_address_of_debug_information() -> None:
    rows = (
        "LOAD           0x000000 0x0000000000000000 0x0000000000000000 0x000628 0x000628 R   0x1",
        "LOAD           0x000628 0x0000000000201628 0x0000000000201628 0x0001f1 0x0001f1 R E 0x1",
        "DYNAMIC        0x002de0 0x0000000000003de0 0x0000000000003de0 0x0001e0 0x0001e0 RW  0x8",
    )
    text = "".join(f"  {row}000\n" for row in rows)
    segments = lines.parse_segments(text)
    assert [lines.address(at, segments) for at in (0x10, 0x630, 0x900)] == [0x10, 0x201630, None]


def test_the_innermost_function_outside_of_the_systems_headers_is_the_place() -> None:
    text = (
        "0x0000000000001369\nstd::vector<int>::push_back(int const&)\n"
        "/usr/include/c++/12/bits/stl_vector.h:1283\nfeed\n/src/feed.cc:88 (discriminator 3)\n"
        "0x0000000000001400\n??\n??:0\n0x0000000000001500\nmain\n/src/feed.cc:0\n"
        "0x0000000000001600\nread_one\nC:\\odd:name.c:7\n"
    )
    assert lines.parse_lines(text) == {
        0x1369: ("feed", "/src/feed.cc", 88),
        0x1600: ("read_one", "C:\\odd:name.c", 7),
    }
