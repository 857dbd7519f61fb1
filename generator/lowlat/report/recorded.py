# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns that were recorded on machines on which nothing was changed."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.report.campaign import Nested


@dataclass(frozen=True)
class Campaign:
    """The figure's name, where it was recorded, and its values (see campaign.Nested)."""

    name: str
    what: str
    boots: Nested


#: lowlat-measure of one CPU every 8 s; the machine compiled and booted guests at times. For want of
#: as many boots each run stands for one, so this wanders more than boots an hour apart would.
_BUSY = (
    (10144, 10914, 9856, 16591, 10326, 65162, 125023, 51209),
    (29782, 23145, 21606, 10524, 10156, 33144, 30671, 17244),
    (330453, 332774, 273772, 287305, 216789, 381464, 317947, 340592),
    (347986, 335073, 349126, 346038, 340410, 324889, 462815, 384534),
    (358816, 346657, 334566, 389238, 452464, 468507, 365737, 349928),
    (671076, 510120, 500943, 524645, 507443, 505072, 512900, 504226),
    (309581, 317152, 349078, 138992, 233447, 443503, 261502, 498877),
    (337871, 334957, 337351, 344669, 318279, 355265, 340083, 360130),
    (349795, 329566, 340852, 337737, 340315, 287865, 332317, 335840),
    (288520, 340838, 329926, 353547, 351573, 363559, 280729, 31425),
    (568621, 568988, 533397, 462209, 483956, 507200, 499237, 456363),
    (8894, 8987, 61551, 10118, 42562, 127214, 10293, 10494),
    (363828, 338932, 352077, 310003, 365511, 400878, 339843, 344946),
    (352038, 344623, 335575, 334859, 269123, 336228, 336098, 364004),
    (316725, 331119, 341075, 345715, 332710, 336695, 45513, 48723),
    (392193, 376656, 34112, 6193, 6402, 46842, 50413, 12406),
    (8723, 9388, 8099, 8014, 9679, 8310, 51233, 13832),
    (60273, 33198, 49197, 19303, 12289, 12249, 11092, 16745),
    (17424, 17509, 36454, 64224, 17455, 14320, 8855, 48433),
    (8358, 8279, 9818, 8030, 10735, 9757, 8717, 10871),
)

#: Debian's 6.12 rehearsed without KVM, two guests at a time, while the host did other work: kernel
#: entries per second on an isolated CPU. Nothing was planned, every boot was stock.
_REHEARSED = (
    (300.05, 300.62, 301.06, 301.16, 301.4, 301.09, 299.77, 298.83, 298.09, 300.04),
    (297.67, 300.19, 303.85, 292.56, 299.01, 302.25, 301.94, 300.27, 298.15, 300.23),
)

CAMPAIGNS = (
    Campaign(
        name="kernel_entries_per_s",
        what="20 boots of 30 s in an emulated virtual machine of 4 CPUs",
        boots=tuple(((boot,),) for half in _REHEARSED for boot in half),
    ),
    Campaign(
        name="noise_ppm",
        what="20 runs of 4 s on a busy virtual machine of 2 CPUs, each taken for a boot",
        boots=tuple((run,) for run in _BUSY),
    ),
)
