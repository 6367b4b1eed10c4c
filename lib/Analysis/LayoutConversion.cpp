// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/LayoutConversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace deplo;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::Twine;

llvm::StringRef deplo::stringifyConversionKind(ConversionKind kind) {
  switch (kind) {
  case ConversionKind::Nothing:
    return "nothing";
  case ConversionKind::RegisterPermutation:
    return "register permutation";
  case ConversionKind::WarpShuffle:
    return "warp shuffle";
  case ConversionKind::SharedMemory:
    return "shared memory";
  }
  llvm_unreachable("unknown conversion kind");
}

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

static uint64_t getInputMask(const LinearLayout &layout,
                             ArrayRef<InputDim> dims) {
  uint64_t mask = 0;
  for (InputDim dim : dims)
    mask |= llvm::maskTrailingOnes<uint64_t>(layout.getNumBits(dim))
            << layout.getInputShift(dim);
  return mask;
}

/// The lowest index with only bits of `mask` at which `layout` holds `element`.
static std::optional<uint64_t> findHolder(const LinearLayout &layout,
                                          uint64_t mask, uint64_t element) {
  BitMatrix all = layout.getMatrix();
  SmallVector<uint64_t, 16> columns(all.getColumns());
  for (auto [i, column] : llvm::enumerate(columns))
    if (!(mask >> i & 1))
      column = 0;
  return BitMatrix(all.getNumRows(), columns).solve(element);
}

/// Finds the source of all elements of `to` at an index of `from` that differs
/// from the destination's only in the bits that may change: the register and
/// `registerReach` for a change of the destination's register, `threadReach`
/// for a change of its thread.
static std::optional<BitMatrix> findSources(const LinearLayout &from,
                                            const LinearLayout &to,
                                            uint64_t registerReach,
                                            uint64_t threadReach) {
  uint64_t registers = getInputMask(from, InputDim::Register);
  SmallVector<uint64_t, 16> sources;
  for (InputDim dim : inputDims)
    for (unsigned bit : llvm::seq(to.getNumBits(dim))) {
      // Start from the same thread, and reach for what it holds elsewhere.
      bool isRegister = dim == InputDim::Register;
      uint64_t own = 0;
      uint64_t element = to.getPackedBases(dim)[bit];
      if (!isRegister) {
        own = uint64_t(1) << (from.getInputShift(dim) + bit);
        element ^= from.getPackedBases(dim)[bit];
      }
      uint64_t reach = isRegister ? registerReach : threadReach;
      // Other registers of the same thread cost nothing, but registers that
      // depend on the thread cost a selection.
      uint64_t cheap = isRegister ? reach & registers : reach & ~registers;
      std::optional<uint64_t> way = findHolder(from, cheap, element);
      if (!way)
        way = findHolder(from, reach, element);
      if (!way)
        return std::nullopt;
      sources.push_back(own ^ *way);
    }
  return BitMatrix(from.getNumInputBits(), sources);
}

static Error checkConvertible(const LinearLayout &from,
                              const LinearLayout &to) {
  if (from.getShape() != to.getShape()) {
    std::string message;
    llvm::raw_string_ostream os(message);
    os << "cannot convert a layout of a ";
    llvm::interleave(from.getShape(), os, "x");
    os << " tile to a layout of a ";
    llvm::interleave(to.getShape(), os, "x");
    os << " tile";
    return createStringError(message);
  }
  for (InputDim dim : ArrayRef(inputDims).drop_front())
    if (from.getNumBits(dim) != to.getNumBits(dim))
      return createStringError(
          "cannot convert a layout over " + Twine(from.getSize(dim)) + " " +
          stringifyInputDim(dim) + "s to one over " + Twine(to.getSize(dim)));
  return Error::success();
}

Expected<LayoutConversion> deplo::classifyConversion(const LinearLayout &from,
                                                     const LinearLayout &to) {
  if (Error error = checkConvertible(from, to))
    return std::move(error);
  if (from == to)
    return LayoutConversion(ConversionKind::Nothing, from, to,
                            BitMatrix::identity(from.getNumInputBits()));

  uint64_t thread = getInputMask(from, InputDim::Register);
  uint64_t warp = getInputMask(from, {InputDim::Register, InputDim::Lane});
  uint64_t block =
      getInputMask(from, {InputDim::Register, InputDim::Lane, InputDim::Warp});
  struct Attempt {
    ConversionKind kind;
    uint64_t registerReach, threadReach;
  };
  const Attempt attempts[] = {
      {ConversionKind::RegisterPermutation, thread, 0},
      // Threads pick different registers of their own: selections only.
      {ConversionKind::WarpShuffle, thread, thread},
      {ConversionKind::WarpShuffle, warp, warp},
      {ConversionKind::SharedMemory, block, block}};
  for (const Attempt &attempt : attempts)
    if (std::optional<BitMatrix> sources =
            findSources(from, to, attempt.registerReach, attempt.threadReach))
      return LayoutConversion(attempt.kind, from, to, std::move(*sources));
  return createStringError(
      "the conversion needs elements that the source layout does not hold in "
      "the same block");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

SmallVector<int32_t, 16> LayoutConversion::getRegisterMap() const {
  SmallVector<int32_t, 16> map;
  for (int32_t reg : llvm::seq(to.getNumRegisters()))
    map.push_back(getSource({reg}).reg);
  return map;
}

static ArrayRef<InputDim> getThreadDims() {
  return ArrayRef(inputDims).drop_front();
}

SmallVector<int32_t, 4>
LayoutConversion::getSourceRegisters(int32_t reg) const {
  Echelon offsets;
  SmallVector<int32_t, 4> registers = {getSource({reg}).reg};
  for (InputDim dim : getThreadDims())
    for (unsigned bit : llvm::seq(to.getNumBits(dim))) {
      int32_t offset = getContribution(dim, bit).reg;
      if (!offsets.insert(offset))
        continue;
      for (int32_t other : SmallVector<int32_t, 4>(registers))
        registers.push_back(other ^ offset);
    }
  llvm::sort(registers);
  return registers;
}

std::optional<int32_t> LayoutConversion::getLaneXor(int32_t reg) const {
  for (InputDim dim : getThreadDims())
    for (unsigned bit : llvm::seq(to.getNumBits(dim))) {
      int32_t own = dim == InputDim::Lane ? 1 << bit : 0;
      if (getContribution(dim, bit).lane != own)
        return std::nullopt;
    }
  return getSource({reg}).lane;
}

int32_t LayoutConversion::getNumShuffles() const {
  int32_t count = 0;
  for (int32_t reg : llvm::seq(to.getNumRegisters()))
    if (getLaneXor(reg) != 0)
      count += getSourceRegisters(reg).size();
  return count;
}
