# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of linalg on tensors, as other compilers hand them over: values
against PyTorch in float64."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import deplo
from deplo.compilation import Options, compile_ir, try_compile

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ir"


def run(text, *inputs, device="host"):
    """What the program `text` gives for `inputs`, as float64 on the CPU."""
    package = compile_ir(text, Options(device=device)).package
    where = "cuda" if device == "cuda" else "cpu"
    return deplo.load(package, device)(*(x.to(where) for x in inputs)).double().cpu()


def function(body, results, **inputs):
    arguments = ", ".join(f"%{name}: tensor<{type}>" for name, type in inputs.items())
    return f"func.func @main({arguments}) -> tensor<{results}> {{\n{body}\n}}\n"


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(got, want, bound=1e-6):
    scale = want.abs().max().clamp_min(1)
    assert got.shape == want.shape
    assert (got - want).abs().max() <= bound * scale


@pytest.mark.skipif(not _EXAMPLES.is_dir(), reason="only in a checkout")
def test_rms_norm(device):
    text = (_EXAMPLES / "rms-norm-linalg.mlir").read_text()
    x, w = torch.randn(512, 2048), torch.randn(2048)
    close(run(text, x, w, device=device), F.rms_norm(x.double(), (2048,), w.double(), 1e-6))


def test_one_kernel():
    """The handed-over norm is fused as the imported one is."""
    if not _EXAMPLES.is_dir():
        pytest.skip("only in a checkout")
    text = (_EXAMPLES / "rms-norm-linalg.mlir").read_text()
    assert len(compile_ir(text, Options(ptxas=False)).kernels) == 1


def test_softmax_of_named_operations(device):
    body = """
      %e = tensor.empty() : tensor<33x257xf32>
      %0 = linalg.mul ins(%x, %y : tensor<33x257xf32>, tensor<33x257xf32>)
        outs(%e : tensor<33x257xf32>) -> tensor<33x257xf32>
      %1 = linalg.softmax dimension(1) ins(%0 : tensor<33x257xf32>) outs(%e : tensor<33x257xf32>)
        -> tensor<33x257xf32>
      return %1 : tensor<33x257xf32>"""
    text = function(body, "33x257xf32", x="33x257xf32", y="33x257xf32")
    x, y = torch.randn(33, 257), torch.randn(33, 257)
    close(run(text, x, y, device=device), (x.double() * y.double()).softmax(1))


@pytest.mark.parametrize(
    ("combiner", "start", "reference"),
    [
        ("addf", "0.5", lambda x: x.sum((0, 2)) + 0.5),
        ("mulf", "2.0", lambda x: x.prod(2).prod(0) * 2),
        ("maximumf", "-1.0e9", lambda x: x.amax((0, 2))),
        ("minimumf", "0.0", lambda x: x.amin((0, 2)).clamp_max(0)),
    ],
)
def test_reductions_that_start_somewhere(combiner, start, reference, device):
    body = f"""
      %c = arith.constant {start} : f32
      %e = tensor.empty() : tensor<7xf32>
      %i = linalg.fill ins(%c : f32) outs(%e : tensor<7xf32>) -> tensor<7xf32>
      %0 = linalg.reduce {{arith.{combiner}}} ins(%x : tensor<5x7x9xf32>) outs(%i : tensor<7xf32>)
        dimensions = [0, 2]
      return %0 : tensor<7xf32>"""
    x = torch.rand(5, 7, 9) + 0.5
    close(run(function(body, "7xf32", x="5x7x9xf32"), x, device=device), reference(x.double()))


def test_transposed_operands_and_results(device):
    body = """
      %e = tensor.empty() : tensor<6x10xf32>
      %r = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>,
                           affine_map<(i, j) -> (j, i)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %y : tensor<6x10xf32>, tensor<10xf32>) outs(%e : tensor<6x10xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.subf %a, %b : f32
        linalg.yield %0 : f32
      } -> tensor<6x10xf32>
      return %r : tensor<6x10xf32>"""
    x, y = torch.randn(6, 10), torch.randn(10)
    text = function(body, "6x10xf32", x="6x10xf32", y="10xf32")
    close(run(text, x, y, device=device), x.double() - y.double())


def test_matrix_with_vector(device):
    body = """
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<40xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<40xf32>) -> tensor<40xf32>
      %0 = linalg.matvec ins(%m, %v : tensor<40x300xf32>, tensor<300xf32>)
        outs(%i : tensor<40xf32>) -> tensor<40xf32>
      return %0 : tensor<40xf32>"""
    m, v = torch.randn(40, 300), torch.randn(300)
    text = function(body, "40xf32", m="40x300xf32", v="300xf32")
    close(run(text, m, v, device=device), m.double() @ v.double())


def test_views(device):
    body = """
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
      %1 = tensor.expand_shape %0 [[0, 1, 2]] output_shape [2, 4, 4]
        : tensor<32xf32> into tensor<2x4x4xf32>
      %2 = tensor.extract_slice %1[1, 0, 1] [1, 2, 3] [1, 2, 1]
        : tensor<2x4x4xf32> to tensor<2x3xf32>
      %3 = math.exp %2 : tensor<2x3xf32>
      return %3 : tensor<2x3xf32>"""
    x = torch.randn(4, 8)
    want = x.double().reshape(2, 4, 4)[1, 0:3:2, 1:4].exp()
    close(run(function(body, "2x3xf32", x="4x8xf32"), x, device=device), want)


def test_two_results_of_integers(device):
    text = """
func.func @main(%x: tensor<6x50xi32>, %a: tensor<6xi32>, %b: tensor<6xi32>)
    -> (tensor<6xi32>, tensor<6xi32>) {
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x50xi32>) outs(%a, %b : tensor<6xi32>, tensor<6xi32>) {
  ^bb0(%in: i32, %sum: i32, %low: i32):
    %1 = arith.addi %sum, %in : i32
    %2 = arith.minsi %in, %low : i32
    linalg.yield %1, %2 : i32, i32
  } -> (tensor<6xi32>, tensor<6xi32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xi32>
}"""
    x = torch.randint(-1000, 1000, (6, 50), dtype=torch.int32)
    a, b = torch.arange(6, dtype=torch.int32), torch.full((6,), -900, dtype=torch.int32)
    package = compile_ir(text, Options(device=device)).package
    where = "cuda" if device == "cuda" else "cpu"
    sums, lows = deplo.load(package, device)(x.to(where), a.to(where), b.to(where))
    assert torch.equal(sums.cpu(), (x.sum(1) + a).int())
    assert torch.equal(lows.cpu(), torch.minimum(x.amin(1), b))


def test_nan_of_a_maximum(device):
    body = """
      %low = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<3xf32>
      %i = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
      %0 = linalg.reduce {arith.maximumf} ins(%x : tensor<3x40xf32>) outs(%i : tensor<3xf32>)
        dimensions = [1]
      return %0 : tensor<3xf32>"""
    x = torch.randn(3, 40)
    x[1, 7] = torch.nan
    got = run(function(body, "3xf32", x="3x40xf32"), x, device=device)
    assert torch.equal(got.isnan(), torch.tensor([False, True, False]))


def test_max_pooling(device):
    body = """
      %low = arith.constant 0xFF800000 : f32
      %w = tensor.empty() : tensor<3x3xf32>
      %e = tensor.empty() : tensor<2x3x4x4xf32>
      %i = linalg.fill ins(%low : f32) outs(%e : tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
      %0 = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>,
          dilations = dense<1> : tensor<2xi64>}
        ins(%x, %w : tensor<2x3x9x9xf32>, tensor<3x3xf32>)
        outs(%i : tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
      return %0 : tensor<2x3x4x4xf32>"""
    x = torch.randn(2, 3, 9, 9)
    text = function(body, "2x3x4x4xf32", x="2x3x9x9xf32")
    close(run(text, x, device=device), F.max_pool2d(x.double(), 3, 2))


def test_boxes_of_a_larger_tensor(device):
    body = """
      %one = arith.constant 1.0 : f32
      %0 = tensor.pad %x low[1, 0] high[2, 3] {
      ^bb0(%i: index, %j: index):
        tensor.yield %one : f32
      } : tensor<4x5xf32> to tensor<7x8xf32>
      %1 = tensor.concat dim(1) %0, %y : (tensor<7x8xf32>, tensor<7x2xf32>) -> tensor<7x10xf32>
      %2 = tensor.insert_slice %z into %1[3, 4] [2, 1] [1, 1] : tensor<2xf32> into tensor<7x10xf32>
      return %2 : tensor<7x10xf32>"""
    text = function(body, "7x10xf32", x="4x5xf32", y="7x2xf32", z="2xf32")
    x, y, z = torch.randn(4, 5), torch.randn(7, 2), torch.randn(2)
    want = torch.cat([F.pad(x, (0, 3, 1, 2), value=1.0), y], 1).double()
    want[3:5, 4] = z.double()
    close(run(text, x, y, z, device=device), want)


def test_lower_triangle(device):
    body = """
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<9x13xf32>
      %0 = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<9x13xf32>) outs(%e : tensor<9x13xf32>) {
      ^bb0(%a: f32, %o: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %below = arith.cmpi sge, %i, %j : index
        %1 = arith.select %below, %a, %zero : f32
        linalg.yield %1 : f32
      } -> tensor<9x13xf32>
      return %0 : tensor<9x13xf32>"""
    x = torch.randn(9, 13)
    close(run(function(body, "9x13xf32", x="9x13xf32"), x, device=device), x.double().tril())


def test_bf16_reduces_in_f32(device):
    body = """
      %zero = arith.constant 0.0 : bf16
      %e = tensor.empty() : tensor<4xbf16>
      %i = linalg.fill ins(%zero : bf16) outs(%e : tensor<4xbf16>) -> tensor<4xbf16>
      %0 = linalg.reduce {arith.addf} ins(%x : tensor<4x4096xbf16>) outs(%i : tensor<4xbf16>)
        dimensions = [1]
      return %0 : tensor<4xbf16>"""
    x = torch.rand(4, 4096).bfloat16()
    got = run(function(body, "4xbf16", x="4x4096xbf16"), x, device=device)
    close(got, x.double().sum(1), bound=2**-8)


def test_what_graph_lacks_is_named():
    body = """
      %0 = linalg.matmul ins(%x, %y : tensor<4x8xi8>, tensor<8x4xi8>)
        outs(%z : tensor<4x4xi32>) -> tensor<4x4xi32>
      return %0 : tensor<4x4xi32>"""
    text = function(body, "4x4xi32", x="4x8xi8", y="8x4xi8", z="4x4xi32")
    error = try_compile(text, Options(device="host")).error
    assert error.startswith("main:3: 'linalg.matmul' op is a contraction")


def test_level_graph_shows_the_conversion():
    body = "%0 = math.exp %x : tensor<8xf32>\nreturn %0 : tensor<8xf32>"
    text = function(body, "8xf32", x="8xf32")
    result = compile_ir(text, Options(device="host", level="graph", trace=True))
    assert "graph.map" in result.ir
    assert [step["step"] for step in result.steps] == ["g:linalg_to_graph"]


def test_products_of_matrices(device):
    body = """
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<33x65xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<33x65xf32>) -> tensor<33x65xf32>
      %0 = linalg.matmul ins(%x, %y : tensor<33x127xf32>, tensor<127x65xf32>)
        outs(%init : tensor<33x65xf32>) -> tensor<33x65xf32>
      %1 = linalg.exp ins(%0 : tensor<33x65xf32>) outs(%e : tensor<33x65xf32>) -> tensor<33x65xf32>
      return %1 : tensor<33x65xf32>"""
    x, y = torch.randn(33, 127) / 8, torch.randn(127, 65) / 8
    text = function(body, "33x65xf32", x="33x127xf32", y="127x65xf32")
    close(run(text, x, y, device=device), (x.double() @ y.double()).exp(), 4e-6)
    assert len(compile_ir(text, Options(ptxas=False)).kernels) == 1


def test_convolution(device):
    body = """
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x4x6x3xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x6x3xf32>) -> tensor<2x4x6x3xf32>
      %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>,
          strides = dense<[1, 2]> : tensor<2xi64>}
        ins(%x, %w : tensor<2x3x8x7xf32>, tensor<4x3x3x3xf32>)
        outs(%init : tensor<2x4x6x3xf32>) -> tensor<2x4x6x3xf32>
      return %0 : tensor<2x4x6x3xf32>"""
    x, w = torch.randn(2, 3, 8, 7), torch.randn(4, 3, 3, 3)
    text = function(body, "2x4x6x3xf32", x="2x3x8x7xf32", w="4x3x3x3xf32")
    want = F.conv2d(x.double(), w.double(), stride=(1, 2))
    close(run(text, x, w, device=device), want, 4e-6)
