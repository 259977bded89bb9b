"""crumple load --debug: sends each request once, by the engine itself, and shows both sides of it."""

from crumple.commands import output
from crumple.commands.load import NO
from crumple.engine import Engine
from crumple.load import debug, load
from crumple.load.plan import LoadPlan
from crumple.load_report import exchange
from crumple.load_report.exchange import Exchange


def show(found: Engine, plan: LoadPlan, as_json: bool) -> int:
    """Exit code 0; 1 where an answer was not the one expected."""
    sent = [Exchange(load.conduct(found, spec, lambda _: None).record) for spec in debug.specs(plan.spec)]
    if as_json:
        output.as_json(exchange.document(sent))
    else:
        output.drawn(exchange.text(sent))
    return 0 if all(each.is_met for each in sent) else NO
