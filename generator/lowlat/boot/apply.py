# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies a decision: the files to write, their order, and the notes for the user."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import decision as decisions
from lowlat.boot import (
    entry_line,
    foreign,
    hooks,
    places,
    programs,
    promote,
    trials,
    tuned_profile,
)
from lowlat.boot import journal as journals
from lowlat.boot.decision import Decision, Planner
from lowlat.boot.disk import Disk
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders import by_hand, detect
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import BootMenu, Loader, Unwritable
from lowlat.boot.transaction import Transaction, edited, edited_since, gone
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner as planners
from lowlat.plan import store
from lowlat.plan.boot_machine import boot_machine
from lowlat.probe.kernel import read_installed
from lowlat.render import files


@dataclass(frozen=True)
class Proposal:
    """The effect of ``apply``: the plan of the requested kernel, the plans of all kernels that get
    an entry, and the notes for the user, the warnings of the plans first."""

    decision: Decision
    plan: Plan
    plans: tuple[Plan, ...]
    notes: tuple[str, ...]


def check(root: Root, loader: Loader, boot: str, runtime: str) -> None:
    """Raises Refused if this host is not ready for ``apply`` with these options: a plan is applied
    with others, TuneD still has lowlat-local selected, the loader's files cannot be written or take
    no new entry, or a file of lowlat was edited or is writable by others than root."""
    made = decisions.read(root)
    if made is not None and made.boot != boot:
        why = f"--boot {made.boot} is applied here, and {boot} would double the line"
        raise Refused(why, hint="'lowlat-gen rollback' first")
    if runtime == "none" and tuned_profile.selected(root):
        # No later boot would select another profile.
        raise Refused(
            f"--runtime none: TuneD has {tuned.LOCAL} selected in this boot",
            hint="boot the stock entry first, or take everything back with 'lowlat-gen rollback'",
        )
    loader.check()
    if boot == "own":
        loader.check_new()
    for folder in ("/etc/lowlat", store.PLANS):
        root.check_owned(folder)
    trials.read(root)
    disk = Disk(root)
    for path in edited(disk, journals.read(disk, to_write=True)):
        raise edited_since(path)


def lacks(root: Root, runtime: str) -> Iterator[Refused]:
    """What has to be installed before apply(): TuneD, which applies the run-time settings, and a
    lowlat-gen that only root can replace."""
    if runtime == "tuned" and tuned.state(root) == "absent":
        hint = f"{process.package_hint('TuneD')}, or apply --runtime none"
        yield process.NotInstalled("TuneD", hint=hint)
    try:
        programs.ourselves(root)
    except Refused as error:
        yield error


def prepare(
    root: Root, machine: Machine, plan: Plan, decision: Decision
) -> tuple[Proposal, Loader]:
    """The effect of the decision, and the boot loader for it: where its entries cannot be written,
    its line is left to the person. Raises Refused if this host is not ready, or the loader does not
    boot the requested kernel."""
    places.check(root)
    loader = detect.writer(root)
    try:
        return _prepared(loader, root, machine, plan, decision), loader
    except Unwritable as error:
        has_ours = isinstance(loader, ByHand) or detect.has_ours(loader)
        if has_ours or decision.boot != "own" or plan.kernel != machine.kernel.release:
            raise
        left = detect.left(root, error.message, anew=True)
    return _prepared(left, root, machine, plan, decision), left


def _prepared(
    loader: Loader, root: Root, machine: Machine, plan: Plan, decision: Decision
) -> Proposal:
    check(root, loader, decision.boot, decision.runtime)
    if isinstance(loader, ByHand) and plan.kernel != machine.kernel.release:
        why = f"this machine boots with {loader.name}: only the running kernel's line is known"
        raise Refused(why, hint=f"boot Linux {plan.kernel} first, then apply")
    proposal = propose(decision, plan, machine, loader.describe(), root)
    along = loader.taken_along() if decision.boot == "own" else ()
    return replace(proposal, notes=(*proposal.notes, *along))


def propose(
    decision: Decision, plan: Plan, machine: Machine, boot: BootMenu, root: Root
) -> Proposal:
    """Plan this machine for every kernel that the loader boots. Raises Refused if the requested
    kernel is not among them, or boots with other CPUs than planned for."""
    stock = {entry.release: entry for entry in reversed(tuple(boot.stocks()))}
    plans, notes = [], []
    decision, plan = decisions.with_plan(decision, plan, root, machine)
    planner, known = Planner(decision, root, machine), foreign.tuned_variables(root)
    for release, entry in stock.items():
        words = entry_line.expanded(entry.words, known)
        try:
            made = plan if release == plan.kernel else planner.plan(release)
            _check_cpus(made, words, machine)
        except LowlatError as error:
            if release == plan.kernel:
                raise
            # Kernels of other systems and rescue images are not installed here: they need no note.
            if read_installed(root, release) is not None:
                notes.append(f"no tuned entry for Linux {release}: {error}")
            continue
        plans.append(made)
        for word in entry_line.conflicting(words, made):
            notes.append(
                f"{word} on the stock line ({foreign.source(root, word)}) is left out of the tuned "
                "entries: the plan sets it"
            )
    if plan not in plans:
        raise Unwritable(
            _no_entry(boot, str(plan.kernel)), hint="name an installed one with --kernel"
        )
    notes += [*_left_to_user(decision, plan), *_sealed(root)]
    return Proposal(decision, plan, tuple(plans), tuple(dict.fromkeys((*_warnings(plans), *notes))))


def _no_entry(boot: BootMenu, release: str) -> str:
    """Why no entry of this kernel can be copied."""
    other = next((each for each in boot.entries if each.release == release and not each.ours), None)
    if other is None:
        return f"the distribution has made no boot entry for kernel {release}"
    return f"{other.id} boots Linux {release}, and is none of the plain entries that lowlat copies"


def _check_cpus(plan: Plan, stock: Sequence[str], machine: Machine) -> None:
    """Raises Refused if the tuned entry brings other CPUs online than the plan is for: the running
    line may have had words of one boot alone."""
    if machine.cmdline is None or not plan.isolated or any(map(cmdline.is_open, stock)):
        return
    online = boot_machine(" ".join(entry_line.tuned(stock, plan)), machine)[0].cpus.online
    if online != plan.cpus.online:
        why = f"the entry of Linux {plan.kernel} brings CPU {online} online, the plan is for CPU"
        raise Refused(f"{why} {plan.cpus.online}", hint="boot that entry once, then plan again")


def _sealed(root: Root) -> Iterator[str]:
    """What asks for a passphrase at a boot with another line. GRUB measures its configuration and
    the line into PCR 8 and 9 (its manual, "Measured Boot"), systemd-stub the line into PCR 12."""
    rows = (root.read("/etc/crypttab") or "").splitlines()
    if any("tpm2-device=" in row for row in rows if not row.startswith("#")):
        yield (
            "/etc/crypttab has the TPM unlock a volume: one that is sealed to PCR 8, 9 or 12 asks "
            "for its passphrase in a boot with another line, and with GRUB in the stock boot too"
        )


def _left_to_user(decision: Decision, plan: Plan) -> Iterator[str]:
    names = ", ".join(dict.fromkeys(one.name for one in plan.runtime))
    if decision.runtime == "none" and names:
        yield (
            f"nothing sets {names}, which are for a running kernel: 'lowlat-gen runtime start' in "
            "each tuned boot does"
        )


def _warnings(plans: Sequence[Plan]) -> Iterator[str]:
    """The plans' warnings, with the kernels that they are about if these are not all. What the
    stock line has too is left out of the tuned one, as another note says."""
    kernels: dict[str, list[str]] = {}
    for plan in plans:
        for warning in plan.warnings:
            if not warning.startswith(planners.ALREADY):
                kernels.setdefault(warning, []).append(str(plan.kernel))
    for warning, found in kernels.items():
        yield warning if len(found) == len(plans) else f"Linux {', '.join(found)}: {warning}"


def is_in_place(proposal: Proposal, boot: BootMenu, root: Root) -> bool:
    """Whether the whole proposal is applied already, and nobody changed an entry or removed a file
    since."""
    if not decisions.is_stored(proposal.decision, proposal.plans, root):
        return False
    if root.read(store.PLAN) != proposal.plan.text().strip():
        return False
    disk = Disk(root)
    if any(boot.edited()) or any(boot.lacking()) or gone(disk, journals.read(disk)):
        return False
    words = {word for entry in boot.tuned() for word in entry.words}
    entries = all(words.issuperset(plan.words) for plan in proposal.plans)
    return entries or proposal.decision.boot == "tuned"


def lines(plan: Plan, boot: BootMenu) -> tuple[str, str]:
    """The current line of the plan's kernel, from its tuned entry if it has one, else from its
    stock entry; and the planned line, made from the stock entry's."""
    release = str(plan.kernel)
    stock = boot.stock(release)
    ours = next((entry for entry in boot.tuned() if entry.release == release), stock)
    made = entry_line.tuned(stock.words, plan) if stock else ()
    return " ".join(ours.words if ours else ()), " ".join(made)


def apply(proposal: Proposal, loader: Loader, root: Root, accept_pending: bool) -> BootMenu:
    """Write everything or nothing. The default entry stays. Raises Refused if pending changes of
    others would take effect too, unless ``accept_pending``."""
    with Transaction(root) as change:
        before = loader.describe()
        _write_inputs(proposal, loader, change)
        menu = loader.write(change, proposal.plans, accept_pending)
        promote.cancel_lost(root, loader, before, proposal.plans)
        return menu


def foresee(proposal: Proposal, loader: Loader, root: Root) -> Mapping[str, str]:
    """What apply() would do to each file that it would change: Foreseen.ways."""
    with Foreseen(root) as change:
        _write_inputs(proposal, loader, change)
        loader.foresee(change, proposal.plans)
        known = trials.read(root)
        kept = promote.without_lost(known, proposal.plans)
        if kept != known:
            change.put(trials.TRIALS, trials.text(kept))
    return change.with_state()


def _write_inputs(proposal: Proposal, loader: Loader, change: Transaction) -> None:
    """Everything but the boot entries."""
    by_tuned = proposal.decision.runtime == "tuned"
    if by_tuned:
        write_profile(change, proposal.plan)
    else:
        for path in tuple(change.journal.entries):
            if path.startswith("/etc/tuned/"):
                change.put_back(path)
    hooks.write_units(change, tuned=by_tuned)
    change.write(store.PLAN, proposal.plan.text())
    decisions.write(proposal.decision, proposal.plans, change)
    if not isinstance(loader, ByHand):
        by_hand.forget(change)


def write_profile(change: Transaction, plan: Plan, *, by_plugin: bool = False) -> None:
    """Write TuneD's profile of this machine, ``by_plugin`` with the boot line. The profile that it
    includes is written only if no package installed the same."""
    for file in files.tuned_files(plan, change.root, change.program, by_plugin=by_plugin):
        packaged = file.path.startswith("/usr/") and change.root.read_bytes(file.path)
        if packaged == file.content.encode():
            continue
        change.write(file.path.replace("/usr/lib/", "/etc/", 1), file.content, file.mode)
