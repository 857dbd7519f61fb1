# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of Ubuntu's cloud images (GRUB_FORCE_PARTUUID): an entry boots without its initrd
first, and with it after that failed. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

#: 00_header of Ubuntu's cloud images, before next_entry is read.
_BEFORE = r"""
if [ "\${initrdfail}" = 2 ]; then
   set initrdfail=
elif [ "\${initrdfail}" = 1 ]; then
   set next_entry="\${prev_entry}"
   set prev_entry=
   save_env prev_entry
   if [ "\${next_entry}" ]; then
      set initrdfail=2
   fi
fi
if [ "\${next_entry}" ] ; then"""

_INITRDFAIL = r"""
function initrdfail {
    if [ -n "\${have_grubenv}" ]; then if [ -n "\${partuuid}" ]; then
      if [ -z "\${initrdfail}" ]; then
        set initrdfail=1
        if [ -n "\${boot_once}" ]; then
          set prev_entry="\${default}"
          save_env prev_entry
        fi
      fi
      save_env initrdfail
    fi; fi
}
function savedefault {"""

#: 10_linux: their form of what Debian's, in /etc/stock_10_linux, prints.
LINUX = r"""#!/bin/sh
echo 'set partuuid=11-01'
"${0%/*}/../stock_10_linux" | sed '
/^\t*linux\t/ { h; d }
/^\t*initrd\t/ {
i\
if [ "${initrdfail}" = 1 ]; then\
  echo "GRUB_FORCE_PARTUUID set, initrdless boot failed. Attempting with initrd."
x; p; x; p
i\
else\
  echo "GRUB_FORCE_PARTUUID set, attempting initrdless boot."
x; s/$/ panic=-1/
a\
fi\
initrdfail
}'
"""


def header(text: str) -> str:
    """00_header with their functions, from Debian's."""
    text = text.replace('\nif [ "\\${next_entry}" ] ; then', _BEFORE)
    return text.replace("\nfunction savedefault {", _INITRDFAIL)
