"""The page's server: one person's browser on one machine, and nobody else.

Everything lies below a secret token in the address. The Host header must be ours, which DNS
rebinding cannot fake; Origin must be ours, and must be there where something is written, which a
page of another site cannot fake; the content security policy lets nothing in or out. Files are
those of the package, by name from a fixed table: no path from the browser is ever opened.
"""

import hmac
import secrets
import socket
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from partita.label.sitting import Sitting
from partita.show.svg import STYLE

MOST_BYTES = 2**20
"""Of a request's body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
FILES = {
    "": ("index.html", "text/html"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "style.css": ("style.css", "text/css"),
    "main.js": ("main.js", "text/javascript"),
    "question.js": ("question.js", "text/javascript"),
    "panel.js": ("panel.js", "text/javascript"),
    "answers.js": ("answers.js", "text/javascript"),
    "wire.js": ("wire.js", "text/javascript"),
    "page.js": ("page.js", "text/javascript"),
}
"""What the browser may ask for: the file of the package, and its type."""
Body = Mapping[str, Any]


class BadRequest(ValueError):  # noqa: N818 (an answer to the browser, not an error of ours)
    """A request that makes no sense, with the sentence that the page shows."""


def make_app(sitting: Sitting, token: str, hosts: set[str]) -> Any:
    """The web application; `hosts` are the values of the Host header that are ours."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    page = {name: _file(*found) for name, found in FILES.items()}
    page["drawings.css"] = (STYLE.encode(), "text/css")
    calls = _calls(sitting)

    def refused(request: Request) -> Response | None:
        """Why a request is not answered; None if it is."""
        origin = request.headers.get("origin")
        if request.headers.get("host") not in hosts:
            return Response("This server answers to another name.", 421, HEADERS)
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return Response("This page may not ask.", 403, HEADERS)
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return Response("This page may not ask.", 403, HEADERS)
        given = request.path_params["token"].encode("utf-8", "replace")
        if not hmac.compare_digest(given, token.encode()):
            return Response("There is nothing here.", 404, HEADERS)
        return None

    async def get_file(request: Request) -> Response:
        response = refused(request)
        found = page.get(request.path_params.get("name", ""))
        if response is None and found is None:
            response = Response("There is nothing here.", 404, HEADERS)
        if response is not None or found is None:
            return response  # type: ignore[return-value]
        return Response(found[0], 200, HEADERS, f"{found[1]}; charset=utf-8")

    async def call(request: Request) -> Response:
        response = refused(request)
        function = calls.get(request.path_params["name"])
        if response is not None:
            return response
        if function is None:
            return Response("There is nothing here.", 404, HEADERS)
        if request.headers.get("origin") is None:
            return Response("A request that writes says where it comes from.", 403, HEADERS)
        if request.headers.get("content-type") != "application/json":
            return Response("JSON is expected.", 415, HEADERS)
        try:
            body = await _body(request)
            found = await run_in_threadpool(function, body)
        except (BadRequest, ValueError, KeyError, TypeError, OSError) as error:
            problem = str(error) if isinstance(error, ValueError | OSError) else repr(error)
            status = 507 if isinstance(error, OSError) else 422
            return JSONResponse({"problem": problem}, status, HEADERS)
        return JSONResponse(found, 200, HEADERS)

    return Starlette(
        routes=[
            Route("/{token}/", get_file, methods=["GET"]),
            Route("/{token}/{name}", get_file, methods=["GET"]),
            Route("/{token}/api/{name}", call, methods=["POST"]),
        ]
    )


async def _body(request: Any) -> Body:
    import json

    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BYTES:
            raise BadRequest("the request is too long.")
    body = json.loads(data)
    if not isinstance(body, dict):
        raise BadRequest("an object was expected.")
    return body


def _file(name: str, kind: str) -> tuple[bytes, str]:
    return files("partita.label").joinpath("page", name).read_bytes(), kind


def _calls(sitting: Sitting) -> dict[str, Callable[[Body], Any]]:
    """What the page may ask for, by name."""

    def question(body: Body) -> Any:
        found = sitting.question(str(body["tab"]))
        sitting.prepare(str(body["tab"]))
        return drawn(found)

    def answer(body: Body) -> Any:
        values = _chosen(body["values"])
        return sitting.answer(
            str(body["tab"]), str(body["id"]), _number(body, "sentence"), values, _seconds(body)
        )

    def skip(body: Body) -> Any:
        words = [int(word) for word in body["words"]]
        sentence = _sentence(sitting, body)
        return sitting.skip(str(body["tab"]), str(body["id"]), sentence, words)

    def undo(body: Body) -> Any:
        return sitting.undo(str(body["tab"]), str(body["id"]))

    def view(body: Body) -> Any:
        first, last = _number(body, "first"), _number(body, "last")
        sentence = _sentence(sitting, body)
        if not 0 <= first <= last < len(sitting.task.sentences[sentence]):
            raise BadRequest("these words are not in the sentence.")
        return drawn(sitting.view(sentence, first, last, _chosen(body["values"])))

    def opened(body: Body) -> Any:
        ends = [None if body.get(name) is None else _number(body, name) for name in FIRST_LAST]
        return drawn(sitting.opened(_sentence(sitting, body), *ends))

    def answers(body: Body) -> Any:
        found = sitting.answers(str(body.get("search", "")), doubtful=body.get("doubtful") is True)
        return {"answers": found[:MOST_ROWS], "n_answers": len(found)}

    def progress(body: Body) -> Any:
        found = sitting.progress()
        for name in ("curve", "calibration"):
            if name in found:
                found[name] = without_style(found[name])
        return found

    def about(body: Body) -> Any:
        return {**sitting.task.about(), "n_sentences": len(sitting.task.sentences)}

    every = (question, answer, skip, undo, view, opened, answers, progress, about)
    return {function.__name__: function for function in every}


FIRST_LAST = ("first", "last")
MOST_ROWS = 500
"""Answers that are listed at once."""


def drawn(payload: dict[str, Any]) -> dict[str, Any]:
    """With the drawing as the page takes it."""
    if "drawing" in payload:
        payload = {**payload, "drawing": without_style(payload["drawing"])}
    return payload


def without_style(svg: str) -> str:
    """A drawing without its style sheet, which the policy forbids; the page has it as a file."""
    return svg.replace(f"<style>{STYLE}</style>", "")


def _number(body: Body, name: str) -> int:
    value = body[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"{name} is {value!r}; expected a number.")
    return value


def _sentence(sitting: Sitting, body: Body) -> int:
    number, n_sentences = _number(body, "sentence"), len(sitting.task.sentences)
    if not 0 <= number < n_sentences:
        raise BadRequest(f"sentence {number} came; expected 0 to {n_sentences - 1}.")
    return number


def _seconds(body: Body) -> float:
    value = float(body["seconds"])
    return value if 0 <= value < float("inf") else 0.0


def _chosen(values: Any) -> dict[tuple[int, str], str]:
    """Rows of word, kind and value."""
    return {(int(word), str(kind)): str(value) for word, kind, value in values}


class LabelServer:
    """A socket that listens, a token, and the address that holds both."""

    def __init__(self, sitting: Sitting, host: str = "127.0.0.1", port: int = 0) -> None:
        self.sitting, self.token = sitting, secrets.token_urlsafe(24)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.listen()
        self.port = int(self._socket.getsockname()[1])
        names = {host, "127.0.0.1", "localhost", "::1"}
        self.hosts = {f"{_bracketed(name)}:{self.port}" for name in names}
        self.address = f"http://{_bracketed(host)}:{self.port}/{self.token}/"
        self._server: Any = None

    def run(self) -> None:
        """Serve until a signal, or `stop` of another thread."""
        import uvicorn

        config = uvicorn.Config(
            make_app(self.sitting, self.token, self.hosts),
            log_level="error",
            access_log=False,
            ws="none",
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Let `run` return."""
        if self._server is not None:
            self._server.should_exit = True


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
