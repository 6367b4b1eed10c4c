// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named operators become primitives.
//
//   %y = graph.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
//
// becomes
//
//   %c = graph.index_map %b by affine_map<(d0, d1) -> (d1)> : ...
//   %y = graph.map (%a = %x, %b = %c) { arith.addf, graph.yield }
//
// It is legal because every operator is defined by its decomposition.

#include "deplo/Dialect/Graph/Transforms/Decompose.h"
#include "DecomposePatterns.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-decompose"

using namespace mlir;

namespace deplo::graph {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

Location getSourceLoc(Location loc, StringRef name) {
  MLIRContext *context = loc.getContext();
  return FusedLoc::get(context, {loc}, StringAttr::get(context, name));
}

StringRef getSourceName(Location loc) {
  auto fused = dyn_cast<FusedLocWith<StringAttr>>(loc);
  return fused ? fused.getMetadata().getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Value buildPermute(PrimitiveBuilder &builder, PermuteOp op) {
  SmallVector<AffineExpr> coordinates(op.getPermutation().size());
  for (auto [axis, source] : llvm::enumerate(op.getPermutation()))
    coordinates[source] = getAffineDimExpr(axis, op.getContext());
  return builder.indexMap(
      op.getInput(), op.getType().getShape(),
      AffineMap::get(coordinates.size(), 0, coordinates, op.getContext()));
}

static Value buildSlice(PrimitiveBuilder &builder, SliceOp op) {
  SmallVector<AffineExpr> coordinates;
  for (auto [axis, offset, stride] :
       llvm::enumerate(op.getOffsets(), op.getStrides()))
    coordinates.push_back(getAffineDimExpr(axis, op.getContext()) * stride +
                          offset);
  return builder.indexMap(
      op.getInput(), op.getType().getShape(),
      AffineMap::get(coordinates.size(), 0, coordinates, op.getContext()));
}

Value decomposeView(PrimitiveBuilder &builder, Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return builder.reshape(reshape.getInput(), reshape.getType().getShape());
  if (auto permute = dyn_cast<PermuteOp>(op))
    return buildPermute(builder, permute);
  if (auto expand = dyn_cast<ExpandOp>(op))
    return builder.broadcast(expand.getInput(), expand.getType().getShape());
  if (auto slice = dyn_cast<SliceOp>(op))
    return buildSlice(builder, slice);
  return {};
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

static bool isNamed(Operation *op) {
  return isa_and_nonnull<GraphDialect>(op->getDialect()) &&
         !op->hasTrait<IsPrimitive>() &&
         !isa<IndexOp, SizeOp, FusedOp, YieldOp>(op);
}

static bool isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 0;
}

/// Whether a primitive computes or reads nothing: its result is known, or that
/// of a gather, which never reads from an empty source.
static bool isOfNothing(Operation *op) {
  return (op->hasTrait<IsComputation>() || isa<IndexMapOp>(op)) &&
         !isa<FusedOp>(op) &&
         (isEmpty(op->getResult(0)) ||
          llvm::any_of(op->getOperands(), isEmpty));
}

/// The gather without its empty sources; without any, what it fills with.
static Value buildWithoutEmptySources(RewriterBase &rewriter, Location loc,
                                      GatherOp gather) {
  SmallVector<Value> sources;
  SmallVector<AffineMap> maps, guards;
  for (auto [k, source] : llvm::enumerate(gather.getSources()))
    if (!isEmpty(source)) {
      sources.push_back(source);
      maps.push_back(gather.getMap(k));
      guards.push_back(gather.getGuard(k));
    }
  RankedTensorType type = gather.getType();
  if (sources.empty())
    return ConstantOp::create(
        rewriter, loc,
        DenseElementsAttr::get(type, Attribute(gather.getFillOrZero())));
  return GatherOp::create(rewriter, loc, type, sources, gather.getIndices(),
                          maps, guards, gather.getFillAttr());
}

/// No elements, or what a reduction or a contraction over none is.
static Value buildOfNothing(RewriterBase &rewriter, Location loc,
                            Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto gather = dyn_cast<GatherOp>(op);
      gather && type.getNumElements() != 0)
    return buildWithoutEmptySources(rewriter, loc, gather);
  if (type.getNumElements() == 0 || !isa<ReduceOp, ContractOp>(op))
    return ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>()));
  auto reduce = dyn_cast<ReduceOp>(op);
  TypedAttr identity = getIdentity(reduce ? reduce.getKind() : Monoid::Add,
                                   type.getElementType());
  return ConstantOp::create(rewriter, loc,
                            DenseElementsAttr::get(type, Attribute(identity)));
}

LogicalResult decompose(RewriterBase &rewriter, Operation *op) {
  if (!isNamed(op) && !isOfNothing(op))
    return success();
  if (failed(verifyFixedSizes(op, DEBUG_TYPE)))
    return failure();
  rewriter.setInsertionPoint(op);
  StringRef name = op->getName().stripDialect();
  Location loc = getSourceLoc(op->getLoc(), name);
  PrimitiveBuilder builder(rewriter, loc);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value value;
  if (type.getNumElements() == 0 || isOfNothing(op))
    value = buildOfNothing(rewriter, loc, op);
  for (auto *decomposeKind : {decomposePointwise, decomposeReduction,
                              decomposeNormalization, decomposeView})
    if (!value)
      value = decomposeKind(builder, op);
  if (!value)
    return op->emitOpError("has no decomposition into primitives");
  rewriter.replaceOp(op, value);
  return success();
}

namespace {
struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isNamed(op) || isOfNothing(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(decompose(rewriter, op)))
        return signalPassFailure();
    if (ops.empty())
      remark::missed(getOperation().getLoc(),
                     remark::RemarkOpts::name("Decompose").category(DEBUG_TYPE))
          << "nothing to do: the function holds primitives only";
  }
};
} // namespace

} // namespace deplo::graph
