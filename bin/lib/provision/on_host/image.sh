#!/usr/bin/env bash
# As root. `image id REFERENCE`: of the image that the host has under that name; nothing if it has none. `image load`:
# takes the images on standard input, as docker save and gzip made them.
set -eu
case $1 in
  id)
    command -v docker >/dev/null || { echo 'there is no Docker here: bin/provision --docker gives it one' >&2; exit 1; }
    docker version >/dev/null 2>&1 || { echo 'the Docker Engine does not answer' >&2; exit 1; }
    docker image inspect -f '{{.Id}}' "$2" 2>/dev/null || true
    ;;
  load) gunzip | docker load >&2 ;;
esac
