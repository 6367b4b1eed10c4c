// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transpose_smem: chunks of operands lie in shared memory with one row for each
// summed element.
//
//   %b = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
//   tile.copy %x[%i, %k] to %b
//   %a = tile.read %b[%c0, %c0] : ... -> tensor<64x16xf32>
//   %d = tile.dot %a dims [0, 2], ...
//
// becomes
//
//   %b = tile.alloc : !tile.buffer<16x64xf32, #tile.shared<>>
//   tile.copy %x[%i, %k] to %b dims [1, 0]
//   %a = tile.read %b[%c0, %c0] : ... -> tensor<16x64xf32>
//   %d = tile.dot %a dims [2, 0], ...
//
// A thread then reads 16 bytes of a summed element at once, and holds one or
// two of these rather than four: registers for another warp, and fewer banks of
// registers that multiply-adds wait for. The copy takes single elements.
//
// Legality: the buffer is copied to and read as a whole, by contractions alone:
// its dimensions are named in another order everywhere.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-transpose-smem"

namespace deplo::tile {
#define GEN_PASS_DEF_TRANSPOSESMEMPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// The dims of `dot` for the operand that `use` is.
static ArrayRef<int64_t> getDims(DotOp dot, OpOperand &use) {
  return use == dot.getLhsMutable() ? dot.getLhsDims() : dot.getRhsDims();
}

std::optional<StagedChunk> tile::getChunkAlongDepth(AllocOp alloc) {
  StagedChunk chunk;
  chunk.alloc = alloc;
  for (Operation *user : alloc.getResult().getUsers()) {
    auto copy = dyn_cast<CopyOp>(user);
    auto read = dyn_cast<ReadOp>(user);
    if ((!copy && !read) || (copy && chunk.copy) || (read && chunk.read))
      return std::nullopt;
    chunk.copy = copy ? copy : chunk.copy;
    chunk.read = read ? read : chunk.read;
  }
  BufferType buffer = alloc.getType();
  bool isWhole =
      chunk.copy && chunk.read && !getLayout(chunk.read.getResult()) &&
      chunk.read.getType().getShape() == buffer.getShape() &&
      llvm::all_of(chunk.read.getIndices(),
                   [](Value index) { return getConstantIntValue(index) == 0; });
  if (!isWhole || buffer.getRank() < 2 || buffer.getLayout().getPad() != 0 ||
      buffer.getLayout().getSwizzle() != 0)
    return std::nullopt;
  int64_t depth = buffer.getShape().back();
  for (OpOperand &use : chunk.read.getResult().getUses()) {
    auto dot = dyn_cast<DotOp>(use.getOwner());
    bool isOperand =
        dot && (use == dot.getLhsMutable() || use == dot.getRhsMutable());
    if (!isOperand || dot.getAtom() ||
        getDims(dot, use).back() != dot.getType().getRank())
      return std::nullopt;
    chunk.multiplyAdds += dot.getType().getNumElements() * depth /
                          chunk.read.getType().getNumElements();
  }
  return chunk;
}

/// The last dimension, what is summed over, comes first, behind those that have
/// one element: neighbours in a row are what a thread reads at once.
static SmallVector<int64_t> getOrder(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> order;
  int64_t depth = shape.size() - 1;
  for (int64_t dim : llvm::seq(depth))
    if (shape[dim] == 1)
      order.push_back(dim);
  order.push_back(depth);
  for (int64_t dim : llvm::seq(depth))
    if (shape[dim] != 1)
      order.push_back(dim);
  return order;
}

void tile::transposeChunk(const StagedChunk &chunk) {
  AllocOp alloc = chunk.alloc;
  CopyOp copy = chunk.copy;
  ReadOp read = chunk.read;
  BufferType before = alloc.getType();
  SmallVector<int64_t> order = getOrder(before.getShape());
  auto reorder = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; });
  };
  SmallVector<int64_t> shape = reorder(before.getShape());
  alloc.getResult().setType(BufferType::get(
      before.getContext(), shape, before.getElementType(), before.getLayout()));
  copy.setDims(reorder(BoxAccess::get(copy)->dims));
  if (copy.getSteps())
    copy.setSteps(reorder(*copy.getSteps()));
  if (copy.getBounds())
    copy.setBounds(reorder(*copy.getBounds()));
  Value tile = read.getResult();
  tile.setType(RankedTensorType::get(shape, read.getType().getElementType()));
  for (OpOperand &use : tile.getUses()) {
    auto dot = cast<DotOp>(use.getOwner());
    SmallVector<int64_t> dims = reorder(getDims(dot, use));
    use == dot.getLhsMutable() ? dot.setLhsDims(dims) : dot.setRhsDims(dims);
  }
}

namespace {

struct TransposeSmemPass
    : tile::impl::TransposeSmemPassBase<TransposeSmemPass> {
  using TransposeSmemPassBase::TransposeSmemPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getTransposeSmem();
        });
    if (failed(choice))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("TransposeSmem")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (*choice != Choice::Always) {
      remark::missed(kernel.getLoc(), options)
          << "chunks lie as in memory unless the schedule says always";
      return markAllAnalysesPreserved();
    }
    SmallVector<StagedChunk> chunks;
    kernel.walk([&](AllocOp alloc) {
      if (std::optional<StagedChunk> chunk = getChunkAlongDepth(alloc))
        chunks.push_back(*chunk);
    });
    if (chunks.empty()) {
      remark::missed(kernel.getLoc(), options)
          << "no chunk of an operand has rows along what is summed over";
      return markAllAnalysesPreserved();
    }
    for (StagedChunk &chunk : chunks) {
      std::string name = getMemrefName(chunk.copy.getMemref());
      transposeChunk(chunk);
      remark::passed(chunk.copy.getLoc(), options) << remark::add(
          "chunks of {0} have a row for each summed element: {1} multiply-adds "
          "for each element that is copied",
          name, chunk.multiplyAdds);
    }
  }
};

} // namespace
