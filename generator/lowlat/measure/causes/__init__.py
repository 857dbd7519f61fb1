# SPDX-License-Identifier: GPL-2.0-or-later
"""From what the harness captured beside a run to the causes of its gaps, named."""
