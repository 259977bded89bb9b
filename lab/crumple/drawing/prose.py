"""The prose of a study, in Markdown, and maybe someone else's: where it is shown it loads and runs nothing.

Raw HTML in it stays text, and an image of another place becomes a link to it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# Which brings its bytes along; of those the parser lets through none but pictures.
CARRIED = "data:"


def as_html(prose: str) -> str:
    """For a page."""
    return _parser(html=False).render(prose)


def as_markdown(prose: str) -> str:
    """For a file that some other program will show: as it was written, where that does no harm."""
    said = prose.strip()
    if any(token.type in ("html_block", "html_inline") for token in _tokens(said)):
        said = said.replace("<", "&lt;")
    while any(token.type == "image" and not _is_carried(token) for token in _tokens(said)):
        said = said.replace("![", "[")
    return said


def _parser(*, html: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": html}).enable("table")
    parser.add_render_rule("image", _image)
    return parser


def _tokens(prose: str) -> Iterator[Token]:
    for token in _parser(html=True).parse(prose):
        yield token
        yield from token.children or ()


def _image(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    image = tokens[at]
    if _is_carried(image):
        return renderer.image(tokens, at, options, env)
    place = str(image.attrGet("src") or "")
    said = escapeHtml(image.content or place)
    opened = sum(token.nesting for token in tokens[:at] if token.type.startswith("link_"))
    # A link holds no other.
    return said if opened else f'<a href="{escapeHtml(place)}">{said}</a>'


def _is_carried(image: Token) -> bool:
    return str(image.attrGet("src") or "").startswith(CARRIED)
