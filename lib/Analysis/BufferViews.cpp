// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/BufferViews.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <numeric>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace deplo {

void LinearCoordinate::add(unsigned variable, int64_t factor) {
  if (factor == 0)
    return;
  for (auto &[other, sum] : terms)
    if (other == variable) {
      sum += factor;
      return;
    }
  terms.push_back({variable, factor});
}

int64_t LinearCoordinate::getFactor(unsigned variable) const {
  for (auto [other, factor] : terms)
    if (other == variable)
      return factor;
  return 0;
}

bool BufferView::hasRun(const Runs &runs) {
  return llvm::any_of(runs, [](const auto &run) { return run.size() != 1; });
}

namespace {

struct Term {
  unsigned loop;
  int64_t factor;
};

/// The loops that a merged coordinate depends on.
struct MergedCoordinate {
  int64_t constant = 0;
  SmallVector<Term> terms;
};

} // namespace

/// Runs of dimensions such that the variables of each loop are in one run.
/// Dimensions of size 1 go along with a run beside them.
static BufferView::Runs getRuns(ArrayRef<int64_t> shape,
                                ArrayRef<LinearCoordinate> coordinates,
                                ArrayRef<SmallVector<unsigned>> loops) {
  size_t rank = coordinates.size();
  // joined[d]: dimensions d and d + 1 are in one run.
  SmallVector<bool> joined(rank, false);
  for (ArrayRef<unsigned> loop : loops) {
    auto usesLoop = [&](const LinearCoordinate &coordinate) {
      return llvm::any_of(coordinate.terms, [&](auto term) {
        return llvm::is_contained(loop, term.first);
      });
    };
    const auto *first = llvm::find_if(coordinates, usesLoop);
    if (first == coordinates.end())
      continue;
    size_t begin = first - coordinates.begin(), end = begin;
    for (size_t dim = begin; dim < rank; ++dim)
      if (usesLoop(coordinates[dim]))
        end = dim;
    for (size_t dim = begin; dim < end; ++dim)
      joined[dim] = true;
  }
  auto absorbUnits = [&](auto dims) {
    for (size_t dim : dims) {
      bool isBesideRun =
          (dim > 0 && joined[dim - 1]) || (dim + 2 < rank && joined[dim + 1]);
      bool hasUnit = shape[dim] == 1 || shape[dim + 1] == 1;
      joined[dim] = joined[dim] || (isBesideRun && hasUnit);
    }
  };
  if (rank > 1) {
    absorbUnits(llvm::seq<size_t>(0, rank - 1));
    absorbUnits(llvm::reverse(llvm::seq<size_t>(0, rank - 1)));
  }
  BufferView::Runs runs;
  for (size_t dim = 0; dim < rank; ++dim) {
    if (dim == 0 || !joined[dim - 1])
      runs.emplace_back();
    runs.back().push_back(dim);
  }
  return runs;
}

/// Whether the dimensions of `run` follow each other in memory; those of size 1
/// have no say.
static bool isContiguous(ArrayRef<int64_t> run, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> strides) {
  int64_t expected = -1;
  for (int64_t dim : llvm::reverse(run)) {
    if (shape[dim] == 1)
      continue;
    if (expected >= 0 && strides[dim] != expected)
      return false;
    expected = strides[dim] * shape[dim];
  }
  return true;
}

/// `coordinate` in loops instead of their variables; none if it depends on a
/// part of a loop.
static std::optional<MergedCoordinate>
groupByLoop(const LinearCoordinate &coordinate, const LoopNest &nest) {
  MergedCoordinate merged;
  merged.constant = coordinate.constant;
  size_t variables = 0;
  for (auto [loop, loopVariables] : llvm::enumerate(nest.loops)) {
    int64_t factor = coordinate.getFactor(loopVariables.back());
    if (factor == 0)
      continue;
    int64_t expected = factor;
    for (unsigned variable : llvm::reverse(loopVariables)) {
      if (coordinate.getFactor(variable) != expected)
        return std::nullopt;
      expected *= nest.extents[variable];
    }
    variables += loopVariables.size();
    merged.terms.push_back({static_cast<unsigned>(loop), factor});
  }
  if (variables != coordinate.terms.size())
    return std::nullopt;
  return merged;
}

static int64_t getLoopExtent(const LoopNest &nest, unsigned loop) {
  int64_t extent = 1;
  for (unsigned variable : nest.loops[loop])
    extent *= nest.extents[variable];
  return extent;
}

/// The largest size of an inner part of a dimension of `size` such that the
/// outer part moves by whole inner parts, by `factor`, and the terms inside,
/// which reach `innerMax` from a start of `constant`, stay within one; 0 if
/// there is none.
static int64_t getInnerSize(int64_t size, int64_t factor, int64_t constant,
                            int64_t innerMax) {
  int64_t largest = std::gcd(size, factor);
  for (int64_t parts = 1; parts <= largest; ++parts) {
    if (largest % parts != 0)
      continue;
    int64_t inner = largest / parts;
    if (constant % inner + innerMax < inner)
      return inner;
    if (inner <= innerMax)
      break;
  }
  return 0;
}

/// Appends to `view` the dimensions into which a dimension of `size` is divided
/// so that each of the loops in `coordinate` has its own.
static bool divide(MergedCoordinate coordinate, int64_t size,
                   const LoopNest &nest, BufferView &view) {
  llvm::sort(coordinate.terms,
             [](const Term &a, const Term &b) { return a.factor > b.factor; });
  auto &run = view.divided.emplace_back();
  auto append = [&](int64_t dimSize, BoxCoordinate box) {
    run.push_back(view.shape.size());
    view.shape.push_back(dimSize);
    view.coordinates.push_back(box);
  };
  if (coordinate.terms.empty()) {
    append(size, {coordinate.constant, 0, 0});
    return true;
  }
  auto getMax = [&](const Term &term) {
    return term.factor * (getLoopExtent(nest, term.loop) - 1);
  };
  int64_t innerMax = 0, constant = coordinate.constant;
  for (const Term &term : coordinate.terms) {
    if (term.factor < 0)
      return false;
    innerMax += getMax(term);
  }
  for (auto [index, term] : llvm::enumerate(coordinate.terms)) {
    innerMax -= getMax(term);
    bool isInnermost = index + 1 == coordinate.terms.size();
    int64_t inner =
        isInnermost ? 1 : getInnerSize(size, term.factor, constant, innerMax);
    if (inner == 0)
      return false;
    BoxCoordinate box{constant / inner, term.factor / inner, term.loop};
    if (box.constant + getMax(term) / inner >= size / inner)
      return false;
    append(size / inner, box);
    constant %= inner;
    size = inner;
  }
  return true;
}

std::optional<BufferView> getBoxView(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> strides,
                                     ArrayRef<LinearCoordinate> coordinates,
                                     const LoopNest &nest) {
  BufferView view;
  view.merged = getRuns(shape, coordinates, nest.loops);
  for (ArrayRef<int64_t> run : view.merged) {
    if (!isContiguous(run, shape, strides))
      return std::nullopt;
    int64_t size = 1;
    LinearCoordinate position;
    for (int64_t dim : llvm::reverse(run)) {
      position.constant += coordinates[dim].constant * size;
      for (auto [variable, factor] : coordinates[dim].terms)
        position.add(variable, factor * size);
      size *= shape[dim];
    }
    view.mergedShape.push_back(size);
    std::optional<MergedCoordinate> merged = groupByLoop(position, nest);
    if (!merged || !divide(*merged, size, nest, view))
      return std::nullopt;
  }
  return view;
}

} // namespace deplo
