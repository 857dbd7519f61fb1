# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the endpoints: what a new row must have."""

from __future__ import annotations

from lowlat.figures.endpoint import (
    ALONE,
    COLUMNS,
    DRAWN,
    ENDPOINTS,
    GATED,
    OSNOISE,
    SUBJECTS,
    SUMMARY,
)
from lowlat.figures.measure import Key


def test_a_figure_has_one_row() -> None:
    keys = [one.key() for one in SUMMARY]
    assert len(keys) == len(set(keys))


def test_a_row_of_a_column_has_a_title_too() -> None:
    assert {*COLUMNS, *DRAWN} <= {*SUMMARY} and {*OSNOISE} <= {*ALONE}


def test_what_is_drawn_or_judged_has_its_names() -> None:
    named = [*SUBJECTS.values(), *(one.subject for one in DRAWN)]
    assert all(one.name and one.unit and one.each for one in named)


def test_an_endpoint_of_a_claim_is_shown_and_may_be_required() -> None:
    assert {*ENDPOINTS} <= {*SUMMARY} & {*GATED.values()}


def test_documents_join_name_and_row() -> None:
    assert Key("interrupts_per_s", row="LOC").text == "interrupts_per_s@LOC"
    assert Key("noise_ppm", 3).text == "noise_ppm"
