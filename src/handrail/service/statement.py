"""The budget statement: what a log amounts to, in sentences that somebody can sign."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from handrail.service.audit import Audit
from handrail.service.book import Book
from handrail.service.definition import leave

__all__ = ["Statement", "make_statement"]

_EVERY_ROUND: Final = "after every round"


@dataclass(frozen=True)
class Statement:
    """What was decided, what that may have cost, and what is certified.

    Amounts are sums of reward above `low`, in the user's units.

    Attributes
    ----------
    policy, algorithm, mode : str
        Whose statement it is; "archived" counts as a mode.
    begin, end : str
        The times of the first and of the last event.
    rounds, baseline_rounds, explored_rounds : int
        Rounds decided, and how they are counted.
    fallbacks : int
        Rounds that were decided otherwise: the caller said it played the baseline.
    choices : int
        Those of them in which somebody chose it, and which earn what they earned.
    lost : int
        Rounds that count nothing: their actions were never said to be played.
    missing : int
        Rounds whose reward never came, and which count the lowest.
    unconfirmed : int
        Rounds without a reward or a fallback so far.
    given_up : int
        Rounds whose reward was waited for no longer.
    alpha : float or None
        The share of the baseline's reward that may be lost.
    failure_probability : float or None
        The probability with which the promise may fail; None where nothing is promised.
    baseline_earnings : (float, float)
        What the baseline would have earned in all rounds, from and to.
    required : float or None
        (1 - alpha) of it, at most.
    rewards : float
        Rewards of rounds other than the baseline's.
    promised : float
        What unconfirmed rounds count until their rewards come, those given up included.
    margin : float or None
        What was certified above the requirement at the last decision.
    margin_until : int or None
        The round at which that is, if the baseline is played until then and nothing is checked
        before; None where it is the last one decided.
    least_margin : float or None
        The least margin of any action that was not the baseline.
    low : float
        Where rewards begin.
    checked : str
        When the promise is checked.
    may_override : list of str
        What of the agreed any round may tell otherwise.
    told_rounds, other_baselines : int
        Rounds that told another mean of the baseline, and another baseline, than was agreed on.
    compared_heads, compared_until : int
        With how many noted heads the log was compared, and the last event that was as noted.
    unreached_heads : int
        How many more were noted, of events after the last one that was read.
    absent_heads : int
        How many hashes were asked for that are of no event here.
    assumptions : list of str
        What all of it rests on.
    """

    policy: str
    algorithm: str
    mode: str
    begin: str
    end: str
    rounds: int
    baseline_rounds: int
    explored_rounds: int
    fallbacks: int
    choices: int
    lost: int
    missing: int
    unconfirmed: int
    given_up: int
    alpha: float | None
    failure_probability: float | None
    baseline_earnings: tuple[float, float]
    required: float | None
    rewards: float
    promised: float
    margin: float | None
    margin_until: int | None
    least_margin: float | None
    low: float
    checked: str
    may_override: list[str]
    told_rounds: int
    other_baselines: int
    compared_heads: int
    compared_until: int
    unreached_heads: int
    absent_heads: int
    assumptions: list[str]

    @property
    def promises(self) -> bool:
        """Whether the algorithm promises anything."""
        return self.required is not None

    def data(self) -> dict[str, Any]:
        """Return the same as data that JSON can hold."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return the statement, one sentence or two an entry."""
        whose = f"{self.policy} ({self.algorithm}, {self.mode})"
        rounds = _count(self.rounds, "round")
        # Rounds in which somebody chose the baseline are counted with those of other actions.
        held = f"{self.baseline_rounds + self.choices:,} of them{self._fell_back()}"
        explored = self.explored_rounds - self.choices
        said = [
            f"{whose} decided {rounds} from {self.begin} to {self.end}.",
            f"The baseline was played in {held}, another action in {explored:,}.",
        ]
        if self.low != 0.0:
            said.append(f"All amounts are reward above {_amount(self.low)}.")
        if self.promises:
            said += self._promise()
        else:
            said.append("This algorithm promises nothing.")
        said.append(
            f"Rounds other than the baseline's brought {_amount(self.rewards)} so far"
            f"{self._waiting()}."
        )
        said += [f"Assumed: {each}" for each in self.assumptions]
        said.append(self._compared())
        if self.absent_heads:
            were = "was" if self.absent_heads == 1 else "were"
            absent = _count(self.absent_heads, "noted head")
            said.append(f"{absent} that {were} asked for: none is that of an event here.")
        return said

    def _compared(self) -> str:
        given = self.compared_heads + self.unreached_heads
        if not given:
            return "It was compared with no noted heads: a tail that was lost is not noticed."
        said = f"It was compared with {_count(given, 'noted head')}"
        if self.compared_heads:
            said += f", up to event {self.compared_until:,}"
        if not self.unreached_heads:
            return f"{said}: a tail that was lost after that is not noticed."
        one = self.unreached_heads == 1
        later = "a later event, which was" if one else "later events, which were"
        return f"{said}: {self.unreached_heads:,} of them of {later} not found."

    def _promise(self) -> list[str]:
        low, high = (_amount(each) for each in self.baseline_earnings)
        earned = low if low == high else f"between {low} and {high}"
        assert self.alpha is not None
        assert self.required is not None
        required, share = _amount(self.required), _amount(100.0 * (1.0 - self.alpha))
        told = _count(self.told_rounds, "round") if self.told_rounds else ""
        by_whom = f", as told by callers in {told}" if told else ""
        said = [
            f"The baseline alone would have earned {earned} in expectation{by_whom}.",
            f"Required is {share} % of that, {required} at most, {self.checked}.",
        ]
        if self.margin is not None:
            above = f"Certified at the last decision: {_amount(self.margin)} above what is required"
            if self.margin_until is not None:
                # Most of it may be what rounds to come add: nothing that was earned so far.
                above += (
                    f" at round {self.margin_until:,}, if the baseline is played until then"
                    " (nothing is checked before)"
                )
            elif low == high:
                above += f", so at least {_amount(self.required + self.margin)}"
            said.append(above + ("." if low == high else ", wherever the baseline's mean lies."))
        if self.least_margin is not None:
            when = "" if self.checked == _EVERY_ROUND else ", each at the checkpoint that was next"
            said.append(
                f"No action but the baseline was played with a certified margin below "
                f"{_amount(max(self.least_margin, 0.0))}{when}."
            )
        said.append(
            f"The promise may fail with probability {_amount(self.failure_probability or 0.0)} at "
            "most, over all rounds together."
        )
        return said

    def _fell_back(self) -> str:
        if not self.fallbacks:
            return ""
        were = "was" if self.fallbacks == 1 else "were"
        chosen = f", {self.choices:,} of them by choice" if self.choices else ""
        return f" ({self.fallbacks:,} {were} decided otherwise and reported so{chosen})"

    def _waiting(self) -> str:
        parts = []
        if self.unconfirmed:
            parts.append(f"{_count(self.unconfirmed, 'decision')} not confirmed yet")
        if self.given_up:
            parts.append(f"{self.given_up:,} never confirmed")
        if self.missing:
            parts.append(f"{self.missing:,} without a reward")
        if not parts:
            return ""
        counted = _amount(self.promised)
        return f"; {' and '.join(parts)}, counted as {counted} in all"


def make_statement(audit: Audit) -> Statement | None:
    """Return the statement of a log that was audited; None if it could not be folded at all.

    Parameters
    ----------
    audit : Audit
        The audit, finished.

    Returns
    -------
    Statement or None
        What the log amounts to, up to the last event that could be folded.
    """
    if audit.book is None or audit.tally is None:
        return None
    book, tally = audit.book, audit.tally
    scale = book.units.scale
    alpha = float(book.policy._settings.rules["alpha"][0]) if book.conservative else None
    most = tally.most.value * scale
    failure = book.policy.failure_probability
    explored = tally.plays
    if not book.conservative:  # to which all rounds are plays
        explored = tally.rounds - book.decisions["baseline"] - tally.fallbacks
    return Statement(
        policy=audit.policy,
        algorithm=book.algorithm.name,
        mode="archived" if book.archived else book.mode,
        begin=_time(book.created_at),
        end=_time(book.at),
        rounds=tally.rounds,
        baseline_rounds=tally.rounds - explored,
        explored_rounds=explored,
        fallbacks=tally.fallbacks,
        choices=tally.choices,
        lost=tally.lost,
        missing=tally.missing,
        unconfirmed=tally.pending,
        given_up=tally.plays - tally.pending - tally.rewards,
        alpha=alpha,
        failure_probability=failure if book.conservative else None,
        baseline_earnings=(tally.least.value * scale, most),
        required=None if alpha is None else (1.0 - alpha) * most,
        rewards=tally.reward.value * scale,
        promised=(tally.promised.value + tally.waived.value) * scale,
        margin=book.margin,
        margin_until=audit.awaited if audit.awaited > tally.rounds else None,
        least_margin=audit.least_margin,
        low=book.units.low,
        checked=_checked(book),
        may_override=leave(book.policy, book.definition),
        told_rounds=audit.overrides["baseline_mean"],
        other_baselines=audit.overrides["baseline"],
        compared_heads=audit.compared,
        compared_until=audit.agreed,
        unreached_heads=audit.unreached,
        absent_heads=len(audit.heads) - len(audit.met),
        assumptions=[*_assumptions(book, audit), *_release(audit)],
    )


def _release(audit: Audit) -> list[str]:
    if audit.release is None:
        return []
    wrote = f"what the definition left open is what handrail {audit.release} wrote down for it"
    return [f"{wrote}: this release did not compute it again."]


def _checked(book: Book) -> str:
    if book.algorithm.schedule != "checkpoints":
        return _EVERY_ROUND
    given = book.policy.parameters
    if "checkpoint_every" in given:
        return f"after every {given['checkpoint_every']} rounds"
    return "at the agreed checkpoints"


def _assumptions(book: Book, audit: Audit) -> list[str]:
    given = book.policy.parameters
    units = book.units
    rests = []
    if units.bounded:
        rests.append(f"rewards lie in [{_amount(units.low)}, {_amount(units.high)}].")
    else:
        rests.append(f"the noise of rewards is sub-Gaussian with constant {given['noise']:g}.")
        rests.append(f"means lie in [{_amount(units.low)}, {_amount(units.high)}].")
    model = {
        "means": "each arm has one mean reward that does not change.",
        "linear": "the mean reward is linear in the features, within the agreed bounds.",
        "none": "nothing of how rewards depend on actions.",
    }
    rests.append(model[book.algorithm.estimator])
    if book.conservative:
        rests += _of_the_baseline(book, audit)
        rests += _of_checkpoints(book, audit)
    if book.algorithm.past == "oracle":
        rests.append("the true means are those that were given.")
    window, default = given.get("window"), given.get("default_reward")
    if window is None:
        rests.append(
            "given all that was known when it came, the mean of each reward was that of its action."
        )
    if default is not None:
        rests.append(f"rewards that never came were {default:g}.")
    rests.append("callers played what they were answered, or the baseline.")
    return rests + [f"{each[0].lower()}{each[1:]}" for each in book.notes]


def _of_the_baseline(book: Book, audit: Audit) -> list[str]:
    given, overrides = book.policy.parameters, audit.overrides
    rests = [_baseline(given.get("baseline_mean"), overrides["baseline_mean"])]
    if "baseline_delta" in given:
        wrong = f"{given['baseline_delta']:g}"
        rests.append(f"that interval is wrong with probability {wrong} at most, which is paid for.")
    if overrides["baseline"]:
        told = _count(overrides["baseline"], "round")
        rests.append(f"{told} overrode the agreed baseline, as told by callers.")
    if "window" in given and not isinstance(given.get("baseline_mean"), str):
        window = _count(given["window"], "round")
        rests.append(f"the baseline's mean was measured in the same window of {window}.")
    if audit.held and "baseline_mean" in given:
        held = _count(audit.held, "round")
        rests.append(f"{held} held in shadow or paused mode did not depend on the user.")
    return rests


def _of_checkpoints(book: Book, audit: Audit) -> list[str]:
    given = book.policy.parameters
    if book.algorithm.schedule != "checkpoints":
        return []
    lower = book.units.outward(book.policy._settings.baseline_lower)
    rests = [f"the baseline's mean will not be below {_amount(lower)} in any round to come."]
    gap = given.get("checkpoint_gap")
    if gap is None:
        return rests
    came = f"{_count(audit.checkpoints, 'checkpoint')} came when callers reported"
    if isinstance(gap, int):
        rests.append(f"{came}; all come at least {_count(gap, 'round')} apart.")
        return rests
    early = f"{audit.early:,} of them sooner than was counted on" if audit.early else "none early"
    rests.append(
        f"{came}, {early}; gaps have the agreed law and do not depend on what is played, so that "
        "any comes sooner than is counted on with the probability that was set aside of delta."
    )
    return rests


def _baseline(known: Any, told: int) -> str:
    if known is None:
        return "means as told by callers: the baseline's mean is what each round was told."
    if isinstance(known, str):
        return "the baseline's mean reward is learned from its own rounds."
    other = f"; {_count(told, 'round')} overrode it, as told by callers" if told else ""
    if isinstance(known, int | float):
        return f"the baseline's mean reward is {known:g}{other}."
    return f"the baseline's mean reward lies between {known[0]:g} and {known[1]:g}{other}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _amount(value: float) -> str:
    """Return a number as people write it: 1,234.5."""
    if value != 0.0 and abs(value) < 1e-3:
        return f"{value:.3g}"
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
