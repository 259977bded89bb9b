"""A report as an HTML page that needs no network. Pure."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from crumple.drawing import page, page_document
from crumple.drawing.report_parts import Report, parts_for, plain, sentence, spans_of


def html(report: Report, document: Mapping[str, Any] | None = None) -> str:
    """Return the whole page. `document`: what the command prints with --json, which the page holds."""
    return page.templates().get_template("page.html.j2").render(
        report=report,
        document="" if document is None else Markup(page_document.element(document)),
        style=page.style(),
        parts_of=lambda parts: parts_for(parts, "page"),
        spans_of=spans_of,
        plain=plain,
        sentence=sentence,
    )  # fmt: skip
