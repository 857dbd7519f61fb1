# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for lowlat-measure                         -*- shell-script -*-

_lowlat_measure() {
	local current=${COMP_WORDS[COMP_CWORD]} words
	COMPREPLY=()
	# The value of an option: where nothing is offered, -o default offers files.
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--json | --events) return ;;
	--load) words='none faults vm timers mixed' ;;
	--policy) words='other fifo:' ;;
	--cpus | --duration | --warmup | --threshold | --load-cpus | --label | --seed)
		compopt +o default
		return
		;;
	*) words='--cpus --duration --warmup --threshold --policy --load --load-cpus --oslat --no-oslat --emulated --label --seed --json --events --help --version' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _lowlat_measure lowlat-measure
