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

#include "PassSupport.h"
#include "SchedulePins.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
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

/// A kernel that writes the pieces of its first argument to the second one,
/// whose rows may be longer.
static loop::KernelOp createSplit(OpBuilder &before, Location loc,
                                  MemRefType type, MemRefType piecesType) {
  auto kernel =
      loop::KernelOp::create(before, loc, "pieces", {type, piecesType});
  ImplicitLocOpBuilder builder(loc, before);
  builder.setInsertionPointToStart(kernel.getBody());
  SmallVector<Value> indices;
  for (int64_t extent : type.getShape()) {
    auto loop = loop::ForOp::create(builder, extent);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value whole = loop::LoadOp::create(
      builder, kernel.getArguments()[0],
      builder.getMultiDimIdentityMap(type.getRank()), indices);
  Value scale = arith::ConstantOp::create(
      builder, builder.getF32FloatAttr(std::ldexp(1.0f, exponentOfPieces)));
  Value rest = arith::MulFOp::create(builder, whole, scale);
  for (int64_t number = 0; number < numPieces; ++number) {
    Value piece = arith::TruncFOp::create(builder, builder.getBF16Type(), rest);
    SmallVector<AffineExpr> place = {builder.getAffineConstantExpr(number)};
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      place.push_back(builder.getAffineDimExpr(dim));
    loop::StoreOp::create(
        builder, piece, kernel.getArguments()[1],
        AffineMap::get(type.getRank(), 0, place, builder.getContext()),
        indices);
    if (number + 1 == numPieces)
      break;
    // What is left is exact.
    rest = arith::SubFOp::create(
        builder, rest,
        arith::ExtFOp::create(builder, builder.getF32Type(), piece));
  }
  return kernel;
}

namespace {

/// Writes the pieces of buffers in the order of a plan.
class PiecesWriter {
public:
  explicit PiecesWriter(SymbolTable &symbols) : symbols(symbols) {}

  /// The pieces of `buffer`, which is of `type` in the kernels, before
  /// `launch`.
  Value get(Value buffer, loop::LaunchOp launch);
  /// `launch` may write to buffers.
  void forgetWritten(loop::LaunchOp launch);

private:
  void write(OpBuilder &builder, Location loc, Value buffer, Value pieces);
  loop::KernelOp getKernel(Location loc, MemRefType type,
                           MemRefType piecesType);

  SymbolTable &symbols;
  llvm::SmallMapVector<Value, Value, 4> known;
  DenseMap<std::pair<Type, Type>, loop::KernelOp> kernels;
};

} // namespace

static Value getMemory(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

loop::KernelOp PiecesWriter::getKernel(Location loc, MemRefType type,
                                       MemRefType piecesType) {
  loop::KernelOp &kernel = kernels[{type, piecesType}];
  if (!kernel) {
    auto module = cast<ModuleOp>(symbols.getOp());
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    kernel = createSplit(builder, loc, type, piecesType);
    symbols.insert(kernel);
  }
  return kernel;
}

/// All elements of a buffer in a row are one loop.
void PiecesWriter::write(OpBuilder &builder, Location loc, Value buffer,
                         Value pieces) {
  auto type = cast<MemRefType>(buffer.getType());
  auto piecesType = cast<MemRefType>(pieces.getType());
  int64_t count = type.getNumElements();
  if (type.getLayout().isIdentity() &&
      piecesType.getNumElements() == numPieces * count) {
    type = MemRefType::get(count, type.getElementType());
    piecesType =
        MemRefType::get({numPieces, count}, piecesType.getElementType());
    buffer = memref::ReinterpretCastOp::create(
        builder, loc, type, buffer, /*offset=*/0, ArrayRef<int64_t>(count),
        ArrayRef<int64_t>(1));
    pieces = memref::ReinterpretCastOp::create(
        builder, loc, piecesType, pieces, /*offset=*/0,
        ArrayRef<int64_t>({numPieces, count}), ArrayRef<int64_t>({count, 1}));
  }
  loop::KernelOp kernel = getKernel(loc, type, piecesType);
  loop::LaunchOp::create(builder, loc, TypeRange(), kernel.getSymName(),
                         ValueRange{buffer, pieces});
}

Value PiecesWriter::get(Value buffer, loop::LaunchOp launch) {
  Value &pieces = known[buffer];
  if (pieces)
    return pieces;
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  pieces = memref::AllocOp::create(
      builder, loc, getPiecesType(cast<MemRefType>(buffer.getType())));
  write(builder, loc, buffer, pieces);
  return pieces;
}

void PiecesWriter::forgetWritten(loop::LaunchOp launch) {
  auto kernel = symbols.lookup<loop::KernelOp>(launch.getKernel());
  llvm::SmallDenseSet<Value> written;
  for (auto [number, buffer] : llvm::enumerate(launch.getBuffers()))
    if (!kernel || loop::KernelOp::isWritten(kernel.getArguments()[number]))
      written.insert(getMemory(buffer));
  known.remove_if([&](const std::pair<Value, Value> &entry) {
    return written.contains(getMemory(entry.first));
  });
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Appends arguments for the pieces of each operand.
static void addPieces(loop::KernelOp kernel, loop::Contraction &contraction) {
  llvm::SetVector<int64_t> numbers;
  for (loop::Contraction::Product &product : contraction.products)
    for (loop::LoadOp load : {product.lhs.load, product.rhs.load})
      numbers.insert(cast<BlockArgument>(load.getMemref()).getArgNumber());
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
  // A thread's tile is of multiply-adds.
  if (!pins.thread.empty() ||
      (pins.numbers.block &&
       pins.numbers.block->size() != contraction.axes.size()))
    return std::nullopt;
  return choosePieces(contraction, mode, target, sizes,
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
    if (!contraction)
      continue;
    std::optional<MmaChoice> choice = choose(
        *contraction, *pins, *mode, description, SymbolicSizes::get(kernel));
    if (!choice)
      continue;
    addPieces(kernel, *contraction);
    changed.insert(kernel.getSymName());
    remark::passed(kernel.getLoc(), options.function(kernel.getSymName()))
        << remark::add("operands go through memory as pieces of bf16: {0}",
                       choice->reason);
  }
  if (changed.empty())
    return miss("no contraction of f32 is quicker by wgmma of pieces");
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      PiecesWriter writer(symbols);
      for (auto launch :
           llvm::make_early_inc_range(block.getOps<loop::LaunchOp>())) {
        if (changed.contains(launch.getKernel())) {
          auto kernel = symbols.lookup<loop::KernelOp>(launch.getKernel());
          auto numbers =
              kernel->getAttrOfType<DenseI64ArrayAttr>(piecesAttrName);
          SmallVector<Value> operands(launch.getBuffers());
          for (int64_t number : numbers.asArrayRef())
            operands.push_back(writer.get(operands[number], launch));
          OpBuilder builder(launch);
          auto next =
              loop::LaunchOp::create(builder, launch.getLoc(), TypeRange(),
                                     launch.getKernel(), operands);
          launch.erase();
          launch = next;
        }
        writer.forgetWritten(launch);
      }
    }
}
