"""Mail, webhook and command: sent to servers that listen, once, and again after a failure."""

from __future__ import annotations

import email
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from ci_scenes import Scene

from runner.ci.sealing import make_pair, unseal
from runner.cli import main


class Inbox:
    """Takes mails, or refuses them."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.refuses = False

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refuses:
            return "451 not now"
        found = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(found, EmailMessage)
        self.mails.append(found)
        return "250 OK"


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@contextmanager
def listening(inbox: Inbox, **options: Any) -> Iterator[Controller]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(inbox, **{"hostname": "127.0.0.1", "port": port, **options})
    controller.start()
    yield controller
    controller.stop()


@pytest.fixture
def server(inbox: Inbox) -> Iterator[Controller]:
    with listening(inbox) as controller:
        yield controller


class Webhook(BaseHTTPRequestHandler):
    """Keeps what is posted; answers with the status that is set."""

    status = 200
    posted: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.posted.append((self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def webhook() -> Iterator[Any]:
    handler = type("Handler", (Webhook,), {"posted": []})
    with HTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        handler.url = f"http://127.0.0.1:{listening.server_port}/secret"
        yield handler
        listening.shutdown()
        thread.join()


def ask(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ci", *map(str, arguments)])
    return int(ended.value.code or 0)


def smtp(server: Controller) -> str:
    return f"smtp: {{host: 127.0.0.1, port: {server.port}, from: ci@abc.com}}\n"


def test_all_ways_once(tmp_path: Path, server: Controller, inbox: Inbox, webhook: Any) -> None:
    scene = Scene(tmp_path)
    ways = (
        f"{{mail: team@abc.com, webhook: '{webhook.url}', command: 'echo $RUNNER_CI_ALARM >> a'}}"
    )
    file = scene.write(steps=2, more=f"{smtp(server)}alarm: {ways}\n")
    assert ask("test", file, "--new", scene.predictions(600)) == 0
    assert not inbox.mails
    assert ask("test", file, "--new", scene.predictions(1)) == 1
    # Used up: refused from now on, and told already.
    assert ask("test", file, "--new", scene.predictions(2)) == 3
    assert ask("test", file, "--new", scene.predictions(600)) == 0
    (mail,) = inbox.mails
    assert (mail["From"], mail["To"]) == ("ci@abc.com", "team@abc.com")
    assert mail["Subject"] == "Test set may is used up"
    ((kind, document),) = webhook.posted
    assert kind == "application/json"
    assert (document["testset"], document["used"], document["steps"]) == ("may", 2, 2)
    (line,) = (tmp_path / "a").read_text().splitlines()
    assert line == document["text"] == mail.get_content().strip()


def test_a_way_that_failed_is_tried_again(
    tmp_path: Path, webhook: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path)
    file = scene.write(steps=1, more=f"alarm: {{webhook: '{webhook.url}'}}\n")
    webhook.status = 500
    # The verdict stands.
    assert ask("test", file, "--new", scene.predictions(1)) == 1
    out, err = capsys.readouterr()
    assert out.startswith("fail")
    assert "warning: the alarm was not raised" in err
    assert "secret" not in err
    webhook.status = 200
    for _ in range(2):
        assert ask("test", file, "--new", scene.predictions(2)) == 3
    assert len(webhook.posted) == 2


def test_a_command_may_read_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(tmp_path)
    new = scene.predictions(600)
    runner = f"{sys.executable} -m runner ci"
    command = f"{runner} status ci.yaml > told; {runner} test ci.yaml --new {new.name} >> told"
    file = scene.write(steps=1, more=f"alarm: {{command: '{command}'}}\n")
    assert ask("test", file, "--new", new) == 0
    assert "warning" not in capsys.readouterr().err
    state, verdict, *_ = (tmp_path / "told").read_text().splitlines()
    assert "1 of 1 steps used" in state
    assert verdict.startswith("pass")
    (ledger,) = scene.ledger.glob("*.jsonl")
    assert ledger.read_text().count('"alarmed"') == 1


def test_the_alarm_is_raised_though_the_last_result_was_not_sent(
    tmp_path: Path, server: Controller, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_CI_COMMIT", "a\udce9\nb")
    scene = Scene(tmp_path)
    more = f"{smtp(server)}alarm: {{command: 'echo x >> a'}}\n"
    file = scene.write(adaptivity="none -> team@abc.com", steps=1, more=more)
    new = scene.predictions(600)
    inbox.refuses = True
    assert ask("test", file, "--new", new) == 3
    assert (tmp_path / "a").exists()
    inbox.refuses = False
    assert ask("test", file, "--new", new) == 0
    assert "commit: a??b" in inbox.mails[0].get_content()


def test_adaptivity_none_tells_the_developer_nothing(
    tmp_path: Path, server: Controller, inbox: Inbox, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path)
    file = scene.write(adaptivity="none -> team@abc.com", more=smtp(server))
    outputs = []
    for right in (600, 520, 1):
        capsys.readouterr()
        assert ask("test", file, "--new", scene.predictions(right)) == 0
        outputs.append(capsys.readouterr())
    assert ask("test", file, "--new", scene.predictions(1)) == 0
    for i, output in enumerate(outputs, start=1):
        state = f"step {i} of 4, {4 - i} left (test set may)"
        assert output.out == f"recorded: n > 0.7 +/- 0.1\n  {state}\n"
    bodies = [mail.get_content() for mail in inbox.mails]
    assert [body.split(":")[0] for body in bodies] == ["pass", "fail", "fail"]
    assert [json.loads(body.splitlines()[-1])["truth"] for body in bodies] == [
        "true",
        "unknown",
        "false",
    ]
    (ledger,) = scene.ledger.glob("*.jsonl")
    assert not {'pass"', 'fail"', "unknown", "0.857"} & set(ledger.read_text().split())
    assert '"passed": null' in ledger.read_text()
    assert ask("test", file, "--new", scene.predictions(600), "--reveal") == 2


def test_results_are_sealed_in_mail_and_ledger(
    tmp_path: Path, server: Controller, inbox: Inbox, capsysbinary: Any
) -> None:
    pair = make_pair()
    scene = Scene(tmp_path)
    more = f"{smtp(server)}public_key: {pair.public}\n"
    file = scene.write(adaptivity="none -> team@abc.com", more=more)
    for right in (600, 1):
        assert ask("test", file, "--new", scene.predictions(right)) == 0
    bodies = [mail.get_content().encode() for mail in inbox.mails]
    assert len(set(map(len, bodies))) == 1
    opened = [json.loads(unseal(body, pair.private)) for body in bodies]
    assert [found["verdict"] for found in opened] == ["pass", "fail"]
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(pair.private)
    (ledger,) = scene.ledger.glob("*.jsonl")
    assert b'"fail"' not in ledger.read_bytes()
    capsysbinary.readouterr()
    assert ask("open", ledger, "--key", key) == 0
    lines = capsysbinary.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == opened


def test_a_result_that_was_not_sent_is_sent_by_the_same_call(
    tmp_path: Path, server: Controller, inbox: Inbox, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path)
    file = scene.write(adaptivity="none -> team@abc.com", more=smtp(server))
    new = scene.predictions(600)
    inbox.refuses = True
    assert ask("test", file, "--new", new) == 3
    assert "was not sent" in capsys.readouterr().err
    inbox.refuses = False
    for _ in range(2):
        assert ask("test", file, "--new", new) == 0
    assert len(inbox.mails) == 1
    assert '"step": 1' in inbox.mails[0].get_content()


def test_a_password_of_the_environment(
    tmp_path: Path, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given.append((data.login, data.password))
        return AuthResult(success=True)

    monkeypatch.setenv("RUNNER_CI_SMTP_USER", "ci")
    monkeypatch.setenv("RUNNER_CI_SMTP_PASSWORD", "p w")
    scene = Scene(tmp_path)
    options = {"authenticator": check, "auth_required": True, "auth_require_tls": False}
    with listening(inbox, **options) as controller:
        file = scene.write(adaptivity="none -> team@abc.com", more=smtp(controller))
        assert ask("test", file, "--new", scene.predictions(600)) == 0
    assert given == [(b"ci", b"p w")]
    # To another machine a password goes by TLS only.
    text = file.read_text().replace("127.0.0.1", "192.0.2.1")
    file.write_text(text)
    assert ask("test", file, "--new", scene.predictions(1)) == 2


def test_by_tls(tmp_path: Path, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "k.pem", tmp_path / "c.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(key), "-out", str(certificate)]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*make.split(), *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    scene = Scene(tmp_path)
    ways: dict[str, dict[str, Any]] = {
        "starttls": {"tls_context": context, "require_starttls": True},
        "tls": {"ssl_context": context},
    }
    for i, (how, options) in enumerate(ways.items()):
        with listening(inbox, hostname="localhost", **options) as controller:
            more = (
                smtp(controller).replace("127.0.0.1", "localhost").replace("}", f", tls: {how}}}")
            )
            file = scene.write(adaptivity="none -> team@abc.com", more=more)
            monkeypatch.delenv("SSL_CERT_FILE", raising=False)
            new = scene.predictions(600 + i)
            # Nobody vouches for its certificate.
            assert ask("test", file, "--new", new) == 3
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            assert ask("test", file, "--new", new) == 0
        assert len(inbox.mails) == i + 1


EXAMPLES = Path(__file__).parents[2] / "configs" / "ci"


@pytest.mark.parametrize(
    "script", [pytest.param("adaptive", marks=pytest.mark.slow), "non-adaptive"]
)
def test_the_papers_scripts_as_printed(
    script: str, tmp_path: Path, server: Controller, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the size of the test set is not the reader's: made up here, with two models for it."""
    (tmp_path / ".travis.yml").write_text((EXAMPLES / f"{script}.travis.yml").read_text())
    rows = 700_000 if script == "adaptive" else 70_000
    (tmp_path / "test_model.py").write_text(MODELS.format(python=sys.executable))
    (tmp_path / "test_model.py").chmod(0o755)
    labels = tmp_path / "labels.csv"
    labels.touch(0o600)
    labels.write_text("id,label\n" + "".join(f"{i},{i % 2}\n" for i in range(rows)))
    monkeypatch.setenv("RUNNER_CI_SMTP", f"127.0.0.1:{server.port}")
    arguments = ["--labels", labels] if script == "adaptive" else []
    monkeypatch.setenv("ROWS", str(rows))
    assert ask("test", tmp_path / ".travis.yml", *arguments) == 0
    if script == "adaptive":
        assert not inbox.mails
        return
    (mail,) = inbox.mails
    assert mail["To"] == "xx@abc.com"
    assert mail.get_content().startswith("pass: d < 0.1 +/- 0.01 (fp-free) is true")
    assert (tmp_path / "ci-ledger").is_dir()


# An old model that is right on nine rows of ten, and a new one that is right on all of them but one
# in twenty.
MODELS = """\
#!{python}
import os
rows = int(os.environ["ROWS"])
for variable, wrong in (("RUNNER_CI_OLD", 10), ("RUNNER_CI_NEW", 20)):
    with open(os.environ[variable], "w") as file:
        file.write("id,prediction\\n")
        file.writelines(f"{{i}},{{(i % 2) ^ (i % wrong == 0)}}\\n" for i in range(rows))
"""
