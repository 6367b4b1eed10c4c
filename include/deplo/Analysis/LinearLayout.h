// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread holds which element of a tile, and in which register.
//
// A layout maps (register, lane, warp, block) to coordinates of a tile. It is
// linear over GF(2): each bit of each input has a basis, the coordinates that
// this bit moves an element by, and the coordinates of an index are the XOR of
// the bases of its set bits. A zero basis means replication: both values of the
// bit hold the same element. See docs/rationale/layouts.md.
//
// Functions whose arguments may come from a user return llvm::Expected, with
// one clear sentence as the error. Dimension numbers and hardware indices out
// of range are programming errors.

#ifndef DEPLO_ANALYSIS_LINEARLAYOUT_H
#define DEPLO_ANALYSIS_LINEARLAYOUT_H

#include "deplo/Analysis/BitMatrix.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace deplo {

/// The input dimensions. `Register` counts elements of the tile that a thread
/// holds, not 32-bit machine registers.
enum class InputDim : uint8_t { Register, Lane, Warp, Block };
inline constexpr std::array<InputDim, 4> inputDims = {
    InputDim::Register, InputDim::Lane, InputDim::Warp, InputDim::Block};
llvm::StringRef stringifyInputDim(InputDim dim);

struct HardwareIndex {
  int32_t reg = 0;
  int32_t lane = 0;
  int32_t warp = 0;
  int32_t block = 0;

  bool operator==(const HardwareIndex &other) const {
    return reg == other.reg && lane == other.lane && warp == other.warp &&
           block == other.block;
  }
};

using Coordinates = llvm::SmallVector<int32_t, 4>;

/// `bases[dim][i]`: the coordinates that bit i of input `dim` moves by.
using LayoutBases = std::array<std::vector<Coordinates>, 4>;

/// How the holders of a slice along one dimension combine to reduce it. Each
/// mask of an input dimension pairs index i with index i XOR mask; combining
/// over all masks in turn, registers first, visits each element of the slice
/// exactly once.
struct ReductionBits {
  /// Within a thread.
  llvm::SmallVector<int32_t, 4> registerMasks;
  /// The masks of butterfly shuffles.
  llvm::SmallVector<int32_t, 4> laneMasks;
  /// The warps that exchange through shared memory.
  llvm::SmallVector<int32_t, 4> warpMasks;
  /// The blocks of a cluster that exchange through distributed shared memory.
  llvm::SmallVector<int32_t, 4> blockMasks;
  /// False if masks don't reach all elements of a slice, because some bits
  /// move along `dim` only together with bits of another input, or because
  /// the layout is not surjective. The layout must be converted first.
  bool isComplete = false;

  llvm::SmallVectorImpl<int32_t> &operator[](InputDim dim);
};

/// How the holders of a slice along one dimension combine to scan it: the masks
/// of the bits that count its elements, from neighbours to halves of the slice.
struct ScanBits {
  /// Registers of a thread that hold neighbours.
  llvm::SmallVector<int32_t, 4> runMasks;
  llvm::SmallVector<int32_t, 4> laneMasks;
  llvm::SmallVector<int32_t, 4> warpMasks;
  /// Registers of a thread that hold elements of different runs.
  llvm::SmallVector<int32_t, 4> registerMasks;
  /// False unless each bit of the coordinate along `dim` is one bit of a
  /// register, lane or warp number that moves nothing else, in the order above.
  /// The layout must be converted first.
  bool isComplete = false;
};

class InverseLayout;

class LinearLayout {
public:
  //===--------------------------------------------------------------------===//
  // Construction
  //===--------------------------------------------------------------------===//

  /// The layout of a 0-d tile: one element in one register of one thread.
  LinearLayout() = default;

  /// Fails unless all sizes are powers of two, all bases have one coordinate
  /// for each dimension of `shape` and lie in it, and there are at most 32
  /// lanes and 32 warps.
  static llvm::Expected<LinearLayout> create(const LayoutBases &bases,
                                             llvm::ArrayRef<int64_t> shape);

  /// The tile in row-major order over one input dimension.
  static llvm::Expected<LinearLayout> identity(InputDim dim,
                                               llvm::ArrayRef<int64_t> shape);

  /// Distributes a tile in blocks, nested from the inside out: a vector of
  /// `valuesPerThread` registers, then lanes, then warps, then more registers
  /// until `shape` is covered; each of them fills the dimensions in `order`
  /// (`order[0]` first). Where the shape is too small, lanes and warps that
  /// are left over replicate, and registers that are left over are not used.
  static llvm::Expected<LinearLayout>
  blocked(llvm::ArrayRef<int64_t> shape,
          llvm::ArrayRef<int64_t> valuesPerThread,
          llvm::ArrayRef<int64_t> lanesPerDim,
          llvm::ArrayRef<int64_t> warpsPerDim, llvm::ArrayRef<int64_t> order);

  //===--------------------------------------------------------------------===//
  // Structure
  //===--------------------------------------------------------------------===//

  unsigned getRank() const { return outputBits.size(); }
  llvm::SmallVector<int64_t, 4> getShape() const;
  int64_t getDimSize(unsigned dim) const {
    return int64_t(1) << outputBits[dim];
  }
  int64_t getNumElements() const { return int64_t(1) << getNumOutputBits(); }

  unsigned getNumBits(InputDim dim) const { return inputBits[unsigned(dim)]; }
  /// How many registers, lanes, warps or blocks the layout tells apart.
  int32_t getSize(InputDim dim) const { return 1 << getNumBits(dim); }
  int32_t getNumRegisters() const { return getSize(InputDim::Register); }
  int32_t getNumThreads() const {
    return getSize(InputDim::Lane) * getSize(InputDim::Warp);
  }

  Coordinates getBasis(InputDim dim, unsigned bit) const {
    return unpackCoordinates(getPackedBases(dim)[bit]);
  }
  LayoutBases getBases() const;

  /// The coordinates of the element that this index holds.
  Coordinates apply(int32_t reg, int32_t lane, int32_t warp = 0,
                    int32_t block = 0) const {
    return apply(HardwareIndex{reg, lane, warp, block});
  }
  Coordinates apply(const HardwareIndex &index) const;

  bool operator==(const LinearLayout &other) const {
    return inputBits == other.inputBits && outputBits == other.outputBits &&
           columns == other.columns;
  }
  bool operator!=(const LinearLayout &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const LinearLayout &layout);

  /// For example `reg = [[0, 1], [8, 0]], lane = [[1, 0]], warp = [], block =
  /// [] : 16x2`.
  void print(llvm::raw_ostream &os) const;

  //===--------------------------------------------------------------------===//
  // As a matrix
  //===--------------------------------------------------------------------===//
  // A packed index has the register in its lowest bits, then the lane, the warp
  // and the block. Packed coordinates are the row-major element number.

  BitMatrix getMatrix() const { return BitMatrix(getNumOutputBits(), columns); }
  unsigned getNumInputBits() const { return columns.size(); }
  unsigned getNumOutputBits() const;
  /// The position of bit 0 of an input in packed indices.
  unsigned getInputShift(InputDim dim) const;
  /// The position of bit 0 of a tile dimension in packed coordinates.
  unsigned getOutputShift(unsigned dim) const;
  llvm::ArrayRef<uint64_t> getPackedBases(InputDim dim) const {
    return llvm::ArrayRef(columns).slice(getInputShift(dim), getNumBits(dim));
  }
  uint64_t applyPacked(uint64_t index) const;
  uint64_t pack(const HardwareIndex &index) const;
  HardwareIndex unpack(uint64_t packed) const;
  uint64_t packCoordinates(llvm::ArrayRef<int32_t> coordinates) const;
  Coordinates unpackCoordinates(uint64_t packed) const;

  /// Every element is held somewhere.
  bool isSurjective() const { return getMatrix().rank() == getNumOutputBits(); }
  /// No element is held twice.
  bool isInjective() const { return getMatrix().rank() == getNumInputBits(); }
  bool isBijective() const { return isSurjective() && isInjective(); }

  /// The bits that replicate: an index is the lowest holder of its element if
  /// and only if it has none of these bits. Threads without them do what must
  /// happen once for each element, like a store.
  HardwareIndex getReplicaMask() const {
    return unpack(getMatrix().kernel().leadingBits());
  }

  /// The map from coordinates to the lowest index (by block, then warp, then
  /// lane, then register) that holds them. Fails unless surjective.
  llvm::Expected<InverseLayout> invert() const;

  //===--------------------------------------------------------------------===//
  // Algebra
  //===--------------------------------------------------------------------===//

  /// The layout after a linear map of packed coordinates, onto tile `shape`.
  llvm::Expected<LinearLayout> compose(const BitMatrix &map,
                                       llvm::ArrayRef<int64_t> shape) const;

  /// Puts copies of this layout beside each other: the elements of `outer` are
  /// tiles of this layout. Sizes of the inputs and of the dimensions multiply,
  /// and this layout has the low bits. Dimension i of `outer` extends dimension
  /// `dims[i]` (dimension i, if `dims` is empty).
  llvm::Expected<LinearLayout>
  product(const LinearLayout &outer, llvm::ArrayRef<unsigned> dims = {}) const;

  /// Removes a tile dimension: the layout of one value for each slice along
  /// `dim`. Threads that held different elements of a slice become replicas.
  /// Registers do too, and are merged with `mergeRegisters`.
  LinearLayout dropDim(unsigned dim, bool mergeRegisters = true) const;

  /// Inserts a dimension of size one before `dim`.
  LinearLayout insertDim(unsigned dim) const;

  /// Grows a dimension of size one: each thread holds all `size` copies.
  llvm::Expected<LinearLayout> broadcastDim(unsigned dim, int64_t size) const;

  /// Dimension i of the result is dimension `permutation[i]` of this layout.
  LinearLayout transpose(llvm::ArrayRef<unsigned> permutation) const;

  /// The same elements in row-major order as a tile of another shape.
  llvm::Expected<LinearLayout> reshape(llvm::ArrayRef<int64_t> shape) const;

  /// Keeps one of the registers in which a thread holds the same element. The
  /// others keep their order.
  LinearLayout removeDuplicateRegisters() const;

  /// The layout for a tile of another size. Where the tile shrinks, coordinates
  /// wrap around (so that threads become replicas) and duplicate registers go.
  /// Where it grows, more registers hold the rest, in `order` (row-major, last
  /// dimension first, if empty).
  llvm::Expected<LinearLayout>
  resized(llvm::ArrayRef<int64_t> shape,
          llvm::ArrayRef<int64_t> order = {}) const;

  /// More lanes, warps or blocks (`size` of them) which replicate.
  llvm::Expected<LinearLayout> replicated(InputDim dim, int64_t size) const;

  //===--------------------------------------------------------------------===//
  // Queries
  //===--------------------------------------------------------------------===//

  /// The largest n such that in every thread each aligned group of n
  /// consecutive registers holds n consecutive elements along `dim`, aligned
  /// to n.
  int32_t contiguity(unsigned dim) const;

  /// The same elements in each thread, with the registers in the order that
  /// makes `contiguity(dim)` largest. The change is a register permutation.
  LinearLayout withContiguousRegisters(unsigned dim) const;

  /// How many elements one access to memory may move when `dim` is contiguous
  /// there: limited by `contiguity`, by `maxBits` for an access, and by the
  /// power of two that divides `alignment` (in elements).
  int32_t vectorWidth(unsigned dim, unsigned elementBits, unsigned maxBits,
                      int64_t alignment) const;

  /// The bits to combine over to reduce the tile along `dim`. Replicas are left
  /// out, so that sums count no element twice. Afterwards all threads of a
  /// slice hold its result, in the layout `dropDim(dim)`.
  ReductionBits reductionBits(unsigned dim) const;

  /// The bits to combine over to scan the tile along `dim`.
  ScanBits scanBits(unsigned dim) const;

private:
  static llvm::Expected<LinearLayout>
  fromColumns(std::array<unsigned, 4> inputBits, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<uint64_t> columns);
  LinearLayout withRegisterColumns(llvm::ArrayRef<uint64_t> registers) const;

  std::array<unsigned, 4> inputBits = {0, 0, 0, 0};
  llvm::SmallVector<unsigned, 4> outputBits;
  /// The packed coordinates of each bit of a packed index.
  llvm::SmallVector<uint64_t, 16> columns;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const LinearLayout &layout);

/// Finds the lowest holder of an element.
class InverseLayout {
public:
  HardwareIndex apply(llvm::ArrayRef<int32_t> coordinates) const {
    return layout.unpack(matrix.apply(layout.packCoordinates(coordinates)));
  }
  /// From packed coordinates to packed indices.
  const BitMatrix &getMatrix() const { return matrix; }

private:
  friend class LinearLayout;
  InverseLayout(const LinearLayout &layout, BitMatrix matrix)
      : layout(layout), matrix(std::move(matrix)) {}

  LinearLayout layout;
  BitMatrix matrix;
};

} // namespace deplo

#endif // DEPLO_ANALYSIS_LINEARLAYOUT_H
