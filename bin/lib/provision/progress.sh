# shellcheck shell=bash
# Sourced after steps.sh: the steps of each host, several hosts at a time, and what is shown of it. On a terminal each
# host has a line that changes, elsewhere each step is a line.

: "${fb_root:?}" "${host_name=}" "${host_folder=}" "${fb_inventory=}"
# bin/provision's: a folder that is removed at its end, and the hosts as they were written and as they are called.
: "${fb_work=}" "${fb_words=}" "${fb_names=}"

fb_jobs_at_once=16

# fb_progress STEP [WORDS]: what the host at hand is at.
fb_progress() {
  echo "$*" >"$host_folder/now"
  [[ -t 2 ]] || fb_note "$host_name: $*"
}

# fb_last_words LOG: the end of what was said, without what is of no use.
fb_last_words() {
  local why
  why=$(fb_explain_ssh "$1")
  if [[ -n $why ]]; then
    echo "$why"
  else
    grep -v '^[[:space:]]*$' "$1" | tail -n 8
  fi
}

# fb_failed STEP: the result of a host that stops here.
fb_failed() {
  {
    echo "$host_name: FAILED at $1"
    fb_last_words "$host_folder/log" | sed 's/^/    /'
  } >"$host_folder/result"
  echo "failed at $1" >"$host_folder/now"
}

# fb_result: the line of a host that all steps were done to.
fb_result() {
  local told='' line
  # `coordinator agents` begins with the name, as we do, and an address.
  if [[ -s $host_folder/agent ]]; then
    line=$(tail -n 1 -- "$host_folder/agent")
    told="; ${line#"$host_name"*: }"
  fi
  if [[ -s $host_folder/changes ]]; then
    echo "$host_name: changed ($(paste -sd, "$host_folder/changes" | sed 's/,/, /g'))$told"
  else
    echo "$host_name: unchanged$told"
  fi >"$host_folder/result"
}

# fb_host WORD FOLDER STEP...: all steps, one after the other, until one fails.
fb_host() {
  local step said rest
  host_folder=$2 # not local: the trap needs it, and the host has a subshell of its own
  fb_take_host "$1" "$fb_inventory" || return 1
  fb_take_settings "$fb_inventory"
  shift 2
  trap fb_hang_up EXIT
  : >"$host_folder/changes"
  for step in "$@"; do
    fb_progress "$step"
    : >"$host_folder/log"
    if ! "fb_step_$step" >"$host_folder/said" 2>"$host_folder/log"; then
      fb_failed "$step"
      return 1
    fi
    read -r said rest <"$host_folder/said" || said=unchanged
    [[ $said != changed ]] || echo "$step${rest:+ $rest}" >>"$host_folder/changes"
  done
  fb_result
  echo 'done' >"$host_folder/now"
}

# fb_draw NAME...: a line for each host, over those drawn before.
fb_draw() {
  local i
  [[ $fb_drawn == 0 ]] || printf '\033[%dA' "$fb_drawn" >&2
  for ((i = 0; i < $#; ++i)); do
    printf '\r\033[K%-24s %.50s\n' "${*:i + 1:1}" "$(cat -- "$fb_work/$i/now" 2>/dev/null)" >&2
  done
  fb_drawn=$#
}

# fb_watch PID...: until all these are done; draws where there is room for it.
fb_watch() {
  local pid alive=1 rows
  fb_drawn=0
  rows=$(tput lines 2>/dev/null) || rows=24
  while ((alive > 0)); do
    alive=0
    for pid in "$@"; do
      ! kill -0 "$pid" 2>/dev/null || alive=$((alive + 1))
    done
    [[ ! -t 2 ]] || ((${#fb_names[@]} >= rows)) || fb_draw "${fb_names[@]}"
    ((alive == 0)) || sleep 0.2
  done
}

# fb_turn SLOTS-FIFO COMMAND...: runs it when a slot is free.
fb_turn() {
  local slots=$1 status=0 slot
  shift
  read -r -N 1 slot <&"$slots"
  "$@" || status=$?
  printf '%s' "$slot" >&"$slots"
  return "$status"
}

# fb_all_hosts STEP...: the steps for every host of fb_words, whose names are in fb_names; prints a result for each, in
# that order; fails if one failed.
fb_all_hosts() {
  local i slots failed=0 pids=()
  mkfifo "$fb_work/slots"
  exec {slots}<>"$fb_work/slots"
  printf '%*s' "$fb_jobs_at_once" '' >&"$slots"
  for ((i = 0; i < ${#fb_words[@]}; ++i)); do
    mkdir "$fb_work/$i"
    echo waiting >"$fb_work/$i/now"
    fb_turn "$slots" fb_host "${fb_words[i]}" "$fb_work/$i" "$@" </dev/null &
    pids+=("$!")
  done
  fb_watch "${pids[@]}"
  for ((i = 0; i < ${#fb_words[@]}; ++i)); do
    wait "${pids[i]}" || failed=$((failed + 1))
    cat -- "$fb_work/$i/result" 2>/dev/null || echo "${fb_names[i]}: FAILED"
  done
  ((failed == 0)) || fb_note "${0##*/}: $failed of ${#fb_words[@]} hosts failed"
  ((failed == 0))
}
