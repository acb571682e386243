"""A policy's moving parts: its model, the rounds that wait, and both as JSON and arrays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Final, Literal, cast

import numpy as np

from handrail import checks
from handrail.compiled import UNCOMPILED
from handrail.conservative.baseline import FROM_MEANS, FROM_REWARDS, NOTHING
from handrail.conservative.choice import (
    ACTION,
    EVENT,
    FLOOR,
    LOWER,
    MARGIN,
    MEAN,
    PROMISE,
    UPPER,
    Choice,
    promised,
)
from handrail.conservative.selection import BASELINE_EVENT
from handrail.errors import InputError
from handrail.policies.addressing import settled
from handrail.policies.fallback import fall_back, instead_of, keeps_base
from handrail.policies.identity import Identity
from handrail.policies.model import (
    Arrays,
    Model,
    OpenRound,
    choose_baseline,
    copy_model,
    count_row,
    waive,
)
from handrail.policies.models import make_model
from handrail.policies.newcomers import check_new_arm
from handrail.policies.parameters import Settings
from handrail.policies.played import Examined, Played
from handrail.policies.restoring import (
    FIELDS,
    OPEN_BASELINES,
    OPEN_FEATURES,
    dump_open,
    number,
    restore_instead,
    restore_model,
    restore_open,
)
from handrail.policies.rounds import NO_TRUTH, Round, bad_features, check_features
from handrail.records import Floats

__all__ = ["State"]

_ADDED_FEATURES: Final = "added/features"


class State:
    """What a policy has learned and counted, and the rounds whose reward may still come.

    Parameters
    ----------
    settings : Settings
        What was agreed.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.model: Model = make_model(settings)
        # Ordered, because its oldest entry must be at hand at once: a plain dict scans for it.
        self.open: OrderedDict[int, OpenRound] = OrderedDict()
        self.round = 0
        self.latest_checkpoint = 0
        self._added: list[Floats | None] = []
        self._keeps_base = keeps_base(settings)
        self._whole = True
        self.inexact = False
        """Whether it goes on from sums of an earlier version, with the rounding these have."""

    def copy(self, rounds: Iterable[OpenRound] | None = None) -> State:
        """Return a state that goes its own way, with all open rounds or only these."""
        twin = object.__new__(State)
        twin.__dict__.update(self.__dict__)
        twin.model = copy_model(self.model)
        kept = self.open.values() if rounds is None else rounds
        twin._added = list(self._added)
        twin.open = OrderedDict((each.round, each.copy()) for each in kept)
        return twin

    def check_whole(self) -> None:
        """Refuse to go on from half a step: an exception from outside (Ctrl-C) came in between."""
        if not self._whole:
            raise RuntimeError(
                "this policy was interrupted in the middle of a step; go on from the last save"
            )

    def decide(self, given: Round, copy: str) -> Choice:
        """Settle what is due, choose, count the round and keep it if it awaits a reward."""
        number = self.round + 1
        self._check_present(given)
        due = self.due()
        if due or self.settings.schedule is not None:
            # Settling what is due and awaiting a checkpoint change the state: bad features must be
            # found before, not by the model.
            check_features(self.settings, given)
        for each in due:
            self.settle(each)
        self._whole = False
        self._await_checkpoint()
        choice = self.model.decide(given)
        if UNCOMPILED:  # the interpreter hands NumPy's numbers on, which no event can hold
            choice = cast(Choice, tuple(np.asarray(each).item() for each in choice))
        action = choice[ACTION]
        if action < 0:
            self._whole = True
            raise bad_features(self.settings, given, -1 - action)
        held = choice[EVENT] == BASELINE_EVENT and self.settings.algorithm.conservative
        kept = not held or self.settings.lessons != NOTHING
        played = Played(
            number,
            copy,
            action,
            held,
            given.baseline,
            choice[FLOOR],
            choice[MEAN],
            choice[PROMISE],
            self.model.chosen(given, action) if kept else None,
            self.model.chosen(given, given.baseline) if self._keeps_base and not held else None,
        )
        self._keep(played)
        self._whole = True
        return choice

    def _check_present(self, given: Round) -> None:
        if self.model.gone.size > 0 and given.baseline >= 0 and self.model.gone[given.baseline]:
            raise InputError("baseline", f"arm {given.baseline} was retired", "name another arm")

    def check_round(self, given: Round) -> None:
        """Refuse what `decide` would refuse."""
        self._check_present(given)
        check_features(self.settings, given)

    def replay(self, played: Played) -> None:
        """Settle what is due, then count a round that was decided before, and never choose."""
        if played.round != self.round + 1:
            raise InputError(
                "round", f"{played.round} does not follow round {self.round}", "replay in order"
            )
        if self._keeps_base and not played.held and played.base is None:
            raise InputError("base", "the baseline's features are missing", "log them too")
        for each in self.due():
            self.settle(each)
        self._whole = False
        self._await_checkpoint()
        if self.settings.truth is not None:
            played = played._replace(truth=float(self.settings.truth[played.action]))
        self.model.replay(played)
        if played.features is None:  # fixed arms: the model knows them, if it wants them kept
            given = Round(None, played.baseline, played.floor, played.mean, NO_TRUTH)
            played = played._replace(features=self.model.chosen(given, played.action))
        self._keep(played)
        self._whole = True

    def examine(self, played: Played) -> Examined:
        """Decide a played round once more; change nothing. Bounds are in inner units."""
        twin = self.copy(self.due())
        settings = self.settings
        floor, mean = played.floor, played.mean
        if settings.known.fixed:
            assert settings.known.low is not None
            assert settings.known.high is not None
            floor, mean = settings.known.low, settings.known.high
        action, baseline, features, names = played.action, played.baseline, None, None
        if settings.algorithm.estimator == "none":
            names = ("baseline", "baseline" if played.held else "proposal")
        elif settings.actions is None:
            action, baseline = 0, 0 if played.held else 1
            rows = [played.features] if played.held else [played.features, played.base]
            features = np.array([np.zeros_like(rows[0]) if row is None else row for row in rows])
        truth = NO_TRUTH if settings.truth is None else settings.truth
        given = Round(features, baseline, floor, mean, truth, names, hold=played.held)
        choice = twin.decide(given, played.token)
        if played.held:
            numbers = (choice[MARGIN], choice[UPPER], choice[LOWER])
            return Examined(*numbers, choice[FLOOR], choice[MEAN], choice[PROMISE])
        margin, upper, lower = twin.model.examined(action)
        mean_of_action = float(truth[action]) if truth.size else 0.0
        promise = promised(twin.model.rules[0], lower, mean_of_action, choice[FLOOR])
        return Examined(margin, upper, lower, choice[FLOOR], choice[MEAN], promise)

    def _keep(self, played: Played) -> None:
        """Count a round as decided, and keep or teach what it leaves."""
        self.round = played.round
        lessons = self.settings.lessons
        if not played.held or lessons == FROM_REWARDS:
            self.open[played.round] = open_round = _open_round(played)
            open_round.instead = instead_of(self.settings, played)
        elif lessons == FROM_MEANS and played.floor == played.mean:
            if self._is_agreed(played):
                self.model.reward(_open_round(played), played.mean)
            else:
                waive(self.model.ledger, played.held, 0.0)

    def _is_agreed(self, played: Played) -> bool:
        """Say whether a mean may be taught: over fixed arms, a linear mean cannot change."""
        settings = self.settings
        if settings.actions is None:
            return True
        return played.baseline == settings.baseline and played.mean == settings.known.high

    def _await_checkpoint(self) -> None:
        """Tell the ledger of the next checkpoint, where it does not follow from the round."""
        schedule = self.settings.schedule
        ledger = self.model.ledger
        if schedule is None:
            return
        if schedule.rounds is not None:
            ledger["checkpoint"] = schedule.assured(0, self.round)
        elif ledger["checkpoint"][0] == 0:
            ledger["checkpoint"] = schedule.assured(0, 0)

    def pass_checkpoint(self) -> int:
        """Count a checkpoint at the round decided last; return how many there were."""
        schedule = self.settings.schedule
        if schedule is None or schedule.law is None:
            raise InputError(
                "checkpoint", "is not for anybody to report", "make the policy with checkpoint_gap"
            )
        ledger = self.model.ledger
        if self.round <= self.latest_checkpoint:
            raise InputError(
                "checkpoint", f"round {self.round} is no new one", "report a checkpoint once"
            )
        least = schedule.law.least
        if least is not None and self.round < self.latest_checkpoint + least:
            raise InputError(
                "checkpoint",
                f"round {self.round} is sooner than the agreed gap of {least} rounds",
                "the promise did not cover it: make a policy with a smaller checkpoint_gap",
            )
        passed = int(ledger["checkpoints"][0]) + 1
        ledger["checkpoints"] = passed
        ledger["checkpoint"] = schedule.assured(passed, self.round)
        self.latest_checkpoint = self.round
        return passed

    def add_arm(self, features: object) -> Settings:
        """Take in one more fixed arm; return the settings that go with it."""
        settings = self.settings
        row = check_new_arm(settings, features)
        self._whole = False
        self.model.grow(row)
        assert settings.actions is not None
        rows = settings.features
        if rows is not None and row is not None:
            rows = np.vstack([rows, row])
        self.settings = settings._replace(actions=settings.actions + 1, features=rows)
        self._added.append(row)
        self._whole = True
        return self.settings

    def retire_arm(self, arm: object) -> None:
        """Keep an arm from being played again."""
        settings = self.settings
        if settings.actions is None:
            raise InputError("arm", "actions come anew every round", "leave it out of the features")
        index = checks.index("arm", arm, settings.actions)
        if index == settings.baseline:
            raise InputError("arm", f"action {index} is the baseline", "retire another arm")
        if int(self.model.gone.sum()) + 1 >= settings.actions and not self.model.gone[index]:
            raise InputError("arm", f"action {index} is the last one", "add another arm first")
        self.model.gone[index] = 1

    def due(self) -> list[OpenRound]:
        """Return the rounds whose window ends when the next round is decided, oldest first."""
        window = self.settings.window
        if window is None:
            return []
        ends = self.round + 1 - window
        return list(takewhile(lambda each: each.round <= ends, self.open.values()))

    def awaits_word(self, open_round: OpenRound) -> bool:
        """Say whether a round counts nothing unless its action is said to be played."""
        return self.settings.needs_word and not (open_round.said or open_round.fallen)

    def settle(
        self, open_round: OpenRound, reward: float | None = None
    ) -> Literal["learned", "waived", "lost"]:
        """End a round: with this reward, the one that waits, the default, or none."""
        reward = open_round.reward if reward is None else reward
        lost = self.awaits_word(open_round)
        self._whole = False
        if lost:
            waive(self.model.ledger, open_round.held, open_round.promise)
        elif open_round.fallen == "choice":
            count_row(self.model.ledger, open_round.promise, 0.0 if reward is None else reward)
        else:
            reward = self.settings.default_reward if reward is None else reward
            if reward is None:
                self._miss(open_round)
            else:
                self.model.reward(open_round, reward)
        del self.open[open_round.round]
        self._whole = True
        if lost:
            return "lost"
        return "waived" if reward is None else "learned"

    def _miss(self, open_round: OpenRound) -> None:
        """Close a round whose reward never came, and for which no default was declared."""
        held, promise = open_round.held, open_round.promise
        if held or self.settings.edition == 1 or not self.settings.algorithm.conservative:
            waive(self.model.ledger, held, promise)
        else:
            self.model.forget(open_round)
            count_row(self.model.ledger, promise, 0.0)

    def played(self, identity: Identity) -> Literal["played", "ignored", "late"]:
        """Take note that a round's action was played."""
        if not self.settings.needs_word:
            return "ignored"
        found = self.find(identity)
        if isinstance(found, str):
            return found
        if found.fallen:
            raise InputError(
                "decision",
                f"round {identity.round} was reported as a fallback",
                "say that it was played, or report a fallback",
            )
        found.said = True
        if self.settings.window is None and found.reward is not None:
            self.settle(found)
        return "played"

    def fall_back(
        self, identity: Identity, because: str
    ) -> Literal["baseline", "choice", "ignored", "late"]:
        """Count a round whose decision was not carried out: the baseline was played."""
        found = self.find(identity)
        if isinstance(found, str):
            return found
        stays = because == "choice" and self.settings.one_mean
        stays = stays and self.settings.algorithm.conservative
        if found.fallen:
            if (found.fallen == "choice") != stays:
                raise InputError(
                    "because", f"was another for round {identity.round}", "report a fallback once"
                )
            return found.fallen
        if found.instead is None or (
            not self.settings.algorithm.conservative and found.action == found.instead.action
        ):
            return "ignored"
        if found.reward is not None:
            raise InputError(
                "decision",
                f"round {identity.round} has a reward: it was carried out",
                "report a fallback, or a reward",
            )
        self._whole = False
        if stays:
            choose_baseline(self.model.ledger, found.promise)
            found.promise, found.instead, found.fallen = 0.0, None, "choice"
            self._whole = True
            return "choice"
        kept = fall_back(self.model, self.settings, found)
        if kept is None:
            del self.open[found.round]
        else:
            self.open[found.round] = kept
        self._whole = True
        return "baseline"

    def find(self, identity: Identity) -> OpenRound | Literal["ignored", "late"]:
        """Return the round that waits, or why none does."""
        open_round = self.open.get(identity.round)
        if open_round is not None and open_round.token == identity.copy:
            return open_round
        if identity.round > self.round or open_round is not None:
            raise InputError(
                "decision",
                f"round {identity.round} was decided by another copy of this policy",
                "give it to the copy that made it",
            )
        if not identity.awaits_reward:
            return "ignored"
        window = self.settings.window
        if window is not None and identity.round + window <= self.round:
            return "late"
        raise settled(identity)

    def dump(self) -> tuple[dict[str, Any], Arrays]:
        """Return all of it as JSON and arrays."""
        self.check_whole()
        row = self.model.ledger[0]
        document = {
            "latest_checkpoint": self.latest_checkpoint,
            "ledger": {name: row[name].item() for name in FIELDS},
            "open": [dump_open(each) for each in self.open.values()],
            "edition": self.settings.edition,
        }
        arrays = {f"model/{name}": value.copy() for name, value in self.model.arrays().items()}
        rows = [each.features for each in self.open.values() if each.features is not None]
        if rows:
            arrays[OPEN_FEATURES] = np.array(rows)
        lost = [each.instead for each in self.open.values() if each.instead is not None]
        rows = [each.features for each in lost if each.features is not None]
        if rows:
            arrays[OPEN_BASELINES] = np.array(rows)
        new = [each for each in self._added if each is not None]
        if new:
            arrays[_ADDED_FEATURES] = np.array(new)
        document["added"] = len(self._added)
        return document, arrays

    def restore(self, document: dict[str, Any], arrays: Arrays) -> Settings:
        """Take on what `dump` returned; KeyError, TypeError or ValueError where it does not fit."""
        for i in range(int(number(document.get("added", 0), "added", whole=True))):
            rows = arrays.get(_ADDED_FEATURES)
            self.add_arm(None if rows is None else self.settings.units.bare(rows[i]))
        self.inexact = restore_model(self.model, document["ledger"], arrays, document["version"])
        self.open = restore_open(document["open"], arrays, self.model)
        if self.settings.confirm:
            rows = arrays.get(OPEN_BASELINES) if self._keeps_base else None
            restore_instead(document["open"], rows, self.open, self.model, self._keeps_base)
        self.round = int(self.model.ledger["rounds"][0])
        latest = number(document.get("latest_checkpoint", 0), "latest_checkpoint", whole=True)
        if not 0 <= latest <= self.round:
            raise ValueError("latest_checkpoint is no round")
        self.latest_checkpoint = int(latest)
        return self.settings


def _open_round(played: Played) -> OpenRound:
    """Return what is kept of a round until its reward comes."""
    return OpenRound(
        played.round, played.action, played.held, played.promise, played.features, played.token
    )
