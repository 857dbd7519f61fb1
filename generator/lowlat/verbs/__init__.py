# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of the command line, one module each."""

#: Each a module of this package, with its line of help.
VERBS = {
    "probe": "show this machine as the planner sees it",
    "capture": "save what probe and verify read, for --root elsewhere",
    "plan": "choose CPUs and settings, with a reason for each",
    "cpus": "print the bare list of isolated or housekeeping CPUs",
    "run": "run a program on the isolated CPUs",
    "explain": "what a tunable, a profile or a word such as irq is about",
    "profile": "check a profile of your own",
    "lint": "judge any boot line word by word, and against lowlat's",
    "render": "write the plan, boot entry and TuneD profile below a folder",
    "rehearse": "boot a kernel in a VM, stock and tuned, and measure both",
    "measure": "measure the noise on the isolated CPUs",
    "report": "compare runs: how much noise went away",
    "fleet": "many machines: classes with a plan each, and one report",
    "apply": "add the tuned boot entries; the default stays",
    "trial": "boot the tuned entry once",
    "promote": "make the entry that was tried the default",
    "rollback": "take back all that apply, trial and promote did",
    "doctor": "what each verb lacks on this machine, and how to get it",
    "status": "what is applied, tried, and booted next",
    "boot": "what hooks and units of the system call; not for people",
    "runtime": "set, undo or check the run-time settings (TuneD calls it)",
    "tune": "measure, apply, try, measure again, then promote or not",
    "verify": "planned against effective, with the evidence",
    "watch": "report what undoes the run-time settings",
    "top": "each second, who interrupts which isolated CPU",
}
