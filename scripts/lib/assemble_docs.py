# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the documentation together.

    assemble_docs.py CHECKOUT GENERATED

Every page of CHECKOUT/docs, and the pages at the top, go to GENERATED/site as
they are, but for lines

    [include "dialects/LoopDialect.md"]

which become that page of GENERATED, its headings one level deeper than the
heading above. GENERATED/html gets the same as HTML. Exit code 1 if an included
page is missing or a relative link leads nowhere.
"""

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

_INCLUDE = re.compile(r'^\[include "([^"]+)"\]$')
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md")

_TEMPLATE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 56rem }}
body {{ margin: 2rem auto; padding: 0 1rem }}
pre, code {{ font-family: ui-monospace, monospace; font-size: 0.9em; background: #f5f5f3 }}
pre {{ padding: 0.8em; overflow-x: auto }}
table {{ border-collapse: collapse }}
th, td {{ border: 1px solid #ccc; padding: 0.25em 0.6em; text-align: left; vertical-align: top }}
</style>
<nav><a href="{home}">deplo</a></nav>
{body}
</html>
"""


class Problems(list):
    def add(self, page: Path, text: str) -> None:
        self.append(f"{page}: {text}")


def outside_code(text: str) -> list[tuple[str, bool]]:
    """The lines of a page, each with whether it is prose rather than code."""
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        lines.append((line, not fenced and not fence))
        fenced ^= fence
    return lines


def deepen(text: str, level: int) -> str:
    """A generated page with its headings moved below `level`."""
    lines = []
    tops = [len(m[1]) for line, prose in outside_code(text) if prose and (m := _heading(line))]
    shift = level + 1 - min(tops, default=level + 1)
    for line, prose in outside_code(text):
        match = _heading(line) if prose else None
        if match:
            line = "#" * min(6, len(match[1]) + shift) + line[len(match[1]) :]
        if line.strip() != "[TOC]":
            lines.append(line)
    return "\n".join(lines)


def _heading(line: str) -> re.Match | None:
    return re.match(r"(#{1,6}) ", line)


def expand(page: Path, text: str, generated: Path, problems: Problems) -> str:
    """`text` with its include lines replaced."""
    lines, level = [], 1
    for line, prose in outside_code(text):
        if prose and (match := _heading(line)):
            level = len(match[1])
        include = _INCLUDE.match(line) if prose else None
        if include is None:
            lines.append(line)
            continue
        source = generated / include[1]
        if source.is_file():
            lines.append(deepen(source.read_text(), level).strip())
        else:
            problems.add(page, f"includes {include[1]}, which is not generated")
    return "\n".join(lines) + "\n"


def check_links(page: Path, text: str, checkout: Path, problems: Problems) -> None:
    """Every relative link of a page must lead to a file of the checkout."""
    for line, prose in outside_code(text):
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)) if prose else ():
            path = target.partition("#")[0]
            if re.match(r"[a-z]+:", target) or not path:
                continue
            if not (checkout / page.parent / path).exists():
                problems.add(page, f"links to {target}, which is not there")


def render(page: Path, text: str) -> str:
    """A page as HTML; links to pages lead to their HTML."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    body = markdown.render(text)
    body = re.sub(r'(href="(?![a-z]+:)[^"#]+)\.md(["#])', r"\1.html\2", body)
    title = next((line.lstrip("# ") for line in text.splitlines() if _heading(line)), page.stem)
    home = "../" * len(page.parent.parts) + "README.html"
    return _TEMPLATE.format(title=html.escape(title), home=home, body=body)


def main(checkout: Path, generated: Path) -> int:
    problems = Problems()
    for name in ("site", "html"):
        shutil.rmtree(generated / name, ignore_errors=True)
    pages = [Path(name) for name in _TOP_PAGES if (checkout / name).is_file()]
    pages += sorted(path.relative_to(checkout) for path in (checkout / "docs").rglob("*.md"))
    for page in pages:
        text = expand(page, (checkout / page).read_text(), generated, problems)
        check_links(page, text, checkout, problems)
        for folder, suffix, content in (
            ("site", ".md", text),
            ("html", ".html", render(page, text)),
        ):
            path = (generated / folder / page).with_suffix(suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    where = [generated / "site", generated / "html"]
    shown = [
        path.relative_to(checkout) if path.is_relative_to(checkout) else path for path in where
    ]
    print(f"{len(pages)} pages in {shown[0]} and {shown[1]}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
