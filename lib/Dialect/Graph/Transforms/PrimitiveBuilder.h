// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds primitives with formulas that read like formulas.

#ifndef DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_PRIMITIVEBUILDER_H
#define DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_PRIMITIVEBUILDER_H

#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/IR/Builders.h"

namespace deplo::graph {

/// Scalar f32 arithmetic in the region of a map.
struct Scalars {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Whether the result is rounded to f16 or bf16, of which errors of the last
  /// bits of f32 leave nothing.
  bool isNarrow = false;
  const SymbolicSizes &sizes;

  mlir::Value constant(double value) const;
  /// A number of elements, which may be known only when the program runs.
  mlir::Value size(int64_t number) const;
  /// `sum` of `number` elements over that; by multiplication where it is known.
  mlir::Value mean(mlir::Value sum, int64_t number) const;
  mlir::Value neg(mlir::Value x) const;
  mlir::Value abs(mlir::Value x) const;
  mlir::Value exp(mlir::Value x) const;
  mlir::Value log(mlir::Value x) const;
  mlir::Value sqrt(mlir::Value x) const;
  mlir::Value rsqrt(mlir::Value x) const;
  mlir::Value sin(mlir::Value x) const;
  mlir::Value cos(mlir::Value x) const;
  mlir::Value tanh(mlir::Value x) const;
  mlir::Value erf(mlir::Value x) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value div(mlir::Value x, mlir::Value y) const;
  mlir::Value pow(mlir::Value x, mlir::Value y) const;
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) const;
  /// x / y within 2 ulp.
  mlir::Value quotient(mlir::Value x, mlir::Value y) const;
  /// e^x with a relative error of up to |x| 2^-23, and 0 below 2^-126.
  mlir::Value approximateExp(mlir::Value x) const;
  /// 1 / x within 1 ulp, and 0 where that is below 2^-126.
  mlir::Value approximateReciprocal(mlir::Value x) const;
  mlir::Value isNegative(mlir::Value x) const;
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const;
  /// NaN if either is NaN.
  mlir::Value max(mlir::Value x, mlir::Value y) const;
  mlir::Value min(mlir::Value x, mlir::Value y) const;
};

/// Whether `type` is a float of fewer bits than f32.
bool isNarrow(mlir::Type type);

using Formula = llvm::function_ref<mlir::Value(Scalars, mlir::ValueRange)>;

/// Primitives at one place of the program.
class PrimitiveBuilder {
public:
  /// At the insertion point of `builder`, which is in a module.
  PrimitiveBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc),
        sizes(SymbolicSizes::get(builder.getBlock()->getParentOp())) {}

  mlir::Type getF32() { return builder.getF32Type(); }

  /// One element of the result from one of each operand, operands of lower
  /// rank or size 1 being broadcast to `shape`. The formula sees f32; the
  /// result is rounded to `elementType`.
  mlir::Value map(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                  mlir::ValueRange operands, Formula formula);

  /// As above, of f32 elements, in the shape of the first operand.
  mlir::Value map(mlir::ValueRange operands, Formula formula);

  /// The monoid's combination of corresponding elements.
  mlir::Value combine(Monoid kind, mlir::Value lhs, mlir::Value rhs);

  /// `value` in f32.
  mlir::Value widen(mlir::Value value);

  /// `value` in `elementType`, rounded.
  mlir::Value convert(mlir::Value value, mlir::Type elementType);

  mlir::Value reduce(Monoid kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> axes);

  /// Puts axes of size 1 back where `axes` were reduced.
  mlir::Value keepDims(mlir::Value value, llvm::ArrayRef<int64_t> axes);

  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  /// A tensor of `shape` that reads `value` through `map`.
  mlir::Value indexMap(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                       mlir::AffineMap map);

  /// As above where `guard` holds, `fill` elsewhere.
  mlir::Value gather(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                     mlir::AffineMap map, mlir::AffineMap guard,
                     mlir::TypedAttr fill);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  SymbolicSizes sizes;
};

} // namespace deplo::graph

#endif // DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_PRIMITIVEBUILDER_H
