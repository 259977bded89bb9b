"""Whether the network answered an entry of a HAR, and if not, why. Pure.

HAR has no field for that. Each program that saves one marks it in its own way, and a new version in another.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from crumple.importing.json_values import listed, table, text, whole

CACHE = "that the browser answered from its cache"
WORKER = "that a service worker answered"
BLOCKED = "that was blocked before it was sent"
ABORTED = "that was aborted before an answer"
UNANSWERED = "that no server answered"
REDIRECTED = "that the browser redirected by itself"
PUSHED = "that a server pushed, and nobody asked for"
REPLACED = "whose answer the browser's tools replaced"

# Safari's _fetchType.
_FETCHED = {
    "memory cache": CACHE, "disk cache": CACHE, "service worker": WORKER, "inspector override": REPLACED,
}  # fmt: skip
# Names of marks without "_" and capitals: of Chrome, chrome-har, Puppeteer, WebPageTest and Charles.
_CACHED = frozenset({
    "fromcache", "isfromcache", "servedfromcache", "frommemorycache", "fromdiskcache", "fromprefetchcache",
    "cached",
})  # fmt: skip
_WORKED = frozenset({"fetchedviaserviceworker", "fromserviceworker"})
_PUSHED = frozenset({"waspushed", "ispushed", "pushed"})
_UNSET = ("", "0", "false", "none", "null", "no")
# In the text of a status, as of Internet Explorer and of old Chrome.
_CACHE_SAID = re.compile(r"from (?:\w{1,9} )?cache|\(cache\)", re.IGNORECASE)
_BLOCKED_SAID = re.compile(r"block|csp|content.?security|mixed|cors|not.?allowed", re.IGNORECASE)
_ABORTED_SAID = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
# Charles and Fiddler answer themselves where they reach no server.
_CHARLES = {"FAILED": UNANSWERED, "EXCEPTION": UNANSWERED, "BLOCKED": BLOCKED}
_FIDDLER = "fiddler - "
NOT_MODIFIED = 304


def status_of(answer: Mapping[str, Any]) -> int | None:
    """Return the status of an answer, which may be written as a text; None if there is none."""
    found = answer.get("status")
    if isinstance(found, str):
        return int(found) if re.fullmatch(r"-?[0-9]{1,3}", found.strip(), re.ASCII) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return whole(found) if is_number else None


def unanswered(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return why no network answered, as the end of a sentence about the request; empty if one did."""
    status = status_of(answer)
    return (
        _marked(entry, answer)
        or _by_itself(answer, status)
        or _from_cache(entry, answer, status)
        or (_failed(entry, answer) if _is_none(entry, answer, status) else "")
    )


def _marked(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return what a field says that a program adds for this purpose."""
    if why := _FETCHED.get(text(entry.get("_fetchType")).strip().lower()):
        return why
    if why := _CHARLES.get(text(answer.get("_charlesStatus")).strip().upper()):
        return why
    marks = {
        name.replace("_", "").lower()
        for part in (entry, answer)
        for name, value in part.items()
        if text(value).strip().lower() not in _UNSET
    }
    if marks & _CACHED:
        return CACHE
    if marks & _WORKED and text(answer.get("_serviceWorkerResponseSource")) != "network":
        return WORKER
    return PUSHED if marks & _PUSHED else ""


def _by_itself(answer: Mapping[str, Any], status: int | None) -> str:
    """Return whether the client made the answer, as Chrome does to change http to https."""
    said = text(answer.get("statusText")).strip().lower()
    names = {text(table(each).get("name")).lower() for each in listed(answer.get("headers"))}
    if status == 307 and (said == "internal redirect" or "non-authoritative-reason" in names):
        return REDIRECTED
    return UNANSWERED if said.startswith(_FIDDLER) else ""


def _from_cache(entry: Mapping[str, Any], answer: Mapping[str, Any], status: int | None) -> str:
    if _CACHE_SAID.search(text(answer.get("statusText"))[:200]):
        return CACHE
    if status == NOT_MODIFIED:
        return ""
    # Firebug and older Firefox fill in this one alone, and only then.
    cache = table(entry.get("cache"))
    if "afterRequest" in cache and "beforeRequest" not in cache:
        return CACHE
    # Chrome: an answer of which no byte came over the network, not even its head.
    sent = answer.get("_transferSize")
    is_none = isinstance(sent, int | float) and not isinstance(sent, bool) and sent == 0
    has_content = whole(table(answer.get("content")).get("size")) > 0
    return CACHE if is_none and has_content and whole(answer.get("bodySize")) <= 0 else ""


def _is_none(entry: Mapping[str, Any], answer: Mapping[str, Any], status: int | None) -> bool:
    """Whether there is no answer. One that says nothing of its status describes a request, and no failure."""
    return status <= 0 if status is not None else bool(_error(entry, answer))


def _failed(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    said = f"{_error(entry, answer)} {text(answer.get('statusText'))} {text(answer.get('comment'))}"[:500]
    if _BLOCKED_SAID.search(said) or text(entry.get("_blockedReason") or answer.get("_blockedReason")):
        return BLOCKED
    return ABORTED if _ABORTED_SAID.search(said) else UNANSWERED


def _error(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return next(
        (
            said
            for part in (answer, entry)
            for name in ("_error", "_failureText", "error")
            if (said := text(part.get(name)))
        ),
        "",
    )
