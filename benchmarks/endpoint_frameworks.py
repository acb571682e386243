"""The bare endpoint once more by other frameworks, and by none."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.endpoint import DECIDE, REWARD, Answer, Bare, allowed, from_environment

__all__ = ["fastapi", "fastapi_msgspec", "starlette"]


def starlette() -> Any:
    """Return the endpoint by Starlette."""
    responses = import_module("starlette.responses")
    bare = from_environment()

    async def answer(request: Any) -> Any:
        if not allowed(request.headers.get("authorization", "").encode()):
            return responses.Response(status_code=401)
        found = await bare.answer(request.url.path, await request.body())
        return responses.Response(bare.encode(found), media_type="application/json")

    route = import_module("starlette.routing").Route
    routes = [route(path, answer, methods=["POST"]) for path in (DECIDE, REWARD)]
    return import_module("starlette.applications").Starlette(routes=routes)


def _fastapi(bare: Bare, decide: Callable[..., Any], reward: Callable[..., Any]) -> Any:
    """Return an application with a dependency that checks the key, as its manual has it."""
    module = import_module("fastapi")

    async def check(authorization: str = "") -> None:
        if not allowed(authorization.encode()):
            raise module.HTTPException(401)

    check.__annotations__["authorization"] = str
    check.__defaults__ = (module.Header(default=""),)
    app = module.FastAPI(dependencies=[module.Depends(check)])
    app.post(DECIDE)(decide)
    app.post(REWARD)(reward)
    return app


def fastapi() -> Any:
    """Return the endpoint by FastAPI as it is meant to be used, with models of pydantic."""
    create_model = import_module("pydantic").create_model
    bare = from_environment()
    answer_model = create_model("Answer", id=(str, ...), round=(int, ...))

    async def decide(name: str, asked: Any) -> Any:
        found = await bare.keep_decision(asked.baseline_mean)
        return answer_model(id=found.id, round=found.round)

    async def reward(name: str, told: Any) -> Any:
        found = await bare.keep_reward(told.decision, told.reward)
        return answer_model(id=found.id, round=found.round)

    decide.__annotations__ = {
        "name": str,
        "asked": create_model(
            "Decide",
            features=(list[list[float]] | None, None),
            baseline=(int | None, None),
            baseline_mean=(float | None, None),
            idempotency_key=(str | None, None),
        ),
        "return": answer_model,
    }
    reward.__annotations__ = {
        "name": str,
        "told": create_model("Reward", decision=(str, ...), reward=(float, ...)),
        "return": answer_model,
    }
    return _fastapi(bare, decide, reward)


def fastapi_msgspec() -> Any:
    """Return the endpoint by FastAPI with bodies read and written by msgspec."""
    bare = from_environment()
    response = import_module("fastapi").Response

    async def answer(request: Any) -> Any:
        found = await bare.answer(request.url.path, await request.body())
        return response(bare.encode(found), media_type="application/json")

    answer.__annotations__ = {"request": import_module("fastapi").Request}
    return _fastapi(bare, answer, answer)


class _Protocol(asyncio.Protocol):
    """HTTP by httptools alone: no checks, no limits, no back-pressure."""

    def __init__(self, bare: Bare) -> None:
        self._bare = bare
        self._parser = import_module("httptools").HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()
        self._url, self._key, self._body = b"", b"", b""
        self._transport: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"authorization":
            self._key = value

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        body, self._body = self._body, b""
        task = self._loop.create_task(self._answer(self._url.decode(), self._key, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, path: str, key: bytes, body: bytes) -> None:
        found: Answer | None = await self._bare.answer(path, body) if allowed(key) else None
        content = b"" if found is None else self._bare.encode(found)
        self._transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (b"401 Unauthorized" if found is None else b"200 OK", len(content), content)
        )


async def _serve(port: int) -> None:
    bare = from_environment()
    server = await asyncio.get_running_loop().create_server(
        lambda: _Protocol(bare), "127.0.0.1", port
    )
    await server.serve_forever()


def main() -> None:
    """Serve the endpoint without a framework."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, required=True)
    import_module("uvloop").run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
