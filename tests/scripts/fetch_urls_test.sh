#!/usr/bin/env bash
# bin/fetch-urls against a local HTTP server that cuts connections, changes files and refuses.
# FETCHBENCH_BIN names the folder of the built programs.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
export FETCHBENCH_NO_PACKAGES=1 FETCHBENCH_RETRY_SECONDS=0
: "${FETCHBENCH_BIN:?the folder of the built programs}"

# Starts the server over $work/www; sets $url and the file names of its log.
serve() {
  mkdir -p www lists
  python3 "$root/tests/scripts/range_server.py" www port log &
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    if [[ -s port ]]; then break; fi
    sleep 0.05
  done
  url="http://127.0.0.1:$(<port)"
}

domcop_list() {
  printf '"Rank","Domain","Open Page Rank"\n'
  local i
  for ((i = 1; i <= ${1:-3000}; i++)); do printf '"%d","site%d.example","9.9"\n' "$i" "$i"; done
}

fetch_urls() { "$root/bin/fetch-urls" --output lists/urls.txt "$@" 2>stderr; }

test_a_domcop_list_becomes_https_urls_without_header_and_filtered_names() {
  serve
  printf '%s\n' '"Rank","Domain","Open Page Rank"' '"1","facebook.com","10.00"' '"2","ad.doubleclick.net","9"' \
    '"3","x.blogspot.com","9"' '"4","google.com","10.00"' >www/list.csv
  fetch_urls --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal urls $'https://facebook.com\nhttps://google.com' "$(<lists/urls.txt)"
}

test_zip_and_gzip_are_unpacked_whatever_they_are_called() {
  serve
  domcop_list 20 >list.csv
  zip -q www/list.csv.zip list.csv
  gzip -c list.csv >www/list.csv
  fetch_urls --from "$url/list.csv.zip" || fail "$(<stderr)"
  expect_equal zip 20 "$(wc -l <lists/urls.txt)"
  fetch_urls --limit 7 --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal gzip 7 "$(wc -l <lists/urls.txt)"
}

test_the_other_lists_formats_are_read() {
  mkdir lists
  printf '1,google.com\r\n2,netflix.com\r\n' >umbrella
  printf '1,google.com\n2,netflix.com\n' >tranco
  printf '%s\n' GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD,PrevGlobalRank,PrevTldRank,PrevRefSubNets,PrevRefIPs \
    1,1,google.com,com,1,2,google.com,com,1,1,3,4 2,2,netflix.com,com,1,2,netflix.com,com,1,1,3,4 >majestic
  printf 'origin,rank\nhttps://google.com,1000\nhttps://netflix.com,1000\n' >crux
  local format
  for format in umbrella tranco majestic crux; do
    fetch_urls --format "$format" --from "$format" || fail "$format: $(<stderr)"
    expect_equal "$format" $'https://google.com\nhttps://netflix.com' "$(<lists/urls.txt)"
  done
}

test_a_failure_leaves_nothing_behind_but_what_a_later_call_can_use() {
  serve
  echo nonsense >www/list.csv
  if fetch_urls --format tranco --from "$url/list.csv"; then fail "nonsense was taken"; fi
  if fetch_urls --format tranco --from "$url/nothing"; then fail "nothing was taken"; fi
  expect_equal files fetch-urls-lock.part "$(ls lists)"
}

test_a_cut_connection_is_resumed_at_the_byte_where_it_was_cut() {
  serve
  domcop_list >www/list.csv
  printf 'cut 20000\ncut 30000\n' >www/list.csv.faults
  fetch_urls --limit all --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal urls 3000 "$(sort -u lists/urls.txt | wc -l)"
  expect_equal ranges $'-\nbytes=20000-\nbytes=50000-' "$(cut -d' ' -f3 log)"
}

test_a_later_call_goes_on_where_an_interrupted_one_stopped() {
  serve
  domcop_list >www/list.csv
  printf 'cut 20000\nstatus 503\nstatus 503\nstatus 503\nstatus 503\n' >www/list.csv.faults
  echo https://old.example >lists/urls.txt
  if fetch_urls --from "$url/list.csv"; then fail "an incomplete download was taken"; fi
  expect_equal "the old list" https://old.example "$(<lists/urls.txt)"
  fetch_urls --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal urls 3000 "$(wc -l <lists/urls.txt)"
  expect_contains "last request" 'bytes=20000-' "$(tail -n 1 log)"
  expect_equal "left behind" '' "$(find lists -name '*.part' ! -name fetch-urls-lock.part)"
}

test_a_file_that_changed_meanwhile_is_fetched_from_the_start() {
  serve
  domcop_list >www/list.csv
  printf 'cut 20000\nstatus 503\nstatus 503\nstatus 503\nstatus 503\n' >www/list.csv.faults
  if fetch_urls --from "$url/list.csv"; then fail "an incomplete download was taken"; fi
  domcop_list 2500 | sed 's/site/other/' >www/list.csv
  fetch_urls --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal urls 2500 "$(grep -c '^https://other[0-9]*\.example$' lists/urls.txt)"
}

test_a_download_that_was_complete_already_is_not_asked_for_again() {
  serve
  domcop_list >www/list.csv
  # As an interruption between download and conversion leaves it.
  cp www/list.csv lists/domcop.part
  printf '%s\n"tag"\n%s\n' "$url/list.csv" "$(stat -c %s www/list.csv)" >lists/domcop-state.part
  fetch_urls --from "$url/list.csv" || fail "$(<stderr)"
  expect_equal urls 3000 "$(wc -l <lists/urls.txt)"
  if [[ -e log ]]; then fail "the server was asked: $(<log)"; fi
}

test_a_damaged_archive_keeps_the_old_list_and_is_not_kept_itself() {
  serve
  domcop_list >list.csv
  zip -q whole.zip list.csv
  head -c 9000 whole.zip >www/list.zip
  echo https://old.example >lists/urls.txt
  if fetch_urls --from "$url/list.zip"; then fail "a damaged archive was taken"; fi
  expect_equal "the old list" https://old.example "$(<lists/urls.txt)"
  cp whole.zip www/list.zip
  fetch_urls --from "$url/list.zip" || fail "$(<stderr)"
  expect_equal urls 3000 "$(wc -l <lists/urls.txt)"
}

test_a_missing_file_is_said_at_once_and_keeps_the_old_list() {
  serve
  echo https://old.example >lists/urls.txt
  if fetch_urls --from "$url/nothing.csv"; then fail "nothing was taken for a list"; fi
  expect_contains message 404 "$(<stderr)"
  expect_equal requests 1 "$(wc -l <log)"
  expect_equal "the old list" https://old.example "$(<lists/urls.txt)"
}

test_an_empty_list_keeps_the_old_one() {
  serve
  printf '"Rank","Domain","Open Page Rank"\n' >www/list.csv
  echo https://old.example >lists/urls.txt
  if fetch_urls --from "$url/list.csv"; then fail "an empty list was taken"; fi
  expect_equal "the old list" https://old.example "$(<lists/urls.txt)"
}

test_wrong_usage_ends_with_2() {
  mkdir lists
  local status arguments
  for arguments in '--format alexa' '--limit 0' '--limit many' '--from /no/such/file' '--nonsense' '--limit'; do
    status=0
    # shellcheck disable=SC2086 # words on purpose
    fetch_urls $arguments || status=$?
    expect_equal "$arguments" 2 "$status"
  done
}

run_tests
