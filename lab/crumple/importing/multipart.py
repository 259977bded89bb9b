"""A form as multipart/form-data, whose fields are texts (RFC 7578). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

KIND = "multipart/form-data"
_BOUNDARY = "crumple-part-of-a-form"


@dataclass(frozen=True)
class Field:
    """A field of a form."""

    name: str
    value: str
    kind: str = ""
    """Its Content-Type; empty: none is sent, which means text."""


def write(fields: Sequence[Field]) -> tuple[str, str]:
    """Return the Content-Type and the body; without fields the body is empty."""
    boundary = _BOUNDARY
    while any(boundary in each.value for each in fields):
        boundary += "-"
    lines: list[str] = []
    for each in fields:
        name = each.name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        kind = [f"Content-Type: {each.kind}"] if each.kind else []
        head = [f'Content-Disposition: form-data; name="{name}"', *kind]
        lines += [f"--{boundary}", *head, "", each.value]
    return f"{KIND}; boundary={boundary}", "\r\n".join([*lines, f"--{boundary}--", ""]) if lines else ""
