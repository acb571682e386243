"""Broken variants: copies of handrail in which one formula is wrong, to be caught.

A certificate that no broken variant fails proves nothing. Each variant is an edit of the sources:
a text that stands in them exactly once, and what takes its place. It is applied to a copy of the
package in a folder of its own, and the case is judged there, by a process of its own. A text that
is not found, because the formula was rewritten, is an error: the variant has to follow.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["VARIANTS", "Variant", "apply", "judge_broken"]

_PACKAGE: Final = Path(__file__).parent.parent
_HERE: Final = "certificate"
"""The folder that holds the edits as texts; nothing in it is edited."""
_JUDGE: Final = (
    "import json, sys;"
    "from handrail.certificate.cases import Case;"
    "from handrail.certificate.report import judge;"
    "case, seed = json.load(sys.stdin);"
    "print(json.dumps(judge(Case(**case), seed)))"
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to be wrong.

    Parameters
    ----------
    description : str
        In a few words, for tables.
    edits : tuple of (str, str)
        Texts of the sources, each of which stands there once, and what replaces them. `{old}` is
        the text itself, `{keep}` the share that a cut leaves of a width.
    bound : bool, default=False
        Whether it is a bound that is cut.
    """

    description: str
    edits: tuple[tuple[str, str], ...]
    bound: bool = False


def _cut(bound: str, *edits: tuple[str, str]) -> Variant:
    return Variant(bound, edits, bound=True)


def _wrong(description: str, *edits: tuple[str, str]) -> Variant:
    return Variant(description, edits)


_PSI: Final = "    return root + 2.0 * log / 3.0 if bound == PAPER else root"
_ALL_ARMS: Final = "        return actions if actions is not None else 0"
_SLACK: Final = "rules.alpha * rules.baseline_lower * "

VARIANTS: Final[Mapping[str, Variant]] = {
    "wu": _cut("arm width `wu`", ("noise * math.sqrt(2.0 * math.log(arms", "{keep} * {old}")),
    "arm-mixture": _cut(
        "arm width `mixture`",
        ("two_sided_mixture(count * noise * noise, rho, level / arms)", "{keep} * {old}"),
    ),
    "kl": _cut(
        "arm interval `kl`",
        (
            "    return lower, upper\n",
            "    return share - {keep} * (share - lower), share + {keep} * (upper - share)\n",
        ),
    ),
    "own-mean": _cut(
        "arms' own means in `intersection`",
        (
            "            mean = sums[arm] / counts[arm]\n            upper",
            "            width *= {keep}\n{old}",
        ),
    ),
    "ellipsoid-paper": _cut(
        "ellipsoid `paper`", ("rules.noise * math.sqrt(rules.dim * math.log(", "{keep} * {old}")
    ),
    "determinant": _cut(
        "ellipsoid `determinant`", ("rules.noise * math.sqrt(spread)", "{keep} * {old}")
    ),
    "psi-paper": _cut(
        "boundary `paper`",
        (_PSI, _PSI.replace("root + 2.0 * log / 3.0", "{keep} * (root + 2.0 * log / 3.0)")),
    ),
    "psi-subgaussian": _cut(
        "boundary `subgaussian`", (_PSI, _PSI.replace("else root", "else {keep} * root"))
    ),
    "psi-mixture": _cut(
        "boundary `mixture`",
        ("one_sided_mixture(count * noise * noise, rho, level)", "{keep} * {old}"),
    ),
    "bernstein": _cut(
        "boundary `bernstein`", ("    return least\n", "    return {keep} * least\n")
    ),
    "learned": _wrong(
        "a guard's learned mean taken for the mean",
        (
            "        return kl_interval(count, total, rules.baseline_level)",
            "        return total / count, total / count",
        ),
    ),
    "gap-quantile": _cut(
        "quantile of random gaps",
        (
            "return latest + self.law.quantile(share)",
            "return latest + int(self.law.quantile(share) / {keep})",
        ),
    ),
    "no-union": _wrong(
        "no union over arms", (_ALL_ARMS, _ALL_ARMS.replace("return actions", "return 1"))
    ),
    "no-union-ever": _wrong(
        "no union over arms that come",
        ("        return position * position / 6.0", "        return 1.0"),
    ),
    "no-log-det": _wrong(
        "radius without log det", ("    spread = log_det - 2.0 *", "    spread = -2.0 *")
    ),
    "upper-end-learned": _wrong(
        "the upper end of an interval learned as the mean",
        ("        return low == high\n", "        return True\n"),
        (
            "            reward = mean\n            if ledger.pending > 0 or",
            "            reward = min(mean + above, 1.0)\n            if ledger.pending > 0 or",
        ),
    ),
    "interval-for-free": _wrong(
        "`baseline_delta` not taken off delta", ("    left = delta - spent\n", "    left = delta\n")
    ),
    "lower-end-needed": _wrong(
        "the lower end of an interval taken for the need",
        ("    return max(low * net, high * net)\n", "    return low * net\n"),
    ),
    "long-slack": _wrong(
        "slack of one round more",
        (
            _SLACK + "(next_checkpoint(rules, now) - now)",
            _SLACK + "(next_checkpoint(rules, now) - now + 1)",
        ),
    ),
    "long-gap": _wrong(
        "the first gap takes all gaps' share",
        (
            "        share = 6.0 * self.delta / (math.pi * (passed + 1)) ** 2\n",
            "        share = self.delta\n",
        ),
    ),
    "no-variation": _wrong(
        "the variation of rewards left out",
        ("    ledger.variation += (reward", "    ledger.variation += 0.0 * (reward"),
    ),
    "fallback-twice": _wrong(
        "a fallback taken off the plays twice",
        ("    ledger.plays -= 1\n", "    ledger.plays -= 2\n"),
    ),
    "lost-credited": _wrong(
        "a lost decision credited with its lower bound",
        ("    if rules.credit == 0:\n", "    if rules.credit < 0:\n"),
    ),
    "unsaid-credited": _wrong(
        "the default taken for what was not said to be played",
        ("        lost = self.awaits_word(open_round)\n", "        lost = False\n"),
    ),
    "choice-as-fallback": _wrong(
        "a choice of the baseline counted as a baseline round",
        (
            '        stays = because == "choice" and self.settings.one_mean\n',
            "        stays = False\n",
        ),
    ),
    "timeout-teaches": _wrong(
        "the default learned of a baseline that was played for want of an answer",
        (" == FROM_REWARDS and not settings.needs_word\n", " == FROM_REWARDS\n"),
    ),
    "noise-of-the-range": _wrong(
        "noise divided by the range twice",
        ('checks.positive("noise", value) / units.scale', "{old} / units.scale"),
    ),
}
"""By name: bounds to be cut, and mistakes."""


def apply(name: str, cut: float, folder: Path) -> None:
    """Put a copy of the package with a broken formula into a folder.

    Parameters
    ----------
    name : str
        Of the variant.
    cut : float
        What is taken off a width, as a share of it.
    folder : pathlib.Path
        Where the copy goes, as `handrail`.
    """
    copy = folder / "handrail"
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    sources = [path for path in copy.rglob("*.py") if _HERE not in path.parts[len(folder.parts) :]]
    for old, new in VARIANTS[name].edits:
        found = [path for path in sources if old in path.read_text()]
        times = sum(path.read_text().count(old) for path in found)
        if times != 1:
            raise LookupError(f"{name}: {old!r} stands {times} times in the sources, not once")
        (path,) = found
        broken = new.replace("{old}", old).replace("{keep}", repr(1.0 - cut))
        path.write_text(path.read_text().replace(old, broken))


def judge_broken(case: Mapping[str, Any], name: str, cut: float, seed: int) -> dict[str, Any]:
    """Judge a case by a broken copy, in a process of its own.

    Parameters
    ----------
    case : mapping
        The fields of the case, without what is broken.
    name, cut
        As for `apply`.
    seed : int
        Everything is a function of it.

    Returns
    -------
    dict
        What `handrail.certificate.report.judge` returned there.
    """
    with tempfile.TemporaryDirectory(prefix="handrail-broken-") as folder:
        apply(name, cut, Path(folder))
        done = subprocess.run(
            [sys.executable, "-c", _JUDGE],
            cwd=folder,  # which comes first where Python looks for packages
            env={**os.environ, "HANDRAIL_CACHE": str(Path(folder) / "cache")},
            input=json.dumps([dict(case), seed]),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"the broken variant {name} did not run: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
