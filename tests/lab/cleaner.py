#!/usr/bin/env python3
"""Removes what a lab has made once the lab is gone, however it ended: its standard input is a pipe that ends with the
lab. Also removes what labs left whose cleaner was killed with them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import netns

# A folder with this file in it is somebody's to look at.
KEPT = "kept"
TRIES = 100
_FOLDER = re.compile(r"fetchbench-lab-(\d+)-.+")


def make_folder():
    return tempfile.mkdtemp(prefix=f"fetchbench-lab-{os.getpid()}-")


def keep(folder):
    with open(f"{folder}/{KEPT}", "a", encoding="utf-8"):
        pass


class Cleaner:
    """The process that cleans up after this one."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(os.getpid()), folder],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def end(self):
        """Everything is gone afterwards."""
        self._process.stdin.close()
        self._process.wait()


def command_of(pid):
    """Of a process; empty: it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _is_lab(pid):
    """A number may have been given to another process since."""
    return "lab.py" in command_of(pid)


def _remove_folder(folder):
    if os.path.exists(f"{folder}/{KEPT}"):
        return
    for _ in range(TRIES):  # those who write there are just being killed
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.05)


def remove_leftovers(place):
    """Of labs that are gone; their folders were in `place`."""
    for owner in netns.owners():
        if not _is_lab(owner):
            netns.remove(netns.owned_by(owner))
    for entry in os.listdir(place):
        match = _FOLDER.fullmatch(entry)
        if match and not _is_lab(int(match[1])):
            _remove_folder(os.path.join(place, entry))


def main(owner, folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    for _ in range(TRIES):  # a child of the lab's that was just being started may still make one
        netns.remove(netns.owned_by(owner))
        if not netns.owned_by(owner):
            break
    _remove_folder(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
