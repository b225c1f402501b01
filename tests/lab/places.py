"""Where the programs of a run live. Loopback: side by side on this machine. Namespaces: each a host of its own, on
links that can be cut."""

import ctypes
import json
import os
import signal
import subprocess
import time
import uuid

import clocks
import netns

READY_S = 30
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def start(arguments, log, stdout=None, namespace=None, environment=None, boot_id=None):
    """A child that does not outlive this program, not even stopped, and that its terminal's Ctrl-C does not reach; in
    that network namespace. `environment`: what it gets besides ours. `boot_id`: the file that has its."""

    def prepare():
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if namespace:
            netns.enter(namespace)
        if boot_id:
            clocks.boot_another(boot_id)

    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=stdout or log,
        stderr=log,
        start_new_session=True,
        preexec_fn=prepare,
        env={**os.environ, **(environment or {})},
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

    def __init__(self, name, program, folder, listen, credentials=None, namespace=None, link=None, ahead_s=0):
        """`listen`: a port 0 is the system's choice the first time. `link`: what can be cut (`Link`). `ahead_s`: how far
        its clock is."""
        self.name = name
        self.link = link
        self._clock = clocks.environment(ahead_s)
        self._boot_id = None
        if ahead_s:
            self._boot_id = f"{folder}/{name}.boot-id"
            with open(self._boot_id, "w", encoding="ascii") as file:
                file.write(f"{uuid.uuid4()}\n")
        self.frozen = False
        self._program = program
        self._log = open(f"{folder}/{name}.log", "ab")
        self._listen = listen
        self._credentials = ["--credentials", credentials] if credentials else []
        self._namespace = namespace
        self._process = None

    @property
    def address(self):
        """As the coordinator takes it; with credentials it also wants the name in the certificate."""
        return f"{self.name}={self._listen}" if self._credentials else self._listen

    @property
    def name_in_run(self):
        return self.name if self._credentials else self._listen

    @property
    def alive(self):
        return self._process is not None and self._process.poll() is None

    def begin(self):
        deadline = time.monotonic() + READY_S
        while True:
            arguments = [self._program, "--listen", self._listen, "--orphan-timeout", "60", *self._credentials]
            self._process = start(
                arguments, self._log, subprocess.PIPE, self._namespace, self._clock, self._boot_id
            )
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
        """Whatever befell it: it is there again. Its link is another matter."""
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


class Link:
    """Of one host to a peer, and what can befall it. One trouble at a time."""

    def __init__(self, network, host, peer, knows=False):
        """`knows`: the host sees that its interface is down. Else only the switch does."""
        self._undo = None
        whole = network.shut if knows else network.unplug
        self._troubles = {
            "cut": lambda on: (network.deafen(host, peer, on), network.deafen(peer, host, on)),
            "deafen": lambda on: network.deafen(host, peer, on),
            "mute": lambda on: network.deafen(peer, host, on),
            "unplug": lambda on: whole(host, on),
        }

    @property
    def broken(self):
        return self._undo is not None

    def suffer(self, what):
        trouble = self._troubles[what]
        trouble(True)
        self._undo = trouble

    def heal(self):
        if self._undo:
            self._undo(False)
        self._undo = None


class Origin:
    """The web of a run."""

    def __init__(self, programs, folder, arguments=(), namespace=None):
        self._log = open(f"{folder}/origin.log", "ab")
        self._process = start(
            [f"{programs}/fetchbench-origin", "--profile", "fast", *arguments], self._log, subprocess.PIPE, namespace
        )
        self.control = ready_line(self._process, "the origin")["control"].removeprefix("http://")

    def end(self):
        send([self._process.pid], signal.SIGTERM)
        self._process.wait()
        self._log.close()


class Loopback:
    """Agents, and the coordinator, beside an origin on this machine."""

    coordinator_namespace = None
    coordinator_options = ()
    coordinator_link = None

    def __init__(self, programs, folder, clocks_ahead_s, origin):
        """`clocks_ahead_s`: of each agent."""
        self.origin = origin.control
        program = f"{programs}/fetchbench-agent"
        # Both kinds of address.
        listen = [f"unix:{folder}/agent{i}.sock" if i == 2 else "127.0.0.1:0" for i in range(len(clocks_ahead_s))]
        self.agents = [
            Agent(f"agent{i}", program, folder, listen[i], ahead_s=ahead) for i, ahead in enumerate(clocks_ahead_s)
        ]
        for agent in self.agents:
            agent.begin()

    def end(self):
        for agent in self.agents:
            agent.end()


class Namespaces:
    """An origin, a coordinator and agents, each in a network namespace with an address of its own. The agents take
    operators of their fleet only, by mutual TLS."""

    # Its own; that where nothing listens; that where nobody is answered.
    ORIGIN = ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
    COORDINATOR = "10.77.0.10"
    FIRST_AGENT = 11

    def __init__(self, programs, folder, clocks_ahead_s, fleet, owner):
        """`owner`: process id that the namespaces are named after. `fleet`: folder of `bin/pki`, see make_fleet().
        `clocks_ahead_s`: of each agent."""
        names = [f"agent{i}" for i in range(len(clocks_ahead_s))]
        addresses = {name: [f"10.77.0.{self.FIRST_AGENT + i}"] for i, name in enumerate(names)}
        hosts = {"origin": self.ORIGIN, "coordinator": [self.COORDINATOR], **addresses}
        self.agents = []
        self._origin = None
        self._network = netns.Network(owner, os.path.basename(folder), hosts)
        self.coordinator_namespace = self._network.namespace("coordinator")
        self.coordinator_options = ("--credentials", f"{fleet}/operators/lab")
        self.coordinator_link = Link(self._network, "coordinator", "origin", knows=True)
        try:
            self._start(programs, folder, names, fleet, clocks_ahead_s)
        except BaseException:
            self.end()
            raise

    def _start(self, programs, folder, names, fleet, clocks_ahead_s):
        own, refusing, black_hole = self.ORIGIN
        self._origin = Origin(
            programs,
            folder,
            ["--listen", own, "--control", f"{own}:0"]
            + ["--refusing-address", refusing, "--black-hole-address", black_hole],
            self._network.namespace("origin"),
        )
        self.origin = self._origin.control
        for name, ahead in zip(names, clocks_ahead_s):
            agent = Agent(
                name,
                f"{programs}/fetchbench-agent",
                folder,
                f"{self._network.address(name)}:7311",
                f"{fleet}/hosts/{name}",
                self._network.namespace(name),
                Link(self._network, name, "coordinator"),
                ahead,
            )
            self.agents.append(agent)
            agent.begin()

    def end(self):
        for agent in self.agents:
            agent.end()
        if self._origin:
            self._origin.end()
        self._network.remove()


def make_fleet(folder, agents):
    """Credentials of a fleet of agents and of the operator who drives them; the folder of `bin/pki`."""
    pki = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bin/pki")
    fleet = f"{folder}/pki"
    environment = {**os.environ, "XDG_CONFIG_HOME": f"{folder}/config", "FETCHBENCH_PKI": fleet}
    hosts = [f"agent{i}" for i in range(agents)]
    for arguments in (["init", "lab", "lab"], ["host", *hosts]):
        done = subprocess.run([pki, *arguments], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"bin/pki {' '.join(arguments)} failed: {done.stderr.strip()}")
    return fleet
