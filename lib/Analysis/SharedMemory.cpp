// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/SharedMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace deplo;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

std::optional<Swizzle> Swizzle::ofBytes(int64_t bytes) {
  switch (bytes) {
  case 0:
    return none();
  case 32:
    return Swizzle{1, 4, 3};
  case 64:
    return Swizzle{2, 4, 3};
  case 128:
    return Swizzle{3, 4, 3};
  default:
    return std::nullopt;
  }
}

Swizzle Swizzle::ofRows(int64_t bytes, int64_t rowBytes) {
  constexpr int64_t lineBytes = numSharedMemoryBanks * sharedMemoryBankBytes;
  Swizzle swizzle = ofBytes(bytes).value_or(none());
  for (; rowBytes > lineBytes; rowBytes /= 2)
    ++swizzle.shift;
  return swizzle;
}

SmallVector<int64_t, 4> SharedBuffer::getStrides() const {
  SmallVector<int64_t, 4> strides(shape.size());
  int64_t stride = 1;
  for (unsigned i = 0; i < shape.size(); ++i) {
    int64_t dim = order.empty() ? shape.size() - 1 - i : order[i];
    strides[dim] = stride;
    stride *=
        i == 0 && splitBytes != 0 ? splitBytes / elementBytes : shape[dim];
    if (i == 0)
      stride += pad;
  }
  return strides;
}

int64_t SharedBuffer::getSizeInBytes() const {
  int64_t elements = shape[getFastestDim()] + pad;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (dim != getFastestDim())
      elements *= shape[dim];
  // Chunks move within groups of this size.
  int64_t group =
      swizzle.bits == 0 ? 1 : int64_t(1) << (swizzle.bits + swizzle.base);
  return llvm::alignTo(elements * elementBytes, group);
}

/// `getByteOffset` for callers that have the strides.
static int64_t getOffset(const SharedBuffer &buffer, ArrayRef<int64_t> strides,
                         ArrayRef<int32_t> coordinates) {
  int64_t element = 0;
  for (auto [coordinate, stride] : llvm::zip_equal(coordinates, strides))
    element += coordinate * stride;
  if (buffer.splitBytes != 0) {
    int64_t width = buffer.splitBytes / buffer.elementBytes;
    int64_t all = llvm::product_of(buffer.shape);
    int64_t fastest = coordinates[buffer.getFastestDim()];
    int64_t piece = all / buffer.shape[buffer.getFastestDim()] * width;
    element += fastest / width * (piece - width);
  }
  return buffer.swizzle.apply(element * buffer.elementBytes);
}

int64_t SharedBuffer::getByteOffset(ArrayRef<int32_t> coordinates) const {
  return getOffset(*this, getStrides(), coordinates);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

BankConflicts &BankConflicts::operator+=(const BankConflicts &other) {
  wavefronts += other.wavefronts;
  phases += other.phases;
  degree = std::max(degree, other.degree);
  return *this;
}

/// The lanes of one phase.
static BankConflicts getPhaseConflicts(ArrayRef<int64_t> byteOffsets,
                                       unsigned accessBytes) {
  SmallVector<int64_t, 32> words;
  for (int64_t offset : byteOffsets) {
    if (offset < 0)
      continue;
    int64_t first = offset / sharedMemoryBankBytes;
    int64_t last = (offset + accessBytes - 1) / sharedMemoryBankBytes;
    llvm::append_range(words, llvm::seq_inclusive(first, last));
  }
  // Lanes that want the same word are served together.
  llvm::sort(words);
  words.erase(llvm::unique(words), words.end());
  int64_t wordsInBank[numSharedMemoryBanks] = {};
  for (int64_t word : words)
    ++wordsInBank[word % numSharedMemoryBanks];
  int64_t busiest = *llvm::max_element(wordsInBank);
  return {busiest, busiest > 0 ? 1 : 0, busiest};
}

BankConflicts deplo::getBankConflicts(ArrayRef<int64_t> byteOffsets,
                                      unsigned accessBytes) {
  constexpr unsigned phaseBytes = numSharedMemoryBanks * sharedMemoryBankBytes;
  unsigned phaseLanes = phaseBytes / std::max(accessBytes, 4u);
  BankConflicts conflicts;
  while (!byteOffsets.empty()) {
    ArrayRef<int64_t> phase = byteOffsets.take_front(phaseLanes);
    conflicts += getPhaseConflicts(phase, accessBytes);
    byteOffsets = byteOffsets.drop_front(phase.size());
  }
  return conflicts;
}

static Error checkAccess(const SharedAccess &access,
                         const SharedBuffer &buffer) {
  const LinearLayout &layout = access.layout;
  if (ArrayRef<int64_t>(layout.getShape()) != ArrayRef(buffer.shape))
    return createStringError(
        "the shape of the tile differs from that of the shared buffer");
  if (buffer.shape.empty())
    return createStringError("the shared buffer has no dimensions");
  int64_t accessBytes = int64_t(access.vectorWidth) * buffer.elementBytes;
  if (access.vectorWidth <= 0 || accessBytes > 16 ||
      !llvm::isPowerOf2_64(accessBytes))
    return createStringError(
        "an access of " + Twine(access.vectorWidth) + " elements of " +
        Twine(buffer.elementBytes) +
        " bytes is not one instruction, expected 1, 2, 4, 8 or 16 bytes");
  if (layout.contiguity(buffer.getFastestDim()) < access.vectorWidth)
    return createStringError(
        "threads hold " + Twine(layout.contiguity(buffer.getFastestDim())) +
        " consecutive elements along the fastest dimension of the shared "
        "buffer, but an access moves " +
        Twine(access.vectorWidth));
  // Swizzles move chunks of 2^base bytes, which an access must not cross.
  if (buffer.swizzle.bits > 0 && accessBytes > int64_t(1)
                                                   << buffer.swizzle.base)
    return createStringError("an access of " + Twine(accessBytes) +
                             " bytes crosses the chunks that the swizzle "
                             "moves");
  for (auto [dim, stride] : llvm::enumerate(buffer.getStrides()))
    if (dim != buffer.getFastestDim() && buffer.shape[dim] > 1 &&
        stride % access.vectorWidth != 0)
      return createStringError("the stride of dimension " + Twine(dim) +
                               " in the shared buffer is " + Twine(stride) +
                               " elements, which misaligns accesses of " +
                               Twine(access.vectorWidth));
  return Error::success();
}

Expected<BankConflicts> deplo::getBankConflicts(const SharedAccess &access,
                                                const SharedBuffer &buffer) {
  if (Error error = checkAccess(access, buffer))
    return std::move(error);
  const LinearLayout &layout = access.layout;
  SmallVector<int64_t, 4> strides = buffer.getStrides();
  BankConflicts conflicts;
  SmallVector<int64_t, 32> offsets;
  for (int32_t block : llvm::seq(layout.getSize(InputDim::Block)))
    for (int32_t warp : llvm::seq(layout.getSize(InputDim::Warp)))
      for (int32_t reg = 0; reg < layout.getNumRegisters();
           reg += access.vectorWidth) {
        offsets.clear();
        for (int32_t lane : llvm::seq(layout.getSize(InputDim::Lane)))
          offsets.push_back(
              getOffset(buffer, strides, layout.apply(reg, lane, warp, block)));
        conflicts +=
            getBankConflicts(offsets, access.vectorWidth * buffer.elementBytes);
      }
  return conflicts;
}

Expected<Padding> deplo::findPadding(ArrayRef<SharedAccess> accesses,
                                     SharedBuffer buffer, int64_t budgetBytes) {
  int32_t alignment = 1;
  buffer.pad = 0;
  for (const SharedAccess &access : accesses) {
    if (Error error = checkAccess(access, buffer))
      return std::move(error);
    alignment = std::max(alignment, access.vectorWidth);
  }
  if (buffer.getSizeInBytes() > budgetBytes)
    return createStringError("the shared buffer has " +
                             Twine(buffer.getSizeInBytes()) +
                             " bytes, but the budget is " + Twine(budgetBytes));

  std::optional<Padding> best;
  // Padding by all banks brings back the same conflicts.
  int64_t end = numSharedMemoryBanks * sharedMemoryBankBytes;
  for (; buffer.pad * buffer.elementBytes < end; buffer.pad += alignment) {
    if (buffer.getSizeInBytes() > budgetBytes)
      break;
    BankConflicts total;
    for (const SharedAccess &access : accesses) {
      Expected<BankConflicts> conflicts = getBankConflicts(access, buffer);
      if (!conflicts)
        return conflicts.takeError();
      total += *conflicts;
    }
    if (!best || total.wavefronts < best->conflicts.wavefronts)
      best = Padding{buffer.pad, total};
    if (best->conflicts.isConflictFree())
      break;
  }
  return *best;
}
