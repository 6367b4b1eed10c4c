// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot of pieces of f32 by wgmma.
//
// Pieces of bf16 in memory have the exponents of what they are pieces of, two
// to the 24th times as large. Products of high pieces have 16 bits, so that a
// sum of few of them is cut off little or not at all; it starts from zero for
// each chunk. The other products go to the rest, the smallest ones first.
//
//   high = high pieces' products        from zero
//   rest = rest + the other products
//   next = accumulator + 2^-48 high
//   rest = rest + 2^48 (accumulator - next + 2^-48 high)
//   accumulator = next
//
// Products of high pieces of f16 have 22 bits; the others are 2^11 times as
// large as they should be, and so is the rest.
//
// The rest takes up what the addition in f32 rounds: all of it where the
// accumulator is the larger of the two, as it is but for a few chunks (Dekker,
// "A floating-point technique for extending the available precision", 1971).
// The last bits of a chunk's sum are awaited while the tensor cores compute the
// rest.
//
// Pieces of infinity, of NaN and of what is infinite when scaled come to NaN or
// infinity in the sum, and so do sums of 2^80 and more: tile.recompute finds
// them there.

#include "WgmmaTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace deplo {

/// `instruction`, which all that was computed of `sums` precedes, and all that
/// is computed of them follows: nothing else says so, as the registers are no
/// operands of it.
void KernelEmitter::tieSums(StringRef instruction,
                            MutableArrayRef<Value> sums) {
  Type type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      SmallVector<Type>(sums.size(), builder.getF32Type()));
  std::string constraints;
  llvm::raw_string_ostream os(constraints);
  for (size_t i = 0; i < sums.size(); ++i)
    os << "=f,";
  for (size_t i = 0; i < sums.size(); ++i)
    os << i << ",";
  os << "~{memory}";
  Value tied = LLVM::InlineAsmOp::create(
                   builder, type, ValueRange(sums), instruction, constraints,
                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                   LLVM::TailCallKind::None,
                   LLVM::AsmDialectAttr::get(builder.getContext(),
                                             LLVM::AsmDialect::AD_ATT),
                   /*operand_attrs=*/ArrayAttr())
                   .getRes();
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, tied, i);
}

void KernelEmitter::emitAsyncDotOfPieces(tile::AsyncDotOp op) {
  tile::PiecesForm form =
      tile::PiecesForm::get(op.getLhs().getType().getElementType());
  WgmmaTile tile = getWgmmaTile(op);
  int64_t count = tile.getNumSums();
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(count, builder.getF32Type()));
  /// Adds the products of so many scales, the last one first, as a group.
  auto multiply = [&](MutableArrayRef<Value> sums, int64_t firstScale,
                      int64_t endScale, bool fromZero) {
    for (int64_t first = 0; first < tile.rows;
         first += WgmmaTile::instructionRows) {
      MutableArrayRef<Value> own =
          sums.slice(first / WgmmaTile::instructionRows * count, count);
      Value added = LLVM::UndefOp::create(builder, sumsType);
      for (int64_t i = 0; i < count && !fromZero; ++i)
        added = LLVM::InsertValueOp::create(builder, added, own[i], i);
      bool isFirst = fromZero;
      for (int64_t scale = endScale; scale-- > firstScale;)
        for (int64_t ofRows = 0; ofRows <= scale; ++ofRows)
          for (int64_t k = 0; k < op.getContractedSize(); k += tile.depth) {
            added = createWgmma(tile, added,
                                tile.lhs.getOuterUnits(first) +
                                    tile.lhs.getDepthUnits(k) +
                                    ofRows * tile.lhs.getScaleUnits(),
                                tile.rhs.getDepthUnits(k) +
                                    (scale - ofRows) * tile.rhs.getScaleUnits(),
                                isFirst);
            isFirst = false;
          }
      for (int64_t i = 0; i < count; ++i)
        own[i] = LLVM::ExtractValueOp::create(builder, added, i);
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  };
  auto getPower = [&](int exponent) -> Value {
    return arith::ConstantOp::create(
        builder, builder.getF32FloatAttr(std::ldexp(1.0f, exponent)));
  };
  Value down = getPower(-form.exponentOfProducts),
        up = getPower(form.exponentOfRest);
  SmallVector<Value> sums = unpack(lookup(op.getAccumulator()));
  SmallVector<Value> rest = unpack(lookup(op.getRest()));
  SmallVector<Value> high(sums.size());
  tieSums("wgmma.fence.sync.aligned;", rest);
  multiply(high, 0, 1, /*fromZero=*/true);
  multiply(rest, 1, form.count, /*fromZero=*/false);
  tieSums("wgmma.wait_group.sync.aligned 1;", high);
  for (auto [sum, added] : llvm::zip_equal(sums, high)) {
    Value next = LLVM::FMAOp::create(builder, added, down, sum);
    added = LLVM::FMAOp::create(builder, added, down,
                                arith::SubFOp::create(builder, sum, next));
    sum = next;
  }
  tieSums("wgmma.wait_group.sync.aligned 0;", rest);
  for (auto [sum, lost] : llvm::zip_equal(rest, high))
    sum = LLVM::FMAOp::create(builder, lost, up, sum);
  mapping.map(op.getResult(), pack(sums));
  mapping.map(op.getNextRest(), pack(rest));
}

} // namespace deplo
