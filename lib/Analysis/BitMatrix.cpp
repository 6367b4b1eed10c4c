// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/BitMatrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace deplo;

Echelon::Vector Echelon::reduce(Vector vector) const {
  for (const Vector &other : vectors)
    if (vector.value & llvm::bit_floor(other.value)) {
      vector.value ^= other.value;
      vector.combination ^= other.combination;
    }
  return vector;
}

bool Echelon::insert(Vector vector) {
  vector = reduce(vector);
  if (vector.value == 0)
    return false;
  // Two vectors with distinct leading bits compare like these bits.
  auto *position = llvm::find_if(
      vectors, [&](const Vector &other) { return other.value < vector.value; });
  vectors.insert(position, vector);
  return true;
}

uint64_t Echelon::leadingBits() const {
  uint64_t bits = 0;
  for (const Vector &vector : vectors)
    bits |= llvm::bit_floor(vector.value);
  return bits;
}

llvm::SmallVector<uint64_t, 16> Echelon::getValues() const {
  llvm::SmallVector<uint64_t, 16> values;
  for (const Vector &vector : vectors)
    values.push_back(vector.value);
  return values;
}

BitMatrix BitMatrix::identity(unsigned size) {
  BitMatrix result(size);
  for (unsigned i = 0; i < size; ++i)
    result.columns.push_back(uint64_t(1) << i);
  return result;
}

uint64_t BitMatrix::apply(uint64_t argument) const {
  uint64_t image = 0;
  for (auto [i, column] : llvm::enumerate(columns))
    if (argument >> i & 1)
      image ^= column;
  return image;
}

BitMatrix BitMatrix::operator*(const BitMatrix &first) const {
  BitMatrix result(numRows);
  for (uint64_t column : first.columns)
    result.columns.push_back(apply(column));
  return result;
}

/// The span of the columns, each vector with the argument it is the image of.
/// Columns that depend on others go to `kernel`.
static Echelon eliminate(llvm::ArrayRef<uint64_t> columns, Echelon *kernel) {
  Echelon image;
  for (auto [i, column] : llvm::enumerate(columns)) {
    Echelon::Vector vector{column, uint64_t(1) << i};
    if (!image.insert(vector) && kernel)
      kernel->insert(image.reduce(vector).combination);
  }
  return image;
}

unsigned BitMatrix::rank() const { return eliminate(columns, nullptr).rank(); }

Echelon BitMatrix::kernel() const {
  Echelon kernel;
  eliminate(columns, &kernel);
  return kernel;
}

std::optional<uint64_t> BitMatrix::solve(uint64_t image) const {
  Echelon::Vector rest = eliminate(columns, nullptr).reduce({image, 0});
  if (rest.value != 0)
    return std::nullopt;
  // The smallest, since it uses no column that depends on those before it: the
  // bits of such columns are the leading bits of the kernel.
  return rest.combination;
}

std::optional<BitMatrix> BitMatrix::rightInverse() const {
  // Smallest solutions are closed under addition: they are the ones without a
  // leading bit of the kernel. So the columns determine the map.
  BitMatrix result(getNumColumns());
  for (unsigned row = 0; row < numRows; ++row) {
    std::optional<uint64_t> argument = solve(uint64_t(1) << row);
    if (!argument)
      return std::nullopt;
    result.columns.push_back(*argument);
  }
  return result;
}
