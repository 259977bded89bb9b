"""crumple load --debug: sends each request once, with the engine, and shows the request and the answer."""

from crumple.commands import output
from crumple.commands.load import NO
from crumple.engine import Engine
from crumple.load import engine_spec, load_plan
from crumple.load.load_plan import LoadPlan
from crumple.load.report import answer_sentences
from crumple.load.report.answer_sentences import Exchange


def show(found: Engine, plan: LoadPlan, as_json: bool) -> int:
    """Send and show each request. Return exit code 1 if an answer was not the one expected, else 0."""
    sent = [
        Exchange(engine_spec.conduct(found, spec, lambda _: None).record)
        for spec in load_plan.specs(plan.spec)
    ]
    if as_json:
        output.as_json(answer_sentences.document(sent))
    else:
        output.drawn(answer_sentences.text(sent))
    return 0 if all(each.is_met for each in sent) else NO
