# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel itself said of CPUs that it stopped or slowed in this boot."""

from collections.abc import Iterator, Sequence

from lowlat.host.kernel_messages import ANY, MESSAGES, KernelMessage
from lowlat.host.kmsg import Messages, Said
from lowlat.model.finding import Finding, Standing, of_setting

_PLANNED = "nothing stops the CPU"


def kernel_words(messages: Messages, settings: Sequence[Finding]) -> Iterator[Finding]:
    """A row for each kind of message in the log; ``settings`` are the rows of all settings."""
    known = messages.timed(ANY)
    for message in MESSAGES if known else ():
        said = [one for one in known if message.is_in(one.line)]
        if said:
            yield _row(message, said, settings)


def _row(message: KernelMessage, said: Sequence[Said], settings: Sequence[Finding]) -> Finding:
    state, why = _judge(message.setting, settings)
    name = message.setting or "interrupts"
    evidence = f"{_when(said)}: {said[0].line}; {message.means}{why}"
    return Finding(name, "kernel messages", _PLANNED, message.name, state, None, evidence)


def _when(said: Sequence[Said]) -> str:
    first, last = said[0].time, said[-1].time
    if len(said) == 1:
        return f"kernel message at {first}"
    return f"{len(said)} kernel messages from {first} to {last}, the first"


def _judge(name: str, settings: Sequence[Finding]) -> tuple[Standing, str]:
    """The state, and what the setting that removes it has to do with it."""
    setting = of_setting(settings, name)
    if not name:
        return Standing.NO_SETTING, ""
    if setting is None or setting.state is Standing.NOT_PLANNED:
        why = f"; {name} would stop it and is not planned: add '--enable {name}'"
        return Standing.NOT_APPLIED, why
    if setting.state.lost:
        return setting.state, f"; {name} would stop it and is {setting.state.value}"
    return Standing.UNVERIFIABLE, f"; {name} is {setting.state.value} now, since when is not known"
