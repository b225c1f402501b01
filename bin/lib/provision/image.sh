# shellcheck shell=bash
# Sourced after docker.sh and steps.sh: an image that was built here, brought to hosts of its architecture. Its ID, a
# hash of what is in it, is the same on all of them, so that no two hosts of a run have different ones.

fb_image='' # --image REFERENCE

# fb_image_here: "ID ARCHITECTURE" of the image; stops if there is none.
fb_image_here() {
  fb_docker image inspect -f '{{.Id}} {{.Architecture}}' "$fb_image" </dev/null 2>/dev/null ||
    fb_die 2 "--image $fb_image: the Docker Engine of this machine has no such image"
}

fb_step_image() {
  local id architecture found
  read -r id architecture < <(fb_image_here)
  [[ $architecture == "$(fb_fact arch)" ]] || {
    fb_note "$fb_image is for $architecture, and this host is $(fb_fact arch): build it on a machine of that kind"
    return 1
  }
  found=$(fb_as_root image id "$fb_image" </dev/null) || return 1
  if [[ $found == "$id" ]]; then
    echo "unchanged"
    return 0
  fi
  fb_docker save "$fb_image" </dev/null | gzip -1 | fb_as_root image load || return 1
  found=$(fb_as_root image id "$fb_image" </dev/null) || return 1
  [[ $found == "$id" ]] || { fb_note "the host has $fb_image as $found, and it is $id here"; return 1; }
  echo "changed $id"
}
