#!/usr/bin/env bash
# CPU time of one cold HTTPS fetch: native against curl --parallel, with ab and hey beside them
#
# Profile fast, 10,000 hosts that were never contacted before, 100 in flight. native and curl verify every
# certificate; ab and hey do not, and they ask one host again and again. native resolves every name through
# the origin's DNS; curl is spared that (--connect-to with an address), so the ratio is on curl's side.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

urls=10000
flight=100
perf_urls "$urls" >"$work/urls"
perf_origin fast
perf_certificates "$work/urls"

# Each round connects to an origin address of its own: 10,000 connections to one would use up the ports.
address() { echo "127.64.0.$((10 + $1))"; }

# shellcheck disable=SC2016
curl_config() {
  printf 'silent\nparallel\nparallel-immediate\nparallel-max = %d\nhttp1.1\nlocation\nmax-time = 5\n' "$flight"
  printf 'write-out = "%%{http_code}\\n"\n'
  printf 'cacert = "%s"\nconnect-to = "::%s:%s"\n' "$ca_file" "$(address "$1")" "$https_port"
  sed 's|.*|url = "&/"\noutput = "/dev/null"|' "$work/urls"
}

# perf_good NAME COUNT: a client that did not fetch everything has no figure.
perf_good() {
  (($2 == urls)) || perf_note "$1: only $2 of $urls fetches gave 200: its figure is not comparable"
}

per_fetch() { awk -v seconds="$1" -v urls="$urls" 'BEGIN { printf "%.0f\n", seconds / urls * 1e6 }'; }

for ((round = 1; round <= perf_rounds; round++)); do
  perf_cpu "$FETCHBENCH_BIN/fetchbench-native" --concurrency "$flight" "${native_options[@]}" \
    <"$work/urls" >"$work/records"
  perf_good native "$(grep -c ',200,' "$work/records")"
  native=$(per_fetch "$perf_seconds")
  echo "$native" >>"$work/native"

  curl_config "$round" >"$work/curlrc"
  perf_cpu curl --config "$work/curlrc" >"$work/codes"
  perf_good curl "$(grep -c '^200$' "$work/codes")"
  curl=$(per_fetch "$perf_seconds")
  echo "$curl" >>"$work/curl"
  awk -v a="$native" -v b="$curl" 'BEGIN { printf "%.3f\n", a / b }' >>"$work/ratio"

  perf_cpu ab -q -n "$urls" -c "$flight" "https://$(address $((round + 100))):$https_port/" >"$work/ab.out"
  perf_good ab "$(awk '/^Complete requests:/ { all = $3 } /^Non-2xx/ { bad = $3 } END { print all - bad }' "$work/ab.out")"
  per_fetch "$perf_seconds" >>"$work/ab"

  perf_cpu hey -n "$urls" -c "$flight" -disable-keepalive \
    "https://$(address $((round + 200))):$https_port/" >"$work/hey.out"
  perf_good hey "$(awk '/\[200\]/ { print $2 }' "$work/hey.out")"
  per_fetch "$perf_seconds" >>"$work/hey"
done

for client in native curl ab hey; do
  goal=''
  [[ $client != native ]] || goal='below hey'
  perf_row "CPU a fetch, $client" "$(perf_median <"$work/$client")" us "$goal" "$(perf_spread <"$work/$client")"
done
perf_row 'native / curl' "$(perf_median <"$work/ratio")" '' 'at most 0.45' "$(perf_spread <"$work/ratio"), by round"
