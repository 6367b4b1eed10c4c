// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes functions of the math dialect in arithmetic.
//
//   %y = math.log2 %x : f32
//
// becomes a bit cast, shifts, a polynomial of fused multiply-adds and
// selections for what is no positive number: the same on every target, so that
// what is tested on the host is what the GPU computes. deplo/Support/Functions.def
// is the list of functions.
//
// Legality. The functions are within the documented error of the real ones:
// docs/rationale/math.md. NaN, infinities and the signs of zeros come out as
// C99's annex F has them, and subnormal numbers are kept.

#include "MathBuilder.h"
#include "deplo/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "deplo/Conversion/Passes.h.inc"

/// The value of `op` in arithmetic; null if it is none of the functions.
static Value expandFunction(Operation *op, MathBuilder &m, ValueRange x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
#define DEPLO_FUNCTION_1(OP, NAME, REFERENCE)                                  \
  .Case([&](OP) { return m.NAME(x[0]); })
#define DEPLO_FUNCTION_2(OP, NAME, REFERENCE)                                  \
  .Case([&](OP) { return m.NAME(x[0], x[1]); })
#define DEPLO_FUNCTION_3(OP, NAME, REFERENCE)                                  \
  .Case([&](OP) { return m.NAME(x[0], x[1], x[2]); })
#include "deplo/Support/Functions.def"
      .Default([](Operation *) { return Value(); });
}

/// |x| of integers; the lowest is its own.
static void expandAbs(math::AbsIOp op) {
  MathBuilder m(op, /*isGpu=*/false);
  Value x = op.getOperand(), zero = m.integer(x, 0);
  Value isNegative = m.compareI(arith::CmpIPredicate::slt, x, zero);
  op.replaceAllUsesWith(m.select(isNegative, m.subI(zero, x), x));
  op.erase();
}

LogicalResult expandMath(Operation *op, bool isGpu) {
  if (auto absolute = dyn_cast<math::AbsIOp>(op)) {
    expandAbs(absolute);
    return success();
  }
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  bool isHalf = element.isF16() || element.isBF16();
  if (!isHalf && !element.isF32())
    return op->emitOpError() << "of " << element
                             << " has no expansion, expected f32, f16 or bf16";
  MathBuilder m(op, isGpu);
  SmallVector<Value> operands(op->getOperands());
  if (isHalf)
    for (Value &operand : operands)
      operand = m.toF32(operand);
  Value result = expandFunction(op, m, operands);
  if (!result)
    return op->emitOpError(
        "has no expansion into arithmetic, use a function that has one");
  if (isHalf)
    result = m.round(result, type);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return success();
}

namespace {
struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> functions;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op))
        functions.push_back(op);
    });
    for (Operation *op : functions) {
      bool isGpu = op->getParentOfType<gpu::GPUModuleOp>() != nullptr;
      if (failed(expandMath(op, isGpu)))
        return signalPassFailure();
    }
  }
};
} // namespace

} // namespace deplo
