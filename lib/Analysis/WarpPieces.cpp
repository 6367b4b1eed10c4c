// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WarpPieces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace deplo {

/// The one dimension that `move` goes along, by a power of two; none otherwise.
static std::optional<unsigned> getOnlyDim(const Coordinates &move) {
  std::optional<unsigned> only;
  for (auto [dim, distance] : llvm::enumerate(move)) {
    if (distance == 0)
      continue;
    if (only || !llvm::isPowerOf2_32(distance))
      return std::nullopt;
    only = dim;
  }
  return only;
}

std::optional<WarpPieces> WarpPieces::get(const LinearLayout &layout,
                                          llvm::ArrayRef<int64_t> mostShape) {
  LayoutBases bases = layout.getBases();
  unsigned rank = layout.getRank();
  if (!layout.isBijective() || !bases[unsigned(InputDim::Block)].empty())
    return std::nullopt;
  // The distances that registers and lanes of one warp move, as bits.
  llvm::SmallVector<int64_t> distances(rank, 0);
  for (InputDim input : {InputDim::Register, InputDim::Lane, InputDim::Warp})
    for (const Coordinates &move : bases[unsigned(input)]) {
      std::optional<unsigned> dim = getOnlyDim(move);
      if (!dim)
        return std::nullopt;
      if (input != InputDim::Warp)
        distances[*dim] |= move[*dim];
    }
  llvm::SmallVector<int64_t> shape(rank, 1);
  for (auto [size, most, reached] : llvm::zip(shape, mostShape, distances))
    while (2 * size <= most && (reached & size))
      size *= 2;
  auto isInside = [&](const Coordinates &move) {
    unsigned dim = *getOnlyDim(move);
    return move[dim] < shape[dim];
  };
  if (!llvm::all_of(bases[unsigned(InputDim::Lane)], isInside))
    return std::nullopt;

  LayoutBases ofPiece;
  ofPiece[unsigned(InputDim::Lane)] = bases[unsigned(InputDim::Lane)];
  WarpPieces result;
  result.pieces.push_back({Coordinates(rank, 0), {0}});
  for (auto [bit, move] :
       llvm::enumerate(bases[unsigned(InputDim::Register)])) {
    int32_t mask = 1 << bit;
    if (isInside(move)) {
      ofPiece[unsigned(InputDim::Register)].push_back(move);
      for (Piece &piece : result.pieces)
        for (size_t i = 0, count = piece.registers.size(); i < count; ++i)
          piece.registers.push_back(piece.registers[i] | mask);
      continue;
    }
    for (size_t i = 0, count = result.pieces.size(); i < count; ++i) {
      Piece further = result.pieces[i];
      for (auto [start, distance] : llvm::zip_equal(further.start, move))
        start += distance;
      for (int32_t &reg : further.registers)
        reg |= mask;
      result.pieces.push_back(std::move(further));
    }
  }
  result.layout = llvm::cantFail(LinearLayout::create(ofPiece, shape));
  return result;
}

} // namespace deplo
