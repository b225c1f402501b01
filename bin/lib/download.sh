# shellcheck shell=bash
# Sourced after common.sh: a download that survives interruptions, of this call and of earlier ones.

fb_download_attempts=5

fb_file_size() { stat -c %s -- "$1" 2>/dev/null || echo 0; }

# fb_header NAME FILE: the value of a header of the last response in a file that curl -D wrote.
fb_header() {
  tr -d '\r' <"$2" 2>/dev/null | awk -v name="$1:" '
    /^HTTP\// { value = "" }
    tolower($1) == name { sub(/^[^:]*:[ \t]*/, ""); value = $0 }
    END { print value }'
}

# fb_download URL PART: fetches URL into the file PART; returns only when it is complete. Beside PART it
# keeps PART's origin (url, validator, size; a name that ends in .part too), so that a later call goes on
# where this one was cut off, and only if the file at the other end is still the same one.
fb_download() {
  local url=$1 part=$2 state="${2%.part}-state.part" headers="${2%.part}-headers.part"
  local attempt known_url='' validator='' size='' status code options
  for ((attempt = 1; attempt <= fb_download_attempts; attempt++)); do
    if [[ -f $state ]]; then
      { read -r known_url && read -r validator && read -r size; } <"$state" || known_url=''
    fi
    if [[ $known_url != "$url" || -z $validator ]]; then
      # Of another URL, or nothing to recognise it by: what is there cannot be continued.
      rm -f -- "$part" "$state"
      validator='' size=''
    fi
    if [[ -n $size && $(fb_file_size "$part") == "$size" ]]; then
      return 0
    fi
    options=()
    if [[ -s $part ]]; then
      fb_note "resuming $url at byte $(fb_file_size "$part")"
      # A file that has changed is sent whole (status 200), which curl refuses to append: exit 33.
      options=(--continue-at - --header "If-Range: $validator")
    fi
    status=0
    code=$(curl --fail --silent --show-error --location --connect-timeout 20 \
      --speed-limit 1000 --speed-time 30 --dump-header "$headers" --output "$part" \
      --write-out '%{http_code}' "${options[@]}" -- "$url" </dev/null) || status=$?
    if [[ $code == 200 ]]; then
      validator=$(fb_header etag "$headers")
      # A weak tag does not promise the same bytes.
      [[ -n $validator && $validator != W/* ]] || validator=$(fb_header last-modified "$headers")
      size=$(fb_header content-length "$headers")
      printf '%s\n%s\n%s\n' "$url" "$validator" "$size" >"$state"
    fi
    case $status in
      0)
        [[ -z $size || $(fb_file_size "$part") == "$size" ]] && return 0
        fb_note "$url: $(fb_file_size "$part") bytes came, $size were announced; again from the start"
        rm -f -- "$part" "$state"
        ;;
      33)
        fb_note "$url has changed since the interrupted download; again from the start"
        rm -f -- "$part" "$state"
        ;;
      22)
        # 416: there is more here than there. Other refusals do not get better by asking again.
        [[ $code == 416 || $code == 5* || $code == 429 ]] || fb_die 1 "$url: the server says $code"
        [[ $code != 416 ]] || rm -f -- "$part" "$state"
        ;;
      6 | 7 | 18 | 28 | 35 | 52 | 55 | 56 | 92) ;; # name, connection, cut off, too slow: worth another try
      *) fb_die 1 "$url: curl ended with exit code $status; its message is above" ;;
    esac
    ((attempt == fb_download_attempts)) || sleep "${FETCHBENCH_RETRY_SECONDS:-$((attempt * 2))}"
  done
  fb_die 1 "$url: not complete after $fb_download_attempts tries; what came is kept, and the same command goes on from there"
}
