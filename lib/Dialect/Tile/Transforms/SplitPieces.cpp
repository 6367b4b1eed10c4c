// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_pieces: operands of f32 go through memory as pieces of bf16 or f16.
//
//   loop.launch @mm(%x, %w, %y)
//
// becomes
//
//   %p = memref.alloc() : memref<3x2048x1024xbf16>
//   loop.launch @pieces(%x, %p)
//   %q = memref.alloc() : memref<3x1024x2048xbf16>
//   loop.launch @pieces_0(%w, %q)
//   loop.launch @mm(%x, %w, %y, %p, %q)
//
// with
//
//   loop.kernel @pieces(%x: memref<2097152xf32>, %p: memref<3x2097152xbf16>) {
//     loop.for %i = 0 to 2097152 {
//       %a = 2^24 * loop.load %x[%i]
//       %h = arith.truncf %a : f32 to bf16
//       %r = %a - %h
//       ...
//       loop.store %h, %p[0, %i]
//
// With precision f32_fast, where the contraction suits it, pieces are two of
// f16 of rows with scales (ScaledPieces.cpp), which are operands as well:
//
//   loop.launch @mm(%x, %w, %y, %p, %q, %s, %t)
//
// Rows of pieces are padded to 16 bytes, which tensor maps need; nobody reads
// what is behind the elements.
//
// Legality: that of ChoosePieces.cpp; the contraction reads what it read
// before, and its pieces may be used in the place of a number that they add up
// to. Pieces of a buffer serve several contractions if no launch between them
// writes to it.

#include "OperandCopies.h"
#include "PassSupport.h"
#include "ScaledPieces.h"
#include "SchedulePins.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

#define DEBUG_TYPE "deplo-split-pieces"

namespace deplo::tile {
#define GEN_PASS_DEF_SPLITPIECESPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Kernels that write pieces
//===----------------------------------------------------------------------===//

/// That of the pieces of bf16 of a memref of `type`.
static MemRefType getPiecesType(MemRefType type) {
  return getPlanesType(type, BFloat16Type::get(type.getContext()));
}

/// Stores the pieces of `whole`.
static void writePieces(ImplicitLocOpBuilder &builder, Value whole,
                        OperandForm::Store store) {
  int64_t numPieces = PiecesForm::get(builder.getBF16Type()).count;
  Value scale = arith::ConstantOp::create(
      builder, builder.getF32FloatAttr(std::ldexp(1.0f, exponentOfPieces)));
  Value rest = arith::MulFOp::create(builder, whole, scale);
  for (int64_t number = 0; number < numPieces; ++number) {
    Value piece = arith::TruncFOp::create(builder, builder.getBF16Type(), rest);
    store(piece, number);
    if (number + 1 == numPieces)
      break;
    // What is left is exact.
    rest = arith::SubFOp::create(
        builder, rest,
        arith::ExtFOp::create(builder, builder.getF32Type(), piece));
  }
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {

struct SplitPiecesPass : tile::impl::SplitPiecesPassBase<SplitPiecesPass> {
  using SplitPiecesPassBase::SplitPiecesPassBase;

  void runOnOperation() override;

private:
  /// A contraction that takes pieces: dimensions of their rows, for arguments
  /// in the order of `tile.pieces`, and whether the rows have scales.
  struct Taker {
    DimOfArgument rows;
    bool hasScales;
  };

  void addPieces(loop::KernelOp kernel, loop::Contraction &contraction,
                 bool hasScales, WholeOperand whole);
  void replaceLaunches(bool hasScales);

  llvm::StringMap<Taker> takers;
};

} // namespace

/// Appends arguments for the pieces of each operand but the `whole` one, and
/// for their scales.
void SplitPiecesPass::addPieces(loop::KernelOp kernel,
                                loop::Contraction &contraction, bool hasScales,
                                WholeOperand whole) {
  Taker taker{{}, hasScales};
  std::string reason;
  if (hasScales)
    taker.rows = *findSummedDims(contraction, reason);
  auto add = [&](loop::LoadOp load) {
    taker.rows[cast<BlockArgument>(load.getMemref()).getArgNumber()] = 0;
  };
  for (loop::Contraction::Product &product : contraction.products) {
    if (!hasScales && whole != WholeOperand::Lhs)
      add(product.lhs.load);
    if (!hasScales && whole != WholeOperand::Rhs)
      add(product.rhs.load);
  }
  SmallVector<int64_t> numbers;
  for (auto [number, dim] : taker.rows) {
    BlockArgument whole = kernel.getArguments()[number];
    auto type = cast<MemRefType>(whole.getType());
    kernel.getBody()->addArgument(hasScales ? getScaledPiecesType(type)
                                            : getPiecesType(type),
                                  whole.getLoc());
    numbers.push_back(number);
  }
  if (hasScales)
    for (auto [number, dim] : taker.rows) {
      BlockArgument whole = kernel.getArguments()[number];
      auto type = cast<MemRefType>(whole.getType());
      kernel.getBody()->addArgument(getScalesType(type, dim), whole.getLoc());
    }
  kernel->setAttr(piecesAttrName,
                  DenseI64ArrayAttr::get(&getContext(), numbers));
  takers[kernel.getSymName()] = std::move(taker);
}

/// Of the contractions whose pieces have scales, or have none.
void SplitPiecesPass::replaceLaunches(bool hasScales) {
  SymbolTable symbols(getOperation());
  ScaledPieces scaled(symbols);
  OperandForm form = {"pieces", getPiecesType, writePieces};
  OperandCopies whole(symbols, form);
  auto getOperands =
      [&](loop::LaunchOp launch) -> std::optional<SmallVector<Value>> {
    auto taker = takers.find(launch.getKernel());
    if (taker == takers.end() || taker->second.hasScales != hasScales)
      return std::nullopt;
    SmallVector<Value> operands(launch.getBuffers()), scales;
    for (auto [number, dim] : taker->second.rows) {
      if (!hasScales) {
        operands.push_back(whole.get(operands[number], launch));
        continue;
      }
      auto buffers = scaled.get(operands[number], dim, launch);
      operands.push_back(buffers.pieces);
      scales.push_back(buffers.scales);
    }
    llvm::append_range(operands, scales);
    return operands;
  };
  replaceOperands(getOperation(),
                  hasScales ? static_cast<BufferCopies &>(scaled) : whole,
                  getOperands);
}

/// Why products of precision f32_fast are not of pieces of f16.
static std::string explain(loop::Contraction &contraction,
                           const TargetDescription &target,
                           const SymbolicSizes &sizes) {
  std::string reason;
  if (target.wgmmaFlopsPerSecond == 0)
    return target.chip + " has no wgmma, sm_90a does";
  if (!findSummedDims(contraction, reason))
    return reason;
  return suitsPieces(contraction, Precision::F32Fast, target, sizes)
             ? "they are quicker in another way"
             : "wgmma reads no boxes of such operands";
}

void SplitPiecesPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto options = remark::RemarkOpts::name("SplitPieces").category(DEBUG_TYPE);
  FailureOr<Precision> mode = parsePrecision(precision, module);
  FailureOr<Pins> pins = parsePins(pin, module);
  if (failed(mode) || failed(pins))
    return signalPassFailure();
  auto miss = [&](StringRef reason) {
    remark::missed(module.getLoc(), options) << remark::add("{0}", reason);
    markAllAnalysesPreserved();
  };
  if (!isOfPieces(*mode))
    return miss("the precision is not f32");
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return signalPassFailure();
  TargetDescription description = describe(target);
  takers.clear();
  for (auto kernel : module.getOps<loop::KernelOp>()) {
    auto contraction = loop::findContraction(kernel);
    if (!contraction || !contraction->lhs.value.getType().isF32() ||
        llvm::is_contained(withoutWgmma, kernel.getSymName()))
      continue;
    SymbolicSizes sizes = SymbolicSizes::get(kernel);
    std::optional<std::pair<Precision, MmaChoice>> choice;
    if (areOfTensorCores(*pins, *contraction))
      choice = choosePieces(*contraction, *mode, description, alignment, sizes,
                            getMmaPins(*pins, *contraction), pins->atom);
    auto ofKernel = options.function(kernel.getSymName());
    if (*mode == Precision::F32Fast && (!choice || choice->first != *mode))
      remark::missed(kernel.getLoc(), ofKernel) << remark::add(
          "products are as exact as with precision f32, not of pieces of f16: "
          "{0}",
          explain(*contraction, description, sizes));
    if (!choice)
      continue;
    bool hasScales = choice->first == Precision::F32Fast;
    addPieces(kernel, *contraction, hasScales, choice->second.whole);
    remark::passed(kernel.getLoc(), ofKernel) << remark::add(
        "operands go through memory as pieces of {0}: {1}",
        hasScales ? "f16, of rows with scales" : "bf16", choice->second.reason);
  }
  if (takers.empty())
    return miss("no contraction of f32 is quicker by wgmma of pieces");
  replaceLaunches(/*hasScales=*/false);
  replaceLaunches(/*hasScales=*/true);
}
