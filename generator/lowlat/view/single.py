# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of one arm by itself, without a comparison."""

from collections.abc import Iterator
from dataclasses import replace

from lowlat.model.cpuset import CpuSet
from lowlat.model.endpoint import NOISE
from lowlat.report import description
from lowlat.report.arm import Arm
from lowlat.report.description import Description
from lowlat.report.endpoint import DRAWN, INTERRUPTS, SUBJECTS
from lowlat.report.figures import CAUSES
from lowlat.report.measure import size
from lowlat.report.tables import with_rows
from lowlat.report.wording import number
from lowlat.view import contents, costs, method, next_steps
from lowlat.view.arm import view_arms
from lowlat.view.contents import Number, Opening
from lowlat.view.plot import forest_plot, parts
from lowlat.view.plot.figure import Data
from lowlat.view.sections import RunsShown, Section, of_runs
from lowlat.view.settings import SettingReasons

#: A page shows this many single CPUs, the noisiest.
_MOST_CPUS = 12

#: The figure by which CPUs are drawn: if durations mean something, and if they do not.
_PRIMARY = (NOISE, INTERRUPTS)


def tell(arm: Arm, found: Description) -> dict[str, object]:
    """The content of the page of one arm's runs, with the names that its templates use; pure."""
    cpus, timed = found.cpus, not found.emulated
    name = _PRIMARY[found.emulated]
    noisiest = sorted(cpus, key=lambda cpu: found.get(name, cpu) or 0.0, reverse=True)
    worst = CpuSet.of(noisiest[:_MOST_CPUS])
    arms = (replace(*view_arms([arm]), kind="after"),)
    measured = RunsShown(
        arms, cpus, worst, lambda _, kind: dict(description.parts_of(found, kind)), timed
    )
    every = (
        # Over all CPUs and for each; a drawing shows the parts of the noise.
        Section("figures", tables=description.tables(found, parts=False)),
        *of_runs(measured),
        Section("costs", tables=with_rows([costs.power(arms)]) if timed else ()),
    )
    headline, basis = description.finding(found)
    return {
        **{"prefix": "", "spoken": "", "title": arm.name, "names": [arm.name], "arms": arms},
        "opening": Opening(
            verdict="several" if found.complete and found.valid else "refused",
            badge=f"{found.runs} run{'s' if found.runs > 1 else ''}",
            headline=f"{headline}.",
            basis=basis,
            numbers=tuple(_numbers(found)),
            figures=forest_plot.of_cpus(
                {n: found.get(name, n) or 0.0 for n in worst}, SUBJECTS[name]
            ),
            facts=tuple(filter(None, contents.facts(arm.runs))),
        ),
        "emulated": found.emulated,
        "flags": found.flags,
        "sections": [section for section in every if not section.empty],
        "method": {"compared": False, "tested": 0, "untested": []},
        "steps": next_steps.alone(parts.largest(measured.parts(arm.name, CAUSES))),
        # There is no test and no setting.
        **{"missing": (), "effects": (), "unlooked": (), "changes": (), "others": 0},
        **{"reasons": SettingReasons("", ()), "endpoints": Data("", (), ())},
        "facts": method.facts([arm]),
        "runs": method.runs([arm]),
    }


def _numbers(found: Description) -> Iterator[Number]:
    for one in DRAWN:
        if (value := found.by_key.get(one.key())) is not None:
            of, shown = one.subject, number(value / size(one.unit))
            yield Number(of.name.lower(), "after", shown, of.each)
