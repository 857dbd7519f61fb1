# SPDX-License-Identifier: GPL-2.0-or-later
"""``run``: start the user's program on the isolated CPUs.

Output and exit status belong to the program, so only ``--dry-run`` prints warnings about it. In a
boot that does not isolate the CPUs, one line on stderr says so. ``--audit`` prints there as well,
once the program has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base.arguments import command, flag, option, program
from lowlat.base.errors import Refused
from lowlat.host.archive import open_root
from lowlat.host.root import CPU, Root
from lowlat.model import policy
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.launch import Launch
from lowlat.model.plan import Plan
from lowlat.plan import worth
from lowlat.probe import probe
from lowlat.render import files
from lowlat.runtime import launch, partition
from lowlat.verbs import chosen_plan, options, run_audit
from lowlat.verbs.options import PlanChoice
from lowlat.verbs.run_audit import AuditArguments


@dataclass(frozen=True)
class RunArguments:
    cpus: str = option(
        "LIST|auto",
        "CPUs to run on; auto: what 'lowlat-gen cpus isolated --planned' prints (%(default)s)",
        "auto",
    )
    set: Optional[str] = option("NAME", "run on the set that --isolate NAME=LIST made")
    policy: str = option(
        "other|fifo:N|rr:N", "scheduling policy; N: real-time priority (%(default)s)", "other"
    )
    one_per_thread: bool = flag("give each thread a CPU of its own")
    task_isolation: bool = flag("have the kernel do its deferred work when system calls return")
    audited: AuditArguments = AuditArguments()
    dry_run: bool = flag("print where the program would run, with warnings")
    systemd_drop_in: bool = flag("print a drop-in that places a systemd service; run nothing")
    root: str = options.root()
    command: tuple[str, ...] = command("the program, after --")


def main(args: RunArguments) -> int:
    root = open_root(args.root)
    given = program(args.command)
    _check(args, given, root)
    plan = chosen_plan.here(root, PlanChoice())[0] if args.cpus == "auto" else None
    where = _place(args, plan, root)
    if args.dry_run:
        _tell(given, where, plan, root)
        for line in run_audit.foreseen(root) if args.audited.audit and root.live else ():
            print(line)
        return 0
    if plan:
        chosen_plan.remark(plan, root)
    if args.systemd_drop_in:
        print(files.systemd_drop_in(where), end="")
        return 0
    if plan:
        chosen_plan.note(launch.not_isolated(where, root))
    if args.audited.audit:
        return run_audit.audit(given, where, args.audited, root)
    if not where.one_per_thread:
        launch.exec_on_cpus(given, where)
    return launch.run_and_keep(given, where)


def _check(args: RunArguments, command: Sequence[str], root: Root) -> None:
    args.audited.wish()
    if args.systemd_drop_in:
        of_cmd = (args.one_per_thread, args.dry_run, args.task_isolation, args.audited.audit)
        if command or any(of_cmd):
            why = "--systemd-drop-in: only prints the place of a service"
            hint = "leave out CMD, --one-per-thread, --task-isolation, --audit and --dry-run"
            raise Refused(why, hint=hint)
        return
    if not command or not command[0]:
        raise Refused("no program given", hint="lowlat-gen run [OPTION]... -- CMD [ARGUMENT]...")
    if not args.dry_run and not root.live:
        raise Refused("--root: nothing runs on a captured machine", hint="add --dry-run")


def _place(args: RunArguments, plan: Optional[Plan], root: Root) -> Launch:
    if args.set and args.cpus != "auto":
        raise Refused("--cpus and --set both say where to run", hint="give one of the two")
    planned = plan.cpus_of(args.set or "isolated") if plan else None
    listed = _listed(args.cpus, planned, root)
    order: tuple[int, ...] = ()
    if args.one_per_thread:
        every = plan.preferred if plan else worth.preferred(probe(root), listed)
        order = tuple(cpu for cpu in every if cpu in listed)
    wanted = policy.of_program(args.policy)
    group = partition.owner(listed, root)
    return Launch(listed, wanted, args.one_per_thread, group, order, args.task_isolation)


def _listed(text: str, planned: Optional[CpuSet], root: Root) -> CpuSet:
    if planned is not None:
        return chosen_plan.auto_cpus(root, planned)
    try:
        listed = CpuSet.parse_list(text)
    except CpuSetError as error:
        raise Refused(f"--cpus {text[:60]}: {error}", hint="such as 2-5,8") from error
    if not listed:
        raise Refused(f"--cpus {text[:60]}: no CPU is isolated", hint="name some with --cpus LIST")
    missing = listed - (root.read_cpus(f"{CPU}/online") or listed)
    if missing:
        raise Refused(f"--cpus {text[:60]}: CPU {missing} is not online")
    return listed


def _tell(command: Sequence[str], where: Launch, plan: Optional[Plan], root: Root) -> None:
    threads = "all threads"
    if where.one_per_thread:
        threads = f"each thread on one of its own, in the order {','.join(map(str, where.order))}"
    print(f"{command[0]} would run on CPU {where.cpus} ({threads}), policy {where.policy}")
    if where.group:
        print(f"It would join {where.group}, which owns these CPUs.")
    for warning in (*(plan.warnings if plan else ()), *launch.warnings(where, root)):
        print(f"warning: {warning}")
