// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divergence and reconvergence, and the loop that runs a warp.

#include "Barriers.h"
#include "Races.h"
#include "State.h"
#include "Text.h"
#include "Wgmma.h"

using namespace deplo::emulator;

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

void Warp::saveCurrent() {
  if (current < 0)
    return;
  Split &split = splits[size_t(current)];
  split.pc = pc;
  split.mask = mask;
}

/// The next split that is ready, after the current one; in turn, so that
/// lanes that spin do not keep others from going on.
bool Warp::selectReady() {
  saveCurrent();
  size_t count = splits.size();
  size_t start = lastSplit + 1;
  for (size_t i = 0; i < count; ++i) {
    size_t index = (start + i) % count;
    Split &split = splits[index];
    if (split.state != Split::State::Ready)
      continue;
    current = int32_t(index);
    lastSplit = index;
    pc = split.pc;
    mask = split.mask;
    return true;
  }
  current = -1;
  return false;
}

static size_t newSplit(Warp &warp) {
  for (size_t i = 0; i < warp.splits.size(); ++i)
    if (warp.splits[i].state == Split::State::Free)
      return i;
  warp.splits.emplace_back();
  return warp.splits.size() - 1;
}

void Warp::divide(const Inst &inst, const Path *paths, size_t count) {
  const Inst *first = grid->kernel->code.data();
  block->cluster->worker->counters[size_t(&inst - first)].divergent++;
  saveCurrent();
  size_t self = size_t(current);
  // Lanes that were divided before and would meet at the same place do so
  // together.
  std::vector<uint32_t> returns = splits[self].returns;
  std::vector<Activation> activations = splits[self].activations;
  bool isSibling = splits[self].reconverge == inst.reconverge &&
                   splits[self].depth == returns.size();
  int32_t parent = isSibling ? splits[self].parent : int32_t(self);
  for (size_t i = 0; i < count; ++i) {
    size_t index = self;
    if (!isSibling || i > 0) {
      index = newSplit(*this);
      if (parent >= 0)
        ++splits[size_t(parent)].children;
    }
    Split &split = splits[index];
    split.state = Split::State::Ready;
    split.pc = paths[i].pc;
    split.mask = paths[i].mask;
    split.reconverge = inst.reconverge;
    split.depth = returns.size();
    split.parent = parent;
    if (index != self) {
      split.children = split.pending = 0;
      split.returns = returns;
      split.activations = activations;
    }
    if (i == 0)
      current = int32_t(index);
  }
  if (!isSibling) {
    Split &joining = splits[self];
    joining.state = Split::State::Joining;
    joining.pc = inst.reconverge;
    joining.pending = 0;
  }
  lastSplit = size_t(current);
  pc = splits[lastSplit].pc;
  mask = splits[lastSplit].mask;
}

/// Lanes that have left a loop wait for those that are in it. If these wait for
/// a lock that the others have, they would do so for ever.
void Warp::releaseJoined() {
  constexpr uint32_t spinning = 64;
  if (strongAccesses < spinning)
    return;
  strongAccesses = 0;
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i].state != Split::State::Joining || splits[i].pending == 0)
      continue;
    size_t index = newSplit(*this);
    Split &alone = splits[index];
    const Split &joining = splits[i];
    alone.state = Split::State::Ready;
    alone.pc = joining.pc;
    alone.mask = joining.pending;
    alone.reconverge = joining.reconverge;
    alone.depth = joining.depth;
    alone.parent = joining.parent;
    alone.children = alone.pending = 0;
    alone.returns = joining.returns;
    alone.activations = joining.activations;
    splits[i].pending = 0;
    if (alone.parent >= 0)
      ++splits[size_t(alone.parent)].children;
  }
}

void Warp::join() {
  strongAccesses = 0;
  Split &split = splits[size_t(current)];
  Split &parent = splits[size_t(split.parent)];
  parent.pending |= mask;
  split.state = Split::State::Free;
  size_t next = size_t(split.parent);
  current = -1;
  if (--parent.children != 0)
    return;
  parent.state = Split::State::Ready;
  parent.mask = parent.pending;
  current = int32_t(next);
  lastSplit = next;
  pc = parent.pc;
  mask = parent.mask;
}

void Warp::finish(int32_t index) {
  int32_t parent = splits[size_t(index)].parent;
  splits[size_t(index)].state = Split::State::Free;
  splits[size_t(index)].returns.clear();
  splits[size_t(index)].activations.clear();
  if (parent < 0)
    return;
  Split &above = splits[size_t(parent)];
  if (--above.children != 0)
    return;
  if (above.pending == 0)
    return finish(parent);
  above.state = Split::State::Ready;
  above.mask = above.pending;
}

void Warp::endLanes(uint32_t lanes) {
  mask &= ~lanes;
  live &= ~lanes;
  block->liveThreads -= popcount(lanes);
  checkEnd(*this, lanes);
  if (block->isDone() && block->shadow && block->cluster->blocks.size() > 1 &&
      ending)
    block->shadow->checkEnd(*this, *ending, firstLane(lanes));
  if (mask == 0) {
    finish(current);
    current = -1;
  } else {
    saveCurrent();
  }
  ++block->cluster->events;
  updateBarriers(*this);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Warp::report(Fault fault, const Inst &inst, int lane,
                  std::optional<uint64_t> address, const std::string &message) {
  Diagnostic diagnostic;
  const Origin &origin = grid->kernel->origins[inst.origin];
  diagnostic.fault = fault;
  diagnostic.line = origin.location.line;
  diagnostic.column = origin.location.column;
  diagnostic.instruction = shortened(origin.text);
  diagnostic.block = block->index;
  diagnostic.hasThread = lane >= 0;
  if (lane >= 0)
    diagnostic.thread =
        threadIndex(grid->block, index * lanesPerWarp + uint32_t(lane));
  diagnostic.hasAddress = address.has_value();
  diagnostic.address = address.value_or(0);
  diagnostic.message = message;
  bool isFatal = fault != Fault::Race && fault != Fault::AsyncCopy;
  grid->addDiagnostic(std::move(diagnostic), isFatal);
}

void Warp::fail(Fault fault, const Inst &inst, int lane,
                const std::string &message) {
  if (stop == Stop::Error)
    return;
  stop = Stop::Error;
  report(fault, inst, lane, std::nullopt, message);
}

void Warp::failAt(Fault fault, const Inst &inst, int lane, uint64_t address,
                  const std::string &message) {
  if (stop == Stop::Error)
    return;
  stop = Stop::Error;
  report(fault, inst, lane, address, message);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Whether the running split is where it joins its parent, and not in a call
/// that it has made since.
static bool isAtJoin(const Warp &warp) {
  const Split &split = warp.splits[size_t(warp.current)];
  return warp.pc == split.reconverge && split.returns.size() == split.depth;
}

static uint32_t getDefinedHalf(const Warp &warp, const Ref &ref,
                               unsigned half) {
  const std::vector<uint32_t> &halves = warp.definedHalf[half];
  return warp.defined[ref.id] | (halves.empty() ? 0 : halves[ref.id]);
}

/// The lanes in which a half of the result has a value.
static uint32_t trackHalf(Warp &warp, const Inst &inst, unsigned half) {
  uint32_t known = allLanes;
  switch (inst.undefined) {
  case Undefined::Pack:
    return warp.defined[inst.source(half).id];
  case Undefined::PackReversed:
    return warp.defined[inst.source(1 - half).id];
  case Undefined::ShiftUp:
  case Undefined::ShiftDown: {
    constexpr uint32_t bitsOfHalf = 16;
    const Ref &value = inst.source(0), &amount = inst.source(1);
    bool isUp = inst.undefined == Undefined::ShiftUp;
    // Zeros, or copies of the sign, come after the half that moves.
    uint32_t moved =
        getDefinedHalf(warp, value, !isUp) & warp.defined[amount.id];
    uint32_t far = 0;
    forLanes(allLanes, [&](unsigned lane) {
      far |= uint32_t(warp.row<uint32_t>(amount)[lane] >= bitsOfHalf) << lane;
    });
    return (warp.defined[value.id] & warp.defined[amount.id]) | (far & moved);
  }
  default:
    for (unsigned i = 0; i < inst.sources; ++i)
      known &= getDefinedHalf(warp, inst.source(i), half);
    return known;
  }
}

/// Follows the halves of registers where not all are defined.
static void trackHalves(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t known[2];
  for (unsigned half : {0u, 1u}) {
    known[half] = mask & trackHalf(warp, inst, half);
    warp.definedHalf[half].resize(warp.defined.size());
  }
  auto set = [mask](uint32_t &lanes, uint32_t value) {
    lanes = (lanes & ~mask) | value;
  };
  for (unsigned i = 0; i < inst.results; ++i) {
    uint32_t id = inst.result(i).id;
    if (id == 0)
      continue;
    bool isHalf = inst.results == 2;
    set(warp.defined[id], isHalf ? known[i] : known[0] & known[1]);
    for (unsigned half : {0u, 1u})
      set(warp.definedHalf[half][id], isHalf ? 0 : known[half]);
  }
}

/// Follows which lanes' values are defined; false if that is a fault.
static bool trackDefined(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t known = allLanes;
  if (inst.undefined != Undefined::Ignore) {
    for (unsigned i = 0; i < inst.sources; ++i)
      known &= warp.defined[inst.source(i).id];
    if (inst.undefined == Undefined::Reject && (mask & ~known)) {
      warp.fail(Fault::UndefinedRegister, inst, int(firstLane(mask & ~known)),
                "a register is used that nothing has written");
      return false;
    }
    if (inst.undefined >= Undefined::PropagateHalves && (mask & ~known)) {
      trackHalves(warp, inst, mask);
      return true;
    }
  }
  for (unsigned i = 0; i < inst.results; ++i) {
    uint32_t id = inst.result(i).id;
    if (id == 0)
      continue;
    warp.defined[id] |= mask & known;
    if (mask & ~known)
      warp.undefine(id, mask & ~known);
  }
  return true;
}

Stop deplo::emulator::runWarp(Warp &warp, Worker &worker, uint64_t quantum) {
  const Inst *code = warp.grid->kernel->code.data();
  const bool tracks = warp.grid->checksUninitialized;
  warp.stop = Stop::None;
  if (!warp.selectReady())
    return Stop::Blocked;
  uint64_t left = quantum;
  while (left-- > 0) {
    const Inst &inst = code[warp.pc];
    if (inst.isLeader && isAtJoin(warp)) {
      warp.join();
      if (warp.current < 0 && !warp.selectReady())
        break;
      continue;
    }
    uint32_t mask = warp.mask;
    if (inst.hasGuard) {
      if (tracks && (mask & ~warp.defined[inst.guard.id])) {
        warp.fail(Fault::UndefinedRegister, inst,
                  int(firstLane(mask & ~warp.defined[inst.guard.id])),
                  "the guard is a predicate that nothing has written");
        break;
      }
      mask &= warp.predicate(inst.guard);
    }
    ++warp.pc;
    ++warp.instructions;
    ++worker.instructions;
    InstCounters &counters = worker.counters[size_t(&inst - code)];
    ++counters.warps;
    counters.threads += popcount(mask);
    if (mask == 0)
      continue;
    if (tracks && !trackDefined(warp, inst, mask))
      break;
    if (!warp.wgmmaRegisters.empty() && !checkWgmmaRegisters(warp, inst, mask))
      break;
    inst.run(warp, inst, mask);
    if (warp.stop != Stop::None)
      break;
    if (warp.current < 0 && !warp.selectReady())
      break;
  }
  warp.saveCurrent();
  if (warp.stop != Stop::None)
    return warp.stop;
  warp.releaseJoined();
  return warp.current < 0 ? Stop::Blocked : Stop::Quantum;
}
