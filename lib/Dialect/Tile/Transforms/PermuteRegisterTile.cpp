// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// permute_register_tile: threads own strips instead of one rectangle, so that
// what a warp reads of a shared buffer at once lies in different banks.
//
// Eight rows of a thread, registers first (row = 8 * lane + register):
//
//   lane 0: 0 1 2 3 4 5 6 7    lane 1: 8 9 10 11 ...
//
// becomes, in strips of one,
//
//   lane 0: 0 4 8 12 ...       lane 1: 1 5 9 13 ...
//
// Legality: a permutation of coordinates, the same for all tiles that have the
// dimension, moves elements between threads and changes none: loads, reads and
// stores follow the layout. It is done only where it lowers the wavefronts that
// reads of shared memory take, with the pad that suits each.

#include "PassSupport.h"
#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/Analysis/TileGroups.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "deplo-permute-register-tile"

namespace deplo::tile {
#define GEN_PASS_DEF_PERMUTEREGISTERTILEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Tiles with a dimension
//===----------------------------------------------------------------------===//

/// All tiles with the dimension of class `number`, and which of their
/// dimensions it is. Nothing if one has it twice or a convert_layout would
/// still see both orders.
static std::optional<SmallVector<std::pair<Value, unsigned>>>
getTiles(KernelOp kernel, const TileDims &dims, unsigned number) {
  SmallVector<std::pair<Value, unsigned>> tiles;
  bool isUnique = true;
  auto visit = [&](Value value) {
    if (!isTile(value) || !getLayout(value))
      return;
    SmallVector<unsigned> classes = dims.getClasses(value);
    if (isConstantTile(value)) {
      // Constants have the classes of their uses, which agree by now.
      classes.clear();
      for (OpOperand &use : value.getUses())
        classes = dims.getClasses(use);
    }
    isUnique &= llvm::count(classes, number) <= 1;
    const auto *at = llvm::find(classes, number);
    if (at != classes.end())
      tiles.push_back({value, unsigned(at - classes.begin())});
  };
  kernel.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), visit);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), visit);
  });
  return isUnique ? std::optional(tiles) : std::nullopt;
}

static void setLayout(Value tile, const LinearLayout &layout) {
  RankedTensorType type = getTileType(tile).cloneWithEncoding(
      LayoutAttr::get(tile.getContext(), layout));
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  tile.setType(type);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {

/// What reads of all buffers of a dimension cost.
struct Cost {
  int64_t wavefronts = 0, degree = 1;
};

} // namespace

/// The cost of all reads of tiles that have the dimension, each buffer with the
/// pad that suits it.
static std::optional<Cost> getCost(ArrayRef<std::pair<Value, unsigned>> tiles,
                                   int64_t alignment) {
  llvm::SetVector<Value> buffers;
  for (auto [tile, dim] : tiles)
    if (auto read = tile.getDefiningOp<ReadOp>()) {
      auto slot = read.getBuffer().getDefiningOp<SlotOp>();
      buffers.insert(slot ? slot.getRing() : read.getBuffer());
    }
  Cost cost;
  for (Value buffer : buffers) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    std::optional<PaddingEffect> effect =
        alloc ? choosePadding(alloc, alignment,
                              alloc.getType().getSizeInBytes() / 4)
              : std::nullopt;
    if (!effect)
      return std::nullopt;
    cost.wavefronts += effect->wavefronts;
    cost.degree = std::max(cost.degree, effect->degreeAfter);
  }
  return buffers.empty() ? std::nullopt : std::optional(cost);
}

std::optional<StripEffect> tile::permuteStrips(DotOp dot, unsigned dim,
                                               int64_t alignment) {
  auto kernel = dot->getParentOfType<KernelOp>();
  TileDims dims(kernel);
  auto tiles = getTiles(kernel, dims, dims.getClasses(dot.getResult())[dim]);
  std::optional<Cost> before =
      tiles ? getCost(*tiles, alignment) : std::nullopt;
  if (!before)
    return std::nullopt;

  SmallVector<LinearLayout> original;
  for (auto [tile, tileDim] : *tiles)
    original.push_back(getLayout(tile).getLinearLayout());
  LinearLayout accumulator = getLayout(dot.getResult()).getLinearLayout();
  auto apply = [&](int64_t strip) {
    StripPermutation permutation = getStrips(accumulator, dim, strip);
    for (auto [tile, layout] : llvm::zip_equal(*tiles, original))
      setLayout(tile.first, permute(layout, tile.second, permutation));
  };
  StripEffect effect{0, before->degree, before->degree};
  int64_t fewest = before->wavefronts;
  // Wide strips first: they leave accesses along the dimension wide.
  for (int64_t strip = accumulator.getDimSize(dim) / 2; strip >= 1;
       strip /= 2) {
    apply(strip);
    std::optional<Cost> cost = getCost(*tiles, alignment);
    if (!cost || cost->wavefronts >= fewest)
      continue;
    fewest = cost->wavefronts;
    effect.strip = strip;
    effect.degreeAfter = cost->degree;
  }
  if (effect.strip != 0)
    apply(effect.strip);
  else
    for (auto [tile, layout] : llvm::zip_equal(*tiles, original))
      setLayout(tile.first, layout);
  return effect;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static std::string describe(int64_t degree) {
  return degree <= 1 ? "conflict-free" : std::to_string(degree) + "-way";
}

namespace {

struct PermuteRegisterTilePass
    : tile::impl::PermuteRegisterTilePassBase<PermuteRegisterTilePass> {
  using PermuteRegisterTilePassBase::PermuteRegisterTilePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("PermuteRegisterTile")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<DotOp> dots;
    kernel.walk([&](DotOp dot) {
      if (getLayout(dot.getResult()) && !dot.getAtomAttr())
        dots.push_back(dot);
    });
    if (dots.empty()) {
      remark::missed(kernel.getLoc(), options)
          << "the kernel has no register tile of a contraction";
      return markAllAnalysesPreserved();
    }
    bool hasChanged = false;
    for (DotOp dot : dots)
      for (unsigned dim = 0, rank = dot.getType().getRank(); dim < rank;
           ++dim) {
        std::optional<StripEffect> effect =
            dot.getType().getDimSize(dim) > 1
                ? permuteStrips(dot, dim, alignment)
                : std::nullopt;
        if (!effect || effect->strip == 0)
          continue;
        hasChanged = true;
        remark::passed(dot.getLoc(), options) << remark::add(
            "strips of {0} along dimension {1}: reads of shared memory {2} -> "
            "{3}",
            effect->strip, dim, describe(effect->degreeBefore),
            describe(effect->degreeAfter));
      }
    if (hasChanged)
      return;
    remark::missed(kernel.getLoc(), options)
        << "no strips lower the bank conflicts of its reads";
    markAllAnalysesPreserved();
  }
};

} // namespace
