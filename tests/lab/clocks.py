"""Clocks of hosts that are off, by libfaketime: what a program takes for the time of day is, its monotonic clock is not.
Such a host also has another boot id than this one, for those with one boot id have one clock."""

import ctypes
import glob
import json
import random
import os
import sqlite3
import subprocess

# Far above what a frozen host or a busy machine adds to a measured offset, far below the offsets that are drawn.
TOLERANCE_S = 15.0
# Minutes; certificates are valid from an hour before they are issued on.
LEAST_S, MOST_S = 90, 1800
_LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"
_BOOT_ID = b"/proc/sys/kernel/random/boot_id"
_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


class WrongTime(Exception):
    """Of an agent's clock or of a record's start."""


def why_not(programs):
    """Why no clock can be off here; None: it can."""
    if not glob.glob(_LIBRARY):
        return "no libfaketime"
    if os.geteuid() != 0:
        return "a boot id of its own wants root"
    linked = subprocess.run(["ldd", f"{programs}/fetchbench-agent"], capture_output=True, text=True, check=False).stdout
    # Its runtime wants to be the first library of the program.
    return "these programs have AddressSanitizer in them" if "libasan" in linked else None


def draw(seed, agents):
    """How far each agent's clock is ahead, in seconds: of about every second one it is right (0). Pure."""
    rng = random.Random(f"clocks of {seed}")
    return [rng.choice([0, 1]) * rng.choice([-1, 1]) * rng.randint(LEAST_S, MOST_S) for _ in range(agents)]


def environment(ahead_s):
    """What a program gets, with all that it starts, so that its clock is that much ahead."""
    if ahead_s == 0:
        return {}
    return {
        "LD_PRELOAD": glob.glob(_LIBRARY)[0],
        "FAKETIME": f"{ahead_s:+d}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        # Else the children of a process that is killed leave a semaphore each.
        "FAKETIME_DISABLE_SHM": "1",
    }


def boot_another(file):
    """Gives the calling process, before it becomes a program, what is in that file for a boot id."""
    for done in (
        _libc.unshare(_CLONE_NEWNS),
        _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None),
        _libc.mount(os.fsencode(file), _BOOT_ID, None, _MS_BIND, None),
    ):
        if done != 0:
            raise OSError(ctypes.get_errno(), "cannot have a boot id of its own")


def check(folder, names, ahead_s, began_s, ended_s):
    """That the offsets of agents were measured, and that starts of fetches are in the coordinator's time: between those
    two. `names`: of the agents, in the run."""
    with open(f"{folder}/run.json", encoding="utf-8") as file:
        agents = json.load(file)["agents"]
    # Of those that the last session did not hear of, it tells none.
    told = {agent["name"]: agent["clock_offset_ms"] / 1000 for agent in agents if "clock_offset_ms" in agent}
    for name, ahead in zip(names, ahead_s):
        if name in told and abs(told[name] - ahead) > TOLERANCE_S:
            raise WrongTime(f"the clock of {name} is {ahead} s ahead, but run.json says {told[name]} s")
    connection = sqlite3.connect(f"file:{folder}/records.db?mode=rw", uri=True, timeout=30)
    try:
        first, last = connection.execute("SELECT min(start_us), max(start_us) FROM record WHERE start_us > 0").fetchone()
    finally:
        connection.close()
    if first / 1e6 < began_s - TOLERANCE_S or last / 1e6 > ended_s + TOLERANCE_S:
        raise WrongTime(
            f"fetches start {first / 1e6 - began_s:.1f} s after the run began, and {last / 1e6 - ended_s:.1f} s after it ended"
        )
