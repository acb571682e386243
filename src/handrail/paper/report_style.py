"""The report's style sheet: light and dark, narrow screens, paper."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root { --ink: #1b1b1b; --soft: #5a5a5a; --page: #ffffff; --rule: #d9d9d9; --tint: #f5f5f3;
  --yes: #0b6e4f; --no: #a3330c; --open: #6b6b6b; --link: #005a9c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e3; --soft: #a8a5a0; --page: #17181a; --rule: #3a3b3e; --tint: #212327;
    --yes: #4fc99b; --no: #ff9a6b; --open: #b0b0b0; --link: #7cc0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1.1rem; margin: 0 0 .4rem; }
h3 code { font-weight: normal; color: var(--soft); font-size: .85em; }
p { max-width: 52rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace;
  font-size: .9em; }
pre { background: var(--tint); padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.lead { font-size: 1.05rem; }
.small, figcaption, small { color: var(--soft); font-size: .87rem; }
section { margin: 1.6rem 0 2.6rem; }
figure { margin: .8rem 0; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; padding: .4rem;
  border: 1px solid var(--rule); border-radius: 4px; }
figcaption { margin-top: .35rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .55rem;
  border-bottom: 1px solid var(--rule); }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 500; width: 24%; }
.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.why { font-size: .87rem; color: var(--soft); width: 34%; }
.wide { overflow-x: auto; }
.badge { display: inline-block; font-weight: 600; white-space: nowrap; }
.yes { color: var(--yes); } .no { color: var(--no); }
.open { color: var(--open); white-space: normal; }
.missing { background: var(--tint); border-left: 4px solid var(--no); padding: .6rem .8rem; }
@media (max-width: 46rem) {
  table.claims, table.claims tbody, table.claims tr, table.claims th, table.claims td {
    display: block; width: 100%; }
  table.claims thead { display: none; }
  table.claims tr { border: 1px solid var(--rule); border-radius: 4px; margin-bottom: .8rem; }
  table.claims td, table.claims th { border: 0; }
  table.claims td::before { content: attr(data-label) ": "; color: var(--soft); }
  .number { white-space: normal; } }
@media print {
  :root { --ink: #000; --soft: #333; --page: #fff; --rule: #999; --tint: #fff; --yes: #0b6e4f;
    --no: #a3330c; --open: #333; --link: #000; }
  main { max-width: none; padding: 0; }
  section, tr, figure { break-inside: avoid; }
  a { text-decoration: none; } }
"""
