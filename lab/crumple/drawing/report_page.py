"""A report as an HTML page that needs no network. Pure."""

from crumple.drawing import page
from crumple.drawing.report_parts import Report, parts_for, plain, sentence, spans_of


def html(report: Report) -> str:
    """Return the whole page."""
    return page.templates().get_template("page.html.j2").render(
        report=report,
        style=page.style(),
        parts_of=lambda parts: parts_for(parts, "page"),
        spans_of=spans_of,
        plain=plain,
        sentence=sentence,
    )  # fmt: skip
