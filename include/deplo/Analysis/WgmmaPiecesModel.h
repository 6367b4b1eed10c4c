// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic model behind select_schedule for contractions of f32 by wgmma of
// three pieces of bf16, or two of f16, which kernels of their own write to
// memory. See docs/rationale/precision-modes.md.

#ifndef DEPLO_ANALYSIS_WGMMAPIECESMODEL_H
#define DEPLO_ANALYSIS_WGMMAPIECESMODEL_H

#include "deplo/Analysis/MmaModel.h"

namespace deplo {

/// Products of pieces that stand for one of f32: of three pieces of bf16, and
/// of two of f16.
inline constexpr int64_t productsOfPieces = 6, productsOfScaledPieces = 3;
/// Sums of fewer products may have larger errors in pieces than in
/// multiply-adds.
inline constexpr int64_t leastProductsInPieces = 256;

/// Returns the fastest choice that agrees with the pins, or the sentence that
/// says why there is none in `error`. Warps are those that compute; the time
/// has that of writing the pieces.
std::optional<MmaChoice> chooseWgmmaOfPieces(const ContractionFacts &facts,
                                             const TargetDescription &target,
                                             const MmaPins &pins,
                                             std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_WGMMAPIECESMODEL_H
