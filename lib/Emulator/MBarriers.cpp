// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MBarriers.h"
#include "Lanes.h"
#include "Memory.h"
#include "Text.h"

using namespace deplo::emulator;

namespace {

constexpr uint32_t objectBytes = 8;
/// Limits of the counts, from the ISA.
constexpr uint32_t maxCount = (1u << 20) - 1;

/// The place of a barrier in its block's shared memory.
uint32_t offsetOf(uint64_t address) {
  return uint32_t(address & ((uint64_t(1) << sharedRankShift) - 1));
}

void completePhase(Warp &warp, MBarrier &barrier) {
  ++barrier.phase;
  barrier.pending = barrier.expected;
  Cluster &cluster = *warp.block->cluster;
  ++cluster.events;
  if (ClusterClocks *clocks = cluster.clocks.get()) {
    Actor actor;
    actor.agent = Agent::MBarrier;
    actor.barrier = barrier.clock;
    clocks->releaseAgent(*barrier.arriving, clocks->component(warp, 0, actor),
                         barrier.phase);
    *barrier.done = *barrier.arriving;
  }
}

void update(Warp &warp, MBarrier &barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0)
    completePhase(warp, barrier);
}

/// The token that an arrival gives: the phase that it belongs to.
uint64_t stateOf(const MBarrier &barrier) {
  return uint64_t(barrier.phase) << 32 | barrier.pending;
}

} // namespace

MBarrierRef deplo::emulator::findMBarrier(Warp &warp, const Inst &inst,
                                          unsigned lane) {
  return findMBarrier(warp, inst, lane, inst.space,
                      addressOf(warp, inst.source(0), lane));
}

MBarrierRef deplo::emulator::findMBarrier(Warp &warp, const Inst &inst,
                                          unsigned lane, Space space,
                                          uint64_t address, bool isOfCopy) {
  if (space == Space::Generic)
    std::tie(space, address) = resolveGeneric(address);
  if (space != Space::Shared) {
    warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                "a memory barrier must be in shared memory");
    return {};
  }
  Block *block = sharedBlock(warp, address);
  auto find = [&] { return block->mbarriers.find(offsetOf(address)); };
  Access access;
  access.isStrong = access.mayBeUndefined = true;
  // Who waits for the phase knows that the copy has counted its bytes.
  if (isOfCopy && block && find() != block->mbarriers.end()) {
    access.actor.agent = Agent::MBarrier;
    access.actor.barrier = find()->second.clock;
    access.actor.clock = find()->second.phase + 1;
  }
  if (!accessMemory(warp, inst, lane, Space::Shared, address, objectBytes,
                    access, objectBytes))
    return {};
  auto found = find();
  if (found == block->mbarriers.end()) {
    warp.failAt(Fault::AsyncCopy, inst, int(lane), address,
                "there is no memory barrier here; mbarrier.init makes one");
    return {};
  }
  return {&found->second, block};
}

void deplo::emulator::arriveAt(Warp &warp, const Inst &inst, unsigned lane,
                               MBarrierRef ref, uint32_t count, bool releases) {
  MBarrier &barrier = *ref.barrier;
  if (count == 0 || count > barrier.pending)
    return warp.fail(Fault::AsyncCopy, inst, int(lane),
                     std::to_string(count) +
                         " arrivals at a memory barrier that waits for " +
                         std::to_string(barrier.pending) + " more");
  if (releases && warp.block->cluster->clocks)
    warp.block->cluster->clocks->release(warp, lane, *barrier.arriving);
  barrier.pending -= count;
  update(warp, barrier);
}

void deplo::emulator::completeBytes(Warp &warp, const Inst &inst, unsigned lane,
                                    MBarrierRef ref, int64_t bytes) {
  MBarrier &barrier = *ref.barrier;
  barrier.bytes -= bytes;
  if (barrier.bytes > int64_t(maxCount) || barrier.bytes < -int64_t(maxCount))
    return warp.fail(Fault::AsyncCopy, inst, int(lane),
                     "a memory barrier counts at most " +
                         std::to_string(maxCount) + " bytes");
  update(warp, barrier);
}

namespace {

void initialize(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *counts = warp.row<uint32_t>(inst.source(1));
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t address = addressOf(warp, inst.source(0), lane);
    Space space = inst.space;
    if (space == Space::Generic)
      std::tie(space, address) = resolveGeneric(address);
    if (counts[lane] == 0 || counts[lane] > maxCount)
      return warp.fail(Fault::AsyncCopy, inst, int(lane),
                       "a memory barrier waits for 1 to " +
                           std::to_string(maxCount) + " arrivals, got " +
                           std::to_string(counts[lane]));
    Access access;
    access.isWrite = true;
    uint8_t *memory = accessMemory(warp, inst, lane, space, address,
                                   objectBytes, access, objectBytes);
    if (!memory)
      return;
    std::memset(memory, 0, objectBytes);
    MBarrier barrier;
    barrier.expected = barrier.pending = counts[lane];
    Cluster &cluster = *warp.block->cluster;
    barrier.arriving = std::make_shared<SyncPoint>();
    barrier.done = std::make_shared<SyncPoint>();
    if (cluster.clocks)
      barrier.clock = cluster.clocks->newMBarrier();
    sharedBlock(warp, address)->mbarriers[offsetOf(address)] = barrier;
  }
}

void invalidate(Warp &warp, const Inst &inst, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t address = addressOf(warp, inst.source(0), lane);
    MBarrierRef ref = findMBarrier(warp, inst, lane, inst.space, address);
    if (!ref.barrier)
      return;
    ref.block->mbarriers.erase(offsetOf(address));
  }
}

/// Inst::a of arrivals.
enum ArriveFlags : uint32_t {
  hasResult = 1,
  expectsBytes = 2,
  drops = 4,
  releases = 8,
  /// The last source is a count of arrivals.
  hasCount = 16
};

void arrive(Warp &warp, const Inst &inst, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    MBarrierRef ref = findMBarrier(warp, inst, lane);
    if (!ref.barrier)
      return;
    if (inst.a & hasResult)
      writeLane(warp, inst.result(0), lane, stateOf(*ref.barrier));
    if (inst.a & expectsBytes)
      ref.barrier->bytes += warp.row<uint32_t>(inst.source(1))[lane];
    uint32_t count =
        inst.a & hasCount ? warp.row<uint32_t>(inst.source(1))[lane] : 1;
    if (inst.a & drops) {
      if (ref.barrier->expected < count)
        return warp.fail(Fault::AsyncCopy, inst, int(lane),
                         "more arrivals are dropped than the memory barrier "
                         "waits for");
      ref.barrier->expected -= count;
    }
    arriveAt(warp, inst, lane, ref, count, inst.a & releases);
    if (warp.stop == Stop::Error)
      return;
  }
}

Space spaceOf(const Form &form) {
  return form.which({"shared", "shared::cta", "shared::cluster"}) >= 0
             ? Space::Shared
             : Space::Generic;
}

void prepare(Form &form, Inst &inst) {
  inst.space = spaceOf(form);
  inst.undefined = Undefined::Reject;
  form.decoder.features().mbarriers = true;
}

Handler selectArrive(Form &form, Inst &inst) {
  prepare(form, inst);
  inst.a = (form.has("relaxed") ? 0 : uint32_t(releases)) |
           (form.has("expect_tx") ? uint32_t(expectsBytes) : 0) |
           (form.has("arrive_drop") ? uint32_t(drops) : 0);
  const std::vector<Operand> &operands = form.ast.operands;
  size_t next = 0;
  if (operands[0].kind != Operand::Kind::Address) {
    if (operands[0].kind != Operand::Kind::Sink) {
      form.decoder.addResult(operands[0], Type::B64);
      inst.a |= hasResult;
    }
    ++next;
  }
  if (next >= operands.size()) {
    form.decoder.fail(form.ast.location, "expected an address");
    return nullptr;
  }
  form.decoder.addAddress(operands[next++]);
  if (next < operands.size()) {
    form.decoder.addSource(operands[next], Type::U32);
    if (!form.has("expect_tx"))
      inst.a |= hasCount;
  } else if (form.has("expect_tx")) {
    form.decoder.fail(form.ast.location, "expected a number of bytes");
  }
  return arrive;
}

/// a: whether bytes are expected, or have arrived.
void countBytes(Warp &warp, const Inst &inst, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    MBarrierRef ref = findMBarrier(warp, inst, lane);
    if (!ref.barrier)
      return;
    int64_t bytes = warp.row<uint32_t>(inst.source(1))[lane];
    completeBytes(warp, inst, lane, ref, inst.a ? -bytes : bytes);
  }
}

Handler selectCountBytes(Form &form, Inst &inst) {
  prepare(form, inst);
  inst.a = form.has("expect_tx");
  return countBytes;
}

/// Lanes whose phase is over. a: whether the operand is a parity.
void wait(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t result = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    MBarrierRef ref = findMBarrier(warp, inst, lane);
    if (!ref.barrier)
      return;
    uint64_t operand = readLane(warp, inst.source(1), lane);
    bool isOver = inst.a ? (ref.barrier->phase & 1) != (operand & 1)
                         : ref.barrier->phase != uint32_t(operand >> 32);
    if (inst.a && operand > 1)
      return warp.fail(Fault::AsyncCopy, inst, int(lane),
                       "the parity of a phase is 0 or 1, got " +
                           std::to_string(operand));
    if (!isOver)
      continue;
    result |= 1u << lane;
    if (warp.block->cluster->clocks && inst.b)
      warp.block->cluster->clocks->acquire(warp, 1u << lane,
                                           *ref.barrier->done);
  }
  writePredicate(warp, inst.result(0), mask, result);
  if (result != mask)
    warp.stop = Stop::Yield;
}

Handler selectWait(Form &form, Inst &inst) {
  prepare(form, inst);
  inst.a = form.has("parity");
  inst.b = !form.has("relaxed");
  const std::vector<Operand> &operands = form.ast.operands;
  form.decoder.addPredicate(operands[0], true);
  form.decoder.addAddress(operands[1]);
  form.decoder.addSource(operands[2], inst.a ? Type::U32 : Type::B64);
  return wait;
}

void pendingCount(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint64_t *state = warp.row<uint64_t>(inst.source(0));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask,
             [=](unsigned l) { return uint32_t(state[l]); });
}

template <Handler handler> Handler select(Form &form, Inst &inst) {
  prepare(form, inst);
  return handler;
}

#define SPACE "shared|shared::cta|shared::cluster?"
#define SCOPE "cta|cluster?"

const Definition table[] = {
    {"mbarrier", "init " SPACE " b64", "[] u32", select<initialize>},
    {"mbarrier", "inval " SPACE " b64", "[]", select<invalidate>},
    {"mbarrier",
     "arrive|arrive_drop expect_tx? release|relaxed? " SCOPE " " SPACE " b64",
     "...1", selectArrive},
    {"mbarrier",
     "arrive|arrive_drop noComplete release|relaxed? " SCOPE " " SPACE " b64",
     "...2", selectArrive},
    {"mbarrier", "expect_tx|complete_tx relaxed? " SCOPE " " SPACE " b64",
     "[] u32", selectCountBytes},
    {"mbarrier",
     "test_wait|try_wait parity? acquire|relaxed? " SCOPE " " SPACE " b64",
     "...3", selectWait},
    {"mbarrier", "pending_count b64", "=u32 b64", select<pendingCount>},
};

} // namespace

DefinitionList deplo::emulator::mbarrierDefinitions() { return listOf(table); }
