"""The server is asked patiently and politely."""

from __future__ import annotations

import threading
import time

import pytest
from openml_server import BUSY, CUT, DATABASE, GARBLED, SILENT, OpenmlServer

from runner.errors import InputError
from runner.openml import GoneError, NoResultError, Pace, Server, UnreachableError

FAST = Pace(per_second=1000, at_once=3, read_seconds=0.5, first_wait=0.01)
TASK = "task/59"


def asking(server: OpenmlServer, attempts: int = 3, pace: Pace = FAST) -> Server:
    return Server(server.url, pace=pace, attempts=attempts)


@pytest.mark.parametrize("fault", [BUSY, DATABASE, CUT, SILENT])
def test_passing_trouble_is_waited_out(openml_server: OpenmlServer, fault: str) -> None:
    # The first request tells that there is a network at all.
    server = asking(openml_server)
    server.call("data/61")
    openml_server.fail(TASK, fault, times=2)
    assert b"<oml:task_id>59</oml:task_id>" in server.call(TASK)
    assert len(openml_server.asked(TASK)) == 3


@pytest.mark.parametrize("fault", [BUSY, DATABASE, CUT])
def test_trouble_that_stays_is_told_in_one_line(openml_server: OpenmlServer, fault: str) -> None:
    openml_server.fail(TASK, fault, times=99)
    with pytest.raises(UnreachableError) as error:
        asking(openml_server).call(TASK)
    assert "127.0.0.1" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(openml_server.requests) <= 3


def test_a_wrong_checksum_is_asked_for_again_and_never_let_pass(
    openml_server: OpenmlServer,
) -> None:
    url = f"{openml_server.host}/data/download/61/iris.arff"
    md5 = "3a212cce13fc6f9b94f4793285813d95"
    server = asking(openml_server)
    openml_server.fail("iris.arff", GARBLED)
    assert "6.5,3.0,5.2,2.0,Iris-virginica" in server.text(url, md5)
    openml_server.fail("iris.arff", GARBLED, times=99)
    with pytest.raises(UnreachableError, match="checksum"):
        server.text(url, md5)


def test_the_servers_no_is_not_asked_again(openml_server: OpenmlServer) -> None:
    server = asking(openml_server)
    with pytest.raises(NoResultError, match="No results"):
        server.call("task/4711")
    with pytest.raises(GoneError):
        server.text(f"{openml_server.host}/nowhere.arff")
    assert len(openml_server.requests) == 2


def test_without_a_network_it_gives_up_soon() -> None:
    # Nobody listens at the port of "discard".
    server = Server("http://127.0.0.1:9/api/v1/xml", pace=FAST, attempts=50)
    began = time.monotonic()
    with pytest.raises(UnreachableError, match="can't be reached"):
        server.call(TASK)
    assert time.monotonic() - began < 10


def test_no_more_at_once_than_allowed(openml_server: OpenmlServer) -> None:
    openml_server.delay = 0.02
    server = asking(openml_server, pace=Pace(per_second=1000, at_once=2))
    threads = [threading.Thread(target=server.call, args=(TASK,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(openml_server.requests) == 12
    assert openml_server.most_at_once <= 2


def test_no_faster_than_allowed(openml_server: OpenmlServer) -> None:
    server = asking(openml_server, pace=Pace(per_second=20, at_once=4))
    began = time.monotonic()
    for _ in range(5):
        server.call(TASK)
    # The first may go at once, the other four are 1/20 s apart.
    assert time.monotonic() - began >= 4 / 20


def test_the_key_goes_to_the_server_alone(openml_server: OpenmlServer) -> None:
    openml_server.key = "secret"
    with pytest.raises(InputError, match="code 103"):
        asking(openml_server).call(TASK)
    assert Server(openml_server.url, key="secret", pace=FAST).call(TASK)


def test_a_server_that_nobody_meets_is_asked_no_more() -> None:
    server = Server("http://127.0.0.1:9/api/v1/xml", pace=Pace(first_wait=0.2), attempts=50)
    with pytest.raises(UnreachableError):
        server.call(TASK)
    began = time.monotonic()
    for _ in range(5):
        with pytest.raises(UnreachableError):
            server.call(TASK)
    # At the pace of requests, without a wait for a second attempt.
    assert time.monotonic() - began < 5 / 5 + 0.5
