# SPDX-License-Identifier: GPL-2.0-or-later
"""A parser that reads a page as a browser would, and the verb that writes the page."""

from __future__ import annotations

import base64
import csv
import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Optional
from unittest import mock
from urllib.parse import unquote_to_bytes

import pytest

from lowlat import cli
from lowlat.present.offer import on_any_machine
from lowlat.verbs import refusals

#: If this became markup, it would run a program, use the network or break out of an attribute.
HOSTILE = "\"'><script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\x1b[31m"

VOID = {"meta", "link", "br", "wbr"}


class Page(HTMLParser):
    """A page parsed as a browser would: elements with attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Optional[str]]]] = []
        self.text = ""
        self.styles: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, Optional[str]]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def csv(self, name: str) -> list[dict[str, str]]:
        """The content of the file behind a link of the page."""
        links = {str(a["href"]) for a in self.all("a") if a.get("download") == name}
        (link,) = links  # two drawings of the same data link to the same file
        data = base64.b64decode(unquote_to_bytes(link.partition(",")[2])).decode()
        return list(csv.DictReader(io.StringIO(data)))


class Desk:
    """Calls the verb and reads its output."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def call(self, *words: str) -> tuple[int, str, str]:
        # What the page offers next is not that of the machine that runs the test.
        with mock.patch.object(refusals, "offered_here", on_any_machine):
            status = cli.main(["report", *words])
        printed = self._capsys.readouterr()
        return status, printed.out, printed.err

    def page(self, *words: str, status: int = 0) -> Page:
        out = self.folder / "report.html"
        assert self.call(*words, "--html", str(out))[0] == status
        return Page(out.read_text("utf-8"))
