"""Asking the OpenML server: at a polite pace, with patience for what passes.

The requests are made here and not by the openml package, whose own know no time limit and no
pace, can't tell a missing file from a server that is busy, and delete a task's cache when one of
its files can't be had. Where the server is, the key and the number of attempts are openml's.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit
from xml.etree import ElementTree

from runner.errors import InputError

if TYPE_CHECKING:
    import requests

_T = TypeVar("_T")

_BUSY = (408, 425, 429, 500, 502, 503, 504)
_GONE = (404, 410)
_DATABASE_BUSY = 107
_GENERAL = 110
"""Codes up to this one are of the interface as a whole, later ones of what was asked for."""
# Nothing matches: of data, flows, runs, tasks, evaluations and setups, in this order.
_NO_RESULT = (111, 372, 500, 512, 482, 542, 674)
_CONNECT_SECONDS = 10.0
_LONGEST_WAIT = 60.0
_ALONE_ATTEMPTS = 2
"""Attempts at a server that nobody has met yet: there may be no network at all."""


class UnreachableError(InputError):
    """The server doesn't answer, or not with what it should, after all attempts."""


class NoResultError(InputError):
    """The server has nothing that matches."""


class RefusedError(InputError):
    """The server says no.

    Args:
        message: What it says.
        code: Of its own; None for a bare status.
    """

    def __init__(self, message: str, code: int | None = None):
        super().__init__(message)
        self.code = code

    @property
    def lasting(self) -> bool:
        """Whether it will say so again; of the interface as a whole, such as keys, it may not."""
        return self.code is not None and self.code > _GENERAL


class GoneError(InputError):
    """A file isn't there any more."""


@dataclass(frozen=True)
class Pace:
    """How much may be asked of the server.

    Attributes:
        per_second: Requests, attempts of the same one counted each.
        at_once: Requests that wait for an answer at the same time.
        read_seconds: For which the server may stay silent within an answer.
        first_wait: Seconds before the second attempt; each further one waits twice as long.
    """

    per_second: float = 5.0
    at_once: int = 4
    read_seconds: float = 120.0
    first_wait: float = 1.0


POLITE = Pace()


class Server:
    """An OpenML server. Any number of threads may ask it; together they keep the pace.

    Args:
        address: Of its interface, such as ``https://www.openml.org/api/v1/xml``.
        key: The user's; empty for none, which suffices to read.
        pace: How much may be asked.
        attempts: At each request, until it is given up.
    """

    def __init__(self, address: str, key: str = "", pace: Pace = POLITE, attempts: int = 5):
        self.address = address.rstrip("/")
        self._key = key
        self._pace = pace
        self._attempts = max(1, attempts)
        self._slots = threading.BoundedSemaphore(pace.at_once)
        self._turn = threading.Lock()
        self._next = 0.0
        self._answered = False
        self._absent = False
        self._session = threading.local()

    @property
    def host(self) -> str:
        """The server's name, with its port where it has one."""
        return urlsplit(self.address).netloc

    def call(self, path: str) -> bytes:
        """The answer to a call of the interface, such as ``task/59``: well-formed XML.

        Raises:
            NoResultError, RefusedError: The server says so.
            UnreachableError: It doesn't answer.
        """
        url = f"{self.address}/{path}"
        return self._patiently(url, lambda: _xml(self._get(url).content))

    def text(self, url: str, md5: str | None = None) -> str:
        """A file that an answer names.

        Args:
            url: Where it is.
            md5: Of the file's text in UTF-8 or of its bytes (the server has either); None for a
                file without one.

        Raises:
            GoneError: It isn't there.
            UnreachableError: It can't be had, or never with that checksum.
        """
        return self._patiently(url, lambda: _checked(self._get(url), md5, url))

    def content(self, url: str) -> bytes:
        """A file that an answer names, as it is; raises what :meth:`text` does."""
        return self._patiently(url, lambda: bytes(self._get(url).content))

    def _patiently(self, url: str, once: Callable[[], _T]) -> _T:
        """What ``once`` gives, after as many attempts as it takes."""
        wait = self._pace.first_wait
        for attempt in range(1, self._attempts + 1):
            try:
                with self._admission():
                    found = once()
                self._answered = True
                return found
            except _Passing as trouble:
                self._answered = self._answered or not trouble.unconnected
                most = self._attempts if self._answered else min(_ALONE_ATTEMPTS, self._attempts)
                if attempt >= most or self._absent:
                    self._absent = not self._answered
                    raise UnreachableError(
                        f"{urlsplit(url).netloc} can't be reached: {trouble} ({url})"
                    ) from trouble
                time.sleep(min(_LONGEST_WAIT, trouble.wait or wait * random.uniform(0.8, 1.2)))
                wait *= 2
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _admission(self) -> Iterator[None]:
        with self._slots:
            with self._turn:
                now = time.monotonic()
                due = max(now, self._next)
                self._next = due + 1 / self._pace.per_second
            time.sleep(due - now)
            yield

    def _get(self, url: str) -> requests.Response:
        import requests

        session = getattr(self._session, "open", None)
        if session is None:
            session = self._session.open = requests.Session()
        try:
            response = session.get(
                url,
                # Files lie at other hosts too, which the key is no business of.
                params={"api_key": self._key} if self._key and self._is_own(url) else None,
                timeout=(_CONNECT_SECONDS, self._pace.read_seconds),
            )
        except requests.exceptions.InvalidURL as error:
            raise RefusedError(f"{url!r} is no address: {error}") from error
        except requests.RequestException as error:
            raise _Passing(_reason(error), unconnected=_is_unconnected(error)) from error
        if response.status_code != 200:
            raise _refusal(response, url)
        return response

    def _is_own(self, url: str) -> bool:
        return urlsplit(url).netloc == self.host


class _Passing(Exception):
    """Trouble that another attempt may not meet.

    Args:
        text: What it is.
        unconnected: Whether nobody was met who could have answered.
        wait: Seconds that it asks to wait.
    """

    def __init__(self, text: str, *, unconnected: bool = False, wait: float | None = None):
        super().__init__(text)
        self.unconnected = unconnected
        self.wait = wait


def _refusal(response: requests.Response, url: str) -> Exception:
    """What an answer other than 200 means."""
    code, message = _error(response.content)
    if code == _DATABASE_BUSY:
        return _Passing(f"the database is busy (code {code})", wait=_wait(response))
    if code in _NO_RESULT:
        return NoResultError(f"the server has nothing at {url}: {message} (code {code})")
    if code is not None:
        return RefusedError(f"the server refuses {url}: {message} (code {code})", code)
    if response.status_code in _BUSY:
        return _Passing(f"status {response.status_code}", wait=_wait(response))
    if response.status_code in _GONE:
        return GoneError(f"there is nothing at {url} (status {response.status_code})")
    return RefusedError(f"the server refuses {url} with status {response.status_code}")


def _error(content: bytes) -> tuple[int | None, str]:
    """Code and message of an answer in the server's own format of errors."""
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError:
        return None, ""
    found = {element.tag.rpartition("}")[2]: (element.text or "").strip() for element in root}
    if not found.get("code", "").isdigit():
        return None, ""
    details = (found.get("message", ""), found.get("additional_information", ""))
    return int(found["code"]), " - ".join(filter(None, details))


def _wait(response: requests.Response) -> float | None:
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isdigit() else None


def _xml(content: bytes) -> bytes:
    content = content.rstrip(b"\0")
    try:
        ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise _Passing(f"the answer is no XML: {error}") from error
    return content


def _checked(response: requests.Response, md5: str | None, url: str) -> str:
    content: bytes = response.content
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = str(response.text)
    if md5 and md5.lower() not in (_md5(content), _md5(text.encode("utf-8", "replace"))):
        raise _Passing("the checksum is wrong")
    return text


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _is_unconnected(error: requests.RequestException) -> bool:
    from requests.exceptions import ProxyError
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    cause = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, ProxyError) or isinstance(
        cause, NewConnectionError | ConnectTimeoutError
    )


def _reason(error: Exception) -> str:
    """The innermost cause in a few words: requests wraps what the system said several times."""
    cause: BaseException = error
    while True:
        inner = cause.__cause__ or cause.__context__
        inner = inner or next((a for a in cause.args if isinstance(a, BaseException)), None)
        if inner is None:
            break
        cause = inner
    words = getattr(cause, "strerror", None) or " ".join(str(cause).split())
    return words[:150] or type(cause).__name__
