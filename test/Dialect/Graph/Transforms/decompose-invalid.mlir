// RUN: deplo-opt %s --deplo-decompose --verify-diagnostics

// Symbolic sizes have no decomposition yet: one error, at the operator.
func.func @symbolic(%x: tensor<?x8xf32, #graph.dims<"n", "">>) -> tensor<?x8xf32, #graph.dims<"n", "">> {
  // expected-error @below {{'graph.exp' op has the symbolic size of 'tensor<?x8xf32, #graph.dims<"n", "">>', deplo-decompose needs fixed sizes}}
  %0 = graph.exp %x : tensor<?x8xf32, #graph.dims<"n", "">>
  return %0 : tensor<?x8xf32, #graph.dims<"n", "">>
}
