"""Requests that fail under load, beside those that fail without it, in words. Pure."""

from crumple.limit.finding import Said, Unclear
from crumple.observation.server_facts import ServerFacts

AS_OFTEN = "answers fail as often without load"


def said(facts: ServerFacts) -> list[Said]:
    """Say what is not known of requests that fail; nothing where the load makes them fail, or none fail."""
    by_load = facts.fails_by_load
    if not facts.fails or by_load or facts.is_harmed is False:
        return []
    if by_load is False:
        return [Unclear("none", f"why requests fail: {AS_OFTEN} ({_both(facts)})")]
    unknown = "whether the load makes requests fail"
    if facts.tried is None:
        return [Unclear("none", f"{unknown} ({_under(facts)}): it is not known how many fail without it")]
    return [Unclear("none", f"{unknown}: {_both(facts)}, which are too few to tell")]


def besides(facts: ServerFacts) -> str:
    """Return what is added where nothing limits the server; empty: hardly a request fails."""
    return f"; {AS_OFTEN} ({_both(facts)})" if facts.fails else ""


def without_load(facts: ServerFacts) -> str:
    """Return how many fail without the load, in words; empty: not known."""
    tried = facts.tried
    return "" if tried is None else f"{_share(tried.failed, tried.answers + tried.failed)} {tried.how}"


def _both(facts: ServerFacts) -> str:
    return f"{_under(facts)}, and {without_load(facts)}"


def _under(facts: ServerFacts) -> str:
    load = facts.beyond
    return f"{_share(load.failed, load.answers + load.failed)} under load"


def _share(failed: int, of: int) -> str:
    return f"{failed:,} of {of:,}"
