// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace deplo;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// Packed values and sums of their widths must fit in signed words.
static constexpr unsigned maxPackedBits = 62;
static constexpr unsigned maxDimBits = 30;

static unsigned getMaxBits(InputDim dim) {
  switch (dim) {
  case InputDim::Register:
    return 20;
  case InputDim::Lane:
  case InputDim::Warp:
    return 5;
  case InputDim::Block:
    return maxDimBits;
  }
  llvm_unreachable("unknown input dimension");
}

StringRef deplo::stringifyInputDim(InputDim dim) {
  switch (dim) {
  case InputDim::Register:
    return "register";
  case InputDim::Lane:
    return "lane";
  case InputDim::Warp:
    return "warp";
  case InputDim::Block:
    return "block";
  }
  llvm_unreachable("unknown input dimension");
}

static bool isPowerOfTwo(int64_t value) {
  return value > 0 && llvm::isPowerOf2_64(value);
}

static bool isPermutation(ArrayRef<int64_t> order, unsigned rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : order)
    if (dim < 0 || dim >= int64_t(rank) || seen.test(dim))
      return false;
    else
      seen.set(dim);
  return order.size() == rank;
}

static Error checkShape(ArrayRef<int64_t> shape) {
  unsigned numBits = 0;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!isPowerOfTwo(size) || size > int64_t(1) << maxDimBits)
      return createStringError("tile dimension " + Twine(dim) + " has size " +
                               Twine(size) +
                               ", expected a power of two up to 2^30");
    numBits += llvm::Log2_64(size);
  }
  if (numBits > maxPackedBits)
    return createStringError("the tile has 2^" + Twine(numBits) +
                             " elements, expected at most 2^62");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// All layouts that depend on arguments are made here.
Expected<LinearLayout>
LinearLayout::fromColumns(std::array<unsigned, 4> inputBits,
                          ArrayRef<int64_t> shape, ArrayRef<uint64_t> columns) {
  if (Error error = checkShape(shape))
    return std::move(error);
  for (InputDim dim : inputDims)
    if (inputBits[unsigned(dim)] > getMaxBits(dim))
      return createStringError("the layout has " +
                               Twine(inputBits[unsigned(dim)]) + " bases for " +
                               stringifyInputDim(dim) + ", expected at most " +
                               Twine(getMaxBits(dim)));
  LinearLayout layout;
  layout.inputBits = inputBits;
  for (int64_t size : shape)
    layout.outputBits.push_back(llvm::Log2_64(size));
  layout.columns.assign(columns.begin(), columns.end());
  return layout;
}

Expected<LinearLayout> LinearLayout::create(const LayoutBases &bases,
                                            ArrayRef<int64_t> shape) {
  std::array<unsigned, 4> inputBits;
  for (InputDim dim : inputDims)
    inputBits[unsigned(dim)] = bases[unsigned(dim)].size();
  Expected<LinearLayout> layout = fromColumns(inputBits, shape, {});
  if (!layout)
    return layout;
  for (InputDim dim : inputDims)
    for (auto [bit, basis] : llvm::enumerate(bases[unsigned(dim)])) {
      std::string name =
          ("basis " + Twine(bit) + " of " + stringifyInputDim(dim) + " has ")
              .str();
      if (basis.size() != shape.size())
        return createStringError(name + Twine(basis.size()) +
                                 " coordinates, expected " +
                                 Twine(shape.size()));
      for (auto [i, coordinate] : llvm::enumerate(basis))
        if (coordinate < 0 || coordinate >= shape[i])
          return createStringError(name + "coordinate " + Twine(coordinate) +
                                   " along dimension " + Twine(i) +
                                   ", expected 0 to " + Twine(shape[i] - 1));
      layout->columns.push_back(layout->packCoordinates(basis));
    }
  return layout;
}

Expected<LinearLayout> LinearLayout::identity(InputDim dim,
                                              ArrayRef<int64_t> shape) {
  if (Error error = checkShape(shape))
    return std::move(error);
  unsigned numBits = 0;
  for (int64_t size : shape)
    numBits += llvm::Log2_64(size);
  std::array<unsigned, 4> inputBits = {0, 0, 0, 0};
  inputBits[unsigned(dim)] = numBits;
  return fromColumns(inputBits, shape,
                     BitMatrix::identity(numBits).getColumns());
}

static Error checkBlockedArgument(StringRef name, ArrayRef<int64_t> sizes,
                                  unsigned rank) {
  if (sizes.size() != rank)
    return createStringError(name + " has " + Twine(sizes.size()) +
                             " entries, expected one for each of the " +
                             Twine(rank) + " tile dimensions");
  for (int64_t size : sizes)
    if (!isPowerOfTwo(size))
      return createStringError(name + " has entry " + Twine(size) +
                               ", expected a power of two");
  return Error::success();
}

Expected<LinearLayout> LinearLayout::blocked(ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> valuesPerThread,
                                             ArrayRef<int64_t> lanesPerDim,
                                             ArrayRef<int64_t> warpsPerDim,
                                             ArrayRef<int64_t> order) {
  unsigned rank = shape.size();
  if (Error error = checkShape(shape))
    return std::move(error);
  if (Error error =
          checkBlockedArgument("values per thread", valuesPerThread, rank))
    return std::move(error);
  if (Error error =
          checkBlockedArgument("lanes per dimension", lanesPerDim, rank))
    return std::move(error);
  if (Error error =
          checkBlockedArgument("warps per dimension", warpsPerDim, rank))
    return std::move(error);
  if (!isPermutation(order, rank))
    return createStringError(
        "the order of the tile dimensions is not a permutation of 0 to " +
        Twine(int64_t(rank) - 1));

  LinearLayout packing;
  for (int64_t size : shape)
    packing.outputBits.push_back(llvm::Log2_64(size));
  // The bits of each dimension that are distributed so far.
  SmallVector<unsigned, 4> used(rank, 0);
  auto distribute = [&](ArrayRef<int64_t> sizes, bool replicate) {
    SmallVector<uint64_t, 16> columns;
    for (int64_t dim : order)
      for (unsigned bit = 0; bit < llvm::Log2_64(sizes[dim]); ++bit)
        if (used[dim] < packing.outputBits[dim])
          columns.push_back(uint64_t(1)
                            << (packing.getOutputShift(dim) + used[dim]++));
        else if (replicate)
          columns.push_back(0);
    return columns;
  };
  SmallVector<uint64_t, 16> registers = distribute(valuesPerThread, false);
  SmallVector<uint64_t, 16> lanes = distribute(lanesPerDim, true);
  SmallVector<uint64_t, 16> warps = distribute(warpsPerDim, true);
  registers.append(distribute(shape, false));

  std::array<unsigned, 4> inputBits = {unsigned(registers.size()),
                                       unsigned(lanes.size()),
                                       unsigned(warps.size()), 0};
  return fromColumns(
      inputBits, shape,
      llvm::to_vector(llvm::concat<uint64_t>(registers, lanes, warps)));
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

SmallVector<int64_t, 4> LinearLayout::getShape() const {
  SmallVector<int64_t, 4> shape;
  for (unsigned bits : outputBits)
    shape.push_back(int64_t(1) << bits);
  return shape;
}

LayoutBases LinearLayout::getBases() const {
  LayoutBases bases;
  for (InputDim dim : inputDims)
    for (uint64_t column : getPackedBases(dim))
      bases[unsigned(dim)].push_back(unpackCoordinates(column));
  return bases;
}

unsigned LinearLayout::getNumOutputBits() const {
  return std::accumulate(outputBits.begin(), outputBits.end(), 0u);
}

unsigned LinearLayout::getInputShift(InputDim dim) const {
  return std::accumulate(inputBits.begin(), inputBits.begin() + unsigned(dim),
                         0u);
}

unsigned LinearLayout::getOutputShift(unsigned dim) const {
  return std::accumulate(outputBits.begin() + dim + 1, outputBits.end(), 0u);
}

uint64_t LinearLayout::pack(const HardwareIndex &index) const {
  return uint64_t(index.reg) |
         uint64_t(index.lane) << getInputShift(InputDim::Lane) |
         uint64_t(index.warp) << getInputShift(InputDim::Warp) |
         uint64_t(index.block) << getInputShift(InputDim::Block);
}

HardwareIndex LinearLayout::unpack(uint64_t packed) const {
  auto extract = [&](InputDim dim) -> int32_t {
    return packed >> getInputShift(dim) &
           llvm::maskTrailingOnes<uint64_t>(getNumBits(dim));
  };
  return {extract(InputDim::Register), extract(InputDim::Lane),
          extract(InputDim::Warp), extract(InputDim::Block)};
}

uint64_t LinearLayout::packCoordinates(ArrayRef<int32_t> coordinates) const {
  uint64_t packed = 0;
  for (auto [bits, coordinate] : llvm::zip_equal(outputBits, coordinates))
    packed = packed << bits | uint64_t(coordinate);
  return packed;
}

Coordinates LinearLayout::unpackCoordinates(uint64_t packed) const {
  Coordinates coordinates(getRank());
  for (unsigned dim = getRank(); dim-- > 0;) {
    coordinates[dim] =
        packed & llvm::maskTrailingOnes<uint64_t>(outputBits[dim]);
    packed >>= outputBits[dim];
  }
  return coordinates;
}

uint64_t LinearLayout::applyPacked(uint64_t index) const {
  uint64_t coordinates = 0;
  for (uint64_t column : columns) {
    coordinates ^= index & 1 ? column : 0;
    index >>= 1;
  }
  return coordinates;
}

Coordinates LinearLayout::apply(const HardwareIndex &index) const {
  return unpackCoordinates(applyPacked(pack(index)));
}

void LinearLayout::print(llvm::raw_ostream &os) const {
  static constexpr StringRef names[] = {"reg", "lane", "warp", "block"};
  llvm::interleave(
      inputDims, os,
      [&](InputDim dim) {
        os << names[unsigned(dim)] << " = [";
        llvm::interleaveComma(getPackedBases(dim), os, [&](uint64_t column) {
          os << '[';
          llvm::interleaveComma(unpackCoordinates(column), os);
          os << ']';
        });
        os << ']';
      },
      ", ");
  os << " : ";
  llvm::interleave(getShape(), os, "x");
}

llvm::raw_ostream &deplo::operator<<(llvm::raw_ostream &os,
                                     const LinearLayout &layout) {
  layout.print(os);
  return os;
}

namespace deplo {
llvm::hash_code hash_value(const LinearLayout &layout) {
  return llvm::hash_combine(
      llvm::hash_combine_range(layout.inputBits.begin(),
                               layout.inputBits.end()),
      llvm::hash_combine_range(layout.outputBits.begin(),
                               layout.outputBits.end()),
      llvm::hash_combine_range(layout.columns.begin(), layout.columns.end()));
}
} // namespace deplo

//===----------------------------------------------------------------------===//
// Algebra
//===----------------------------------------------------------------------===//

/// This layout with other bases for the registers.
LinearLayout
LinearLayout::withRegisterColumns(ArrayRef<uint64_t> registers) const {
  LinearLayout result;
  result.inputBits = inputBits;
  result.inputBits[unsigned(InputDim::Register)] = registers.size();
  result.outputBits = outputBits;
  result.columns.assign(registers.begin(), registers.end());
  llvm::append_range(result.columns, ArrayRef(columns).drop_front(
                                         getNumBits(InputDim::Register)));
  return result;
}

Expected<InverseLayout> LinearLayout::invert() const {
  BitMatrix matrix = getMatrix();
  if (std::optional<BitMatrix> inverse = matrix.rightInverse())
    return InverseLayout(*this, std::move(*inverse));
  for (unsigned bit = 0; bit < getNumOutputBits(); ++bit) {
    uint64_t element = uint64_t(1) << bit;
    if (matrix.solve(element))
      continue;
    std::string message;
    llvm::raw_string_ostream os(message);
    os << "no thread holds the tile's element [";
    llvm::interleaveComma(unpackCoordinates(element), os);
    os << ']';
    return createStringError(message);
  }
  llvm_unreachable("a layout without inverse lacks an element");
}

Expected<LinearLayout> LinearLayout::compose(const BitMatrix &map,
                                             ArrayRef<int64_t> shape) const {
  if (map.getNumColumns() != getNumOutputBits())
    return createStringError("the map takes " + Twine(map.getNumColumns()) +
                             " bits, expected the tile's " +
                             Twine(getNumOutputBits()));
  Expected<LinearLayout> result =
      fromColumns(inputBits, shape, (map * getMatrix()).getColumns());
  if (result && result->getNumOutputBits() != map.getNumRows())
    return createStringError("the map gives " + Twine(map.getNumRows()) +
                             " bits, but the tile's shape has " +
                             Twine(result->getNumOutputBits()));
  return result;
}

Expected<LinearLayout> LinearLayout::product(const LinearLayout &outer,
                                             ArrayRef<unsigned> dims) const {
  SmallVector<unsigned, 4> targets(dims);
  if (dims.empty())
    llvm::append_range(targets, llvm::seq(getRank()));
  if (targets.size() != outer.getRank() ||
      llvm::any_of(targets, [&](unsigned dim) { return dim >= getRank(); }))
    return createStringError(
        "cannot put a layout of rank " + Twine(outer.getRank()) +
        " along the dimensions of one of rank " + Twine(getRank()));

  SmallVector<int64_t, 4> shape = getShape();
  // Where the coordinates of the outer layout start in the dimension they
  // extend: after this layout, and after outer dimensions on the same target.
  SmallVector<int64_t, 4> strides;
  for (auto [i, dim] : llvm::enumerate(targets)) {
    strides.push_back(shape[dim]);
    shape[dim] *= outer.getDimSize(i);
    if (Error error = checkShape(shape))
      return std::move(error);
  }
  LayoutBases bases = getBases();
  LayoutBases outerBases = outer.getBases();
  for (InputDim input : inputDims)
    for (const Coordinates &outerBasis : outerBases[unsigned(input)]) {
      Coordinates basis(getRank(), 0);
      for (auto [i, dim] : llvm::enumerate(targets))
        basis[dim] += outerBasis[i] * strides[i];
      bases[unsigned(input)].push_back(basis);
    }
  return create(bases, shape);
}

LinearLayout LinearLayout::dropDim(unsigned dim, bool mergeRegisters) const {
  LinearLayout result;
  result.inputBits = inputBits;
  result.outputBits = outputBits;
  result.outputBits.erase(result.outputBits.begin() + dim);
  for (uint64_t column : columns) {
    Coordinates coordinates = unpackCoordinates(column);
    coordinates.erase(coordinates.begin() + dim);
    result.columns.push_back(result.packCoordinates(coordinates));
  }
  return mergeRegisters ? result.removeDuplicateRegisters() : result;
}

LinearLayout LinearLayout::insertDim(unsigned dim) const {
  // A dimension of size one has no bits in packed coordinates.
  LinearLayout result = *this;
  result.outputBits.insert(result.outputBits.begin() + dim, 0);
  return result;
}

Expected<LinearLayout> LinearLayout::broadcastDim(unsigned dim,
                                                  int64_t size) const {
  if (getDimSize(dim) != 1)
    return createStringError("tile dimension " + Twine(dim) + " has size " +
                             Twine(getDimSize(dim)) +
                             ", only a dimension of size 1 can be broadcast");
  SmallVector<int64_t, 4> shape = getShape();
  shape[dim] = size;
  return resized(shape);
}

LinearLayout LinearLayout::transpose(ArrayRef<unsigned> permutation) const {
  LinearLayout result;
  result.inputBits = inputBits;
  for (unsigned dim : permutation)
    result.outputBits.push_back(outputBits[dim]);
  for (uint64_t column : columns) {
    Coordinates source = unpackCoordinates(column);
    Coordinates permuted;
    for (unsigned dim : permutation)
      permuted.push_back(source[dim]);
    result.columns.push_back(result.packCoordinates(permuted));
  }
  return result;
}

Expected<LinearLayout> LinearLayout::reshape(ArrayRef<int64_t> shape) const {
  return compose(BitMatrix::identity(getNumOutputBits()), shape);
}

LinearLayout LinearLayout::removeDuplicateRegisters() const {
  Echelon span;
  SmallVector<uint64_t, 16> kept;
  for (uint64_t column : getPackedBases(InputDim::Register))
    if (span.insert(column))
      kept.push_back(column);
  return withRegisterColumns(kept);
}

Expected<LinearLayout> LinearLayout::resized(ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> order) const {
  if (shape.size() != getRank())
    return createStringError("the new shape has rank " + Twine(shape.size()) +
                             ", expected " + Twine(getRank()));
  if (Error error = checkShape(shape))
    return std::move(error);
  SmallVector<int64_t, 4> growth(order);
  if (order.empty())
    growth = llvm::to_vector<4>(llvm::reverse(llvm::seq<int64_t>(getRank())));
  if (!isPermutation(growth, getRank()))
    return createStringError(
        "the order of the tile dimensions is not a permutation of 0 to " +
        Twine(int64_t(getRank()) - 1));

  LayoutBases bases = getBases();
  bool shrinks = false;
  for (unsigned dim = 0; dim < getRank(); ++dim)
    shrinks |= shape[dim] < getDimSize(dim);
  for (std::vector<Coordinates> &inputBases : bases)
    for (Coordinates &basis : inputBases)
      for (auto [coordinate, size] : llvm::zip_equal(basis, shape))
        coordinate &= size - 1;
  Expected<LinearLayout> result = create(bases, shape);
  if (!result)
    return result;
  if (shrinks)
    *result = result->removeDuplicateRegisters();

  SmallVector<uint64_t, 16> registers(
      result->getPackedBases(InputDim::Register));
  for (int64_t dim : growth)
    for (unsigned bit = outputBits[dim]; bit < llvm::Log2_64(shape[dim]); ++bit)
      registers.push_back(uint64_t(1) << (result->getOutputShift(dim) + bit));
  LinearLayout grown = result->withRegisterColumns(registers);
  return fromColumns(grown.inputBits, shape, grown.columns);
}

Expected<LinearLayout> LinearLayout::replicated(InputDim dim,
                                                int64_t size) const {
  if (!isPowerOfTwo(size) || size < getSize(dim))
    return createStringError(
        "cannot replicate over " + Twine(size) + " " + stringifyInputDim(dim) +
        "s, expected a power of two that is at least " + Twine(getSize(dim)));
  LayoutBases bases = getBases();
  bases[unsigned(dim)].resize(llvm::Log2_64(size), Coordinates(getRank(), 0));
  return create(bases, getShape());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

int32_t LinearLayout::contiguity(unsigned dim) const {
  unsigned shift = getOutputShift(dim);
  ArrayRef<uint64_t> registers = getPackedBases(InputDim::Register);
  unsigned bits = 0;
  while (bits < registers.size() && bits < outputBits[dim] &&
         registers[bits] == uint64_t(1) << (shift + bits))
    ++bits;
  // A run is in ascending order only if no other input flips its low bits.
  uint64_t others = 0;
  for (uint64_t column : ArrayRef(columns).drop_front(bits))
    others |= column;
  others = others >> shift & llvm::maskTrailingOnes<uint64_t>(bits);
  return 1 << std::min<unsigned>(bits, llvm::countr_zero(others));
}

LinearLayout LinearLayout::withContiguousRegisters(unsigned dim) const {
  SmallVector<uint64_t, 16> rest(getPackedBases(InputDim::Register));
  SmallVector<uint64_t, 16> sorted;
  for (unsigned bit = 0; bit < outputBits[dim]; ++bit) {
    auto *found = llvm::find(rest, uint64_t(1) << (getOutputShift(dim) + bit));
    if (found == rest.end())
      break;
    sorted.push_back(*found);
    rest.erase(found);
  }
  sorted.append(rest);
  return withRegisterColumns(sorted);
}

int32_t LinearLayout::vectorWidth(unsigned dim, unsigned elementBits,
                                  unsigned maxBits, int64_t alignment) const {
  int64_t width = contiguity(dim);
  width = std::min<int64_t>(
      width, llvm::bit_floor(std::max(maxBits / elementBits, 1u)));
  // Zero is a multiple of everything.
  if (alignment != 0)
    width = std::min<int64_t>(width, alignment & -alignment);
  return width;
}

llvm::SmallVectorImpl<int32_t> &ReductionBits::operator[](InputDim dim) {
  switch (dim) {
  case InputDim::Register:
    return registerMasks;
  case InputDim::Lane:
    return laneMasks;
  case InputDim::Warp:
    return warpMasks;
  case InputDim::Block:
    return blockMasks;
  }
  llvm_unreachable("unknown input dimension");
}

/// The number of the coordinate's bit along `dim` that `basis` moves, if it
/// moves that alone; nothing if it moves several or other dimensions too.
static std::optional<unsigned> getOnlyBit(const Coordinates &basis,
                                          unsigned dim) {
  for (auto [i, coordinate] : llvm::enumerate(basis))
    if (i != dim && coordinate != 0)
      return std::nullopt;
  if (!llvm::isPowerOf2_32(basis[dim]))
    return std::nullopt;
  return llvm::Log2_32(basis[dim]);
}

ScanBits LinearLayout::scanBits(unsigned dim) const {
  ScanBits result;
  SmallVector<std::pair<InputDim, int32_t>> holders(outputBits[dim],
                                                    {InputDim::Register, 0});
  for (InputDim input : inputDims)
    for (unsigned bit = 0; bit < getNumBits(input); ++bit) {
      Coordinates basis = getBasis(input, bit);
      if (basis[dim] == 0)
        continue;
      std::optional<unsigned> position = getOnlyBit(basis, dim);
      if (!position || holders[*position].second != 0)
        return result;
      holders[*position] = {input, int32_t(1) << bit};
    }
  // Registers count neighbours until the first lane or warp does.
  llvm::SmallVectorImpl<int32_t> *registers = &result.runMasks;
  for (auto [input, mask] : holders) {
    if (mask == 0 || input == InputDim::Block)
      return result;
    llvm::SmallVectorImpl<int32_t> *masks =
        input == InputDim::Register ? registers
        : input == InputDim::Lane   ? &result.laneMasks
                                    : &result.warpMasks;
    bool isInOrder =
        result.registerMasks.empty() || input == InputDim::Register;
    isInOrder &= result.warpMasks.empty() || input != InputDim::Lane;
    if (!isInOrder)
      return result;
    masks->push_back(mask);
    if (input != InputDim::Register)
      registers = &result.registerMasks;
  }
  result.isComplete = true;
  return result;
}

ReductionBits LinearLayout::reductionBits(unsigned dim) const {
  LinearLayout slices = dropDim(dim, /*mergeRegisters=*/false);
  ReductionBits result;
  Echelon reached;
  for (InputDim input : inputDims) {
    BitMatrix elements(getNumOutputBits(), getPackedBases(input));
    // Sums of the input's bits that stay in their slice.
    SmallVector<uint64_t, 16> masks =
        BitMatrix(slices.getNumOutputBits(), slices.getPackedBases(input))
            .kernel()
            .getValues();
    for (uint64_t mask : llvm::reverse(masks))
      if (reached.insert(elements.apply(mask)))
        result[input].push_back(mask);
  }
  result.isComplete = reached.rank() == outputBits[dim];
  return result;
}
