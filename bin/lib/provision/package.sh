# shellcheck shell=bash
# Sourced after common.sh, build.sh and remote.sh: the package of the agent for a host. One that was built here is for
# hosts of this system and architecture; for others one of them builds it, once for all of its kind.

: "${fb_root:?}" "${host_folder=}"

fb_package=''      # --package FILE
fb_package_here='' # of the programs of this checkout

# fb_package_digest FILE: what is in a package and what it does, whenever it was packed.
fb_package_digest() {
  local control
  control=$(mktemp -d -- "${fb_work:?}/control.XXXXXX") || return 1
  dpkg-deb --control "$1" "$control" || return 1
  cat "$control/md5sums" "$control/postinst" "$control/prerm" "$control/postrm" | sha256sum | cut -c 1-64
}

# fb_package_kind: of this machine, as SYSTEM-ARCHITECTURE.
fb_package_kind() { echo "$(fb_distribution)-$(dpkg --print-architecture)"; }

# fb_pack: packs the programs that are built here; prints the file.
fb_pack() {
  local build files
  build=$(dirname -- "$(dirname -- "$(fb_program agent)")")
  [[ -f $build/CPackConfig.cmake ]] || { fb_note "$build is no build folder; name a package with --package"; return 1; }
  # Beside the build: two callers at once pack the same.
  (cd "$build" && cpack -G DEB --config CPackConfig.cmake -B "$fb_work/packages") </dev/null >"$fb_work/cpack" 2>&1 ||
    { tail -n 15 -- "$fb_work/cpack" >&2; return 1; }
  files=("$fb_work"/packages/fetchbench-agent_*.deb)
  echo "${files[0]}"
}

# fb_sources: the files that a build needs, as a tar archive whose bytes depend on them alone.
fb_sources() {
  (cd "$fb_root" && git ls-files -z --cached --others --exclude-standard | LC_ALL=C sort -z |
    xargs -0 ls -d 2>/dev/null | tar -c --owner=0 --group=0 --mtime=@0 --no-recursion -T -)
}

# fb_package_built_there KIND: the host at hand builds, others of its kind wait and take what it made.
fb_package_built_there() {
  local kind=$1 hash folder place lock
  fb_sources >"$host_folder/sources.tar" || return 1
  hash=$(sha256sum <"$host_folder/sources.tar" | cut -c 1-16)
  place=$fb_root/build/packages/$kind-$hash.deb
  folder=/var/cache/fetchbench-build # where no other user of the host can have put anything
  mkdir -p -- "${place%/*}"
  exec {lock}>"$place.lock"
  flock "$lock"
  if [[ ! -f $place ]]; then
    fb_progress package "building for $kind; this takes long"
    fb_as_root build make "$folder" <"$host_folder/sources.tar" >&2 || return 1
    fb_as_root build fetch "$folder" </dev/null >"$place.part" || return 1
    mv -- "$place.part" "$place"
  fi
  exec {lock}>&-
  rm -f -- "$host_folder/sources.tar"
  host_package=$place
}

# fb_package_for_host: into host_package.
# shellcheck disable=SC2034
fb_package_for_host() {
  local kind
  kind=$(fb_fact system)-$(fb_fact arch)
  if [[ -n $fb_package ]]; then
    host_package=$fb_package
  elif [[ $kind == "$(fb_package_kind)" ]]; then
    host_package=$fb_package_here
  else
    fb_package_built_there "$kind"
  fi
}
