// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bar, barrier and barrier.cluster. An aligned barrier is one arrival of the
// whole warp: its lanes may come one path at a time, but all to the same
// instruction.

#include "Barriers.h"
#include "Lanes.h"
#include "Memory.h"
#include "Text.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

enum class Reduction : uint32_t { None, Popc, And, Or };

/// Inst::b of barriers.
enum BarrierFlags : uint32_t { isAligned = 1, onlyArrives = 2, hasCount = 4 };

uint32_t liveWarps(const Block &block) {
  uint32_t count = 0;
  for (const Warp &warp : block.warps)
    count += warp.live != 0;
  return count;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

void finishReduction(const Barrier &barrier, const Barrier::Arrival &arrival) {
  const Inst &inst = *arrival.inst;
  Warp &warp = *arrival.warp;
  switch (Reduction(inst.a)) {
  case Reduction::None:
    return;
  case Reduction::Popc:
    forLanes(arrival.mask, [&](unsigned lane) {
      writeLane(warp, inst.result(0), lane, barrier.population);
    });
    return;
  case Reduction::And:
    return writePredicate(warp, inst.result(0), arrival.mask,
                          barrier.population == barrier.participants ? ~0u : 0);
  case Reduction::Or:
    return writePredicate(warp, inst.result(0), arrival.mask,
                          barrier.population ? ~0u : 0);
  }
}

void open(Cluster &cluster, Barrier &barrier) {
  if (cluster.clocks) {
    std::vector<ClusterClocks::Party> parties;
    for (const Barrier::Arrival &arrival : barrier.arrivals)
      parties.push_back({arrival.warp, arrival.mask, arrival.waits});
    cluster.clocks->synchronize(parties);
  }
  for (const Barrier::Arrival &arrival : barrier.arrivals) {
    if (!arrival.waits)
      continue;
    finishReduction(barrier, arrival);
    for (Split &split : arrival.warp->splits)
      if (split.state == Split::State::Parked &&
          split.parkedAt == arrival.inst && (split.mask & arrival.mask))
        split.state = Split::State::Ready;
  }
  barrier = Barrier();
  ++cluster.events;
}

/// Whether every live lane of the block has arrived.
bool isComplete(const Block &block, const Barrier &barrier) {
  if (barrier.arrivals.empty())
    return false;
  if (barrier.expected != 0)
    return barrier.arrived >= barrier.expected;
  for (const Warp &warp : block.warps) {
    uint32_t missing = warp.live;
    for (const Barrier::Arrival &arrival : barrier.arrivals)
      if (arrival.warp == &warp)
        missing &= ~arrival.mask;
    if (missing)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Arriving
//===----------------------------------------------------------------------===//

/// Operand n of a barrier's id and count.
uint32_t uniform(Warp &warp, const Ref &ref, uint32_t mask) {
  return warp.row<uint32_t>(ref)[firstLane(mask)];
}

void arrive(Warp &warp, const Inst &inst, uint32_t mask) {
  Block &block = *warp.block;
  uint32_t id = uniform(warp, inst.source(0), mask);
  uint32_t count = inst.b & hasCount ? uniform(warp, inst.source(1), mask) : 0;
  if (id >= barriersPerBlock)
    return warp.fail(Fault::Resources, inst, int(firstLane(mask)),
                     "there is no barrier " + std::to_string(id) +
                         "; a block has 16");
  if ((inst.b & hasCount) && (count == 0 || count % lanesPerWarp))
    return warp.fail(Fault::BarrierDivergence, inst, int(firstLane(mask)),
                     "the number of threads of a barrier must be a multiple "
                     "of 32, got " +
                         std::to_string(count));
  Barrier &barrier = block.barriers[id];
  if (!barrier.arrivals.empty() && barrier.expected != count)
    return warp.fail(
        Fault::BarrierDivergence, inst, int(firstLane(mask)),
        "barrier " + std::to_string(id) + " was told to wait for " +
            (barrier.expected ? std::to_string(barrier.expected) + " threads"
                              : std::string("all threads")) +
            " at line " +
            std::to_string(
                warp.grid->kernel->origins[barrier.arrivals[0].inst->origin]
                    .location.line) +
            ", and here for " +
            (count ? std::to_string(count) : std::string("all")));
  if (count > liveWarps(block) * lanesPerWarp && barrier.arrivals.empty() &&
      count > warp.grid->warpsPerBlock * lanesPerWarp)
    return warp.fail(Fault::Deadlock, inst, int(firstLane(mask)),
                     "barrier " + std::to_string(id) + " waits for " +
                         std::to_string(count) +
                         " threads, and the block has " +
                         std::to_string(warp.grid->threadsPerBlock));
  barrier.expected = count;
  barrier.arrived += inst.b & isAligned ? lanesPerWarp : popcount(mask);
  if (Reduction(inst.a) != Reduction::None) {
    const Ref &predicate = inst.source(inst.b & hasCount ? 2 : 1);
    barrier.population += popcount(warp.predicate(predicate) & mask);
    barrier.participants += popcount(mask);
  }
  barrier.arrivals.push_back({&warp, mask, &inst, !(inst.b & onlyArrives)});
  if (barrier.expected && barrier.arrived > barrier.expected)
    return warp.fail(Fault::BarrierDivergence, inst, int(firstLane(mask)),
                     "more threads came to barrier " + std::to_string(id) +
                         " than the " + std::to_string(barrier.expected) +
                         " that it waits for");
  ++countersOf(warp, inst).requests;
  if (isComplete(block, barrier))
    open(*block.cluster, barrier);
}

/// Parks the running split.
Split &park(Warp &warp, Split::State state, const Inst &inst) {
  warp.saveCurrent();
  Split &split = warp.splits[size_t(warp.current)];
  split.state = state;
  split.parkedAt = &inst;
  warp.current = -1;
  return split;
}

void barrier(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask != warp.mask) {
    // Under a guard that not all lanes share: a path of its own.
    Warp::Path paths[] = {{warp.pc, warp.mask & ~mask}, {warp.pc - 1, mask}};
    return warp.divide(inst, paths, 2);
  }
  if (inst.b & isAligned) {
    park(warp, Split::State::Aligning, inst);
    return arriveAligned(warp);
  }
  if (!(inst.b & onlyArrives))
    park(warp, Split::State::Parked, inst);
  arrive(warp, inst, mask);
}

Handler selectBarrier(Form &form, Inst &inst) {
  const std::vector<Operand> &operands = form.ast.operands;
  bool isBar = form.ast.opcode == "bar";
  inst.undefined = Undefined::Reject;
  inst.b = isBar || form.has("aligned") ? uint32_t(isAligned) : 0;
  if (form.has("arrive"))
    inst.b |= onlyArrives;
  size_t next = 0;
  bool isReduction = form.has("red");
  if (isReduction) {
    inst.a = uint32_t(form.which({"popc", "and", "or"}) + 1);
    if (Reduction(inst.a) == Reduction::Popc)
      form.decoder.addResult(operands[next++], Type::U32);
    else
      form.decoder.addPredicate(operands[next++], true);
  }
  size_t last = operands.size() - (isReduction ? 1 : 0);
  if (operands.size() < next + 1 || last < next + 1 || last > next + 2) {
    form.decoder.fail(form.ast.location, "expected a barrier and, optionally, "
                                         "a number of threads");
    return nullptr;
  }
  form.decoder.addSource(operands[next++], Type::U32);
  if (next < last) {
    form.decoder.addSource(operands[next], Type::U32);
    inst.b |= hasCount;
  } else if (inst.b & onlyArrives) {
    form.decoder.fail(form.ast.location, "expected a number of threads");
  }
  if (isReduction)
    form.decoder.addPredicate(operands.back(), false);
  return barrier;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

void openWarpSync(Warp &warp, uint32_t members) {
  uint32_t present = 0;
  for (const Split &split : warp.splits)
    if (split.state == Split::State::Parked && split.syncMask == members)
      present |= split.mask;
  if ((members & warp.live) & ~present)
    return;
  for (Split &split : warp.splits)
    if (split.state == Split::State::Parked && split.syncMask == members) {
      split.state = Split::State::Ready;
      split.syncMask = 0;
    }
  if (warp.block->cluster->clocks)
    warp.block->cluster->clocks->synchronize({{&warp, present, true}});
}

/// bar.warp.sync: the lanes of a path are together already; those on other
/// paths are waited for.
void warpSync(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *masks = warp.row<uint32_t>(inst.source(0));
  uint32_t members = masks[firstLane(mask)], group = 0;
  forLanes(mask, [&](unsigned lane) {
    group |= uint32_t(masks[lane] == members) << lane;
  });
  if (group & ~members)
    return warp.fail(Fault::BarrierDivergence, inst,
                     int(firstLane(group & ~members)),
                     "the thread is not in the mask of bar.warp.sync");
  if (group != mask) {
    // Each group by itself; the others come back to this instruction.
    bool isHere = !(members & warp.live & ~group);
    if (isHere) {
      if (ClusterClocks *clocks = warp.block->cluster->clocks.get())
        clocks->synchronize({{&warp, group, true}});
      return warpSync(warp, inst, mask & ~group);
    }
    return warp.fail(Fault::BarrierDivergence, inst,
                     int(firstLane(members & warp.live & ~group)),
                     "the thread is in the mask of bar.warp.sync but does not "
                     "come to it");
  }
  uint32_t missing = members & warp.live & ~mask;
  if (missing && warp.mask == mask) {
    // Others of this warp may come: wait until they are at this instruction.
    park(warp, Split::State::Parked, inst).syncMask = members;
    return openWarpSync(warp, members);
  }
  if (warp.block->cluster->clocks)
    warp.block->cluster->clocks->synchronize({{&warp, mask, true}});
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

bool isClusterComplete(const Cluster &cluster) {
  if (cluster.barrier.arrivals.empty())
    return false;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps)
      if (warp.live & ~warp.clusterArrived)
        return false;
  return true;
}

void openCluster(Cluster &cluster) {
  if (cluster.clocks)
    cluster.done = std::exchange(cluster.arriving, nullptr);
  cluster.barrier = Barrier();
  ++cluster.barrierPhase;
  ++cluster.events;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps) {
      warp.clusterArrived = 0;
      for (Split &split : warp.splits)
        if (split.state == Split::State::Parked && split.isInCluster) {
          split.state = Split::State::Ready;
          split.isInCluster = false;
          if (cluster.clocks)
            cluster.clocks->acquire(warp, split.mask, *cluster.done);
        }
    }
}

/// Inst::a of barrier.cluster.arrive: it releases nothing but what a fence did.
constexpr uint32_t isRelaxed = 1;

void clusterArrive(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.block->cluster;
  if (warp.clusterArrived & mask)
    return warp.fail(Fault::BarrierDivergence, inst,
                     int(firstLane(warp.clusterArrived & mask)),
                     "the thread has arrived at the cluster barrier already; "
                     "wait for it first");
  warp.clusterArrived |= mask;
  forLanes(mask, [&](unsigned lane) {
    warp.clusterPhase[lane] = cluster.barrierPhase;
    warp.hasClusterArrival |= 1u << lane;
  });
  cluster.barrier.arrivals.push_back({&warp, mask, &inst, false});
  if (ClusterClocks *clocks = cluster.clocks.get()) {
    if (!cluster.arriving)
      cluster.arriving = std::make_shared<SyncPoint>();
    if (inst.a & isRelaxed)
      forLanes(mask, [&](unsigned lane) {
        clocks->releaseFenced(warp, lane, *cluster.arriving);
      });
    else
      clocks->releaseAll(warp, mask, *cluster.arriving);
  }
  if (isClusterComplete(cluster))
    openCluster(cluster);
}

void clusterWait(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.block->cluster;
  if (mask & ~warp.hasClusterArrival)
    return warp.fail(Fault::BarrierDivergence, inst,
                     int(firstLane(mask & ~warp.hasClusterArrival)),
                     "the thread waits for the cluster barrier without having "
                     "arrived at it");
  warp.hasClusterArrival &= ~mask;
  if (warp.clusterPhase[firstLane(mask)] != cluster.barrierPhase) {
    if (cluster.clocks)
      cluster.clocks->acquire(warp, mask, *cluster.done);
    return;
  }
  park(warp, Split::State::Parked, inst).isInCluster = true;
}

const Definition table[] = {
    {"bar", "cta? sync|arrive aligned?", "...1", selectBarrier},
    {"bar", "cta? red popc aligned? u32", "...2", selectBarrier},
    {"bar", "cta? red and|or aligned? pred", "...2", selectBarrier},
    {"barrier", "cta? sync|arrive aligned?", "...1", selectBarrier},
    {"barrier", "cta? red popc aligned? u32", "...2", selectBarrier},
    {"barrier", "cta? red and|or aligned? pred", "...2", selectBarrier},
    {"bar", "warp sync", "b32",
     [](Form &, Inst &inst) -> Handler {
       inst.undefined = Undefined::Reject;
       return warpSync;
     }},
    {"barrier", "cluster arrive release|relaxed? aligned?", "",
     [](Form &form, Inst &inst) -> Handler {
       inst.a = form.has("relaxed") ? isRelaxed : 0;
       return clusterArrive;
     }},
    {"barrier", "cluster wait acquire? aligned?", "",
     [](Form &, Inst &) -> Handler { return clusterWait; }},
};

} // namespace

void deplo::emulator::updateBarriers(Warp &warp) {
  Block &block = *warp.block;
  for (Barrier &barrier : block.barriers)
    if (!barrier.arrivals.empty() && isComplete(block, barrier))
      open(*block.cluster, barrier);
  if (isClusterComplete(*block.cluster))
    openCluster(*block.cluster);
  arriveAligned(warp);
  for (size_t i = 0; i < warp.splits.size(); ++i)
    if (warp.splits[i].state == Split::State::Parked &&
        warp.splits[i].syncMask != 0)
      openWarpSync(warp, warp.splits[i].syncMask);
}

void deplo::emulator::arriveAligned(Warp &warp) {
  const Inst *inst = nullptr;
  uint32_t mask = 0;
  for (const Split &split : warp.splits) {
    if (split.state != Split::State::Aligning)
      continue;
    if (inst && split.parkedAt != inst)
      return;
    inst = split.parkedAt;
    mask |= split.mask;
  }
  if (!inst || mask != warp.live)
    return;
  for (Split &split : warp.splits)
    if (split.state == Split::State::Aligning)
      split.state =
          inst->b & onlyArrives ? Split::State::Ready : Split::State::Parked;
  arrive(warp, *inst, mask);
}

bool deplo::emulator::reportBarrierDivergence(Warp &warp) {
  const Inst *inst = nullptr;
  uint32_t mask = 0;
  for (const Split &split : warp.splits)
    if (split.state == Split::State::Aligning) {
      inst = split.parkedAt;
      mask = split.mask;
    }
  if (!inst)
    return false;
  std::string others;
  uint32_t rest = warp.live & ~mask;
  for (const Split &split : warp.splits) {
    bool waits = split.state == Split::State::Aligning ||
                 split.state == Split::State::Parked;
    if (waits && split.parkedAt && (split.mask & rest))
      others =
          "; other lanes wait at line " +
          std::to_string(
              warp.grid->kernel->origins[split.parkedAt->origin].location.line);
  }
  warp.fail(Fault::BarrierDivergence, *inst, int(firstLane(mask)),
            "only lanes " + hex(mask) + " of the warp's " + hex(warp.live) +
                " came to the barrier" + others);
  return true;
}

DefinitionList deplo::emulator::barrierDefinitions() { return listOf(table); }
