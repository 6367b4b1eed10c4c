// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic model behind select_schedule for contractions by mma.sync. See
// docs/rationale/contractions.md.

#ifndef DEPLO_ANALYSIS_MMAMODEL_H
#define DEPLO_ANALYSIS_MMAMODEL_H

#include "deplo/Analysis/ContractionModel.h"

namespace deplo {

/// The operand of a contraction of f32 by wgmma whose pieces are made in
/// registers; those of the others are in memory.
enum class WholeOperand { None, Lhs, Rhs };

/// Fields that are decided already; 0 for those that are not.
struct MmaPins {
  int64_t blockRows = 0, blockColumns = 0, warpRows = 0, warpColumns = 0;
  int64_t warps = 0, chunk = 0, stages = 0, cluster = 0;
  std::optional<WholeOperand> whole = std::nullopt;
  /// Whether one operand is whole, whichever it is.
  std::optional<bool> inRegisters = std::nullopt;
};

struct MmaChoice {
  int64_t blockRows, blockColumns, warpRows, warpColumns;
  int64_t warps, chunk, stages;
  /// Blocks that share the chunks of a tile.
  int64_t cluster = 1;
  WholeOperand whole = WholeOperand::None;

  // Figures.
  int64_t blocks, blocksPerMultiprocessor, registersPerThread, sharedBytes;
  double waves, nanoseconds;
  /// What takes most of the time.
  const char *limit = "";
  /// Whether copies would come in time with fewer stages as well, about.
  bool copiesEarly = false;
  /// Why, in one sentence.
  std::string reason;
};

/// Returns the fastest choice that agrees with the pins, or the sentence that
/// says why there is none in `error`.
std::optional<MmaChoice> chooseMma(const ContractionFacts &facts,
                                   const TargetDescription &target,
                                   const MmaPins &pins, std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_MMAMODEL_H
