# SPDX-License-Identifier: GPL-2.0-or-later
"""The exceptions of lowlat. Only :mod:`lowlat.cli` prints them and sets the exit status."""

from typing import Optional

from lowlat.base.terminal import plain


class LowlatError(Exception):
    """An error for the user: one sentence, and optionally a hint on what to do."""

    status = 1

    def __init__(self, message: str, *, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{_short(self.message, 400)} ({self.hint})" if self.hint else self.message
        return _short(text, 600)


def _short(text: str, limit: int) -> str:
    """The text on one line, without control characters, cut to ``limit`` characters."""
    shown = plain(text)
    return shown if len(shown) <= limit else f"{shown[: limit - 2]} …"


class Refused(LowlatError):
    """Bad input or an impossible request; nothing was changed (exit status 2)."""

    status = 2


class NotYet(Refused):
    """Refused only until another command of lowlat-gen has run, which the hint names."""


class Unmet(LowlatError):
    """Completed, but a check failed (exit status 1)."""
