// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widens bf16 to f32 two elements at a time.
//
//   %y = arith.extf %x : vector<8xbf16> to vector<8xf32>
//
// becomes
//
//   %pairs = vector.bitcast %x : vector<8xbf16> to vector<4xi32>
//   %low = arith.shli %pairs, %c16 : vector<4xi32>
//   %high = arith.andi %pairs, %upper : vector<4xi32>
//   %bits = vector.shuffle %low, %high [0, 4, 1, 5, 2, 6, 3, 7]
//   %y = arith.bitcast %bits : vector<8xi32> to vector<8xf32>
//
// A register holds two elements. Converted one by one, the upper one is moved
// to the lower half and back, two instructions in place of one, and what was
// rounded to bf16 just before is rounded one by one, which the slow conversion
// unit does. Sums and products that are rounded at once are left alone: LLVM
// makes instructions for pairs of bf16 of them.
//
// Legality. A bf16 is the upper half of the f32 of the same value: the bits are
// those of the conversion, for NaN as PyTorch has it (the payload is kept).

#include "deplo/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_WIDENBF16PASS
#include "deplo/Conversion/Passes.h.inc"

/// The element numbers 0, n, 1, n + 1, ...
static SmallVector<int64_t> getInterleaved(int64_t n) {
  SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < n; ++i)
    numbers.append({i, n + i});
  return numbers;
}

/// Whether LLVM computes `op` in bf16: what is rounded of widened operands has
/// instructions for pairs of its own, as long as LLVM sees the conversions.
static bool isNarrow(Operation *op) {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
    return false;
  bool readsNarrow = llvm::all_of(op->getOperands(), [](Value operand) {
    return operand.getDefiningOp<arith::ExtFOp>() ||
           operand.getDefiningOp<arith::ConstantOp>();
  });
  return readsNarrow && llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<arith::TruncFOp>(user) &&
                  getElementTypeOrSelf(user->getResult(0)).isBF16();
         });
}

/// Whether `vector` is put together from single elements: no two of those are
/// in one register as it is, and LLVM leaves out what is masked to a constant,
/// so that half of a register would have no value.
static bool isOfSingleElements(Value vector) {
  while (auto insert = vector.getDefiningOp<vector::InsertStridedSliceOp>()) {
    if (insert.getSourceVectorType().getNumElements() % 2 != 0)
      return true;
    vector = insert.getDest();
  }
  return false;
}

/// Whether `op` widens an even number of bf16, and not for bf16 arithmetic.
static bool widensPairs(arith::ExtFOp op) {
  auto from = dyn_cast<VectorType>(op.getIn().getType());
  return from && from.getRank() == 1 && !from.isScalable() &&
         from.getElementType().isBF16() && from.getNumElements() % 2 == 0 &&
         getElementTypeOrSelf(op.getType()).isF32() &&
         !isOfSingleElements(op.getIn()) &&
         llvm::none_of(op->getUsers(), isNarrow);
}

static void widenPairs(arith::ExtFOp op) {
  constexpr int32_t bits = 16, upperHalf = int32_t(0xffff0000u);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t count = cast<VectorType>(op.getType()).getNumElements();
  auto pairsType = VectorType::get({count / 2}, builder.getI32Type());
  auto bitsType = VectorType::get({count}, builder.getI32Type());
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(pairsType, value));
  };
  Value pairs = vector::BitCastOp::create(builder, loc, pairsType, op.getIn());
  Value low = arith::ShLIOp::create(builder, loc, pairs, constant(bits));
  Value high = arith::AndIOp::create(builder, loc, pairs, constant(upperHalf));
  Value all = vector::ShuffleOp::create(builder, loc, bitsType, low, high,
                                        getInterleaved(count / 2));
  op.replaceAllUsesWith(
      arith::BitcastOp::create(builder, loc, op.getType(), all).getResult());
  op.erase();
}

namespace {
struct WidenBF16Pass : impl::WidenBF16PassBase<WidenBF16Pass> {
  void runOnOperation() override {
    SmallVector<arith::ExtFOp> widening;
    getOperation()->walk([&](arith::ExtFOp op) {
      if (widensPairs(op))
        widening.push_back(op);
    });
    for (arith::ExtFOp op : widening)
      widenPairs(op);
  }
};
} // namespace

} // namespace deplo
