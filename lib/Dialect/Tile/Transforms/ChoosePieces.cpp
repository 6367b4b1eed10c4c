// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a contraction of f32 is one by wgmma of pieces, and with which tile.
//
// Legality: operands are of f32 as they are in memory, which no tensor map has
// to be able to copy, as their pieces lie in memory of their own. All sizes are
// known before the launch, and blocks don't fold rows. Each loop moves one
// coordinate of an operand by one, so that boxes of the operand are boxes of
// its pieces. The operand whose pieces are made in registers is copied by
// tensor maps as it is.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/WgmmaPiecesModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

using namespace mlir;

namespace deplo::tile {

/// Whether the pieces of what `operand` loads can be copied by a tensor map
/// whose rows are along the sum or along the result.
static bool suitsPieces(const loop::Contraction::Operand &operand, Value summed,
                        Value own) {
  constexpr int64_t mostDims = 5;
  loop::LoadOp load = operand.load;
  MemRefType type = load.getMemRefType();
  if (operand.isMapped() || load.getOtherwise() ||
      !isa<BlockArgument>(load.getMemref()) || type.getRank() + 1 > mostDims)
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  if (strides.back() != 1 ||
      !llvm::all_of(load.getMap().getResults(), [](AffineExpr coordinate) {
        return isa<AffineDimExpr, AffineConstantExpr>(coordinate);
      }))
    return false;
  return loop::isContiguous(load, summed) || loop::isContiguous(load, own);
}

bool suitsPieces(loop::Contraction &contraction, Precision precision,
                 const TargetDescription &target, const SymbolicSizes &sizes) {
  Value summed = contraction.reduce.getInductionVar();
  return precision == Precision::F32 && target.wgmmaFlopsPerSecond > 0 &&
         sizes.empty() && !contraction.foldsRows() &&
         contraction.lhs.value.getType().isF32() &&
         contraction.reduce.getResult(0).getType().isF32() &&
         llvm::all_of(contraction.products, [&](auto &product) {
           auto getVariable = [&](unsigned axis) {
             return contraction.axes[axis].getInductionVar();
           };
           return suitsPieces(product.lhs, summed,
                              getVariable(product.rowAxis)) &&
                  suitsPieces(product.rhs, summed,
                              getVariable(product.columnAxis));
         });
}

std::optional<MmaChoice>
choosePieces(loop::Contraction &contraction, Precision precision,
             const TargetDescription &target, int64_t alignment,
             const SymbolicSizes &sizes, const MmaPins &pins,
             std::optional<AtomKind> atom) {
  if (!suitsPieces(contraction, precision, target, sizes) ||
      (atom ? *atom != AtomKind::Wgmma : !areExactInPieces(contraction)))
    return std::nullopt;
  ContractionFacts facts = getContractionFacts(contraction, precision);
  auto canMap = [&](loop::LoadOp load) {
    return suitsTensorMap(load, load.getMemRefType(), sizes, alignment);
  };
  facts.canMapLhs = llvm::all_of(contraction.products, [&](auto &product) {
    return canMap(product.lhs.load);
  });
  facts.canMapRhs = llvm::all_of(contraction.products, [&](auto &product) {
    return canMap(product.rhs.load);
  });
  std::string error;
  std::optional<MmaChoice> pieces =
      chooseWgmmaOfPieces(facts, target, pins, error);
  if (!pieces || atom)
    return pieces;
  std::optional<ContractionChoice> fma = chooseContraction(
      getContractionFacts(contraction, getPrecisionOfFMA(precision)), target,
      {}, error);
  bool isQuickest = !fma || pieces->nanoseconds < fma->nanoseconds;
  return isQuickest ? pieces : std::nullopt;
}

Value getPieces(KernelOp kernel, Value memref) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(piecesAttrName);
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!numbers || !argument)
    return {};
  for (auto [number, pieces] : llvm::zip_equal(
           numbers.asArrayRef(), kernel.getMemrefs().take_back(numbers.size())))
    if (number == argument.getArgNumber())
      return pieces;
  return {};
}

std::optional<WholeOperand> getWholeOperand(loop::Contraction &contraction) {
  auto numbers = contraction.reduce->getParentOfType<loop::KernelOp>()
                     ->getAttrOfType<DenseI64ArrayAttr>(piecesAttrName);
  if (!numbers)
    return std::nullopt;
  auto haveAllPieces = [&](bool lhs) {
    return llvm::all_of(contraction.products, [&](auto &product) {
      loop::LoadOp load = (lhs ? product.lhs : product.rhs).load;
      auto argument = dyn_cast<BlockArgument>(load.getMemref());
      return argument &&
             llvm::is_contained(numbers.asArrayRef(), argument.getArgNumber());
    });
  };
  if (!haveAllPieces(/*lhs=*/true))
    return WholeOperand::Lhs;
  return haveAllPieces(/*lhs=*/false) ? WholeOperand::None : WholeOperand::Rhs;
}

} // namespace deplo::tile
