# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for lowlat-gen                             -*- shell-script -*-
# Produced by packaging/produce-cli from the options of every verb.

_lowlat_gen() {
	local current=${COMP_WORDS[COMP_CWORD]} words=''
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'probe capture plan cpus run explain render rehearse measure report apply trial promote rollback status boot runtime tune verify watch top --help --version' -- "$current")
		return
	fi
	# The value of an option: where nothing is offered, -o default offers files.
	case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in
	probe:--root | probe:--svg) return ;;
	capture:--duration) compopt +o default; return ;;
	capture:--root) return ;;
	plan:--root | plan:--svg) return ;;
	plan:--profile | plan:--isolate | plan:--housekeeping | plan:--housekeeping-cores | plan:--for-device | plan:--enable | plan:--disable | plan:--kernel) compopt +o default; return ;;
	cpus:--profile) compopt +o default; return ;;
	cpus:--root) return ;;
	run:--cpus | run:--policy) compopt +o default; return ;;
	run:--root) return ;;
	render:--out) compopt -o dirnames; return ;;
	render:--plan | render:--root) return ;;
	render:--profile | render:--isolate | render:--housekeeping | render:--housekeeping-cores | render:--for-device | render:--enable | render:--disable | render:--kernel) compopt +o default; return ;;
	rehearse:--profile | rehearse:--isolate | rehearse:--housekeeping | rehearse:--housekeeping-cores | rehearse:--for-device | rehearse:--enable | rehearse:--disable | rehearse:--tuned-profile | rehearse:--cpus | rehearse:--memory | rehearse:--duration | rehearse:--warmup | rehearse:--boots | rehearse:--jobs) compopt +o default; return ;;
	rehearse:--kernel) return ;;
	rehearse:--out | rehearse:--resume) compopt -o dirnames; return ;;
	measure:--label | measure:--cpus | measure:--duration | measure:--warmup | measure:--threshold | measure:--policy | measure:--load | measure:--load-cpus | measure:--second-opinion | measure:--work | measure:--throughput | measure:--seed) compopt +o default; return ;;
	measure:--out | measure:--events) return ;;
	report:--against | report:--verify | report:--html | report:--csv | report:--plan) return ;;
	report:--arm | report:--require | report:--campaigns) compopt +o default; return ;;
	apply:--root) return ;;
	apply:--profile | apply:--isolate | apply:--housekeeping | apply:--housekeeping-cores | apply:--for-device | apply:--enable | apply:--disable | apply:--kernel) compopt +o default; return ;;
	apply:--boot) words='own tuned' ;;
	apply:--runtime) words='tuned none' ;;
	trial:--root) return ;;
	trial:--kernel) compopt +o default; return ;;
	promote:--root) return ;;
	promote:--kernel) compopt +o default; return ;;
	rollback:--root) return ;;
	status:--root) return ;;
	boot:--root) return ;;
	runtime:--plan | runtime:--root) return ;;
	runtime:--profile) compopt +o default; return ;;
	tune:--root) return ;;
	tune:--profile | tune:--isolate | tune:--housekeeping | tune:--housekeeping-cores | tune:--for-device | tune:--enable | tune:--disable | tune:--kernel | tune:--boots | tune:--duration | tune:--warmup | tune:--policy) compopt +o default; return ;;
	verify:--plan | verify:--root) return ;;
	verify:--duration) compopt +o default; return ;;
	watch:--interval) compopt +o default; return ;;
	watch:--plan | watch:--root) return ;;
	top:--cpus | top:--threshold | top:--duration | top:--lines) compopt +o default; return ;;
	esac
	[[ -n $words ]] || case ${COMP_WORDS[1]} in
	probe) words='--help --root --json --svg' ;;
	capture) words='--help --evidence --duration --evidence-script --root' ;;
	plan) words='--help --root --json --profile --isolate --housekeeping --housekeeping-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --diff --svg' ;;
	cpus) words='--help isolated housekeeping --profile --root' ;;
	run) words='--help --cpus --policy --one-per-thread --dry-run --systemd-drop-in --root' ;;
	explain) words='--help --all --markdown' ;;
	render) words='--help --out --plan --root --profile --isolate --housekeeping --housekeeping-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel' ;;
	rehearse) words='--help --profile --isolate --housekeeping --housekeeping-cores --keep-efficiency-cores --for-device --enable --disable --as-host --tuned-profile --ablate --control --kernel --fetch-kernel --cpus --memory --duration --warmup --boots --jobs --out --resume' ;;
	measure) words='--help --label --out --cpus --duration --warmup --threshold --policy --load --load-cpus --oslat --no-oslat --second-opinion --work --work-alone --throughput --seed --causes --no-causes --events' ;;
	report) words='--help --against --arm --verify --json --markdown --require --self-test --campaigns --html --csv --open --plan' ;;
	apply) words='--help --root --dry-run --profile --isolate --housekeeping --housekeeping-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --boot --runtime --accept-pending' ;;
	trial) words='--help --root --dry-run --kernel' ;;
	promote) words='--help --root --dry-run --kernel --follow-kernels' ;;
	rollback) words='--help --root --dry-run' ;;
	status) words='--help --root --json' ;;
	boot) words='--help grub kernel start record --root' ;;
	runtime) words='--help start stop verify --plan --profile --dry-run --root' ;;
	tune) words='--help --root --dry-run --profile --isolate --housekeeping --housekeeping-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --boots --duration --warmup --policy --reboot --accept-pending --status --resume --abort --ended --json' ;;
	verify) words='--help --plan --duration --root --json' ;;
	watch) words='--help --interval --restore --once --plan --root' ;;
	top) words='--help --cpus --threshold --duration --once --lines' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _lowlat_gen lowlat-gen
