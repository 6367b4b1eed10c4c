// RUN: deplo-opt %s --split-input-file --deplo-graph-to-loop --verify-diagnostics

func.func @not_fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.map' op is not in a graph.fused, run deplo-fuse-vertical before deplo-graph-to-loop}}
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = math.exp %a : f32
    graph.yield %1 : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.return' op operand 0 is not computed by a kernel of its own, run deplo-fuse-vertical before deplo-graph-to-loop}}
  return %x : tensor<4xf32>
}

// -----

func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.fused @k (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %p : tensor<4xf32>
  }
  // expected-error @below {{'func.return' op operand 1 is not computed by a kernel of its own, run deplo-fuse-vertical before deplo-graph-to-loop}}
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op takes or returns 'tensor<?xf32>', deplo-graph-to-loop needs tensors of fixed sizes}}
func.func @symbolic(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op takes or returns 'f32', deplo-graph-to-loop needs tensors of fixed sizes}}
func.func @scalar(%x: f32, %y: tensor<4xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op has control flow, deplo-graph-to-loop needs a single block}}
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

func.func @different_axes(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = graph.fused @k (%p = %x : tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %1 = graph.reduce add %p axes [0] : tensor<4x4xf32> -> tensor<4xf32>
    // expected-error @below {{'graph.reduce' op can't be lowered by deplo-graph-to-loop: reductions and scans of one kernel must keep the same axes; run deplo-fuse-vertical}}
    %2 = graph.reduce add %p axes [1] : tensor<4x4xf32> -> tensor<4xf32>
    graph.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @stored_twice(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %0:2 = graph.fused @k (%p = %x : tensor<4x8xf32>, %q = %w : tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
    // expected-error @below {{'graph.map' op can't be lowered by deplo-graph-to-loop: its elements would be stored more than once; run deplo-fuse-vertical}}
    %1 = graph.map (%a = %q : tensor<8xf32>) -> tensor<8xf32> {
      %4 = math.exp %a : f32
      graph.yield %4 : f32
    }
    %2 = graph.index_map %1 by affine_map<(d0, d1) -> (d1)> : tensor<8xf32> -> tensor<4x8xf32>
    %3 = graph.map (%a = %p : tensor<4x8xf32>, %b = %2 : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %4 = arith.addf %a, %b : f32
      graph.yield %4 : f32
    }
    graph.yield %1, %3 : tensor<8xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<4x8xf32>
}

// -----

func.func @part(%x: tensor<8xf32>) -> tensor<7xf32> {
  %0 = graph.fused @k (%p = %x : tensor<8xf32>) -> (tensor<7xf32>) {
    %1 = graph.map (%a = %p : tensor<8xf32>) -> tensor<8xf32> {
      %4 = math.exp %a : f32
      graph.yield %4 : f32
    }
    %2 = graph.index_map %1 by affine_map<(d0) -> (d0 + 1)> : tensor<8xf32> -> tensor<7xf32>
    // expected-error @below {{'graph.map' op can't be lowered by deplo-graph-to-loop: it reads what the kernel computes in another order, or a part of it; run deplo-fuse-vertical}}
    %3 = graph.map (%a = %2 : tensor<7xf32>) -> tensor<7xf32> {
      %4 = math.sqrt %a : f32
      graph.yield %4 : f32
    }
    graph.yield %3 : tensor<7xf32>
  }
  return %0 : tensor<7xf32>
}

// -----

func.func @diagonal(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = graph.fused @k (%p = %x : tensor<8x8xf32>) -> (tensor<8xf32>) {
    // expected-error @below {{'graph.map' op can't be lowered by deplo-graph-to-loop: it is read along a diagonal; run deplo-fuse-vertical}}
    %1 = graph.map (%a = %p : tensor<8x8xf32>) -> tensor<8x8xf32> {
      %4 = math.exp %a : f32
      graph.yield %4 : f32
    }
    %2 = graph.index_map %1 by affine_map<(d0) -> (d0, d0)> : tensor<8x8xf32> -> tensor<8xf32>
    %3 = graph.map (%a = %2 : tensor<8xf32>) -> tensor<8xf32> {
      %4 = math.sqrt %a : f32
      graph.yield %4 : f32
    }
    graph.yield %3 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @no_box(%x: tensor<4x6xf32> {graph.strides = array<i64: 12, 2>}) -> tensor<6x4xf32> {
  // expected-error @below {{'graph.fused' op can't be lowered by deplo-graph-to-loop: operand 0 is not read along loops over a box; run deplo-fuse-vertical}}
  %0 = graph.fused @k (%p = %x : tensor<4x6xf32>) -> (tensor<6x4xf32>) {
    %1 = graph.index_map %p by affine_map<(d0, d1) -> ((d0 * 4 + d1) floordiv 6, (d0 * 4 + d1) mod 6)> : tensor<4x6xf32> -> tensor<6x4xf32>
    graph.yield %1 : tensor<6x4xf32>
  }
  return %0 : tensor<6x4xf32>
}

// -----

func.func @constant() -> tensor<2xf32> {
  // expected-error @below {{'graph.fused' op can't be lowered by deplo-graph-to-loop: a constant of different elements can't be part of a kernel, pass it as an argument}}
  %0 = graph.fused @k () -> (tensor<2xf32>) {
    %1 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    graph.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @reshaped_twice(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<4x6xf32>) -> (tensor<8x3xf32>) {
    %1 = graph.index_map %p by affine_map<(d0, d1) -> (d1, d0)> : tensor<4x6xf32> -> tensor<6x4xf32>
    %2 = graph.index_map %1 by affine_map<(d0, d1) -> ((d0 * 3 + d1) floordiv 4, (d0 * 3 + d1) mod 4)> : tensor<6x4xf32> -> tensor<8x3xf32>
    // expected-error @below {{'graph.map' op can't be lowered by deplo-graph-to-loop: its operand is reshaped in a way that is no view}}
    %3 = graph.map (%a = %2 : tensor<8x3xf32>) -> tensor<8x3xf32> {
      %4 = math.sqrt %a : f32
      graph.yield %4 : f32
    }
    graph.yield %3 : tensor<8x3xf32>
  }
  return %0 : tensor<8x3xf32>
}

// -----

// A reduction can't run in the sweep of the scan that it reads.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = graph.fused @reduced (%a = %x : tensor<4x8xf32>) -> (tensor<4xf32>) {
    %s = graph.scan add %a axis 1 : tensor<4x8xf32>
    // expected-error @below {{can't be lowered by deplo-graph-to-loop: it reduces what a scan of the same kernel computes; run deplo-fuse-vertical}}
    %r = graph.reduce add %s axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A scan goes along one loop.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2x4xf32> {
  %0 = graph.fused @divided (%a = %x : tensor<4x8xf32>) -> (tensor<4x2x4xf32>) {
    // expected-error @below {{can't be lowered by deplo-graph-to-loop: a reshape divides the axis of the scan; run deplo-fuse-vertical}}
    %s = graph.scan add %a axis 1 : tensor<4x8xf32>
    %v = graph.index_map %s by affine_map<(d0, d1, d2) -> (d0, d1 * 4 + d2)> : tensor<4x8xf32> -> tensor<4x2x4xf32>
    %n = graph.map (%c = %v : tensor<4x2x4xf32>) -> tensor<4x2x4xf32> {
      %d = arith.negf %c : f32
      graph.yield %d : f32
    }
    graph.yield %n : tensor<4x2x4xf32>
  }
  return %0 : tensor<4x2x4xf32>
}
