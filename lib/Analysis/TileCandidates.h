// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models of contractions enumerate.

#ifndef DEPLO_LIB_ANALYSIS_TILECANDIDATES_H
#define DEPLO_LIB_ANALYSIS_TILECANDIDATES_H

#include "deplo/Target/TargetDescription.h"

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
