# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove from the documents of runs what identifies a machine or a person and changes no figure."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Callable

from lowlat.host.redact import numbering, without_addresses, without_private_words
from lowlat.model.campaign import SCHEMA as CAMPAIGN
from lowlat.model.campaign import Campaign

#: Keys whose values are words of lowlat's, or names that no person or host has.
_KEPT = frozenset(
    ("schema", "boot_id", "started", "class", "tool", "policy", "profile", "tuned_profile", "kind")
)

#: Where the output of tools has the host's name, and paths that of a person.
_IN_OUTPUT = re.compile(r"^\s*(?:hostname|nodename): *\"?([\w.-]+)", re.MULTILINE)
_HOMES = re.compile(r"(?<=/home/)[^/\s\"']+")


def without_names(documents: Mapping[str, Any]) -> dict[str, Any]:
    """JSON documents of runs and campaigns, by the names of their files, without the names of hosts
    and people, addresses, UUIDs and secrets. Hosts are numbered in order of appearance, alike in
    all documents; ids of boots stay, because they tell which runs belong together. A campaign's
    digest becomes that of what is left of the campaign. Raises Mistyped if a campaign is none."""
    hosts: dict[str, str] = {}
    for document in documents.values():
        for name in _host_names(document):
            number = hosts.setdefault(name, f"host{len(set(hosts.values())) + 1}")
            short = name.partition(".")[0]
            if _tells(short):
                hosts.setdefault(short, number)
    words = "|".join(map(re.escape, sorted(hosts, key=len, reverse=True)))
    known = re.compile(rf"(?<![0-9A-Za-z])(?:{words})(?![0-9A-Za-z])") if words else None

    named = numbering()

    def clean(text: str) -> str:
        text = known.sub(lambda match: hosts[match[0]], text) if known else text
        return named(without_addresses(_HOMES.sub("user", text)))

    told = {n: Campaign.from_json(one) for n, one in documents.items() if _is_campaign(one)}
    less = {name: _without(campaign, clean) for name, campaign in told.items()}
    digests = {campaign.digest: less[name].digest for name, campaign in told.items()}

    def passed_on(text: str) -> str:
        return digests.get(text) or clean(text)

    walked = {name: _walk(document, passed_on) for name, document in documents.items()}
    walked.update((name, campaign.to_json()) for name, campaign in less.items())
    return {clean(name): document for name, document in walked.items()}


def _is_campaign(document: Any) -> bool:
    return isinstance(document, dict) and document.get("schema") == CAMPAIGN


def _without(campaign: Campaign, clean: Callable[[str], str]) -> Campaign:
    """The campaign with the hosts, arms and lines that its runs then have."""
    hosts = {
        clean(name): {clean(arm): clean(without_private_words(line)) for arm, line in own.items()}
        for name, own in campaign.hosts.items()
    }
    return replace(campaign, hosts=hosts, order=tuple(map(clean, campaign.order)))


def _host_names(document: Any) -> list[str]:
    if _is_campaign(document):
        return [*filter(_tells, Campaign.from_json(document).hosts)]
    host = document.get("host") if isinstance(document, dict) else None
    own = host.get("name") if isinstance(host, dict) else None
    names = [own] if isinstance(own, str) else []
    names += [name for text in _texts(document) for name in _IN_OUTPUT.findall(text)]
    return [name for name in names if _tells(name)]


def _tells(name: str) -> bool:
    """Whether a host's name can be told from words and numbers of any run."""
    return len(name) > 2 and not name.isdecimal() and name != "localhost"


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _walk(value: Any, clean: Callable[[str], str], key: str = "") -> Any:
    walk = partial(_walk, clean=clean)
    if isinstance(value, dict):
        return {name: walk(one, key=name) for name, one in value.items()}
    if isinstance(value, list):
        return [walk(one, key=key) for one in value]
    if not isinstance(value, str) or key in _KEPT:
        return value
    return clean(without_private_words(value) if key == "cmdline" else value)
