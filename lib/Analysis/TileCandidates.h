// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models of contractions enumerate.

#ifndef DEPLO_LIB_ANALYSIS_TILECANDIDATES_H
#define DEPLO_LIB_ANALYSIS_TILECANDIDATES_H

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Target/TargetDescription.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace deplo {

/// `least` and its doubles up to `most`, or `pin` alone if it isn't 0.
inline std::vector<int64_t> getPowers(int64_t least, int64_t most,
                                      int64_t pin) {
  if (pin)
    return {pin};
  std::vector<int64_t> powers;
  for (int64_t power = least; power <= most; power *= 2)
    powers.push_back(power);
  return powers;
}

/// `numbers`, or `pin` alone if it isn't 0.
inline std::vector<int64_t> getNumbers(std::vector<int64_t> numbers,
                                       int64_t pin) {
  return pin ? std::vector<int64_t>{pin} : std::move(numbers);
}

/// What `estimate` says of `facts`; where only a call knows the rows, the
/// geometric mean over those of the range that double: no number of them counts
/// more than another.
template <typename Estimate>
double estimateRange(const ContractionFacts &facts, Estimate estimate) {
  // More rows are more waves of the same blocks.
  constexpr int64_t manyRows = 8192;
  if (facts.leastRows == 0)
    return estimate(facts);
  ContractionFacts ofCall = facts;
  double logarithms = 0;
  int64_t count = 0;
  for (ofCall.rows = facts.leastRows;
       count == 0 || ofCall.rows <= std::min(facts.mostRows, manyRows);
       ofCall.rows *= 2, ++count)
    logarithms += std::log(estimate(ofCall));
  return std::exp(logarithms / count);
}

/// Why there is no choice: `contraction` says how it is computed, `remedy` what
/// may fit.
inline std::string sayNoTileFits(const std::string &contraction,
                                 const TargetDescription &target,
                                 const std::string &remedy) {
  return "no tile of a " + contraction +
         " that agrees with what is pinned fits " + target.chip + "; use " +
         remedy;
}

} // namespace deplo

#endif // DEPLO_LIB_ANALYSIS_TILECANDIDATES_H
