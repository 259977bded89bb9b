"""Why answers were malformed, in words, with what to do about it. Pure."""

from crumple.contract import Malformed, TrialRecord

# What happened, and the remedy.
_WORDS: dict[Malformed, tuple[str, str]] = {
    "not-http": (
        "what came does not begin as an answer of HTTP/1.1",
        "is it the right port, and http or https?",
    ),
    "version": ("the answer is of another version of HTTP", "let the server speak HTTP/1.1"),
    "status": (
        "the answer's first line is not as HTTP/1.1 has it",
        "let the server send a status from 100 to 999 and a reason without control characters",
    ),
    "field-line": (
        "a line of the answer's head is not a header as HTTP/1.1 has it",
        "let the server send a name, a colon right after it, and a value without control characters",
    ),
    "long-head": (
        "the answer has a head longer than 64 KiB, which crumple does not read",
        "let the server send less",
    ),
    "many-fields": (
        "the answer has more than 100 headers, which crumple does not read",
        "let the server send fewer",
    ),
    "length": ("the Content-Length is not a number", "let the server send the length of the body in bytes"),
    "conflicting-lengths": (
        "the answer has several lengths, which differ",
        "let the server and what is in front of it send one Content-Length",
    ),
    "transfer-encoding": (
        "an answer of HTTP/1.0 has a Transfer-Encoding",
        "let the server answer as HTTP/1.1, or without it",
    ),
    "switched-protocols": (
        "the server switched to another protocol (101)",
        "ask for what is answered in HTTP, without an Upgrade header",
    ),
    "chunk": (
        "a chunk of the body is not as HTTP/1.1 has it",
        "mend what writes the chunks, in the server or in front of it",
    ),
    "excess": (
        "more bytes came than belong to the answer",
        "let its Content-Length be the length of its body; 204, 304 and answers to HEAD have no body",
    ),
    "unasked": (
        "the server sent bytes before it was asked",
        "is it the right port? A server of HTTP waits for a request",
    ),
    "tls": ("TLS failed", "look at the server's log"),
}


def what(reason: Malformed) -> str:
    """Return what happened: "more bytes came than belong to the answer"."""
    return _WORDS[reason][0]


def remedy(reason: Malformed) -> str:
    """Return what to do about it."""
    return _WORDS[reason][1]


def most_frequent(record: TrialRecord) -> Malformed | None:
    """Return the reason of most malformed answers; None if there were none."""
    return max(record.malformed, key=lambda reason: record.malformed[reason], default=None)
