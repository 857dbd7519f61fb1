# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the endpoints, and the figures of a run or of several runs."""
