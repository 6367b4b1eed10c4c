// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rasterize_grid: blocks that run at once share what they read.
//
//   tile.kernel @mm(...) axes(%i = 4096 step 128 grid, %j = 4096 step 256 grid)
//
// becomes
//
//   tile.kernel @mm(...) axes(...) attributes
//     {tile.raster = 16 : i64}
//
// Blocks are numbered down 16 rows of blocks before they go on to the next
// column: those that run at once read few rows and few columns from memory, and
// the others find them in L2.
//
// A group has fewer rows where the launch gives fewer.
//
// Legality: each block of the grid is still run once; blocks are independent.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#include <cmath>

#define DEBUG_TYPE "deplo-rasterize-grid"

namespace deplo::tile {
#define GEN_PASS_DEF_RASTERIZEGRIDPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

bool tile::hasPlaneOfBlocks(KernelOp kernel) {
  unsigned count = kernel.getAxes().size();
  if (count < 2)
    return false;
  for (unsigned axis : {count - 2, count - 1})
    if (kernel.getAxis(axis).getKind() != AxisKind::Grid ||
        getMostBlocks(kernel, axis) < 2)
      return false;
  return true;
}

int64_t tile::chooseRaster(KernelOp kernel, int64_t blocksAtOnce) {
  unsigned count = kernel.getAxes().size();
  AxisAttr rows = kernel.getAxis(count - 2),
           columns = kernel.getAxis(count - 1);
  // Blocks at once cover as many rows as columns, in elements.
  double blocks =
      std::sqrt(double(blocksAtOnce) * columns.getStep() / rows.getStep());
  int64_t group = std::max<int64_t>(std::lround(blocks), 1);
  return std::min(group, getMostBlocks(kernel, count - 2));
}

namespace {

struct RasterizeGridPass
    : tile::impl::RasterizeGridPassBase<RasterizeGridPass> {
  using RasterizeGridPassBase::RasterizeGridPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("RasterizeGrid")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    bool hasDot = kernel
                      .walk([](Operation *op) {
                        return isa<DotOp, AsyncDotOp>(op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
    auto miss = [&](StringRef reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    if (!hasDot)
      return miss("blocks share no operand of a contraction");
    if (!hasPlaneOfBlocks(kernel))
      return miss("blocks have no two axes with several along each");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    int64_t rows = group != 0
                       ? int64_t(group)
                       : chooseRaster(kernel, target.getMultiprocessors());
    if (rows < 1) {
      kernel.emitOpError() << "can't be numbered in groups of " << rows
                           << " rows, expected a positive number";
      return signalPassFailure();
    }
    if (rows == 1)
      return miss("blocks at once are one row");
    kernel->setAttr(rasterName, IntegerAttr::get(
                                    IntegerType::get(&getContext(), 64), rows));
    remark::passed(kernel.getLoc(), options)
        << remark::add("blocks go down {0} rows before the next column", rows);
  }
};

} // namespace
