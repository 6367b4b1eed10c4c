// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async and its groups. The bytes arrive at once; for the race detector,
// they are written by an agent of the thread whose work is known to be done
// when its group has been waited for.

#include "Lanes.h"
#include "MBarriers.h"
#include "Memory.h"
#include "Wgmma.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

/// a: bytes; b: 0 for plain, 1 with a source size, 2 with a predicate that
/// leaves the source out.
void copyAsync(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t bytes = inst.a;
  uint64_t targets[lanesPerWarp] = {}, origins[lanesPerWarp] = {};
  uint32_t readers = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t to = targets[lane] = addressOf(warp, inst.source(0), lane);
    uint64_t from = origins[lane] = addressOf(warp, inst.source(1), lane);
    uint32_t size = bytes;
    if (inst.b == 1)
      size = warp.row<uint32_t>(inst.source(2))[lane];
    else if (inst.b == 2 && ((warp.predicate(inst.source(2)) >> lane) & 1))
      size = 0;
    if (size > bytes)
      return warp.fail(Fault::AsyncCopy, inst, int(lane),
                       "the source size is " + std::to_string(size) +
                           ", more than the " + std::to_string(bytes) +
                           " bytes copied");
    uint8_t buffer[16] = {};
    if (size) {
      readers |= 1u << lane;
      const uint8_t *source =
          accessMemory(warp, inst, lane, Space::Global, from, size, Access(),
                       size == bytes ? bytes : 1);
      if (!source)
        return;
      std::memcpy(buffer, source, size);
    }
    Access write;
    write.isWrite = true;
    write.actor.agent = Agent::Copy;
    write.actor.clock = warp.copyGroups[lane] + 1;
    uint8_t *target =
        accessMemory(warp, inst, lane, Space::Shared, to, bytes, write, bytes);
    if (!target)
      return;
    std::memcpy(target, buffer, bytes);
    warp.lastCopyGroup[lane] = warp.copyGroups[lane] + 1;
  }
  ++warp.block->cluster->events;
  countAccess(warp, inst, Space::Global, readers, origins, bytes);
  countWavefronts(warp, inst, mask, targets, bytes);
}

Handler selectCopy(Form &form, Inst &inst) {
  const std::vector<Operand> &operands = form.ast.operands;
  inst.undefined = Undefined::Reject;
  form.decoder.features().asyncCopies = true;
  form.decoder.addAddress(operands[0]);
  form.decoder.addAddress(operands[1]);
  std::optional<int64_t> bytes = form.decoder.constant(operands[2]);
  bool isGood = bytes && (*bytes == 4 || *bytes == 8 || *bytes == 16);
  if (!isGood || (form.has("cg") && *bytes != 16)) {
    form.decoder.fail(operands[2].location,
                      form.has("cg") ? "cp.async.cg copies 16 bytes"
                                     : "cp.async copies 4, 8 or 16 bytes");
    return nullptr;
  }
  inst.a = uint32_t(*bytes);
  form.decoder.noteAccess(Space::Shared, inst.a);
  form.decoder.noteAccess(Space::Global, inst.a);
  // A cache policy comes last and has 64 bits.
  if (operands.size() > 3 && form.decoder.registerBytes(operands[3]) != 8) {
    bool isPredicate = operands[3].kind == Operand::Kind::Name &&
                       form.decoder.registerBytes(operands[3]) == 0;
    inst.b = isPredicate ? 2 : 1;
    if (isPredicate)
      form.decoder.addPredicate(operands[3], false);
    else
      form.decoder.addSource(operands[3], Type::U32);
  }
  return copyAsync;
}

void commit(Warp &warp, const Inst &, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) { ++warp.copyGroups[lane]; });
}

void finishGroups(Warp &warp, unsigned lane, uint32_t left) {
  uint32_t done = warp.copyGroups[lane];
  done = done > left ? done - left : 0;
  warp.copyGroupsDone[lane] = std::max(warp.copyGroupsDone[lane], done);
  if (ClusterClocks *clocks = warp.block->cluster->clocks.get())
    clocks->complete(warp, lane, Agent::Copy, done);
}

/// a: groups that may stay in flight.
void waitGroup(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) { finishGroups(warp, lane, inst.a); });
}

void waitAll(Warp &warp, const Inst &inst, uint32_t mask) {
  commit(warp, inst, mask);
  forLanes(mask, [&](unsigned lane) { finishGroups(warp, lane, 0); });
}

Handler selectWait(Form &form, Inst &inst) {
  form.decoder.features().asyncCopies = true;
  std::optional<int64_t> count = form.decoder.constant(form.ast.operands[0]);
  if (!count)
    form.decoder.fail(form.ast.operands[0].location,
                      "the number of groups must be a constant");
  inst.a = uint32_t(count.value_or(0));
  return waitGroup;
}

/// The copies of each thread so far arrive at a memory barrier. a: whether
/// that is one of the arrivals that the barrier waits for.
void arriveCopies(Warp &warp, const Inst &inst, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    MBarrierRef barrier = findMBarrier(warp, inst, lane);
    if (!barrier.barrier)
      return;
    // Without noinc the barrier waits for one more, and this is it.
    if (!inst.a)
      ++barrier.barrier->pending;
    uint32_t group = warp.copyGroups[lane] + 1;
    warp.copyGroupsDone[lane] = group;
    ++warp.copyGroups[lane];
    if (ClusterClocks *clocks = warp.block->cluster->clocks.get()) {
      Actor actor;
      actor.agent = Agent::Copy;
      clocks->releaseAgent(*barrier.barrier->arriving,
                           clocks->component(warp, lane, actor), group);
    }
    arriveAt(warp, inst, lane, barrier, 1, false);
    if (warp.stop == Stop::Error)
      return;
  }
}

Handler selectArrive(Form &form, Inst &inst) {
  form.decoder.features().asyncCopies = form.decoder.features().mbarriers =
      true;
  inst.a = form.has("noinc");
  inst.space = form.has("shared") || form.has("shared::cta") ? Space::Shared
                                                             : Space::Generic;
  inst.undefined = Undefined::Reject;
  form.decoder.addAddress(form.ast.operands[0]);
  return arriveCopies;
}

#define CACHE "L2::cache_hint? L2::64B|L2::128B|L2::256B?"

const Definition table[] = {
    {"cp", "async ca|cg shared|shared::cta global " CACHE, "...3", selectCopy},
    {"cp", "async commit_group", "",
     [](Form &form, Inst &) -> Handler {
       form.decoder.features().asyncCopies = true;
       return commit;
     }},
    {"cp", "async wait_group", "...1", selectWait},
    {"cp", "async wait_all", "",
     [](Form &form, Inst &) -> Handler {
       form.decoder.features().asyncCopies = true;
       return waitAll;
     }},
    {"cp", "async mbarrier::*? mbarrier? arrive noinc? shared|shared::cta? b64",
     "...1", selectArrive},
};

} // namespace

DefinitionList deplo::emulator::asyncCopyDefinitions() { return listOf(table); }

void deplo::emulator::checkEnd(Warp &warp, uint32_t lanes) {
  const Inst *inst = warp.ending;
  if (!inst)
    return;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    if (warp.lastCopyGroup[lane] > warp.copyGroupsDone[lane])
      return warp.report(Fault::AsyncCopy, *inst, int(lane), std::nullopt,
                         "the thread ends with cp.async copies that it has "
                         "not waited for");
    if (warp.lastBulkGroup[lane] > warp.bulkGroupsRead[lane])
      return warp.report(Fault::AsyncCopy, *inst, int(lane), std::nullopt,
                         "the thread ends with bulk copies that may still "
                         "read its block's shared memory; wait for them with "
                         "cp.async.bulk.wait_group.read");
  }
  if (uint32_t rest = lanes & ~warp.mayUseGlobal)
    warp.report(Fault::Race, *inst, int(firstLane(rest)), std::nullopt,
                "the thread ends without griddepcontrol.wait, which others "
                "execute: this grid may end before those that it depends on");
  if (warp.wgmmaGroups + warp.hasLooseWgmma > warp.wgmmaGroupsDone)
    warp.report(Fault::AsyncCopy, *inst, int(firstLane(lanes)), std::nullopt,
                "the warp ends with wgmma that it has not waited for");
}
