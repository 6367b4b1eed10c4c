// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of linalg, tensor, arith and math on tensors becomes one of graph.
//
//   %s = linalg.reduce {arith.addf} ins(%x) outs(%init) dimensions = [1]
//   %y = linalg.exp ins(%s) outs(%e)
//
// becomes
//
//   %r = graph.reduce add %x axes [1]
//   %s = graph.map (%a = %r, %b = %init) {arith.addf}
//   %y = graph.map (%a = %s) {math.exp}
//
// Legality: tensors are values in both, so each operation is replaced by itself
// if graph computes the same elements. Where that is not so (sizes unknown, an
// element type that graph lacks, a region with effects), it is an error. Terms
// of a reduction are added in another order, which linalg leaves open.

#include "deplo/Conversion/LinalgToGraph.h"

#include "Converters.h"
#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-linalg-to-graph"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_LINALGTOGRAPHPASS
#include "deplo/Conversion/Passes.h.inc"

/// Operations that stay.
static bool isAtHome(Operation *op) {
  return isa<graph::GraphDialect, func::FuncDialect>(op->getDialect());
}

static bool hasTensors(Operation *op) {
  auto isTensor = llvm::IsaPred<TensorType>;
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

bool holdsForeignTensorOps(func::FuncOp function) {
  return llvm::any_of(function.getOps(), [](Operation &op) {
    return !isAtHome(&op) && hasTensors(&op);
  });
}

/// A buffer of graph holds these, in as many elements as are known.
static LogicalResult verifyTypes(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes()))) {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      continue;
    if (isa<RankedTensorType>(tensor) && !graph::isGraphTensor(tensor))
      return op->emitOpError() << "has " << type
                               << ", expected elements f16, bf16, f32, i1, i8, "
                                  "i32 or i64";
    if (!isa<RankedTensorType>(tensor) || !tensor.hasStaticShape())
      return op->emitOpError()
             << "has " << type << ", expected a tensor of fixed sizes";
  }
  return success();
}

LogicalResult convertLinalgToGraph(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError()
           << "has branches, expected one block to convert to graph";
  OpBuilder builder(function.getContext());
  SmallVector<Operation *> converted;
  for (Operation &op : function.getOps()) {
    // Scalars are part of the regions that use them.
    if (isAtHome(&op) || (!hasTensors(&op) && isMemoryEffectFree(&op)))
      continue;
    if (failed(verifyTypes(&op)))
      return failure();
    builder.setInsertionPoint(&op);
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    FailureOr<Values> values = structured
                                   ? convertStructuredOp(builder, structured)
                                   : convertTensorOp(builder, &op);
    if (failed(values))
      return failure();
    op.replaceAllUsesWith(*values);
    converted.push_back(&op);
  }
  for (Operation *op : llvm::reverse(converted))
    op->erase();
  return success();
}

namespace {

struct LinalgToGraphPass : impl::LinalgToGraphPassBase<LinalgToGraphPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !holdsForeignTensorOps(function))
      return;
    if (partial)
      return convertIfPossible(function);
    if (failed(convertLinalgToGraph(function)))
      signalPassFailure();
  }

  /// Converts a copy, which takes the place of `function` if all went well.
  void convertIfPossible(func::FuncOp function) {
    std::string reason;
    OwningOpRef<func::FuncOp> copy = function.clone();
    {
      ScopedDiagnosticHandler handler(&getContext(),
                                      [&](Diagnostic &diagnostic) {
                                        if (reason.empty())
                                          reason = diagnostic.str();
                                        return success();
                                      });
      if (succeeded(convertLinalgToGraph(*copy)))
        reason.clear();
    }
    if (!reason.empty()) {
      remark::missed(function.getLoc(), remark::RemarkOpts::name("LeftAsItIs")
                                            .category(DEBUG_TYPE)
                                            .function(function.getName()))
          << reason;
      return;
    }
    function.getBody().takeBody(copy->getBody());
  }
};

} // namespace

} // namespace deplo
