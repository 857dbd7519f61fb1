# SPDX-License-Identifier: GPL-2.0-or-later AND MPL-2.0
# Produced by packaging/produce-cli from the options of the program.
# Its frame is shtab's, (c) 2020-2026 Casper da Costa-Luis.

# Custom Preamble
function _lowlat_policy
  printf '%s\n' other fifo:1 deadline:5ms/10ms
end
function _lowlat_load
  printf '%s\n' idle faults vm memory oom major-faults cpu timers paced ipi files network mixed
end
function _lowlat_all
  printf '%s\n' all
end
function _lowlat_dir
  __fish_complete_directories
end
function _lowlat_tools
  __fish_complete_list , "printf '%s\n' all oslat cyclictest osnoise timerlat"
end
function _lowlat_works
  __fish_complete_list , "printf '%s\n' all usleep clock_nanosleep memory registers kill clock_gettime"
end
function _lowlat_runs
  printf '%s\n' 10 10x5m
end
function _lowlat_file
  __fish_complete_path (commandline -ct)
end
function _lowlat_observer
  printf '%s\n' auto trace switches
end
# End Custom Preamble

# Parse current commandline:
# - _shtab_lowlat_measure_cmdpath=(sub)command path seen so far
# - _shtab_lowlat_measure_npos=number of positional arguments given after it
# - options are skipped based on _shtab_lowlat_measure_opts_with_value & _shtab_lowlat_measure_commands lists
function _shtab_lowlat_measure_scan
  set -g _shtab_lowlat_measure_cmdpath ''
  set -g _shtab_lowlat_measure_npos 0
  set -l tokens (commandline -opc)
  set -e tokens[1]
  set -l expect_value 0
  for t in $tokens
    if test $expect_value -eq 1
      set expect_value 0
      continue
    end
    switch "$t"
      case '--*=*'
        continue
      case '-*'
        if contains -- $t $_shtab_lowlat_measure_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_lowlat_measure_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_lowlat_measure_cmdpath"
            set candidate "$_shtab_lowlat_measure_cmdpath $t"
          end
          if contains -- $candidate $_shtab_lowlat_measure_commands
            set -g _shtab_lowlat_measure_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_lowlat_measure_npos (math $_shtab_lowlat_measure_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_lowlat_measure_using
  _shtab_lowlat_measure_scan
  test "$_shtab_lowlat_measure_cmdpath" = "$argv"
end

set -g _shtab_lowlat_measure_commands 
set -g _shtab_lowlat_measure_opts_with_value --capture --cpus --duration --events --group --json --label --load --load-cpus --observer --on-gap --phases --policy --second-opinion --seed --stop-on --threshold --throughput --wakeup --warmup --work

complete -c lowlat-measure -e
complete -c lowlat-measure -f

complete -c lowlat-measure -n _shtab_lowlat_measure_using -l cpus -x -d 'CPUs to measure (default: the isolated ones, else all but the lowest)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l duration -x -d '1ms to 24h (default 10s)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l warmup -x -d 'run everything this long before counting, 0s to 1h (default 5s)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l threshold -x -d 'the shortest gap that counts, 50ns to 1s (default 100ns)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l stop-on -x -d 'end the run at a gap of at least this length, 50ns to 1h'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l on-gap -x -d 'write a line "gap CPU NS" to --phases within 0.1 s of a gap of at least this length'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l policy -xka "(_lowlat_policy)" -d 'other, fifo:N, rr:N or deadline:RUNTIME/PERIOD (default other)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l load -xka "(_lowlat_load)" -d 'load by stress-ng during the run (default idle): idle, faults, vm, memory, oom, major-faults, cpu, timers, paced, ipi, files, network, mixed'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l load-cpus -xka "(_lowlat_all)" -d 'CPUs for the load (default: those not measured)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l group -xka "(_lowlat_dir)" -d 'measure inside this control group (v2), which owns the CPUs; the load stays outside'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l oslat -d 'run oslat afterwards (default: if installed)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l no-oslat -d 'don'"'"'t run oslat'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l second-opinion -xka "(_lowlat_tools)" -d 'run these tools afterwards, at most 30s each: all, or some of oslat, cyclictest, osnoise, timerlat'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l work -xka "(_lowlat_works)" -d 'time this work afterwards, at most 10s each: all, or some of usleep, clock_nanosleep, memory, registers, kill, clock_gettime'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l work-alone -d 'time work on one CPU after another (default: on all at once)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l work-mixed -d 'time a different kind of work on each CPU, in turns'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l wakeup -x -d 'then measure wake-up latency on a schedule, 50us to 1s (default 1ms)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l throughput -xka "(_lowlat_runs)" -d 'then run stress-ng'"'"'s matrix without load: for 2s each (default 10), or such as 10x5m'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l emulated -d 'the CPUs are emulated: durations mean nothing (detected on x86)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l label -x -d 'name of the run, kept in the JSON'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l seed -x -d 'seed of the load'"'"'s random numbers (default 1)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l json -xka "(_lowlat_file)" -d 'write the result to FILE; without FILE, or with -, to stdout'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l events -xka "(_lowlat_file)" -d 'write each gap to FILE as cpu,begin,end in ticks of the clock'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l capture -xka "(_lowlat_dir)" -d 'record interruptions of the CPUs in FOLDER, for lowlat-gen to join with the gaps'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l observer -xka "(_lowlat_observer)" -d 'trace (the kernel'"'"'s), switches (of the detectors), or auto (as permitted)'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l follow -d 'print the figures of each second on stdout, one line of JSON'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l phases -x -d 'write a line as each phase begins to this open descriptor, whose reader the run needs'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l check -d 'print the CPUs that the run would use, or refuse as it would, and exit'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l tools -d 'print what is known of each tool as JSON, and exit'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l help -d 'print this help and exit'
complete -c lowlat-measure -n _shtab_lowlat_measure_using -l version -d 'print the version and exit'
