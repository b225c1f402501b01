# shellcheck shell=bash
# Sourced after the other files of provision/: what is done to one host. A step says on standard output "changed" or
# "unchanged", with a few words behind it; what programs say goes to standard error, which is the host's log. It fails
# by its exit code. The host at hand is in host_name, host_folder, host_port, host_docker and ssh_*.

# shellcheck disable=SC2154 # hosts.sh and remote.sh set them
: "$fb_root" "$host_name" "$host_folder" "$ssh_host" "${host_port=}" "${host_docker=}"

export fb_steps=(connect docker package certificate service inventory check)
export fb_docker_wanted='' # empty: as the host's inventory line says; new hosts get it
fb_upgrade=no
export fb_port='' # empty: as the line says, or fb_agent_port
fb_inventory=''
fb_credentials=''
fb_renew_seconds=$((30 * 24 * 3600))
fb_check_seconds=30

fb_step_connect() {
  fb_as_user facts </dev/null >"$host_folder/facts" || return 1
  case $(fb_fact system)-$(fb_fact arch) in
    debian-1[23]-amd64 | debian-1[23]-arm64 | ubuntu-24.04-amd64 | ubuntu-24.04-arm64) ;;
    *)
      fb_note "$(fb_fact title), $(fb_fact arch): neither Debian 12, Debian 13 nor Ubuntu 24.04 on amd64 or arm64"
      return 1
      ;;
  esac
  [[ $(fb_fact systemd) == yes ]] || { fb_note "the host does not run systemd"; return 1; }
  [[ $(fb_fact root) == yes ]] || {
    fb_note "sudo asks ${ssh_user:-that user} for a password; allow it without one (NOPASSWD), or log in as root"
    return 1
  }
  echo unchanged
}

fb_step_docker() {
  [[ $host_docker == yes ]] || { echo unchanged none; return 0; }
  fb_as_root docker </dev/null
}

fb_step_package() {
  local wanted found host_package
  fb_package_for_host || return 1
  wanted=$(fb_package_digest "$host_package") || return 1
  found=$(fb_as_root package digest </dev/null) || return 1
  if [[ $wanted == "$found" ]]; then
    echo unchanged
    return 0
  fi
  if [[ -n $found && $fb_upgrade == no ]]; then
    fb_note "another build of fetchbench-agent is installed; bin/provision --upgrade $host_name replaces it," \
      "and a run that it takes part in goes on without it until it is back"
    return 1
  fi
  echo "changed $(fb_as_root package install <"$host_package")" || return 1
  [[ $wanted == "$(fb_as_root package digest </dev/null)" ]] || { fb_note "the package is not wholly installed"; return 1; }
  touch "$host_folder/restart"
}

# fb_certificate: the host's credentials in the pki folder, made or renewed if need be.
fb_certificate() {
  if [[ ! -d $1 ]]; then
    "$fb_root/bin/pki" host "$host_name" </dev/null >&2
  elif ! openssl x509 -in "$1/tls.crt" -noout -checkend "$fb_renew_seconds" >/dev/null; then
    "$fb_root/bin/pki" renew "host/$host_name" </dev/null >&2
  fi
}

# What on_host/certificate.sh prints of a host's folder.
fb_certificate_digest() {
  (cd -- "$1" && echo "$(cat ca.crt tls.crt tls.key | sha256sum) $(cat denied /dev/null 2>/dev/null | sha256sum)")
}

fb_step_certificate() {
  local folder wanted found name files=()
  folder=${FETCHBENCH_PKI:-${XDG_CONFIG_HOME:-$HOME/.config}/fetchbench/pki}/hosts/$host_name
  fb_certificate "$folder" || return 1
  wanted=$(fb_certificate_digest "$folder") || return 1
  found=$(fb_as_root certificate digest </dev/null) || return 1
  if [[ $wanted == "$found" ]]; then
    echo unchanged
    return 0
  fi
  for name in ca.crt tls.crt tls.key denied; do
    [[ ! -e $folder/$name ]] || files+=("$name")
  done
  tar -c -C "$folder" --dereference "${files[@]}" | fb_as_root certificate install || return 1
  if [[ ${wanted%% *} == "${found%% *}" ]]; then
    # The agent reads it again by itself.
    echo "changed deny list"
    return 0
  fi
  touch "$host_folder/restart"
  found=$(openssl x509 -in "$folder/tls.crt" -noout -enddate) || return 1
  echo "changed until $(date -u -d "${found#notAfter=}" +%F)"
}

fb_step_service() {
  local restart=no
  [[ ! -e $host_folder/restart ]] || restart=yes
  fb_as_root service "$host_docker" "$host_port" "$restart" </dev/null
}

# fb_agent_address: where coordinators dial.
fb_agent_address() {
  if [[ $ssh_host == *:* ]]; then echo "[$ssh_host]:$host_port"; else echo "$ssh_host:$host_port"; fi
}

fb_step_inventory() {
  local line
  line="$host_name $(fb_agent_address) ssh=$(fb_ssh_word) arch=$(fb_fact arch)"
  [[ $host_docker == yes ]] || line+=' docker=no'
  fb_inventory_set "$fb_inventory" "$host_name" "$line"
}

# By the way that a run takes: gRPC, with the operator's credentials.
fb_step_check() {
  local end=$((SECONDS + fb_check_seconds)) arguments=(agents --agents "$host_name=$(fb_agent_address)")
  [[ -z $fb_credentials ]] || arguments+=(--credentials "$fb_credentials")
  until "$(fb_program coordinator)" "${arguments[@]}" </dev/null >"$host_folder/agent" 2>&1; do
    ((SECONDS < end)) || { cat -- "$host_folder/agent" >&2; return 1; }
    sleep 0.5
  done
  echo unchanged
}

fb_step_remove() { fb_as_root remove </dev/null; }

fb_step_forget() { fb_inventory_set "$fb_inventory" "$host_name"; }
