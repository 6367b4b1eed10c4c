// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic whose fast-math flags allow an approximation that the device has
// an instruction for (PTX ISA, floating point instructions):
//
//   arith.divf x, y fastmath<arcp>    div.full: 2 ulp over the full range
//   arith.divf 1, y fastmath<afn>     rcp.approx.ftz: 1 ulp
//   math.exp x fastmath<afn>          ex2.approx.ftz of x log2(e)
//
// None of them branches, as the correctly rounded forms do, so that a thread's
// elements overlap.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo {

static bool allows(Operation *op, arith::FastMathFlags flag) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  return math && arith::bitEnumContainsAll(
                     math.getFastMathFlagsAttr().getValue(), flag);
}

static bool isOne(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(constant);
  return number && number.getValue().isExactlyValue(1.0);
}

Value KernelEmitter::callIntrinsic(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, operands.front().getType(),
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

LogicalResult KernelEmitter::emitApproximation(Operation *op) {
  if (op->getNumResults() != 1 ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return failure();
  llvm::function_ref<Value(ValueRange)> emit;
  auto quotient = [&](ValueRange x) {
    return callIntrinsic("llvm.nvvm.div.full", x);
  };
  auto reciprocal = [&](ValueRange x) {
    return callIntrinsic("llvm.nvvm.rcp.approx.ftz.f", x[1]);
  };
  auto exponential = [&](ValueRange x) {
    Value log2e = arith::ConstantOp::create(
        builder, builder.getF32FloatAttr(float(llvm::numbers::log2e)));
    return callIntrinsic(
        "llvm.nvvm.ex2.approx.ftz",
        arith::MulFOp::create(builder, x[0], log2e).getResult());
  };
  if (isa<arith::DivFOp>(op) && allows(op, arith::FastMathFlags::afn) &&
      isOne(op->getOperand(0)))
    emit = reciprocal;
  else if (isa<arith::DivFOp>(op) && allows(op, arith::FastMathFlags::arcp))
    emit = quotient;
  else if (isa<math::ExpOp>(op) && allows(op, arith::FastMathFlags::afn))
    emit = exponential;
  else
    return failure();

  SmallVector<Value> operands = lookup(op->getOperands());
  if (!isa<VectorType>(operands.front().getType())) {
    mapping.map(op->getResult(0), emit(operands));
    return success();
  }
  SmallVector<SmallVector<Value>> elements;
  for (Value operand : operands)
    elements.push_back(unpack(operand));
  SmallVector<Value> results;
  for (size_t i = 0; i < elements.front().size(); ++i)
    results.push_back(emit(llvm::map_to_vector(
        elements, [&](ArrayRef<Value> operand) { return operand[i]; })));
  mapping.map(op->getResult(0), pack(results));
  return success();
}

} // namespace deplo
