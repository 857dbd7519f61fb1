# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for lowlat-measure                         -*- shell-script -*-

_lowlat_measure() {
	local current=${COMP_WORDS[COMP_CWORD]} words
	COMPREPLY=()
	# The value of an option: where nothing is offered, -o default offers files.
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--json | --events | --capture) return ;;
	--load) words='idle faults vm oom timers ipi files network mixed' ;;
	--policy) words='other fifo: deadline:' ;;
	--load-cpus) words='all' ;;
	--second-opinion) words='all oslat cyclictest osnoise timerlat' ;;
	--work) words='all usleep clock_nanosleep memory registers kill clock_gettime' ;;
	--observer) words='auto trace switches' ;;
	--cpus | --duration | --warmup | --threshold | --label | --seed)
		compopt +o default
		return
		;;
	*) words='--cpus --duration --warmup --threshold --policy --load --load-cpus --oslat --no-oslat --second-opinion --work --work-alone --throughput --emulated --label --seed --json --events --capture --observer --follow --help --version' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _lowlat_measure lowlat-measure
