# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What model_ranks.py makes of times."""

import pytest
import torch

from contractions import Case, least_time
from model_ranks import Candidate, note_time, pins_of, summarise


def row(*candidates):
    names = ("us", "expected_us", "limit")
    return {"candidates": [dict(zip(names, c, strict=True)) for c in candidates]}


def test_first_choice_is_compared_with_the_best():
    summary = summarise(
        [row((12.0, 10.0, "L2"), (None, 11.0, "L2"), (6.0, 12.0, "memory")), row((5.0, 5.0, "L2"))]
    )
    assert summary["cases"] == 2
    assert summary["worst"] == 2.0
    assert summary["pick_over_best"] == pytest.approx(2**0.5)
    terms = summary["time_over_estimate"]
    assert terms["L2"]["schedules"] == 2
    assert terms["L2"]["ratio"] == pytest.approx(1.2**0.5)
    assert terms["memory"]["ratio"] == pytest.approx(0.5)


def test_what_failed_does_not_count():
    assert summarise([row((None, 1.0, "L2"))])["pick_over_best"] is None


def test_few_rows_have_tiles_of_their_own():
    few = pins_of(Case("16x256x512:nk:bf16"))
    many = pins_of(Case("512x256x512:nk:bf16"))
    assert any("block=16x64,warp_tile=16x16" in pins for pins in few)
    assert not any("block=16x64,warp_tile" in pins for pins in many)
    assert all("warp_tile=16x512" not in pins for pins in many)


def test_times_below_the_roofline_are_refused():
    candidate = Candidate("f32:", "", 1.0, "L2")
    note_time(candidate, 9.0, least=10.0)
    assert candidate.us is None
    assert candidate.fault == "refused: 9.00 us is less than 10.00 us"
    note_time(candidate, 11.0, least=10.0)
    assert candidate.us == 11.0


def test_what_takes_least_depends_on_the_precision(compiler, monkeypatch):
    monkeypatch.setattr("contractions.default_target", lambda: "sm_90a")
    case = Case("4096x4096x4096:nk:f32")
    tensors = [torch.empty(4096, 4096, device="meta")] * 3
    exact, pieces = (least_time(case, tensors, pins) for pins in ("ieee:-", "f32:-"))
    assert exact == pytest.approx(2 * 4096**3 / 67e12 * 0.98e6)
    assert pieces < exact / 2
