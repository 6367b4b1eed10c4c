// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tensorize: chooses the instruction of contractions.
//
//   %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<128x64xf16>,
//   tensor<64x128xf16>, tensor<128x128xf32>
//
// becomes, for warp tiles of 64x64,
//
//   %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c
//     atom<mma_sync, warps = [2, 2]> : ...
//
// Legality: products of f16 and bf16 are exact in f32; those of f32 may be
// rounded where the dot says tf32, and are exact but for the last bit as
// products of pieces of bf16 where it says f32 or f32_fast. Sums are in f32, in
// another order. The tile is a whole number of instructions for each warp.
// TensorizeAsync.cpp has what wgmma asks for; where that is not given, mma.sync
// takes its place.

#include "PassSupport.h"
#include "TensorizeSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-tensorize"

namespace deplo::tile {
#define GEN_PASS_DEF_TENSORIZEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

FailureOr<SmallVector<int64_t>> tile::getWarpsPerDim(DotOp dot,
                                                     ArrayRef<int64_t> warpTile,
                                                     int64_t warps,
                                                     std::string &reason) {
  RankedTensorType type = dot.getType();
  auto [row, column] =
      std::minmax(dot.getRowAndColumn().first, dot.getRowAndColumn().second);
  int64_t ofRows = std::max<int64_t>(type.getDimSize(row) / warpTile[0], 1);
  int64_t ofColumns =
      std::max<int64_t>(type.getDimSize(column) / warpTile[1], 1);
  if (ofRows * ofColumns != warps) {
    reason = ("tiles of " + llvm::Twine(warpTile[0]) + "x" +
              llvm::Twine(warpTile[1]) + " are of " + llvm::Twine(ofRows) +
              "x" + llvm::Twine(ofColumns) + " warps, the kernel has " +
              llvm::Twine(warps))
                 .str();
    return failure();
  }
  SmallVector<int64_t> warpsPerDim(type.getRank(), 1);
  warpsPerDim[row] = ofRows;
  warpsPerDim[column] = ofColumns;
  return warpsPerDim;
}

LogicalResult tile::tensorizeDot(DotOp dot, AtomKind kind,
                                 ArrayRef<int64_t> warpTile, int64_t warps,
                                 std::string &reason) {
  RankedTensorType type = dot.getType();
  Type element = dot.getLhs().getType().getElementType();
  auto refuse = [&](const llvm::Twine &why) {
    reason = why.str();
    return failure();
  };
  if (getLayout(dot.getResult()))
    return refuse("tiles have layouts already");
  bool isInexact = element.isF32() && dot.getPrecision() != Precision::IEEE;
  bool isFloat = type.getElementType().isF32() &&
                 (element.isF16() || element.isBF16() || isInexact);
  bool isInteger = type.getElementType().isInteger(32) && element.isInteger(8);
  if (!isFloat && !isInteger)
    return refuse("tensor cores multiply f16, bf16 or, with precision f32, "
                  "f32_fast or tf32, f32 into f32, or i8 into i32");
  if (dot.getContractedSize() % dot.getAtomDepth() != 0)
    return refuse("a chunk has " + llvm::Twine(dot.getContractedSize()) +
                  " summed elements, an instruction takes " +
                  llvm::Twine(dot.getAtomDepth()));
  FailureOr<SmallVector<int64_t>> warpsPerDim =
      getWarpsPerDim(dot, warpTile, warps, reason);
  if (failed(warpsPerDim))
    return failure();
  dot.setAtomAttr(AtomAttr::get(dot.getContext(), kind, *warpsPerDim));
  if (llvm::Expected<DotLayouts> layouts = getAtomLayouts(dot); !layouts) {
    dot.removeAtomAttr();
    return refuse(llvm::toString(layouts.takeError()));
  }
  return success();
}

/// The elements of `dot`, if they are pieces of f32.
static StringRef describePieces(AsyncDotOp dot) {
  if (!dot.isOfPieces())
    return "";
  return dot.getAtomElement().isF16() ? " of two pieces of f16"
                                      : " of three pieces of bf16";
}

namespace {

struct TensorizePass : tile::impl::TensorizePassBase<TensorizePass> {
  using TensorizePassBase::TensorizePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("Tensorize")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    ScheduleAttr schedule = kernel.getScheduleAttr();
    AtomKind kind = schedule ? schedule.getAtom() : AtomKind::FMA;
    SmallVector<int64_t> sizes(warpTile.begin(), warpTile.end());
    if (!sizes.empty())
      kind = AtomKind::MmaSync;
    else if (schedule)
      sizes.assign(schedule.getWarpTile().begin(),
                   schedule.getWarpTile().end());
    SmallVector<DotOp> dots;
    kernel.walk([&](DotOp dot) { dots.push_back(dot); });
    if (dots.empty() || kind == AtomKind::FMA) {
      remark::missed(kernel.getLoc(), options)
          << (dots.empty() ? "the kernel has no contraction"
                           : "the schedule says multiply-adds");
      return markAllAnalysesPreserved();
    }
    if (sizes.size() != 2 || !llvm::all_of(sizes, [](int64_t size) {
          return size > 0 && llvm::isPowerOf2_64(size);
        })) {
      kernel.emitOpError("has a warp tile of other sizes than two powers of "
                         "two, expected rows and columns such as 64,64");
      return signalPassFailure();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    constexpr unsigned firstCapability = 80;
    if (target.getComputeCapability() < firstCapability) {
      remark::missed(kernel.getLoc(), options) << remark::add(
          "{0} has no mma.sync of these types, sm_80 and later do",
          target.getChip().str());
      return markAllAnalysesPreserved();
    }
    BuffersOfPieces buffers;
    for (DotOp dot : dots) {
      std::string reason;
      if (kind == AtomKind::Wgmma) {
        if (succeeded(tensorizeWgmma(dot, sizes, target, buffers, options)))
          continue;
        // The same warps by the instruction that takes fragments.
        kind = AtomKind::MmaSync;
      }
      if (failed(tensorizeDot(dot, kind, sizes, kernel.getWarps().value_or(1),
                              reason))) {
        remark::missed(dot.getLoc(), options) << remark::add("{0}", reason);
        continue;
      }
      std::string warps;
      llvm::raw_string_ostream os(warps);
      llvm::interleave(dot.getAtomAttr().getWarps(), os, "x");
      remark::passed(dot.getLoc(), options) << remark::add(
          "{0}, {1} warps of tiles of {2}x{3}", stringifyAtomKind(kind).str(),
          warps, sizes[0], sizes[1]);
    }
  }

  LogicalResult tensorizeWgmma(DotOp dot, ArrayRef<int64_t> sizes,
                               TargetAttr target, BuffersOfPieces &buffers,
                               remark::RemarkOpts options) {
    Location loc = dot.getLoc();
    std::string reason = target.getChip().str() + " has no wgmma, sm_90a does";
    FailureOr<AsyncDotOp> async = failure();
    int64_t ofKernel = getOperation().getWarps().value_or(1);
    if (target.hasWgmma())
      async = isOfPieces(dot.getPrecision())
                  ? tensorizePieces(dot, sizes, ofKernel, buffers, reason)
                  : tensorizeAsync(dot, sizes, ofKernel, reason);
    if (failed(async)) {
      remark::missed(loc, options) << remark::add("{0}", reason);
      return failure();
    }
    std::string warps;
    llvm::raw_string_ostream os(warps);
    llvm::interleave(async->getAtom().getWarps(), os, "x");
    remark::passed(loc, options)
        << remark::add("wgmma{3}, {0} warps of tiles of {1}x{2}", warps,
                       sizes[0], sizes[1], describePieces(*async));
    return success();
  }
};

} // namespace
