# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program itself had the kernel do on its CPUs: ``perf`` records it, this counts it by kind
and place."""
