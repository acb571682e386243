"""One page that says it all, readable offline: pictures and style are inside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from handrail.paper.bootstrap import Interval
from handrail.paper.plan import FigurePlan
from handrail.paper.report_style import STYLE
from handrail.paper.scale import Scale, scale_note
from handrail.paper.tabular import Table, table_html
from handrail.paper.words import listed, number, with_interval

__all__ = ["Entry", "Report", "claims_markdown", "measured_text", "render"]

_RULES: Final = (
    "Measured: the headline number of each claim with a 95 % interval. Intervals resample "
    "problems and then runs within them, 1,000 times; the worst model is chosen anew in each "
    "resample, which makes the interval of a worst model a rough guide; shares of runs that "
    "broke a promise have exact (Clopper-Pearson) intervals, as if runs were independent. A "
    "stated number holds if the measurement is within 5 percentage points of it, more or less "
    "than a number if it is on that side, at or below another algorithm, or alike, if within 5 "
    "points; where the measurement is not, but its interval reaches the number, the claim is "
    "not decided. A direction holds if the whole interval is on its side. Close to the oracle "
    "means at most half of CUCB's own distance; a fall may rise again by at most 10 % of itself "
    "on the way. All numbers of a claim stand with its figure."
)
_BANDS: Final = (
    "Bands and bars: 1.96 standard errors, over the runs of one model, over models for an average, "
    "unless the picture says otherwise."
)
_PLURAL: Final = {"holds": "hold", "does not hold": "do not hold"}
_MARKS: Final = {"holds": "✓", "does not hold": "✗"}
_CLASSES: Final = {"holds": "yes", "does not hold": "no"}


@dataclass(frozen=True)
class Entry:
    """A figure in the report.

    Attributes
    ----------
    plan : FigurePlan
        The figure.
    picture : bytes or None
        Its PNG; None if it was not made.
    missing : str
        Why it was not made.
    regrets : mapping
        Where the algorithms ended, averaged over models: mean and standard error by name.
    tables : sequence of Table
        What else the figure has to say in numbers.
    """

    plan: FigurePlan
    picture: bytes | None
    missing: str = ""
    regrets: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Report:
    """What the report is made from.

    Attributes
    ----------
    scale : Scale
        How much was run.
    claims : mapping
        What claims.json holds.
    entries : sequence of Entry
        All figures.
    versions : mapping
        Of the packages, by name.
    workers : int
        Threads that computed; 0 if unknown.
    """

    scale: Scale
    claims: Mapping[str, Any]
    entries: Sequence[Entry]
    versions: Mapping[str, str]
    workers: int = 0


def measured_text(row: Mapping[str, Any]) -> str:
    """Write what was measured of a claim, or of a part of one.

    Parameters
    ----------
    row : mapping
        Of claims.json.

    Returns
    -------
    str
        The number and its interval; a dash if there is none.

    Examples
    --------
    >>> measured_text({"measured": 0.5, "low": 0.45, "high": 0.55, "percent": True})
    '50.0 % [45.0, 55.0]'
    >>> measured_text({"measured": None, "low": None, "high": None, "percent": True})
    '–'
    """
    if row["measured"] is None:
        return "–"
    return with_interval(
        Interval(row["measured"], row["low"], row["high"]), share=bool(row["percent"])
    )


def claims_markdown(claims: Sequence[Mapping[str, Any]]) -> str:
    """Write the claims as a Markdown table.

    Parameters
    ----------
    claims : sequence of mapping
        Of claims.json.

    Returns
    -------
    str
        One row a claim, and one for each further number of it.
    """
    lines = [
        "| claim | paper | measured [95 % interval] | verdict | why |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        measured = measured_text(claim) + (f" ({claim['what']})" if claim["what"] else "")
        cells = [f"`{claim['id']}` {claim['claim']}", claim["paper"], measured]
        cells += [f"**{claim['verdict']}**", claim["why"]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def render(report: Report) -> str:
    """Return the page.

    Parameters
    ----------
    report : Report
        What goes into it.

    Returns
    -------
    str
        HTML that asks for nothing from anywhere else.
    """
    claims = report.claims["claims"]
    title = "Improved conservative exploration, reproduced"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{_headline(report)}</p>',
        '<h2 id="claims">The paper\'s claims</h2>',
        _claims_table(claims),
        f'<p class="small">{_RULES}</p>',
        '<h2 id="figures">Figures</h2>',
        _contents(report.entries),
        *(_figure(entry, report.scale, claims) for entry in report.entries),
        '<h2 id="how">How this was made</h2>',
        _how(report),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _headline(report: Report) -> str:
    claims = report.claims["claims"]
    counts = {
        verdict: sum(claim["verdict"] == verdict for claim in claims)
        for verdict in dict.fromkeys(claim["verdict"] for claim in claims)
    }
    told = listed(
        [
            f"<b>{count}</b> {escape(verdict if count == 1 else _PLURAL.get(verdict, verdict))}"
            for verdict, count in counts.items()
        ]
    )
    made = sum(entry.picture is not None for entry in report.entries)
    return (
        f"Scale <b>{escape(report.claims['scale'])}</b>, seed {report.claims['seed']}, handrail "
        f"{escape(report.claims['version'])}; {made} of {len(report.entries)} figures, simulated "
        f"in {_duration(report.claims['seconds'])}. Of {len(claims)} claims: {told}."
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _badge(verdict: str) -> str:
    mark = _MARKS.get(verdict, "–")
    return f'<span class="badge {_CLASSES.get(verdict, "open")}">{mark} {escape(verdict)}</span>'


def _claims_table(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        "<tr>"
        f'<th scope="row"><code>{escape(claim["id"])}</code><br>{escape(claim["claim"])}</th>'
        f'<td data-label="paper">{escape(claim["paper"])}</td>'
        f'<td data-label="measured"><span class="number">{escape(measured_text(claim))}</span>'
        f"<br><small>{escape(claim['what'])}</small></td>"
        f'<td data-label="verdict">{_badge(claim["verdict"])}</td>'
        f'<td data-label="why" class="why">{escape(claim["why"])}</td>'
        "</tr>"
        for claim in claims
    ]
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("claim", "paper", "measured [95 % interval]", "verdict", "why")
    )
    return (
        f'<table class="claims"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _contents(entries: Sequence[Entry]) -> str:
    links = [
        f'<a href="#{escape(entry.plan.name)}">{escape(entry.plan.name)}</a>'
        + ("" if entry.picture is not None else " (missing)")
        for entry in entries
    ]
    return f'<p class="small">{" · ".join(links)}</p>'


def _figure(entry: Entry, scale: Scale, claims: Sequence[Mapping[str, Any]]) -> str:
    plan = entry.plan
    name = escape(plan.name)
    parts = [
        f'<section id="{name}">',
        f"<h3>{escape(_plain(plan.title))} <code>{name}</code></h3>",
        f"<p>{_coded(plan.about)}</p>",
    ]
    if entry.picture is None:
        parts.append(f'<p class="missing"><b>Missing.</b> {escape(entry.missing)}.</p>')
    else:
        data = base64.b64encode(entry.picture).decode()
        parts += [
            f'<figure><img alt="{escape(_plain(plan.title))}" src="data:image/png;base64,{data}">',
            f"<figcaption>{escape(plan.settings)}; {escape(scale_note(scale, plan.size))}.",
            f"{_BANDS}</figcaption></figure>",
            _numbers(plan.name, claims),
            _regrets(entry.regrets),
            *(table_html(table) for table in entry.tables),
            _files(name),
        ]
    parts += [f'<p class="small">{_coded(note)}</p>' for note in plan.notes]
    return "\n".join(part for part in [*parts, "</section>"] if part)


def _regrets(regrets: Mapping[str, tuple[float, float]]) -> str:
    if not regrets:
        return ""
    texts = [f"{name} {number(mean)} ± {number(se)}" for name, (mean, se) in regrets.items()]
    return (
        '<p class="small">Regret at the last round, average over models ± standard error: '
        f"{escape(', '.join(texts))}.</p>"
    )


def _files(name: str) -> str:
    files = {
        "curves": "curves.parquet",
        "runs": "runs.parquet",
        "summary": "summary.json",
        "PNG": f"{name}.png",
        "SVG": f"{name}.svg",
    }
    links = ", ".join(f'<a href="{name}/{file}">{text}</a>' for text, file in files.items())
    return f'<p class="small">Tables and pictures: {links}.</p>'


def _numbers(figure: str, claims: Sequence[Mapping[str, Any]]) -> str:
    """Return all numbers that a figure contributes to claims."""
    rows = [
        "<tr>"
        f"<td><code>{escape(claim['id'])}</code></td>"
        f"<td>{escape(part['name'])}</td>"
        f"<td>{escape(part['paper'] or '–')}</td>"
        f'<td class="number">{escape(measured_text(part))}</td>'
        f"<td>{_part_verdict(part)}</td>"
        "</tr>"
        for claim in claims
        for part in claim["parts"]
        if part["figure"] == figure
    ]
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("claim", "what", "paper", "measured [95 % interval]", "")
    )
    return (
        f'<div class="wide"><table class="parts"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _part_verdict(part: Mapping[str, Any]) -> str:
    if not part["counts"]:
        return "<small>for comparison</small>"
    if part["holds"] is None:
        return ""
    return _badge("holds" if part["holds"] else "does not hold")


def _how(report: Report) -> str:
    names = " ".join(entry.plan.name for entry in report.entries if entry.picture is not None)
    threads = f" on {report.workers} threads" if report.workers else ""
    versions = ", ".join(f"{escape(name)} {escape(v)}" for name, v in report.versions.items())
    command = (
        f"handrail reproduce {names} --scale {report.scale.name} --seed {report.claims['seed']}"
    )
    return (
        f"<p>Simulated in {_duration(report.claims['seconds'])}{threads}, resumed runs added up; "
        "drawing not counted. The same seed gives the same numbers for any number of workers.</p>"
        f"<pre>{escape(command)}</pre>"
        f"<p>Versions: {versions}.</p>"
        "<p>Source: E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta, Improved Algorithms for "
        "Conservative Exploration in Bandits, AAAI 2020. Regret is pseudo-regret, on true means; "
        "the budget is the sum of the true means played minus 1 - α times the baseline's.</p>"
    )


def _plain(text: str) -> str:
    return text.replace("`", "")


def _coded(text: str) -> str:
    """Escape a text and set what stands between backticks as code."""
    pieces = escape(text).split("`")
    return "".join(
        f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces)
    )
