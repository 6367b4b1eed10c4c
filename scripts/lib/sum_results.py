# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up the results that scripts/test left in a folder.

Prints a line for each suite, each skipped case with its reason, and last
"N passed, N failed[, N skipped]". Exit code 0: some passed and none failed.

The folder holds, for each suite NAME, NAME.exit with its exit code, and
NAME.json (lit) or NAME.xml (pytest, GoogleTest). A suite that ended badly
without a failed case, or left no results, counts as one failure.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Suite:
    """Attributes:
    failed: names. skipped: (name, reason).
    """

    name: str
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def read_lit(path: Path, suite: Suite) -> None:
    for test in json.loads(path.read_text())["tests"]:
        name, code = test["name"].removeprefix("deplo :: "), test["code"]
        if code in ("PASS", "XFAIL", "FLAKYPASS"):
            suite.passed += 1
        elif code in ("UNSUPPORTED", "SKIPPED"):
            reason = " ".join(test.get("output", "").split())
            suite.skipped.append((name, reason or code.lower()))
        elif code != "EXCLUDED":
            suite.failed.append(f"{name} ({code})")


def read_junit(path: Path, suite: Suite) -> None:
    """The XML of pytest and of GoogleTest."""
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}".removeprefix(".")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            suite.failed.append(name)
        elif case.get("status") == "notrun":
            suite.skipped.append((name, "disabled"))
        elif skipped is None or skipped.get("type") == "pytest.xfail":
            suite.passed += 1
        else:
            # GoogleTest puts the place on a line before the reason.
            reason = skipped.get("message", "").split("\n", 1)[-1]
            suite.skipped.append((name, " ".join(reason.split()) or "skipped"))


def read_suites(folder: Path) -> Iterator[Suite]:
    for exit_file in sorted(folder.glob("*.exit")):
        suite = Suite(exit_file.stem)
        code = exit_file.read_text().strip()
        candidates = [folder / f"{suite.name}{suffix}" for suffix in (".json", ".xml")]
        path = next((candidate for candidate in candidates if candidate.is_file()), None)
        try:
            if path is None:
                suite.failed.append(f"{suite.name} left no results (exit code {code})")
            elif path.suffix == ".xml":
                read_junit(path, suite)
            else:
                read_lit(path, suite)
        except (ValueError, KeyError, ElementTree.ParseError) as error:
            suite.failed.append(f"{suite.name} left results that can't be read ({error})")
        if code != "0" and not suite.failed:
            suite.failed.append(f"{suite.name} ended with exit code {code}")
        yield suite


def counts(passed: int, failed: int, skipped: int) -> str:
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def main(folder: Path) -> int:
    suites = list(read_suites(folder))
    for suite in suites:
        for name, reason in suite.skipped:
            print(f"skipped: {suite.name}: {name}: {reason}")
    for suite in suites:
        for name in suite.failed:
            print(f"failed: {suite.name}: {name}")
    for suite in suites:
        print(f"{suite.name}: {counts(suite.passed, len(suite.failed), len(suite.skipped))}")
    passed = sum(suite.passed for suite in suites)
    failed = sum(len(suite.failed) for suite in suites)
    skipped = sum(len(suite.skipped) for suite in suites)
    if not passed and not failed:
        print("error: no test ran", file=sys.stderr)
    print(counts(passed, failed, skipped))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
