"""What the server asks most, and what it is called. Pure."""

from crumple.observation.at_load import Peer
from crumple.observation.server_facts import ServerFacts


def most_asked(facts: ServerFacts) -> Peer | None:
    """Return the dependency on most of whose connections the server waits; None: it waits on none."""
    return max(
        (each for each in facts.peers or () if each.waiting), key=lambda each: each.waiting, default=None
    )


def name(peer: Peer) -> str:
    """Return its program and its address."""
    return f"{peer.listener} ({peer.address})" if peer.listener else peer.address


def asked_alone_s(facts: ServerFacts, peer: Peer) -> float | None:
    """Return how long a request waits for it where nobody else asks, in s; None: not known."""
    work, longer = facts.seen.work, facts.seen.outcomes.slower
    if longer and peer.address in longer:
        return longer[peer.address]
    # Two that are the same program have one name there.
    alike = [each for each in facts.peers or () if each.listener and each.listener == peer.listener]
    if work is None or len(alike) > 1:
        return None
    return work.waits_s.get(peer.listener or "", work.waits_s.get(peer.address))
