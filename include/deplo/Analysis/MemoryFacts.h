// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties of the memory of the architecture family rather than of a product,
// measured on an H200 (docs/rationale/schedule-selection.md).

#ifndef DEPLO_ANALYSIS_MEMORYFACTS_H
#define DEPLO_ANALYSIS_MEMORYFACTS_H

namespace deplo {

/// From a load to its value.
constexpr double memoryLatencyNanoseconds = 700;
/// Bandwidth of L2, in times that of memory.
constexpr double l2Bandwidth = 1.5;
/// A multiprocessor can draw several times its share of the memory bandwidth
/// when the others are idle.
constexpr double bandwidthBurst = 3;

} // namespace deplo

#endif // DEPLO_ANALYSIS_MEMORYFACTS_H
