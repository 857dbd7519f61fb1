# SPDX-License-Identifier: GPL-2.0-or-later
"""From the harness's capture of a run to the named causes of its gaps."""
