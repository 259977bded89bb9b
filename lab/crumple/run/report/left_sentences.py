"""What a run left: claims that it does not ask or did not decide, and planned blocks that it did not run.

Plain text, no markup, for every format; run_sentences.py words the rest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from crumple.run.report.view import RunView
from crumple.run.run_file import TIME_OVER
from crumple.verdict.case import experiments_of
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import NO_HELP
from crumple.verdict.verdict_sentences import enumerate_parts

FIXED = "the number of blocks is fixed at this scale"


def claims_not_asked(views: Sequence[RunView]) -> str:
    """Return "19 more claims are not asked at scale tour"; empty if all are asked."""
    by_scale = [view for view in views if len(view.not_asked) > len(view.unasked_servers)]
    number = sum(len(view.not_asked) - len(view.unasked_servers) for view in by_scale)
    scales = ", ".join(sorted({view.run.scale for view in by_scale}))
    are = "claim is" if number == 1 else "claims are"
    said = f"{number} more {are} not asked at scale {scales}" if number else ""
    return ". ".join(filter(None, (said, by_servers(views))))


def by_servers(views: Sequence[RunView]) -> str:
    """Return "2 more claims are not asked, because --servers leaves out php-fpm"; empty if all are asked."""
    of = [servers for view in views for servers in view.unasked_servers.values()]
    names = sorted({server for servers in of for server in servers})
    are = "claim is" if len(of) == 1 else "claims are"
    return (
        f"{len(of)} more {are} not asked, because --servers leaves out {enumerate_parts(names)}" if of else ""
    )


def blocks_not_run(view: RunView) -> str:
    """Return in one line why the run has not all of its planned blocks; empty if it has.

    What follows a colon concerns single claims, of which `claims_undecided` says more.
    """
    reasons = {name: why.partition(": ")[0] for name, why in view.run.stopped.items()}
    return f"Not all planned blocks were run: {_group(reasons)}." if reasons else ""


def blocks_not_run_of(views: Sequence[RunView]) -> str:
    """Return in one line why the runs have not all of their planned blocks; empty if they have.

    Only the reason is named, without its particulars.
    """
    # The ids distinguish two runs of one study.
    of_study = Counter(view.run.study.name for view in views)
    reasons = {
        view.run.study.name if of_study[view.run.study.name] == 1 else view.run.id: "; ".join(
            dict.fromkeys(why.partition(": ")[0] for why in each)
        )
        for view in views
        if (each := view.run.stopped.values())
    }
    return f"Not all planned blocks were run: {_group(reasons)}." if reasons else ""


def claims_undecided(view: RunView) -> str:
    """Return in one line why each undecided claim was left so; empty if none was."""
    left = why_left(view)
    return f"Left undecided: {_group(left)}." if left else ""


def why_left(view: RunView) -> dict[str, str]:
    """Return claim → why it was left undecided, in the study's order."""
    claims = {claim.id: claim for claim in view.run.study.claims}
    scales = {name: each.scales[view.run.scale] for name, each in view.run.study.experiments.items()}
    found = {}
    for verdict in view.asked:
        why = view.run.undecided.get(verdict.claim_id, "")
        if verdict.answer is VerdictWord.UNDECIDED:
            own = experiments_of(claims[verdict.claim_id])
            over = any(view.run.stopped.get(name) == TIME_OVER for name in own)
            adapts = any(scales[name].least_blocks not in (None, scales[name].blocks) for name in own)
            why = why or (TIME_OVER if over else "" if adapts else FIXED)
        elif verdict.answer is not VerdictWord.NOT_TESTABLE or why.startswith(NO_HELP):
            # If no block would make a claim testable, its verdict says why.
            continue
        if why:
            found[verdict.claim_id] = why
    return found


def _group(why: Mapping[str, str]) -> str:
    """Return the names by reason: "each and bulk (the time was over), single (…)"."""
    names: dict[str, list[str]] = {}
    for name, reason in why.items():
        names.setdefault(reason, []).append(name)
    return ", ".join(f"{enumerate_parts(of)} ({reason})" for reason, of in names.items())
