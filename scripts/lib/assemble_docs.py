# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the documentation together.

    assemble_docs.py CHECKOUT GENERATED [OUT]

Every page of CHECKOUT/docs, the pages at the top, and those of GENERATED/pages,
which mirrors the checkout, go to OUT/site as they are, but for lines

    [include "dialects/LoopDialect.md"]

which become that page of GENERATED, its headings one level deeper than the
heading above. OUT/html gets the same as HTML, with the links of docs/README.md
beside each page. OUT is GENERATED if left out. Exit code 1 if an included page
is missing or a relative link leads nowhere.
"""

import html
import os
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

_INCLUDE = re.compile(r'^\[include "([^"]+)"\]$')
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_LABELLED = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s:]+)\)")
_TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md")

_TEMPLATE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 0 1rem }}
main {{ min-width: 0; max-width: 58rem }}
nav {{ font-size: 0.9em }}
nav ul {{ list-style: none; padding: 0 }}
@media (min-width: 60rem) {{
  body {{ display: grid; grid-template-columns: 14rem 1fr; gap: 2rem }}
}}
pre, code {{ font-family: ui-monospace, monospace; font-size: 0.9em; background: #f5f5f3 }}
pre {{ padding: 0.8em; overflow-x: auto }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }}
th, td {{ border: 1px solid #ccc; padding: 0.25em 0.6em; text-align: left; vertical-align: top }}
img {{ max-width: 100% }}
</style>
<nav>{navigation}</nav>
<main>
{body}
</main>
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


def check_links(page: Path, text: str, roots: list[Path], problems: Problems) -> None:
    """Every relative link of a page must lead to a file of the checkout, or one generated."""
    for line, prose in outside_code(text):
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)) if prose else ():
            path = target.partition("#")[0]
            if re.match(r"[a-z]+:", target) or not path:
                continue
            place = os.path.normpath(page.parent / path)
            if not any((root / place).exists() for root in roots):
                problems.add(page, f"links to {target}, which is not there")


def navigation(page: Path, index: str) -> str:
    """The links of docs/README.md as HTML, as seen from `page`."""
    items = []
    up = "../" * len(page.parent.parts)
    for line, prose in outside_code(index):
        for label, target in _LABELLED.findall(line) if prose else ():
            path = os.path.normpath(f"docs/{target}").replace(".md", ".html")
            label = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(label))
            items.append(f'<li><a href="{up}{path}">{label}</a></li>')
    return f"<ul>{''.join(items)}</ul>"


def render(page: Path, text: str, index: str = "") -> str:
    """A page as HTML; links to pages lead to their HTML."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    body = markdown.render(text)
    body = re.sub(r'(href="(?![a-z]+:)[^"#]+)\.md(["#])', r"\1.html\2", body)
    title = next((line.lstrip("# ") for line in text.splitlines() if _heading(line)), page.stem)
    return _TEMPLATE.format(title=html.escape(title), navigation=navigation(page, index), body=body)


def main(checkout: Path, generated: Path, out: Path | None = None) -> int:
    out = out or generated
    problems = Problems()
    for name in ("site", "html"):
        shutil.rmtree(out / name, ignore_errors=True)
    roots = [checkout, generated / "pages"]
    index = checkout / "docs" / "README.md"
    index_text = index.read_text() if index.is_file() else ""
    sources = {Path(name): checkout for name in _TOP_PAGES if (checkout / name).is_file()}
    for root in roots:
        for path in sorted((root / "docs").rglob("*")):
            if path.is_file():
                sources[path.relative_to(root)] = root
    pages = 0
    for page, root in sources.items():
        if page.suffix != ".md":
            _copy(root / page, [out / "site" / page, out / "html" / page])
            continue
        pages += 1
        text = expand(page, (root / page).read_text(), generated, problems)
        check_links(page, text, roots, problems)
        for folder, suffix, content in (
            ("site", ".md", text),
            ("html", ".html", render(page, text, index_text)),
        ):
            path = (out / folder / page).with_suffix(suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    where = [out / "site", out / "html"]
    shown = [
        path.relative_to(checkout) if path.is_relative_to(checkout) else path for path in where
    ]
    print(f"{pages} pages in {shown[0]} and {shown[1]}")
    return 1 if problems else 0


def _copy(source: Path, targets: list[Path]) -> None:
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:])))
