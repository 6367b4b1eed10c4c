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
// tensor maps as it is. Pieces of f16 are of rows with scales, along one
// dimension of an operand, which each summed element is in.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/WgmmaPiecesModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

using namespace mlir;

namespace deplo::tile {

/// Whether the pieces of what `operand` loads can be copied by a tensor map
/// whose rows are along the sum or along the result, and which is summed over
/// in one of its last two dimensions, as matrices of wgmma are.
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
  auto isInner = [&](AffineExpr coordinate) {
    auto variable = dyn_cast<AffineDimExpr>(coordinate);
    return variable && load.getIndices()[variable.getPosition()] == summed;
  };
  auto inner = load.getMap().getResults();
  inner = inner.take_back(std::min<size_t>(inner.size(), 2));
  return llvm::any_of(inner, isInner) &&
         (loop::isContiguous(load, summed) || loop::isContiguous(load, own));
}

std::optional<DimOfArgument> findSummedDims(loop::Contraction &contraction,
                                            std::string &reason) {
  Value summed = contraction.reduce.getInductionVar();
  DimOfArgument dims;
  for (loop::Contraction::Product &product : contraction.products)
    for (loop::LoadOp load : {product.lhs.load, product.rhs.load}) {
      auto argument = dyn_cast<BlockArgument>(load.getMemref());
      std::optional<unsigned> along;
      for (auto [dim, coordinate] : llvm::enumerate(load.getMap().getResults()))
        if (auto variable = dyn_cast<AffineDimExpr>(coordinate);
            variable && load.getIndices()[variable.getPosition()] == summed)
          along = dim;
      if (!argument || !along || load.getMemRefType().getRank() < 2) {
        reason = "an operand has no rows that are summed over";
        return std::nullopt;
      }
      auto [known, isNew] = dims.insert({argument.getArgNumber(), *along});
      if (!isNew && known->second != *along) {
        reason = "an operand is summed along its rows and along its columns";
        return std::nullopt;
      }
    }
  return dims;
}

bool suitsPieces(loop::Contraction &contraction, Precision precision,
                 const TargetDescription &target, const SymbolicSizes &sizes) {
  Value summed = contraction.reduce.getInductionVar();
  std::string reason;
  return isOfPieces(precision) && target.wgmmaFlopsPerSecond > 0 &&
         (precision != Precision::F32Fast ||
          findSummedDims(contraction, reason)) &&
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

std::optional<std::pair<Precision, MmaChoice>>
choosePieces(loop::Contraction &contraction, Precision precision,
             const TargetDescription &target, int64_t alignment,
             const SymbolicSizes &sizes, const MmaPins &pins,
             std::optional<AtomKind> atom) {
  if (atom && *atom != AtomKind::Wgmma)
    return std::nullopt;
  auto getFacts = [&](Precision mode) {
    ContractionFacts facts = getContractionFacts(contraction, mode);
    auto canMap = [&](loop::LoadOp load) {
      return !facts.ofScaledRows &&
             suitsTensorMap(load, load.getMemRefType(), sizes, alignment);
    };
    facts.canMapLhs = llvm::all_of(contraction.products, [&](auto &product) {
      return canMap(product.lhs.load);
    });
    facts.canMapRhs = llvm::all_of(contraction.products, [&](auto &product) {
      return canMap(product.rhs.load);
    });
    return facts;
  };
  std::string error;
  std::optional<std::pair<Precision, MmaChoice>> best;
  auto consider = [&](Precision mode) {
    if (!suitsPieces(contraction, mode, target, sizes) ||
        (!atom && mode == Precision::F32 && !areExactInPieces(contraction)))
      return;
    std::optional<MmaChoice> tile =
        chooseWgmmaOfPieces(getFacts(mode), target, pins, error);
    // What is pinned is what the precision says, if it can be.
    if (tile &&
        (!best || (!atom && tile->nanoseconds < best->second.nanoseconds)))
      best = {mode, *tile};
  };
  consider(precision);
  if (precision == Precision::F32Fast)
    consider(Precision::F32);
  if (!best || atom)
    return best;
  std::optional<ContractionChoice> fma = chooseContraction(
      getContractionFacts(contraction, getPrecisionOfFMA(precision)), target,
      {}, error);
  bool isQuickest = !fma || best->second.nanoseconds < fma->nanoseconds;
  return isQuickest ? best : std::nullopt;
}

/// Where the pieces of `memref` are among those that `kernel` has.
static std::optional<size_t> findPieces(KernelOp kernel, Value memref,
                                        size_t &count) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(piecesAttrName);
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!numbers || !argument)
    return std::nullopt;
  count = numbers.size();
  const int64_t *found =
      llvm::find(numbers.asArrayRef(), int64_t(argument.getArgNumber()));
  if (found == numbers.asArrayRef().end())
    return std::nullopt;
  return found - numbers.asArrayRef().begin();
}

static bool hasScales(Value lastArgument) {
  return cast<MemRefType>(lastArgument.getType()).getElementType().isF32();
}

Value getPieces(KernelOp kernel, Value memref) {
  size_t count;
  std::optional<size_t> position = findPieces(kernel, memref, count);
  if (!position)
    return {};
  auto arguments = kernel.getMemrefs();
  if (hasScales(arguments.back()))
    arguments = arguments.drop_back(count);
  return arguments.take_back(count)[*position];
}

Value getScales(KernelOp kernel, Value memref) {
  size_t count;
  std::optional<size_t> position = findPieces(kernel, memref, count);
  auto arguments = kernel.getMemrefs();
  if (!position || !hasScales(arguments.back()))
    return {};
  return arguments.take_back(count)[*position];
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
