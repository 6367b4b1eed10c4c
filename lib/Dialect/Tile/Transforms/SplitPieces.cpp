// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_pieces: operands of f32 go through memory as pieces of bf16.
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
// Rows of pieces are padded to 16 bytes, which tensor maps need; nobody reads
// what is behind the elements.
//
// Legality: that of ChoosePieces.cpp; the contraction reads what it read
// before, and its pieces may be used in the place of a number that they add up
// to. Pieces of a buffer serve several contractions if no launch between them
// writes to it.

#include "OperandCopies.h"
#include "PassSupport.h"
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

static constexpr int64_t numPieces = 3;

//===----------------------------------------------------------------------===//
// Kernels that write pieces
//===----------------------------------------------------------------------===//

/// That of the pieces of a memref of `type`.
static MemRefType getPiecesType(MemRefType type) {
  constexpr int64_t rowUnit = 8; // elements of 16 bytes
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = llvm::alignTo(shape.back(), rowUnit);
  shape.insert(shape.begin(), numPieces);
  return MemRefType::get(shape, BFloat16Type::get(type.getContext()));
}

/// Stores the pieces of `whole`.
static void writePieces(ImplicitLocOpBuilder &builder, Value whole,
                        OperandForm::Store store) {
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

/// Appends arguments for the pieces of each operand but the `whole` one.
static void addPieces(loop::KernelOp kernel, loop::Contraction &contraction,
                      WholeOperand whole) {
  llvm::SetVector<int64_t> numbers;
  auto add = [&](loop::LoadOp load) {
    numbers.insert(cast<BlockArgument>(load.getMemref()).getArgNumber());
  };
  for (loop::Contraction::Product &product : contraction.products) {
    if (whole != WholeOperand::Lhs)
      add(product.lhs.load);
    if (whole != WholeOperand::Rhs)
      add(product.rhs.load);
  }
  for (int64_t number : numbers) {
    BlockArgument whole = kernel.getArguments()[number];
    kernel.getBody()->addArgument(
        getPiecesType(cast<MemRefType>(whole.getType())), whole.getLoc());
  }
  kernel->setAttr(
      piecesAttrName,
      DenseI64ArrayAttr::get(kernel.getContext(), numbers.getArrayRef()));
}

namespace {

struct SplitPiecesPass : tile::impl::SplitPiecesPassBase<SplitPiecesPass> {
  using SplitPiecesPassBase::SplitPiecesPassBase;

  void runOnOperation() override;

private:
  std::optional<MmaChoice> choose(loop::Contraction &contraction,
                                  const Pins &pins, Precision mode,
                                  const TargetDescription &target,
                                  const SymbolicSizes &sizes);
};

} // namespace

std::optional<MmaChoice>
SplitPiecesPass::choose(loop::Contraction &contraction, const Pins &pins,
                        Precision mode, const TargetDescription &target,
                        const SymbolicSizes &sizes) {
  if (!areOfTensorCores(pins, contraction))
    return std::nullopt;
  return choosePieces(contraction, mode, target, alignment, sizes,
                      getMmaPins(pins, contraction), pins.atom);
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
  if (*mode != Precision::F32)
    return miss("the precision is not f32");
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return signalPassFailure();
  TargetDescription description = describe(target);
  llvm::SmallDenseSet<StringRef> changed;
  for (auto kernel : module.getOps<loop::KernelOp>()) {
    auto contraction = loop::findContraction(kernel);
    if (!contraction || llvm::is_contained(withoutWgmma, kernel.getSymName()))
      continue;
    std::optional<MmaChoice> choice = choose(
        *contraction, *pins, *mode, description, SymbolicSizes::get(kernel));
    if (!choice)
      continue;
    addPieces(kernel, *contraction, choice->whole);
    changed.insert(kernel.getSymName());
    remark::passed(kernel.getLoc(), options.function(kernel.getSymName()))
        << remark::add("operands go through memory as pieces of bf16: {0}",
                       choice->reason);
  }
  if (changed.empty())
    return miss("no contraction of f32 is quicker by wgmma of pieces");
  SymbolTable symbols(module);
  auto getOperands =
      [&](loop::LaunchOp launch,
          OperandCopies &copies) -> std::optional<SmallVector<Value>> {
    if (!changed.contains(launch.getKernel()))
      return std::nullopt;
    auto kernel = symbols.lookup<loop::KernelOp>(launch.getKernel());
    auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(piecesAttrName);
    SmallVector<Value> operands(launch.getBuffers());
    for (int64_t number : numbers.asArrayRef())
      operands.push_back(copies.get(operands[number], launch));
    return operands;
  };
  replaceOperands(module, {"pieces", getPiecesType, writePieces}, getOperands);
}
