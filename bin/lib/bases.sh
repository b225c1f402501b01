# shellcheck shell=bash
# Sourced after common.sh, docker.sh and base-settings.sh: the stand-in base images. An image's tag is the hash of
# all that decides what is in it, so that whether it has to be built is one question to the engine.

# fb_root is common.sh's; fb_base_work, a folder of this call that is removed at its end, is the caller's.
: "${fb_root:?}"

# In the order in which they are built, with the build argument that selects each in a target's Dockerfile.
export fb_bases=(debian go node python rust bun deno jre java ruby php)
declare -A fb_base_argument=(
  [debian]=RUNTIME_IMAGE [go]=GO_IMAGE [node]=NODE_IMAGE [python]=PYTHON_IMAGE [rust]=RUST_IMAGE
  [bun]=BUN_IMAGE [deno]=DENO_IMAGE [java]=JAVA_IMAGE [jre]=JRE_IMAGE [ruby]=RUBY_IMAGE [php]=PHP_IMAGE
)

fb_base_suite=trixie
fb_base_recipes=$fb_root/bin/lib/bases
fb_base_names=${FETCHBENCH_BASE_PREFIX:-fetchbench-base} # for tests: images of their own
fb_base_json=${FETCHBENCH_BASE_IMAGES:-$fb_root/build/base-images.json}
if ((EUID == 0)); then
  fb_base_cache=${FETCHBENCH_CACHE:-/var/cache/fetchbench}
else
  fb_base_cache=${FETCHBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fetchbench}
fi

fb_hash() { sha256sum | cut -c 1-16; }

# The work folders of calls that were killed: work.PID.RANDOM of a process that is gone.
fb_base_remove_leftovers() {
  local folder pid
  for folder in "$fb_base_cache"/work.*; do
    pid=${folder#"$fb_base_cache"/work.}
    [[ ! -d $folder ]] || fb_is_running "${pid%%.*}" || rm -rf --one-file-system -- "$folder"
  done
}

# fb_base_prepare: reads once what all tags depend on.
fb_base_prepare() {
  local settings
  : "${fb_base_work:?}"
  fb_settings "$fb_base_work/settings"
  settings=$(cd "$fb_base_work/settings" && find . -type f -print0 | sort -z | xargs -0r sha256sum)
  fb_base_debian=$fb_base_names/debian:$({
    echo "$fb_base_suite $(uname -m) $settings"
    declare -f fb_base_debian_tree
  } | fb_hash)
  # The toolchain of the folder where nothing overrides it, as cargo would find it in a target's folder.
  fb_base_rust=$(cd / && rustc --print sysroot 2>/dev/null) || fb_base_rust=''
}

# fb_base_recipe NAME: the Dockerfile.
fb_base_recipe() {
  local recipe=$1
  [[ $1 != rust || -n $fb_base_rust ]] || recipe=rust-debian
  echo "$fb_base_recipes/$recipe.Dockerfile"
}

# fb_base_tag NAME: the whole name of the image as it has to be now.
fb_base_tag() {
  if [[ $1 == debian ]]; then
    echo "$fb_base_debian"
    return 0
  fi
  local recipe
  recipe=$(fb_base_recipe "$1")
  echo "$fb_base_names/$1:$({
    echo "$fb_base_debian"
    cat -- "$recipe"
    ! grep -q '^COPY js/' "$recipe" || cat -- "$fb_base_recipes"/js/*.json
    ! grep -q '^COPY rust/' "$recipe" || "$fb_base_rust/bin/rustc" -vV
  } | fb_hash)"
}

# fb_base_exists TAG
fb_base_exists() {
  fb_docker image inspect --format '{{.Id}}' "$1" </dev/null >/dev/null 2>&1
}

# Ends with the script, however that ends: an orphan would go on writing where the next call cleans up. Only as a
# direct child does it: not in $(...), where the subshell is the parent and lives on.
fb_base_child() { setpriv --pdeathsig KILL "$@"; }

# fb_base_debian_tree FOLDER SUITE SETTINGS: a minimal Debian in FOLDER. Runs as root, in namespaces of its own.
fb_base_debian_tree() {
  local folder=$1 suite=$2 settings=$3
  set -e
  # As in the official image: no documentation, and no waiting for the disk after each file.
  mkdir -p "$folder/etc/dpkg/dpkg.cfg.d"
  { echo force-unsafe-io && printf 'path-exclude=/usr/share/%s/*\n' doc locale info; } \
    >"$folder/etc/dpkg/dpkg.cfg.d/80container"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder"
  cp -r --no-preserve=mode,ownership -- "$settings/." "$folder/"
  chroot "$folder" /usr/sbin/update-ca-certificates
  echo 'APT::Install-Recommends "false";' >"$folder/etc/apt/apt.conf.d/80container"
  printf '%s\n' '#!/bin/sh -e' 'apt-get update' 'apt-get install -y "$@"' 'apt-get clean' \
    'rm -rf /var/lib/apt/lists/*' >"$folder/usr/local/bin/install-packages"
  chmod +x "$folder/usr/local/bin/install-packages"
  rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/* "$folder"/var/log/* \
    "$folder"/usr/share/{doc,locale,info}/* "$folder"/etc/resolv.conf "$folder"/etc/hostname
}

# fb_base_bootstrap ARCHIVE: makes the file of the bootstrapped Debian. It gets its name when it is whole and on the
# disk, so a file of that name can be used.
fb_base_bootstrap() {
  local archive=$1 tree="$fb_base_work/debian"
  ((EUID == 0)) || fb_die 2 "the first base image is bootstrapped by root: run bin/base-images debian as root once"
  fb_base_child unshare --mount --pid --fork --kill-child --mount-proc \
    bash -c "$(declare -f fb_base_debian_tree); fb_base_debian_tree \"\$@\"" - \
    "$tree" "$fb_base_suite" "$fb_base_work/settings" </dev/null >"$fb_base_work/log" 2>&1 ||
    fb_die 1 "debootstrap $fb_base_suite failed:"$'\n'"$(tail -n 15 -- "$fb_base_work/log")"
  fb_base_child tar -C "$tree" --sort=name --numeric-owner -cf "$archive.part" .
  sync -- "$archive.part"
  mv -- "$archive.part" "$archive"
  rm -rf -- "$tree"
}

# fb_base_context NAME: the build context as a tar stream.
fb_base_context() {
  local recipe
  recipe=$(fb_base_recipe "$1")
  local add=(-C "$fb_base_recipes" "${recipe##*/}")
  ! grep -q '^COPY js/' "$recipe" || add+=(js)
  ! grep -q '^COPY rust/' "$recipe" || add+=(-C "$fb_base_rust" --exclude=./share --exclude=./lib/rustlib/src
    --exclude=./bin/rust-analyzer --exclude=./bin/rust-gdb* --exclude=./bin/rust-lldb --transform 's,^\.,rust,' .)
  tar -c --owner=0 --group=0 --mtime=@0 "${add[@]}"
}

# fb_base_build NAME TAG: builds the image without a name, then names it: a name means a whole image.
fb_base_build() {
  local name=$1 tag=$2 id="$fb_base_work/id" archive="$fb_base_cache/debian-${fb_base_debian##*:}.tar"
  local client=(fb_base_child env DOCKER_HOST="${DOCKER_HOST:-unix:///var/run/docker.sock}" DOCKER_BUILDKIT=0 docker)
  if [[ $name == debian ]]; then
    [[ -f $archive ]] || fb_base_bootstrap "$archive"
    "${client[@]}" import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
      --change 'CMD ["bash"]' "$archive" </dev/null >"$id" ||
      fb_die 1 "the engine did not take $archive; its message is above"
  else
    # The classic builder: it keeps each finished step, so that an interrupted build goes on where it was.
    fb_base_context "$name" >"$fb_base_work/context.tar"
    "${client[@]}" build --force-rm --iidfile "$id" --build-arg BASE="$fb_base_debian" \
      --build-arg http_proxy --build-arg https_proxy --build-arg no_proxy \
      -f "$(basename -- "$(fb_base_recipe "$name")")" - <"$fb_base_work/context.tar" >"$fb_base_work/log" 2>&1 ||
      fb_die 1 "the base image $name could not be built:"$'\n'"$(tail -n 25 -- "$fb_base_work/log")"
    rm -f -- "$fb_base_work/context.tar"
  fi
  fb_docker tag "$(<"$id")" "$tag"
}

# fb_base_write_json NAME...: the file that names the images: those named, and what it named before and still exists.
fb_base_write_json() {
  local name argument tag entries='{}' old
  if old=$(jq -er 'to_entries[] | "\(.key)\t\(.value)"' "$fb_base_json" 2>/dev/null); then
    while IFS=$'\t' read -r argument tag; do
      ! fb_base_exists "$tag" || entries=$(jq --arg k "$argument" --arg v "$tag" '.[$k] = $v' <<<"$entries")
    done <<<"$old"
  fi
  for name in "$@"; do
    entries=$(jq --arg k "${fb_base_argument[$name]}" --arg v "$(fb_base_tag "$name")" '.[$k] = $v' <<<"$entries")
  done
  local part=$fb_base_json.$$.part # two callers at once may write it
  mkdir -p -- "$(dirname -- "$fb_base_json")"
  jq -S . <<<"$entries" >"$part"
  # A file with nothing new keeps its date.
  if cmp -s -- "$part" "$fb_base_json"; then
    rm -f -- "$part"
  else
    mv -- "$part" "$fb_base_json"
  fi
}
