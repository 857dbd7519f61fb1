#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TuneD calls this with start, stop or verify, and logs what is written to standard error.
case "$1" in
start | stop | verify) action=$1 ;;
*) exit 2 ;;
esac
folder=${0%/*}
# lowlat-local stands for the stored plan; any other profile is planned for the running machine.
case "${folder##*/}" in
lowlat-local) set -- ;;
*) set -- --profile "${folder##*/}" ;;
esac
said=$(/usr/bin/lowlat-gen runtime "$action" "$@") && exit
status=$?
[ -z "$said" ] || printf '%s\n' "$said" >&2
exit "$status"
