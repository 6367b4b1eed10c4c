// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs tile passes and looks at what they leave, in tests.

#ifndef DEPLO_UNITTESTS_DIALECT_TILE_TILETESTING_H
#define DEPLO_UNITTESTS_DIALECT_TILE_TILETESTING_H

#include "InterpreterTesting.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace deplo::testing {

/// Runs a textual pipeline on `module`.
inline mlir::LogicalResult runPipeline(mlir::ModuleOp module,
                                       llvm::StringRef pipeline) {
  static const bool registered =
      (tile::registerDeploTilePasses(), mlir::registerTransformsPasses(), true);
  (void)registered;
  mlir::PassManager manager(module.getContext());
  if (failed(mlir::parsePassPipeline(pipeline, manager)))
    return mlir::failure();
  return manager.run(module);
}

/// Some values of an index: for the first, the second and the last block or
/// iteration.
inline llvm::SmallVector<int64_t> getSomeValues(mlir::Value index) {
  tile::AffineIndex affine = tile::AffineIndex::get(index);
  if (!affine.base)
    return {affine.offset};
  auto argument = llvm::cast<mlir::BlockArgument>(affine.base);
  int64_t step, count;
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  if (auto kernel = llvm::dyn_cast<tile::KernelOp>(parent)) {
    tile::AxisAttr axis =
        kernel.getAxis(argument.getArgNumber() - kernel.getNumMemrefs());
    step = axis.getStep();
    count = axis.getBlocks();
  } else {
    auto loop = llvm::cast<mlir::scf::ForOp>(parent);
    EXPECT_EQ(mlir::getConstantIntValue(loop.getLowerBound()), 0);
    step = *mlir::getConstantIntValue(loop.getStep());
    count = llvm::divideCeil(*mlir::getConstantIntValue(loop.getUpperBound()),
                             step);
  }
  llvm::SmallVector<int64_t> values;
  for (int64_t i : {int64_t(0), std::min<int64_t>(1, count - 1), count - 1})
    values.push_back(affine.scale * i * step + affine.offset);
  return values;
}

/// Checks one access of `vector` elements by each thread: neighbours in memory,
/// aligned. Bounds may end within an access.
inline void expectVectors(mlir::Operation *op, const LinearLayout &layout,
                          int64_t vector, llvm::ArrayRef<int64_t> corner) {
  tile::BoxAccess box = *tile::BoxAccess::get(op);
  llvm::SmallVector<int64_t> strides;
  int64_t offset;
  ASSERT_TRUE(
      succeeded(box.getMemRefType().getStridesAndOffset(strides, offset)));
  auto locate = [&](int32_t reg, int32_t lane, int32_t warp) {
    int64_t address = offset;
    llvm::SmallVector<int64_t> coordinates(corner);
    for (auto [t, c] : llvm::enumerate(layout.apply(reg, lane, warp)))
      coordinates[box.dims[t]] += box.steps[t] * c;
    for (auto [coordinate, stride] : llvm::zip(coordinates, strides))
      address += coordinate * stride;
    return address;
  };
  for (int32_t warp = 0; warp < layout.getSize(InputDim::Warp); ++warp)
    for (int32_t lane = 0; lane < 32; ++lane)
      for (int32_t reg = 0; reg < layout.getNumRegisters(); reg += vector) {
        int64_t first = locate(reg, lane, warp);
        ASSERT_EQ(first % vector, 0);
        for (int32_t i = 1; i < vector; ++i)
          ASSERT_EQ(locate(reg + i, lane, warp), first + i);
      }
}

/// The `i`th of some values of `index`, where the kernel's axes have theirs.
inline int64_t getSomeValue(mlir::Value index, size_t i) {
  if (auto shifted = index.getDefiningOp<mlir::arith::SubIOp>())
    return getSomeValue(shifted.getLhs(), i) -
           getSomeValue(shifted.getRhs(), i);
  if (auto op = index.getDefiningOp<tile::MisalignmentOp>()) {
    auto [strides, element] = op.getMemref().getType().getStridesAndOffset();
    for (auto [start, stride] : llvm::zip(op.getIndices(), strides))
      element += getSomeValue(start, i) * stride;
    return element % int64_t(op.getModulo());
  }
  llvm::SmallVector<int64_t> some = getSomeValues(index);
  return some[std::min(i, some.size() - 1)];
}

/// Checks all loads and stores of `kernel` for several blocks and iterations.
inline void expectVectors(mlir::Operation *kernel) {
  kernel->walk([&](mlir::Operation *op) {
    auto vector = op->getAttrOfType<mlir::IntegerAttr>("vector");
    if (!vector || !llvm::isa<tile::LoadOp, tile::StoreOp>(op))
      return;
    mlir::Value tile =
        op->getNumResults() != 0 ? op->getResult(0) : op->getOperand(0);
    LinearLayout layout = tile::getLayout(tile).getLinearLayout();
    tile::BoxAccess box = *tile::BoxAccess::get(op);
    for (int i = 0; i < 3; ++i)
      expectVectors(op, layout, vector.getInt(),
                    llvm::map_to_vector(box.indices, [&](mlir::Value index) {
                      return getSomeValue(index, i);
                    }));
  });
}

} // namespace deplo::testing

#endif // DEPLO_UNITTESTS_DIALECT_TILE_TILETESTING_H
