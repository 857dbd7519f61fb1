# SPDX-License-Identifier: GPL-2.0-or-later
"""The frozen values that rooms exchange: CPU sets, command lines, Machine, Plan, Run."""
