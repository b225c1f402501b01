"""Where the programs of a run live. Here: all on this machine's loopback. A place with links that can be cut
(network namespaces) offers the same, and further things to do to an agent."""

import ctypes
import json
import os
import signal
import subprocess
import time

READY_S = 30
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(arguments, log, stdout=None):
    """A child that does not outlive this program, nor its terminal's Ctrl-C."""
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=stdout or log,
        stderr=log,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )


def ready_line(process, what):
    """The JSON object that a program prints when it is ready."""
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{what} ended before it was ready, exit code {process.wait()}")
    return json.loads(line)


def family(pid):
    """The process and its descendants."""
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as stat:
                parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            pass
    found = [pid]
    for member in found:
        found += [child for child, parent in parents.items() if parent == member]
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Agent:
    """One agent, which keeps its address through all its lives."""

    def __init__(self, number, program, folder):
        self.name = f"agent{number}"
        self._program = program
        self._log = open(f"{folder}/{self.name}.log", "ab")
        # Both kinds of address; a port is the system's choice the first time.
        self._listen = f"unix:{folder}/{self.name}.sock" if number == 2 else "127.0.0.1:0"
        self._process = None
        self.frozen = False

    @property
    def address(self):
        return self._listen

    @property
    def alive(self):
        return self._process is not None and self._process.poll() is None

    def begin(self):
        deadline = time.monotonic() + READY_S
        while True:
            arguments = [self._program, "--listen", self._listen, "--exit-with-parent", "--orphan-timeout", "60"]
            self._process = start(arguments, self._log, subprocess.PIPE)
            try:
                self._listen = ready_line(self._process, self.name)["listen"]
                return
            except RuntimeError:
                # Its port may be held by a connection of its last life for a moment.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def kill(self):
        send([self._process.pid], signal.SIGKILL)
        self._process.wait()

    def terminate(self):
        send([self._process.pid], signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def freeze(self):
        """As a whole host stands still: with its target."""
        self.frozen = True
        self._held = family(self._process.pid)
        send(self._held, signal.SIGSTOP)

    def thaw(self):
        self.frozen = False
        send(reversed(self._held), signal.SIGCONT)

    def mend(self):
        """Whatever befell it: it is there again."""
        if self.frozen:
            self.thaw()
        if not self.alive:
            self.begin()

    def end(self):
        if self.frozen:
            self.thaw()
        if self.alive:
            self.terminate()
        self._log.close()


class Loopback:
    """An origin and agents side by side on this machine."""

    def __init__(self, programs, folder, agents, origin=None):
        """`origin`: the control endpoint of one that runs already."""
        self._origin = None
        if origin is None:
            log = open(f"{folder}/origin.log", "ab")
            self._origin = start(
                [f"{programs}/fetchbench-origin", "--profile", "fast", "--exit-with-parent"], log, subprocess.PIPE
            )
            origin = ready_line(self._origin, "the origin")["control"].removeprefix("http://")
        self.origin = origin
        self.agents = [Agent(i, f"{programs}/fetchbench-agent", folder) for i in range(agents)]
        for agent in self.agents:
            agent.begin()

    def end(self):
        for agent in self.agents:
            agent.end()
        if self._origin:
            send([self._origin.pid], signal.SIGTERM)
            self._origin.wait()
