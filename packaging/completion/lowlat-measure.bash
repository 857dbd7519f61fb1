# SPDX-License-Identifier: GPL-2.0-or-later AND MPL-2.0
# Produced by packaging/produce-cli from the options of the program.
# Its frame is shtab's, (c) 2020-2026 Casper da Costa-Luis.



_shtab_lowlat_measure_option_strings=(--cpus --duration --warmup --threshold --stop-on --on-gap --policy --load --load-cpus --group --oslat --no-oslat --second-opinion --work --work-alone --work-mixed --wakeup --throughput --emulated --label --seed --json --events --capture --observer --follow --phases --check --tools --help --version)

_shtab_lowlat_measure___policy_COMPGEN=_lowlat_policy
_shtab_lowlat_measure___load_COMPGEN=_lowlat_load
_shtab_lowlat_measure___load_cpus_COMPGEN=_lowlat_all
_shtab_lowlat_measure___group_COMPGEN=_lowlat_dir
_shtab_lowlat_measure___second_opinion_COMPGEN=_lowlat_tools
_shtab_lowlat_measure___work_COMPGEN=_lowlat_works
_shtab_lowlat_measure___throughput_COMPGEN=_lowlat_runs
_shtab_lowlat_measure___json_COMPGEN=_lowlat_file
_shtab_lowlat_measure___events_COMPGEN=_lowlat_file
_shtab_lowlat_measure___capture_COMPGEN=_lowlat_dir
_shtab_lowlat_measure___observer_COMPGEN=_lowlat_observer



_shtab_lowlat_measure___oslat_nargs=0
_shtab_lowlat_measure___no_oslat_nargs=0
_shtab_lowlat_measure___work_alone_nargs=0
_shtab_lowlat_measure___work_mixed_nargs=0
_shtab_lowlat_measure___wakeup_nargs='?'
_shtab_lowlat_measure___throughput_nargs='?'
_shtab_lowlat_measure___emulated_nargs=0
_shtab_lowlat_measure___json_nargs='?'
_shtab_lowlat_measure___follow_nargs=0
_shtab_lowlat_measure___check_nargs=0
_shtab_lowlat_measure___tools_nargs=0
_shtab_lowlat_measure___help_nargs=0
_shtab_lowlat_measure___version_nargs=0


# Custom Preamble
_lowlat_policy() {
  compgen -W "$(printf '%s\n' other fifo:1 deadline:5ms/10ms)" -- "$1"
}
_lowlat_load() {
  compgen -W "$(printf '%s\n' idle faults vm memory oom major-faults cpu timers paced ipi files network mixed)" -- "$1"
}
_lowlat_all() {
  compgen -W "$(printf '%s\n' all)" -- "$1"
}
_lowlat_dir() {
  compgen -d -- "$1"
}
_lowlat_tools() {
  compgen -P "${1%"${1##*,}"}" -W "$(printf '%s\n' all oslat cyclictest osnoise timerlat)" -- "${1##*,}"
}
_lowlat_works() {
  compgen -P "${1%"${1##*,}"}" -W "$(printf '%s\n' all usleep clock_nanosleep memory registers kill clock_gettime)" -- "${1##*,}"
}
_lowlat_runs() {
  compgen -W "$(printf '%s\n' 10 10x5m)" -- "$1"
}
_lowlat_file() {
  compgen -f -- "$1"
}
_lowlat_observer() {
  compgen -W "$(printf '%s\n' auto trace switches)" -- "$1"
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
_shtab_lowlat_measure() {
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

  local prefix=_shtab_lowlat_measure
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

complete -o bashdefault -F _shtab_lowlat_measure lowlat-measure
