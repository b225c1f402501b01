"""Network namespaces of one lab, joined by a bridge, and links between them that can be cut. Every name begins with the
lab's process id, so that two labs do not meet, and what a dead one left is known for it. Nothing of it is in reach of
the machine's own network: there is neither a default route nor an interface outside the namespaces."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time

PREFIX = "fblab"
NAMES = "/run/netns"
TOOLS = ("ip", "iptables")
BRIDGE = "br0"
PORT = "eth0"
_NAME = re.compile(rf"{PREFIX}-(\d+)-.+")
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def name(owner, *words):
    """Of a namespace that the lab with process id `owner` makes."""
    return "-".join([PREFIX, str(owner), *words])


def owned_by(owner):
    """Names of all namespaces of that lab."""
    return [n for n, pid in _ours() if pid == owner]


def owners():
    """Process ids that namespaces are named after."""
    return {pid for _, pid in _ours()}


def _ours():
    entries = os.listdir(NAMES) if os.path.isdir(NAMES) else []
    return [(match[0], int(match[1])) for match in map(_NAME.fullmatch, entries) if match]


def enter(namespace):
    """Moves the calling process, which must have one thread, into a namespace: for a child before it becomes a program.
    `ip netns exec` would mount file systems besides."""
    handle = os.open(f"{NAMES}/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(handle, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter network namespace {namespace}")
    finally:
        os.close(handle)


def _call(arguments, text=None, namespace=None):
    done = subprocess.run(
        arguments,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=(lambda: enter(namespace)) if namespace else None,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr.strip()}")


def ip(lines, namespace=None):
    """Several commands of ip(8) at once, in a namespace or outside."""
    _call(["ip", *(["-n", namespace] if namespace else []), "-batch", "-"], "".join(f"{line}\n" for line in lines))


def iptables(namespace, *arguments):
    _call(["iptables", "-w", *arguments], namespace=namespace)


def why_not():
    """Why this machine can have no such namespaces; None: it can."""
    if os.geteuid() != 0:
        return "not root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {' and no '.join(missing)}"
    probe = name(os.getpid(), "probe")
    try:
        ip([f"netns add {probe}"])
        ip([f"link add {BRIDGE} type bridge", f"link add {PORT} type veth peer name port"], probe)
        iptables(probe, "-A", "INPUT", "-s", "192.0.2.1", "-j", "DROP")
    except RuntimeError as error:
        return str(error)
    finally:
        remove([probe])
    return None


def _pids(namespace):
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


def remove(namespaces):
    """With all that is in them: a namespace lives as long as a process in it does."""
    for namespace in namespaces:
        for _ in range(100):
            pids = _pids(namespace)
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not pids:
                break
            time.sleep(0.05)
        # Somebody else may have removed it meanwhile.
        subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)


class Network:
    """Hosts that are namespaces, all on one bridge. `hosts`: {name: [address, ...]}, all of one /24; a host's first
    address is what the others know it by."""

    def __init__(self, owner, label, hosts):
        self._switch = name(owner, label, "switch")
        self._namespaces = {host: name(owner, label, host) for host in hosts}
        self._addresses = {host: addresses[0] for host, addresses in hosts.items()}
        try:
            self._build(hosts)
        except BaseException:
            self.remove()
            raise

    def namespace(self, host):
        return self._namespaces[host]

    def address(self, host):
        return self._addresses[host]

    def _build(self, hosts):
        ip([f"netns add {n}" for n in [self._switch, *self._namespaces.values()]])
        cables = [
            f"link add name {host} master {BRIDGE} up type veth peer name {PORT} address {self._mac(host)} netns {namespace}"
            for host, namespace in self._namespaces.items()
        ]
        ip([f"link add {BRIDGE} up type bridge", *cables], self._switch)
        for host, addresses in hosts.items():
            # Known beforehand, as a router would be: a pulled plug is then silence and not "no such host" from our
            # own kernel. Packets to oneself go through lo.
            neighbours = [
                f"neigh replace {address} lladdr {self._mac(peer)} dev {PORT} nud permanent"
                for peer, others in hosts.items()
                for address in others
                if peer != host
            ]
            own = [f"addr add {address}/24 dev {PORT}" for address in addresses]
            ip(["link set lo up", f"link set {PORT} up", *own, *neighbours], self._namespaces[host])

    def _mac(self, host):
        return f"02:00:00:00:00:{list(self._namespaces).index(host) + 1:02x}"

    def deafen(self, host, peer, whether):
        """`host` hears nothing of `peer` any more, or again. Dropped where it arrives: the sender learns nothing."""
        rule = ["INPUT", "-s", self.address(peer), "-j", "DROP"]
        iptables(self.namespace(host), "-A" if whether else "-D", *rule)

    def unplug(self, host, whether):
        """The cable, at the switch."""
        ip([f"link set dev {host} {'down' if whether else 'up'}"], self._switch)

    def shut(self, host, whether):
        """The host's own interface, so that it knows."""
        ip([f"link set {PORT} {'down' if whether else 'up'}"], self.namespace(host))

    def remove(self):
        remove([n for n in [*self._namespaces.values(), self._switch] if os.path.exists(f"{NAMES}/{n}")])
