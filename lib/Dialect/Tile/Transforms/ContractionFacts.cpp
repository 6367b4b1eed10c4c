// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What select_schedule and split_matmul_k tell the models of a contraction.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/FusionCost.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Analysis/WgmmaModel.h"
#include "deplo/Analysis/WgmmaPiecesModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

using namespace mlir;

namespace deplo::tile {

FailureOr<Precision> parsePrecision(StringRef text, ModuleOp module) {
  if (std::optional<Precision> precision = findPrecision(text))
    return *precision;
  return module.emitError() << "schedule: precision is '" << text
                            << "', expected " << namesOfPrecisions;
}

/// Whether `load` finds pairs of elements that an asynchronous copy moves, of 4
/// bytes at least.
static bool hasAsyncPairs(loop::LoadOp load, const SymbolicSizes &sizes) {
  constexpr int64_t leastBytes = 4;
  MemRefType type = load.getMemRefType();
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<int64_t> steps = {offset};
  for (auto [size, stride] :
       llvm::zip_equal(type.getShape(), ArrayRef<int64_t>(strides)))
    if (size != 1 && stride != 1)
      steps.push_back(stride);
  return bytes >= leastBytes || llvm::all_of(steps, [&](int64_t step) {
           return sizes.isSymbolic(step) || step * bytes % leastBytes == 0;
         });
}

/// What it takes to copy and compute one element of each of `operands`.
static OperandFacts getOperandFacts(ArrayRef<loop::Contraction::Operand> list,
                                    const SymbolicSizes &sizes) {
  OperandFacts facts;
  facts.count = list.size();
  for (loop::Contraction::Operand operand : list) {
    if (!operand.isGathered)
      facts.unaligned += !hasAsyncPairs(operand.load, sizes);
    facts.prepared += loop::isPrepared(operand.load.getMemref());
    if (!operand.isMapped())
      continue;
    ++facts.computed;
    for (Operation *op : operand.map)
      facts.operations += getOperationCost(op->getName().getStringRef());
    if (operand.isGathered) { // into registers, not into shared memory
      facts.operations += operationsOfPlace;
      continue;
    }
    for (loop::LoadOp load : operand.loads)
      if (load.getMap().getNumInputs() == operand.load.getMap().getNumInputs())
        facts.bytesComputedFrom +=
            llvm::divideCeil(load.getMemRefType().getElementTypeBitWidth(), 8);
  }
  return facts;
}

ContractionFacts getContractionFacts(loop::Contraction &contraction,
                                     Precision precision) {
  std::string layouts = contraction.getTransposition();
  ContractionFacts facts;
  facts.batches = contraction.getBatches();
  facts.rows = contraction.getRows();
  facts.columns = contraction.getColumns();
  facts.depth = contraction.getDepth();
  facts.foldsRows = contraction.foldsRows();
  SymbolicSizes sizes = SymbolicSizes::get(contraction.reduce);
  if (sizes.isSymbolic(facts.rows)) {
    facts.leastRows = std::max<int64_t>(sizes.getMin(facts.rows), 1);
    facts.mostRows = sizes.getMax(facts.rows);
  }
  facts.elementBytes = contraction.getElementBytes();
  facts.sums = contraction.products.size();
  facts.ofRows =
      getOperandFacts(contraction.getOperands(/*ofRows=*/true), sizes);
  facts.ofColumns =
      getOperandFacts(contraction.getOperands(/*ofRows=*/false), sizes);
  facts.isLhsAlongDepth = layouts[0] == 'N';
  facts.isRhsAlongDepth = layouts[1] == 'T';
  bool isF32 = contraction.reduce.getResult(0).getType().isF32();
  facts.inTwoLevels = precision != Precision::TF32 && isF32 &&
                      sumsInTwoLevels(facts.depth, facts.elementBytes);
  facts.inPieces =
      isOfPieces(precision) && contraction.lhs.value.getType().isF32();
  facts.ofScaledRows = facts.inPieces && precision == Precision::F32Fast;
  return facts;
}

bool areExactInPieces(loop::Contraction &contraction) {
  auto whole = contraction.reduce->getAttrOfType<IntegerAttr>(partOfAttrName);
  return (whole ? whole.getInt() : contraction.getDepth()) >=
         leastProductsInPieces;
}

bool suitsMma(loop::Contraction &contraction, Precision precision,
              const TargetDescription &target) {
  Type element = contraction.lhs.value.getType();
  // Sums in pieces may have to be computed again from memory.
  auto isMapped = [](const loop::Contraction::Product &product) {
    return product.lhs.isMapped() || product.rhs.isMapped();
  };
  if (element.isF32() && isOfPieces(precision) &&
      llvm::any_of(contraction.products, isMapped))
    return false;
  Type sum = contraction.reduce.getResult(0).getType();
  if (target.mmaFlopsPerSecond > 0 && element.isInteger(8))
    return sum.isInteger(32);
  return target.mmaFlopsPerSecond > 0 && sum.isF32() &&
         (element.isF16() || element.isBF16() ||
          (element.isF32() && precision != Precision::IEEE));
}

bool prefersMma(loop::Contraction &contraction, Precision precision,
                const TargetDescription &target) {
  bool inPieces =
      isOfPieces(precision) && contraction.lhs.value.getType().isF32();
  return !inPieces && suitsMma(contraction, precision, target);
}

bool suitsWgmma(loop::Contraction &contraction,
                const TargetDescription &target) {
  Type element = contraction.lhs.value.getType();
  Value depth = contraction.reduce.getInductionVar();
  // What is summed over is one of the last two dimensions of a buffer: columns
  // in parts are two dimensions, which the sum may be outside of.
  auto isInner = [&](loop::LoadOp load) {
    auto inner = load.getMap().getResults().take_back(2);
    for (auto [position, index] : llvm::enumerate(load.getIndices()))
      if (index == depth &&
          llvm::any_of(inner, [at = position](AffineExpr coordinate) {
            return coordinate.isFunctionOfDim(at);
          }))
        return true;
    return false;
  };
  // Buffers have what memory has, along the sum or along the result.
  auto suits = [&](const loop::Contraction::Operand &operand, unsigned axis) {
    return !operand.isMapped() && isInner(operand.load) &&
           (loop::isContiguous(operand.load, depth) ||
            loop::isContiguous(operand.load, contraction.getVariable(axis)));
  };
  return target.wgmmaFlopsPerSecond > 0 &&
         (element.isF16() || element.isBF16()) &&
         llvm::all_of(contraction.products, [&](auto &product) {
           return suits(product.lhs, product.rowAxis) &&
                  suits(product.rhs, product.columnAxis);
         });
}

bool suitsTensorMap(loop::LoadOp load, MemRefType type,
                    const SymbolicSizes &sizes, int64_t alignment) {
  constexpr int64_t unit = 16, mostDims = 5;
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (alignment < unit || type.getRank() > mostDims || load.getOtherwise() ||
      sizes.isSymbolic(offset) || offset * bytes % unit != 0)
    return false;
  // Boxes begin at multiples of a tile's sizes, and of what is added to these.
  SmallVector<AffineExpr> zeros(load.getMap().getNumDims(),
                                getAffineConstantExpr(0, load.getContext()));
  for (auto [stride, coordinate] :
       llvm::zip_equal(strides, load.getMap().getResults()))
    if (auto start =
            dyn_cast<AffineConstantExpr>(coordinate.replaceDims(zeros));
        stride == 1 && (!start || start.getValue() * bytes % unit != 0))
      return false;
  return llvm::all_of(llvm::zip_equal(type.getShape(), strides), [&](auto dim) {
    auto [size, stride] = dim;
    return size == 1 || stride == 1 ||
           (stride > 0 && stride * bytes % unit == 0);
  });
}

std::optional<std::pair<AtomKind, MmaChoice>>
chooseTensorCores(loop::Contraction &contraction, Precision precision,
                  const TargetDescription &target, int64_t alignment,
                  const SymbolicSizes &sizes, const MmaPins &pins,
                  std::optional<AtomKind> atom, std::string &error) {
  ContractionFacts facts = getContractionFacts(contraction, precision);
  bool mayChoose =
      suitsWgmma(contraction, target) &&
      llvm::all_of(contraction.products, [&](auto &product) {
        auto suits = [&](loop::LoadOp load) {
          return suitsTensorMap(load, load.getMemRefType(), sizes, alignment);
        };
        return suits(product.lhs.load) && suits(product.rhs.load);
      });
  std::optional<MmaChoice> byWgmma, byMma;
  std::string reason;
  // Of f32, wgmma is chosen with its pieces (choosePieces).
  if (atom == AtomKind::Wgmma && facts.inPieces)
    byWgmma = chooseWgmmaOfPieces(facts, target, pins, error);
  else if (atom == AtomKind::Wgmma || (!atom && mayChoose))
    byWgmma = chooseWgmma(facts, target, pins, atom ? error : reason);
  if (atom != AtomKind::Wgmma)
    byMma = chooseMma(facts, target, pins, error);
  if (byWgmma && (!byMma || byWgmma->nanoseconds < byMma->nanoseconds))
    return std::pair(AtomKind::Wgmma, *byWgmma);
  if (byMma)
    return std::pair(AtomKind::MmaSync, *byMma);
  return std::nullopt;
}

} // namespace deplo::tile
