# SPDX-License-Identifier: GPL-2.0-or-later
"""The frozen values of the road: CPU sets, command lines, Machine, Plan, Run."""
