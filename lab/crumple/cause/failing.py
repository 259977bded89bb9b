"""Requests that fail under load, beside those that fail without it, in words. Pure."""

from crumple.cause.finding import Facts, Said, Unclear

AS_OFTEN = "answers fail as often without load"


def said(facts: Facts) -> list[Said]:
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


def besides(facts: Facts) -> str:
    """Return what is added where nothing limits the server; empty: hardly a request fails."""
    return f"; {AS_OFTEN} ({_both(facts)})" if facts.fails else ""


def _both(facts: Facts) -> str:
    tried = facts.tried
    assert tried is not None
    alone = _share(tried.failed, tried.answers + tried.failed)
    return f"{_under(facts)}, and {alone} {tried.how}"


def _under(facts: Facts) -> str:
    load = facts.beyond
    return f"{_share(load.failed, load.answers + load.failed)} under load"


def _share(failed: int, of: int) -> str:
    return f"{failed:,} of {of:,}"
