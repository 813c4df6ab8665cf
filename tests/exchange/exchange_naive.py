"""The rules of the exchange written a second time, as plainly as possible, to compare with.

Everything is kept in full and nothing is shared with the code under test but what the seed deals (who needs which
pieces, true values, the order of turns), which is data here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emcoop.envs.exchange.generator import Spec, needed, true_values, turn_order


class NaiveExchange:
    """Plays typed actions; `turn` says who is next."""

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec, self.seed, self.clock = spec, seed, 0
        true = true_values(seed, spec.pieces)
        self.true = dict(enumerate(true))
        self.hands: list[dict[int, int]] = [{} for _ in range(spec.agents)]
        for piece in range(spec.pieces):
            self.hands[next(a for a in range(spec.agents) if piece in spec.own(a))][piece] = self.true[piece]
        self.tasks = [{n: self.task(a, n) for n in range(spec.open_tasks)} for a in range(spec.agents)]
        self.given_out = [spec.open_tasks] * spec.agents
        self.earned = [0.0] * spec.agents
        self.bonus = [0.0] * spec.agents
        self.done = [0] * spec.agents
        self.requests: list[tuple[int, int, int]] = []
        self.debts: list[tuple[int, int, int]] = []
        self.refused: list[str] = []
        self.directory = [set(hand) for hand in self.hands]
        self.ask_for_all()

    def task(self, agent: int, number: int) -> set[int]:
        return set(needed(self.seed, agent, number, self.spec.pieces, self.spec.task_pieces))

    @property
    def turn(self) -> int:
        return turn_order(self.seed, self.clock // self.spec.agents, self.spec.agents)[self.clock % self.spec.agents]

    def play(self, actions: list[Mapping[str, Any]]) -> None:
        me, sent = self.turn, 0
        seen = set(self.tasks[me])
        ready = [n for n in self.tasks[me] if self.tasks[me][n] <= set(self.hands[me])]
        self.refused = []
        for action in actions[: self.spec.most_actions]:
            kind = action["action_type"]
            if kind in ("send", "request"):
                to = action["to"]
                names = {f"agent_{i}": i for i in range(self.spec.agents)}
                if to not in names:
                    self.refused.append("unknown_agent")
                    continue
                other, piece = names[to], action["piece"]
                if other == me:
                    self.refused.append("to_oneself")
                elif not 0 <= piece < self.spec.pieces:
                    self.refused.append("unknown_piece")
                elif kind == "request":
                    self.request(me, other, piece)
                elif piece not in self.hands[me]:
                    self.refused.append("not_held")
                elif not 0 <= action["value"] <= 100:
                    self.refused.append("value_out_of_range")
                elif self.spec.most_sends is not None and sent >= self.spec.most_sends:
                    self.refused.append("over_bandwidth")
                else:
                    sent += 1
                    self.send(me, other, piece, action["value"])
            elif kind == "submit":
                self.submit(me, action["number"], seen)
        if len(actions) > self.spec.most_actions:
            self.refused.append("too_many_actions")
        for number in ready if self.spec.auto_submit else []:
            if number in self.tasks[me]:
                self.submit(me, number, seen)
        self.requests = [r for r in self.requests if r[1] != me or r[2] not in self.hands[r[0]]]
        self.clock += 1
        if self.clock % self.spec.agents == 0:
            self.directory = [set(hand) for hand in self.hands]
            if self.clock < self.spec.horizon:
                self.ask_for_all()

    def request(self, asker: int, holder: int, piece: int, *, engine: bool = False) -> None:
        if piece in self.hands[asker]:
            self.refused.append("already_held")
        elif (asker, holder, piece) in self.requests:
            if not engine:
                self.refused.append("repeated")
        elif self.spec.auto_fulfil and piece in self.hands[holder]:
            self.hands[asker][piece] = self.hands[holder][piece]
        else:
            self.requests.append((asker, holder, piece))

    def send(self, me: int, other: int, piece: int, value: int) -> None:
        new = piece not in self.hands[other]
        self.requests = [r for r in self.requests if r != (other, me, piece)]
        if new or self.spec.overwrite:
            self.hands[other][piece] = value
        if new and self.spec.incentive:
            if self.spec.incentive_arm == "if_used":
                self.debts.append((other, piece, me))
            else:
                self.bonus[me] += self.spec.incentive
                if self.spec.incentive_arm == "by_recipient":
                    self.bonus[other] -= self.spec.incentive

    def submit(self, me: int, number: int, seen: set[int]) -> None:
        if number not in self.tasks[me] or number not in seen:
            old = 0 <= number < self.given_out[me] and number not in self.tasks[me]
            self.refused.append("already_submitted" if old else "unknown_task")
            return
        pieces = self.tasks[me][number]
        if not pieces <= set(self.hands[me]):
            self.refused.append("incomplete")
            return
        pay = self.spec.pay
        for piece in pieces:
            if self.hands[me][piece] != self.true[piece]:
                pay *= self.spec.wrong_factor
        self.earned[me] += pay
        self.done[me] += 1
        del self.tasks[me][number]
        self.tasks[me][self.given_out[me]] = self.task(me, self.given_out[me])
        self.given_out[me] += 1
        for debt in [d for d in self.debts if d[0] == me and d[1] in pieces]:
            self.bonus[debt[2]] += self.spec.incentive
            self.debts.remove(debt)

    def ask_for_all(self) -> None:
        if not self.spec.auto_request:
            return
        for agent in range(self.spec.agents):
            for pieces in [self.tasks[agent][n] for n in self.tasks[agent]]:
                for piece in sorted(pieces - set(self.hands[agent])):
                    source = next(a for a in range(self.spec.agents) if piece in self.spec.own(a))
                    self.request(agent, source, piece, engine=True)
