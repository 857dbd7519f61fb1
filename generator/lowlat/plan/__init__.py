# SPDX-License-Identifier: GPL-2.0-or-later
"""From a Machine, a profile and a request to a Plan; also the stored plan."""
