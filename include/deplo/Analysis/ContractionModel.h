// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic model behind select_schedule for contractions. See
// docs/rationale/contractions.md.

#ifndef DEPLO_ANALYSIS_CONTRACTIONMODEL_H
#define DEPLO_ANALYSIS_CONTRACTIONMODEL_H

#include "deplo/Target/TargetDescription.h"

#include <optional>
#include <string>
#include <vector>

namespace deplo {

/// Whether the sum of `depth` products is one of the sums of its chunks: where
/// one f32 that takes up all of them would lose more than a rounding or two.
/// Results of narrower operands are rounded to these, which hides that.
bool sumsInTwoLevels(int64_t depth, int64_t elementBytes);

/// The longest side of a block's tile.
inline constexpr int64_t longestTile = 256;

/// Registers of a thread that owns `sums` sums and holds `operands` values of
/// both operands at once, if they are to be few.
int64_t getContractionRegisters(int64_t sums, int64_t operands);

/// The operands that give a result its rows, or its columns.
struct OperandFacts {
  int64_t count = 1;
  /// How many of them are computed as they are staged, and for one element of
  /// each of these, the bytes that are read and the operations.
  int64_t computed = 0, bytesComputedFrom = 0;
  double operations = 0;
  /// Of those of which an asynchronous copy moves no 4 bytes at once, because
  /// rows are at any address.
  int64_t unaligned = 0;
  /// Of those of which a copy costs nothing in a call (prepare_weights).
  int64_t prepared = 0;

  /// How many are gathered: computed, of nothing that is copied.
  int64_t getGathered() const { return bytesComputedFrom == 0 ? computed : 0; }

  /// Bytes of one element of each as it comes from memory.
  int64_t getCopiedBytes(int64_t elementBytes) const {
    return (count - computed) * elementBytes + bytesComputedFrom;
  }
};

struct ContractionFacts {
  /// Products of all batch axes, of rows, of columns, and of what is summed
  /// over.
  int64_t batches, rows, columns, depth;
  int64_t elementBytes;
  /// Where only a call knows the rows: the range that they are in; else 0.
  int64_t leastRows = 0, mostRows = 0;
  /// Sums of one element each.
  int64_t sums = 1;
  OperandFacts ofRows = {}, ofColumns = {};
  /// Whether neighbours in memory are summed over: then a thread reads several
  /// of them at once.
  bool isLhsAlongDepth = false, isRhsAlongDepth = false;
  /// Whether chunks are summed from zero and added to totals.
  bool inTwoLevels = false;
  /// Whether tensor cores multiply f32 as three pieces of bf16.
  bool inPieces = false;
  /// Of f32 operands, whether tensor maps can copy them as they are.
  bool canMapLhs = false, canMapRhs = false;
  /// Whether a block folds the rows of its result, and so has all columns.
  bool foldsRows = false;
  /// Whether pieces for wgmma are two of f16, of rows with scales.
  bool ofScaledRows = false;

  /// The columns of a block if there is no choice, or if `pin` says so; else 0.
  int64_t getPinnedColumns(int64_t pin) const;
  /// Why no block can have all columns, if it has to.
  std::optional<std::string> checkColumns() const;

  /// Of one summed element, in a block: bytes that are copied, bytes that are
  /// computed of these, and the time that takes a multiprocessor.
  int64_t getCopiedBytes(int64_t blockRows, int64_t blockColumns) const {
    return blockRows * ofRows.getCopiedBytes(elementBytes) +
           blockColumns * ofColumns.getCopiedBytes(elementBytes);
  }
  int64_t getComputedBytes(int64_t blockRows, int64_t blockColumns) const {
    return (blockRows * ofRows.computed + blockColumns * ofColumns.computed) *
           elementBytes;
  }
  /// Registers of a thread for what is gathered of a chunk, while another one
  /// is multiplied, and for where that is.
  int64_t getGatheredRegisters(int64_t blockRows, int64_t blockColumns,
                               int64_t chunk, int64_t threads) const {
    return 2 *
           (blockRows * ofRows.getGathered() +
            blockColumns * ofColumns.getGathered()) *
           chunk / threads;
  }
  double getComputeNanoseconds(const TargetDescription &target,
                               int64_t blockRows, int64_t blockColumns) const;
  /// Bytes of the totals of a block's sums over two levels (stage_totals).
  int64_t getTotalBytes(int64_t blockRows, int64_t blockColumns) const;
};

/// Fields that are decided already; 0 for those that are not.
struct ContractionPins {
  int64_t blockRows = 0, blockColumns = 0, threadRows = 0, threadColumns = 0;
  int64_t warps = 0, chunk = 0, unroll = 0, vector = 0, stages = 0;
  std::optional<bool> isTransposed;
};

struct ContractionChoice {
  int64_t blockRows, blockColumns, threadRows, threadColumns;
  int64_t warps, chunk, vector, unroll, stages;
  /// Whether chunks have a row for each summed element (transpose_smem).
  bool isTransposed = false;

  // Figures.
  int64_t blocks, blocksPerMultiprocessor, registersPerThread, sharedBytes;
  double waves, nanoseconds;
  /// What takes most of the time.
  const char *limit = "";
  /// Why, in one sentence.
  std::string reason;
};

/// Returns the fastest choice that agrees with the pins, or the sentence that
/// says why there is none in `error`.
std::optional<ContractionChoice>
chooseContraction(const ContractionFacts &facts,
                  const TargetDescription &target, const ContractionPins &pins,
                  std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_CONTRACTIONMODEL_H
