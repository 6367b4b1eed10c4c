// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of exp(x - m), where m is the maximum of x, in one sweep.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_ONLINESUM_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_ONLINESUM_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <optional>

namespace deplo::tile {

/// Two reductions over one dimension: the maximum of x, and the sum of
/// exp(x - maximum).
struct OnlineSum {
  ReduceOp maximum, sum;
  mlir::math::ExpOp exp;

  static std::optional<OnlineSum> get(ReduceOp sum);

  /// The running maximum, and the running sum relative to it.
  struct State {
    mlir::Value maximum, sum;
  };
  /// The state after `x`, elementwise.
  State accumulate(mlir::OpBuilder &builder, State state, mlir::Value x);
  /// The results of the two reductions from the states of all positions.
  State finish(mlir::OpBuilder &builder, State state);

private:
  mlir::Value createExp(mlir::OpBuilder &builder, mlir::Value x);
  mlir::Value getReference(mlir::OpBuilder &builder, mlir::Value maximum);
};

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_ONLINESUM_H
