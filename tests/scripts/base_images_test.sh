#!/usr/bin/env bash
# bin/base-images with stand-ins for debootstrap and the Docker client: what is built when, and what is left by one
# that was killed. Needs root, for namespaces and chroot, as bin/base-images does.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
unset DOCKER_HOST npm_config_registry npm_config_userconfig PIP_INDEX_URL GOPROXY GOSUMDB GONOSUMDB CARGO_HOME

if ((EUID != 0)); then
  echo "not run: needs root"
  exit 0
fi

# ./images holds a file for each image that has a name; ./calls what was asked of the engine and debootstrap.
# ./slow makes debootstrap and builds take a minute after half of their work, ./broken makes builds fail.
stand_ins() {
  mkdir -p stand-ins images ca home cache
  : >calls
  cat >stand-ins/docker <<'END'
#!/usr/bin/env bash
case $1 in
  version) exit 0 ;;
  image) [[ -e $work/images/$(tr '/:' '__' <<<"${!#}") ]] || exit 1 ;;
  import)
    echo "import" >>"$work/calls"
    tar -tf "${!#}" >/dev/null && echo sha256:1
    ;;
  build)
    names=$(tar -t | tr '\n' ' ')
    echo "build $names" >>"$work/calls"
    echo "Step 1/2: working"
    [[ ! -e $work/broken ]] || { echo "the step says why"; exit 1; }
    [[ ! -e $work/slow ]] || exec sleep 60
    while [[ $1 != --iidfile ]]; do shift; done
    echo sha256:2 >"$2"
    ;;
  tag) touch "$work/images/$(tr '/:' '__' <<<"$3")" ;;
  *) exit 1 ;;
esac
END
  cat >stand-ins/debootstrap <<'END'
#!/usr/bin/env bash
echo "debootstrap $*" >>"$work/calls"
tree=${!#}
mkdir -p "$tree"/{usr/sbin,usr/bin,usr/local/bin,etc/apt/apt.conf.d,etc/dpkg/dpkg.cfg.d,var/log,usr/share/doc}
[[ ! -e $work/slow ]] || sleep 60
for library in $(ldd /bin/true | grep -o '/[^ ]*'); do cp --parents "$library" "$tree"; done
cp /bin/true "$tree/usr/sbin/update-ca-certificates"
END
  chmod +x stand-ins/*
  export PATH=$work/stand-ins:$PATH FETCHBENCH_NO_PACKAGES=1 HOME=$work/home FETCHBENCH_CA_FOLDER=$work/ca
  export FETCHBENCH_CACHE=$work/cache FETCHBENCH_BASE_IMAGES=$work/bases.json
}

bases() { "$root/bin/base-images" "$@" >stdout 2>stderr </dev/null; }

# killed_at CALL [NAME...]: starts bin/base-images, kills it alone, hard, once CALL is made.
killed_at() {
  local call=$1 pid
  shift
  touch slow
  "$root/bin/base-images" "$@" >stdout 2>stderr </dev/null &
  pid=$!
  while ! grep -q "^$call" calls; do
    kill -0 "$pid" || fail "ended before $call: $(<stderr)"
    sleep 0.1
  done
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  rm slow
}

# By the folder that they work in: their numbers are those of another namespace.
processes_at_work() { grep -lsaF "$work/cache/work" /proc/[0-9]*/cmdline || true; }

test_all_are_built_and_named_in_the_file() {
  stand_ins
  bases || fail "$(<stderr)"
  local argument
  for argument in BUN DENO GO JAVA JRE NODE PHP PYTHON RUBY RUNTIME RUST; do
    [[ $(jq -r ".${argument}_IMAGE" bases.json) == fetchbench-base/* ]] || fail "$argument: $(<bases.json)"
  done
  expect_equal "bootstrapped" 1 "$(grep -c ^debootstrap calls)"
  expect_equal output '' "$(<stdout)"
}

test_a_second_call_builds_nothing_and_leaves_the_file_as_it_is() {
  stand_ins
  bases || fail "$(<stderr)"
  local calls date
  calls=$(<calls)
  date=$(stat -c %y bases.json)
  bases || fail "$(<stderr)"
  expect_equal calls "$calls" "$(<calls)"
  expect_equal messages '' "$(<stderr)"
  expect_equal "date of the file" "$date" "$(stat -c %y bases.json)"
}

test_only_the_named_ones_are_built_and_the_one_they_start_from() {
  stand_ins
  bases python || fail "$(<stderr)"
  expect_equal arguments 'PYTHON_IMAGE RUNTIME_IMAGE' "$(jq -r 'keys | join(" ")' bases.json)"
}

test_what_the_file_named_before_stays_while_its_image_is_there() {
  stand_ins
  touch images/mine_1
  echo '{"DOTNET_IMAGE": "mine:1", "OTHER_IMAGE": "gone:1"}' >bases.json
  bases python || fail "$(<stderr)"
  expect_equal arguments 'DOTNET_IMAGE PYTHON_IMAGE RUNTIME_IMAGE' "$(jq -r 'keys | join(" ")' bases.json)"
}

test_killed_while_bootstrapping_it_leaves_nothing_that_counts_and_no_process() {
  stand_ins
  killed_at debootstrap python
  expect_equal images '' "$(ls images)"
  expect_equal archives '' "$(find cache -name '*.tar')"
  local i left
  for ((i = 0; i < 200; i++)); do
    left=$(processes_at_work)
    [[ -n $left ]] || break
    sleep 0.1
  done
  expect_equal processes '' "$left"
  bases python || fail "$(<stderr)"
  expect_equal "bootstrapped" 2 "$(grep -c ^debootstrap calls)"
  expect_equal "work folders" '' "$(find cache -name 'work.*')"
  [[ -e images/$(jq -r .PYTHON_IMAGE bases.json | tr '/:' '__') ]] || fail "not built: $(<stderr)"
}

test_killed_while_building_it_leaves_no_image_and_the_next_call_goes_on() {
  stand_ins
  bases debian || fail "$(<stderr)"
  killed_at build python
  expect_equal arguments RUNTIME_IMAGE "$(jq -r 'keys | join(" ")' bases.json)"
  expect_equal images 1 "$(find images -type f | wc -l)"
  bases python || fail "$(<stderr)"
  expect_equal "bootstrapped" 1 "$(grep -c ^debootstrap calls)"
  expect_equal "built" 2 "$(grep -c ^build calls)"
}

test_an_archive_that_was_not_finished_is_not_used() {
  stand_ins
  bases debian || fail "$(<stderr)"
  local archive
  archive=$(echo cache/debian-*.tar)
  rm images/*
  mv "$archive" "$archive.part"
  bases debian || fail "$(<stderr)"
  expect_equal "bootstrapped" 2 "$(grep -c ^debootstrap calls)"
}

test_an_engine_that_lost_its_images_gets_debian_from_the_archive() {
  stand_ins
  bases debian || fail "$(<stderr)"
  rm images/*
  bases debian || fail "$(<stderr)"
  expect_equal "bootstrapped" 1 "$(grep -c ^debootstrap calls)"
  expect_equal "imported" 2 "$(grep -c ^import calls)"
}

test_another_certificate_of_the_host_makes_other_images() {
  stand_ins
  bases python || fail "$(<stderr)"
  local before
  before=$(jq -r '.PYTHON_IMAGE, .RUNTIME_IMAGE' bases.json)
  echo certificate >ca/mine.crt
  bases python || fail "$(<stderr)"
  if [[ $before == "$(jq -r '.PYTHON_IMAGE, .RUNTIME_IMAGE' bases.json)" ]]; then fail "the same images"; fi
  # All of the list first: of a pipe into `grep -q` tar would be killed when grep has seen enough.
  expect_contains image share/ca-certificates/mine.crt \
    "$(tar -tf "cache/debian-$(jq -r .RUNTIME_IMAGE bases.json | cut -d: -f2).tar")"
}

test_the_hosts_registry_comes_along_and_its_password_does_not() {
  stand_ins
  printf '%s\n' registry=https://npm.example '//npm.example/:_authToken=secret' >home/.npmrc
  bases debian || fail "$(<stderr)"
  local tree
  tree=$(tar -xOf cache/debian-*.tar ./etc/npmrc)
  expect_contains npmrc registry=https://npm.example "$tree"
  if [[ $tree == *secret* ]]; then fail "the token is in the image"; fi
}

test_a_build_that_fails_says_why_and_names_no_image() {
  stand_ins
  bases debian || fail "$(<stderr)"
  touch broken
  local status=0
  bases python || status=$?
  expect_equal status 1 "$status"
  expect_contains message 'the step says why' "$(<stderr)"
  expect_equal arguments RUNTIME_IMAGE "$(jq -r 'keys | join(" ")' bases.json)"
}

test_the_list_says_what_is_built() {
  stand_ins
  bases python || fail "$(<stderr)"
  bases --list || fail "$(<stderr)"
  grep -qE '^python +PYTHON_IMAGE +fetchbench-base/python:[0-9a-f]{16} +built$' stdout || fail "$(<stdout)"
  grep -qE '^ruby .* missing$' stdout || fail "$(<stdout)"
}

test_nothing_is_left_in_the_cache_but_the_archive() {
  stand_ins
  bases python || fail "$(<stderr)"
  expect_equal cache lock "$(find cache -mindepth 1 ! -name 'debian-*.tar' -printf '%f\n')"
}

test_wrong_usage_ends_with_2() {
  stand_ins
  local status arguments
  for arguments in --nonsense dotnet; do
    status=0
    bases "$arguments" || status=$?
    expect_equal "$arguments" 2 "$status"
  done
}

run_tests
