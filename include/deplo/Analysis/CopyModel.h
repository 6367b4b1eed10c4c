// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels take that copy operands of contractions.

#ifndef DEPLO_ANALYSIS_COPYMODEL_H
#define DEPLO_ANALYSIS_COPYMODEL_H

#include "deplo/Target/TargetDescription.h"

namespace deplo {

/// Nanoseconds to move so many bytes, to or from L2 if they fit there.
double estimateTransfer(double bytes, const TargetDescription &target);

/// Nanoseconds of `kernels` that read and write so many bytes.
double estimateCopies(double bytes, int64_t kernels,
                      const TargetDescription &target);

} // namespace deplo

#endif // DEPLO_ANALYSIS_COPYMODEL_H
