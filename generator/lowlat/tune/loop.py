# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the loop: step after step in this boot, until the next boot or the end.

Each state is written to disk before its step, and every step can be repeated: if a step is
interrupted, the next call repeats it or gives up the tuned boot.
"""

import re
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Optional

from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.base.terminal import say
from lowlat.boot import entry_line, kexec, programs, promote, status, trials
from lowlat.boot.disk import Disk
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader
from lowlat.boot.transaction import PATIENT_S, Transaction, lock
from lowlat.claim.verdict import DESCRIPTIVE
from lowlat.host import runstate
from lowlat.host.root import BOOT_ID, Root
from lowlat.present.wording import headline
from lowlat.render import hooks
from lowlat.tune import gate, steps
from lowlat.tune.schedule import decide
from lowlat.tune.state import TUNED, LoopState, Outcome, Phase, read, write

#: The systemd unit that continues the loop after a reboot; it exists only during a loop.
UNIT = "lowlat-tune.service"
_UNIT_PATH = f"/etc/systemd/system/{UNIT}"
_WANTED = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"


def exclusive_lock(root: Root) -> AbstractContextManager[None]:
    """The lock for running the loop: two measurements at once would disturb each other. Raises
    Refused if another process holds it. The lock ends with its process."""
    taken = Refused("another 'lowlat-gen tune' is at work", hint="--status tells, --abort ends it")
    return runstate.locked(root, f"{runstate.FOLDER}/tune.lock", taken)


def boot_id(root: Root) -> str:
    """This boot's id. Raises Refused if it cannot be read: the loop would reboot for ever."""
    ident = root.read(BOOT_ID)
    if not ident:
        raise Refused(f"{BOOT_ID} cannot be read")
    return ident


def here(root: Root, state: LoopState) -> status.Running:
    """The running boot, according to its command line."""
    return status.read_boot(root, {state.plan})


class Loop:
    """One loop on one host; ``go`` returns while it waits for a reboot, or at its end."""

    def __init__(self, root: Root, state: LoopState) -> None:
        self._root = root
        self.state = state
        self._loader: Optional[Loader] = None

    def go(self) -> Phase:
        """Returns BOOT or DONE. Raises LowlatError if the preparations cannot be undone, or another
        lowlat-gen has taken over the loop."""
        actions = {
            Phase.ARM: self._arm,
            Phase.MEASURE: self._measure,
            Phase.JUDGE: self._judge,
            Phase.CLOSE: self._close,
        }
        while True:
            phase, why = decide(self.state, here(self._root, self.state), boot_id(self._root))
            if phase in (Phase.BOOT, Phase.DONE):
                return phase
            try:
                if why:
                    failed = trials.read(self._root).failed if self.state.due == TUNED else ""
                    raise LowlatError(f"{why} ({failed})" if failed else why)
                actions[phase]()
            except LowlatError as error:
                if phase is Phase.CLOSE:
                    raise
                self.end(Outcome.FELL_BACK, str(error))

    def end(self, outcome: Outcome, why: str, report: Optional[str] = None) -> None:
        """Set the outcome; the next step undoes the preparations."""
        self._move(phase=Phase.CLOSE, outcome=outcome, why=why, report=report)

    def _move(self, **changes: Any) -> None:
        """Write the next state. Raises Unmet if another process, such as --abort, changed it."""
        if read(self._root) != self.state:
            raise Unmet("another lowlat-gen ended the loop meanwhile: nothing more is done here")
        self.state = replace(self.state, **changes)
        write(self._root, self.state)

    def reboot(self) -> None:
        """Reboot. Raises LowlatError if systemctl fails."""
        # Another program may have loaded a kernel: without --kexec, boot by the boot loader.
        verb = "kexec" if self.state.kexec and kexec.is_loaded(self._root) else "reboot"
        argv = [programs.need(self._root, "systemctl"), verb]
        done = programs.run(self._root, argv)
        if done.status != 0:
            why = f"systemctl {verb} fails: {done.last_words}"
            raise LowlatError(why, hint="reboot by hand: the loop goes on after it")

    def _arm(self) -> None:
        """Prepare the next boot. A stock boot needs only the unit, for its entry is the default."""
        loader = self._detect()
        check_default(loader.describe(), self.state.kernel)
        enable_unit(self._root, steps.limit(self.state))
        if self.state.due == TUNED:
            entry = self._entry()
            promote.check_returns(self._root, loader, entry if self.state.kexec else None)
            promote.try_once(self._root, loader, entry, self.state.kexec)
        elif self.state.kexec:
            stock = check_default(loader.describe(), self.state.kernel)
            kexec.load(self._root, stock.release, stock.words)
        self._move(phase=Phase.BOOT, boot_id=boot_id(self._root))

    def _measure(self) -> None:
        state, this = self.state, boot_id(self._root)
        if state.discards:
            say(f"{this}, {state.due}, is not measured: the kind of boot changed")
            self._move(discarded=True, phase=Phase.ARM, boot_id=this)
            return
        say(f"boot {len(state.legs) + 1} of {len(state.order)}, {state.due}: {this}")
        self._move(phase=Phase.MEASURE, boot_id=this)
        boot = steps.measure(self._root, state, state.due, this)
        after = replace(state, legs=(*state.legs, boot))
        looks = state.until_clear and len(after.legs) % 2 == 0
        phase = Phase.ARM if after.due and not looks else Phase.JUDGE
        self._move(legs=after.legs, discarded=False, phase=phase)

    def _judge(self) -> None:
        state = self.state
        report, path = steps.compare(self._root, state)
        say(headline(report))
        if state.due and report.verdict == DESCRIPTIVE and report.more_pairs:
            self._move(phase=Phase.ARM)
            return
        bad = [name for boot in state.arm(TUNED) for name in boot.bad]
        margin = state.throughput_margin / 100 if state.measure.throughput else None
        reasons = "; ".join(gate.misses(report, state.isolated, bad, margin))
        if state.boots is not None:
            why = f"not good enough to promote: {reasons}" if reasons else gate.passed(report)
            self.end(Outcome.COMPARED, why, path)
        elif reasons:
            self.end(Outcome.FELL_BACK, reasons, path)
        else:
            promote.promote(self._root, self._detect(), self._entry(), follow=False)
            self.end(Outcome.PROMOTED, gate.passed(report), path)

    def _close(self) -> None:
        """Undo the preparations: the unit, and the one-shot entry if it was not used."""
        loader = self._detect()
        with lock(Disk(self._root), PATIENT_S):
            boot = loader.describe()
            if boot.next is not None and boot.next.ours:
                loader.one_shot(None)
            known = trials.read(self._root)
            if kexec.is_loaded(self._root) and self.state.kexec:
                kexec.unload()
            if known.pending is not None:
                trials.write(self._root, replace(known, pending=None))
        if self.state.outcome is not Outcome.PROMOTED:
            self._restore_default(loader, boot.default)
        # If the unit runs this boot's step, it continues to its end.
        with Transaction(self._root) as change:
            change.put_back(_WANTED)
            change.put_back(_UNIT_PATH)
        self._move(phase=Phase.DONE)

    def _restore_default(self, loader: Loader, default: Optional[BootEntry]) -> None:
        """Restore the default, which was a stock entry when the loop began."""
        if default is None or default.id == self.state.default:
            return
        if not default.ours:
            say(f"note: {default.id} was made the default meanwhile; it stays")
            return
        with Transaction(self._root, PATIENT_S) as change:
            loader.make_default(change, None, follow=False)
            known = trials.read(self._root)
            trials.write(self._root, replace(known, promoted=None, follow=False))

    def _detect(self) -> Loader:
        if self._loader is None:
            self._loader = detect(self._root)
            self._loader.check()
        return self._loader

    def _entry(self) -> BootEntry:
        entry = self._detect().describe().by_id(self.state.entry)
        if entry is None:
            raise Refused(f"{self.state.entry} is gone: its kernel or its line changed")
        return entry


def check_default(boot: BootMenu, kernel: Optional[str]) -> BootEntry:
    """The entry that every boot falls back to. Raises Refused if it is a tuned entry, or not of the
    measured kernel."""
    if boot.default is None:
        raise Refused("the boot loader's default entry is not known", hint="set a default first")
    if entry_line.marked(boot.default.words):
        why = f"the default is {boot.default.id}, a tuned entry: a hang would come back to it"
        raise Refused(why, hint="'lowlat-gen rollback' first")
    if boot.default.release != kernel:
        raise Refused(
            f"the default boots Linux {boot.default.release}, not {kernel}: two kernels would be "
            "compared",
            hint="reboot first, then tune the kernel that runs",
        )
    return boot.default


def enable_unit(root: Root, seconds: float) -> None:
    """Enable the unit for the next boots, with a time limit in seconds for each."""
    text = hooks.template(f"systemd/{UNIT}", programs.ourselves(root))
    text = re.sub("(?m)^TimeoutStartSec=.*", f"TimeoutStartSec={seconds:.0f}", text)
    with Transaction(root) as change:
        change.write(_UNIT_PATH, text)
        change.link(_WANTED, _UNIT_PATH)
