# SPDX-License-Identifier: GPL-2.0-or-later
"""How work gets onto the isolated CPUs by other ways than ``lowlat-gen run``: a screen each."""

from __future__ import annotations

_TASKSET = """\
taskset: a program of yours on the isolated CPUs

  lowlat-gen run -- CMD               the shortest way: it knows the list
  taskset -c "$(lowlat-gen cpus isolated)" CMD
  taskset -acp LIST PID               all threads (-a) of a program that runs already
  chrt -f 10 taskset -c LIST CMD      the same as a real-time task

  One CPU for each thread. Nothing is balanced among CPUs that isolcpus= or an isolated
  partition took out: threads given several CPUs stay together on the one where they
  were started. Pin each (pthread_setaffinity_np, taskset -cp CPU TID), or let
  'lowlat-gen run --one-per-thread' do it.
  Memory lies on the NUMA node of the CPU that touches it first: pin first, allocate
  then, or bind both with 'numactl --physcpubind=LIST --localalloc CMD'.
  A loop that never sleeps stays an ordinary task (no chrt): as a real-time task it
  keeps the kernel's own threads from its CPU.
  In a boot with cpuset.partition the CPUs belong to lowlat.slice, and taskset elsewhere
  fails with 'Invalid argument': use 'lowlat-gen run', or start the program in that
  slice.
  A service: 'lowlat-gen run --systemd-drop-in' prints what places it.

  Source: sched_setaffinity(2), taskset(1), admin-guide/cgroup-v2.rst"""

_CONTAINERS = """\
containers: a container on the isolated CPUs

  Its runtime starts a container, so neither taskset nor 'lowlat-gen run' around the
  client reaches it: the CPUs are an option of the container.
  docker run --cpuset-cpus="$(lowlat-gen cpus isolated)" ...
      and podman; for real-time threads inside --cap-add SYS_NICE --ulimit rtprio=50
  Kubernetes: cpuManagerPolicy: static, reservedSystemCPUs: the housekeeping CPUs,
      and a pod of class Guaranteed with a whole number of CPUs

  Inside, pin each thread to a CPU: nothing is balanced there (lowlat-gen explain
  taskset).
  No CPU quota (--cpus): being throttled stops the work for milliseconds.
  Keep other containers off. A runtime that writes cpuset.cpus of a group resets the
  affinity of the tasks in it, isolated CPUs included: give the others the housekeeping
  CPUs (--cpuset-cpus, or AllowedCPUs= of the slice they are in).
  In a boot with cpuset.partition the CPUs belong to lowlat.slice: --cgroup-parent it.
  Health checks and 'exec' into the container run on its CPUs too.

  Source: docs.docker.com/engine/containers/resource_constraints,
          kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies"""

_DPDK = """\
dpdk: core lists of DPDK and other polling packet work

  lowlat-gen plan --profile lowlat-nfv --for-device eth0
      isolates CPUs on the NUMA node of that network card
  app -l 0,2-5 --main-lcore 0
      EAL pins its threads itself: the main one on a housekeeping CPU, a worker on each
      isolated one; --lcores '0@0,1@2,2@3' is the same as logical core @ CPU
  VPP: cpu { main-core 0 corelist-workers 2-5 }   OVS: other_config:pmd-cpu-mask

  The list is 'lowlat-gen cpus isolated'. Give a worker a whole core: where SMT is on,
  leave its sibling idle (the plan keeps both on one side).
  Workers that poll stay ordinary tasks: as real-time tasks that never sleep they keep
  the kernel's own threads from their CPUs, and can hang the machine.
  Huge pages are yours to reserve (default_hugepagesz=1G hugepagesz=1G hugepages=N), on
  the node of the workers (--socket-mem).
  The interrupts of cards that the kernel drives stay on housekeeping CPUs
  (irq.smp_affinity); a card bound to vfio-pci is the application's.
  In a boot with cpuset.partition start the application in lowlat.slice.

  Source: doc.dpdk.org/guides/linux_gsg/linux_eal_parameters.html"""

GUIDES = {"containers": _CONTAINERS, "dpdk": _DPDK, "taskset": _TASKSET}
