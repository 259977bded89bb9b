"""The screen of five studies, and its lines."""

from dataclasses import replace

import made_verdicts as made
from crumple.run.report import runs_report
from crumple.run.report.view import RunView


def said(*views: RunView, width: int = 100) -> str:
    return runs_report.text(views, width=width, styled=False)


def five() -> list[RunView]:
    """Return five studies with 26 claims, with long titles and texts."""
    long = " which goes on for much longer than any screen is wide, so that it has to be cut: somewhere here"
    views = []
    for number in range(5):
        claims = [made.ratio(f"S{number}-1", 0.4 + number / 10)]
        claims += [made.order(f"S{number}-{at}", 2.0, made.SUPPORTED) for at in (2, 3)]
        claims += [
            made.share(f"S{number}-4", 0.001),
            made.untestable(f"S{number}-5", "node-http was not measured"),
        ]
        claims += [made.cost("S0-6", 135.0)] if not number else []
        claims = [
            (claim.model_copy(update={"text": claim.text + long}), replace(v, text=v.text + long))
            for claim, v in claims
        ]
        views.append(made.run(claims, f"Study number {number}: PHP, Node.js and Go", name=f"study-{number}"))
    return views
