"""Template, style, script and data put together as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from pathlib import Path
from string import Template

from runner.errors import InputError
from runner.replacing import replacing
from runner.report.page.content import Content

PAGE = "index.html"

# In the order in which they depend on each other; together they are one script.
_SCRIPTS = (
    "data.js",
    "element.js",
    "export.js",
    "table.js",
    "scale.js",
    "ranks.js",
    "chart.js",
    "drill.js",
    "live.js",
    "main.js",
)


def render(content: Content) -> str:
    """The page's text.

    The browser is told to run no script but the page's own (by its digest), and to ask no host for
    anything, so that whatever text the results hold stays text.
    """
    script = "\n".join(_read(name) for name in _SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    return Template(_read("page.html")).substitute(
        title=html.escape(content.title),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=_read("page.css"),
        data=_json(content),
        script=script,
    )


def write_page(content: Content, output: Path) -> Path:
    """Writes the page into a folder; its path.

    It is replaced as a whole: a reader may have it open.

    Raises:
        InputError: It can't be written.
    """
    file = output / PAGE
    try:
        with replacing(file) as temporary:
            temporary.write_text(render(content), encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't write here: {error.strerror or error}", file=file) from error
    return file


def _json(content: Content) -> str:
    """JSON that can't end the element it stands in, nor start a comment there."""
    text = json.dumps(vars(content), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # Half a surrogate pair has no UTF-8.
    return text.encode("utf-8", "replace").decode()


def _read(name: str) -> str:
    return files("runner.report.page").joinpath(name).read_text(encoding="utf-8")
