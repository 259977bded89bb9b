"""crumple load --debug: sends each request once, by the engine itself, and shows both sides of it."""

from crumple.commands import output
from crumple.commands.load import NO
from crumple.engine import Engine
from crumple.load import engine_spec, load_plan
from crumple.load.load_plan import LoadPlan
from crumple.load.report import answer_sentences
from crumple.load.report.answer_sentences import Exchange


def show(found: Engine, plan: LoadPlan, as_json: bool) -> int:
    """Exit code 0; 1 where an answer was not the one expected."""
    sent = [
        Exchange(engine_spec.conduct(found, spec, lambda _: None).record)
        for spec in load_plan.specs(plan.spec)
    ]
    if as_json:
        output.as_json(answer_sentences.document(sent))
    else:
        output.drawn(answer_sentences.text(sent))
    return 0 if all(each.is_met for each in sent) else NO
