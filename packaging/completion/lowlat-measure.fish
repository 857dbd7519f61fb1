# SPDX-License-Identifier: GPL-2.0-or-later

complete -c lowlat-measure -f
complete -c lowlat-measure -l cpus -x -d 'CPUs to measure'
complete -c lowlat-measure -l duration -x -d 'how long to measure'
complete -c lowlat-measure -l warmup -x -d 'how long all runs before anything counts'
complete -c lowlat-measure -l threshold -x -d 'what is longer is a gap'
complete -c lowlat-measure -l policy -x -a 'other fifo:' -d 'scheduling policy of the detectors'
complete -c lowlat-measure -l load -x -a 'none faults vm timers mixed' -d 'what stress-ng does meanwhile'
complete -c lowlat-measure -l load-cpus -x -d 'where the load runs'
complete -c lowlat-measure -l oslat -d 'run oslat afterwards'
complete -c lowlat-measure -l no-oslat -d 'do not run oslat'
complete -c lowlat-measure -l emulated -d 'the CPUs are emulated'
complete -c lowlat-measure -l label -x -d 'name of the run'
complete -c lowlat-measure -l seed -x -d 'of the random numbers of the load'
complete -c lowlat-measure -l json -r -F -d 'write the result there'
complete -c lowlat-measure -l events -r -F -d 'write each gap there'
complete -c lowlat-measure -l help -d 'print the options'
complete -c lowlat-measure -l version -d 'print the version'
