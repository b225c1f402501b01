# shellcheck shell=bash
# Sourced after common.sh and hosts.sh: commands on a host over SSH. One connection a host (ControlMaster) carries all.
# The host at hand is in host_name, ssh_user, ssh_host, ssh_port; its folder of this call is host_folder.
: "${host_name=}" "${host_folder=}" "${ssh_user=}" "${ssh_host=}" "${ssh_port=}"

fb_known_hosts=''
fb_identity=''
fb_on_host=${fb_root:?}/bin/lib/provision/on_host

# fb_quote WORD...: as one line that any POSIX shell takes apart into the same words.
fb_quote() {
  local word line=''
  for word in "$@"; do
    line+=" '${word//\'/\'\\\'\'}'"
  done
  echo "${line# }"
}

# fb_ssh_options: into the array ssh_options. A host's key is always checked, never asked for.
fb_ssh_options() {
  ssh_options=(-o StrictHostKeyChecking=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4)
  [[ -z $fb_known_hosts ]] || ssh_options+=(-o "UserKnownHostsFile=$fb_known_hosts")
  [[ -z $fb_identity ]] || ssh_options+=(-i "$fb_identity" -o IdentitiesOnly=yes)
  [[ -z $ssh_port ]] || ssh_options+=(-p "$ssh_port")
  [[ -z $ssh_user ]] || ssh_options+=(-l "$ssh_user")
}

# fb_ssh COMMAND: runs a command line on the host; standard input goes there.
fb_ssh() {
  local ssh_options
  fb_ssh_options
  # The control connection outlives this command, and must not hold what the caller waits for.
  ssh "${ssh_options[@]}" -T -o BatchMode=yes -o LogLevel=ERROR -o ControlMaster=auto -o ControlPersist=120 \
    -o "ControlPath=$host_folder/ssh" -- "$ssh_host" "$1"
}

# fb_hang_up: ends the connection.
fb_hang_up() {
  [[ ! -S $host_folder/ssh ]] ||
    ssh -o "ControlPath=$host_folder/ssh" -O exit -- "$ssh_host" </dev/null >/dev/null 2>&1 || true
}

# fb_as_user SCRIPT ARGUMENT...: runs a script of on_host/ there as the user that logs in; its standard input is ours.
fb_as_user() {
  local script
  script=$(<"$fb_on_host/$1.sh") || return 1
  shift
  fb_ssh "$(fb_quote bash -c "$script" provision "$@")"
}

# fb_as_root SCRIPT ARGUMENT...: the same as root.
fb_as_root() {
  local script sudo=()
  script=$(<"$fb_on_host/$1.sh") || return 1
  shift
  [[ $(fb_fact uid) == 0 ]] || sudo=(sudo -n)
  fb_ssh "$(fb_quote "${sudo[@]}" bash -c "$script" provision "$@")"
}

# fb_fact NAME: what facts.sh found out about the host.
fb_fact() { sed -n "s/^$1=//p" "$host_folder/facts"; }

# fb_explain_ssh LOG: what to do about a connection that was not made; nothing if it is none of the known reasons.
fb_explain_ssh() {
  local file=${fb_known_hosts:-$HOME/.ssh/known_hosts} at=$ssh_host scan
  scan="ssh-keyscan${ssh_port:+ -p $ssh_port} $ssh_host"
  [[ -z $ssh_port ]] || at="[$ssh_host]:$ssh_port"
  if grep -q 'REMOTE HOST IDENTIFICATION HAS CHANGED' "$1"; then
    echo "the host's key is another than the one in $file. If the host was made anew, forget the old one:"
    echo "  ssh-keygen -R '$at' -f $file"
  elif grep -q 'Host key verification failed' "$1"; then
    echo "the host's key is not known. Look at it with the first command, compare it with what the host itself shows" \
      "(ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then add it with the second:"
    echo "  $scan | ssh-keygen -lf -"
    echo "  $scan >> $file"
  elif grep -q 'Permission denied' "$1"; then
    echo "the host takes no key of yours: ssh-copy-id, --identity FILE, or another user"
  fi
}
