// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ldmatrix reads a tile from shared memory.
//
// The instruction moves up to four matrices of 8 rows of 16 bytes. Lanes
// 8 * i to 8 * i + 7 give the addresses of the rows of matrix i, which then is
// register i of all lanes: four lanes share a row, in words of 4 bytes.
// Transposed, for 16-bit elements, they share a column. (PTX ISA, "ldmatrix".)

#ifndef DEPLO_ANALYSIS_MATRIXACCESS_H
#define DEPLO_ANALYSIS_MATRIXACCESS_H

#include "deplo/Analysis/LinearLayout.h"

#include <optional>

namespace deplo {

struct MatrixAccess {
  bool isTransposed = false;
  /// Of one instruction: 1, 2 or 4. Matrix m of instruction i are the registers
  /// from (i * matrices + m) * elementsPerWord on.
  unsigned matrices = 1;
  int32_t elementsPerWord = 1;
  /// Elements of a row.
  int32_t rowElements = 1;
  /// Lane i has the row whose address it gives: its elements are the lowest
  /// registers, and further registers are further instructions. To shared
  /// memory this is how threads would read 16 bytes each.
  LinearLayout rows;

  int32_t getNumInstructions() const {
    return rows.getNumRegisters() / rowElements;
  }
};

/// The access by which each thread gets what `layout` says of a tile of which
/// `contiguousDim` is contiguous in shared memory; none if ldmatrix doesn't
/// bring it there.
std::optional<MatrixAccess> getMatrixAccess(const LinearLayout &layout,
                                            unsigned contiguousDim,
                                            unsigned elementBits);

} // namespace deplo

#endif // DEPLO_ANALYSIS_MATRIXACCESS_H
