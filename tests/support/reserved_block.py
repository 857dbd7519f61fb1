# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's environment block on btrfs as a stand-in: a second file takes the place of the room that
the file system reserves on its device, which a tree has not. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

BLOCK = "etc/probe/reserved"

#: As GRUB 2.14's own does on btrfs in a guest (2026-11-27), and by util/grub-editenv.c of SUSE's:
#: next_entry goes into the block, everything else into the file; a variable that is set or unset
#: reserves the block; it is looked at only if the file is named by its own path.
EDITENV = f"""#!/bin/sh
real=/usr/bin/grub-editenv block=/{BLOCK}
drop() {{ sed -i "/^${{1%%=*}}=/d" $block; }}
[ "$1" = /boot/grub/grubenv ] || exec $real "$@"
case $2 in
list) $real "$1" list && cat $block ;;
set)
	for word in "$@"; do
		case $word in
		next_entry=*) drop "$word" && echo "$word" >>$block ;;
		*=*) $real "$1" set "$word" ;;
		esac || exit
	done ;;
unset)
	$real "$1" set env_block=512+1
	$real "$@" && shift 2 && for word in "$@"; do drop "$word" || exit; done ;;
*) exec $real "$@" ;;
esac
"""

_LOADED = r"""
if [ "\${env_block}" ] ; then
  set env_block="(\${root})\${env_block}"
  export env_block
  load_env -f "\${env_block}"
fi
if [ "\${next_entry}" ] ; then"""

_CLEARED = r"""
   if [ "\${env_block}" ] ; then
     save_env -f "\${env_block}" next_entry
   else
     save_env next_entry
   fi
"""


def header(text: str) -> str:
    """00_header of GRUB 2.14, from Debian's 2.06."""
    text = text.replace('\nif [ "\\${next_entry}" ] ; then', _LOADED)
    return text.replace("\n   save_env next_entry\n", _CLEARED)
