// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Stack.h"

#include <algorithm>
#include <cstring>

using namespace deplo::emulator;

namespace {

/// Rows that hold values; the others are predicates.
template <typename Visit>
void forRows(const StackedFunction &function, Visit &&visit) {
  for (const Ref &ref : function.registers)
    if (ref.bank == Ref::Registers)
      visit(ref);
  for (const auto &[ref, offset] : function.addresses)
    visit(ref);
}

std::shared_ptr<SavedRegisters> save(Warp &warp,
                                     const StackedFunction &function) {
  auto saved = std::make_shared<SavedRegisters>();
  forRows(function, [&](const Ref &ref) {
    const auto *row = warp.row<uint8_t>(ref);
    saved->rows.insert(saved->rows.end(), row,
                       row + size_t(lanesPerWarp) * ref.bytes);
  });
  for (const Ref &ref : function.registers) {
    saved->defined.push_back(warp.defined[ref.id]);
    if (ref.bank == Ref::Predicate)
      saved->predicates.push_back(warp.predicates[ref.offset]);
  }
  return saved;
}

/// Of the lanes `mask`; others of the warp may be elsewhere.
void restore(Warp &warp, const StackedFunction &function,
             const SavedRegisters &saved, uint32_t mask) {
  const uint8_t *from = saved.rows.data();
  forRows(function, [&](const Ref &ref) {
    auto *row = warp.row<uint8_t>(ref);
    forLanes(mask, [&](unsigned lane) {
      std::memcpy(row + lane * ref.bytes, from + lane * ref.bytes, ref.bytes);
    });
    from += size_t(lanesPerWarp) * ref.bytes;
  });
  auto merge = [&](uint32_t &word, uint32_t old) {
    word = (word & ~mask) | (old & mask);
  };
  size_t predicate = 0;
  for (size_t i = 0; i < function.registers.size(); ++i) {
    const Ref &ref = function.registers[i];
    warp.undefine(ref.id, mask);
    warp.defined[ref.id] |= saved.defined[i] & mask;
    if (ref.bank == Ref::Predicate)
      merge(warp.predicates[ref.offset], saved.predicates[predicate++]);
  }
}

/// Makes room for `bytes` of each lane.
void growLocal(Warp &warp, uint64_t bytes) {
  if (bytes <= warp.localStride)
    return;
  uint64_t stride = std::max(2 * warp.localStride, bytes);
  std::vector<uint8_t> local(stride * lanesPerWarp);
  std::vector<bool> written(stride * lanesPerWarp, false);
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
    auto from = std::ptrdiff_t(lane * warp.localStride);
    auto end = from + std::ptrdiff_t(warp.localStride);
    auto to = std::ptrdiff_t(lane * stride);
    std::copy(warp.local.begin() + from, warp.local.begin() + end,
              local.begin() + to);
    std::copy(warp.localWritten.begin() + from, warp.localWritten.begin() + end,
              written.begin() + to);
  }
  warp.local = std::move(local);
  warp.localWritten = std::move(written);
  warp.localStride = stride;
}

void enterFrame(Warp &warp, const Inst &inst, uint32_t mask) {
  const Kernel &kernel = *warp.grid->kernel;
  const StackedFunction &callee = kernel.stacked[inst.a];
  std::vector<Activation> &activations =
      warp.splits[size_t(warp.current)].activations;
  Activation entered;
  entered.function = inst.a;
  entered.base = kernel.localBytes;
  if (!activations.empty()) {
    const Activation &top = activations.back();
    entered.base = top.base + kernel.stacked[top.function].bytes;
  }
  entered.base = (entered.base + callee.alignment - 1) / callee.alignment *
                 callee.alignment;
  const uint64_t limit = warp.grid->launch->stackBytes;
  uint64_t end = entered.base + callee.bytes;
  if (end - kernel.localBytes > limit)
    return warp.fail(Fault::Resources, inst, int(firstLane(mask)),
                     "the stack of a thread, " + std::to_string(limit) +
                         " bytes, has no room for another '" + callee.name +
                         "' within " + std::to_string(activations.size()) +
                         " calls");
  growLocal(warp, end);
  forLanes(mask, [&](unsigned lane) {
    auto begin =
        warp.localWritten.begin() + std::ptrdiff_t(lane * warp.localStride);
    std::fill(begin + std::ptrdiff_t(entered.base), begin + std::ptrdiff_t(end),
              false);
  });
  if (inst.b != 0)
    entered.saved = save(warp, kernel.stacked[inst.b - 1]);
  for (const Ref &ref : callee.registers)
    warp.undefine(ref.id, mask);
  for (const auto &[ref, offset] : callee.addresses) {
    uint64_t address = entered.base + offset;
    auto *row = warp.row<uint8_t>(ref);
    forLanes(mask, [&, bytes = ref.bytes](unsigned lane) {
      std::memcpy(row + lane * bytes, &address, bytes);
    });
  }
  activations.push_back(std::move(entered));
}

void leaveFrame(Warp &warp, const Inst &inst, uint32_t mask) {
  std::vector<Activation> &activations =
      warp.splits[size_t(warp.current)].activations;
  if (inst.b != 0)
    restore(warp, warp.grid->kernel->stacked[inst.b - 1],
            *activations.back().saved, mask);
  activations.pop_back();
}

uint64_t baseOf(const Warp &warp, FrameBase base) {
  if (base == FrameBase::None)
    return 0;
  const std::vector<Activation> &activations =
      warp.splits[size_t(warp.current)].activations;
  return activations[activations.size() - size_t(base)].base;
}

void copyParameter(Warp &warp, const Inst &inst, uint32_t mask) {
  uint64_t from = inst.a + baseOf(warp, FrameBase(inst.wide & 0xff));
  uint64_t to = inst.b + baseOf(warp, FrameBase(inst.wide >> 8));
  forLanes(mask, [&](unsigned lane) {
    uint64_t begin = lane * warp.localStride;
    std::memmove(warp.local.data() + begin + to,
                 warp.local.data() + begin + from, inst.c);
    for (uint32_t i = 0; i < inst.c; ++i)
      warp.localWritten[begin + to + i] = warp.localWritten[begin + from + i];
  });
}

} // namespace

uint64_t deplo::emulator::packBases(FrameBase from, FrameBase to) {
  return uint64_t(from) | uint64_t(to) << 8;
}

std::pair<const std::vector<Placement> *, uint64_t>
deplo::emulator::localPlaces(const Warp &warp, uint64_t address) {
  const Kernel &kernel = *warp.grid->kernel;
  const std::vector<Activation> &activations =
      warp.splits[size_t(warp.current)].activations;
  auto next =
      std::upper_bound(activations.begin(), activations.end(), address,
                       [](uint64_t value, const Activation &activation) {
                         return value < activation.base;
                       });
  if (next == activations.begin())
    return {&kernel.local, 0};
  --next;
  return {&kernel.stacked[next->function].local, next->base};
}

Handler deplo::emulator::copyParameterHandler() { return copyParameter; }
Handler deplo::emulator::enterFrameHandler() { return enterFrame; }
Handler deplo::emulator::leaveFrameHandler() { return leaveFrame; }
