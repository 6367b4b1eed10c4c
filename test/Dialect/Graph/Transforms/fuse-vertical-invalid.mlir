// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --verify-diagnostics
// RUN: not deplo-opt %s --deplo-fuse-vertical 2>&1 | FileCheck %s --check-prefix=TARGET

// Without a target there is no cost.
// TARGET: error: no target: the module has no tile.target attribute; run deplo-attach-target first

func.func @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.exp' op is not a primitive, run deplo-decompose before deplo-fuse-vertical}}
  %0 = graph.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @other_dialect(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'math.exp' op can't be part of a kernel, deplo-fuse-vertical takes primitives of the graph dialect}}
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @symbolic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{'graph.map' op has the symbolic size of 'tensor<?xf32>', deplo-fuse-vertical needs fixed sizes}}
  %0 = graph.map (%a = %x : tensor<?xf32>) -> tensor<?xf32> {
    graph.yield %a : f32
  }
  return %0 : tensor<?xf32>
}

// -----

// Decomposition leaves no tensors without elements.
func.func @empty(%x: tensor<0xf32>) -> tensor<0xf32> {
  // expected-error @below {{'graph.map' op computes with 'tensor<0xf32>', a kernel needs at least one element}}
  %0 = graph.map (%a = %x : tensor<0xf32>) -> tensor<0xf32> {
    %1 = math.exp %a : f32
    graph.yield %1 : f32
  }
  return %0 : tensor<0xf32>
}

// -----

// expected-error @below {{'func.func' op has control flow, deplo-fuse-vertical needs a single block}}
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
