# shellcheck shell=bash
# Sourced after common.sh: how a host is named on the command line, and the inventory, a text file with a host a line:
# NAME ADDRESS[:PORT] [key=value ...]. coordinator/fleet/inventory.h has the same format.

export fb_agent_port=7311

# fb_inventory_default: the file that is used when none is named.
fb_inventory_default() {
  local own=${XDG_CONFIG_HOME:-$HOME/.config}/fetchbench/inventory
  if [[ -e ${fb_root:?}/deploy/inventory || ! -e $own ]]; then
    echo "$fb_root/deploy/inventory"
  else
    echo "$own"
  fi
}

# fb_parse_ssh WORD: [user@]host[:port], an IPv6 address in brackets; into ssh_user, ssh_host, ssh_port.
fb_parse_ssh() {
  local word=$1
  ssh_user='' ssh_port=''
  if [[ $word == *@* ]]; then
    ssh_user=${word%%@*}
    word=${word#*@}
    [[ $ssh_user =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || return 1
  fi
  if [[ $word =~ ^\[([0-9A-Fa-f:.]+)\](:([0-9]+))?$ ]]; then
    ssh_host=${BASH_REMATCH[1]} ssh_port=${BASH_REMATCH[3]}
  elif [[ $word =~ ^([A-Za-z0-9][A-Za-z0-9.-]*)(:([0-9]+))?$ ]]; then
    ssh_host=${BASH_REMATCH[1]} ssh_port=${BASH_REMATCH[3]}
  else
    return 1
  fi
  [[ -z $ssh_port ]] || ((10#$ssh_port >= 1 && 10#$ssh_port <= 65535))
}

# fb_ssh_word: what fb_parse_ssh took apart, as one word.
fb_ssh_word() {
  local host=$ssh_host
  [[ $host != *:* ]] || host="[$host]"
  echo "${ssh_user:+$ssh_user@}$host${ssh_port:+:$ssh_port}"
}

# fb_inventory_line FILE NAME: the line of that host; fails if there is none. (awk compares what looks like numbers as
# numbers, unless one is made a text: 10 would be 1e1 and 010.)
fb_inventory_line() {
  NAME=$2 awk '$1 "" == ENVIRON["NAME"] { print; found = 1; exit } END { exit !found }' "$1" 2>/dev/null
}

# fb_inventory_names FILE: of the hosts that can be reached by SSH.
fb_inventory_names() {
  awk '{ sub(/#.*/, ""); for (i = 3; i <= NF; ++i) if ($i ~ /^ssh=/) { print $1; break } }' "$1" 2>/dev/null || true
}

# fb_line_value LINE KEY: the value of a key of an inventory line; empty if it has none.
fb_line_value() {
  local word words
  # A file may have come from a system that ends its lines otherwise.
  read -ra words <<<"${1//$'\r'/ }"
  for word in "${words[@]}"; do
    [[ $word != \#* ]] || return 0
    [[ $word != "$2="* ]] || { echo "${word#*=}"; return 0; }
  done
}

# fb_inventory_set FILE NAME [LINE]: the host's line is LINE afterwards, or gone; says whether that is a change. Other
# lines and comments stay as they are. Callers take turns.
fb_inventory_set() {
  local file=$1 name=$2 line=${3:-} lock old part
  mkdir -p -- "$(dirname -- "$file")" || return 1
  exec {lock}>>"$file.lock" || return 1
  flock "$lock"
  old=$(fb_inventory_line "$file" "$name") || old=''
  if [[ $old == "$line" ]]; then
    echo unchanged
  else
    part=$(mktemp -- "$file.XXXXXX") || return 1
    [[ ! -e $file ]] || cp -p -- "$file" "$part"
    # The environment, because -v takes backslashes for escapes.
    { [[ ! -e $file ]] || cat -- "$file"; } | NAME=$name LINE=$line awk '
      $1 "" != ENVIRON["NAME"] { print; next }
      ENVIRON["LINE"] != "" && !done { print ENVIRON["LINE"]; done = 1 }
      END { if (ENVIRON["LINE"] != "" && !done) print ENVIRON["LINE"] }' >"$part" || return 1
    mv -- "$part" "$file" || return 1
    echo changed
  fi
  exec {lock}>&-
}

# fb_host_name SSH-HOST: the name that a host gets when it is given none.
fb_host_name() { tr '[:upper:]' '[:lower:]' <<<"$1"; }

# fb_take_host WORD INVENTORY: understands a host of the command line: the name of one in the inventory,
# or [NAME=]user@host[:port]. Into host_name and ssh_*; says on stderr what is wrong.
fb_take_host() {
  local word=$1 line
  host_name=''
  if line=$(fb_inventory_line "$2" "$word"); then
    host_name=$word
    word=$(fb_line_value "$line" ssh)
    [[ -n $word ]] || { fb_note "$2: host $1 has no ssh=user@host"; return 1; }
  elif [[ $word == *=* ]]; then
    host_name=${word%%=*}
    word=${word#*=}
  fi
  fb_parse_ssh "$word" || { fb_note "'$1' is neither a host of $2 nor [NAME=]user@host[:port]"; return 1; }
  [[ -n $host_name ]] || host_name=$(fb_host_name "$ssh_host")
  [[ $host_name =~ ^[A-Za-z0-9]([A-Za-z0-9._:-]{0,61}[A-Za-z0-9])?$ ]] ||
    { fb_note "'$host_name' is no name of a host: letters, digits, '-', '.' and '_', 63 at most"; return 1; }
}

# fb_take_settings INVENTORY: how the host at hand was provisioned before, unless fb_port or fb_docker_wanted say otherwise;
# into host_port and host_docker (yes, no). Else a call for all hosts would give Docker, and so root, to one without.
fb_take_settings() {
  local line address
  line=$(fb_inventory_line "$1" "$host_name") || line=''
  read -r _ address _ <<<"$line" || true
  host_port=${fb_port:-}
  [[ -n $host_port || ! $address =~ :([0-9]+)$ ]] || host_port=${BASH_REMATCH[1]}
  host_port=${host_port:-$fb_agent_port}
  host_docker=${fb_docker_wanted:-$(fb_line_value "$line" docker)}
  host_docker=${host_docker:-yes}
}
