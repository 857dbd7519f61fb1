# SPDX-License-Identifier: GPL-2.0-or-later AND MPL-2.0
# Produced by packaging/produce-cli from the options of the program.
# Its frame is shtab's, (c) 2020-2026 Casper da Costa-Luis.

# Custom Preamble
function _lowlat_file
  __fish_complete_path (commandline -ct)
end
function _lowlat_profile
  printf '%s\n' lowlat lowlat-audio lowlat-bench lowlat-desktop lowlat-hpc lowlat-kvm-guest lowlat-kvm-host lowlat-nfv lowlat-poll lowlat-rt; find /etc/lowlat/profiles/ -maxdepth 2 -name lowlat.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::'
end
function _lowlat_device
  find /sys/class/net/ /sys/class/nvme/ -mindepth 1 -maxdepth 1 -type l -not -lname '*/virtual/*' -printf '%f\n' 2>/dev/null
end
function _lowlat_tunable
  printf '%s\n' cpuset.cpus cpuset.partition cpuset.sets isolcpus nohz_full rcu_nocbs irqaffinity nosmt rcupdate.rcu_normal_after_boot rcu_nocb_poll rcutree.enable_rcu_lazy rcutree.nohz_full_patience_delay rcutree.kthread_prio skew_tick kernel.timer_migration tsc clocksource preempt threadirqs systemd.cpu_affinity psi fair_server fair_server.period kernel.sched_rt_runtime_us kthread.affinity kthread.priority irqbalance.banned_cpus irq.smp_affinity irq.default_smp_affinity irq.thread_priority irq.sound_priority workqueue.unbound_cpus workqueue.power_efficient workqueue.cpumask workqueue.writeback.cpumask kernel.watchdog_cpumask nowatchdog nosoftlockup kernel.nmi_watchdog mce machinecheck.check_interval split_lock_detect kernel.split_lock_mitigate vm.stat_interval vm.compaction_proactiveness kernel.numa_balancing hugepages resctrl.housekeeping transparent_hugepage.enabled transparent_hugepage transparent_hugepage.defrag khugepaged.defrag ksm.run idle nohlt cpuidle.off intel_idle.max_cstate processor.max_cstate pm_qos_resume_latency_us cpufreq.default_governor scaling_governor energy_performance_preference uncore.min_freq turbo pcie_aspm.policy iommu.passthrough intel_iommu net.rps_cpus net.xps_cpus net.threaded net.napi net.core.busy_poll net.core.busy_read nopvspin cpuidle_haltpoll.force kvm.kvmclock_periodic_sync kvm_intel.ple_gap kvm.nx_huge_pages_recovery_ratio kvm_amd.pause_filter_count kvm_amd.avic
end
function _lowlat_kernel
  find /lib/modules/ -mindepth 1 -maxdepth 1  -printf '%f\n' 2>/dev/null
end
function _lowlat_sets
  printf '%s\n' isolated housekeeping
end
function _lowlat_auto
  printf '%s\n' auto
end
function _lowlat_run_policy
  printf '%s\n' other fifo:1
end
function _lowlat_limits
  printf '%s\n' page-faults=0 entries=0 calls=0 minor-faults=0 major-faults=0 switches=0 futex-waits=0 signals=0 migrations=0 ipis=0
end
function _lowlat_explained
  printf '%s\n' cpuset.cpus cpuset.partition cpuset.sets isolcpus nohz_full rcu_nocbs irqaffinity nosmt rcupdate.rcu_normal_after_boot rcu_nocb_poll rcutree.enable_rcu_lazy rcutree.nohz_full_patience_delay rcutree.kthread_prio skew_tick kernel.timer_migration tsc clocksource preempt threadirqs systemd.cpu_affinity psi fair_server fair_server.period kernel.sched_rt_runtime_us kthread.affinity kthread.priority irqbalance.banned_cpus irq.smp_affinity irq.default_smp_affinity irq.thread_priority irq.sound_priority workqueue.unbound_cpus workqueue.power_efficient workqueue.cpumask workqueue.writeback.cpumask kernel.watchdog_cpumask nowatchdog nosoftlockup kernel.nmi_watchdog mce machinecheck.check_interval split_lock_detect kernel.split_lock_mitigate vm.stat_interval vm.compaction_proactiveness kernel.numa_balancing hugepages resctrl.housekeeping transparent_hugepage.enabled transparent_hugepage transparent_hugepage.defrag khugepaged.defrag ksm.run idle nohlt cpuidle.off intel_idle.max_cstate processor.max_cstate pm_qos_resume_latency_us cpufreq.default_governor scaling_governor energy_performance_preference uncore.min_freq turbo pcie_aspm.policy iommu.passthrough intel_iommu net.rps_cpus net.xps_cpus net.threaded net.napi net.core.busy_poll net.core.busy_read nopvspin cpuidle_haltpoll.force kvm.kvmclock_periodic_sync kvm_intel.ple_gap kvm.nx_huge_pages_recovery_ratio kvm_amd.pause_filter_count kvm_amd.avic; printf '%s\n' ansible fleet playbook galaxy awx rollout puppet salt chef canary soak cloud cloud-init image golden-image automation exit-code exit-status audio jack jackd jack2 pipewire pulseaudio alsa sound daw usb-audio midi music musician ardour crackle crackling xrun dropout underrun glitch boot grub reboot bootloader boot-loader systemd-boot loader entry remove uninstall secureboot secure-boot kexec ubuntu debian fedora rhel uki ostree bootc flatcar coreos initramfs dracut lockdown install hook hooks file files upgrade update centos rocky almalinux suse opensuse microos arch gentoo nixos guix alpine c-states cstate idle-states sleep cpuidle wake-up p-states frequency governor power energy battery laptop containers docker podman kubernetes k8s kubelet reservedsystemcpus cpu-manager cpumanager container pod lxc lxd nomad dpdk vpp ovs openvswitch eal lcore lcores pmd vfio nfv telecom sriov sr-iov 5g ran vran games game gaming workstation fps stutter steam hardware bios uefi firmware smi smm hybrid e-core p-core ecore pcore efficiency-cores big-little ccd amd intel epyc xeon ryzen threadripper health health-check watchdog hang panic heat watt temperature thermal throttling hot fan degrees cooling irq irqs interrupt interrupts irqbalance smp_affinity usb msi vector vectors softirq softirqs ksoftirqd ipi ipis libvirt kvm qemu virsh vcpu vcpupin virtual-machine vm proxmox openstack guest host measuring measure noise jitter oslat cyclictest osnoise timerlat rtla stress-ng benchmark hwlat throughput latency proof prove statistics significance histogram percentile outlier tail spike spikes p99 compare before after stress load metrics prometheus grafana node-exporter exporter textfile alert alerts alertmanager monitoring dashboard nic network ethernet ethtool rss xdp af_xdp onload solarflare mellanox ptp openshift performanceprofile performance-profile performance-profile-creator ppc must-gather mustgather nto rhcos ocp raspberry-pi raspberry raspberrypi pi rpi rpi4 rpi5 raspbian arm arm64 jetson gpio i2s hat risk security cost risks costs safe safety mitigations price danger spectre meltdown robots robot ros ros2 linuxcnc ethercat control plc cnc codesys real-time preempt_rt fifo rr priority deadline service systemd unit daemon redis postgres postgresql database nginx kafka server mysql mariadb java jvm slurm hpc mpi openmp openmpi cluster pbs lsf batch slurmd sbatch srun drain smt hyper-threading ht hyperthread sibling siblings noht taskset pin pinning affinity numa numactl chrt sched_setaffinity cgroup cpu core cores tick timer hz jiffies dynticks tickless dyntick trading hft low-latency feed matching-engine aeron spin busy-poll finance spinning polling busy-polling exchange tuned tuned-adm tuned-profiles cpu-partitioning realtime-virtual-host ppd tuned-ppd power-profiles-daemon tlp auto-cpufreq undo revert recover recovery rescue unbootable brick crash does-not-boot fallback chroot kill boot-counting fwupd-refresh.timer fwupd dsm_sa_datamgrd dcdbas openmanage edac patrol-scrub microcode i915 turbostat pcm pcm-sensor-server intel_powerstat telegraf netdata stalld rngd google_set_multiqueue google-guest-agent timestamps realtime-entsk thermald powerclamp kidle_inject numad; printf '%s\n' lowlat lowlat-audio lowlat-bench lowlat-desktop lowlat-hpc lowlat-kvm-guest lowlat-kvm-host lowlat-nfv lowlat-poll lowlat-rt; find /etc/lowlat/profiles/ -maxdepth 2 -name lowlat.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::'
end
function _lowlat_dir
  __fish_complete_directories
end
function _lowlat_policies
  __fish_complete_list , "printf '%s\n' other fifo:1 deadline:5ms/10ms"
end
function _lowlat_load
  printf '%s\n' idle faults vm memory oom major-faults cpu timers paced ipi files network mixed
end
function _lowlat_works
  __fish_complete_list , "printf '%s\n' all usleep clock_nanosleep memory registers kill clock_gettime"
end
function _lowlat_runs
  printf '%s\n' 10 10x5m
end
function _lowlat_tuned_profile
  find /usr/lib/tuned/ /usr/lib/tuned/profiles/ /etc/tuned/ /etc/tuned/profiles/ -maxdepth 2 -name tuned.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::'
end
function _lowlat_file_or_kernel
  find /lib/modules/ ~/.cache/lowlat/kernels/ -mindepth 1 -maxdepth 1  -printf '%f\n' 2>/dev/null
  __fish_complete_path (commandline -ct)
end
function _lowlat_load_cpus
  printf '%s\n' all siblings
end
function _lowlat_tools
  __fish_complete_list , "printf '%s\n' all oslat cyclictest osnoise timerlat"
end
function _lowlat_wakeup
  printf '%s\n' none
end
function _lowlat_verb
  printf '%s\n' probe capture plan cpus run explain profile lint render rehearse measure report fleet apply trial promote rollback doctor status boot runtime tune verify watch top
end
# End Custom Preamble

# Parse current commandline:
# - _shtab_lowlat_gen_cmdpath=(sub)command path seen so far
# - _shtab_lowlat_gen_npos=number of positional arguments given after it
# - options are skipped based on _shtab_lowlat_gen_opts_with_value & _shtab_lowlat_gen_commands lists
function _shtab_lowlat_gen_scan
  set -g _shtab_lowlat_gen_cmdpath ''
  set -g _shtab_lowlat_gen_npos 0
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
        if contains -- $t $_shtab_lowlat_gen_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_lowlat_gen_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_lowlat_gen_cmdpath"
            set candidate "$_shtab_lowlat_gen_cmdpath $t"
          end
          if contains -- $candidate $_shtab_lowlat_gen_commands
            set -g _shtab_lowlat_gen_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_lowlat_gen_npos (math $_shtab_lowlat_gen_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_lowlat_gen_using
  _shtab_lowlat_gen_scan
  test "$_shtab_lowlat_gen_cmdpath" = "$argv"
end

set -g _shtab_lowlat_gen_commands probe capture plan cpus run explain profile lint render rehearse measure report fleet apply trial promote rollback doctor status boot runtime tune verify watch top
set -g _shtab_lowlat_gen_opts_with_value --after --against --arm --as --boot --boots --campaign --cpus --csv --default --disable --duration --enable --events --for-device --format --housekeeping --housekeeping-cores --housekeeping-per --html --interval --isolate --isolate-cores --jobs --kernel --label --level --limit --lines --load --load-cpus --mark-fd --memory --metrics --on-gap --openshift --out --ovs-dpdk --plan --policy --profile --require --resume --root --rounds --runs --runtime --second-opinion --seed --set --shared --stop-on --svg --threshold --throughput --throughput-margin --tuned-profile --verify --wakeup --warmup --within --work

complete -c lowlat-gen -e
complete -c lowlat-gen -f

complete -c lowlat-gen -n _shtab_lowlat_gen_using -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n _shtab_lowlat_gen_using -l version -d 'print the version'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a probe -d 'show this machine as the planner sees it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using probe' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using probe' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using probe' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using probe' -l svg -xka "(_lowlat_file)" -d 'also write the drawing as SVG'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a capture -d 'save what probe, or with --evidence verify, reads, for --root'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -l evidence -d 'also save the evidence that '"'"'lowlat-gen verify --root OUT'"'"' reads'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -l duration -x -d 'with --evidence: how long to count interrupts (10s; 0s: do not count)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -l evidence-script -d 'print a sh script that gathers the evidence on a machine without Python'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -l runs -xka "(_lowlat_file)" -d 'instead write these runs into the folder OUT, without the names of hosts and people'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using capture; and test $_shtab_lowlat_gen_npos -eq 0' -ka "(_lowlat_file)" -d 'the archive; compressed if it ends in .gz'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a plan -d 'choose CPUs and settings, with a reason for each'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l all -d 'also the reason for each setting, what is left out, and what you can enable'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l brief -d 'print only the line, the CPUs and the next step'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l diff -d 'print only what would change on the running system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l now -d 'plan for the running kernel, without a boot, and tell what only a boot gives'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using plan' -l svg -xka "(_lowlat_file)" -d 'also write the drawing as SVG'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a cpus -d 'print the bare list of isolated or housekeeping CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l plan -xka "(_lowlat_file)" -d 'the CPUs of this plan, in its JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l planned -d 'print the plan'"'"'s CPUs even if this boot does not isolate them (always in a capture)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l as -xka "list docker dpdk libvirt systemd slurm kubelet" -d 'in this program'"'"'s form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using cpus; and test $_shtab_lowlat_gen_npos -eq 0' -ka "(_lowlat_sets)" -d 'the CPUs; SET was named with --isolate'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a run -d 'run a program on the isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l cpus -xka "(_lowlat_auto)" -d 'CPUs to run on; auto: what '"'"'lowlat-gen cpus isolated --planned'"'"' prints (auto)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l set -x -d 'run on the set that --isolate NAME=LIST made'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l policy -xka "(_lowlat_run_policy)" -d 'scheduling policy; N: real-time priority (other)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l one-per-thread -d 'give each thread a CPU of its own'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l task-isolation -d 'have the kernel do its deferred work when system calls return'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l audit -d 'tell what the program itself had the kernel do there, by kind and place'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l mark-fd -x -d 'with --audit: from the 1 to the 0 that the program writes there; each is answered'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l after -x -d 'with --audit: from this time after the start on'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l limit -xka "(_lowlat_limits)" -d 'with --audit: exit with 1 if there are more, such as page-faults=0'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l out -xka "(_lowlat_file)" -d 'with --audit: also write it there, as JSON'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l dry-run -d 'print where the program would run, with warnings'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l systemd-drop-in -d 'print a drop-in that places a systemd service; run nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using run; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_file)" -d 'the program, after --'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a explain -d 'explain a tunable, a profile or a word such as irq'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using explain' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using explain' -l all -d 'every tunable in full'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using explain' -l markdown -d 'with --all: the reference as Markdown'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using explain; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_explained)" -d 'a tunable, a profile, a verb, or a word such as irq, memory or docker; default: list all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a profile -d 'check a profile of your own'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using profile' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using profile' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using profile; and test $_shtab_lowlat_gen_npos -eq 0' -ka "check" -d action
complete -c lowlat-gen -n '_shtab_lowlat_gen_using profile; and test $_shtab_lowlat_gen_npos -eq 1' -ka "(_lowlat_file)" -d 'a lowlat.conf, in any folder'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a lint -d 'judge any boot line word by word, and compare it with lowlat'"'"'s'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l profile -xka "(_lowlat_profile)" -d 'compare with this profile'"'"'s line; default: lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l openshift -x -d 'the OpenShift whose operator makes a PerformanceProfile'"'"'s line; default: a must-gather'"'"'s, else the newest known'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l all -d 'show every word with its reason, and the whole line that is offered'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using lint; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_file)" -d 'a boot line in quotes; a file that holds one, a TuneD profile or a PerformanceProfile; an OpenShift must-gather; or - for standard input; default: the running line'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a render -d 'write the plan, boot entry and TuneD profile below a folder'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l out -xka "(_lowlat_dir)" -d 'folder for the files'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l format -xka "performance-profile kubelet ignition bootc" -d 'write the form of another system, and print what that form cannot carry; for Kubernetes the system keeps at least four CPUs, unless you choose the CPUs or a plan is applied'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l openshift -x -d 'the OpenShift that a PerformanceProfile is for; default: all from 4.11 on'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l ovs-dpdk -x -d 'the set of CPUs, named with --isolate, that a PerformanceProfile gives to OVS-DPDK'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l shared -x -d 'housekeeping CPUs that pods with exclusive CPUs share in a PerformanceProfile'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l plan -xka "(_lowlat_file)" -d 'render this plan, in its JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using render' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a rehearse -d 'boot a kernel in a VM, stock and tuned, and measure both'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l policy -xka "(_lowlat_policies)" -d 'other, fifo:N, rr:N or deadline:RUNTIME/PERIOD for the detectors (other); a list such as other,fifo:1 makes a run of each, the policy in its label; tune decides by the first'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l load -xka "(_lowlat_load)" -d 'load by stress-ng during the run, such as network; '"'"'lowlat-measure --help'"'"' has all (default: none; rehearse: mixed)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l work -xka "(_lowlat_works)" -d 'time kinds of work (usleep, memory, ...), or all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l throughput -xka "(_lowlat_runs)" -d 'then run stress-ng'"'"'s matrix on all measured CPUs, without load: so many times for 2 s (10), or such as 10x5m'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l causes -l no-causes -d 'join the gaps with the kernel'"'"'s trace, which lengthens them somewhat (default: with the detectors'"'"' own context switches; rehearse: no causes)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l profile -xka "(_lowlat_profile)" -d 'profile to rehearse; default: lowlat; may be repeated'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l as-host -d 'boot the guest with this machine'"'"'s own command line'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l tuned-profile -xka "(_lowlat_tuned_profile)" -d 'also boot a profile that TuneD ships, for the same CPUs; may be repeated'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l ablate -d 'also boot each profile with one setting left out at a time, to show what each setting buys'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l control -d 'also boot stock as a further arm, in which nothing has changed'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l now -d 'also boot stock and isolate the running guest, as '"'"'apply --now'"'"' does'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l kernel -xka "(_lowlat_file_or_kernel)" -d 'kernel to boot: an image, a release or the beginning of one, such as 6.12 or 6.1-rt; may be repeated'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l fetch-kernel -d 'download the kernel from the distribution if it is neither in /boot nor cached'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l cpus -x -d 'CPUs of the guest (default: 4 under emulation; with KVM as many as here, at least 4)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l memory -x -d 'memory of the guest (2G)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l duration -x -d 'length of a run (30s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l warmup -x -d 'wait before a run (10s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l boots -x -d 'boots of each arm on each kernel, in rounds of random order (1)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l jobs -x -d 'guests that run at the same time (default: one per CPU under emulation, one with KVM)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l out -xka "(_lowlat_dir)" -d 'folder for the results (default: the state folder)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rehearse' -l resume -xka "(_lowlat_dir)" -d 'continue an interrupted rehearsal with its own options; only --jobs may be added'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a measure -d 'measure the noise on the isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l policy -xka "(_lowlat_policies)" -d 'other, fifo:N, rr:N or deadline:RUNTIME/PERIOD for the detectors (other); a list such as other,fifo:1 makes a run of each, the policy in its label; tune decides by the first'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l load -xka "(_lowlat_load)" -d 'load by stress-ng during the run, such as network; '"'"'lowlat-measure --help'"'"' has all (default: none; rehearse: mixed)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l work -xka "(_lowlat_works)" -d 'time kinds of work (usleep, memory, ...), or all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l throughput -xka "(_lowlat_runs)" -d 'then run stress-ng'"'"'s matrix on all measured CPUs, without load: so many times for 2 s (10), or such as 10x5m'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l causes -l no-causes -d 'join the gaps with the kernel'"'"'s trace, which lengthens them somewhat (default: with the detectors'"'"' own context switches; rehearse: no causes)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l label -x -d 'name of the run, such as '"'"'stock'"'"' (needed without --campaign)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l out -xka "(_lowlat_file)" -d 'file for the result (default: in the state folder)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l cpus -x -d 'CPUs to measure (default: the isolated ones)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l duration -x -d 'how long to measure (10s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l warmup -x -d 'how long to wait before (5s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l threshold -x -d 'the shortest gap that counts (100ns)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l stop-on -x -d 'end the run within 0.1 s of a gap of at least this length'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l on-gap -x -d 'at a gap of at least this length run CMD, on another CPU and at most once a minute; the measurement goes on'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l load-cpus -xka "(_lowlat_load_cpus)" -d 'CPUs for the load (default: the other CPUs)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l oslat -l no-oslat -d 'cross-check with oslat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l second-opinion -xka "(_lowlat_tools)" -d 'cross-check with oslat, cyclictest, osnoise, timerlat, or all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l work-alone -d 'time work on one CPU after another, not on all at once'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l work-mixed -d 'time a different kind of work on each CPU, in turns'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l wakeup -xka "(_lowlat_wakeup)" -d 'then measure wake-up latency on a schedule, beside cyclictest (1ms; the default in a boot of a profile that is judged by it)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l seed -x -d 'random seed of the loads'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l events -xka "(_lowlat_file)" -d 'write every gap as cpu,begin,end'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l campaign -xka "(_lowlat_file)" -d 'measure the next boot of this campaign, which names the run and keeps it beside the file'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure' -l json -d 'print the stable JSON form: where the runs were written'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using measure; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_file)" -d 'the program of --on-gap, after --'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a report -d 'compare runs: how much noise went away'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l against -xka "(_lowlat_file)" -d 'runs after the change; with 6 or more pairs of boots the change is tested'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l arm -xka "(_lowlat_file)" -d 'runs of a further arm, against the same runs before; may be repeated'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l pairs-by-name -d 'count each file of another tool (oslat, cyclictest, ...) as a boot, and files of the same name before and after as a pair'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l campaign -xka "(_lowlat_file)" -d 'what was written down before the first boot (default: what lies beside the runs)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l verify -xka "(_lowlat_file)" -d 'output of '"'"'lowlat-gen verify --json'"'"' after the change'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l json -d 'print lowlat.report/1'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l markdown -d 'print Markdown for a ticket'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l article -d 'print the table of the article on osnoise: noise, its range and its classes for each set-up, runs under several policies apart; with --html the page of all set-ups'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l level -x -d 'count the gaps of this length and more too, such as 1ms; may be repeated'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l limit -x -d 'exit with 1 if a gap, a wake-up or the maximum of oslat or cyclictest is longer, such as 20us; or a public limit by name: rhel-rt-virt (cyclictest at most 40 us, oslat at most 20 us, for 12 hours on each CPU); openshift-telco (cyclictest below 20 us, oslat below 20 us, for 12 hours on each CPU); nilrt-nohz (gap at most 34 us, for 24 hours on each CPU); repeatable'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l require -x -d 'exit with 1 unless the lower end of the interval of the ratio before/after reaches N; such as '"'"'interrupts_per_s>=40'"'"', or '"'"'ARM:interrupts_per_s>=40'"'"'; or '"'"'throughput_loss<=5%'"'"': unless the interval of the loss stays within that'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l html -xka "(_lowlat_file)" -d 'write a page with drawings, in one file'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l csv -xka "(_lowlat_file)" -d 'write every figure as a table for programs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l svg -xka "(_lowlat_dir)" -d 'write each drawing of the page as an image, in a folder'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l open -d 'open the page in a browser (without --html it is kept in the state folder)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report' -l plan -xka "(_lowlat_file)" -d 'the plan of the runs after; the page shows its reasons'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using report; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_file)" -d 'the runs to describe, or those before the change'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a fleet -d 'plan for many machines by class, and report on all of them'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l all -d 'plan: draw each class, with its line and what it differs in'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l as -xka "slurm" -d 'plan: print a line for slurm.conf for each class; nodes have their captures'"'"' names'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l out -xka "(_lowlat_file)" -d 'plan: write each class'"'"'s plan into this folder, as ID.json; campaign: its file'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l rounds -x -d 'campaign: rounds, a stock and a tuned boot on every host (8)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l seed -x -d 'campaign: what the order is drawn from (by chance)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l against -xka "(_lowlat_file)" -d 'report: runs of all hosts after the change'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l csv -xka "(_lowlat_file)" -d 'report: write a row for each host'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet' -l html -xka "(_lowlat_file)" -d 'report: write a page with drawings, in one file'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet; and test $_shtab_lowlat_gen_npos -eq 0' -ka "plan campaign report" -d 'group machines with their plans, write a campaign over hosts down, or compare runs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using fleet; and test $_shtab_lowlat_gen_npos -ge 1' -ka "(_lowlat_file)" -d 'plan: captured machines (folders, archives, folders of either, or patterns); campaign: a file of each host, what '"'"'apply --dry-run --json'"'"' prints there; report: runs of all hosts before the change'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a apply -d 'add tuned boot entries, or isolate until the next boot (--now)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l root -xka "(_lowlat_file)" -d 'act on the system whose tree lies at PATH; runs its programs, so trust it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l dry-run -d 'print what would be done, and do nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l boot -xka "own tuned" -d 'own: add entries beside the stock ones (default); tuned: let TuneD'"'"'s bootloader plugin change the stock entries, for which there is no trial and no promote'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l runtime -xka "tuned none" -d 'tuned: TuneD applies the run-time settings (default); none: you do'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l accept-pending -d 'also generate boot entry changes that others made and have not generated yet'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l now -d 'isolate the running system until the next boot, and add no boot entry'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using apply' -l previous -d 'apply the plan again that the last apply replaced, as it was'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a trial -d 'boot the tuned entry once'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -l root -xka "(_lowlat_file)" -d 'act on the system whose tree lies at PATH; runs its programs, so trust it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -l dry-run -d 'print what would be done, and do nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -l kernel -xka "(_lowlat_kernel)" -d 'kernel of the entry; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using trial' -l kexec -d 'load the entry for '"'"'systemctl kexec'"'"', which bypasses the boot loader'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a promote -d 'make the entry that was tried the default'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -l root -xka "(_lowlat_file)" -d 'act on the system whose tree lies at PATH; runs its programs, so trust it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -l dry-run -d 'print what would be done, and do nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -l kernel -xka "(_lowlat_kernel)" -d 'kernel of the entry; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using promote' -l follow-kernels -d 'tuned entries of newer kernels become the default without a trial'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a rollback -d 'undo everything that apply, trial and promote did'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rollback' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rollback' -l root -xka "(_lowlat_file)" -d 'act on the system whose tree lies at PATH; runs its programs, so trust it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rollback' -l dry-run -d 'print what would be done, and do nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using rollback' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a doctor -d 'show what each verb lacks on this machine, and how to get it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using doctor' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using doctor' -l all -d 'also what to do about each limit, as with a VERB'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using doctor' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using doctor' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using doctor; and test $_shtab_lowlat_gen_npos -ge 0' -ka "(_lowlat_verb)" -d 'check these verbs only; default: all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a status -d 'show what is applied, what was tried and what boots next'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using status' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using status' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using status' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a boot -d 'called by hooks and units of the system, not by people'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using boot' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using boot' -l default -x -d 'grub: the value of GRUB_DEFAULT'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using boot' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using boot; and test $_shtab_lowlat_gen_npos -eq 0' -ka "grub kernel start health record upgrade" -d 'grub: read 10_linux'"'"'s output, print the tuned entries; kernel: a kernel was installed or removed; start: select TuneD'"'"'s profile for this boot; health: run the checks of a trial; record: note that this trial came up; upgrade: rewrite the hooks for this version'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a runtime -d 'set, undo or check the run-time settings (TuneD calls this)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -l plan -xka "(_lowlat_file)" -d 'default: /var/lib/lowlat/plan.json'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -l profile -xka "(_lowlat_profile)" -d 'plan with this profile, unless a plan with it is applied'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -l dry-run -d 'print what would be written, and write nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using runtime; and test $_shtab_lowlat_gen_npos -eq 0' -ka "start stop verify" -d action
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a tune -d 'measure, apply, try, measure again, then promote or fall back'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l root -xka "(_lowlat_file)" -d 'act on the system whose tree lies at PATH; runs its programs, so trust it'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l dry-run -d 'print what would be done, and do nothing'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l profile -xka "(_lowlat_profile)" -d 'profile to plan with; without options of a plan: the applied one, else lowlat'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l isolate -x -d 'isolate exactly these CPUs; with names: feed=2-3,engine=4-7'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l housekeeping -x -d 'keep exactly these CPUs for the system'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l housekeeping-cores -x -d 'housekeeping cores per NUMA node, or per package (see --housekeeping-per)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l housekeeping-per -xka "node package" -d 'what keeps housekeeping cores where a package has several NUMA nodes: each node, or near nodes together, with whole caches; default: what leaves more caches to isolated CPUs'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l isolate-cores -x -d 'isolate only the N best cores'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l keep-efficiency-cores -d 'allow isolating cores of the least capable type'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l for-device -xka "(_lowlat_device)" -d 'isolate CPUs near this network interface, NVMe drive or PCI address'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l enable -xka "(_lowlat_tunable)" -d 'also set this tunable, at your own risk'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l disable -xka "(_lowlat_tunable)" -d 'leave this tunable out'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l as-host -d 'plan as for physical hardware, even in a virtual machine'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l kernel -xka "(_lowlat_kernel)" -d 'an installed kernel; default: the running one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l policy -xka "(_lowlat_policies)" -d 'other, fifo:N, rr:N or deadline:RUNTIME/PERIOD for the detectors (other); a list such as other,fifo:1 makes a run of each, the policy in its label; tune decides by the first'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l load -xka "(_lowlat_load)" -d 'load by stress-ng during the run, such as network; '"'"'lowlat-measure --help'"'"' has all (default: none; rehearse: mixed)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l work -xka "(_lowlat_works)" -d 'time kinds of work (usleep, memory, ...), or all'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l throughput -xka "(_lowlat_runs)" -d 'then run stress-ng'"'"'s matrix on all measured CPUs, without load: so many times for 2 s (10), or such as 10x5m'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l causes -l no-causes -d 'join the gaps with the kernel'"'"'s trace, which lengthens them somewhat (default: with the detectors'"'"' own context switches; rehearse: no causes)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l boots -x -d 'compare N pairs of a stock and a tuned boot, in random order; the default entry stays; with --within: measure its pairs in each of N boots (1)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l within -x -d 'without a reboot: compare so many pairs of runs (8) of the system as it is and as '"'"'apply --now'"'"' isolates it, in random order; given again, it goes on where it stopped'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l until-clear -d 'compare pairs until the change is clear, 20 at most; the default entry stays'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l discard -l no-discard -d 'boot once more, without measuring, first and wherever the kind of boot changes (default: with --kexec)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l duration -x -d 'how long to measure (10s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l warmup -x -d 'how long to wait before (30s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l throughput-margin -x -d 'promote nothing that may lose more throughput than this (5)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l reboot -d 'reboot automatically, as often as needed'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l kexec -d 'boot stock and tuned by kexec, which skips the firmware and the boot loader'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l article -d 'measure under other and fifo:1, with causes; beside the report, article.md has the table of the article on osnoise'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l accept-pending -d 'also generate boot entry changes that others made and have not generated yet'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l status -d 'print the state of the loop'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l resume -d 'continue the loop in this boot'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l abort -d 'end the loop; the default entry is as before'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l ended -d 'called by lowlat-tune.service, not by people'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using tune' -l json -d 'with --status: lowlat.tune/1'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a verify -d 'compare planned settings with effective ones, with evidence'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l plan -xka "(_lowlat_file)" -d 'default: the applied plan'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l duration -x -d 'how long to count interrupts on the isolated CPUs (10s; 0s: do not count)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l limit -x -d 'also exit with 1 if an isolated CPU takes more than N interrupts a second, even if no setting removes them'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l strict -d 'also exit with 1 if a setting is unverifiable'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using verify' -l json -d 'print the stable JSON form'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a watch -d 'report what undoes the run-time settings'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l interval -x -d 'time between two checks (60s)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l restore -d 'restore settings that another program has undone'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l once -d 'check once, and exit with 1 on a finding'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l metrics -xka "(_lowlat_file)" -d 'after each check, write FILE.prom for the textfile collector of node_exporter'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l plan -xka "(_lowlat_file)" -d 'default: the plan of '"'"'lowlat-gen runtime start'"'"''
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l root -xka "(_lowlat_file)" -d 'read a captured machine (folder or archive), not this one'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using watch' -l json -d 'one JSON document a line: verify'"'"'s row of a setting that changed'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using; and test $_shtab_lowlat_gen_npos -eq 0' -a top -d 'show each second what interrupts which isolated CPU'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -s h -l help -d 'show this help message and exit'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l cpus -x -d 'CPUs to watch (default: the isolated ones)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l threshold -x -d 'the shortest gap that counts (100ns)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l duration -x -d 'end after this time (default: at Ctrl-C)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l once -d 'show one second and end'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l lines -x -d 'sources in the table for each CPU (8)'
complete -c lowlat-gen -n '_shtab_lowlat_gen_using top' -l json -d 'one JSON document a line: the account of a second'
