"""What happens to a run, and when: drawn from a seed, the same for the same seed. Pure."""

import random
from dataclasses import dataclass

AGENTS = 3
# Away for longer than both together, an agent loses its URLs to others.
SILENCE_S = 2.0
GRACE_S = 0.7


@dataclass(frozen=True)
class Step:
    after_s: float  # since the step before
    what: str
    agent: int = -1  # -1: the coordinator
    lasting_s: float = 0.0  # until it is undone

    def __str__(self):
        whom = "coordinator" if self.agent < 0 else f"agent {self.agent}"
        lasting = f" for {self.lasting_s:.2f} s" if self.lasting_s else ""
        link = "the link of " if self.what in LINK_TROUBLES else ""
        return f"{self.after_s:.2f} s later: {self.what} {link}{whom}{lasting}"


# What can befall an agent: (weight, what, shortest, longest time until it is undone).
AGENT_FAULTS = [
    (4, "kill", 0.05, 1.5),
    (2, "terminate", 0.05, 1.5),
    (3, "freeze", 0.1, 1.0),
    (2, "freeze", SILENCE_S + 0.2, SILENCE_S + GRACE_S + 1.5),
    (1, "kill", GRACE_S + 0.3, GRACE_S + 2.0),
    (2, "slow", 1.0, 4.0),
]
# Of a slow agent: it stands still, and then goes on, again and again.
SLOW_STILL_S, SLOW_GOES_S = 0.25, 0.03
COORDINATOR_FAULTS = [
    (5, "kill", 0.02, 1.5),
    (2, "interrupt", 0.02, 1.0),
    (1, "freeze", 0.1, 1.5),
]
# What can befall the link of one that has one; "deafen": it hears nothing, "mute": it is not heard.
_UNNOTICED = (0.1, SILENCE_S - 0.3)
_WITHIN_GRACE = (SILENCE_S + 0.1, SILENCE_S + GRACE_S - 0.1)
_BEYOND_GRACE = (SILENCE_S + GRACE_S + 0.3, SILENCE_S + GRACE_S + 2.0)
AGENT_LINK_FAULTS = [
    (2, "cut", *_UNNOTICED),
    (2, "cut", *_WITHIN_GRACE),
    (3, "cut", *_BEYOND_GRACE),
    (1, "deafen", *_UNNOTICED),
    (2, "deafen", *_BEYOND_GRACE),
    (1, "mute", *_WITHIN_GRACE),
    (2, "mute", *_BEYOND_GRACE),
    (1, "unplug", *_UNNOTICED),
    (2, "unplug", *_BEYOND_GRACE),
]
# All agents are away at once.
COORDINATOR_LINK_FAULTS = [
    (1, "unplug", *_UNNOTICED),
    (2, "unplug", *_BEYOND_GRACE),
]
LINK_TROUBLES = {fault[1] for fault in AGENT_LINK_FAULTS + COORDINATOR_LINK_FAULTS}


def draw(seed, links=False):
    """The steps of one run: three to eight, the first while it is being set up or well within it. `links`: these can be
    cut, too."""
    rng = random.Random(seed)
    start_s = rng.choices([0.0, rng.uniform(1.0, 4.0)], weights=[1, 2])[0]
    steps = []
    for _ in range(rng.randint(3, 8)):
        of_coordinator = rng.random() < 0.4
        of_link = links and rng.random() < (0.25 if of_coordinator else 0.6)
        if of_coordinator:
            faults = COORDINATOR_LINK_FAULTS if of_link else COORDINATOR_FAULTS
        else:
            faults = AGENT_LINK_FAULTS if of_link else AGENT_FAULTS
        _, what, low, high = rng.choices(faults, weights=[f[0] for f in faults])[0]
        steps.append(
            Step(
                # Often close together, so that one fault meets another.
                after_s=(0.0 if steps else start_s) + rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 1.2)]),
                what=what,
                agent=-1 if of_coordinator else rng.randrange(AGENTS),
                lasting_s=rng.uniform(low, high),
            )
        )
    return steps
