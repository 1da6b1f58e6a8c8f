"""A browser for pages: Chromium as it is installed, or the one that playwright keeps. It reaches no network.

Where there is none, these tests are skipped and say so; with PLANSCOPE_BROWSER=required they fail.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

from experiments.workloads.data import open_data
from memo_viz.stepper.page import stepper_page
from optimizer.catalog.table import Catalog
from optimizer.trace.recorder import Trace
from tests.search.planning import trace_of

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        except Error as error:
            missing = "NOT TESTED: the stepper page, since no Chromium was found (apt install chromium)"
            if os.environ.get("PLANSCOPE_BROWSER") == "required":
                pytest.fail(f"{missing}\n{error}")
            pytest.skip(missing)
        yield found
        found.close()


class Seen:
    """What a page did that it should not do."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens HTML as a file, at a fragment, and waits for it. In the end nothing went wrong and nothing was asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    seen = Seen()

    def request(url: str) -> None:
        if not url.startswith(("file:", "blob:", "data:", "about:")):
            seen.requests.append(url)

    def opened(html: str, fragment: str = "", ready: str = "[data-ready]") -> Page:
        file = tmp_path / "page.html"
        file.write_text(html, "utf-8")
        page = context.new_page()
        page.on("console", lambda message: seen.errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("dialog", lambda dialog: seen.errors.append(f"dialog: {dialog.message}"))
        page.on("request", lambda each: request(each.url))
        page.goto(file.as_uri() + fragment)
        if ready:
            page.wait_for_selector(ready, state="attached")
        return page

    yield opened
    context.close()
    assert seen.errors == []
    assert seen.requests == []


@pytest.fixture(scope="session")
def q5(tpch: Catalog) -> Trace:
    return trace_of("tpch/q05", tpch)


@pytest.fixture(scope="session")
def clique() -> Trace:
    return trace_of("clique/8", open_data("joingraph"))


@pytest.fixture(scope="session")
def q5_page(q5: Trace) -> str:
    return stepper_page(q5.events, title="tpch/q05")


@pytest.fixture(scope="session")
def clique_page(clique: Trace) -> str:
    return stepper_page(clique.events, title="clique/8")
