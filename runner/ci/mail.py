"""Mail by SMTP."""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
from email.message import EmailMessage
from email.utils import formatdate

from runner.ci.file import MailServer
from runner.errors import CannotRunError, InputError

USER_VARIABLE = "RUNNER_CI_SMTP_USER"
PASSWORD_VARIABLE = "RUNNER_CI_SMTP_PASSWORD"
SERVER_VARIABLE = "RUNNER_CI_SMTP"
SECONDS = 20.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def send_mail(
    server: MailServer | None, recipient: str, subject: str, body: str, identity: str
) -> None:
    """Send a mail, with user and password of the environment if they are there.

    Args:
        server: None for the one that the environment names (``host:port``), or this machine's.
        identity: The same for the same mail, so that one that is sent twice, after a crash between
            sending and noting it, is seen as one.

    Raises:
        CannotRunError: If the server doesn't take it.
        InputError: If a password would leave this machine without TLS.
    """
    server = server or default_server()
    user = os.environ.get(USER_VARIABLE)
    if user and server.tls == "none" and server.host not in _LOOPBACK:
        raise InputError(
            f"the password of {user} would go to {server.host} for all to read: set `tls` of "
            "`smtp` to starttls or tls"
        )
    message = EmailMessage()
    message["From"] = server.sender
    message["To"] = recipient
    message["Subject"] = " ".join(subject.split())
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{identity}@runner-ci>"
    message.set_content(body)
    try:
        with _connection(server) as connection:
            if user:
                connection.login(user, os.environ.get(PASSWORD_VARIABLE, ""))
            connection.send_message(message)
    except (smtplib.SMTPException, OSError) as error:
        raise CannotRunError(
            f"mail to {recipient} was not sent by {server.host}:{server.port}: {error}"
        ) from None


def default_server() -> MailServer:
    """The server of the environment, or this machine's.

    Raises:
        InputError: If the environment names no port.
    """
    host, _, port = os.environ.get(SERVER_VARIABLE, "localhost:25").rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise InputError(f"{SERVER_VARIABLE} must be host:port, such as mail.abc.com:25")
    return MailServer(host.strip("[]"), int(port), "runner-ci@localhost")


def _connection(server: MailServer) -> smtplib.SMTP:
    # Without it the library asks the network for this machine's full name.
    name = socket.gethostname()
    if server.tls == "tls":
        return smtplib.SMTP_SSL(
            server.host, server.port, name, timeout=SECONDS, context=ssl.create_default_context()
        )
    connection = smtplib.SMTP(server.host, server.port, name, timeout=SECONDS)
    if server.tls == "starttls":
        try:
            connection.starttls(context=ssl.create_default_context())
        except BaseException:
            connection.close()
            raise
    return connection
