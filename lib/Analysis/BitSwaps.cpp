// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/BitSwaps.h"

#include "llvm/ADT/STLExtras.h"

namespace deplo {

std::optional<BitSwaps> getBitSwaps(const LinearLayout &from,
                                    const LinearLayout &to) {
  LayoutBases now = from.getBases(), wanted = to.getBases();
  auto &registers = now[unsigned(InputDim::Register)];
  auto &lanes = now[unsigned(InputDim::Lane)];
  const auto &wantedLanes = wanted[unsigned(InputDim::Lane)];
  if (from.getShape() != to.getShape() || !from.isInjective() ||
      lanes.size() != wantedLanes.size() ||
      registers.size() != wanted[unsigned(InputDim::Register)].size() ||
      now[unsigned(InputDim::Warp)] != wanted[unsigned(InputDim::Warp)] ||
      now[unsigned(InputDim::Block)] != wanted[unsigned(InputDim::Block)])
    return std::nullopt;
  BitSwaps result;
  for (unsigned lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane] == wantedLanes[lane])
      continue;
    auto found = llvm::find(registers, wantedLanes[lane]);
    if (found == registers.end())
      return std::nullopt;
    std::swap(*found, lanes[lane]);
    result.swaps.push_back({unsigned(found - registers.begin()), lane});
  }
  // What is left is an order of the registers' bits.
  llvm::SmallVector<unsigned> places;
  for (const Coordinates &move : wanted[unsigned(InputDim::Register)]) {
    auto found = llvm::find(registers, move);
    if (found == registers.end())
      return std::nullopt;
    places.push_back(found - registers.begin());
  }
  for (int32_t reg = 0; reg < to.getNumRegisters(); ++reg) {
    int32_t source = 0;
    for (auto [bit, place] : llvm::enumerate(places))
      if (reg & 1 << bit)
        source |= 1 << place;
    result.registers.push_back(source);
  }
  return result;
}

LinearLayout getWidened(const LinearLayout &layout, unsigned dim,
                        int32_t width) {
  LayoutBases bases = layout.getBases();
  auto &registers = bases[unsigned(InputDim::Register)];
  auto &lanes = bases[unsigned(InputDim::Lane)];
  Coordinates neighbour(layout.getRank(), 0);
  auto isAlong = [&](const Coordinates &move) {
    return llvm::all_of(llvm::enumerate(move), [&](auto coordinate) {
      return coordinate.index() == dim || coordinate.value() == 0;
    });
  };
  for (int32_t distance = layout.contiguity(dim); distance < width;
       distance *= 2) {
    neighbour[dim] = distance;
    auto lane = llvm::find(lanes, neighbour);
    // What goes to the lane in turn are the next elements of the same row, so
    // that lanes stay near one another.
    auto given = registers.end();
    for (auto it = registers.begin(); it != registers.end(); ++it)
      if (isAlong(*it) && (*it)[dim] > distance &&
          (given == registers.end() || (*it)[dim] < (*given)[dim]))
        given = it;
    if (lane == lanes.end() || given == registers.end())
      break;
    std::swap(*lane, *given);
  }
  return llvm::cantFail(LinearLayout::create(bases, layout.getShape()))
      .withContiguousRegisters(dim);
}

} // namespace deplo
