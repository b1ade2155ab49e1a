"""A local OpenML server: it replays recorded answers, adds made ones, and fails on demand.

Recorded are OpenML's task 59, its data set 61 (iris) and run 26936, in tests/data/openml. Made, in
the server's format, are: lists of evaluations, suites, further runs with their predictions, and a
task_type_id for task 59, which the recording lacks.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

RECORDED = Path(__file__).parent / "data" / "openml"
_HOSTS = re.compile(r"https?://(?:[a-z0-9]+\.)*openml\.org")
_NAMESPACE = 'xmlns:oml="http://openml.org/openml"'

BUSY = "503"
DATABASE = "107"
CUT = "cut"
GARBLED = "garbled"
SILENT = "silent"


@dataclass(frozen=True)
class MadeRun:
    """A run that no recording has.

    Attributes:
        arff: Its predictions' file; None for a run without one.
    """

    number: int
    flow: int
    setup: int
    value: float
    arff: str | None
    task: int = 59
    flow_name: str = "weka.Made"


@dataclass
class OpenmlServer:
    """A server on a free port of this machine.

    Attributes:
        runs: What evaluation lists name, best first.
        suites: Tasks by a suite's number.
        files: Further files by path, beside the recordings'.
        requests: The paths asked for, in order; failed attempts too.
        answered: Those answered as they should be.
        most_at_once: How many requests were being answered at the same time.
        delay: Seconds that an answer takes.
    """

    folder: Path = RECORDED
    runs: list[MadeRun] = field(default_factory=list)
    suites: dict[str, Sequence[int]] = field(default_factory=dict)
    files: dict[str, Callable[[], str]] = field(default_factory=dict)
    delay: float = 0.0
    key: str = ""
    requests: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _faults: list[tuple[re.Pattern[str], str, int]] = field(default_factory=list)
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        made = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                made._answer(self)

            def do_HEAD(self) -> None:
                _send(self, 404, b"", {})

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        """The address of the interface."""
        return f"{self.host}/api/v1/xml"

    def fail(self, path: str, how: str, times: int = 1) -> None:
        """Fail the next requests for a path (a regular expression)."""
        self._faults.append((re.compile(path), how, times))

    def asked(self, path: str) -> list[str]:
        """The requests for a path (a regular expression)."""
        return [request for request in self.requests if re.search(path, request)]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        path = parts.path
        with self._lock:
            self.requests.append(path)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            fault = self._next_fault(path)
        try:
            threading.Event().wait(self.delay)
            status, text = self._content(path)
            if self.key and parse_qs(parts.query).get("api_key") != [self.key]:
                status, text = 412, _error(103, "Authentication failed")
            self._deliver(handler, fault, status, text.encode())
        finally:
            with self._lock:
                self._now -= 1
                if fault is None:
                    self.answered.append(path)

    def _deliver(
        self, handler: BaseHTTPRequestHandler, fault: str | None, status: int, content: bytes
    ) -> None:
        if fault == BUSY:
            _send(handler, 503, b"<html><body>Service Unavailable</body>", {})
        elif fault == DATABASE:
            _send(handler, 412, _error(107, "Database connection error").encode(), {})
        elif fault == CUT:
            _send(handler, status, content, {}, sent=len(content) // 2)
        elif fault == GARBLED:
            _send(handler, status, content.replace(b"1", b"2"), {})
        elif fault == SILENT:
            threading.Event().wait(3)
            _send(handler, status, content, {})
        else:
            _send(handler, status, content, {})

    def _next_fault(self, path: str) -> str | None:
        for index, (pattern, how, times) in enumerate(self._faults):
            if times and pattern.search(path):
                self._faults[index] = (pattern, how, times - 1)
                return how
        return None

    def _content(self, path: str) -> tuple[int, str]:
        for pattern, answer in _ROUTES:
            match = re.fullmatch(pattern, path)
            if match:
                found = answer(self, *match.groups())
                if found is not None:
                    return 200, _HOSTS.sub(self.host, found)
                return 412, _error(372 if "evaluation" not in path else 542, "No results")
        if path in self.files:
            return 200, self.files[path]()
        return 404, "<html><body>Not Found"

    def _recorded(self, *parts: str) -> str | None:
        path = self.folder.joinpath(*parts)
        return path.read_text().rstrip("\0") if path.is_file() else None

    def _task(self, number: str) -> str | None:
        text = self._recorded("tasks", number, "task.xml")
        if text is None or "task_type_id" in text:
            return text
        kind = "<oml:task_type_id>1</oml:task_type_id>"
        return text.replace("<oml:task_type>", f"{kind}<oml:task_type>", 1)

    def _dataset(self, number: str) -> str | None:
        return self._recorded("datasets", number, "description.xml")

    def _features(self, number: str) -> str | None:
        """The iris data's, as the openml package wants them."""
        names = ("sepallength", "sepalwidth", "petallength", "petalwidth")
        numeric = [(name, "numeric", ()) for name in names]
        classes = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
        features = [*numeric, ("class", "nominal", classes)]
        body = "".join(
            f"<oml:feature><oml:index>{index}</oml:index><oml:name>{name}</oml:name>"
            f"<oml:data_type>{kind}</oml:data_type>"
            + "".join(f"<oml:nominal_value>{value}</oml:nominal_value>" for value in values)
            + "<oml:number_of_missing_values>0</oml:number_of_missing_values></oml:feature>"
            for index, (name, kind, values) in enumerate(features)
        )
        return f"<oml:data_features {_NAMESPACE}>{body}</oml:data_features>"

    def _run(self, number: str) -> str | None:
        made = next((run for run in self.runs if str(run.number) == number), None)
        recorded = self._recorded("runs", number, "run.xml")
        if recorded is not None or made is None:
            return recorded
        file = (
            "<oml:file><oml:did>-1</oml:did><oml:file_id>0</oml:file_id>"
            f"<oml:name>predictions</oml:name><oml:url>{self.host}/made/{number}/"
            "predictions.arff</oml:url></oml:file>"
        )
        return (
            f"<oml:run {_NAMESPACE}><oml:run_id>{made.number}</oml:run_id>"
            f"<oml:task_id>{made.task}</oml:task_id><oml:flow_id>{made.flow}</oml:flow_id>"
            f"<oml:flow_name>{made.flow_name}</oml:flow_name>"
            f"<oml:setup_id>{made.setup}</oml:setup_id><oml:output_data>"
            f"{'' if made.arff is None else file}</oml:output_data></oml:run>"
        )

    def _made_predictions(self, number: str) -> str | None:
        return next(run.arff for run in self.runs if str(run.number) == number)

    def _evaluations(
        self, metric: str, limit: str, offset: str, task: str, order: str
    ) -> str | None:
        own = [run for run in self.runs if str(run.task) == task]
        own = own[::-1] if order == "asc" else own
        page = own[int(offset) : int(offset) + int(limit)]
        if not page:
            return None
        body = "".join(
            f"<oml:evaluation><oml:run_id>{run.number}</oml:run_id>"
            f"<oml:task_id>{run.task}</oml:task_id><oml:setup_id>{run.setup}</oml:setup_id>"
            f"<oml:flow_id>{run.flow}</oml:flow_id><oml:flow_name>{run.flow_name}</oml:flow_name>"
            f"<oml:data_id>61</oml:data_id><oml:data_name>iris</oml:data_name>"
            f"<oml:function>{metric}</oml:function><oml:value>{run.value}</oml:value>"
            "<oml:upload_time>2017-01-01 00:00:00</oml:upload_time><oml:uploader>1</oml:uploader>"
            "</oml:evaluation>"
            for run in page
        )
        return f"<oml:evaluations {_NAMESPACE}>{body}</oml:evaluations>"

    def _suite(self, number: str) -> str | None:
        if number not in self.suites:
            return None
        tasks = "".join(f"<oml:task_id>{task}</oml:task_id>" for task in self.suites[number])
        return (
            f"<oml:study {_NAMESPACE}><oml:id>{number}</oml:id>"
            "<oml:main_entity_type>task</oml:main_entity_type><oml:name>made</oml:name>"
            f"<oml:tasks>{tasks}</oml:tasks></oml:study>"
        )

    def _users(self, _: str) -> str | None:
        return (
            f"<oml:users {_NAMESPACE}><oml:user><oml:id>1</oml:id><oml:username>made"
            "</oml:username></oml:user></oml:users>"
        )

    def _splits(self, number: str) -> str | None:
        return self._recorded("tasks", number, "datasplits.arff")

    def _data(self, number: str) -> str | None:
        return self._recorded("datasets", number, "dataset.arff")

    def _recorded_predictions(self) -> str | None:
        return self._recorded("runs", "26936", "predictions.arff")


_API = "/api/v1/xml"
_ROUTES: Sequence[tuple[str, Callable[..., str | None]]] = (
    (rf"{_API}/task/(\d+)", OpenmlServer._task),
    (rf"{_API}/data/(\d+)", OpenmlServer._dataset),
    (rf"{_API}/data/features/(\d+)", OpenmlServer._features),
    (rf"{_API}/run/(\d+)", OpenmlServer._run),
    (rf"{_API}/study/(\w+)", OpenmlServer._suite),
    (rf"{_API}/user/list/user_id/(.*)", OpenmlServer._users),
    (
        rf"{_API}/evaluation/list/function/(\w+)/limit/(\d+)/offset/(\d+)/task/(\d+)"
        r"/sort_order/(\w+)",
        OpenmlServer._evaluations,
    ),
    (r"/api_splits/get/(\d+)/.*", OpenmlServer._splits),
    (r"/data/download/80554/.*", OpenmlServer._recorded_predictions),
    (r"/data/download/(\d+)/.*", OpenmlServer._data),
    (r"/made/(\d+)/predictions.arff", OpenmlServer._made_predictions),
)


def predictions_arff(
    classes: Sequence[str],
    rows: Iterable[tuple[int, int, str, str, Sequence[float]]],
    *,
    columns: Sequence[str] = ("repeat", "fold", "row_id", "prediction", "correct", "confidences"),
) -> str:
    """A file of predictions in the columns' order, as one of the server's clients wrote them.

    Args:
        classes: The labels.
        rows: Fold, row id, prediction, truth and the confidences of each row.
        columns: ``confidences`` stands for one of each class.
    """
    nominal = "{" + ",".join(f"'{label}'" for label in classes) + "}"
    header = ["@relation made"]
    for name in columns:
        if name == "confidences":
            header += [f"@attribute 'confidence.{label}' numeric" for label in classes]
        else:
            kind = nominal if name in ("prediction", "correct", "truth") else "numeric"
            header.append(f"@attribute {name} {kind}")
    lines = []
    for fold, row, prediction, truth, confidences in rows:
        values: Mapping[str, str] = {
            "repeat": "0",
            "fold": str(fold),
            "sample": "0",
            "row_id": str(row),
            "prediction": f"'{prediction}'",
            "correct": f"'{truth}'",
            "truth": f"'{truth}'",
            "confidences": ",".join(map(repr, confidences)),
        }
        lines.append(",".join(values[name] for name in columns))
    return "\n".join([*header, "@data", *lines, ""])


def _error(code: int, message: str) -> str:
    return (
        f"<oml:error {_NAMESPACE}><oml:code>{code}</oml:code>"
        f"<oml:message>{message}</oml:message></oml:error>"
    )


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    content: bytes,
    headers: Mapping[str, str],
    sent: int | None = None,
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    # Who waited no longer has gone.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        handler.wfile.write(content[:sent])
    if sent is not None:
        handler.close_connection = True
