"""Carrying requests: once in the calling thread, once in an event loop."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import httpx

from handrail._version import __version__
from handrail.client.journey import JOURNEY, Journey
from handrail.client.settings import Settings
from handrail.client.steps import Failure, Outcome, Reply, Request
from handrail.client.transport import AsyncTransport, Transport

__all__ = ["AsyncWire", "Wire"]

_LARGEST: Final = 64 * 2**20
"""Bytes of an answer; what is larger is not the service's."""


class _TooLarge(Exception):
    """The answer is larger than any of the service's."""


class _Body:
    """Gathers an answer's body."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > _LARGEST:
            raise _TooLarge

    def reply(self, status: int) -> Reply:
        return Reply(status, b"".join(self._parts))


def _headers(settings: Settings) -> dict[str, str]:
    headers = {
        "Accept": "application/json, application/problem+json, application/x-ndjson",
        "Accept-Encoding": "identity",
        "User-Agent": f"handrail/{__version__}",
    }
    if settings.key is not None:
        headers["Authorization"] = f"Bearer {settings.key}"
    return headers


def _build(
    http: httpx.Client | httpx.AsyncClient, url: str, request: Request, left: float
) -> httpx.Request:
    """Return the request as httpx knows it."""
    return http.build_request(
        request.method,
        url + request.path,
        content=request.body,
        headers={"Content-Type": "application/json"} if request.body else None,
        timeout=left,
    )


def _failure(error: Exception, sent: bool, span: float) -> Failure:
    """Return what an exception means."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return Failure("timeout", f"no answer within {span:.3g} s", sent)
    if isinstance(error, _TooLarge):
        return Failure("unreadable", f"the answer has more than {_LARGEST} bytes", sent)
    said = str(error) or type(error).__name__
    if sent:
        return Failure("broken", f"the connection broke: {said}", sent)
    return Failure("unreachable", said, sent)


_TOO_LATE: Final = Failure("timeout", "the time was over before anything was sent", sent=False)


class Wire:
    """Carries requests in the calling thread; calls from several threads are fine."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        self._http = httpx.Client(
            transport=Transport(settings.context), headers=_headers(settings), trust_env=False
        )

    def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            time.sleep(request.delay)
        span = request.deadline - time.monotonic()
        if span <= 0:
            return _TOO_LATE
        journey = Journey(request.deadline)
        token = JOURNEY.set(journey)
        try:
            built = _build(self._http, self._url, request, span)
            response = self._http.send(built, stream=True)
            try:
                body = _Body()
                for part in response.iter_raw():
                    body.add(part)
            finally:
                response.close()
            return body.reply(response.status_code)
        except Exception as error:
            return _failure(error, journey.sent, span)
        finally:
            JOURNEY.reset(token)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncWire:
    """Carries requests in an event loop; one for each loop."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        self._http = httpx.AsyncClient(
            transport=AsyncTransport(settings.context), headers=_headers(settings), trust_env=False
        )

    async def send(self, request: Request) -> Outcome:
        """Return what became of a request; an error is no exception here."""
        if request.delay:
            await asyncio.sleep(request.delay)
        span = request.deadline - time.monotonic()
        if span <= 0:
            return _TOO_LATE
        journey = Journey(request.deadline)
        token = JOURNEY.set(journey)
        try:
            async with asyncio.timeout(span):
                built = _build(self._http, self._url, request, span)
                response = await self._http.send(built, stream=True)
                try:
                    body = _Body()
                    async for part in response.aiter_raw():
                        body.add(part)
                finally:
                    await response.aclose()
                return body.reply(response.status_code)
        except Exception as error:
            return _failure(error, journey.sent, span)
        finally:
            JOURNEY.reset(token)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()
