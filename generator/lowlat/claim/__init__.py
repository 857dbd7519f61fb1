# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be said: pairs, comparability, verdict, requirements and limits."""
