# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs the processor, loosely bounded: the machine may be busy."""

import json

import host_time

BAR_US = 30


def test_a_call_is_cheap(compiler, tmp_path, capsys):
    path = tmp_path / "r.json"
    assert host_time.main(["--device", "host", "--only-deplo", "--out", str(path)]) == 0
    times = {row["contender"]: row["us"] for row in json.loads(path.read_text())["rows"]}
    assert set(times) == {'torch.compile(backend="deplo")', "deplo.compile"}
    assert all(0 < us <= 3 * BAR_US for us in times.values()), times
    assert "us a call" in capsys.readouterr().out
