// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot of pieces of f32 by wgmma.
//
// Pieces and their products are those of EmitMmaOfPieces.cpp. A warpgroup's
// instructions of one scale are a group, which is awaited before its sums are
// scaled in registers: what other warpgroups compute meanwhile hides that.
//
//   sums = low scale's products           from zero
//   sums = middle scale's products + 2^-8 sums
//   accumulator = accumulator + 2^-8 sums
//   sums = high pieces' products          from zero
//   accumulator = accumulator + sums

#include "WgmmaTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
  constexpr int64_t numScales = 3;
  constexpr float perScale = 0x1p-8f;
  WgmmaTile tile = getWgmmaTile(op);
  SmallVector<Value> elements = unpack(lookup(op.getAccumulator()));
  Value factor =
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(perScale));
  int64_t count = tile.getNumSums();
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(count, builder.getF32Type()));
  SmallVector<Value> sums; // of all instructions along the rows
  auto multiply = [&](int64_t scale, bool fromZero) {
    if (fromZero)
      NVVM::WgmmaFenceAlignedOp::create(builder);
    else
      tieSums("wgmma.fence.sync.aligned;", sums);
    SmallVector<Value> next;
    for (int64_t first = 0; first < tile.rows;
         first += WgmmaTile::instructionRows) {
      Value added = LLVM::UndefOp::create(builder, sumsType);
      for (int64_t i = 0; i < count && !fromZero; ++i)
        added = LLVM::InsertValueOp::create(
            builder, added,
            sums[first / WgmmaTile::instructionRows * count + i], i);
      bool isFirst = true;
      for (int64_t ofRows = 0; ofRows <= scale; ++ofRows)
        for (int64_t k = 0; k < op.getContractedSize(); k += tile.depth) {
          added = createWgmma(tile, added,
                              tile.lhs.getOuterUnits(first) +
                                  tile.lhs.getDepthUnits(k) +
                                  ofRows * tile.lhs.getScaleUnits(),
                              tile.rhs.getDepthUnits(k) +
                                  (scale - ofRows) * tile.rhs.getScaleUnits(),
                              fromZero && isFirst);
          isFirst = false;
        }
      for (int64_t i = 0; i < count; ++i)
        next.push_back(LLVM::ExtractValueOp::create(builder, added, i));
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(builder);
    sums = std::move(next);
    tieSums("wgmma.wait_group.sync.aligned 0;", sums);
  };

  multiply(numScales - 1, /*fromZero=*/true);
  for (Value &sum : sums)
    sum = arith::MulFOp::create(builder, sum, factor);
  multiply(numScales - 2, /*fromZero=*/false);
  for (auto [element, sum] : llvm::zip_equal(elements, sums))
    element = LLVM::FMAOp::create(builder, sum, factor, element);
  multiply(0, /*fromZero=*/true);
  for (auto [element, sum] : llvm::zip_equal(elements, sums))
    element = arith::AddFOp::create(builder, element, sum);
  mapping.map(op.getResult(), pack(elements));
}

} // namespace deplo
