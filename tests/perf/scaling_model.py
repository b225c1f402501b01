#!/usr/bin/env python3
"""What a run over many agents needs of its coordinator, by a model: docs/scaling.md says how far to trust it.

    tests/perf/scaling_model.py [--agents 1000] [--urls 10000000] [--concurrency 100] ...

Two parts. The first multiplies figures that bin/perf fleet_50 measures (the defaults of the options, which say so)
to another number of agents and URLs. The second plays coordinator/run/lease_book.cc and agent/credit.h in steps of
50 ms: who gets which part of which partition, and what is lost when partitions run out at the end. In it every
agent is a fluid of constant rate, so waits that come from single slow fetches are not in it.
"""

import argparse
import heapq
import random
from collections import deque

PARTITIONS = 4096  # coordinator/input/url_chunk.h
CHUNK = 128  # coordinator/input/url_spool.h
STEP = 0.05  # seconds; agents look for credit as often
MIB = 1 << 20


def spread(urls, partitions, rng):
    """How many of the hosts hash into each partition; one by one, or by the normal law when they are many."""
    if urls <= 100 * partitions:
        left = [0] * partitions
        for _ in range(urls):
            left[rng.randrange(partitions)] += 1
        return left
    mean = urls / partitions
    left = [round(rng.gauss(mean, mean**0.5)) for _ in range(partitions)]
    left[0] = max(0, left[0] + urls - sum(left))
    return left


class Book:
    """The lease book: a partition belongs to one agent at a time; free ones first, the fullest first."""

    def __init__(self, urls, partitions, agents, seed):
        left = spread(urls, partitions, random.Random(seed))
        self.left = left  # not lent
        self.waiting = [0] * partitions  # of them: the rest of a chunk that was lent in part; goes first
        self.parts = [0] * partitions  # leases that are out
        self.holder = [None] * partitions
        self.free = [(-n, p) for p, n in enumerate(left) if n]
        self.own = [[] for _ in range(agents)]
        heapq.heapify(self.free)

    def key(self, p):
        return (-self.left[p] - (1 << 40 if self.waiting[p] else 0), p)

    def file(self, p):
        if self.left[p]:
            heapq.heappush(self.free if self.holder[p] is None else self.own[self.holder[p]], self.key(p))

    def top(self, heap, owner):
        while heap:
            key, p = heap[0]
            if self.left[p] and self.holder[p] == owner and key == self.key(p)[0]:
                return p
            heapq.heappop(heap)
        return None

    def lend(self, agent, wanted):
        p = self.top(self.free, None)
        if p is None:
            p = self.top(self.own[agent], agent)
        if p is None:
            return None
        chunk = self.waiting[p] or min(CHUNK, self.left[p])
        size = min(chunk, wanted)
        self.waiting[p] = chunk - size
        self.left[p] -= size
        self.holder[p] = agent
        self.parts[p] += 1
        self.file(p)
        return p, size

    def done(self, p):
        self.parts[p] -= 1
        if self.parts[p] == 0:
            self.holder[p] = None
            self.file(p)


def play(urls, agents, concurrency, mean_s, seed):
    """Seconds until all is recorded, seconds of agents that waited for work while there was some, most held."""
    book = Book(urls, PARTITIONS, agents, seed)
    rate = concurrency / mean_s
    window = concurrency + min(max(rate * 0.5, max(concurrency, 64)), 65536)
    queues = [deque() for _ in range(agents)]  # [partition, URLs left]
    held = [0.0] * agents
    recorded, idle, now = 0, 0.0, 0.0
    total = sum(book.left)
    order = list(range(agents))
    while recorded < total:
        for agent in order:
            while window - held[agent] >= window / 4:
                lease = book.lend(agent, int(window - held[agent]))
                if lease is None:
                    break
                queues[agent].append([lease[0], lease[1]])
                held[agent] += lease[1]
            room = min(held[agent], rate * STEP)
            idle += STEP - room / rate
            queue = queues[agent]
            while queue and room > 0:
                took = min(room, queue[0][1])
                queue[0][1] -= took
                held[agent] -= took
                room -= took
                if queue[0][1] <= 1e-6:
                    book.done(queue.popleft()[0])
        now += STEP
        recorded = total - sum(book.left) - sum(held)
        if total - recorded < 0.5:
            break
        order.append(order.pop(0))
    return now, idle, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say = lambda text: text + " (default: %(default)s)"
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--concurrency", type=int, default=100, help=say("for each agent"))
    parser.add_argument("--mean-ms", type=float, default=680, help=say("of a fetch: the published run's"))
    parser.add_argument("--cpu-us-url", type=float, default=0, help=say("coordinator, a URL; measured"))
    parser.add_argument("--cpu-ms-agent", type=float, default=0, help=say("coordinator, an agent and run; measured"))
    parser.add_argument("--base-mib", type=float, default=0, help=say("coordinator's memory, one agent; measured"))
    parser.add_argument("--kib-agent", type=float, default=0, help=say("memory, each further agent; measured"))
    parser.add_argument("--wire-bytes", type=float, default=0, help=say("over the network, a URL; measured"))
    parser.add_argument("--disk-bytes", type=float, default=0, help=say("in records.db, a URL; measured"))
    parser.add_argument("--image-mb", type=float, default=50, help=say("sent to each agent; assumed"))
    parser.add_argument("--uplink-mbit", type=float, default=100, help=say("of the coordinator; assumed"))
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()

    ideal = a.urls * a.mean_ms / 1000 / (a.agents * a.concurrency)
    took, idle, total = play(a.urls, a.agents, a.concurrency, a.mean_ms / 1000, a.seed)
    rate = total / took
    print(f"agents {a.agents}, URLs {a.urls:,}, {a.concurrency} in flight each, {a.mean_ms:g} ms a fetch")
    print(f"ideal time            {ideal:10.1f} s")
    print(f"with leases           {took:10.1f} s   ({took / ideal - 1:.1%} more)")
    print(f"agents without work   {idle / (a.agents * took):10.1%}")
    print(f"URLs a second         {rate:10,.0f}")
    print(f"coordinator CPU       {rate * a.cpu_us_url / 1e6:10.2f} CPUs while it runs")
    print(f"  to begin and end    {a.agents * a.cpu_ms_agent / 1000:10.1f} s")
    print(f"coordinator memory    {a.base_mib + a.agents * a.kib_agent / 1024:10.0f} MiB")
    print(f"network               {rate * a.wire_bytes * 8 / 1e6:10.0f} Mbit/s, both ways together")
    print(f"records.db            {a.urls * a.disk_bytes / 1e9:10.2f} GB, {rate * a.disk_bytes / 1e6:.0f} MB/s")
    print(f"sending images        {a.agents * a.image_mb * 8 / a.uplink_mbit:10,.0f} s at {a.uplink_mbit:g} Mbit/s")


if __name__ == "__main__":
    main()
