// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ContractionLayouts.h"

#include "deplo/Analysis/FragmentLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>

namespace deplo {

/// `layout` with the first lane along the rows before those along the columns.
/// Shared memory serves 16 lanes that read 16 bytes each at once, rather than
/// 8, if neighbours, or those two apart, read the same: now both operands' do.
static llvm::Expected<LinearLayout>
mixLanes(const LinearLayout &layout, unsigned rowDim, unsigned columnDim) {
  LayoutBases bases = layout.getBases();
  std::vector<Coordinates> &lanes = bases[unsigned(InputDim::Lane)];
  auto row = llvm::find_if(
      lanes, [&](const Coordinates &basis) { return basis[rowDim] != 0; });
  bool hasColumns = llvm::any_of(
      lanes, [&](const Coordinates &basis) { return basis[columnDim] != 0; });
  if (row != lanes.end() && hasColumns)
    std::rotate(lanes.begin(), row, row + 1);
  return LinearLayout::create(bases, layout.getShape());
}

llvm::Expected<LinearLayout>
getAccumulatorLayout(const RegisterTiling &tiling) {
  constexpr int64_t lanes = 32, lanesAlongColumns = 8;
  int64_t threadsAlongRows =
      std::max<int64_t>(tiling.shape[tiling.rowDim] / tiling.rows, 1);
  int64_t threadsAlongColumns =
      std::max<int64_t>(tiling.shape[tiling.columnDim] / tiling.columns, 1);
  int64_t laneColumns = std::min(lanesAlongColumns, threadsAlongColumns);
  int64_t laneRows = std::min(lanes / laneColumns, threadsAlongRows);
  laneColumns = std::min(lanes / laneRows, threadsAlongColumns);
  int64_t warpRows = std::min(threadsAlongRows / laneRows, tiling.warps);
  int64_t warpColumns =
      std::min(threadsAlongColumns / laneColumns, tiling.warps / warpRows);

  size_t rank = tiling.shape.size();
  llvm::SmallVector<int64_t> values(rank, 1), lanesPerDim(rank, 1),
      warpsPerDim(rank, 1), order;
  values[tiling.rowDim] = tiling.rows;
  values[tiling.columnDim] = tiling.columns;
  lanesPerDim[tiling.rowDim] = laneRows;
  lanesPerDim[tiling.columnDim] = laneColumns;
  warpsPerDim[tiling.rowDim] = warpRows;
  warpsPerDim[tiling.columnDim] = warpColumns;
  order = {tiling.columnDim, tiling.rowDim};
  for (unsigned dim = 0; dim < rank; ++dim)
    if (dim != tiling.rowDim && dim != tiling.columnDim)
      order.push_back(dim);
  for (size_t dim = 0; dim < rank; ++dim)
    values[dim] = std::min(values[dim], tiling.shape[dim]);
  llvm::Expected<LinearLayout> layout = LinearLayout::blocked(
      tiling.shape, values, lanesPerDim, warpsPerDim, order);
  if (!layout)
    return layout.takeError();
  llvm::Expected<LinearLayout> mixed =
      mixLanes(*layout, tiling.rowDim, tiling.columnDim);
  if (!mixed)
    return mixed.takeError();
  // Threads that are left over hold what others hold.
  llvm::Expected<LinearLayout> whole = mixed->replicated(InputDim::Lane, lanes);
  if (!whole)
    return whole.takeError();
  return whole->replicated(InputDim::Warp, tiling.warps);
}

llvm::Expected<LinearLayout> getOperandLayout(const LinearLayout &accumulator,
                                              llvm::ArrayRef<int64_t> dims,
                                              int64_t contracted) {
  int64_t rank = accumulator.getRank();
  LinearLayout layout = accumulator;
  llvm::SmallVector<int64_t> kept; // dimensions of `layout`
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim))
      layout = layout.dropDim(dim).removeDuplicateRegisters();
    else
      kept.insert(kept.begin(), dim);
  kept.push_back(rank);
  llvm::Expected<LinearLayout> grown =
      layout.insertDim(kept.size() - 1)
          .broadcastDim(kept.size() - 1, contracted);
  if (!grown)
    return grown.takeError();
  llvm::SmallVector<unsigned> permutation;
  for (int64_t dim : dims)
    permutation.push_back(llvm::find(kept, dim) - kept.begin());
  return grown->transpose(permutation).withContiguousRegisters(dims.size() - 1);
}

bool holdsOperand(const LinearLayout &operand, const LinearLayout &accumulator,
                  llvm::ArrayRef<int64_t> dims) {
  int64_t rank = accumulator.getRank();
  unsigned contracted = llvm::find(dims, rank) - dims.begin();
  auto project = [&](const Coordinates &coordinates) {
    std::vector<int32_t> kept;
    for (int64_t dim : dims)
      if (dim != rank)
        kept.push_back(coordinates[dim]);
    return kept;
  };
  auto withoutContracted = [&](const Coordinates &coordinates) {
    std::vector<int32_t> kept(coordinates.begin(), coordinates.end());
    kept.erase(kept.begin() + contracted);
    return kept;
  };
  // Threads differ alike in both.
  for (InputDim input : {InputDim::Lane, InputDim::Warp}) {
    unsigned bits =
        std::max(operand.getNumBits(input), accumulator.getNumBits(input));
    for (unsigned bit = 0; bit < bits; ++bit) {
      std::vector<int32_t> own(dims.size() - 1), wanted(dims.size() - 1);
      if (bit < operand.getNumBits(input)) {
        Coordinates basis = operand.getBasis(input, bit);
        if (basis[contracted] != 0)
          return false;
        own = withoutContracted(basis);
      }
      if (bit < accumulator.getNumBits(input))
        wanted = project(accumulator.getBasis(input, bit));
      if (own != wanted)
        return false;
    }
  }
  // And a thread's registers hold all of what it takes.
  std::set<std::vector<int32_t>> held;
  for (int32_t reg = 0; reg < operand.getNumRegisters(); ++reg) {
    Coordinates coordinates = operand.apply(reg, 0);
    held.insert(std::vector<int32_t>(coordinates.begin(), coordinates.end()));
  }
  for (int32_t reg = 0; reg < accumulator.getNumRegisters(); ++reg) {
    std::vector<int32_t> wanted = project(accumulator.apply(reg, 0));
    wanted.insert(wanted.begin() + contracted, 0);
    for (int64_t k = 0; k < operand.getDimSize(contracted); ++k) {
      wanted[contracted] = k;
      if (!held.count(wanted))
        return false;
    }
  }
  return true;
}

StripPermutation getStrips(const LinearLayout &layout, unsigned dim,
                           int64_t strip) {
  unsigned bits = llvm::Log2_64(layout.getDimSize(dim));
  llvm::SmallVector<unsigned> ofRegisters, ofLanes, others;
  for (unsigned bit = 0; bit < bits; ++bit) {
    auto moves = [&](InputDim input) {
      for (unsigned i = 0; i < layout.getNumBits(input); ++i)
        if (layout.getBasis(input, i)[dim] == 1 << bit)
          return true;
      return false;
    };
    (moves(InputDim::Register) ? ofRegisters
     : moves(InputDim::Lane)   ? ofLanes
                               : others)
        .push_back(bit);
  }
  // Registers beyond those below the lanes are strips already.
  llvm::SmallVector<unsigned> order;
  unsigned stripBits =
      std::min<unsigned>(llvm::Log2_64(strip), ofRegisters.size());
  order.append(ofRegisters.begin(), ofRegisters.begin() + stripBits);
  order.append(ofLanes);
  order.append(ofRegisters.begin() + stripBits, ofRegisters.end());
  order.append(others);
  StripPermutation permutation;
  permutation.bits.resize(bits);
  for (auto [position, bit] : llvm::enumerate(order))
    permutation.bits[bit] = position;
  return permutation;
}

LinearLayout permute(const LinearLayout &layout, unsigned dim,
                     const StripPermutation &permutation) {
  LayoutBases bases = layout.getBases();
  for (std::vector<Coordinates> &ofInput : bases)
    for (Coordinates &basis : ofInput) {
      int32_t moved = 0;
      for (auto [bit, position] : llvm::enumerate(permutation.bits))
        if (basis[dim] & (1 << bit))
          moved |= 1 << position;
      basis[dim] = moved;
    }
  return llvm::cantFail(LinearLayout::create(bases, layout.getShape()));
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

static llvm::Error checkTiling(const MmaTiling &tiling) {
  for (auto [dim, size] : llvm::enumerate(tiling.shape))
    if (dim != tiling.rowDim && dim != tiling.columnDim &&
        (size != 1 || tiling.warps[dim] != 1))
      return llvm::createStringError(
          "tensor cores compute tiles of rows and columns, but dimension " +
          llvm::Twine(dim) + " has size " + llvm::Twine(size) + " and " +
          llvm::Twine(tiling.warps[dim]) + " warps");
  return llvm::Error::success();
}

/// Dimension i of `matrix` becomes dimension `dims[i]` of `rank`; the others
/// have size one.
static LinearLayout embed(LinearLayout matrix, std::array<unsigned, 2> dims,
                          unsigned rank) {
  if (dims[0] > dims[1]) {
    matrix = matrix.transpose({1, 0});
    std::swap(dims[0], dims[1]);
  }
  for (unsigned dim = 0; dim < rank; ++dim)
    if (dim != dims[0] && dim != dims[1])
      matrix = matrix.insertDim(dim);
  return matrix;
}

llvm::Expected<LinearLayout> getMmaAccumulator(const MmaTiling &tiling) {
  if (llvm::Error error = checkTiling(tiling))
    return std::move(error);
  auto [m, n] = std::minmax(tiling.rowDim, tiling.columnDim);
  llvm::Expected<LinearLayout> matrix = mmaTile(
      MmaOperand::Accumulator, tiling.elementBits,
      {tiling.shape[m], tiling.shape[n]}, tiling.warps[m], tiling.warps[n]);
  if (!matrix)
    return matrix;
  return embed(*matrix, {m, n}, tiling.shape.size());
}

static constexpr int64_t warpsPerGroup = 4;

std::pair<unsigned, unsigned> getWgmmaDims(llvm::ArrayRef<int64_t> warps,
                                           unsigned rowDim,
                                           unsigned columnDim) {
  auto [first, second] = std::minmax(rowDim, columnDim);
  if (warps[first] % warpsPerGroup != 0 && warps[second] % warpsPerGroup == 0)
    return {second, first};
  return {first, second};
}

llvm::Expected<LinearLayout> getWgmmaAccumulator(const MmaTiling &tiling) {
  if (llvm::Error error = checkTiling(tiling))
    return std::move(error);
  auto [m, n] = getWgmmaDims(tiling.warps, tiling.rowDim, tiling.columnDim);
  if (tiling.warps[m] % warpsPerGroup != 0)
    return llvm::createStringError(
        "warpgroups have four warps along the rows or the columns, but there "
        "are " +
        llvm::Twine(tiling.warps[m]) + " and " + llvm::Twine(tiling.warps[n]));
  llvm::Expected<LinearLayout> matrix =
      wgmmaAccumulatorTile({tiling.shape[m], tiling.shape[n]},
                           tiling.warps[m] / warpsPerGroup, tiling.warps[n]);
  if (!matrix)
    return matrix;
  return embed(*matrix, {m, n}, tiling.shape.size());
}

llvm::Expected<LinearLayout> getScatteredLayout(const LinearLayout &layout,
                                                unsigned dim, int64_t parts) {
  llvm::SmallVector<int64_t, 4> shape = layout.getShape();
  shape[dim] /= parts;
  LayoutBases bases = layout.getBases();
  for (auto [input, ofInput] : llvm::enumerate(bases))
    for (const Coordinates &basis : ofInput)
      if (basis[dim] >= shape[dim] && InputDim(input) != InputDim::Register)
        return llvm::createStringError(
            "parts along dimension " + llvm::Twine(dim) +
            " are in other threads, which would have to send all");
  llvm::erase_if(
      bases[unsigned(InputDim::Register)],
      [&](const Coordinates &basis) { return basis[dim] >= shape[dim]; });
  return LinearLayout::create(bases, shape);
}

llvm::Expected<LinearLayout> getMmaOperand(const MmaTiling &tiling,
                                           llvm::ArrayRef<int64_t> dims,
                                           int64_t contracted) {
  if (llvm::Error error = checkTiling(tiling))
    return std::move(error);
  auto [m, n] = std::minmax(tiling.rowDim, tiling.columnDim);
  auto positionOf = [&](int64_t dim) -> unsigned {
    return llvm::find(dims, dim) - dims.begin();
  };
  bool isA = positionOf(m) != dims.size();
  unsigned own = isA ? m : n, sum = positionOf(tiling.shape.size());
  llvm::SmallVector<int64_t, 2> shape = {tiling.shape[own], contracted};
  std::array<unsigned, 2> places = {positionOf(own), sum};
  if (!isA) {
    std::swap(shape[0], shape[1]);
    std::swap(places[0], places[1]);
  }
  llvm::Expected<LinearLayout> matrix =
      mmaTile(isA ? MmaOperand::A : MmaOperand::B, tiling.elementBits, shape,
              tiling.warps[m], tiling.warps[n]);
  if (!matrix)
    return matrix;
  return embed(*matrix, places, dims.size());
}

} // namespace deplo
