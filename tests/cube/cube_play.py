"""Long random play of CUBE as a digest; run as a program: ``cube_play.py AGENTS LEVEL SEED STEPS [HORIZON]``."""

from __future__ import annotations

import hashlib
import sys

from emcoop.core.seeds import Stream
from emcoop.envs.cube.env import make


def digest(agents: int, level: str, seed: int, steps: int) -> str:
    """The hash over every snapshot of a play biased to the right."""
    env = make(agents, level, horizon=steps + 1)
    stream = Stream.named(seed, "test")
    state = env.reset(seed)
    found = hashlib.sha256(env.snapshot(state))
    for _ in range(steps):
        way = stream.below(5)
        joint = {agent: way if stream.below(3) else stream.below(5) for agent in env.agents}
        transition = env.step(state, joint)
        state = transition.state
        found.update(env.snapshot(state))
        found.update(repr((sorted(transition.rewards.items()), transition.terminated, transition.events)).encode())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
