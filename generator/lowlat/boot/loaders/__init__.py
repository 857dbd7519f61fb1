# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot loaders, one module each behind one interface."""
