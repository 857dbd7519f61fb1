#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TuneD calls this with start, stop or verify.
case "$1" in
start | stop | verify) exec lowlat-gen runtime "$1" ;;
*) exit 2 ;;
esac
