// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transpose_operands: operands that multiply-adds read along what is summed
// over are copied, with a row for each summed element.
//
//   loop.launch @mm(%x, %w, %y) : memref<4096x2048xf32>, ...
//
// becomes
//
//   %m = memref.alloc() : memref<2048x4096xf32>
//   %t = memref.reinterpret_cast %m to offset: [0], sizes: [4096, 2048],
//     strides: [1, 4096]
//   loop.launch @transposed(%x, %t)
//   loop.launch @mm(%t, %w, %y) : memref<4096x2048xf32, strided<[1, 4096]>>,
//     ...
//
// Chunks of such an operand are copied 16 bytes at a time, and a thread reads
// 16 bytes of one summed element: more warps have room, and registers of
// different banks.
//
// Legality: elements have the same indices. What is copied is only read, and
// its sizes are known. A copy of a buffer serves several contractions if no
// launch between them writes to it.

#include "OperandCopies.h"
#include "PassSupport.h"
#include "SchedulePins.h"
#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/CopyModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "deplo-transpose-operands"

namespace deplo::tile {
#define GEN_PASS_DEF_TRANSPOSEOPERANDSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// Arguments of a kernel that are copied, and what all takes then.
struct Transposition {
  llvm::SetVector<unsigned> arguments;
  double nanoseconds = 0, nanosecondsAsTheyAre = 0;
};

} // namespace

/// A memref of the same sizes whose last dimension is the outer one of its last
/// two in memory.
static MemRefType getTransposedType(MemRefType type) {
  SmallVector<int64_t> sizes(type.getShape());
  size_t last = sizes.size() - 1;
  std::swap(sizes[last], sizes[last - 1]);
  SmallVector<int64_t> strides =
      MemRefType::get(sizes, type.getElementType()).getStridesAndOffset().first;
  std::swap(strides[last], strides[last - 1]);
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

static void writeTransposed(ImplicitLocOpBuilder &, Value element,
                            OperandForm::Store store) {
  store(element, {});
}

/// Whether neighbours in memory are summed over, and their rows are those of
/// `variable`.
static bool isTransposable(const loop::Contraction::Operand &operand,
                           Value depth, Value variable) {
  loop::LoadOp load = operand.load;
  auto argument = dyn_cast<BlockArgument>(load.getMemref());
  MemRefType type = load.getMemRefType();
  if (operand.isMapped() || !argument || loop::KernelOp::isWritten(argument) ||
      load.getOtherwise() || type.getRank() < 2 ||
      !type.getLayout().isIdentity() || !loop::isContiguous(load, depth))
    return false;
  AffineExpr row = load.getMap().getResults().drop_back().back();
  for (auto [position, index] : llvm::enumerate(load.getIndices()))
    if (index == variable && row.isFunctionOfDim(position))
      return true;
  return false;
}

/// What to copy of the operands of `contraction`, if that takes less than
/// `worth` of the time without.
static std::optional<Transposition>
chooseTransposition(loop::Contraction &contraction, Precision mode,
                    std::optional<AtomKind> atom,
                    const TargetDescription &target, int64_t alignment,
                    double worth) {
  constexpr int64_t leastBytes = 4;
  ContractionFacts facts =
      getContractionFacts(contraction, getPrecisionOfFMA(mode));
  if (facts.elementBytes < leastBytes ||
      prefersMma(contraction, mode, target) ||
      choosePieces(contraction, mode, target, alignment, SymbolicSizes(), {},
                   atom))
    return std::nullopt;
  Value depth = contraction.reduce.getInductionVar();
  std::string error;
  auto estimate = [&](const ContractionFacts &facts) -> std::optional<double> {
    auto choice = chooseContraction(facts, target, {}, error);
    return choice ? std::optional(choice->nanoseconds) : std::nullopt;
  };
  std::optional<double> before = estimate(facts);
  if (!before)
    return std::nullopt;
  Transposition best;
  best.nanosecondsAsTheyAre = *before;
  best.nanoseconds = worth * *before;
  auto consider = [&](bool lhs, bool rhs) {
    if ((lhs && !facts.isLhsAlongDepth) || (rhs && !facts.isRhsAlongDepth))
      return;
    Transposition transposition = best;
    transposition.arguments.clear();
    // Of copies that each call makes.
    double bytes = 0;
    int64_t copies = 0;
    auto add = [&](const loop::Contraction::Operand &operand, unsigned axis) {
      if (!isTransposable(operand, depth, contraction.getVariable(axis)))
        return false;
      auto argument =
          cast<BlockArgument>(loop::LoadOp(operand.load).getMemref());
      if (transposition.arguments.insert(argument.getArgNumber()) &&
          !loop::isPrepared(argument)) {
        ++copies;
        bytes += 2.0 * facts.elementBytes *
                 cast<MemRefType>(argument.getType()).getNumElements();
      }
      return true;
    };
    for (loop::Contraction::Product &product : contraction.products)
      if ((lhs && !add(product.lhs, product.rowAxis)) ||
          (rhs && !add(product.rhs, product.columnAxis)))
        return;
    ContractionFacts transposed = facts;
    transposed.isLhsAlongDepth &= !lhs;
    transposed.isRhsAlongDepth &= !rhs;
    std::optional<double> time = estimate(transposed);
    if (!time)
      return;
    transposition.nanoseconds = *time + estimateCopies(bytes, copies, target);
    if (transposition.nanoseconds < best.nanoseconds)
      best = transposition;
  };
  consider(true, false);
  consider(false, true);
  consider(true, true);
  return best.arguments.empty() ? std::nullopt : std::optional(best);
}

namespace {

struct TransposeOperandsPass
    : tile::impl::TransposeOperandsPassBase<TransposeOperandsPass> {
  using TransposeOperandsPassBase::TransposeOperandsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options =
        remark::RemarkOpts::name("TransposeOperands").category(DEBUG_TYPE);
    FailureOr<Precision> mode = parsePrecision(precision, module);
    FailureOr<Pins> pins = parsePins(pin, module);
    TargetAttr target = succeeded(mode) && succeeded(pins)
                            ? TargetAttr::lookup(module)
                            : TargetAttr();
    if (!target)
      return signalPassFailure();
    llvm::StringMap<SmallVector<unsigned>> changed;
    for (auto kernel : module.getOps<loop::KernelOp>()) {
      auto contraction = loop::findContraction(kernel);
      bool isByMultiplyAdds = !pins->atom || *pins->atom == AtomKind::FMA;
      if (!contraction || !isByMultiplyAdds ||
          pins->transposeSmem != Choice::Auto ||
          !SymbolicSizes::get(kernel).empty())
        continue;
      auto transposition = chooseTransposition(
          *contraction, *mode, pins->atom, describe(target), alignment, worth);
      if (!transposition)
        continue;
      for (unsigned number : transposition->arguments) {
        BlockArgument argument = kernel.getArguments()[number];
        remark::passed(argument.getLoc(), options.function(kernel.getSymName()))
            << remark::add("{0} is copied with a row for each summed element: "
                           "{1:f2} us instead of {2:f2} us",
                           getMemrefName(argument),
                           transposition->nanoseconds * 1e-3,
                           transposition->nanosecondsAsTheyAre * 1e-3);
        argument.setType(
            getTransposedType(cast<MemRefType>(argument.getType())));
      }
      changed[kernel.getSymName()] = llvm::to_vector(transposition->arguments);
    }
    if (changed.empty()) {
      remark::missed(module.getLoc(), options)
          << "no contraction by multiply-adds is quicker with operands that "
             "are transposed in memory";
      return markAllAnalysesPreserved();
    }
    replaceOperands(module, {"transposed", getTransposedType, writeTransposed},
                    changed);
  }
};

} // namespace
