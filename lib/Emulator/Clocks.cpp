// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each thread and agent knows of the others: vector clocks.

#include "Races.h"
#include "Text.h"

#include <algorithm>

using namespace deplo::emulator;

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

/// Components of a thread, from Agent::Thread to Agent::Wgmma.
static constexpr uint32_t kindsPerThread = uint32_t(Agent::MBarrier);

ClusterClocks::ClusterClocks(Cluster &cluster, const Kernel &kernel)
    : cluster(cluster) {
  const Features &features = kernel.features;
  bool isPlain = !features.asyncCopies && !features.bulkCopies &&
                 !features.wgmma && !features.mbarriers;
  kinds = isPlain ? 1 : kindsPerThread;
  threadCount = uint32_t(cluster.blocks.size()) * cluster.grid->warpsPerBlock *
                lanesPerWarp;
  threads.resize(threadCount);
  auto empty = std::make_shared<const Clock>();
  for (Thread &thread : threads)
    thread.base = empty;
  clocks.assign(threadCount / lanesPerWarp, 1);
}

uint32_t ClusterClocks::warpNumber(const Warp &warp) const {
  return warp.block->rank * cluster.grid->warpsPerBlock + warp.index;
}

uint32_t ClusterClocks::threadNumber(const Warp &warp, unsigned lane) const {
  return warpNumber(warp) * lanesPerWarp + lane;
}

uint32_t ClusterClocks::component(const Warp &warp, unsigned lane,
                                  const Actor &actor) const {
  if (actor.agent == Agent::MBarrier)
    return kindsPerThread * threadCount + actor.barrier;
  return uint32_t(actor.agent) * threadCount + threadNumber(warp, lane);
}

uint32_t ClusterClocks::now(const Warp &warp, const Actor &actor) const {
  return actor.agent == Agent::Thread ? clocks[warpNumber(warp)] : actor.clock;
}

bool ClusterClocks::isBefore(const Warp &warp, unsigned lane,
                             uint32_t component, uint32_t clock) const {
  uint32_t self = threadNumber(warp, lane);
  const Thread &thread = threads[self];
  if (component < kindsPerThread * threadCount &&
      component % threadCount == self) {
    uint32_t kind = component / threadCount;
    if (kind == uint32_t(Agent::Thread))
      return true;
    return thread.own[kind] >= clock;
  }
  const Clock &base = *thread.base;
  return component < base.size() && base[component] >= clock;
}

bool ClusterClocks::isForeignBefore(const Warp &warp, unsigned lane,
                                    uint64_t number, uint32_t component,
                                    uint32_t clock) const {
  const Thread &thread = threads[threadNumber(warp, lane)];
  if (!thread.foreign)
    return false;
  auto found = thread.foreign->find(number);
  return found != thread.foreign->end() && component < found->second->size() &&
         (*found->second)[component] >= clock;
}

SharedClock ClusterClocks::joined(const SharedClock &a, const SharedClock &b) {
  if (a == b || !b || b->empty())
    return a;
  if (!a || a->empty())
    return b;
  auto result = std::make_shared<Clock>(*a);
  if (result->size() < b->size())
    result->resize(b->size());
  for (size_t i = 0; i < b->size(); ++i)
    (*result)[i] = std::max((*result)[i], (*b)[i]);
  return result;
}

SharedForeign ClusterClocks::joined(const SharedForeign &a,
                                    const SharedForeign &b) const {
  if (a == b || !b)
    return a;
  if (!a)
    return b;
  auto result = std::make_shared<Foreign>(*a);
  for (const auto &[number, clock] : *b) {
    if (number == cluster.number)
      continue;
    SharedClock &mine = (*result)[number];
    mine = const_cast<ClusterClocks *>(this)->joined(mine, clock);
  }
  return result;
}

/// What thread `number` did up to now, and knows of its agents.
void ClusterClocks::addOwn(Clock &clock, uint32_t number, uint32_t now) const {
  if (clock.size() < kinds * threadCount)
    clock.resize(kinds * threadCount);
  clock[number] = std::max(clock[number], now);
  for (uint32_t kind = 1; kind < kinds; ++kind) {
    uint32_t &entry = clock[kind * threadCount + number];
    entry = std::max(entry, threads[number].own[kind]);
  }
}

void ClusterClocks::synchronize(const std::vector<Party> &parties) {
  SharedClock base;
  SharedForeign foreign;
  for (const Party &party : parties)
    forLanes(party.mask, [&](unsigned lane) {
      const Thread &thread = threads[threadNumber(*party.warp, lane)];
      base = base ? joined(base, thread.base) : thread.base;
      foreign = joined(foreign, thread.foreign);
    });
  auto result = std::make_shared<Clock>(base ? *base : Clock());
  for (const Party &party : parties)
    forLanes(party.mask, [&](unsigned lane) {
      addOwn(*result, threadNumber(*party.warp, lane),
             clocks[warpNumber(*party.warp)]);
    });
  Fenced fenced = joinedFences(parties);
  for (const Party &party : parties) {
    ++clocks[warpNumber(*party.warp)];
    if (party.waits)
      forLanes(party.mask, [&](unsigned lane) {
        Thread &thread = threads[threadNumber(*party.warp, lane)];
        thread.base = result;
        thread.foreign = foreign;
        if (fenced.clock) {
          thread.fenced = fenced.clock;
          thread.fencedForeign = fenced.foreign;
        }
      });
  }
}

/// What any of them has fenced: a thread that learns of another's fence passes
/// on what that fence has seen, as membar.gl, a sequentially consistent fence,
/// lets it.
ClusterClocks::Fenced
ClusterClocks::joinedFences(const std::vector<Party> &parties) {
  Fenced fenced;
  std::vector<uint32_t> fencers;
  for (const Party &party : parties)
    forLanes(party.mask, [&](unsigned lane) {
      uint32_t number = threadNumber(*party.warp, lane);
      const Thread &thread = threads[number];
      if (!thread.fenced)
        return;
      fenced.clock = joined(thread.fenced, fenced.clock);
      fenced.foreign = joined(fenced.foreign, thread.fencedForeign);
      fencers.push_back(number);
    });
  if (fencers.empty())
    return fenced;
  auto result = std::make_shared<Clock>(*fenced.clock);
  for (uint32_t number : fencers)
    addOwn(*result, number, threads[number].fencedNow);
  fenced.clock = result;
  return fenced;
}

void ClusterClocks::release(const Warp &warp, unsigned lane, SyncPoint &point) {
  uint32_t self = threadNumber(warp, lane);
  auto result =
      std::make_shared<Clock>(*joined(threads[self].base, point.clock));
  addOwn(*result, self, clocks[warpNumber(warp)]);
  ++clocks[warpNumber(warp)];
  point.clock = result;
  point.foreign = joined(point.foreign, threads[self].foreign);
}

void ClusterClocks::releaseAll(const Warp &warp, uint32_t mask,
                               SyncPoint &point) {
  SharedClock known = point.clock;
  forLanes(mask, [&](unsigned lane) {
    const Thread &thread = threads[threadNumber(warp, lane)];
    known = known ? joined(known, thread.base) : thread.base;
    point.foreign = joined(point.foreign, thread.foreign);
  });
  auto result = std::make_shared<Clock>(*known);
  forLanes(mask, [&](unsigned lane) {
    addOwn(*result, threadNumber(warp, lane), clocks[warpNumber(warp)]);
  });
  ++clocks[warpNumber(warp)];
  point.clock = result;
}

void ClusterClocks::acquire(const Warp &warp, uint32_t mask,
                            const SyncPoint &point) {
  SharedClock lastBase, lastResult;
  forLanes(mask, [&](unsigned lane) {
    Thread &thread = threads[threadNumber(warp, lane)];
    if (thread.base != lastBase || !lastResult) {
      lastBase = thread.base;
      lastResult = joined(thread.base, point.clock);
    }
    thread.base = lastResult;
    thread.foreign = joined(thread.foreign, point.foreign);
  });
}

void ClusterClocks::fence(const Warp &warp, uint32_t mask) {
  uint32_t now = clocks[warpNumber(warp)]++;
  forLanes(mask, [&](unsigned lane) {
    Thread &thread = threads[threadNumber(warp, lane)];
    thread.fenced = thread.base;
    thread.fencedForeign = thread.foreign;
    thread.fencedNow = now;
  });
}

void ClusterClocks::releaseFenced(const Warp &warp, unsigned lane,
                                  SyncPoint &point) {
  uint32_t self = threadNumber(warp, lane);
  const Thread &thread = threads[self];
  if (!thread.fenced)
    return;
  auto result = std::make_shared<Clock>(*joined(thread.fenced, point.clock));
  addOwn(*result, self, thread.fencedNow);
  point.clock = result;
  point.foreign = joined(point.foreign, thread.fencedForeign);
}

void ClusterClocks::proxyFence(const Warp &warp, uint32_t mask) {
  if (kinds == 1)
    return;
  uint32_t now = clocks[warpNumber(warp)]++;
  SharedClock lastBase, lastResult;
  forLanes(mask, [&](unsigned lane) {
    Thread &thread = threads[threadNumber(warp, lane)];
    thread.own[uint32_t(Agent::Proxied)] = now;
    thread.own[uint32_t(Agent::ProxiedCopy)] =
        thread.own[uint32_t(Agent::Copy)];
    if (thread.base != lastBase || !lastResult) {
      lastBase = thread.base;
      auto result = std::make_shared<Clock>(*thread.base);
      result->resize(
          std::max(result->size(), size_t(kindsPerThread) * threadCount));
      for (uint32_t i = 0; i < threadCount; ++i)
        for (auto [from, to] : {std::pair(Agent::Thread, Agent::Proxied),
                                std::pair(Agent::Copy, Agent::ProxiedCopy)}) {
          uint32_t &passed = (*result)[uint32_t(to) * threadCount + i];
          passed =
              std::max(passed, (*result)[uint32_t(from) * threadCount + i]);
        }
      lastResult = result;
    }
    thread.base = lastResult;
  });
}

void ClusterClocks::complete(const Warp &warp, unsigned lane, Agent agent,
                             uint32_t clock) {
  uint32_t &own = threads[threadNumber(warp, lane)].own[uint32_t(agent)];
  own = std::max(own, clock);
}

void ClusterClocks::releaseAgent(SyncPoint &point, uint32_t component,
                                 uint32_t clock) {
  auto result = point.clock ? std::make_shared<Clock>(*point.clock)
                            : std::make_shared<Clock>();
  if (result->size() <= component)
    result->resize(component + 1);
  (*result)[component] = std::max((*result)[component], clock);
  point.clock = result;
}

std::string ClusterClocks::describe(uint32_t component) const {
  if (component >= kindsPerThread * threadCount)
    return "an asynchronous copy that completes on a memory barrier";
  uint32_t number = component % threadCount;
  uint32_t perBlock = cluster.grid->warpsPerBlock * lanesPerWarp;
  std::string thread =
      "thread " + triple(threadIndex(cluster.grid->block, number % perBlock));
  if (cluster.blocks.size() > 1)
    thread += " of block " + triple(cluster.blocks[number / perBlock].index);
  static constexpr const char *agents[] = {
      "",         "", "cp.async of ", "", "a bulk copy of ", "a bulk copy of ",
      "wgmma of "};
  return agents[component / threadCount] + thread;
}

Clock ClusterClocks::knowledgeOf(const Block &block) const {
  Clock known;
  SharedClock last;
  uint32_t perBlock = cluster.grid->warpsPerBlock * lanesPerWarp;
  for (uint32_t i = 0; i < perBlock; ++i) {
    const SharedClock &base = threads[block.rank * perBlock + i].base;
    if (base == last)
      continue;
    last = base;
    known.resize(std::max(known.size(), base->size()));
    for (size_t j = 0; j < base->size(); ++j)
      known[j] = std::max(known[j], (*base)[j]);
  }
  return known;
}

bool ClusterClocks::isOfOtherBlock(const Block &block,
                                   uint32_t component) const {
  if (component >= kindsPerThread * threadCount)
    return false;
  uint32_t perBlock = cluster.grid->warpsPerBlock * lanesPerWarp;
  return component % threadCount / perBlock != block.rank;
}

SharedClock ClusterClocks::merged(const SharedClock &a, const SharedClock &b) {
  return joined(a, b);
}

bool ClusterClocks::isProxied(const Warp &warp, unsigned lane,
                              uint32_t component, uint32_t clock) const {
  uint32_t kind = component / threadCount, thread = component % threadCount;
  Agent passed;
  if (kind == uint32_t(Agent::Thread))
    passed = Agent::Proxied;
  else if (kind == uint32_t(Agent::Copy))
    passed = Agent::ProxiedCopy;
  else
    return true;
  return isBefore(warp, lane, uint32_t(passed) * threadCount + thread, clock);
}
