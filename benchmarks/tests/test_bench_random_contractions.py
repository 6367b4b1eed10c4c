# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random contractions: a few on the emulator, and processes that don't come back."""

import os
import time

from random_contractions import Case, Worker, main, run_all


def behave(case: str, argument: str) -> tuple[str, str]:
    if case == "hang":
        time.sleep(60)
    if case == "die":
        os._exit(3)
    return "right", argument + case


def test_a_few_on_the_emulator(capsys):
    assert main(["--count", "12", "--device", "emu", "--most", "65", "--workers", "2"]) == 0
    assert "right" in capsys.readouterr().out


def test_cases_are_functions_of_seed_and_number():
    cases = [Case.draw(0, i, 2049) for i in range(200)]
    assert cases == [Case.draw(0, i, 2049) for i in range(200)]
    assert len({str(case).partition(": ")[2] for case in cases}) > 190
    assert cases[0] != Case.draw(1, 0, 2049)


def test_what_hangs_or_dies_is_reported_and_the_rest_runs():
    seen = {}

    def report(case, outcome, text):
        seen[case] = (outcome, text)

    workers = [Worker(behave, "ran ", limit=8)]
    outcomes = run_all(["a", "die", "b", "hang", "c"], workers, report)
    assert outcomes == {"right": 3, "crashed": 1, "hung": 1}
    assert seen["die"] == ("crashed", "exit code 3")
    assert seen["hang"][0] == "hung"
    assert seen["c"] == ("right", "ran c")
