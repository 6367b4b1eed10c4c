// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic model behind select_schedule for contractions by wgmma, with
// operands that the tensor memory accelerator copies. See
// docs/rationale/contractions.md.

#ifndef DEPLO_ANALYSIS_WGMMAMODEL_H
#define DEPLO_ANALYSIS_WGMMAMODEL_H

#include "deplo/Analysis/MmaModel.h"

#include <vector>

namespace deplo {

/// The tiles of a block with `size` elements along an axis: the powers of two
/// that this is the sum of, the largest first.
std::vector<int64_t> getTilesAlong(int64_t size);

/// Returns the fastest choice that agrees with the pins, or the sentence that
/// says why there is none in `error`. Warps are those that compute.
std::optional<MmaChoice> chooseWgmma(const ContractionFacts &facts,
                                     const TargetDescription &target,
                                     const MmaPins &pins, std::string &error);

} // namespace deplo

#endif // DEPLO_ANALYSIS_WGMMAMODEL_H
