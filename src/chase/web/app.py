"""The viewer's pages: addresses, and what stands behind each. Everything is read, rendered and escaped here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from chase.core.errors import ChaseError, UserError
from chase.models.config import embedded_note
from chase.report.heads import WantedRuns
from chase.report.page import environment, style_sheet
from chase.runs.stories import story
from chase.web import words
from chase.web.filters import KINDS, Filters
from chase.web.following import Follower
from chase.web.guard import Secret
from chase.web.panes import explore
from chase.web.reports import RESULTS, SHOWN_RUNS, Reports
from chase.web.viewer import Viewer, config_of

STATIC = Path(__file__).parent / "static"
POLL_SECONDS = 0.5
ROLES = ("evo", "disc", "conf1", "conf2", "conf3", "cert")


class Pages:
    """One method for each page. They are called in threads, several at a time."""

    def __init__(self, viewer: Viewer, *, address: str, secret: Secret) -> None:
        self._viewer = viewer
        self._follower = Follower(viewer)
        self._reports = Reports(viewer)
        self._address = address
        self._secret = secret
        self._templates = templates()

    # Pages

    def runs(self, request: Request) -> Response:
        limit = _whole_number(request.query_params.get("limit"), SHOWN_RUNS)
        wanted = WantedRuns(members=request.query_params.get("members") == "1")
        heads, total = self._reports.heads(wanted, limit)
        return self._page(request, "runs.html", heads=heads, total=total, limit=limit, members=wanted.members)

    def run(self, request: Request) -> Response:
        run = self._viewer.run(request.path_params["run"])
        document = self._reports.document(run)
        results = [section for section in document.sections if section.id == RESULTS]
        progress = None if run.status == "finished" else self._follower.progress(run.id)
        return self._page(request, "run.html", run=run, document=document, sections=results, progress=progress)

    def section(self, request: Request) -> Response:
        run = self._viewer.run(request.path_params["run"])
        sections = self._reports.sections(run, request.path_params["section"])
        return self._page(request, "section.html", run=run, sections=sections)

    def live(self, request: Request) -> Response:
        run = self._viewer.run(request.path_params["run"])
        return self._page(request, "live.html", run=run, progress=self._follower.progress(run.id))

    def rollouts(self, request: Request) -> Response:
        run = self._viewer.run(request.path_params["run"]) if "run" in request.path_params else None
        names, filters = self._viewer.names(run), Filters.of(request.query_params)
        page = self._viewer.store.page(
            filters.sought(None if run is None else run.id, names),
            before=request.query_params.get("before"),
            after=request.query_params.get("after"),
        )
        tasks = None if run is None else config_of(run).get("tasks")
        roles = list(tasks) if isinstance(tasks, Mapping) else ROLES
        more = {"run": run, "names": names, "filters": filters, "page": page, "kinds": KINDS, "roles": roles}
        return self._page(request, "rollouts.html", **more)

    def rollout(self, request: Request) -> Response:
        found = self._viewer.rollout(request.path_params["digest"])
        runs = self._viewer.store.runs_using(found.digest)
        steps = list(story(self._viewer.store.trace(found.trace_digest)))
        note = next(filter(None, map(embedded_note, found.served_models)), None)
        return self._page(request, "rollout.html", rollout=found, runs=runs, steps=steps, note=note)

    def four(self, request: Request) -> Response:
        run = self._viewer.run(request.path_params["run"])
        names = self._viewer.names(run)
        found = explore(self._viewer, self._viewer.rollout(request.path_params["digest"]), names, request.query_params)
        return self._page(request, "four.html", run=run, names=names, four=found)

    # What follows a run

    async def follow(self, request: Request) -> Response:
        """The live page's middle part, again and again, until the run ends."""
        run = await run_in_threadpool(self._viewer.run, request.path_params["run"])
        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(self._told(run.id), media_type="text/event-stream", headers=headers)

    async def _told(self, run: str) -> AsyncIterator[str]:
        last = ""
        while not self._viewer.stopping():
            progress = await run_in_threadpool(self._follower.progress, run)
            text = self._templates.get_template("_progress.html").render(progress=progress)
            if text != last:
                last = text
                yield _sent("progress", text)
            if not progress.under_way:
                yield _sent("over", progress.state)
                return
            await asyncio.sleep(POLL_SECONDS)

    # How they are made

    def error(self, request: Request, error: Exception) -> Response:
        """A sentence in place of a page."""
        known = isinstance(error, ChaseError)
        status = 404 if isinstance(error, UserError) else 500
        said = str(error) if known else "The viewer could not make this page. Nothing was changed."
        page = self._page(request, "error.html", status=status, sentence=said)
        page.status_code = status
        return page

    def not_found(self, request: Request, error: Exception) -> Response:
        return self.error(request, UserError(f"There is no page {request.url.path}."))

    def _page(self, request: Request, template: str, **facts: Any) -> HTMLResponse:
        query = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        here = request.url.path
        common = {
            "workspace": self._viewer.workspace.root,
            "here": here,
            "ending": "".join(f"/{part}" for part in here.split("/")[3:]),
            "shared": str(request.url.replace_query_params(**dict(query), token=self._secret.token)),
        }
        if (run := facts.get("run")) is not None:
            common |= {"head": self._reports.head(run), "tabs": self._reports.tabs(run)}
        return HTMLResponse(self._templates.get_template(template).render(**common, **facts))

    def style(self, request: Request) -> Response:
        """The style sheet of reports: their sections look here as they do there."""
        return Response(style_sheet(), media_type="text/css")


def templates() -> Environment:
    """Our templates and those of reports, with autoescape and the same filters, compiled before anybody asks."""
    loaders = [PackageLoader("chase.web"), PackageLoader("chase.report")]
    made = environment().overlay(loader=ChoiceLoader(loaders))
    made.filters = {**made.filters, **{name: getattr(words, name) for name in FILTERS}}
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)
    return made


def _whole_number(text: str | None, otherwise: int) -> int:
    """A number of an address; what is none, or beyond reason, is left out."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and 0 < len(text) < 7 else otherwise


FILTERS = ("seconds", "span", "count", "score", "moment", "dollars", "first_line", "simulated")


def make_app(viewer: Viewer, *, address: str, secret: Secret) -> Starlette:
    """The application, unguarded: `Guard` stands before it."""
    pages = Pages(viewer, address=address, secret=secret)
    handlers: Mapping[Any, Callable[[Request, Exception], Response]] = {
        404: pages.not_found,
        ChaseError: pages.error,
        Exception: pages.error,
    }
    return Starlette(
        routes=[
            Route("/", pages.runs),
            Route("/runs/{run}", pages.run),
            Route("/runs/{run}/live", pages.live),
            Route("/runs/{run}/live/events", pages.follow),
            Route("/runs/{run}/rollouts", pages.rollouts),
            Route("/runs/{run}/four/{digest}", pages.four),
            Route("/runs/{run}/{section}", pages.section),
            Route("/rollouts", pages.rollouts),
            Route("/rollouts/{digest}", pages.rollout),
            Route("/static/report.css", pages.style),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers=handlers,
    )


def _sent(event: str, text: str) -> str:
    """One server-sent event."""
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"event: {event}\n{lines}\n"
