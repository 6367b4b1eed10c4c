// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/MatrixAccess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace deplo {

static constexpr unsigned rowBits = 128, wordBits = 32;
static constexpr unsigned lanesBits = 5;

/// The move of `distance` elements along `dim`.
static Coordinates getMove(unsigned rank, unsigned dim, int32_t distance) {
  Coordinates move(rank, 0);
  move[dim] = distance;
  return move;
}

std::optional<MatrixAccess> getMatrixAccess(const LinearLayout &layout,
                                            unsigned contiguousDim,
                                            unsigned elementBits) {
  if (elementBits > wordBits || layout.getNumBits(InputDim::Lane) != lanesBits)
    return std::nullopt;
  unsigned rank = layout.getRank();
  MatrixAccess access;
  access.elementsPerWord = wordBits / elementBits;
  access.rowElements = rowBits / elementBits;
  unsigned wordRegisterBits = llvm::Log2_32(access.elementsPerWord);
  LayoutBases bases = layout.getBases();
  const auto &registers = bases[unsigned(InputDim::Register)];
  const auto &lanes = bases[unsigned(InputDim::Lane)];
  if (registers.size() < wordRegisterBits)
    return std::nullopt;

  // The bits that go along the row of a matrix, and those that go from row to
  // row, without and with transposition.
  std::vector<Coordinates> words(registers.begin(),
                                 registers.begin() + wordRegisterBits);
  std::vector<Coordinates> inner = words, outer(lanes.begin() + 2, lanes.end());
  inner.insert(inner.end(), lanes.begin(), lanes.begin() + 2);
  auto isAlongRow = [&](const std::vector<Coordinates> &moves) {
    return llvm::all_of(llvm::enumerate(moves), [&](auto move) {
      return move.value() == getMove(rank, contiguousDim, 1 << move.index());
    });
  };
  if (!isAlongRow(inner)) {
    std::swap(inner, outer);
    access.isTransposed = true;
    if (elementBits != 16 || !isAlongRow(inner))
      return std::nullopt;
  }

  std::vector<Coordinates> others(registers.begin() + wordRegisterBits,
                                  registers.end());
  std::vector<Coordinates> atRowStarts = outer;
  llvm::append_range(atRowStarts, others);
  llvm::append_range(atRowStarts, bases[unsigned(InputDim::Warp)]);
  if (llvm::any_of(atRowStarts, [&](const Coordinates &move) {
        return move[contiguousDim] % access.rowElements != 0;
      }))
    return std::nullopt;

  unsigned matrixBits = std::min<size_t>(others.size(), 2);
  access.matrices = 1 << matrixBits;
  LayoutBases rows;
  rows[unsigned(InputDim::Register)] = inner;
  rows[unsigned(InputDim::Register)].insert(
      rows[unsigned(InputDim::Register)].end(), others.begin() + matrixBits,
      others.end());
  std::vector<Coordinates> &rowLanes = rows[unsigned(InputDim::Lane)];
  rowLanes = outer;
  rowLanes.insert(rowLanes.end(), others.begin(), others.begin() + matrixBits);
  // Addresses of lanes beyond the matrices are not looked at.
  rowLanes.resize(lanesBits, Coordinates(rank, 0));
  rows[unsigned(InputDim::Warp)] = bases[unsigned(InputDim::Warp)];
  access.rows = llvm::cantFail(LinearLayout::create(rows, layout.getShape()));
  return access;
}

} // namespace deplo
