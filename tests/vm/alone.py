# SPDX-License-Identifier: GPL-2.0-or-later
"""Imported first by what runs as a program: pytest finds these folders by setup.cfg."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
