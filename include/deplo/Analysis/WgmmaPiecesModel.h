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

/// Returns the fastest choice that agrees with the pins, or the sentence that
/// says why there is none in `error`. Warps are those that compute; the time
/// has that of writing the pieces.
std::optional<MmaChoice> chooseWgmmaOfPieces(const ContractionFacts &facts,
                                             const TargetDescription &target,
                                             const MmaPins &pins,
                                             std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_WGMMAPIECESMODEL_H
