// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic model behind select_schedule: from the extents and accesses of
// a kernel to the block, warps, vector and chunk that should run fastest on a
// target. See docs/rationale/schedule-selection.md.

#ifndef DEPLO_ANALYSIS_SCHEDULEMODEL_H
#define DEPLO_ANALYSIS_SCHEDULEMODEL_H

#include "deplo/Target/TargetDescription.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace deplo {

/// One load or store of a kernel. Equal loads count once.
struct ScheduleAccess {
  int64_t elementBytes;
  bool isStore = false;
  /// Elements of memory between neighbours along each dimension, the parallel
  /// axes first, then the inner dimensions; 0 where the access stays put.
  std::vector<int64_t> strides;
  /// The largest power of two, in elements, that divides every address of the
  /// access apart from its unit-stride dimension: base pointer, offset and the
  /// other strides.
  int64_t alignment;
  /// The most elements that it can touch: those of the memref.
  int64_t elements = std::numeric_limits<int64_t>::max();
};

/// A dimension inside of the parallel axes: a reduction, or a sweep over a row.
struct ScheduleInnerDim {
  int64_t extent;
  bool isReduced;
};

struct ScheduleFacts {
  /// Extents of the parallel axes, outermost first.
  std::vector<int64_t> axes;
  /// Outermost first. Loops over the same data are one dimension.
  std::vector<ScheduleInnerDim> inner;
  std::vector<ScheduleAccess> accesses;
  /// The most tiles over an inner dimension (or, without one, over the axes)
  /// that are alive at once.
  int64_t liveTiles = 1;
  /// The same with the intermediate results of functions, if all elements of a
  /// thread are computed side by side: what must fit in its registers.
  int64_t peakTiles = 1;
  /// Reductions that wait for one another.
  int64_t dependentReductions = 0;
  /// Scans along an inner dimension: in each chunk threads wait for one
  /// another.
  int64_t scans = 0;
  /// The most instructions by which one of them folds two values.
  int64_t foldInstructions = 1;
  /// The most results of one reduction.
  int64_t reducedValues = 1;
  /// Loops over inner dimensions that wait for one another.
  int64_t passes = 1;
  /// How many of those loops over chunks do without (chunk_reduce: a maximum
  /// and a sum relative to it are found in one).
  int64_t joinedPasses = 0;
  /// Instructions for each element.
  int64_t instructions = 1;
  /// Those for each access that say where it reads, and whether.
  int64_t indexInstructions = 0;
  /// Loads on the longest way to where another one reads.
  int64_t indirections = 0;
  /// Whether the blocks of a cluster may share a row.
  bool mayShareRows = false;
  /// Whether the length of rows is known when the kernel runs.
  bool hasSymbolicRows = false;
  /// The axis whose iterations fold a part each of a reduction (loop.reduce):
  /// a block has one of them, and goes through it by chunks. The inner
  /// dimension is as long as a part then.
  std::optional<size_t> partAxis;
  /// Sizes that each launch gives.
  int64_t symbolicSizes = 0;
};

/// Fields that are decided already.
struct SchedulePins {
  std::optional<std::vector<int64_t>> block;
  std::optional<int64_t> warps, vector, cluster, chunk, unroll;
  /// Whether rows may be kept in shared memory.
  std::optional<bool> stages;
};

struct ScheduleChoice {
  /// Elements of each axis in a block.
  std::vector<int64_t> block;
  int64_t warps = 1;
  int64_t vector = 1;
  /// Blocks that share each row.
  int64_t cluster = 1;
  /// Elements of the inner dimensions that are on chip at once; 0 for all.
  int64_t chunk = 0;
  int64_t unroll = 1;

  // Figures.
  /// Loads of one operand that a thread has in flight in a loop over chunks.
  int64_t loadsAhead = 1;
  int64_t elementsPerThread = 1;
  int64_t blocks = 1;
  int64_t blocksPerMultiprocessor = 1;
  double waves = 1;
  int64_t registersPerThread = 1;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  double nanoseconds = 0;
  /// Why, in one sentence.
  std::string reason;
};

/// How many elements of a row of `extent` each of up to `cluster` blocks has: a
/// power of two, or, if it goes by chunks anyhow and rows have masks, as few
/// chunks as possible.
int64_t getClusterSlice(int64_t extent, int64_t cluster, int64_t chunk);

/// Returns the best choice that agrees with the pins, or the sentence that says
/// why there is none in `error`.
std::optional<ScheduleChoice> chooseSchedule(const ScheduleFacts &facts,
                                             const TargetDescription &target,
                                             const SchedulePins &pins,
                                             std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_SCHEDULEMODEL_H
