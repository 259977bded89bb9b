"""A page or Markdown made from a study's prose loads and runs nothing: its author may be a stranger."""

from html.parser import HTMLParser
from pathlib import Path

import own_scripts
import pytest
import synthetic_load
import synthetic_run
from crumple.drawing import page
from crumple.drawing.page import as_html, as_markdown
from crumple.run.report.run_report import html, markdown
from crumple.run.report.view import RunView, view
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from synthetic_load import page as load_page

TEMPLATES = sorted(Path(page.__file__).parent.glob("templates/*.html.j2"))
PIXEL = "data:image/png;base64,iVBORw0KGgo="
PLAIN = """It *waits*, see <https://example.org/a> and `a < b`.

    if a<b: print("<script>")

| a | b |
| --- | --- |
| 1 | 2 |
"""


class Elements(HTMLParser):
    """The elements that a browser would find in a page, and the URLs and handlers in them."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.loaded: list[str | None] = []
        self.links: list[str | None] = []
        self.handlers: list[str] = []
        self.feed(said)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "srcset", "data", "poster")]
        self.links += [value for name, value in attrs if name == "href"]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def seen(did: str) -> RunView:
    made = synthetic_run.run_file()
    prose = made.study.prose.model_copy(update={"did": did})
    changed = made.model_copy(update={"study": made.study.model_copy(update={"prose": prose})})
    return view(changed, synthetic_run.trials())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("![t](http://evil.example/track.png)", '<p><a href="http://evil.example/track.png">t</a></p>'),
        ("![](//evil.example/a&b)", '<p><a href="//evil.example/a&amp;b">//evil.example/a&amp;b</a></p>'),
        ("![a *b*][c]\n\n[c]: http://e.example", '<p><a href="http://e.example">a *b*</a></p>'),
        ("[![t](http://a.example)](http://b.example)", '<p><a href="http://b.example">t</a></p>'),
        ('![<b>"](x.png)', '<p><a href="x.png">&lt;b&gt;&quot;</a></p>'),
        (f"![dot]({PIXEL})", f'<p><img src="{PIXEL}" alt="dot" /></p>'),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ],
)
def test_a_page_links_to_images_and_shows_markup(written: str, shown: str) -> None:
    assert as_html(written).strip() == shown


def test_harmless_markdown_stays_as_it_was_written() -> None:
    assert as_markdown(PLAIN) == PLAIN.strip()
    assert as_markdown(f"![dot]({PIXEL})") == f"![dot]({PIXEL})"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a <script>alert(1)</script>", "a &lt;script>alert(1)&lt;/script>"),
        ("![t](http://evil.example/track.png)", "[t](http://evil.example/track.png)"),
        ("!![t](http://evil.example/track.png)", "[t](http://evil.example/track.png)"),
        ("<img src=x onerror=alert(1)>\n\n`<`", "&lt;img src=x onerror=alert(1)>\n\n`&lt;`"),
    ],
)
def test_markdown_that_would_load_or_run_something_becomes_text(written: str, said: str) -> None:
    assert as_markdown(written) == said


@given(st.text(alphabet="<>!/[]()`'\"ab \n-=:?&;x.\\"))
def test_no_active_markdown_is_left(written: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(as_markdown(written))
    kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}
    assert not kinds & {"html_block", "html_inline", "image"}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_every_page_says_that_it_fetches_nothing(template: Path) -> None:
    text = template.read_text()
    if "<head>" in text:
        head = text.partition("<head>")[2].splitlines()
        assert head[1:3] == [
            '<meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" content="{{ policy }}">',
        ]


@pytest.mark.long
def test_pages_need_nothing_that_their_policy_forbids() -> None:
    evil = "![t](http://evil.example/track.png)\n\n<script src=//evil.example></script>"
    of_the_run = html(seen(evil))
    for said in (of_the_run, load_page(synthetic_load.stepped())):
        assert f'content="{page.POLICY}"'.replace("'", "&#39;") in said
        found = Elements(own_scripts.without(said))
        assert not found.names & {"script", "iframe", "object", "embed", "link", "base", "form", "img"}
        assert not found.loaded and not found.handlers
        assert "@import" not in said and "url(http" not in said
    assert "http://evil.example/track.png" in Elements(of_the_run).links


def test_the_markdown_of_a_run_shows_markup() -> None:
    evil = "<script>alert(1)</script> ![t](http://evil.example/track.png)"
    said = markdown(seen(evil))
    assert "<script>" not in said and "![t]" not in said
