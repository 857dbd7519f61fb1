# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's tuned line: its stock line without conflicting parameters, plus the planned ones.
Words in, words out. Words are compared and hashed as the kernel gets them; a variable that only the
boot loader can fill in stays as written."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.kernel import line_length
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.probe.kernel import read_installed, read_running
from lowlat.probe.platform import read_arch

#: The first entry of lowlat's submenu in GRUB: the stock line of the promoted entry's kernel. GRUB
#: boots the first entry if the default's id is gone, mostly because the line changed.
STOCK = "lowlat-stock"

#: Parameters that may occur more than once on a line.
_MANY = frozenset({"systemd.wants"})


def trial_words(root: Root) -> tuple[str, ...]:
    """The parameters of a trial on this machine."""
    return (*cmdline.TRIAL, cmdline.WATCHDOG) if has_watchdog(root) else cmdline.TRIAL


def has_watchdog(root: Root) -> bool:
    """Whether the first watchdog, which systemd opens, is hardware, not softdog."""
    first = "/sys/class/watchdog/watchdog0"
    return root.exists(first) and root.read(f"{first}/identity") != "Software Watchdog"


def is_watched(root: Root, words: Iterable[str]) -> bool:
    """Whether a boot with this line arms the hardware watchdog."""
    return has_watchdog(root) and cmdline.WATCHDOG in words


def is_tried(line: str) -> bool:
    """Whether a running line is that of a trial."""
    return cmdline.marker(line) is not None and "lowlat-trial.service" in cmdline.values(
        line, "systemd.wants"
    )


def marked(words: Iterable[str]) -> bool:
    """Whether a line carries the marker of a plan."""
    return any(word.startswith(f"{cmdline.MARKER}=") for word in words)


def tuned(
    stock: Iterable[str], plan: Plan, trial: Sequence[str] = (), place: str = ""
) -> tuple[str, ...]:
    """The tuned line: the planned parameters replace the word ``place``, else go to the end. What
    follows "--" is for init, not for the kernel."""
    ours = _names(plan, trial)
    kept = [word for word in stock if word == place or not _conflicts(word, ours)]
    at = next((at for at, word in enumerate(kept) if word in (place, "--")), len(kept))
    rest = (word for word in kept[at:] if word != place)
    return (*kept[:at], *plan.words, *trial, *rest)


def conflicting(stock: Iterable[str], plan: Plan, trial: Sequence[str] = ()) -> tuple[str, ...]:
    """The stock parameters that the planned ones replace in the tuned entries."""
    ours = _names(plan, trial)
    return tuple(word for word in stock if _conflicts(word, ours))


def _names(plan: Plan, trial: Sequence[str] = ()) -> set[str]:
    """The names of parameters that only the plan and the trial may set."""
    return {cmdline.name_of(each) for each in (*plan.words, *trial)} - _MANY


def _conflicts(word: str, ours: set[str]) -> bool:
    return cmdline.name_of(_plain(word)) in ours


def _plain(word: str) -> str:
    """A word without quotes and backslashes, as far as its name goes."""
    return re.sub(r"""\\(.)|["']""", r"\1", word)


def expanded(words: Iterable[str], known: Mapping[str, str]) -> tuple[str, ...]:
    """The words with known variables filled in; one word may become several or none."""
    texts = (
        cmdline.VARIABLE.sub(lambda m: known.get(m[1] or m[2] or "", m[0]), word) for word in words
    )
    return tuple(part for text in texts for part in cmdline.parse(text))


def entry_id(release: str, words: Iterable[str]) -> str:
    """The id of a kernel's tuned entry. It contains a hash of the line: another line is another
    entry, so a default that names this id never boots an untried line."""
    said = "\0".join((release, *words))
    return f"lowlat-{release}-{hashlib.sha256(said.encode()).hexdigest()[:10]}"


def release_of(entry: str) -> str:
    """The kernel in the id of a lowlat entry; "" for any other entry."""
    match = re.search(r"lowlat-(.+)-[0-9a-f]{10}$", entry)
    return match[1] if match else ""


def trial_id(entry: str) -> str:
    return f"{entry}-trial"


def is_trial(name: str) -> bool:
    """Whether a loader's name of an entry is that of a trial entry."""
    return re.search(r"lowlat-.+-trial(\.conf)?$", name) is not None


def is_trial_of(words: Sequence[str], tuned: Iterable[str]) -> bool:
    """Whether a trial entry's line is the tuned one and the parameters of a trial."""
    own = [word for word in words if word in (*cmdline.TRIAL, cmdline.WATCHDOG)]
    names = {cmdline.name_of(word) for word in own} - _MANY
    kept = Counter(word for word in tuned if not _conflicts(word, names))
    return Counter(words) == kept + Counter(own) and set(own).issuperset(cmdline.TRIAL)


def check(
    entry: str, words: Sequence[str], stock: Sequence[str], plan: Plan, trial: Sequence[str] = ()
) -> None:
    """Compare an entry's line, read back, with the plan and the kernel's stock line. Raises Refused
    if a parameter is missing, doubled or overridden."""
    check_planned(entry, words, plan, trial)
    ours = (*plan.words, *trial)
    rest = [word for word in words if word not in ours]
    names = _names(plan, trial)
    kept = [word for word in stock if not _conflicts(word, names) and word not in ours]
    have, want = Counter(rest), Counter(kept)
    for word in (*(have - want), *(want - have)):
        why = f"{entry}: its line is not the stock one and the plan: '{word[:80]}' differs"
        raise Refused(why)


def check_planned(entry: str, words: Sequence[str], plan: Plan, trial: Sequence[str] = ()) -> None:
    """Raises Refused if a planned parameter is not on the line exactly once."""
    read = cmdline.parse(" ".join(words))
    for word in (*plan.words, *trial):
        _check_once(entry, read, word)


def check_length(root: Root, entry: str, words: Iterable[str], release: Optional[str]) -> None:
    """Raises Refused if the kernel of that release would truncate the entry's line."""
    running = read_running(root)
    kernel = running if release in (None, running.release) else read_installed(root, str(release))
    limit = line_length.limit(read_arch(root, root.read("/proc/cpuinfo") or ""), kernel or running)
    line = f"BOOT_IMAGE={' ' * 64}{' '.join(words)}"
    cmdline.check_length(line, f"{entry}: its line", limit)


def _check_once(entry: str, words: Sequence[str], word: str) -> None:
    name = cmdline.name_of(word)
    given = [each for each in words if cmdline.name_of(_plain(each)) == name]
    if name in _MANY:
        given = [each for each in given if each == word]
    if word not in given:
        raise Refused(f"{entry}: {word[:60]} is not on its line")
    if len(given) > 1:
        other = next((each for each in given if each != word), word)
        raise Refused(f"{entry}: {name} is on its line twice, as {word[:60]} and {other[:60]}")


def started(words: Iterable[str]) -> str:
    """The line that a kernel gets for these words. Raises Refused if a word holds a variable that
    only the loader can fill in."""
    for word in words:
        if cmdline.is_open(word):
            raise Refused(f"'{word[:60]}' on its line stands for what the boot loader knows")
    return cmdline.with_dollars(" ".join(words))


def same(running: str, words: Sequence[str]) -> Optional[str]:
    """None if a running command line is that of an entry, else the first word that differs. A
    variable that only the loader knows may have added words, but no parameter of the entry, except
    the one whose value it is."""
    wanted = cmdline.of_kernel(" ".join(words))
    have = [cmdline.value(word) for word in cmdline.of_kernel(running)]
    want = [cmdline.value(word) for word in wanted if not cmdline.is_open(word)]
    open_ended = [cmdline.name_of(word) for word in wanted if cmdline.is_open(word)]
    names = {cmdline.name_of(word) for word in want}.difference(open_ended)
    missing = [word for word in want if word not in have]
    more = [word for word in have if word not in want]
    if open_ended:
        more = [word for word in more if cmdline.name_of(word) in names]
    return next(iter((*missing, *more)), None)
