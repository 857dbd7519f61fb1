# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of claims, on numbers alone: it does not depend on runs."""
