// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk and cp.reduce.async.bulk of runs of bytes, and the groups of
// all bulk copies. They go through the async proxy.

#include "BulkCopies.h"
#include "Lanes.h"

#include <algorithm>

using namespace deplo::emulator;

//===----------------------------------------------------------------------===//
// Moving bytes
//===----------------------------------------------------------------------===//

Actor deplo::emulator::groupActor(const Warp &warp, unsigned lane,
                                  Agent agent) {
  Actor actor;
  actor.agent = agent;
  actor.clock = warp.bulkGroups[lane] + 1;
  actor.isAsyncProxy = true;
  return actor;
}

Actor deplo::emulator::barrierActor(MBarrierRef ref) {
  Actor actor;
  actor.agent = Agent::MBarrier;
  actor.barrier = ref.barrier->clock;
  actor.clock = ref.barrier->phase + 1;
  actor.isAsyncProxy = true;
  return actor;
}

static void writeBytes(uint8_t *target, const uint8_t *value, uint32_t bytes,
                       Reduce op, Type type) {
  if (op == Reduce::None) {
    std::memcpy(target, value, bytes);
    return;
  }
  uint32_t size = typeSize(type);
  for (uint32_t at = 0; at + size <= bytes; at += size) {
    uint64_t old = 0, add = 0;
    std::memcpy(&old, target + at, size);
    std::memcpy(&add, value + at, size);
    uint64_t result = reduceWord(op, type, old, add);
    std::memcpy(target + at, &result, size);
  }
}

bool deplo::emulator::moveBytes(Warp &warp, const Inst &inst, unsigned lane,
                                const End &from, uint64_t source, const End &to,
                                uint64_t target, uint32_t bytes) {
  Access read, write;
  read.actor = from.actor;
  write.actor = to.actor;
  write.isWrite = true;
  // Reductions are atomic.
  write.isStrong = Reduce(inst.b) != Reduce::None;
  const uint8_t *origin =
      accessMemory(warp, inst, lane, from.space, source, bytes, read, 1);
  if (!origin)
    return false;
  uint8_t buffer[bulkUnit];
  std::memcpy(buffer, origin, bytes);
  uint8_t *place =
      accessMemory(warp, inst, lane, to.space, target, bytes, write, 1);
  if (!place)
    return false;
  writeBytes(place, buffer, bytes, Reduce(inst.b), to.type);
  return true;
}

void deplo::emulator::countCopy(Warp &warp, const Inst &inst, uint64_t bytes) {
  InstCounters &counters = countersOf(warp, inst);
  ++counters.requests;
  counters.bytes += bytes;
  counters.sectors += bytes / 32;
}

uint64_t deplo::emulator::inBlock(uint64_t address, uint32_t rank) {
  constexpr uint64_t offsetMask = (uint64_t(1) << sharedRankShift) - 1;
  return (address & offsetMask) | uint64_t(rank) << sharedRankShift;
}

uint32_t deplo::emulator::targetsOf(Warp &warp, const Inst &inst, unsigned lane,
                                    uint64_t address, unsigned maskSource) {
  if (!(inst.c & 1))
    return 1u << (address >> sharedRankShift);
  return warp.row<uint16_t>(inst.source(maskSource))[lane];
}

void deplo::emulator::decodeCopy(Form &form, Inst &inst, Route route) {
  form.decoder.features().bulkCopies = true;
  inst.undefined = Undefined::Reject;
  inst.a = uint32_t(route);
  inst.b = form.ast.modifiers[0] == "reduce" ? uint32_t(reductionOf(form)) : 0;
  inst.c = form.has("multicast::cluster");
}

static void nothing(Warp &, const Inst &, uint32_t) {}

Handler deplo::emulator::selectPrefetch(Form &, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return nothing;
}

namespace {

//===----------------------------------------------------------------------===//
// Runs of bytes
//===----------------------------------------------------------------------===//

/// Sources: target, origin, size, [barrier], [mask].
void copyBulk(Warp &warp, const Inst &inst, uint32_t mask) {
  Route route = Route(inst.a);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t target = addressOf(warp, inst.source(0), lane);
    uint64_t origin = addressOf(warp, inst.source(1), lane);
    uint32_t bytes = warp.row<uint32_t>(inst.source(2))[lane];
    if (bytes == 0 || bytes % bulkUnit || target % bulkUnit ||
        origin % bulkUnit)
      return warp.failAt(Fault::Misaligned, inst, int(lane), target,
                         "a bulk copy's addresses and size must be multiples "
                         "of 16; the size is " +
                             std::to_string(bytes));
    End from = {
        route == Route::Load ? Space::Global : Space::Shared, {}, inst.type};
    End to = {
        route == Route::Store ? Space::Global : Space::Shared, {}, inst.type};
    uint32_t blocks = 1;
    if (route == Route::Store) {
      from.actor = groupActor(warp, lane, Agent::BulkRead);
      to.actor = groupActor(warp, lane, Agent::BulkWrite);
      warp.lastBulkGroup[lane] = warp.bulkGroups[lane] + 1;
    } else {
      blocks = targetsOf(warp, inst, lane, target, 4);
    }
    for (; blocks != 0; blocks &= blocks - 1) {
      MBarrierRef barrier;
      uint64_t place = target;
      if (route != Route::Store) {
        uint64_t at = addressOf(warp, inst.source(3), lane);
        if (inst.c & 1) {
          place = inBlock(target, firstLane(blocks));
          at = inBlock(at, firstLane(blocks));
        }
        barrier = findMBarrier(warp, inst, lane, Space::Shared, at,
                               /*isOfCopy=*/true);
        if (!barrier.barrier)
          return;
        from.actor = to.actor = barrierActor(barrier);
      }
      for (uint32_t done = 0; done < bytes; done += bulkUnit)
        if (!moveBytes(warp, inst, lane, from, origin + done, to, place + done,
                       bulkUnit))
          return;
      if (barrier.barrier)
        completeBytes(warp, inst, lane, barrier, bytes);
    }
    countCopy(warp, inst, bytes);
  }
  ++warp.block->cluster->events;
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

Handler selectBulk(Form &form, Inst &inst) {
  const std::vector<Operand> &operands = form.ast.operands;
  bool toGlobal = form.has("bulk_group");
  bool fromGlobal = !toGlobal && form.has("global");
  decodeCopy(form, inst,
             toGlobal     ? Route::Store
             : fromGlobal ? Route::Load
                          : Route::Exchange);
  inst.type = form.type();
  size_t wanted = (toGlobal ? 3u : 4u) + inst.c;
  if (operands.size() < wanted) {
    form.decoder.fail(form.ast.location, "expected at least " +
                                             std::to_string(wanted) +
                                             " operands");
    return nullptr;
  }
  form.decoder.addAddress(operands[0]);
  form.decoder.addAddress(operands[1]);
  form.decoder.addSource(operands[2], Type::U32);
  if (!toGlobal)
    form.decoder.addAddress(operands[3]);
  if (inst.c)
    form.decoder.addSource(operands[4], Type::U16);
  return copyBulk;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void commit(Warp &warp, const Inst &, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) { ++warp.bulkGroups[lane]; });
}

/// a: groups that may stay in flight; b: only their reads must be done.
void waitGroup(Warp &warp, const Inst &inst, uint32_t mask) {
  ClusterClocks *clocks = warp.block->cluster->clocks.get();
  forLanes(mask, [&](unsigned lane) {
    uint32_t done = warp.bulkGroups[lane];
    done = done > inst.a ? done - inst.a : 0;
    warp.bulkGroupsRead[lane] = std::max(warp.bulkGroupsRead[lane], done);
    if (clocks)
      clocks->complete(warp, lane, Agent::BulkRead, done);
    if (inst.b)
      return;
    warp.bulkGroupsDone[lane] = std::max(warp.bulkGroupsDone[lane], done);
    if (clocks)
      clocks->complete(warp, lane, Agent::BulkWrite, done);
  });
}

Handler selectWait(Form &form, Inst &inst) {
  form.decoder.features().bulkCopies = true;
  std::optional<int64_t> count = form.decoder.constant(form.ast.operands[0]);
  if (!count)
    form.decoder.fail(form.ast.operands[0].location,
                      "the number of groups must be a constant");
  inst.a = uint32_t(count.value_or(0));
  inst.b = form.has("read");
  return waitGroup;
}

#define CACHE "L2::cache_hint?"
#define REDUCE "add|min|max|inc|dec|and|or|xor"
#define BARRIER "mbarrier::complete_tx::bytes"

const Definition table[] = {
    {"cp",
     "async bulk shared::cluster|shared::cta global " BARRIER
     " multicast::cluster? " CACHE,
     "...4", selectBulk},
    {"cp", "async bulk shared::cluster shared::cta " BARRIER, "...4",
     selectBulk},
    {"cp", "async bulk global shared::cta bulk_group " CACHE, "...3",
     selectBulk},
    {"cp",
     "reduce async bulk global shared::cta bulk_group " CACHE " " REDUCE
     " noftz? f16|bf16|b32|u32|s32|b64|u64|s64|f32|f64",
     "...3", selectBulk},
    {"cp",
     "reduce async bulk shared::cluster shared::cta " BARRIER " " REDUCE
     " u32|s32|u64|s64|b32|b64",
     "...4", selectBulk},
    {"cp", "async bulk prefetch L2 global " CACHE, "...2", selectPrefetch},
    {"cp", "async bulk commit_group", "",
     [](Form &form, Inst &) -> Handler {
       form.decoder.features().bulkCopies = true;
       return commit;
     }},
    {"cp", "async bulk wait_group read?", "...1", selectWait},
};

} // namespace

DefinitionList deplo::emulator::bulkCopyDefinitions() { return listOf(table); }
