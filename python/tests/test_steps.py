# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How steps are printed and dumped."""

from deplo.compilation import Compilation
from deplo.steps import Layouts, dump, step_lines, summary_line, verbose_lines

CHANGED = {
    "step": "t:005_blockify_launch",
    "pass": "deplo-blockify-launch",
    "changed": True,
    "before": "a\nb\nc\n",
    "after": "a\nB\nc\nd\n",
    "remarks": [{"kind": "passed", "name": "grid", "kernel": "k", "text": "32 blocks", "loc": ""}],
    "ms": 0.25,
}
UNCHANGED = {
    "step": "t:007_stage_inputs",
    "pass": "deplo-stage-inputs",
    "changed": False,
    "before": "a\n",
    "after": "a\n",
    "remarks": [
        {"kind": "missed", "name": "reuse", "kernel": "k", "text": "each element\nis read once"},
        {"kind": "missed", "name": "reuse", "kernel": "k", "text": "each element is read once"},
    ],
    "ms": 0.1,
}
SILENT = {"step": "k:lower", "changed": False, "before": "", "after": "", "remarks": [], "ms": 1}


def test_a_step_that_changed_is_its_diff_between_markers():
    assert list(step_lines(CHANGED, Layouts())) == [
        ">>> t:005_blockify_launch",
        "# k: 32 blocks",
        "--- before",
        "+++ after",
        "@@ -1,3 +1,4 @@",
        " a",
        "-b",
        "+B",
        " c",
        "+d",
        "<<< t:005_blockify_launch",
    ]


def test_a_step_that_did_not_apply_is_its_reason_in_one_line():
    assert list(step_lines(UNCHANGED, Layouts())) == [
        ">>> t:007_stage_inputs",
        "k: each element is read once",
        "<<< t:007_stage_inputs",
    ]


def test_a_step_without_remarks_says_so():
    assert list(step_lines(SILENT, Layouts()))[1:-1] == ["nothing to do"]


def test_layouts_have_one_name_in_all_steps():
    layouts = Layouts()
    a, b = "#tile.layout<[8], register = [[1]]>", "#tile.layout<[4], register = []>"

    def lines(before, after):
        step = {**CHANGED, "before": f"x : {before}\n", "after": f"x : {after}\n"}
        return [line for line in step_lines(step, layouts) if "layout" in line]

    assert lines("tensor<8xf32>", f"tensor<8xf32, {a}>") == [
        f"# #layout0 = {a}",
        "+x : tensor<8xf32, #layout0>",
    ]
    assert lines(f"tensor<8xf32, {a}>", f"tensor<4xf32, {b}>") == [
        f"# #layout0 = {a}",
        f"# #layout1 = {b}",
        "-x : tensor<8xf32, #layout0>",
        "+x : tensor<4xf32, #layout1>",
    ]


def test_remarks_about_no_kernel():
    step = {**UNCHANGED, "remarks": [{"kernel": "<unknown function>", "text": "sm_90a"}]}
    assert list(step_lines(step, Layouts()))[1:-1] == ["sm_90a"]


def test_summary_lines():
    assert summary_line(CHANGED).split() == (
        "t:005_blockify_launch 0.25 ms changed +2 -1 k: 32 blocks".split()
    )
    assert "unchanged  k: each element is read once" in summary_line(UNCHANGED)
    assert summary_line(SILENT).endswith("unchanged")


def test_verbosity():
    compilation = Compilation({"steps": [CHANGED, UNCHANGED]})
    assert len(list(verbose_lines(compilation, 1))) == 2
    assert len(list(verbose_lines(compilation, 2))) == 14


def test_dump_numbers_the_files_and_starts_with_the_input(tmp_path):
    compilation = Compilation({"steps": [CHANGED, UNCHANGED]})
    paths = dump(compilation, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "000_import.mlir",
        "001_t_005_blockify_launch.mlir",
        "002_t_007_stage_inputs.mlir",
    ]
    assert [path.read_text() for path in paths] == ["a\nb\nc\n", "a\nB\nc\nd\n", "a\n"]


def test_dump_of_nothing_writes_nothing(tmp_path):
    assert dump(Compilation({}), tmp_path) == []
