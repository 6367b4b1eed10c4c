// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models of contractions enumerate.

#ifndef DEPLO_LIB_ANALYSIS_TILECANDIDATES_H
#define DEPLO_LIB_ANALYSIS_TILECANDIDATES_H

#include <cstdint>
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

} // namespace deplo

#endif // DEPLO_LIB_ANALYSIS_TILECANDIDATES_H
