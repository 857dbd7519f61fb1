# SPDX-License-Identifier: GPL-2.0-or-later
"""How a comparison is shown: words, tables, text, Markdown, JSON, one HTML page, one screen."""
