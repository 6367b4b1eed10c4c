// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether operands of a contraction are packed: copied to rows of a multiple of
// 16 bytes, which tensor maps can copy, for wgmma.
//
// Legality: the contraction suits wgmma but for how far its rows are apart.
// What is packed is only read. Its sizes are known before the launch, and its
// elements lie in the order of its dimensions, each once.

#include "deplo/Analysis/CopyModel.h"
#include "deplo/Analysis/WgmmaModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

MemRefType getPackedType(MemRefType type) {
  constexpr int64_t unit = 16;
  int64_t rowUnit = unit * 8 / type.getElementTypeBitWidth();
  SmallVector<int64_t> rows(type.getShape());
  rows.back() = llvm::alignTo(rows.back(), rowUnit);
  auto longer = MemRefType::get(rows, type.getElementType());
  if (rows.back() == type.getShape().back())
    return longer;
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0,
                             longer.getStridesAndOffset().first));
}

/// Whether a kernel can copy what `load` reads to rows that are further apart.
static bool isPackable(loop::LoadOp load, const SymbolicSizes &sizes) {
  MemRefType type = load.getMemRefType();
  auto argument = dyn_cast<BlockArgument>(load.getMemref());
  if (!argument || loop::KernelOp::isWritten(argument) || load.getOtherwise() ||
      type.getRank() < 2 || !sizes.empty())
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t least = 1;
  for (auto [size, stride] : llvm::reverse(
           llvm::zip_equal(type.getShape(), ArrayRef<int64_t>(strides)))) {
    if (stride < least && size != 1)
      return false;
    least = std::max(least, stride * size);
  }
  return strides.back() == 1;
}

std::optional<Packing>
choosePacking(loop::Contraction &contraction, Precision precision,
              const TargetDescription &target, int64_t alignment,
              const SymbolicSizes &sizes, const MmaPins &pins,
              std::optional<AtomKind> atom) {
  if (!suitsWgmma(contraction, target) ||
      atom.value_or(AtomKind::Wgmma) != AtomKind::Wgmma)
    return std::nullopt;
  Packing packing;
  // Of copies that each call makes.
  double bytes = 0;
  int64_t copies = 0;
  for (loop::Contraction::Product &product : contraction.products)
    for (loop::LoadOp load : {product.lhs.load, product.rhs.load}) {
      MemRefType type = load.getMemRefType();
      if (suitsTensorMap(load, type, sizes, alignment))
        continue;
      if (!isPackable(load, sizes) ||
          !suitsTensorMap(load, getPackedType(type), sizes, alignment))
        return std::nullopt;
      auto argument = cast<BlockArgument>(load.getMemref());
      if (packing.arguments.insert(argument.getArgNumber()) &&
          !loop::isPrepared(argument)) {
        ++copies;
        bytes += 2.0 * type.getNumElements() * contraction.getElementBytes();
      }
    }
  if (packing.arguments.empty())
    return std::nullopt;
  std::string error;
  ContractionFacts facts = getContractionFacts(contraction, precision);
  std::optional<MmaChoice> byWgmma = chooseWgmma(facts, target, pins, error);
  if (!byWgmma)
    return std::nullopt;
  packing.reason = byWgmma->reason;
  packing.nanoseconds =
      byWgmma->nanoseconds + estimateCopies(bytes, copies, target);
  if (atom)
    return packing;
  std::optional<MmaChoice> byMma = chooseMma(facts, target, pins, error);
  return !byMma || packing.nanoseconds < byMma->nanoseconds
             ? std::optional(packing)
             : std::nullopt;
}

} // namespace deplo::tile
