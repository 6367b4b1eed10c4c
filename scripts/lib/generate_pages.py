# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the pages that are generated: passes, operators, results.

    generate_pages.py CHECKOUT GENERATED DEPLO_OPT

They go to GENERATED/pages, which mirrors the checkout.
"""

import shutil
import sys
from pathlib import Path


def main(checkout: Path, generated: Path, tool: Path) -> int:
    # Programs of the checkout, found where they lie.
    sys.path[:0] = [str(checkout / folder) for folder in ("scripts/lib", "python", "benchmarks")]
    import operator_page
    import pass_pages

    import report

    docs = generated / "pages" / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    pass_pages.write(checkout, generated, docs / "passes", tool)
    (docs / "operators.md").write_text(operator_page.page())
    results = report.report(sorted(report.RESULTS.glob("*.json")), docs)
    results.write_text(f"# Results\n\n[How they are made](benchmarks.md).\n\n{results.read_text()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:])))
