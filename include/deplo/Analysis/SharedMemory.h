// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a buffer lies in shared memory, and what a warp's access to it costs.
//
// The model of banks: consecutive 4-byte words lie in 32 consecutive banks, and
// each bank serves one word at a time, to all lanes that want it. An access of
// up to 4 bytes for each lane is one phase; one of 8 bytes runs as two phases
// of 16 lanes, one of 16 bytes as four phases of 8 lanes, so that a phase moves
// at most 128 bytes. A phase takes as many wavefronts as the busiest bank has
// words to serve. (CUDA C++ Programming Guide, "Shared Memory" of compute
// capability 5.x and later, for the banks; the phases are what the profiler's
// wavefront counters show.)

#ifndef DEPLO_ANALYSIS_SHAREDMEMORY_H
#define DEPLO_ANALYSIS_SHAREDMEMORY_H

#include "deplo/Analysis/LinearLayout.h"

namespace deplo {

inline constexpr unsigned numSharedMemoryBanks = 32;
inline constexpr unsigned sharedMemoryBankBytes = 4;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Permutes addresses by XOR: `bits` bits of the byte offset at position
/// `base` + `shift` are added to those at position `base`. With `base` = 4 the
/// index of a 16-byte chunk is XOR-ed with bits of the row index. These are
/// the "Swizzling Modes" of the PTX ISA's tensors, with the parameters that
/// CUTLASS names B, M and S.
struct Swizzle {
  unsigned bits = 0;
  unsigned base = 4;
  unsigned shift = 3;

  static constexpr Swizzle none() { return {}; }
  /// The modes of TMA and of wgmma's matrix descriptors: 0 (none), 32, 64 or
  /// 128 bytes, the length of the rows within which chunks move.
  static std::optional<Swizzle> ofBytes(int64_t bytes);
  /// The mode for rows that may be longer than 128 bytes: chunks still move
  /// within `bytes`, by the number of their row.
  static Swizzle ofRows(int64_t bytes, int64_t rowBytes);

  int64_t apply(int64_t offset) const {
    int64_t mask = ((int64_t(1) << bits) - 1) << base;
    return offset ^ (offset >> shift & mask);
  }
  /// The pattern repeats after so many bytes: buffers start at a multiple.
  int64_t getPeriod() const {
    return bits == 0 ? 1 : int64_t(1) << (bits + base + shift);
  }
  bool operator==(const Swizzle &other) const {
    return bits == other.bits && base == other.base && shift == other.shift;
  }
  bool operator!=(const Swizzle &other) const { return !(*this == other); }
};

/// A buffer of any shape, dense but for `pad` elements after each run of its
/// fastest dimension. With `splitBytes` these runs are cut in pieces of so many
/// bytes: the first ones of all lie before the second ones.
struct SharedBuffer {
  llvm::SmallVector<int64_t, 4> shape;
  unsigned elementBytes = 4;
  /// The dimensions from the fastest to the slowest; row-major if empty.
  llvm::SmallVector<int64_t, 4> order;
  int64_t pad = 0, splitBytes = 0;
  Swizzle swizzle;

  unsigned getFastestDim() const {
    return order.empty() ? shape.size() - 1 : order.front();
  }
  /// In elements, for each dimension, before swizzling; of the fastest one
  /// within a piece.
  llvm::SmallVector<int64_t, 4> getStrides() const;
  /// In bytes, with the padding after the last run, and whole groups of
  /// swizzled chunks.
  int64_t getSizeInBytes() const;
  /// Where the element lies, in bytes from the start of the buffer.
  int64_t getByteOffset(llvm::ArrayRef<int32_t> coordinates) const;
};

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// What accesses cost.
struct BankConflicts {
  /// The wavefronts that the accesses take.
  int64_t wavefronts = 0;
  /// The phases: the wavefronts that they would take without conflicts.
  int64_t phases = 0;
  /// The most words of one bank in one phase: 1 without conflicts, n for an
  /// n-way conflict, 0 if no lane is active.
  int64_t degree = 0;

  bool isConflictFree() const { return degree <= 1; }
  BankConflicts &operator+=(const BankConflicts &other);
};

/// The cost of one instruction of a warp: lane i accesses `accessBytes` (a
/// power of two up to 16) at `byteOffsets[i]`, aligned to them, or nothing if
/// that is negative. For ldmatrix and stmatrix, `byteOffsets` are the addresses
/// of the rows and `accessBytes` is 16: each 8x8 matrix is a phase.
BankConflicts getBankConflicts(llvm::ArrayRef<int64_t> byteOffsets,
                               unsigned accessBytes);

/// Reading or writing a tile from a buffer of its shape: the threads hold it in
/// `layout`, and each instruction moves `vectorWidth` elements that lie in
/// consecutive registers (see LinearLayout::vectorWidth).
struct SharedAccess {
  LinearLayout layout;
  int32_t vectorWidth = 1;
};

/// The cost of an access over all instructions and warps. Fails if the shapes
/// differ, if the vector is not contiguous in the buffer, or if instructions
/// would be misaligned.
llvm::Expected<BankConflicts> getBankConflicts(const SharedAccess &access,
                                               const SharedBuffer &buffer);

struct Padding {
  int64_t elements = 0;
  BankConflicts conflicts;
};

/// The smallest padding of `buffer` with which all `accesses` together take the
/// fewest wavefronts, such that the whole buffer stays within `budgetBytes` and
/// all vectors stay aligned. Fails if the buffer does not fit as it is, or an
/// access does not.
llvm::Expected<Padding> findPadding(llvm::ArrayRef<SharedAccess> accesses,
                                    SharedBuffer buffer, int64_t budgetBytes);

} // namespace deplo

#endif // DEPLO_ANALYSIS_SHAREDMEMORY_H
