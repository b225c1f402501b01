# shellcheck shell=bash
# Sourced after common.sh: what this host knows about reaching package registries (private certificate
# authorities, mirrors, proxies), as files for the base images. It is read from the host at build time and is
# never part of the repository. Files that are made to hold credentials are not read.

# fb_settings_lines PATTERN FILE...: the lines of those of the files that exist which match PATTERN.
fb_settings_lines() {
  local pattern=$1
  shift
  grep -hsE -- "$pattern" "$@" || true
}

# fb_settings_file FILE HEAD LINES: writes FILE if there is a HEAD or are LINES.
fb_settings_file() {
  [[ -n $2$3 ]] || return 0
  mkdir -p -- "$(dirname -- "$1")"
  printf '%s\n' "$2" "$3" | sed '/^$/d' >"$1"
}

# fb_settings FOLDER: writes the files below FOLDER, at the paths that they have in an image.
fb_settings() {
  local folder=$1 ca=${FETCHBENCH_CA_FOLDER:-/usr/local/share/ca-certificates} store=/etc/ssl/certs/ca-certificates.crt
  local lines name file
  mkdir -p -- "$folder/usr/local/share/ca-certificates"
  for file in "$ca"/*.crt; do
    [[ ! -f $file ]] || cp -- "$file" "$folder/usr/local/share/ca-certificates/"
  done

  lines=$(command -v apt-config >/dev/null && fb_settings_lines '^Acquire::(http|https)::' <(apt-config dump)) || true
  fb_settings_file "$folder/etc/apt/apt.conf.d/90host" '' "$lines"

  lines=$(fb_settings_lines '^ *(registry|(https?-)?proxy|noproxy) *=' \
    "${npm_config_userconfig:-$HOME/.npmrc}" /usr/etc/npmrc /usr/local/etc/npmrc /etc/npmrc)
  [[ -z ${npm_config_registry:-} ]] || lines="registry=$npm_config_registry"
  # Debian's npm, and one below /usr/local, look in different places.
  fb_settings_file "$folder/etc/npmrc" "cafile=$store" "$lines"
  fb_settings_file "$folder/usr/local/etc/npmrc" "cafile=$store" "$lines"

  lines=$(fb_settings_lines '^ *(index-url|extra-index-url|trusted-host|proxy) *=' \
    "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf" /etc/pip.conf)
  [[ -z ${PIP_INDEX_URL:-} ]] || lines="index-url=$PIP_INDEX_URL"
  fb_settings_file "$folder/etc/pip.conf" $'[global]\n'"cert=$store" "$lines"

  lines=$(fb_settings_lines '^(GOPROXY|GOSUMDB|GONOSUMDB|GONOPROXY|GOPRIVATE)=' "$HOME/.config/go/env")
  for name in GOPROXY GOSUMDB GONOSUMDB; do
    [[ -z ${!name:-} ]] || lines+=$'\n'"$name=${!name}"
  done
  fb_settings_file "$folder/root/.config/go/env" '' "$lines"

  for file in "${CARGO_HOME:-$HOME/.cargo}/config.toml" "${CARGO_HOME:-$HOME/.cargo}/config"; do
    [[ ! -f $file ]] || install -D -m 644 -- "$file" "$folder/usr/local/cargo/config.toml"
  done
}
