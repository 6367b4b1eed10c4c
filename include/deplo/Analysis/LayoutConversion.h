// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it takes to bring a tile from one layout to another.

#ifndef DEPLO_ANALYSIS_LAYOUTCONVERSION_H
#define DEPLO_ANALYSIS_LAYOUTCONVERSION_H

#include "deplo/Analysis/LinearLayout.h"

namespace deplo {

/// From the cheapest to the dearest.
enum class ConversionKind {
  /// Each register already holds the element that it should hold.
  Nothing,
  /// Each thread already holds all elements that it should hold, and all
  /// threads pick the same registers.
  RegisterPermutation,
  /// Each warp already holds all elements that it should hold.
  WarpShuffle,
  /// Elements cross warps.
  SharedMemory
};
llvm::StringRef stringifyConversionKind(ConversionKind kind);

/// A source for each element of the destination layout. It is linear in the
/// destination's index; replicas in the source layout serve to stay as near to
/// the destination as possible.
class LayoutConversion {
public:
  ConversionKind getKind() const { return kind; }

  /// Where the element comes from that the destination wants at `index`.
  HardwareIndex getSource(const HardwareIndex &index) const {
    return from.unpack(source.apply(to.pack(index)));
  }

  /// What a bit of the destination's index contributes to the source's, by XOR.
  /// With it, code computes the source lane of a thread:
  /// `getSource({r, 0, 0, 0}).lane ^ (lane & 1 ? getContribution(Lane, 0).lane
  /// : 0) ^ ...`.
  HardwareIndex getContribution(InputDim dim, unsigned bit) const {
    return from.unpack(source.getColumns()[to.getInputShift(dim) + bit]);
  }

  /// For up to a register permutation: the source register of each destination
  /// register.
  llvm::SmallVector<int32_t, 16> getRegisterMap() const;

  //===--------------------------------------------------------------------===//
  // Warp shuffles
  //===--------------------------------------------------------------------===//
  // Emit for destination register r: for each source register s in
  // `getSourceRegisters(r)` a shuffle of s in which each lane reads its source
  // lane, then select, in each thread, the s that `getSource` gives for it.
  // The shuffle is a butterfly if `getLaneXor(r)` is known, and a plain move if
  // that is zero.

  /// The registers that destination register `reg` comes from, over all
  /// threads, in ascending order.
  llvm::SmallVector<int32_t, 4> getSourceRegisters(int32_t reg) const;

  /// The mask, if in each thread the source lane is its own lane XOR that mask.
  std::optional<int32_t> getLaneXor(int32_t reg) const;

  /// How many shuffle instructions (of one element) each thread runs.
  int32_t getNumShuffles() const;

private:
  friend llvm::Expected<LayoutConversion>
  classifyConversion(const LinearLayout &from, const LinearLayout &to);

  LayoutConversion(ConversionKind kind, const LinearLayout &from,
                   const LinearLayout &to, BitMatrix source)
      : kind(kind), from(from), to(to), source(std::move(source)) {}

  ConversionKind kind;
  LinearLayout from, to;
  /// From packed indices of `to` to packed indices of `from`.
  BitMatrix source;
};

/// The cheapest way from one layout to another. Fails unless both are for the
/// same tile, lanes, warps and blocks, and each block already holds all
/// elements that it should hold.
llvm::Expected<LayoutConversion> classifyConversion(const LinearLayout &from,
                                                    const LinearLayout &to);

} // namespace deplo

#endif // DEPLO_ANALYSIS_LAYOUTCONVERSION_H
