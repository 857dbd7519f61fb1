#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Finishes the unpacked system below $1: its units, its file systems, a quick and quiet boot.
set -eu
tree=$1
here=$(dirname "$0")

install -D -m 0755 "$here/run" "$tree/usr/lib/guest/run"
install -D -m 0644 "$here/guest.service" "$tree/etc/systemd/system/guest.service"
install -D -m 0644 "$here/guest.target" "$tree/etc/systemd/system/guest.target"
mkdir -p "$tree/etc/systemd/system/guest.target.wants" "$tree/boot/efi"
ln -sf ../guest.service "$tree/etc/systemd/system/guest.target.wants/guest.service"
ln -sf guest.target "$tree/etc/systemd/system/default.target"

cat >"$tree/etc/fstab" <<EOF
LABEL=root / ext4 defaults 0 1
LABEL=ESP /boot/efi vfat umask=0077,nofail,x-systemd.device-timeout=1s 0 2
EOF
echo guest >"$tree/etc/hostname"
printf '127.0.0.1 localhost guest\n' >"$tree/etc/hosts"
: >"$tree/etc/machine-id"

# TuneD is installed, as an administrator has it who has not chosen a profile yet.
for unit in tuned.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
	e2scrub_all.timer e2scrub_reap.service fstrim.timer; do
	rm -f "$tree/etc/systemd/system/"*".wants/$unit"
done
mkdir -p "$tree/etc/tuned"
printf 'manual\n' >"$tree/etc/tuned/profile_mode"
: >"$tree/etc/tuned/active_profile"
