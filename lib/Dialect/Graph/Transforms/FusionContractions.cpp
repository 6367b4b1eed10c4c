// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel with a contraction may have besides: maps of its result,
// reductions of its rows, maps of its operands, and contractions that share one
// of its operands.

#include "FusionGroups.h"
#include "deplo/Analysis/WgmmaPiecesModel.h"

using namespace mlir;

namespace deplo::graph {

/// What of a contraction's other operand each block serves, as a rule: the
/// schedule is not chosen yet.
static constexpr int64_t tileExtent = 128;

/// A contraction in `into` and the number of its operand that a member of
/// `from` computes, directly or through maps in `into`.
std::optional<std::pair<unsigned, FusionGroups::Use>>
FusionGroups::findOperand(const Group &from, const Group &into) const {
  if (into.contractions == 0)
    return std::nullopt;
  for (unsigned member : into.members) {
    if (!isa_and_nonnull<ContractOp>(primitives[member].op))
      continue;
    for (unsigned number : {0, 1}) {
      Use use{member, number};
      SmallVector<Value> pending = {primitives[member].reads[number].source};
      while (!pending.empty()) {
        auto it = producers.find(pending.pop_back_val());
        if (it == producers.end())
          continue;
        if (llvm::is_contained(from.members, it->second))
          return std::pair(it->second, use);
        if (llvm::is_contained(into.members, it->second))
          for (const Read &read : primitives[it->second].reads)
            pending.push_back(read.source);
      }
    }
  }
  return std::nullopt;
}

/// The member of `group` that is a graph.gather, the first of them if there are
/// several; null if none is.
GatherOp FusionGroups::getGathered(const Group &group) const {
  for (unsigned member : group.members)
    if (auto gather = dyn_cast_or_null<GatherOp>(primitives[member].op))
      return gather;
  return {};
}

/// A contraction may read windows of its operand where it stages them, at
/// places that blocks compute.
///
/// Legality: places depend on coordinates alone, of sizes that are known; what
/// is outside is one value. One operand of one contraction is gathered, since
/// the chunks of the other say how a block goes along the sum, and rows of the
/// result are stored, not folded: parts of their columns would be views of what
/// is gathered. Neighbours of a row lie in memory side by side, so that lanes
/// read lines.
std::optional<std::string> FusionGroups::checkWindows(GatherOp gather,
                                                      const Group &into,
                                                      Use operand) const {
  const Primitive &contraction = primitives[operand.reader];
  auto isSymbolic = [&](int64_t size) { return sizes.isSymbolic(size); };
  if (windows == FusionPolicy::Never)
    return "the schedule says that windows are gathered";
  if (gather.getSources().size() != 1 || !gather.getIndices().empty() ||
      gather.getSources().front().getDefiningOp<ConstantOp>())
    return "what is gathered has several sources, or places that are read";
  if (llvm::any_of(gather.getType().getShape(), isSymbolic) ||
      llvm::any_of(contraction.shape, isSymbolic))
    return "places of windows whose sizes a call gives are not computed";
  if (into.contractions != 1 || into.foldsRows)
    return into.foldsRows ? "rows of what is multiplied with windows are not "
                            "folded where that is computed"
                          : "windows would be gathered for each product";
  if (gathersOperand(into))
    return "the other operand is gathered as well";
  const Read &read = contraction.reads[operand.read];
  AffineExpr inMemory = gather.getMap(0).getResults().back();
  auto isOfResult = [&](AffineExpr coordinate) {
    for (unsigned axis = 0; axis < contraction.getResultAxes().size(); ++axis)
      if (contraction.shape[axis] != 1 && coordinate.isFunctionOfDim(axis))
        return true;
    return false;
  };
  for (auto [dim, coordinate] : llvm::enumerate(read.map.getResults()))
    if (inMemory.isFunctionOfDim(dim) && isOfResult(coordinate))
      return std::nullopt;
  return "neighbours in memory are summed over, which is no row of windows";
}

/// Whether a contraction of `group` multiplies what the group gathers.
bool FusionGroups::gathersOperand(const Group &group) const {
  SmallVector<unsigned> pending;
  for (unsigned member : group.members)
    if (isa_and_nonnull<ContractOp>(primitives[member].op))
      pending.push_back(member);
  while (!pending.empty())
    for (const Read &read : primitives[pending.pop_back_val()].reads) {
      auto it = producers.find(read.source);
      if (it == producers.end() ||
          !llvm::is_contained(group.members, it->second))
        continue;
      if (isa_and_nonnull<GatherOp>(primitives[it->second].op))
        return true;
      pending.push_back(it->second);
    }
  return false;
}

/// What `contraction` takes more where tensor maps can't copy its operands: by
/// mma.sync, which has this part of wgmma's rate; numbers of f32 by
/// multiply-adds instead of in pieces, which have sizes that are known.
double FusionGroups::getSlowerOperations(const Primitive &contraction) const {
  constexpr double partOfRate = 0.6;
  Type type = getElementTypeOrSelf(contraction.reads.front().source);
  double all = 1, products = 1;
  for (auto [dim, size] : llvm::enumerate(contraction.shape)) {
    all *= sizes.getMax(size);
    if (dim >= contraction.getResultAxes().size())
      products *= sizes.getMax(size);
  }
  if (type.isF32() && machine.pieceOperationsPerSecond > 0 && sizes.empty() &&
      products >= leastProductsInPieces)
    return all * std::max(0.0, 1 - machine.operationsPerSecond /
                                       machine.pieceOperationsPerSecond);
  if ((type.isF16() || type.isBF16()) && machine.hasWgmma)
    return all * machine.operationsPerSecond /
           machine.matrixOperationsPerSecond * (1 / partOfRate - 1);
  return 0;
}

/// What it takes more to gather windows where they are multiplied: quotients,
/// remainders and bounds for each element and tile, and tensor cores that are
/// not as quick as with operands that tensor maps copy.
double FusionGroups::getWindowOperations(Use operand) const {
  const Primitive &contraction = primitives[operand.reader];
  double elements = 1;
  for (auto [dim, size] : llvm::enumerate(contraction.shape))
    if (contraction.reads[operand.read].map.isFunctionOfDim(dim))
      elements *= size;
  return elements * countTiles(operand.reader, operand.read) *
             operationsOfPlace +
         getSlowerOperations(contraction);
}

/// What products take more where rows of them are folded. Those of f32 are not
/// in pieces then. Columns in parts are two dimensions of weights; those of
/// weights that lie along the columns are inside of the sum's then, where no
/// tensor map finds it.
double FusionGroups::getFoldOperations(const Group &product) const {
  double operations = 0;
  for (unsigned member : product.members) {
    const Primitive &primitive = primitives[member];
    if (!isa_and_nonnull<ContractOp>(primitive.op))
      continue;
    unsigned rank = primitive.getResultAxes().size();
    bool isAlongSums = llvm::all_of(primitive.reads, [&](const Read &read) {
      AffineExpr inMemory = read.map.getResults().back();
      for (unsigned dim = rank; dim < primitive.shape.size(); ++dim)
        if (inMemory.isFunctionOfDim(dim))
          return true;
      return false;
    });
    Type type = getElementTypeOrSelf(primitive.reads.front().source);
    if (type.isF32() || !isAlongSums)
      operations += getSlowerOperations(primitive);
  }
  return operations;
}

/// What products of `into` take more if `from` joins it and computes an operand
/// of theirs, which is in no memory then. Conversions are part of each kernel
/// anyway.
double FusionGroups::getOperandOperations(const Group &from,
                                          const Group &into) const {
  double operations = 0;
  for (unsigned member : into.members) {
    const Primitive &primitive = primitives[member];
    if (!isa_and_nonnull<ContractOp>(primitive.op))
      continue;
    auto computesOperand = [&](const Group &group) {
      return llvm::any_of(primitive.reads, [&](const Read &read) {
        auto it = producers.find(read.source);
        return it != producers.end() &&
               llvm::is_contained(group.members, it->second) &&
               !isWidening(primitives[it->second].op);
      });
    };
    if (computesOperand(from) && !computesOperand(into))
      operations += getSlowerOperations(primitive);
  }
  return operations;
}

/// Whether `group` computes each element from those of other tensors alone, so
/// that a block may compute the part that it needs.
bool FusionGroups::isMapOfElements(const Group &group) const {
  GatherOp gathered = getGathered(group);
  return llvm::all_of(group.members, [&](unsigned member) {
    const Primitive &primitive = primitives[member];
    if (gathered && primitive.op == gathered.getOperation())
      return true;
    auto map = dyn_cast_or_null<MapOp>(primitive.op);
    return map && map.getBody()->getOps<IndexOp>().empty() &&
           llvm::none_of(primitive.reads,
                         [](const Read &read) { return read.isGathered; });
  });
}

/// An operand of a contraction may be computed where it is staged: each element
/// of a chunk once, by each block that stages it.
std::optional<std::string>
FusionGroups::checkOperands(const Group &from, const Group &into) const {
  auto isConversion = [&](unsigned source) {
    return isWidening(primitives[source].op);
  };
  if (llvm::all_of(from.members, isConversion))
    return std::nullopt;
  auto operand = findOperand(from, into);
  if (!operand)
    return std::nullopt;
  if (!isMapOfElements(from))
    return describe(operand->first) +
           " would be computed again for every tile of the result";
  if (GatherOp gather = getGathered(from))
    if (auto reason = checkWindows(gather, into, operand->second))
      return reason;
  // The kernel that computes what it reads may store it for nothing.
  if (!mergesOperands)
    return describe(operand->first) + " may join what it reads first";
  return std::nullopt;
}

/// Loops that the contractions of `group` sum over.
size_t FusionGroups::countSummedLoops(const Group &group) const {
  size_t loops = 0;
  for (unsigned member : group.members)
    if (const Primitive &primitive = primitives[member];
        isa_and_nonnull<ContractOp>(primitive.op))
      loops += space.classes
                   .getLeaves(ArrayRef(primitive.axes)
                                  .drop_front(primitive.getResultAxes().size()))
                   .size();
  return loops;
}

/// How often blocks compute an operand of a contraction: once for each tile
/// along the loops that the operand lacks.
double FusionGroups::countTiles(unsigned contraction, unsigned number) const {
  const Primitive &primitive = primitives[contraction];
  double tiles = 1;
  int64_t longest = 1;
  for (auto [dim, axis] : llvm::enumerate(primitive.getResultAxes())) {
    if (primitive.reads[number].map.isFunctionOfDim(dim))
      continue;
    for (Axis leaf : space.classes.getLeaves(axis)) {
      int64_t extent = sizes.getMax(space.classes.getExtent(leaf));
      tiles *= extent;
      longest = std::max(longest, extent);
    }
  }
  return tiles / longest * llvm::divideCeil(longest, tileExtent);
}

/// Whether two contractions in the same loops read one tensor alike, and the
/// others of their operands along the same loops: each chunk of the shared one
/// then serves both.
bool FusionGroups::shareOperand(const Primitive &first,
                                const Primitive &second) const {
  auto getFolded = [&](const Primitive &primitive) {
    return ArrayRef(primitive.shape)
        .drop_front(primitive.getResultAxes().size());
  };
  if (getFolded(first) != getFolded(second))
    return false;
  auto getLoops = [&](const Primitive &primitive, const Read &read) {
    SmallVector<Axis> axes;
    for (auto [dim, axis] : llvm::enumerate(primitive.getResultAxes()))
      if (read.map.isFunctionOfDim(dim))
        axes.push_back(axis);
    SmallVector<Axis> leaves = space.classes.getLeaves(axes);
    llvm::sort(leaves);
    return leaves;
  };
  for (unsigned swapped : {0, 1}) {
    bool isShared = false, isAlike = true;
    for (unsigned operand : {0, 1}) {
      const Read &a = first.reads[operand],
                 &b = second.reads[operand ^ swapped];
      isShared |= a.source == b.source;
      isAlike &= getLoops(first, a) == getLoops(second, b);
    }
    if (isShared && isAlike)
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Rows of the result
//===----------------------------------------------------------------------===//

/// Whether the reductions of `rows` may be of rows of what `product` computes:
/// they keep all of its loops but one, and fold nothing else.
bool FusionGroups::isFoldOfRows(const Group &product, const Group &rows) const {
  if (product.contractions == 0 || rows.contractions != 0 || !product.kept ||
      !rows.kept || product.hasScan || rows.hasScan)
    return false;
  auto getSorted = [&](ArrayRef<Axis> axes) {
    SmallVector<Axis> leaves = space.classes.getLeaves(axes);
    llvm::sort(leaves);
    return leaves;
  };
  SmallVector<Axis> kept = getSorted(*rows.kept);
  SmallVector<Axis> all = getSorted(*product.kept);
  if (product.foldsRows) {
    if (kept != all)
      return false;
    const auto *contract = llvm::find_if(product.members, [&](unsigned member) {
      return isa_and_nonnull<ContractOp>(primitives[member].op);
    });
    all = getSorted(primitives[*contract].getResultAxes());
  }
  return all.size() == kept.size() + 1 && llvm::includes(all, kept) &&
         llvm::all_of(rows.members, [&](unsigned member) {
           return !primitives[member].isReduction() ||
                  getSorted(primitives[member].axes) == all;
         });
}

/// Whether blocks that have some columns each can fold what they have of a row,
/// which is all that is known of it until other blocks have ended.
///
/// Legality: nothing needs a row's fold where the product is computed; the
/// folded loop moves one operand of each product, so that it is a loop of
/// columns, of a known number, and the other has rows.
std::optional<std::string> FusionGroups::checkRows(const Group &product,
                                                   const Group &rows) const {
  if (gathersOperand(product))
    return "windows are read where they are multiplied, and parts of columns "
           "would be views of them";
  SmallVector<unsigned> members(product.members);
  llvm::append_range(members, rows.members);
  llvm::sort(members);
  SmallVector<Axis> kept =
      space.classes.getLeaves(rows.kept ? *rows.kept : *product.kept);
  auto getFolded = [&](ArrayRef<Axis> axes) {
    SmallVector<Axis> leaves = space.classes.getLeaves(axes);
    llvm::erase_if(leaves,
                   [&](Axis leaf) { return llvm::is_contained(kept, leaf); });
    return leaves;
  };
  SmallVector<Axis> columns;
  for (unsigned member : members)
    if (isa_and_nonnull<ContractOp>(primitives[member].op))
      columns = getFolded(primitives[member].getResultAxes());
  llvm::SmallDenseSet<unsigned> needFold;
  for (unsigned member : members) {
    const Primitive &primitive = primitives[member];
    bool isFold = primitive.isReduction() && !isa<ContractOp>(primitive.op);
    bool needsFold = llvm::any_of(primitive.reads, [&](const Read &read) {
      auto it = producers.find(read.source);
      return it != producers.end() && needFold.contains(it->second);
    });
    if (needsFold && (isFold || !getFolded(primitive.axes).empty()))
      return describe(member) +
             " needs all of a row, of which blocks have some columns each";
    if (isFold && getFolded(primitive.axes) != columns)
      return describe(member) + " folds other columns than the product has";
    if (needsFold || isFold)
      needFold.insert(member);
    if (!isa_and_nonnull<ContractOp>(primitive.op))
      continue;
    if (columns.size() != 1 || getFolded(primitive.getResultAxes()) != columns)
      return describe(member) + " has other columns than are folded";
    if (sizes.isSymbolic(space.classes.getExtent(columns.front())))
      return "how many columns there are is known when the program runs";
    bool hasRows[2] = {false, false}, isMoved[2] = {false, false};
    for (unsigned number : {0, 1}) {
      for (auto [dim, axis] : llvm::enumerate(primitive.getResultAxes())) {
        bool movesIt = primitive.reads[number].map.isFunctionOfDim(dim);
        bool movesOther = primitive.reads[1 - number].map.isFunctionOfDim(dim);
        if (!movesIt)
          continue;
        bool isFolded = !getFolded(axis).empty();
        isMoved[number] |= isFolded;
        hasRows[number] |=
            !movesOther && !isFolded && space.classes.getExtent(axis) != 1;
      }
    }
    bool suits = (isMoved[0] && !isMoved[1] && hasRows[1]) ||
                 (isMoved[1] && !isMoved[0] && hasRows[0]);
    if (!suits)
      return describe(member) +
             " has no rows of which blocks fold some columns";
  }
  return std::nullopt;
}

/// Tiles that blocks compute of a product whose rows they fold: its sums are
/// not divided.
int64_t FusionGroups::countProductTiles(const Primitive &product) const {
  constexpr int64_t leastTile = 64;
  int64_t tiles = 1;
  for (auto [dim, axis] : llvm::enumerate(product.getResultAxes())) {
    int64_t extent = sizes.getMax(space.classes.getExtent(axis));
    bool isBatch = product.reads[0].map.isFunctionOfDim(dim) &&
                   product.reads[1].map.isFunctionOfDim(dim);
    tiles *= isBatch ? extent : llvm::divideCeil(extent, leastTile);
  }
  return tiles;
}

/// Both groups are in the same loops.
std::optional<std::string>
FusionGroups::checkContractions(const Group &first, const Group &second) const {
  if (first.foldsRows || second.foldsRows || isFoldOfRows(first, second)) {
    if (second.contractions != 0 && first.kept)
      return "a kernel that folds rows of a product folds nothing else";
    return second.contractions != 0 ? checkRows(second, first)
                                    : checkRows(first, second);
  }
  if (first.contractions + second.contractions == 0 || !first.kept ||
      !second.kept)
    return std::nullopt;
  if (first.contractions == 0 || second.contractions == 0)
    return "a kernel with a contraction folds nothing else";
  for (unsigned a : first.members)
    for (unsigned b : second.members)
      if (isa_and_nonnull<ContractOp>(primitives[a].op) &&
          isa_and_nonnull<ContractOp>(primitives[b].op) &&
          !shareOperand(primitives[a], primitives[b]))
        return describe(a) + " and " + describe(b) +
               " share no operand in the same loops";
  return std::nullopt;
}

} // namespace deplo::graph
