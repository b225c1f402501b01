#!/usr/bin/env python3
"""Breaks real runs at random moments, and checks that nothing is lost: one origin, one coordinator, three agents as
real processes; a schedule drawn from a seed kills, freezes and restarts agents, and kills, interrupts and resumes the
coordinator. Where the agents are hosts (network namespaces), it also cuts their links, in one or both directions, and
pulls their plugs. Afterwards every index has exactly one record, and the outcomes are those of an undisturbed run.

A schedule that fails is printed with the command that runs it again, and its folder is kept.
"""

import argparse
import concurrent.futures
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import cleaner
import clocks
import ledger
import netns
import places
import schedule

# Hosts whose outcome does not depend on time, whoever asks them and whenever.
KINDS = [
    "http://h{}.example/",
    "http://h{}.status-404.conformance.test/",
    "http://h{}.example/b",
    "http://h{}.answers-after-one-second.conformance.test/",
    "http://h{}.dns-nxdomain.conformance.test/",
    "http://h{}.connect-refused.conformance.test/",
    "https://h{}.example/",
    "http://h{}.redirect-301.conformance.test/",
    "http://h{}.example/c",
    "http://h{}.body-shorter-than-announced.conformance.test/",
    "no url {}",
]
CONCURRENCY = 3
TIMEOUT_S = 30  # far above what a busy machine needs, so that it decides no outcome
RUN_LIMIT_S = 180
STOP_LIMIT_S = 30
MOST_RESUMES = 60
SESSION = "-- session at "  # before each in the coordinator's log


def make_list(count):
    lines = [KINDS[i % len(KINDS)].format(i) for i in range(count)]
    return lines, [None if " " in line else line for line in lines]


class Coordinator:
    """One run, through all its coordinators."""

    def __init__(self, programs, place, folder, list_path):
        self._program = f"{programs}/fetchbench-coordinator"
        self._place = place
        self._list = list_path
        self._log = open(f"{folder}/coordinator.log", "ab+")
        self._out = f"{folder}/out"
        self._process = None
        self.kept = {}  # records that must stay as they are
        self.resumes = 0

    @property
    def folder(self):
        return os.path.realpath(f"{self._out}/latest")

    @property
    def alive(self):
        return self._process.poll() is None

    def begin(self):
        agents = ",".join(agent.address for agent in self._place.agents)
        self._start(
            ["run", "native", "--urls", self._list, "--origin", self._place.origin, "--agents", agents]
            + [*self._place.coordinator_options]
            + ["--concurrency", str(CONCURRENCY), "--timeout", str(TIMEOUT_S)]
            + ["--grace", str(schedule.GRACE_S), "--silence", str(schedule.SILENCE_S)]
        )

    def _start(self, arguments):
        self._log.write(f"{SESSION}{time.time():.3f} {shlex.join(arguments)}\n".encode())
        self._log.flush()
        common = ["--out", self._out, "--progress", "plain", "--format", "json"]
        self._process = places.start(
            [self._program, *arguments, *common], self._log, namespace=self._place.coordinator_namespace
        )

    def resume(self):
        """Goes on, or begins again when there was not yet anything to go on with."""
        if not os.path.exists(f"{self.folder}/resume.json"):
            self.begin()
            return
        self.resumes += 1
        self.kept.update(ledger.committed(self.folder))
        self._start(["resume", "--connect-timeout", "2"])

    def taken_back(self):
        """What its sessions told of that, each: {agent: how many URLs}."""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        return [ledger.taken_back(session) for session in text.split(SESSION)[1:]]

    def signal(self, number):
        places.send([self._process.pid], number)

    def wait(self, limit_s):
        return self._process.wait(limit_s)

    def end(self):
        if self._process and self.alive:
            self.signal(signal.SIGKILL)
            self._process.wait()
        self._log.close()


class Player:
    """Does what a schedule says to one run. Steps are undone when their time has come, whatever else goes on."""

    def __init__(self, place, coordinator):
        self._agents = place.agents
        self._coordinator_link = place.coordinator_link
        self._coordinator = coordinator
        self._undo = []  # (when, what)
        self._slow = {}  # agent: until when
        self._resume_by = None  # a resume is due: when the coordinator must have stopped

    def play(self, steps):
        now = time.monotonic()
        for step in steps:
            now += step.after_s
            self._pass_time(now)
            self._do(step)
        while self._undo:  # what is undone may want another look
            self._pass_time(max(when for when, _ in self._undo))

    def _pass_time(self, until):
        while True:
            due = [u for u in self._undo if u[0] <= until]
            wake = min([when for when, _ in due], default=until)
            time.sleep(max(0.0, wake - time.monotonic()))
            if not due:
                return
            for entry in sorted((u for u in due if u[0] <= wake), key=lambda u: u[0]):
                self._undo.remove(entry)
                entry[1]()

    def _later(self, seconds, what):
        self._undo.append((time.monotonic() + seconds, what))

    def _do(self, step):
        if step.what in schedule.LINK_TROUBLES:
            link = self._coordinator_link if step.agent < 0 else self._agents[step.agent].link
            if not link.broken:
                link.suffer(step.what)
                self._later(step.lasting_s, link.heal)
            return
        if step.agent < 0:
            self._to_coordinator(step)
            return
        agent = self._agents[step.agent]
        if agent.frozen or not agent.alive or agent in self._slow:
            return  # it suffers already
        if step.what == "slow":
            self._slow[agent] = time.monotonic() + step.lasting_s
            self._stand_still(agent)
            return
        {"kill": agent.kill, "terminate": agent.terminate, "freeze": agent.freeze}[step.what]()
        self._later(step.lasting_s, agent.mend)

    def _stand_still(self, agent):
        agent.freeze()
        self._later(schedule.SLOW_STILL_S, lambda: self._limp(agent))

    def _limp(self, agent):
        agent.mend()
        if time.monotonic() < self._slow[agent]:
            self._later(schedule.SLOW_GOES_S, lambda: self._stand_still(agent))
        else:
            del self._slow[agent]

    def _to_coordinator(self, step):
        if not self._coordinator.alive:
            return
        if step.what == "freeze":
            self._coordinator.signal(signal.SIGSTOP)
            self._later(step.lasting_s, lambda: self._coordinator.signal(signal.SIGCONT))
            return
        self._coordinator.signal(signal.SIGKILL if step.what == "kill" else signal.SIGINT)
        # One that is frozen hears the rest when it goes on; one that is stopped twice is resumed once.
        if self._resume_by is None:
            self._resume_by = time.monotonic() + step.lasting_s + STOP_LIMIT_S
            self._later(step.lasting_s, self._resume)

    def _resume(self):
        """Once it has stopped; meanwhile everything else goes on."""
        self._coordinator.signal(signal.SIGCONT)
        if self._coordinator.alive:
            if time.monotonic() > self._resume_by:
                raise ledger.Unbalanced(f"the coordinator did not stop within {STOP_LIMIT_S} s")
            self._later(0.1, self._resume)
            return
        self._resume_by = None
        if self._coordinator.wait(0) != 0:
            self._coordinator.resume()


def finish(coordinator):
    """To the end; what was interrupted or found no agent is resumed."""
    deadline = time.monotonic() + RUN_LIMIT_S
    while True:
        try:
            code = coordinator.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise ledger.Unbalanced(f"the run did not end within {RUN_LIMIT_S} s") from error
        if code == 0:
            return
        # Killed or interrupted by a step of the schedule, or no agent was there when it was resumed.
        if code not in (-signal.SIGKILL, 130, 3) or coordinator.resumes >= MOST_RESUMES:
            raise ledger.Unbalanced(f"the coordinator ended with exit code {code}")
        coordinator.resume()


class Lab:
    def __init__(self, options, folder, no_namespaces, right_clocks):
        """`no_namespaces`: why there can be none; None: there can. `right_clocks`: the same of clocks that are off."""
        self._options = options
        self._right_clocks = right_clocks
        self._folder = folder
        self._no_namespaces = no_namespaces
        lines, self.urls = make_list(options.urls)
        self._list = f"{folder}/list"
        with open(self._list, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        self._fleet = None if no_namespaces else places.make_fleet(folder, schedule.AGENTS)
        self._origin = places.Origin(options.bin, folder)
        self._expected = None
        self._say = threading.Lock()
        self.moved = self.resumed = 0  # schedules in which that happened

    def end(self):
        self._origin.end()

    def place_of(self, seed):
        """Where a seed's run is: half of them here, half there."""
        if self._no_namespaces:
            return "loopback"
        if self._options.place != "both":
            return self._options.place
        return "namespaces" if seed % 2 else "loopback"

    def clocks_of(self, seed):
        return [0] * schedule.AGENTS if self._right_clocks else clocks.draw(seed, schedule.AGENTS)

    def _make_place(self, where, folder, ahead_s):
        if where == "loopback":
            return places.Loopback(self._options.bin, folder, ahead_s, self._origin)
        return places.Namespaces(self._options.bin, folder, ahead_s, self._fleet, os.getpid())

    def run(self, name, where, steps, ahead_s):
        """One run in a folder of its own; its summary, and how many URLs lost their agent in all its sessions.
        `ahead_s`: the clock of each agent."""
        began = time.time()
        folder = f"{self._folder}/{name}"
        os.mkdir(folder, 0o700)  # or an agent would not listen on a socket in it
        place = self._make_place(where, folder, ahead_s)
        coordinator = Coordinator(self._options.bin, place, folder, self._list)
        try:
            coordinator.begin()
            Player(place, coordinator).play(steps)
            for agent in place.agents:
                agent.mend()
            finish(coordinator)
            expected = self._expected or ledger.counts(coordinator.folder)
            told = coordinator.taken_back()
            summary = ledger.check(coordinator.folder, self.urls, expected, coordinator.kept, told[-1])
            clocks.check(coordinator.folder, [a.name_in_run for a in place.agents], ahead_s, began, time.time())
            return summary, sum(sum(session.values()) for session in told)
        finally:
            coordinator.end()
            place.end()

    def measure(self, where):
        """What an undisturbed run comes to."""
        name = f"undisturbed-{where}"
        summary, moved = self.run(name, where, [], [0] * schedule.AGENTS)
        if summary["degraded"] or moved:
            raise ledger.Unbalanced(f"nothing was done to it, but it is degraded: {summary['reason']}")
        return ledger.counts(os.path.realpath(f"{self._folder}/{name}/out/latest"))

    def expect(self, counts):
        """`counts`: from measure(), of each place; the same everywhere."""
        if any(other != counts[0] for other in counts):
            raise ledger.Unbalanced(f"undisturbed runs differ: {counts}")
        self._expected = counts[0]

    def try_seed(self, seed):
        """Whether the ledger balanced."""
        where = self.place_of(seed)
        steps = schedule.draw(seed, links=where == "namespaces")
        ahead_s = self.clocks_of(seed)
        began = time.monotonic()
        try:
            summary, moved = self.run(f"seed-{seed}", where, steps, ahead_s)
        except Exception as error:  # noqa: BLE001 - whatever it was, the seed is to be named
            self._tell_failure(seed, where, steps, ahead_s, error)
            return False
        took = time.monotonic() - began
        with self._say:
            print(
                f"seed {seed}, {where}: balanced after {len(steps)} faults, {took:.1f} s; resumed {summary['resumed']} "
                f"times, {moved} URLs moved, {summary['ledger']['duplicates_dropped']} second records dropped"
                f"{'; degraded' if summary['degraded'] else ''}",
                flush=True,
            )
            self.moved += moved > 0
            self.resumed += summary["resumed"] > 0
        if not self._options.keep:
            shutil.rmtree(f"{self._folder}/seed-{seed}", ignore_errors=True)
        return True

    def _tell_failure(self, seed, where, steps, ahead_s, error):
        cleaner.keep(self._folder)
        command = [os.path.abspath(__file__), "--bin", self._options.bin, "--seed", str(seed), "--place", where]
        again = shlex.join([*command, "--urls", str(self._options.urls)])
        with self._say:
            print(f"seed {seed} FAILED, {where}: {type(error).__name__}: {error}")
            print(f"    clocks ahead by: {', '.join(f'{ahead} s' for ahead in ahead_s)}")
            for step in steps:
                print(f"    {step}")
            print(f"    folder: {self._folder}/seed-{seed}")
            print(f"    again:  {again}", flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs (default: %(default)s)")
    parser.add_argument("--schedules", type=int, default=20, help="how many seeds (default: %(default)s)")
    parser.add_argument("--first", type=int, default=1, help="the first of them (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument(
        "--place",
        choices=["both", "loopback", "namespaces"],
        default="both",
        help="where agents and coordinator are: side by side, or each in a network namespace, which wants root, ip and "
        "iptables; both: odd seeds in namespaces, where there can be any (default: %(default)s)",
    )
    parser.add_argument("--urls", type=int, default=440, help="length of the list (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=4, help="schedules at a time (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of those that balance, too")
    options = parser.parse_args(arguments)
    options.bin = os.path.abspath(options.bin)
    return options


def reason_against_namespaces(options):
    """None: there will be some."""
    if options.place == "loopback":
        return "not asked for"
    reason = netns.why_not()
    if reason:
        print(f"no network namespaces here ({reason}): all schedules on loopback, without cut links", flush=True)
    return reason


def run_lab(options, folder):
    """Whether each schedule balanced, and the lab."""
    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.schedules)
    right_clocks = clocks.why_not(options.bin)
    if right_clocks:
        print(f"the agents' clocks are all right ({right_clocks})", flush=True)
    lab = Lab(options, folder, reason_against_namespaces(options), right_clocks)
    try:
        # Their threads start processes that die with the thread's end: each stays until all are done.
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            lab.expect(list(pool.map(lab.measure, sorted({lab.place_of(seed) for seed in seeds}))))
            return list(pool.map(lab.try_seed, seeds)), lab
    finally:
        lab.end()


def main(arguments):
    options = parse(arguments)
    # At once; the cleaner sees to the rest.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    cleaner.remove_leftovers(tempfile.gettempdir())
    folder = cleaner.make_folder()
    of_this_lab = cleaner.Cleaner(folder)
    if options.keep:
        cleaner.keep(folder)
    try:
        began = time.monotonic()
        balanced, lab = run_lab(options, folder)
        took = time.monotonic() - began
    finally:
        of_this_lab.end()
    failed = balanced.count(False)
    print(
        f"{len(balanced) - failed} of {len(balanced)} schedules balanced in {took:.0f} s; URLs lost their agent in "
        f"{lab.moved}, the run was resumed in {lab.resumed}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
