// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tensorize, by wgmma: a contraction reads its operands from shared memory.
//
//   %a = tile.read %sa[%c0, %c0] : ... -> tensor<128x64xbf16>
//   %b = tile.read %sb[%c0, %c0] : ... -> tensor<256x64xbf16>
//   %d = tile.dot %a dims [0, 2], %b dims [1, 2], %c : ...
//
// becomes, for warp tiles of 16x256 and eight warps,
//
//   %d, %t = tile.async_dot %sa dims [0, 2], %sb dims [1, 2], %c
//     atom<wgmma, warps = [8, 1]> : ...
//   tile.await %t
//
// M of the instruction are the rows of the result or, where only these are
// shared out among whole warpgroups (warp tiles of 32x16, say), its columns.
//
// Legality: products of f16 and bf16 are exact in f32; sums are in f32, in
// another order. Operands are whole buffers, whose rows are summed over or are
// those of the result, in whole swizzles for each warpgroup; and the tile is a
// whole number of instructions for each.

#include "TensorizeSupport.h"

#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

Value tile::getWholeBuffer(Value operand) {
  auto read = operand.getDefiningOp<ReadOp>();
  if (!read ||
      read.getType().getShape() != read.getBuffer().getType().getShape())
    return {};
  bool isWhole = llvm::all_of(read.getIndices(), [](Value index) {
    return matchPattern(index, m_Zero());
  });
  return isWhole ? Value(read.getBuffer()) : Value();
}

FailureOr<AtomAttr> tile::getWgmmaAtom(DotOp dot, ArrayRef<int64_t> warpTile,
                                       int64_t warps, int64_t elementBytes,
                                       std::string &reason) {
  constexpr int64_t warpsPerGroup = 4, mostSwizzle = 128;
  RankedTensorType type = dot.getType();
  int64_t rank = type.getRank();
  auto refuse = [&](const llvm::Twine &why) {
    reason = why.str();
    return failure();
  };
  if (getLayout(dot.getResult()))
    return refuse("tiles have layouts already");
  int64_t chunkBytes = dot.getContractedSize() * elementBytes;
  if (!llvm::is_contained({32, 64, 128}, chunkBytes))
    return refuse("a chunk has rows of " + llvm::Twine(chunkBytes) +
                  " bytes, wgmma reads 32, 64 or 128");
  FailureOr<SmallVector<int64_t>> found =
      getWarpsPerDim(dot, warpTile, warps, reason);
  if (failed(found))
    return failure();
  ArrayRef<int64_t> warpsPerDim = *found;
  auto [ofLhs, ofRhs] = dot.getRowAndColumn();
  auto [row, column] = getWgmmaDims(warpsPerDim, ofLhs, ofRhs);
  for (ArrayRef<int64_t> dims : {dot.getLhsDims(), dot.getRhsDims()}) {
    int64_t along = dims.back();
    if (along == rank)
      continue;
    if (along != row && along != column)
      return refuse("rows of an operand are neither summed over nor the "
                    "result's");
    int64_t ofGroup = type.getDimSize(along) / warpsPerDim[along] *
                      (along == row ? warpsPerGroup : 1) * elementBytes;
    if (warpsPerDim[along] > (along == row ? warpsPerGroup : 1) &&
        ofGroup % mostSwizzle != 0)
      return refuse("a warpgroup has " + llvm::Twine(ofGroup) +
                    " bytes of an operand's rows, not whole swizzles");
  }
  llvm::Expected<LinearLayout> layout = getWgmmaAccumulator(
      {type.getShape(), warpsPerDim, ofLhs, ofRhs, unsigned(8 * elementBytes)});
  if (!layout)
    return refuse(llvm::toString(layout.takeError()));
  return AtomAttr::get(dot.getContext(), AtomKind::Wgmma, warpsPerDim);
}

FailureOr<AsyncDotOp> tile::tensorizeAsync(DotOp dot,
                                           ArrayRef<int64_t> warpTile,
                                           int64_t warps, std::string &reason) {
  RankedTensorType type = dot.getType();
  Type element = dot.getLhs().getType().getElementType();
  auto refuse = [&](const llvm::Twine &why) {
    reason = why.str();
    return failure();
  };
  if (!type.getElementType().isF32() || !(element.isF16() || element.isBF16()))
    return refuse("wgmma multiplies f16 or bf16 into f32");
  Value lhs = getWholeBuffer(dot.getLhs()), rhs = getWholeBuffer(dot.getRhs());
  if (!lhs || !rhs)
    return refuse("wgmma reads operands from shared memory, stage_inputs put "
                  "none there");
  FailureOr<AtomAttr> atom = getWgmmaAtom(
      dot, warpTile, warps, element.getIntOrFloatBitWidth() / 8, reason);
  if (failed(atom))
    return failure();
  OpBuilder builder(dot);
  auto async = AsyncDotOp::create(builder, dot.getLoc(), type,
                                  TokenType::get(dot.getContext()),
                                  /*nextRest=*/Type(), lhs, dot.getLhsDims(),
                                  rhs, dot.getRhsDims(), dot.getAccumulator(),
                                  /*rest=*/Value(), *atom);
  AwaitOp::create(builder, dot.getLoc(), async.getToken());
  SmallVector<Value, 2> operands = {dot.getLhs(), dot.getRhs()};
  dot.getResult().replaceAllUsesWith(async.getResult());
  dot.erase();
  if (operands[0] == operands[1])
    operands.pop_back();
  for (Value operand : operands)
    if (operand.use_empty())
      operand.getDefiningOp()->erase();
  return async;
}
