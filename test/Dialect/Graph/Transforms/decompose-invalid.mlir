// RUN: deplo-opt %s --split-input-file --deplo-decompose --verify-diagnostics

// Symbolic sizes have no decomposition yet: one error, at the operator.
func.func @symbolic(%x: tensor<?x8xf32, #graph.dims<"n", "">>) -> tensor<?x8xf32, #graph.dims<"n", "">> {
  // expected-error @below {{'graph.exp' op has the symbolic size of 'tensor<?x8xf32, #graph.dims<"n", "">>', deplo-decompose needs fixed sizes}}
  %0 = graph.exp %x : tensor<?x8xf32, #graph.dims<"n", "">>
  return %0 : tensor<?x8xf32, #graph.dims<"n", "">>
}

// -----

// Nor do tensors that no memory holds.
func.func @too_large(%x: tensor<4294967296x4294967296xf32>) -> tensor<f32> {
  // expected-error @below {{'graph.sum' op has 'tensor<4294967296x4294967296xf32>', more bytes than 64 bits count}}
  %0 = graph.sum %x axes [0, 1] : tensor<4294967296x4294967296xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
