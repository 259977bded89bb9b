"""Chromium for tests of pages, and the ways in which a page is opened. Fixtures and checks, no test itself.

The browser is Debian's, which the launcher installs (`CRUMPLE_SET_UP=browser`); where there is none, tests
that need it are skipped. It starts once for a file of tests, with one context for each way, which all pages
use.
"""

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from axe_playwright_python.sync_playwright import Axe
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
# Jenkins sends the files of a job with this header ("Configuring Content Security Policy" of its handbook).
JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';"
# What WCAG 2.2 asks at level AA, with what it contains of earlier versions, and what axe calls best practice.
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Pixels for each point of a sheet: enough to see lines of text.
SHEET_SCALE = 0.5
SCRIPT = (Path(__file__).parent / "opened_pages.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Way:
    """How a page is opened."""

    name: str
    width: int = 1280
    height: int = 900
    options: dict[str, Any] = field(default_factory=dict)
    """What the browser is told besides, by Playwright's names."""
    policy: str = ""
    """The policy that a server sends with the page; empty: the page is a file."""


NAMED = {
    way.name: way
    for way in (
        Way("1280"),
        Way("390", 390, 844),
        # The least width that WCAG 2.2 names (1.4.10, reflow).
        Way("320", 320, 640),
        Way("200 %", 640, 450, {"device_scale_factor": 2}),
        Way("dark", options={"color_scheme": "dark"}),
        Way("forced colours", options={"forced_colors": "active"}),
        Way("no script", options={"java_script_enabled": False}),
        Way("Jenkins", policy=JENKINS),
    )
}


@dataclass(frozen=True)
class Seen:
    """What was seen of a page that was opened, with all its folds open."""

    requests: list[str]
    """The addresses that were asked for, the page's own first."""
    errors: list[str]
    """The errors and warnings of the console."""
    words: set[str]
    """The words that are seen."""
    drawings: list[int]
    """How many drawings each chart shows."""
    faults: dict[str, list[str]]
    """By the name of a check of `opened_pages.js`, what it found."""
    axe: list[str]
    """The rules of access that the page breaks, each with the first place."""


class Window:
    """A browser that opens files, each way in a page of its own that stays."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._pages: dict[str, Page] = {}

    def looks(self, file: Path, way: Way, axe: bool = False) -> Seen:
        """Open a page in a way, and return what is seen of it. `axe`: also by its rules."""
        page, requests, errors = self._page(way), list[str](), list[str]()
        with listening(page, requests, errors):
            if way.policy:
                with served(file, way.policy) as url:
                    page.goto(url)
            else:
                page.goto(file.as_uri())
        # The browser says of the page's own style and script that the server's policy refused them.
        refused = ("style-src 'self'", "Blocked script execution")
        errors = [said for said in errors if not (way.policy and any(each in said for each in refused))]
        found = page.evaluate(f"(() => {{ {SCRIPT}\nreturn look(); }})()")
        rules = broken(page) if axe else []
        return Seen(requests, errors, set(found["words"]), found["drawings"], found["faults"], rules)

    def opened(self, file: Path, way: Way = NAMED["1280"], fragment: str = "") -> Page:
        """Open a page in a way, and return it."""
        page = self._page(way)
        # An address that differs in its fragment only would leave the page as it is.
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}{fragment}")
        return page

    def prints(self, file: Path, fragment: str, choices: Mapping[str, str]) -> pypdfium2.PdfDocument:
        """Print a page as it comes, with its folds closed.

        `fragment`: the place that a link led to; `choices`: what is chosen before, by its label.
        """
        page = self._page(NAMED["1280"])
        # Another page is between, as a fragment alone would load nothing.
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}#{fragment}")
        for label, chosen in choices.items():
            page.get_by_label(label).select_option(chosen)
        return pypdfium2.PdfDocument(page.pdf(prefer_css_page_size=True, format="A4"))

    def _page(self, way: Way) -> Page:
        if way.name not in self._pages:
            size = {"width": way.width, "height": way.height}
            context = self._browser.new_context(viewport=size, **way.options)  # type: ignore[arg-type]
            self._pages[way.name] = context.new_page()
        return self._pages[way.name]


def sheets(document: pypdfium2.PdfDocument) -> list[NDArray[np.uint8]]:
    """Return a picture in grey of each sheet."""
    return [sheet.render(scale=SHEET_SCALE, grayscale=True).to_numpy() for sheet in document]


def words_of(document: pypdfium2.PdfDocument) -> str:
    """Return the words on all sheets, also those that a style sheet adds."""
    return " ".join(sheet.get_textpage().get_text_range() for sheet in document)


@contextlib.contextmanager
def listening(page: Page, requests: list[str], errors: list[str]) -> Iterator[None]:
    """Note what a page asks for and what its console says."""
    listeners: list[tuple[Any, Callable[[Any], None]]] = [
        ("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None),
        ("pageerror", lambda error: errors.append(str(error))),
        ("request", lambda request: requests.append(request.url)),
    ]
    for event, listener in listeners:
        page.on(event, listener)
    yield
    for event, listener in listeners:
        page.remove_listener(event, listener)


def broken(page: Page) -> list[str]:
    """Return the rules of access that a page breaks."""
    found = Axe().run(page, options={"runOnly": list(RULES), "resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {len(rule['nodes'])}, first {rule['nodes'][0]['html'][:160]}"
        for rule in found.response["violations"]
    ]


@contextlib.contextmanager
def served(file: Path, policy: str) -> Iterator[str]:
    """Send one file from loopback with a policy; return its address."""
    body = file.read_bytes()

    class Sends(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Sends) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def window() -> Iterator[Window]:
    """The browser. It ends with the file of tests, as asyncio cannot be used while it runs."""
    if PROGRAM is None:
        pytest.skip("needs Chromium: CRUMPLE_SET_UP=browser ./crumple")
    with sync_playwright() as playwright:
        # The tests set handlers of their own.
        leaves = {"handle_sigint": False, "handle_sigterm": False, "handle_sighup": False}
        browser = playwright.chromium.launch(executable_path=PROGRAM, **leaves)
        yield Window(browser)
        browser.close()
