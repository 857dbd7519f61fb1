# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of CPUs on random machines: the rules hold, and the numbering does not matter."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Optional

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import EXAMPLES
from lowlat.base.errors import Refused
from lowlat.host.archive import Archive
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Cache, Core, CoreType, Cpus, Device, Interrupt, Machine, Node
from lowlat.model.plan import PlannedCpus
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split
from lowlat.probe import probe
from support import synthetic
from support.synthetic import Kind, Shape

pytestmark = pytest.mark.slow

# ------------------------------------------------------------ random machines


@st.composite
def machines(
    draw: st.DrawFn, *, kinds: Iterable[int] = (1, 1, 2, 3), tidy: bool = False
) -> Machine:
    """Machines as probe might find them, without any assumed order of the numbers.

    ``kinds``: how many core types; ``tidy``: every core in exactly one node.
    """
    sizes = draw(st.lists(st.sampled_from((0, 1, 1, 2, 2, 3, 4, 6, 9, 17, 40, 70)), max_size=5))
    nodeless = draw(st.integers(0, 0 if tidy else 3)) if sizes else draw(st.integers(1, 20))
    assume(sum(sizes) + nodeless > 0)
    threads = draw(st.sampled_from((1, 1, 2, 4, 0)))  # 0: mixed
    offline = draw(st.sampled_from((0.0, 0.0, 0.1, 0.5)))
    per_cache = draw(st.sampled_from((0, 1, 3, 8)))  # 0: unknown
    numbering = draw(st.sampled_from(("adjacent", "far", "any", "sparse")))
    shared = 0.0 if tidy else draw(st.sampled_from((0.0, 0.0, 0.0, 0.2)))  # in a second node
    return _build(
        random.Random(draw(st.integers(0, 1 << 32))),
        [*(node for node, size in enumerate(sizes) for _ in range(size)), *[None] * nodeless],
        len(sizes),
        threads=threads,
        offline=offline,
        kinds=draw(st.sampled_from(tuple(kinds))),
        per_cache=per_cache,
        numbering=numbering,
        shared=shared,
    )


def _build(
    dice: random.Random,
    homes: list[Optional[int]],
    nodes: int,
    *,
    threads: int,
    offline: float,
    kinds: int,
    per_cache: int,
    numbering: str,
    shared: float,
) -> Machine:
    widths = [threads or dice.choice((1, 2)) for _ in homes]
    numbers = _numbers(dice, widths, numbering)
    everything = CpuSet.of(cpu for cpus in numbers for cpu in cpus)
    online = CpuSet.of(cpu for cpu in everything if dice.random() >= offline) or everything
    types: list[set[int]] = [set() for _ in range(kinds)]
    domains: dict[int, set[int]] = {}
    members: list[set[int]] = [set() for _ in range(nodes)]
    laid = []
    for position, (home, ids) in enumerate(zip(homes, numbers)):
        cpus = CpuSet.of(ids) & online
        if not cpus:
            continue
        places = set() if home is None else {home}
        if nodes and dice.random() < shared:
            places.add(dice.randrange(nodes))
        for node in places:
            members[node] |= cpus.ids
        types[dice.randrange(kinds)] |= cpus.ids
        if per_cache:
            domains.setdefault(position // per_cache, set()).update(cpus)
        laid.append((cpus, tuple(sorted(places)), position // per_cache if per_cache else None))
    nodes_made = tuple(Node(number, CpuSet.of(cpus)) for number, cpus in enumerate(members))
    devices = tuple(
        _device(dice, number, laid, nodes_made) for number in range(dice.choice((0, 3)))
    )
    cores = [
        Core(cpus, nodes=places, cache=None if domain is None else min(domains[domain]))
        for cpus, places, domain in laid
    ]
    seen = [CpuSet.of(group) for group in types if group]
    return Machine(
        arch="x86_64",
        cpus=Cpus(online, everything - online, everything, online.first),
        cores=tuple(sorted(cores, key=lambda core: core.cpus.first)),
        core_types=tuple(CoreType(f"t{n}", cpus, "random") for n, cpus in enumerate(seen))
        if len(seen) > 1
        else (),
        nodes=nodes_made,
        caches=tuple(Cache(3, "unified", "", CpuSet.of(cpus)) for cpus in domains.values()),
        interrupts=tuple(
            Interrupt(device.interrupts[0], "", "", count=dice.choice((0, 7, 900, 900)))
            for device in devices
        ),
        devices=devices,
    )


def _device(
    dice: random.Random,
    number: int,
    laid: list[tuple[CpuSet, tuple[int, ...], Optional[int]]],
    nodes: tuple[Node, ...],
) -> Device:
    """A device near a node, near some cores, near all cores, or with unknown locality."""
    home = dice.choice([node.id for node in nodes] or [None]) if dice.random() < 0.5 else None
    near: Optional[CpuSet] = None
    if home is not None:
        near = nodes[home].cpus or None
    elif dice.random() < 0.7:
        some = dice.sample(laid, dice.randint(1, len(laid)))
        near = CpuSet.of(cpu for cpus, _, _ in some for cpu in cpus)
    kind = dice.choice(("network", "nvme", "other"))
    return Device(f"0000:0{number}:00.0", kind, (f"dev{number}",), None, home, near, (number,))


def _numbers(dice: random.Random, widths: list[int], numbering: str) -> list[list[int]]:
    """The CPU ids of each core."""
    places = [(core, thread) for core, width in enumerate(widths) for thread in range(width)]
    if numbering == "far":
        places.sort(key=lambda place: (place[1], place[0]))
    elif numbering != "adjacent":
        dice.shuffle(places)
    ids = list(range(len(places)))
    if numbering == "sparse":
        ids = sorted(dice.sample(range(3 * len(places)), len(places)))
    found: list[list[int]] = [[] for _ in widths]
    for cpu, (core, _) in zip(ids, places):
        found[core].append(cpu)
    return found


REQUESTS = st.builds(
    CpuRequest,
    housekeeping_cores=st.sampled_from((None, None, None, 1, 2, 3, 20)),
    keep_efficiency_cores=st.booleans(),
)

# ----------------------------------------------------------------- the rules


def attempt(machine: Machine, request: CpuRequest) -> Optional[PlannedCpus]:
    try:
        return split(machine, request)[0]
    except Refused:
        return None


def boot_core(machine: Machine) -> Core:
    return machine.core_of(machine.cpus.boot)


def populated(machine: Machine) -> list[Node]:
    return [node for node in machine.nodes if node.cpus] or [Node(0, machine.cpus.online)]


def cores_in(machine: Machine, node: Node) -> list[Core]:
    return [core for core in machine.cores if core.cpus & node.cpus]


def wanted(cores: int, request: CpuRequest) -> int:
    """The number of housekeeping cores of a node with this many cores: DESIGN's table, repeated."""
    if request.housekeeping_cores is not None:
        return min(request.housekeeping_cores, cores)
    return 1 if cores <= 16 else 2 if cores <= 64 else (cores + 31) // 32


def with_threads(machine: Machine, node: Node, request: CpuRequest) -> int:
    """Housekeeping cores of a tidy machine's node, with the rule of two hardware threads."""
    cores = cores_in(machine, node)
    count = wanted(len(cores), request)
    busy = any(d.node == node.id for d in machine.devices if d.kind != "other" and d.interrupts)
    busy |= any(d.cpus <= node.cpus for d in machine.devices if d.cpus and d.kind != "other")
    alone = len(populated(machine)) == 1
    if request.housekeeping_cores is None and len(machine.cpus.online) >= 6 and (busy or alone):
        return max(count, min(2, len(cores) // 2))
    return count


def could_be_isolated(machine: Machine, request: CpuRequest) -> list[Core]:
    """The cores that could be isolated if each were the only one."""
    nodes = [cores_in(machine, node) for node in populated(machine)]
    return [
        core
        for core in machine.cores
        if core is not boot_core(machine)
        and all(len(cores) > wanted(len(cores), request) for cores in nodes if core in cores)
    ]


def least_capable(machine: Machine) -> CpuSet:
    return machine.core_types[-1].cpus if machine.core_types else CpuSet()


def check(machine: Machine, request: CpuRequest, made: PlannedCpus) -> None:
    online = machine.cpus.online
    assert made.isolated, "an empty isolated set is a refusal, never a split"
    assert not made.isolated & made.housekeeping
    assert made.isolated | made.housekeeping == online
    for core in machine.cores:
        assert core.cpus <= made.isolated or core.cpus <= made.housekeeping, "a split core"
    assert boot_core(machine).cpus <= made.housekeeping
    parts = populated(machine)
    packages = [Node(0, CpuSet.of(cpus)) for cpus in by_package(machine).values()]
    if not all(keeps_enough(machine, request, made, node) for node in parts):
        # Near nodes may be taken together where a package has several.
        assert len(packages) < len(parts)
        assert all(keeps_enough(machine, request, made, package) for package in packages)
    check_reasons(machine, made)


def by_package(machine: Machine) -> dict[Optional[int], set[int]]:
    found: dict[Optional[int], set[int]] = {}
    for core in machine.cores:
        found.setdefault(core.package, set()).update(core.cpus)
    return found


def keeps_enough(machine: Machine, request: CpuRequest, made: PlannedCpus, part: Node) -> bool:
    cores = cores_in(machine, part)
    kept = [core for core in cores if core.cpus <= made.housekeeping]
    return len(kept) >= wanted(len(cores), request) >= 1


def check_reasons(machine: Machine, made: PlannedCpus) -> None:
    roles = {"isolated": CpuSet(), "housekeeping": CpuSet(), "offline": CpuSet()}
    total = 0
    for reason in made.reasons:
        assert reason.cpus
        assert reason.why
        total += len(reason.cpus)
        roles[reason.role] |= reason.cpus
    assert roles["isolated"] == made.isolated
    assert roles["housekeeping"] == made.housekeeping
    assert roles["offline"] == made.offline == machine.cpus.offline
    assert total == len(machine.cpus.online | machine.cpus.offline), "one reason for each CPU"


@given(machines(), REQUESTS)
def test_every_split_keeps_the_rules(machine: Machine, request: CpuRequest) -> None:
    made = attempt(machine, request)
    if made is not None:
        check(machine, request, made)


@given(machines(), REQUESTS)
def test_only_the_impossible_is_refused(machine: Machine, request: CpuRequest) -> None:
    possible = could_be_isolated(machine, request)
    made = attempt(machine, request)
    if made is None:
        assert not possible, f"CPU {possible[0].cpus} could be isolated"
    else:
        assert possible


@given(machines(kinds=(2, 2, 3)), REQUESTS)
def test_the_least_capable_type_serves_the_system(machine: Machine, request: CpuRequest) -> None:
    request = replace(request, keep_efficiency_cores=False)
    made = attempt(machine, request)
    least = least_capable(machine)
    if made is not None and made.isolated & least:
        others = [c for c in could_be_isolated(machine, request) if not c.cpus <= least]
        assert not others, "a more capable core could have been isolated instead"


@given(machines(kinds=(1,), tidy=True), REQUESTS)
def test_no_node_keeps_more_than_it_must(machine: Machine, request: CpuRequest) -> None:
    made = attempt(machine, request)
    if not made:
        return
    housekeeping = [core for core in machine.cores if core.cpus <= made.housekeeping]
    beyond = 0
    for node in populated(machine):
        kept = [core for core in cores_in(machine, node) if core in housekeeping]
        beyond += max(len(kept) - with_threads(machine, node, request), 0)
    if beyond:
        # Whole last-level caches, for an eighth of the cores at most.
        caches = {core.cache for core in housekeeping}
        assert 8 * beyond <= len(machine.cores)
        assert not [c for c in machine.cores if c not in housekeeping and c.cache in caches]


@given(machines(tidy=True))
def test_from_six_cpus_on_the_system_has_two_threads(machine: Machine) -> None:
    made = attempt(machine, CpuRequest())
    if made is None or len(machine.cpus.online) < 6:
        return
    sizes = [len(cores_in(machine, node)) for node in populated(machine)]
    assert len(made.housekeeping) >= 2 or max(sizes) < 4


@given(machines(), REQUESTS)
def test_the_preferred_order_is_cores_types_caches_and_node_by_node(
    machine: Machine, request: CpuRequest
) -> None:
    made = attempt(machine, request)
    if made is None:
        return
    assert made.preferred is not None and sorted(made.preferred) == list(made.isolated)
    rank = {cpu: n for n, kind in enumerate(machine.core_types) for cpu in kind.cpus}
    system = {core.cache for core in machine.cores if core.cpus <= made.housekeeping} - {None}
    seen: list[Core] = []
    keys = []
    for cpu in made.preferred:
        core = machine.core_of(cpu)
        keys.append((seen.count(core), rank.get(cpu, 0), core.cache in system))
        seen.append(core)
    assert keys == sorted(keys)
    for _, group in groupby(zip(keys, seen, made.preferred), key=itemgetter(0)):
        equal = [(core.nodes, cpu) for _, core, cpu in group]
        if all(len(nodes) == 1 for nodes, _ in equal):  # a CPU may have several nodes, or none
            runs = [[cpu for _, cpu in run] for _, run in groupby(equal, key=itemgetter(0))]
            assert len(runs) == len({nodes for nodes, _ in equal})
            assert runs == [sorted(run) for run in runs]


@given(machines(kinds=(2, 2, 3), tidy=True), REQUESTS)
def test_housekeeping_takes_the_less_capable_cores_of_a_node(
    machine: Machine, request: CpuRequest
) -> None:
    made = attempt(machine, request)
    if made is None or not machine.core_types:
        return
    rank = {cpu: n for n, kind in enumerate(machine.core_types) for cpu in kind.cpus}
    for node in populated(machine):
        cores = [core for core in cores_in(machine, node) if core is not boot_core(machine)]
        isolated = [rank[core.cpus.first] for core in cores if core.cpus <= made.isolated]
        for core in cores if isolated else ():
            less = rank[core.cpus.first] >= max(isolated)
            kept = core.cpus <= made.housekeeping
            assert not kept or less or completes_a_cache(machine, made, core)


def completes_a_cache(machine: Machine, made: PlannedCpus, core: Core) -> bool:
    """Whether the system has the whole last-level cache of the core."""
    sharing = [other for other in machine.cores if other.cache == core.cache]
    return core.cache is not None and all(one.cpus <= made.housekeeping for one in sharing)


@given(machines(), REQUESTS, st.integers(0, 3))
def test_near_a_device_the_rules_hold_too(
    machine: Machine, request: CpuRequest, number: int
) -> None:
    named = replace(request, for_device=f"dev{number}")
    made = attempt(machine, named)
    if number >= len(machine.devices):
        assert made is None
    elif made is not None:
        check(machine, request, made)
        device = machine.devices[number]
        place = next((n.cpus for n in machine.nodes if n.id == device.node), None) or device.cpus
        assert place is None or made.isolated <= place


# -------------------------------------------------------------- isomorphism


def renumber_cpus(machine: Machine, number: Callable[[int], int]) -> Machine:
    def moved(cpus: CpuSet) -> CpuSet:
        return CpuSet.of(map(number, cpus))

    cpus = machine.cpus
    return replace(
        machine,
        cpus=replace(
            cpus,
            online=moved(cpus.online),
            offline=moved(cpus.offline),
            possible=moved(cpus.possible),
            boot=number(cpus.boot),
        ),
        cores=tuple(
            replace(
                core,
                cpus=moved(core.cpus),
                cache=None if core.cache is None else number(core.cache),
            )
            for core in machine.cores
        ),
        core_types=tuple(replace(kind, cpus=moved(kind.cpus)) for kind in machine.core_types),
        nodes=tuple(replace(node, cpus=moved(node.cpus)) for node in machine.nodes),
        caches=tuple(replace(cache, cpus=moved(cache.cpus)) for cache in machine.caches),
        devices=tuple(
            replace(device, cpus=None if device.cpus is None else moved(device.cpus))
            for device in machine.devices
        ),
    )


def renumber_nodes(machine: Machine, numbers: dict[int, int]) -> Machine:
    nodes = [replace(node, id=numbers[node.id]) for node in machine.nodes]
    return replace(
        machine,
        nodes=tuple(sorted(nodes, key=lambda node: node.id)),
        cores=tuple(
            replace(core, nodes=tuple(sorted(numbers[node] for node in core.nodes)))
            for core in machine.cores
        ),
        devices=tuple(
            replace(device, node=None if device.node is None else numbers[device.node])
            for device in machine.devices
        ),
    )


@given(machines(), REQUESTS, st.integers(0, 1 << 32))
def test_the_numbers_of_nodes_do_not_matter(
    machine: Machine, request: CpuRequest, seed: int
) -> None:
    ids = random.Random(seed).sample(range(300), len(machine.nodes))
    numbers = dict(zip((node.id for node in machine.nodes), ids))
    made, again = attempt(machine, request), attempt(renumber_nodes(machine, numbers), request)
    assert (made and made.isolated) == (again and again.isolated)


@given(machines(), REQUESTS, st.integers(0, 1 << 32))
def test_only_the_order_of_cpu_numbers_matters(
    machine: Machine, request: CpuRequest, seed: int
) -> None:
    known = list(machine.cpus.online | machine.cpus.offline)
    ids = sorted(random.Random(seed).sample(range(4 * len(known)), len(known)))
    numbers = dict(zip(known, ids))
    made = attempt(machine, request)
    again = attempt(renumber_cpus(machine, numbers.__getitem__), request)
    expected = None if made is None else CpuSet.of(numbers[cpu] for cpu in made.isolated)
    assert (again and again.isolated) == expected


# ---------------------------------------------------------------- by request


@given(machines(), st.integers(0, 1 << 32))
def test_a_list_is_obeyed_or_refused_for_a_broken_rule(machine: Machine, seed: int) -> None:
    dice = random.Random(seed)
    share = dice.random()
    chosen = [core for core in machine.cores if dice.random() < share]
    isolated = CpuSet.of(cpu for core in chosen for cpu in core.cpus)
    if dice.random() < 0.2:
        isolated = CpuSet.of(cpu for cpu in isolated if dice.random() < 0.7)
    made = attempt(machine, CpuRequest(isolate=str(isolated)))
    whole = all(core.cpus <= isolated or not core.cpus & isolated for core in machine.cores)
    legal = bool(isolated) and whole and machine.cpus.boot not in isolated
    assert (made is not None) == legal
    if made is not None:
        assert made.isolated == isolated
        check_reasons(machine, made)
        _, warnings = split(machine, CpuRequest(isolate=str(isolated)))
        emptied = CpuSet.of(n.id for n in machine.nodes if n.cpus and n.cpus <= isolated)
        told = [text for text in warnings if "no housekeeping CPU left" in text]
        assert len(told) == bool(emptied)
        assert all(f" {emptied} ha" in text for text in told)
        mirrored, _ = split(machine, CpuRequest(housekeeping=str(made.housekeeping)))
        assert mirrored.isolated == made.isolated


@given(machines(), st.text(max_size=12) | st.from_regex(r"[0-9N:/,-]{0,12}", fullmatch=True))
def test_any_text_for_a_list_is_a_split_or_a_refusal(machine: Machine, text: str) -> None:
    for request in (CpuRequest(isolate=text), CpuRequest(housekeeping=text)):
        try:
            made, _ = split(machine, request)
        except Refused as refusal:
            assert "\n" not in str(refusal)
        else:
            assert made.isolated | made.housekeeping == machine.cpus.online


# ------------------------------------------------------ through sysfs and probe


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    widths = [
        Kind(draw(st.integers(1, 6)), draw(st.sampled_from((1, 2, 4))), 1024 >> number)
        for number in range(draw(st.sampled_from((1, 1, 2, 3))))
    ]
    shape = Shape(
        packages=draw(st.integers(1, 3)),
        dies=draw(st.integers(1, 2)),
        clusters=draw(st.integers(1, 2)),
        kinds=tuple(widths),
        numbering=draw(st.sampled_from(("adjacent", "far"))),
        nodes=draw(st.integers(1, 4)),
        empty_nodes=draw(st.sampled_from(((), (9,), (252, 253)))),
        cores_per_cache=draw(st.sampled_from((None, 1, 2, 4))),
        types_by=draw(st.sampled_from((None, "perf", "capacity", "cppc", "cpufreq"))),
        spare=draw(st.sampled_from((0, 0, 8))),
        quirks=frozenset(draw(st.sets(st.sampled_from(sorted(synthetic.QUIRKS)), max_size=3))),
    )
    assume(not {"no-topology", "no-online-list"} <= shape.quirks)
    count = len(shape.model().threads)
    cpus = st.integers(0, count - 1)
    offline = tuple(sorted(draw(st.sets(cpus, max_size=min(4, count - 1)))))
    return replace(shape, offline=offline, nodeless=tuple(draw(st.sets(cpus, max_size=2))))


@settings(max_examples=max(EXAMPLES // 10, 1))
@given(shapes(), REQUESTS)
def test_a_tree_is_probed_as_it_was_built_and_split_by_the_rules(
    shape: Shape, request: CpuRequest
) -> None:
    model = shape.model()
    found = probe(Archive("synthetic", synthetic.contents(model)))
    wanted = model.machine()
    assert found.cpus == wanted.cpus
    assert found.cores == wanted.cores
    assert found.nodes == wanted.nodes
    assert found.caches == wanted.caches
    assert [t.cpus for t in found.core_types] == [t.cpus for t in wanted.core_types]
    made = attempt(found, request)
    if made is not None:
        check(found, request, made)
    else:
        assert not could_be_isolated(found, request)


@pytest.mark.parametrize("name", [name for name in synthetic.NAMED if "4096" not in name])
def test_a_named_machine_is_probed_as_it_was_built(name: str, tmp_path: Path) -> None:
    model = synthetic.NAMED[name].model()
    found = probe(Root(str(synthetic.write(model, tmp_path))))
    wanted = model.machine()
    assert (found.arch, found.cpus, found.cores) == (wanted.arch, wanted.cpus, wanted.cores)
    assert (found.nodes, found.caches) == (wanted.nodes, wanted.caches)
    assert [t.cpus for t in found.core_types] == [t.cpus for t in wanted.core_types]
