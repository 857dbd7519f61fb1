# SPDX-License-Identifier: GPL-2.0-or-later AND MPL-2.0
# Produced by packaging/produce-cli from the options of the program.
# Its frame is shtab's, (c) 2020-2026 Casper da Costa-Luis.

_shtab_lowlat_gen_subparsers=(probe capture plan cpus run explain profile lint render rehearse measure report fleet apply trial promote rollback doctor status boot runtime tune verify watch top)

_shtab_lowlat_gen_probe_option_strings=(-h --help --root --json --svg)
_shtab_lowlat_gen_capture_option_strings=(-h --help --evidence --duration --evidence-script --runs --root)
_shtab_lowlat_gen_plan_option_strings=(-h --help --root --json --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --all --brief --diff --now --svg)
_shtab_lowlat_gen_cpus_option_strings=(-h --help --plan --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --planned --as --root)
_shtab_lowlat_gen_run_option_strings=(-h --help --cpus --set --policy --one-per-thread --task-isolation --audit --mark-fd --after --limit --out --dry-run --systemd-drop-in --root)
_shtab_lowlat_gen_explain_option_strings=(-h --help --all --markdown)
_shtab_lowlat_gen_profile_option_strings=(-h --help --root)
_shtab_lowlat_gen_lint_option_strings=(-h --help --profile --root --kernel --openshift --all --json)
_shtab_lowlat_gen_render_option_strings=(-h --help --out --format --openshift --ovs-dpdk --shared --plan --root --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel)
_shtab_lowlat_gen_rehearse_option_strings=(-h --help --policy --load --work --throughput --causes --no-causes --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --tuned-profile --ablate --control --now --kernel --fetch-kernel --cpus --memory --duration --warmup --boots --jobs --out --resume)
_shtab_lowlat_gen_measure_option_strings=(-h --help --policy --load --work --throughput --causes --no-causes --label --out --cpus --duration --warmup --threshold --stop-on --on-gap --load-cpus --oslat --no-oslat --second-opinion --work-alone --work-mixed --wakeup --seed --events --campaign --json)
_shtab_lowlat_gen_report_option_strings=(-h --help --against --arm --pairs-by-name --campaign --verify --json --markdown --article --level --limit --require --html --csv --svg --open --plan)
_shtab_lowlat_gen_fleet_option_strings=(-h --help --all --json --as --out --rounds --seed --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --against --csv --html)
_shtab_lowlat_gen_apply_option_strings=(-h --help --root --dry-run --json --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --boot --runtime --accept-pending --now --previous)
_shtab_lowlat_gen_trial_option_strings=(-h --help --root --dry-run --json --kernel --kexec)
_shtab_lowlat_gen_promote_option_strings=(-h --help --root --dry-run --json --kernel --follow-kernels)
_shtab_lowlat_gen_rollback_option_strings=(-h --help --root --dry-run --json)
_shtab_lowlat_gen_doctor_option_strings=(-h --help --all --root --json)
_shtab_lowlat_gen_status_option_strings=(-h --help --root --json)
_shtab_lowlat_gen_boot_option_strings=(-h --help --default --root)
_shtab_lowlat_gen_runtime_option_strings=(-h --help --plan --profile --dry-run --root --json)
_shtab_lowlat_gen_tune_option_strings=(-h --help --root --dry-run --profile --isolate --housekeeping --housekeeping-cores --housekeeping-per --isolate-cores --keep-efficiency-cores --for-device --enable --disable --as-host --kernel --policy --load --work --throughput --causes --no-causes --boots --within --until-clear --discard --no-discard --duration --warmup --throughput-margin --reboot --kexec --article --accept-pending --status --resume --abort --ended --json)
_shtab_lowlat_gen_verify_option_strings=(-h --help --plan --duration --limit --strict --root --json)
_shtab_lowlat_gen_watch_option_strings=(-h --help --interval --restore --once --metrics --plan --root --json)
_shtab_lowlat_gen_top_option_strings=(-h --help --cpus --threshold --duration --once --lines --json)
_shtab_lowlat_gen_option_strings=(-h --help --version)

_shtab_lowlat_gen_probe___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_probe___svg_COMPGEN=_lowlat_file
_shtab_lowlat_gen_capture_pos_0_COMPGEN=_lowlat_file
_shtab_lowlat_gen_capture___runs_COMPGEN=_lowlat_file
_shtab_lowlat_gen_capture___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_plan___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_plan___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_plan___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_plan___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_plan___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_plan___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_plan___svg_COMPGEN=_lowlat_file
_shtab_lowlat_gen_cpus_pos_0_COMPGEN=_lowlat_sets
_shtab_lowlat_gen_cpus___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_cpus___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_cpus___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_cpus___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_cpus___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_cpus___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_cpus___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_run_pos_0_COMPGEN=_lowlat_file
_shtab_lowlat_gen_run___cpus_COMPGEN=_lowlat_auto
_shtab_lowlat_gen_run___policy_COMPGEN=_lowlat_run_policy
_shtab_lowlat_gen_run___limit_COMPGEN=_lowlat_limits
_shtab_lowlat_gen_run___out_COMPGEN=_lowlat_file
_shtab_lowlat_gen_run___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_explain_pos_0_COMPGEN=_lowlat_explained
_shtab_lowlat_gen_profile_pos_1_COMPGEN=_lowlat_file
_shtab_lowlat_gen_profile___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_lint_pos_0_COMPGEN=_lowlat_file
_shtab_lowlat_gen_lint___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_lint___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_lint___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_render___out_COMPGEN=_lowlat_dir
_shtab_lowlat_gen_render___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_render___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_render___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_render___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_render___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_render___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_render___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_rehearse___policy_COMPGEN=_lowlat_policies
_shtab_lowlat_gen_rehearse___load_COMPGEN=_lowlat_load
_shtab_lowlat_gen_rehearse___work_COMPGEN=_lowlat_works
_shtab_lowlat_gen_rehearse___throughput_COMPGEN=_lowlat_runs
_shtab_lowlat_gen_rehearse___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_rehearse___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_rehearse___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_rehearse___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_rehearse___tuned_profile_COMPGEN=_lowlat_tuned_profile
_shtab_lowlat_gen_rehearse___kernel_COMPGEN=_lowlat_file_or_kernel
_shtab_lowlat_gen_rehearse___out_COMPGEN=_lowlat_dir
_shtab_lowlat_gen_rehearse___resume_COMPGEN=_lowlat_dir
_shtab_lowlat_gen_measure_pos_0_COMPGEN=_lowlat_file
_shtab_lowlat_gen_measure___policy_COMPGEN=_lowlat_policies
_shtab_lowlat_gen_measure___load_COMPGEN=_lowlat_load
_shtab_lowlat_gen_measure___work_COMPGEN=_lowlat_works
_shtab_lowlat_gen_measure___throughput_COMPGEN=_lowlat_runs
_shtab_lowlat_gen_measure___out_COMPGEN=_lowlat_file
_shtab_lowlat_gen_measure___load_cpus_COMPGEN=_lowlat_load_cpus
_shtab_lowlat_gen_measure___second_opinion_COMPGEN=_lowlat_tools
_shtab_lowlat_gen_measure___wakeup_COMPGEN=_lowlat_wakeup
_shtab_lowlat_gen_measure___events_COMPGEN=_lowlat_file
_shtab_lowlat_gen_measure___campaign_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report_pos_0_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___against_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___arm_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___campaign_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___verify_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___html_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___csv_COMPGEN=_lowlat_file
_shtab_lowlat_gen_report___svg_COMPGEN=_lowlat_dir
_shtab_lowlat_gen_report___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_fleet_pos_1_COMPGEN=_lowlat_file
_shtab_lowlat_gen_fleet___out_COMPGEN=_lowlat_file
_shtab_lowlat_gen_fleet___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_fleet___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_fleet___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_fleet___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_fleet___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_fleet___against_COMPGEN=_lowlat_file
_shtab_lowlat_gen_fleet___csv_COMPGEN=_lowlat_file
_shtab_lowlat_gen_fleet___html_COMPGEN=_lowlat_file
_shtab_lowlat_gen_apply___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_apply___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_apply___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_apply___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_apply___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_apply___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_trial___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_trial___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_promote___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_promote___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_rollback___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_doctor_pos_0_COMPGEN=_lowlat_verb
_shtab_lowlat_gen_doctor___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_status___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_boot___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_runtime___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_runtime___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_runtime___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_tune___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_tune___profile_COMPGEN=_lowlat_profile
_shtab_lowlat_gen_tune___for_device_COMPGEN=_lowlat_device
_shtab_lowlat_gen_tune___enable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_tune___disable_COMPGEN=_lowlat_tunable
_shtab_lowlat_gen_tune___kernel_COMPGEN=_lowlat_kernel
_shtab_lowlat_gen_tune___policy_COMPGEN=_lowlat_policies
_shtab_lowlat_gen_tune___load_COMPGEN=_lowlat_load
_shtab_lowlat_gen_tune___work_COMPGEN=_lowlat_works
_shtab_lowlat_gen_tune___throughput_COMPGEN=_lowlat_runs
_shtab_lowlat_gen_verify___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_verify___root_COMPGEN=_lowlat_file
_shtab_lowlat_gen_watch___metrics_COMPGEN=_lowlat_file
_shtab_lowlat_gen_watch___plan_COMPGEN=_lowlat_file
_shtab_lowlat_gen_watch___root_COMPGEN=_lowlat_file

_shtab_lowlat_gen_plan___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_cpus___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_cpus___as_choices=(list docker dpdk libvirt systemd slurm kubelet)
_shtab_lowlat_gen_profile_pos_0_choices=(check)
_shtab_lowlat_gen_render___format_choices=(performance-profile kubelet ignition bootc)
_shtab_lowlat_gen_render___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_rehearse___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_fleet_pos_0_choices=(plan campaign report)
_shtab_lowlat_gen_fleet___as_choices=(slurm)
_shtab_lowlat_gen_fleet___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_apply___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_apply___boot_choices=(own tuned)
_shtab_lowlat_gen_apply___runtime_choices=(tuned none)
_shtab_lowlat_gen_boot_pos_0_choices=(grub kernel start health record upgrade)
_shtab_lowlat_gen_runtime_pos_0_choices=(start stop verify)
_shtab_lowlat_gen_tune___housekeeping_per_choices=(node package)
_shtab_lowlat_gen_pos_0_choices=(probe capture plan cpus run explain profile lint render rehearse measure report fleet apply trial promote rollback doctor status boot runtime tune verify watch top)

_shtab_lowlat_gen_probe__h_nargs=0
_shtab_lowlat_gen_probe___help_nargs=0
_shtab_lowlat_gen_probe___json_nargs=0
_shtab_lowlat_gen_capture__h_nargs=0
_shtab_lowlat_gen_capture___help_nargs=0
_shtab_lowlat_gen_capture___evidence_nargs=0
_shtab_lowlat_gen_capture___evidence_script_nargs=0
_shtab_lowlat_gen_capture___runs_nargs=+
_shtab_lowlat_gen_plan__h_nargs=0
_shtab_lowlat_gen_plan___help_nargs=0
_shtab_lowlat_gen_plan___json_nargs=0
_shtab_lowlat_gen_plan___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_plan___as_host_nargs=0
_shtab_lowlat_gen_plan___all_nargs=0
_shtab_lowlat_gen_plan___brief_nargs=0
_shtab_lowlat_gen_plan___diff_nargs=0
_shtab_lowlat_gen_plan___now_nargs=0
_shtab_lowlat_gen_cpus__h_nargs=0
_shtab_lowlat_gen_cpus___help_nargs=0
_shtab_lowlat_gen_cpus___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_cpus___as_host_nargs=0
_shtab_lowlat_gen_cpus___planned_nargs=0
_shtab_lowlat_gen_run_pos_0_nargs=...
_shtab_lowlat_gen_run__h_nargs=0
_shtab_lowlat_gen_run___help_nargs=0
_shtab_lowlat_gen_run___one_per_thread_nargs=0
_shtab_lowlat_gen_run___task_isolation_nargs=0
_shtab_lowlat_gen_run___audit_nargs=0
_shtab_lowlat_gen_run___dry_run_nargs=0
_shtab_lowlat_gen_run___systemd_drop_in_nargs=0
_shtab_lowlat_gen_explain_pos_0_nargs='*'
_shtab_lowlat_gen_explain__h_nargs=0
_shtab_lowlat_gen_explain___help_nargs=0
_shtab_lowlat_gen_explain___all_nargs=0
_shtab_lowlat_gen_explain___markdown_nargs=0
_shtab_lowlat_gen_profile__h_nargs=0
_shtab_lowlat_gen_profile___help_nargs=0
_shtab_lowlat_gen_lint_pos_0_nargs='*'
_shtab_lowlat_gen_lint__h_nargs=0
_shtab_lowlat_gen_lint___help_nargs=0
_shtab_lowlat_gen_lint___all_nargs=0
_shtab_lowlat_gen_lint___json_nargs=0
_shtab_lowlat_gen_render__h_nargs=0
_shtab_lowlat_gen_render___help_nargs=0
_shtab_lowlat_gen_render___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_render___as_host_nargs=0
_shtab_lowlat_gen_rehearse__h_nargs=0
_shtab_lowlat_gen_rehearse___help_nargs=0
_shtab_lowlat_gen_rehearse___throughput_nargs='?'
_shtab_lowlat_gen_rehearse___causes_nargs=0
_shtab_lowlat_gen_rehearse___no_causes_nargs=0
_shtab_lowlat_gen_rehearse___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_rehearse___as_host_nargs=0
_shtab_lowlat_gen_rehearse___ablate_nargs=0
_shtab_lowlat_gen_rehearse___control_nargs=0
_shtab_lowlat_gen_rehearse___now_nargs=0
_shtab_lowlat_gen_rehearse___fetch_kernel_nargs=0
_shtab_lowlat_gen_measure_pos_0_nargs=...
_shtab_lowlat_gen_measure__h_nargs=0
_shtab_lowlat_gen_measure___help_nargs=0
_shtab_lowlat_gen_measure___throughput_nargs='?'
_shtab_lowlat_gen_measure___causes_nargs=0
_shtab_lowlat_gen_measure___no_causes_nargs=0
_shtab_lowlat_gen_measure___oslat_nargs=0
_shtab_lowlat_gen_measure___no_oslat_nargs=0
_shtab_lowlat_gen_measure___work_alone_nargs=0
_shtab_lowlat_gen_measure___work_mixed_nargs=0
_shtab_lowlat_gen_measure___wakeup_nargs='?'
_shtab_lowlat_gen_measure___json_nargs=0
_shtab_lowlat_gen_report_pos_0_nargs='*'
_shtab_lowlat_gen_report__h_nargs=0
_shtab_lowlat_gen_report___help_nargs=0
_shtab_lowlat_gen_report___against_nargs=+
_shtab_lowlat_gen_report___arm_nargs=+
_shtab_lowlat_gen_report___pairs_by_name_nargs=0
_shtab_lowlat_gen_report___json_nargs=0
_shtab_lowlat_gen_report___markdown_nargs=0
_shtab_lowlat_gen_report___article_nargs=0
_shtab_lowlat_gen_report___open_nargs=0
_shtab_lowlat_gen_fleet_pos_1_nargs=+
_shtab_lowlat_gen_fleet__h_nargs=0
_shtab_lowlat_gen_fleet___help_nargs=0
_shtab_lowlat_gen_fleet___all_nargs=0
_shtab_lowlat_gen_fleet___json_nargs=0
_shtab_lowlat_gen_fleet___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_fleet___as_host_nargs=0
_shtab_lowlat_gen_fleet___against_nargs=+
_shtab_lowlat_gen_apply__h_nargs=0
_shtab_lowlat_gen_apply___help_nargs=0
_shtab_lowlat_gen_apply___dry_run_nargs=0
_shtab_lowlat_gen_apply___json_nargs=0
_shtab_lowlat_gen_apply___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_apply___as_host_nargs=0
_shtab_lowlat_gen_apply___accept_pending_nargs=0
_shtab_lowlat_gen_apply___now_nargs=0
_shtab_lowlat_gen_apply___previous_nargs=0
_shtab_lowlat_gen_trial__h_nargs=0
_shtab_lowlat_gen_trial___help_nargs=0
_shtab_lowlat_gen_trial___dry_run_nargs=0
_shtab_lowlat_gen_trial___json_nargs=0
_shtab_lowlat_gen_trial___kexec_nargs=0
_shtab_lowlat_gen_promote__h_nargs=0
_shtab_lowlat_gen_promote___help_nargs=0
_shtab_lowlat_gen_promote___dry_run_nargs=0
_shtab_lowlat_gen_promote___json_nargs=0
_shtab_lowlat_gen_promote___follow_kernels_nargs=0
_shtab_lowlat_gen_rollback__h_nargs=0
_shtab_lowlat_gen_rollback___help_nargs=0
_shtab_lowlat_gen_rollback___dry_run_nargs=0
_shtab_lowlat_gen_rollback___json_nargs=0
_shtab_lowlat_gen_doctor_pos_0_nargs='*'
_shtab_lowlat_gen_doctor__h_nargs=0
_shtab_lowlat_gen_doctor___help_nargs=0
_shtab_lowlat_gen_doctor___all_nargs=0
_shtab_lowlat_gen_doctor___json_nargs=0
_shtab_lowlat_gen_status__h_nargs=0
_shtab_lowlat_gen_status___help_nargs=0
_shtab_lowlat_gen_status___json_nargs=0
_shtab_lowlat_gen_boot__h_nargs=0
_shtab_lowlat_gen_boot___help_nargs=0
_shtab_lowlat_gen_runtime__h_nargs=0
_shtab_lowlat_gen_runtime___help_nargs=0
_shtab_lowlat_gen_runtime___dry_run_nargs=0
_shtab_lowlat_gen_runtime___json_nargs=0
_shtab_lowlat_gen_tune__h_nargs=0
_shtab_lowlat_gen_tune___help_nargs=0
_shtab_lowlat_gen_tune___dry_run_nargs=0
_shtab_lowlat_gen_tune___keep_efficiency_cores_nargs=0
_shtab_lowlat_gen_tune___as_host_nargs=0
_shtab_lowlat_gen_tune___throughput_nargs='?'
_shtab_lowlat_gen_tune___causes_nargs=0
_shtab_lowlat_gen_tune___no_causes_nargs=0
_shtab_lowlat_gen_tune___within_nargs='?'
_shtab_lowlat_gen_tune___until_clear_nargs=0
_shtab_lowlat_gen_tune___discard_nargs=0
_shtab_lowlat_gen_tune___no_discard_nargs=0
_shtab_lowlat_gen_tune___reboot_nargs=0
_shtab_lowlat_gen_tune___kexec_nargs=0
_shtab_lowlat_gen_tune___article_nargs=0
_shtab_lowlat_gen_tune___accept_pending_nargs=0
_shtab_lowlat_gen_tune___status_nargs=0
_shtab_lowlat_gen_tune___resume_nargs=0
_shtab_lowlat_gen_tune___abort_nargs=0
_shtab_lowlat_gen_tune___ended_nargs=0
_shtab_lowlat_gen_tune___json_nargs=0
_shtab_lowlat_gen_verify__h_nargs=0
_shtab_lowlat_gen_verify___help_nargs=0
_shtab_lowlat_gen_verify___strict_nargs=0
_shtab_lowlat_gen_verify___json_nargs=0
_shtab_lowlat_gen_watch__h_nargs=0
_shtab_lowlat_gen_watch___help_nargs=0
_shtab_lowlat_gen_watch___restore_nargs=0
_shtab_lowlat_gen_watch___once_nargs=0
_shtab_lowlat_gen_watch___json_nargs=0
_shtab_lowlat_gen_top__h_nargs=0
_shtab_lowlat_gen_top___help_nargs=0
_shtab_lowlat_gen_top___once_nargs=0
_shtab_lowlat_gen_top___json_nargs=0
_shtab_lowlat_gen_pos_0_nargs=A...
_shtab_lowlat_gen__h_nargs=0
_shtab_lowlat_gen___help_nargs=0
_shtab_lowlat_gen___version_nargs=0


# Custom Preamble
_lowlat_file() {
  compgen -f -- "$1"
}
_lowlat_profile() {
  compgen -W "$(printf '%s\n' lowlat lowlat-audio lowlat-bench lowlat-desktop lowlat-hpc lowlat-kvm-guest lowlat-kvm-host lowlat-nfv lowlat-poll lowlat-rt; find /etc/lowlat/profiles/ -maxdepth 2 -name lowlat.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::')" -- "$1"
}
_lowlat_device() {
  compgen -W "$(find /sys/class/net/ /sys/class/nvme/ -mindepth 1 -maxdepth 1 -type l -not -lname '*/virtual/*' -printf '%f\n' 2>/dev/null)" -- "$1"
}
_lowlat_tunable() {
  compgen -W "$(printf '%s\n' cpuset.cpus cpuset.partition cpuset.sets isolcpus nohz_full rcu_nocbs irqaffinity nosmt rcupdate.rcu_normal_after_boot rcu_nocb_poll rcutree.enable_rcu_lazy rcutree.nohz_full_patience_delay rcutree.kthread_prio skew_tick kernel.timer_migration tsc clocksource preempt threadirqs systemd.cpu_affinity psi fair_server fair_server.period kernel.sched_rt_runtime_us kthread.affinity kthread.priority irqbalance.banned_cpus irq.smp_affinity irq.default_smp_affinity irq.thread_priority irq.sound_priority workqueue.unbound_cpus workqueue.power_efficient workqueue.cpumask workqueue.writeback.cpumask kernel.watchdog_cpumask nowatchdog nosoftlockup kernel.nmi_watchdog mce machinecheck.check_interval split_lock_detect kernel.split_lock_mitigate vm.stat_interval vm.compaction_proactiveness kernel.numa_balancing hugepages resctrl.housekeeping transparent_hugepage.enabled transparent_hugepage transparent_hugepage.defrag khugepaged.defrag ksm.run idle nohlt cpuidle.off intel_idle.max_cstate processor.max_cstate pm_qos_resume_latency_us cpufreq.default_governor scaling_governor energy_performance_preference uncore.min_freq turbo pcie_aspm.policy iommu.passthrough intel_iommu net.rps_cpus net.xps_cpus net.threaded net.napi net.core.busy_poll net.core.busy_read nopvspin cpuidle_haltpoll.force kvm.kvmclock_periodic_sync kvm_intel.ple_gap kvm.nx_huge_pages_recovery_ratio kvm_amd.pause_filter_count kvm_amd.avic)" -- "$1"
}
_lowlat_kernel() {
  compgen -W "$(find /lib/modules/ -mindepth 1 -maxdepth 1  -printf '%f\n' 2>/dev/null)" -- "$1"
}
_lowlat_sets() {
  compgen -W "$(printf '%s\n' isolated housekeeping)" -- "$1"
}
_lowlat_auto() {
  compgen -W "$(printf '%s\n' auto)" -- "$1"
}
_lowlat_run_policy() {
  compgen -W "$(printf '%s\n' other fifo:1)" -- "$1"
}
_lowlat_limits() {
  compgen -W "$(printf '%s\n' page-faults=0 entries=0 calls=0 minor-faults=0 major-faults=0 switches=0 futex-waits=0 signals=0 migrations=0 ipis=0)" -- "$1"
}
_lowlat_explained() {
  compgen -W "$(printf '%s\n' cpuset.cpus cpuset.partition cpuset.sets isolcpus nohz_full rcu_nocbs irqaffinity nosmt rcupdate.rcu_normal_after_boot rcu_nocb_poll rcutree.enable_rcu_lazy rcutree.nohz_full_patience_delay rcutree.kthread_prio skew_tick kernel.timer_migration tsc clocksource preempt threadirqs systemd.cpu_affinity psi fair_server fair_server.period kernel.sched_rt_runtime_us kthread.affinity kthread.priority irqbalance.banned_cpus irq.smp_affinity irq.default_smp_affinity irq.thread_priority irq.sound_priority workqueue.unbound_cpus workqueue.power_efficient workqueue.cpumask workqueue.writeback.cpumask kernel.watchdog_cpumask nowatchdog nosoftlockup kernel.nmi_watchdog mce machinecheck.check_interval split_lock_detect kernel.split_lock_mitigate vm.stat_interval vm.compaction_proactiveness kernel.numa_balancing hugepages resctrl.housekeeping transparent_hugepage.enabled transparent_hugepage transparent_hugepage.defrag khugepaged.defrag ksm.run idle nohlt cpuidle.off intel_idle.max_cstate processor.max_cstate pm_qos_resume_latency_us cpufreq.default_governor scaling_governor energy_performance_preference uncore.min_freq turbo pcie_aspm.policy iommu.passthrough intel_iommu net.rps_cpus net.xps_cpus net.threaded net.napi net.core.busy_poll net.core.busy_read nopvspin cpuidle_haltpoll.force kvm.kvmclock_periodic_sync kvm_intel.ple_gap kvm.nx_huge_pages_recovery_ratio kvm_amd.pause_filter_count kvm_amd.avic; printf '%s\n' ansible fleet playbook galaxy awx rollout puppet salt chef canary soak cloud cloud-init image golden-image automation exit-code exit-status audio jack jackd jack2 pipewire pulseaudio alsa sound daw usb-audio midi music musician ardour crackle crackling xrun dropout underrun glitch boot grub reboot bootloader boot-loader systemd-boot loader entry remove uninstall secureboot secure-boot kexec ubuntu debian fedora rhel uki ostree bootc flatcar coreos initramfs dracut lockdown install hook hooks file files upgrade update centos rocky almalinux suse opensuse microos arch gentoo nixos guix alpine c-states cstate idle-states sleep cpuidle wake-up p-states frequency governor power energy battery laptop containers docker podman kubernetes k8s kubelet reservedsystemcpus cpu-manager cpumanager container pod lxc lxd nomad dpdk vpp ovs openvswitch eal lcore lcores pmd vfio nfv telecom sriov sr-iov 5g ran vran games game gaming workstation fps stutter steam hardware bios uefi firmware smi smm hybrid e-core p-core ecore pcore efficiency-cores big-little ccd amd intel epyc xeon ryzen threadripper health health-check watchdog hang panic heat watt temperature thermal throttling hot fan degrees cooling irq irqs interrupt interrupts irqbalance smp_affinity usb msi vector vectors softirq softirqs ksoftirqd ipi ipis libvirt kvm qemu virsh vcpu vcpupin virtual-machine vm proxmox openstack guest host measuring measure noise jitter oslat cyclictest osnoise timerlat rtla stress-ng benchmark hwlat throughput latency proof prove statistics significance histogram percentile outlier tail spike spikes p99 compare before after stress load metrics prometheus grafana node-exporter exporter textfile alert alerts alertmanager monitoring dashboard nic network ethernet ethtool rss xdp af_xdp onload solarflare mellanox ptp openshift performanceprofile performance-profile performance-profile-creator ppc must-gather mustgather nto rhcos ocp raspberry-pi raspberry raspberrypi pi rpi rpi4 rpi5 raspbian arm arm64 jetson gpio i2s hat risk security cost risks costs safe safety mitigations price danger spectre meltdown robots robot ros ros2 linuxcnc ethercat control plc cnc codesys real-time preempt_rt fifo rr priority deadline service systemd unit daemon redis postgres postgresql database nginx kafka server mysql mariadb java jvm slurm hpc mpi openmp openmpi cluster pbs lsf batch slurmd sbatch srun drain smt hyper-threading ht hyperthread sibling siblings noht taskset pin pinning affinity numa numactl chrt sched_setaffinity cgroup cpu core cores tick timer hz jiffies dynticks tickless dyntick trading hft low-latency feed matching-engine aeron spin busy-poll finance spinning polling busy-polling exchange tuned tuned-adm tuned-profiles cpu-partitioning realtime-virtual-host ppd tuned-ppd power-profiles-daemon tlp auto-cpufreq undo revert recover recovery rescue unbootable brick crash does-not-boot fallback chroot kill boot-counting fwupd-refresh.timer fwupd dsm_sa_datamgrd dcdbas openmanage edac patrol-scrub microcode i915 turbostat pcm pcm-sensor-server intel_powerstat telegraf netdata stalld rngd google_set_multiqueue google-guest-agent timestamps realtime-entsk thermald powerclamp kidle_inject numad; printf '%s\n' lowlat lowlat-audio lowlat-bench lowlat-desktop lowlat-hpc lowlat-kvm-guest lowlat-kvm-host lowlat-nfv lowlat-poll lowlat-rt; find /etc/lowlat/profiles/ -maxdepth 2 -name lowlat.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::')" -- "$1"
}
_lowlat_dir() {
  compgen -d -- "$1"
}
_lowlat_policies() {
  compgen -P "${1%"${1##*,}"}" -W "$(printf '%s\n' other fifo:1 deadline:5ms/10ms)" -- "${1##*,}"
}
_lowlat_load() {
  compgen -W "$(printf '%s\n' idle faults vm memory oom major-faults cpu timers paced ipi files network mixed)" -- "$1"
}
_lowlat_works() {
  compgen -P "${1%"${1##*,}"}" -W "$(printf '%s\n' all usleep clock_nanosleep memory registers kill clock_gettime)" -- "${1##*,}"
}
_lowlat_runs() {
  compgen -W "$(printf '%s\n' 10 10x5m)" -- "$1"
}
_lowlat_tuned_profile() {
  compgen -W "$(find /usr/lib/tuned/ /usr/lib/tuned/profiles/ /etc/tuned/ /etc/tuned/profiles/ -maxdepth 2 -name tuned.conf -printf '%h\n' 2>/dev/null | sed 's:.*/::')" -- "$1"
}
_lowlat_file_or_kernel() {
  compgen -W "$(find /lib/modules/ ~/.cache/lowlat/kernels/ -mindepth 1 -maxdepth 1  -printf '%f\n' 2>/dev/null)" -- "$1"
  compgen -f -- "$1"
}
_lowlat_load_cpus() {
  compgen -W "$(printf '%s\n' all siblings)" -- "$1"
}
_lowlat_tools() {
  compgen -P "${1%"${1##*,}"}" -W "$(printf '%s\n' all oslat cyclictest osnoise timerlat)" -- "${1##*,}"
}
_lowlat_wakeup() {
  compgen -W "$(printf '%s\n' none)" -- "$1"
}
_lowlat_verb() {
  compgen -W "$(printf '%s\n' probe capture plan cpus run explain profile lint render rehearse measure report fleet apply trial promote rollback doctor status boot runtime tune verify watch top)" -- "$1"
}
# End Custom Preamble

# $1=COMP_WORDS[1]
_shtab_compgen_files() {
  compgen -f -- $1  # files
}

# $1=COMP_WORDS[1]
_shtab_compgen_dirs() {
  compgen -d -- $1  # recurse into subdirs
}

# $1=COMP_WORDS[1]
_shtab_replace_nonword() {
  echo "${1//[^[:word:]]/_}"
}

# set default values (called for the initial parser & any subparsers)
_lowlat_set_parser_defaults() {
  local subparsers_var="${prefix}_subparsers[@]"
  sub_parsers=${!subparsers_var-}

  local current_option_strings_var="${prefix}_option_strings[@]"
  current_option_strings=${!current_option_strings_var}

  completed_positional_actions=0

  _lowlat_set_new_action "pos_$completed_positional_actions" true
}

# $1=action identifier
# $2=positional action (bool)
# set all identifiers for an action's parameters
_lowlat_set_new_action() {
  current_action="${prefix}_$(_shtab_replace_nonword $1)"

  local current_action_compgen_var=${current_action}_COMPGEN
  current_action_compgen="${!current_action_compgen_var-}"

  local current_action_choices_var="${current_action}_choices[@]"
  current_action_choices="${!current_action_choices_var-}"

  local current_action_nargs_var="${current_action}_nargs"
  if [ -n "${!current_action_nargs_var-}" ]; then
    current_action_nargs="${!current_action_nargs_var}"
  else
    current_action_nargs=1
  fi

  current_action_args_start_index=$(( $word_index + 1 - $pos_only ))

  current_action_is_positional=$2
}

# Notes:
# `COMPREPLY`: what will be rendered after completion is triggered
# `completing_word`: currently typed word to generate completions for
# `${!var}`: evaluates the content of `var` and expand its content as a variable
#     hello="world"
#     x="hello"
#     ${!x} -> ${hello} -> "world"
_shtab_lowlat_gen() {
  local completing_word="${COMP_WORDS[COMP_CWORD]#=}"
  local previous_word="${COMP_WORDS[COMP_CWORD-1]}"
  local completed_positional_actions
  local current_action
  local current_action_args_start_index
  local current_action_choices
  local current_action_compgen
  local current_action_is_positional
  local current_action_nargs
  local current_option_strings
  local sub_parsers
  COMPREPLY=()

  local prefix=_shtab_lowlat_gen
  local word_index=0
  local pos_only=0 # "--" delimiter not encountered yet
  _lowlat_set_parser_defaults
  word_index=1

  # determine what arguments are appropriate for the current state
  # of the arg parser
  while [ $word_index -ne $COMP_CWORD ]; do
    local this_word="${COMP_WORDS[$word_index]}"
    [[ $this_word == = ]] && let ++word_index && continue

    if [[ $pos_only = 1 || " $this_word " != " -- " ]]; then
      if [[ -n $sub_parsers && " ${sub_parsers[@]} " == *" $this_word "* ]]; then
        # valid subcommand: add it to the prefix & reset the current action
        prefix="${prefix}_$(_shtab_replace_nonword $this_word)"
        _lowlat_set_parser_defaults
      fi

      if [[ " ${current_option_strings[@]} " == *" $this_word "* ]]; then
        # a new action should be acquired (due to recognised option string or
        # no more input expected from current action);
        # the next positional action can fill in here
        _lowlat_set_new_action $this_word false
      fi

      if [[ "$current_action_nargs" != "*" ]] && \
         [[ "$current_action_nargs" != "+" ]] && \
         [[ "$current_action_nargs" != "?" ]] && \
         [[ "$current_action_nargs" != *"..." ]] && \
         (( $word_index + 1 - $current_action_args_start_index - $pos_only >= \
            $current_action_nargs )); then
        $current_action_is_positional && let "completed_positional_actions += 1"
        _lowlat_set_new_action "pos_$completed_positional_actions" true
      fi
    else
      pos_only=1 # "--" delimiter encountered
    fi

    let "word_index+=1"
  done

  # Generate the completions

  COMPREPLY=()
  if [[ $pos_only = 0 && "$completing_word" == -* &&
        ( -z "$current_action_compgen" || "$current_action_is_positional" = true || "$current_action_nargs" = "?" ) ]]; then
    # optional argument started: use option strings
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_option_strings[*]}" -- "$completing_word")
  elif [[ "$previous_word" =~ ^[0-9\&]*[\<\>]\>?$ ]]; then
    # handle redirection operators
    compopt -o filenames 2>/dev/null || : # bash>=4
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$completing_word")
  else
    # use choices & compgen
    local action_compgen_word="$completing_word"
    # handle tab-completing in the middle of a line (#248 <- #116)
    [[ -n "$current_action_compgen" && "$completing_word" == -* ]] && action_compgen_word=""
    [ -n "$current_action_compgen" ] && {
      [[ "$current_action_compgen" =~ _(file|dir|glob|FILE|DIR|GLOB)|File|Dir|Glob ]] &&
        compopt -o filenames 2>/dev/null || : # bash>=4
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        "$current_action_compgen" "$action_compgen_word")
    }
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_action_choices[*]}" -- "$completing_word")
  fi

  if [[ ${#COMPREPLY[@]} = 0 ]]; then
    # native fallback matches are not necessarily filenames (e.g. variables)
    compopt +o filenames 2>/dev/null || : # bash>=4
  fi

  return 0
}

complete -o bashdefault -F _shtab_lowlat_gen lowlat-gen
