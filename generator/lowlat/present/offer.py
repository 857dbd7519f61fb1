# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine offers of a next step. A verb knows it, and hands it to what prints the step."""

from typing import Callable, Optional

#: What a reader types for a command there: itself, or what shows what is missing there for it; None
#: if another step comes before.
Offered = Callable[[str], Optional[str]]


def on_any_machine(command: str) -> str:
    """The command itself, where it is not known which machine it is for."""
    return command
