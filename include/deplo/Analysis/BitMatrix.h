// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear algebra over GF(2), on machine words.

#ifndef DEPLO_ANALYSIS_BITMATRIX_H
#define DEPLO_ANALYSIS_BITMATRIX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace deplo {

/// Vectors over GF(2) kept with distinct leading bits, each with a record of
/// the inserted vectors that it is the sum of.
class Echelon {
public:
  struct Vector {
    uint64_t value;
    uint64_t combination;
  };

  /// `value` minus the largest part of it that the inserted vectors span. The
  /// value of the result is zero if and only if they span all of it.
  Vector reduce(Vector vector) const;

  /// Adds `vector` and returns true, or returns false if it depends on the
  /// vectors that are there already.
  bool insert(Vector vector);
  bool insert(uint64_t value) { return insert(Vector{value, 0}); }

  unsigned rank() const { return vectors.size(); }
  /// The bits that lead a vector; `reduce` leaves none of them set.
  uint64_t leadingBits() const;
  /// By descending leading bit.
  llvm::SmallVector<uint64_t, 16> getValues() const;

private:
  /// By descending leading bit.
  llvm::SmallVector<Vector, 16> vectors;
};

/// A matrix over GF(2) of at most 64 rows and 64 columns. Column i is the image
/// of bit i of the argument.
class BitMatrix {
public:
  BitMatrix() = default;
  explicit BitMatrix(unsigned numRows, llvm::ArrayRef<uint64_t> columns = {})
      : numRows(numRows), columns(columns) {}
  static BitMatrix identity(unsigned size);

  unsigned getNumRows() const { return numRows; }
  unsigned getNumColumns() const { return columns.size(); }
  llvm::ArrayRef<uint64_t> getColumns() const { return columns; }

  uint64_t apply(uint64_t argument) const;
  /// `(a * b).apply(x) == a.apply(b.apply(x))`.
  BitMatrix operator*(const BitMatrix &first) const;
  bool operator==(const BitMatrix &other) const {
    return numRows == other.numRows && columns == other.columns;
  }
  bool operator!=(const BitMatrix &other) const { return !(*this == other); }

  unsigned rank() const;
  /// The arguments that map to zero.
  Echelon kernel() const;
  /// The smallest argument that maps to `image`, if there is one.
  std::optional<uint64_t> solve(uint64_t image) const;
  /// The map from each image to its smallest argument; nothing if some images
  /// have none.
  std::optional<BitMatrix> rightInverse() const;

private:
  unsigned numRows = 0;
  llvm::SmallVector<uint64_t, 16> columns;
};

} // namespace deplo

#endif // DEPLO_ANALYSIS_BITMATRIX_H
