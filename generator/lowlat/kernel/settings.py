# SPDX-License-Identifier: GPL-2.0-or-later
"""All other parameters: which values a kernel accepts, and what is not its default. settings.ini
has them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

from lowlat.base import resources
from lowlat.kernel import facts
from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word
from lowlat.model.machine import ARM, X86

_ARCH = {"x86": X86, "arm": ARM, "power": frozenset({"ppc64", "ppc64le"})}
_MAKERS = {"GenuineIntel": "an Intel", "AuthenticAMD": "an AMD"}
_WHEN = "default if "
_REALTIME = "realtime"

#: By name, the values of which the other modules of this room say what they do.
_ELSEWHERE = {
    "isolcpus": ".*",
    "nohz_full": ".*",
    "nohz": ".*",
    "rcu_nocbs": ".*",
    "irqaffinity": ".*",
    "workqueue.unbound_cpus": ".*",
    "systemd.cpu_affinity": ".*",
    "maxcpus": ".*",
    "nosmp": ".*",
    "nr_cpus": ".*",
    "possible_cpus": ".*",
    "nosmt": r"(?!force\Z).*",
    "idle": ".*",
    "nohlt": ".*",
    "hlt": ".*",
    "cpuidle.off": ".*",
    "intel_idle.max_cstate": ".*",
    "processor.max_cstate": ".*",
    "intel_pstate": "disable|passive|active",
    "amd_pstate": ".*",
    "clocksource": ".*",
    "tsc": "reliable|nowatchdog|unstable",
    "notsc": ".*",
    "hugepagesz": ".*",
    "hugepages": ".*",
    "default_hugepagesz": ".*",
    "nowatchdog": ".*",
    "nosoftlockup": ".*",
    "nmi_watchdog": "[01]",
}


@dataclass(frozen=True)
class Known:
    """What settings.ini says of parameters whose names match ``names``."""

    names: re.Pattern[str]
    keys: Mapping[str, str]


_TOLD = resources.texts("kernel/settings.ini")
_STANDS_FOR = resources.unfolded(_TOLD["stands for"], "")
_KNOWN = tuple(
    Known(re.compile(name), resources.unfolded(section, ""))
    for name, section in _TOLD.items()
    if name not in ("DEFAULT", "stands for")
)

#: Words that others are a part of, or stand for.
_WHOLES = {item.keys["part of"] for item in _KNOWN if "part of" in item.keys}
_WHOLES |= set(_STANDS_FOR.values())


def check(boot: Booting) -> None:
    """Drop the words that this kernel or this machine does not take."""
    for word in boot.words:
        for why, absent in _refusals(word, boot):
            if boot.counts(word):
                boot.drop(word, why, absent=absent)


def settings(boot: Booting) -> dict[str, tuple[str, ...]]:
    """By name, the values that count and are not the kernel's default; "" for a flag."""
    found: dict[str, tuple[str, ...]] = {}
    for word in boot.words:
        if boot.counts(word) and not _is_elsewhere(word):
            name, _, value = _STANDS_FOR.get(word.normal, word.normal).partition("=")
            value = "" if accepted(name) == "" else value
            found[name] = (*found.get(name, ()), value) if _each(word) else (value,)
            _overriding(word, boot)
    given = {word.normal for word in boot.words if boot.counts(word)}
    for word in boot.words:
        included = any(keys.get("part of") in given for keys in _keys(word.name))
        default = _is_default(word, boot)
        if boot.counts(word) and (included or default):
            found.pop(word.name, None)
            boot.note(word, "it is the default" if default else "")
    return found


def accepted(name: str) -> Optional[str]:
    """The accepted values of a parameter, as a regular expression; None for any."""
    return next((keys["values"] for keys in _keys(name) if "values" in keys), None)


def acts_with_others(word: Word) -> bool:
    """Whether another word may bring or undo what this one does."""
    related = any("part of" in keys for keys in _keys(word.name)) or word.normal in _STANDS_FOR
    return related or _is_elsewhere(word) or word.normal in _WHOLES


def _is_elsewhere(word: Word) -> bool:
    values = _ELSEWHERE.get(word.name)
    return values is not None and re.fullmatch(values, word.value, re.DOTALL) is not None


def _overriding(word: Word, boot: Booting) -> None:
    """A word overrides those of its name before it, unless each counts; the same word twice is
    only repeated."""
    for other in boot.given(word.name):
        if other.at < word.at and not _is_elsewhere(other):
            if not _each(word):
                boot.override([other], word, "the last one counts")
            elif other.normal == word.normal:
                boot.override([word], other, "the line has it twice")


@lru_cache(maxsize=1024)
def _keys(name: str) -> tuple[Mapping[str, str], ...]:
    return tuple(known.keys for known in _KNOWN if known.names.fullmatch(name))


def _each(word: Word) -> bool:
    return any(keys.get("counts") == "each" for keys in _keys(word.name))


def _is_default(word: Word, boot: Booting) -> bool:
    return any(
        re.fullmatch(values, word.value, re.DOTALL)
        for keys in _keys(word.name)
        for key, values in keys.items()
        if key == "default" or (key.startswith(_WHEN) and _holds(key[len(_WHEN) :], boot))
    )


def _holds(condition: str, boot: Booting) -> bool:
    if condition in (_REALTIME, f"not {_REALTIME}"):
        return bool(boot.kernel.realtime) is (condition == _REALTIME)
    return bool(boot.built(condition))


def _refusals(word: Word, boot: Booting) -> Iterator[tuple[str, bool]]:
    """Why the kernel does not take a word, and whether it would take no other value either."""
    for keys in _keys(word.name):
        yield from ((why, True) for why in _not_here(keys, boot))
        values = keys.get("values")
        if values and not re.fullmatch(values, word.value, re.DOTALL):
            yield f"'{word.value[:30]}' is not a value of this parameter", False
        elif values == "" and not word.flag:
            boot.note(word, "the kernel reads the name alone, whatever the value")
        if "needs" in keys and boot.counts(word):
            boot.needs(keys["needs"], word)
    module, _, parameter = word.name.partition(".")
    if f"/sys/module/{module}/parameters/{parameter}" in boot.kernel.features:
        return  # whatever the release says: distributions take features earlier
    for fact in (word.name, word.normal):
        known = facts.has(fact, boot.kernel.release) if fact in facts.FACTS else True
        if known is None:
            boot.note(word, assumed="assumed: kernel release not known")
        elif not known:
            yield _dated(fact), fact == word.name


def _not_here(keys: Mapping[str, str], boot: Booting) -> Iterator[str]:
    machine = boot.machine
    having = frozenset[str]().union(*(_ARCH[name] for name in keys.get("arch", "").split()))
    if having and machine.arch is not None and machine.arch not in having:
        yield keys.get("absent", "kernels of this architecture do not have it")
    if "vendor" in keys and machine.processor.vendor not in (None, keys["vendor"]):
        yield f"this is not {_MAKERS[keys['vendor']]} processor"


def _dated(name: str) -> str:
    fact = facts.FACTS[name]
    when = f"before {fact.bound}" if fact.since else f"from {fact.bound} on"
    return f"kernels {when} do not have it"
