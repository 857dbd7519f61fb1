# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: the files of a plan, below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from lowlat.host.archive import open_root
from lowlat.plan import store
from lowlat.render import files
from lowlat.verbs import options
from lowlat.verbs.arguments import option
from lowlat.verbs.options import PlanChoice


@dataclass(frozen=True)
class RenderArguments:
    out: str = option("DIR", "where the files go", required=True)
    plan: Optional[str] = option("FILE", "a plan in its JSON form; default: a fresh one")
    root: str = options.root()
    fresh: PlanChoice = PlanChoice()


def main(asked: RenderArguments) -> int:
    root = open_root(asked.root)
    if asked.plan:
        options.refuse_plan_options(asked.fresh, f"--plan {asked.plan}")
    plan = store.read(asked.plan, root) if asked.plan else options.make_plan(asked.fresh, root)[1]
    for path in files.write(files.render(plan, root), asked.out):
        print(path)
    return 0
