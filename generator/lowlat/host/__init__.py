# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's files behind a Root: live, captured or redacted."""
