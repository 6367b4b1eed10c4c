// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// blockify_launch, of contractions: tiles of 192 columns are tiles of 128 and
// of 64.
//
//   axes(%i = 512 step 128 grid, %j = 5632 step 192 grid) {
//     %d = scf.for %k = 0 to 2048 step 64 iter_args(%c = %zeros) {
//       %a = tile.load %x[%i, %k] : tensor<128x64xbf16>
//       %b = tile.load %w[%j, %k] : tensor<192x64xbf16>
//       ... tile.dot %a, %b, %c : tensor<128x192xf32>
//     ... tile.store %e, %y[%i, %j] : tensor<128x192xbf16>
//
// becomes
//
//   axes(%i = 512 step 128 grid, %j = 5632 step 192 grid) {
//     %d:2 = scf.for %k = 0 to 2048 step 64 iter_args(%c = ..., %f = ...) {
//       %a = tile.load %x[%i, %k] : tensor<128x64xbf16>
//       %b = tile.load %w[%j, %k] : tensor<128x64xbf16>
//       %g = tile.load %w[%j + 128, %k] : tensor<64x64xbf16>
//       ... tile.dot %a, %b, %c : tensor<128x128xf32>
//       ... tile.dot %a, %g, %f : tensor<128x64xf32>
//     ... tile.store %e, %y[%i, %j] : tensor<128x128xbf16>
//     ... tile.store %h, %y[%i, %j + 128] : tensor<128x64xbf16>
//
// Layouts are linear in the bits of coordinates, and their tiles are powers of
// two. Blocks need not be: what a block has more of another operand's use is
// less that all blocks read, and a grid may have as many tiles as the device
// has multiprocessors.
//
// Legality: an axis is parallel, so its elements may be computed in any parts.
// What depends on where a tile starts are accesses, masks and numbers.

#include "ClusterSupport.h"
#include "deplo/Analysis/WgmmaModel.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// The classes of tiles that `op` and what it contains have along `axis`.
static llvm::SmallDenseSet<unsigned>
getClassesAlong(Operation *op, const TileDims &dims, unsigned axis) {
  llvm::SmallDenseSet<unsigned> found;
  auto add = [&](ArrayRef<unsigned> numbers) {
    for (unsigned number : numbers)
      if (number != TileDims::noClass && dims.getAxis(number) == axis)
        found.insert(number);
  };
  op->walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      add(dims.getClasses(result));
    for (OpOperand &operand : inner->getOpOperands())
      add(dims.getClasses(operand));
  });
  return found;
}

/// Whether nothing depends on `index` but where tiles start.
static bool isOnlyStart(Value index,
                        const llvm::SmallPtrSetImpl<OpOperand *> &starts) {
  return llvm::all_of(index.getUses(), [&](OpOperand &use) {
    if (starts.contains(&use))
      return true;
    Operation *user = use.getOwner();
    return isa<arith::AddIOp, arith::MulIOp>(user) &&
           isOnlyStart(user->getResult(0), starts);
  });
}

LogicalResult tile::splitTiles(KernelOp kernel, unsigned axis,
                               std::string &reason) {
  int64_t size = kernel.getAxis(axis).getStep();
  std::vector<int64_t> parts = getTilesAlong(size);
  SmallVector<SmallVector<Operation *>> copies(1);
  {
    TileDims dims(kernel);
    llvm::SmallPtrSet<OpOperand *, 16> starts;
    for (unsigned number = 0; number < dims.getNumClasses(); ++number)
      if (dims.getAxis(number) == axis)
        for (const TileStart &start : findStarts(kernel, dims, number))
          starts.insert(start.index);
    if (!isOnlyStart(kernel.getAxisValues()[axis], starts)) {
      reason = "more than where tiles start depends on the axis";
      return failure();
    }
    for (Operation &op : *kernel.getBody())
      if (!getClassesAlong(&op, dims, axis).empty())
        copies.front().push_back(&op);
  }
  OpBuilder builder = OpBuilder::atBlockEnd(kernel.getBody());
  for (size_t i = 1; i < parts.size(); ++i) {
    IRMapping mapping;
    SmallVector<Operation *> &copy = copies.emplace_back();
    for (Operation *op : copies.front())
      copy.push_back(builder.clone(*op, mapping));
  }

  TileDims dims(kernel);
  int64_t offset = 0;
  for (auto [part, copy] : llvm::zip_equal(parts, copies)) {
    llvm::SmallDenseSet<unsigned> numbers;
    for (Operation *op : copy)
      numbers.insert_range(getClassesAlong(op, dims, axis));
    for (unsigned number : numbers) {
      for (auto [operand, step] : findStarts(kernel, dims, number)) {
        if (offset == 0)
          continue;
        OpBuilder before(operand->getOwner());
        Location loc = operand->getOwner()->getLoc();
        operand->set(arith::AddIOp::create(
            before, loc, operand->get(),
            arith::ConstantIndexOp::create(before, loc, offset * step)));
      }
      dims.resize(number, part);
    }
    offset += part;
  }
  fuseChunks(kernel);
  return success();
}
