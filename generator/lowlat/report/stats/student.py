# SPDX-License-Identifier: GPL-2.0-or-later
"""Student's t distribution. By scipy.special, as importing scipy.stats takes a second."""

from __future__ import annotations

from typing import Any


def upper(share: float, freedom: Any) -> Any:
    """The value that t exceeds with this probability; an array for an array of degrees of
    freedom."""
    from scipy import special

    return -special.stdtrit(freedom, share)


def power(share: float, freedom: int, shift: float) -> float:
    """The probability that t, with its centre moved by ``shift`` standard errors, exceeds what t
    itself exceeds with probability ``share``."""
    from scipy import special

    return 1 - float(special.nctdtr(freedom, shift, upper(share, freedom)))
