#!/usr/bin/env python3
"""The lab itself: the same seed is the same schedule, a run that does not add up is found, and whatever becomes of a
lab, nothing of it stays. `lab_test.py BIN`: BIN is the folder of the programs."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import cleaner
import clocks
import ledger
import netns
import schedule

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 60
PROGRAMS = ""
NAMESPACES = netns.why_not() is None


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to be")
        time.sleep(0.05)


class ScheduleTest(unittest.TestCase):
    def test_a_seed_is_always_the_same_schedule(self):
        for links in (False, True):
            self.assertEqual(schedule.draw(7, links), schedule.draw(7, links))
            self.assertNotEqual(schedule.draw(7, links), schedule.draw(8, links))

    def test_links_are_cut_only_where_there_are_some(self):
        def done(links):
            return {step.what for seed in range(200) for step in schedule.draw(seed, links)}

        processes = {"kill", "terminate", "freeze", "slow", "interrupt"}
        self.assertEqual(done(False), processes)
        self.assertEqual(done(True), processes | schedule.LINK_TROUBLES)

    def test_links_are_cut_for_less_and_for_more_than_an_agent_may_stay_away(self):
        cuts = [s.lasting_s for seed in range(200) for s in schedule.draw(seed, True) if s.what == "cut"]
        away = schedule.SILENCE_S + schedule.GRACE_S
        self.assertTrue(any(cut < schedule.SILENCE_S for cut in cuts))
        self.assertTrue(any(schedule.SILENCE_S < cut < away for cut in cuts))
        self.assertTrue(any(cut > away for cut in cuts))


class ClocksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_of(self, offset_s, start_s):
        """An agent's offset and a fetch's start, as a run tells them."""
        with open(f"{self.folder}/run.json", "w", encoding="utf-8") as file:
            json.dump({"agents": [{"name": "a", "clock_offset_ms": offset_s * 1000}]}, file)
        connection = sqlite3.connect(f"{self.folder}/records.db")
        connection.execute("CREATE TABLE IF NOT EXISTS record(start_us INTEGER)")
        connection.execute("INSERT INTO record VALUES (?)", [int(start_s * 1e6)])
        connection.commit()
        connection.close()

    def test_a_seed_has_always_the_same_clocks_right_and_wrong(self):
        self.assertEqual(clocks.draw(7, 3), clocks.draw(7, 3))
        drawn = [ahead for seed in range(100) for ahead in clocks.draw(seed, 3)]
        self.assertIn(0, drawn)
        self.assertLess(min(drawn), -clocks.LEAST_S)
        self.assertGreater(max(drawn), clocks.LEAST_S)

    def test_starts_by_the_coordinators_clock_are_right(self):
        self.run_of(offset_s=300.1, start_s=1005)
        clocks.check(self.folder, ["a"], [300], 1000, 1010)

    def test_an_offset_that_is_not_measured_is_found(self):
        self.run_of(offset_s=0, start_s=1005)
        with self.assertRaises(clocks.WrongTime):
            clocks.check(self.folder, ["a"], [300], 1000, 1010)

    def test_a_start_that_is_not_corrected_is_found(self):
        self.run_of(offset_s=300, start_s=1305)
        with self.assertRaises(clocks.WrongTime):
            clocks.check(self.folder, ["a"], [300], 1000, 1010)


class LedgerTest(unittest.TestCase):
    def summary(self, **changes):
        agent = {"name": "agent1", "lost": False, "reconnects": 0, "urls_moved": 0}
        agent.update(changes.pop("agent", {}))
        said = {"degraded": False, "marks": [], "resumed": 0, "ledger": {"requested_again": 0}, "disturbed_earlier": []}
        return {**said, "agents": [agent], **changes}

    def disturbed(self, text):
        marks = [{"name": "degraded", "text": text}]
        return self.summary(degraded=True, marks=marks, agent={"reconnects": 1, "urls_moved": 12})

    def test_who_lost_how_much_is_said(self):
        said = "0 of 3 agents lost: agent1 came back 1 time (no answer; none: agent1), 12 URLs moved"
        ledger.check_degraded(self.disturbed(said), {"agent1": 12})

    def test_what_is_not_said_is_found(self):
        for text in (": agent1 came back 1 time", ": agent0 came back 1 time, 12 URLs moved"):
            with self.assertRaises(ledger.Unbalanced):
                ledger.check_degraded(self.disturbed(text), {})

    def test_agents_of_earlier_sessions_are_said_too(self):
        earlier = [{"name": "agent1", "lost": True, "reconnects": 0, "urls_moved": 1012}]
        now = ": agent1 came back 1 time, 12 URLs moved"
        before = "before the run was resumed: agent1 lost (no answer), 1,012 URLs moved"
        for text in (f"{now}; {before}", f": {before}"):
            summary = self.disturbed(text)
            if now not in text:
                summary["agents"] = []
            ledger.check_degraded({**summary, "disturbed_earlier": earlier}, {})
        for text in (now, before, f"{now}; before the run was resumed: agent1 lost"):
            with self.assertRaises(ledger.Unbalanced):
                ledger.check_degraded({**self.disturbed(text), "disturbed_earlier": earlier}, {})

    def test_a_move_that_only_the_log_knows_is_found(self):
        log = "coordinator: warning: 1,012 URLs were taken back from agent agent1\n"
        self.assertEqual(ledger.taken_back(log), {"agent1": 1012})
        with self.assertRaises(ledger.Unbalanced):
            ledger.check_degraded(self.summary(), ledger.taken_back(log))

    def test_what_was_asked_for_again_was_lost_by_somebody_or_in_an_earlier_session(self):
        again = {"requested_again": 1}
        ledger.check_degraded(self.summary(ledger=again, resumed=1), {})
        with self.assertRaises(ledger.Unbalanced):
            ledger.check_degraded(self.summary(ledger=again), {})

    def test_a_disturbance_without_the_word_is_found(self):
        with self.assertRaises(ledger.Unbalanced):
            ledger.check_degraded(self.summary(agent={"reconnects": 1}), {})


class LeftoversTest(unittest.TestCase):
    """Of a lab that does not come to its end."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="fetchbench-lab-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def start_lab(self):
        lab = subprocess.Popen(
            [f"{HERE}/lab.py", "--bin", PROGRAMS, "--place", "namespaces"],
            env={**os.environ, "TMPDIR": self.place},
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(lab.wait)
        self.addCleanup(lab.kill)
        return lab

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]

    def gone(self, lab):
        return not netns.owned_by(lab.pid) and not os.listdir(self.place)

    def at_work(self, lab):
        """Agents listen, in namespaces where there can be any."""
        if NAMESPACES and not netns.owned_by(lab.pid):
            return False
        for folder, _, files in os.walk(self.place):
            for file in files:
                if file.startswith("agent") and file.endswith(".log") and os.path.getsize(f"{folder}/{file}"):
                    return True
        return False

    def test_a_killed_lab_leaves_nothing(self):
        lab = self.start_lab()
        wait_for(lambda: self.at_work(lab))
        processes = [child for child in self.children(lab.pid) if self.runs(child)]
        self.assertTrue(processes)
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        lab.kill()
        lab.wait()
        wait_for(lambda: self.gone(lab))
        wait_for(lambda: not any(self.runs(pid) for pid in processes))

    def runs(self, pid):
        return PROGRAMS in cleaner.command_of(pid)

    def test_an_interrupted_lab_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            lab = self.start_lab()
            wait_for(lambda lab=lab: self.at_work(lab))
            lab.send_signal(number)
            self.assertEqual(lab.wait(), -number)
            wait_for(lambda lab=lab: self.gone(lab))

    @unittest.skipUnless(NAMESPACES, "no network namespaces here")
    def test_what_both_a_lab_and_its_cleaner_left_is_removed_by_the_next(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        network = netns.Network(ended.pid, "left", {"a": ["10.77.0.1"], "b": ["10.77.0.2"]})
        self.addCleanup(network.remove)
        left = f"{self.place}/fetchbench-lab-{ended.pid}-left"
        kept = f"{self.place}/fetchbench-lab-{ended.pid}-kept"
        for folder in (left, kept):
            os.mkdir(folder)
        cleaner.keep(kept)
        lasting = subprocess.Popen(["sleep", "300"], preexec_fn=lambda: netns.enter(network.namespace("a")))
        cleaner.remove_leftovers(self.place)
        self.assertEqual(lasting.wait(), -signal.SIGKILL)
        self.assertEqual(netns.owned_by(ended.pid), [])
        self.assertEqual(os.listdir(self.place), [os.path.basename(kept)])


if __name__ == "__main__":
    PROGRAMS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
