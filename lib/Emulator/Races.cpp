// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Races.h"
#include "Memory.h"
#include "Text.h"

#include <algorithm>
#include <cstring>

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
    if (thread.base != lastBase || !lastResult) {
      lastBase = thread.base;
      auto result = std::make_shared<Clock>(*thread.base);
      if (result->size() >= 2 * threadCount)
        for (uint32_t i = 0; i < threadCount; ++i)
          (*result)[threadCount + i] =
              std::max((*result)[threadCount + i], (*result)[i]);
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
      "",         "", "cp.async of ", "a bulk copy of ", "a bulk copy of ",
      "wgmma of "};
  return agents[component / threadCount] + thread;
}

//===----------------------------------------------------------------------===//
// Strong accesses
//===----------------------------------------------------------------------===//

/// The table and key of a location.
static std::pair<SyncTable *, uint64_t> syncTable(Warp &warp, Space space,
                                                  uint64_t address) {
  if (space == Space::Generic)
    std::tie(space, address) = resolveGeneric(address);
  Cluster &cluster = *warp.block->cluster;
  if (space == Space::Shared)
    return {cluster.syncPoints.get(), address};
  return {warp.grid->syncPoints.get(), address};
}

void deplo::emulator::acquireAt(Warp &warp, unsigned lane, Space space,
                                uint64_t address) {
  ClusterClocks *clocks = warp.block->cluster->clocks.get();
  if (!clocks)
    return;
  auto [table, key] = syncTable(warp, space, address);
  std::lock_guard<std::mutex> lock(table->mutex);
  SyncPoint &point = table->at(key);
  if (space == Space::Shared || table == warp.block->cluster->syncPoints.get())
    return clocks->acquire(warp, 1u << lane, point);
  // Own cluster's clock is one of the foreign ones here.
  SyncPoint own;
  if (point.foreign) {
    auto found = point.foreign->find(warp.block->cluster->number);
    if (found != point.foreign->end())
      own.clock = found->second;
  }
  own.foreign = point.foreign;
  clocks->acquire(warp, 1u << lane, own);
}

void deplo::emulator::releaseAt(Warp &warp, unsigned lane, Space space,
                                uint64_t address, bool isRelease) {
  ClusterClocks *clocks = warp.block->cluster->clocks.get();
  if (!clocks)
    return;
  auto [table, key] = syncTable(warp, space, address);
  std::lock_guard<std::mutex> lock(table->mutex);
  SyncPoint &point = table->at(key);
  auto publish = [&](SyncPoint &to) {
    isRelease ? clocks->release(warp, lane, to)
              : clocks->releaseFenced(warp, lane, to);
  };
  if (table == warp.block->cluster->syncPoints.get())
    return publish(point);
  uint64_t number = warp.block->cluster->number;
  SyncPoint own;
  if (point.foreign) {
    auto found = point.foreign->find(number);
    if (found != point.foreign->end())
      own.clock = found->second;
  }
  publish(own);
  auto all =
      std::make_shared<Foreign>(point.foreign ? *point.foreign : Foreign());
  if (own.foreign)
    for (const auto &[other, clock] : *own.foreign)
      if (other != number) {
        SharedClock &mine = (*all)[other];
        mine = clocks->merged(mine, clock);
      }
  if (own.clock)
    (*all)[number] = own.clock;
  point.foreign = all;
}

//===----------------------------------------------------------------------===//
// Shadow cells
//===----------------------------------------------------------------------===//

namespace {

/// One access, as the cells see it.
struct Event {
  Warp &warp;
  const Inst &inst;
  unsigned lane;
  uint64_t address;
  bool isWrite, isStrong;
  const Actor &actor;
  ClusterClocks &clocks;
  uint32_t component, now, cluster;
  /// The write changes nothing.
  bool isSilent = false;
};

/// Whether what `component` of `cluster` did at `clock` is done. The async
/// proxy needs to know that a fence has passed it on.
bool isOrdered(const Event &event, uint32_t cluster, uint32_t component,
               uint32_t clock, bool isWrite, bool wasAsync) {
  if (cluster != event.cluster)
    return event.clocks.isForeignBefore(event.warp, event.lane, cluster,
                                        component, clock);
  if (!event.clocks.isBefore(event.warp, event.lane, component, clock))
    return false;
  if (!isWrite || wasAsync || !event.actor.isAsyncProxy)
    return true;
  return event.clocks.isProxied(event.warp, event.lane, component, clock);
}

void reportRace(const Event &event, uint32_t cluster, uint32_t component,
                uint32_t clock, uint32_t origin, bool wasWrite) {
  const Origin &other = event.warp.grid->kernel->origins[origin];
  bool isFenceMissing =
      cluster == event.cluster && event.actor.isAsyncProxy &&
      event.clocks.isBefore(event.warp, event.lane, component, clock);
  std::string who = cluster == event.cluster
                        ? event.clocks.describe(component)
                        : std::string("a thread of another block");
  std::string message = std::string(event.isWrite ? "write" : "read") +
                        " after the " + (wasWrite ? "write" : "read") +
                        " at line " + std::to_string(other.location.line) +
                        " '" + shortened(other.text) + "' by " + who;
  message += isFenceMissing
                 ? ", which no fence.proxy.async has made visible to the async "
                   "proxy"
                 : ", with nothing that puts them in order";
  event.warp.report(Fault::Race, event.inst, int(event.lane), event.address,
                    message);
}

ShadowCell::Reader readerOf(const Event &event) {
  ShadowCell::Reader reader;
  reader.isAgent = event.actor.agent != Agent::Thread;
  reader.first =
      reader.isAgent ? event.component : event.component & ~(lanesPerWarp - 1);
  reader.mask = reader.isAgent ? 1 : 1u << (event.component % lanesPerWarp);
  reader.clock = event.now;
  reader.origin = event.inst.origin;
  reader.cluster = event.cluster;
  reader.isStrong = event.isStrong;
  return reader;
}

/// Whether `last` can stand for `next` too: the same warp at the same time, or
/// the same lanes earlier.
bool merges(ShadowCell::Reader &last, const ShadowCell::Reader &next) {
  if (last.mask == 0) {
    last = next;
    return true;
  }
  if (last.first != next.first || last.cluster != next.cluster ||
      last.isAgent != next.isAgent || last.isStrong != next.isStrong ||
      last.clock > next.clock)
    return false;
  if (last.clock != next.clock && (last.mask & ~next.mask))
    return false;
  uint32_t mask = last.clock == next.clock ? last.mask : 0;
  last = next;
  last.mask |= mask;
  return true;
}

void addAccess(const Event &event, std::vector<ShadowCell::Reader> &list) {
  ShadowCell::Reader reader = readerOf(event);
  for (ShadowCell::Reader &last : list)
    if (merges(last, reader))
      return;
  list.push_back(reader);
}

bool isWriterOrdered(const Event &event, const ShadowCell &cell) {
  if (cell.writer == ~0u || (event.isStrong && cell.isWriteStrong))
    return true;
  if (cell.writer == event.component && cell.cluster == event.cluster &&
      event.actor.agent == Agent::Thread)
    return true;
  return isOrdered(event, cell.cluster, cell.writer, cell.writeClock, true,
                   cell.isWriteAsync);
}

/// Of several that wrote the same value, a reader needs to come after one, and
/// a writer after all.
bool areReplicasOrdered(const Event &event, const ShadowCell &cell) {
  bool any = false, all = true;
  for (const ShadowCell::Reader &replica : *cell.replicas)
    forLanes(replica.mask, [&](unsigned lane) {
      bool ordered = isOrdered(event, replica.cluster, replica.first + lane,
                               replica.clock, true, false);
      any |= ordered;
      all &= ordered;
    });
  bool first = isWriterOrdered(event, cell);
  return event.isWrite ? first && all : first || any;
}

bool hasReplicas(const ShadowCell &cell) {
  return cell.replicas && !cell.replicas->empty();
}

/// False if a write came to nothing new and needs no place in the cell.
bool checkWriter(const Event &event, ShadowCell &cell) {
  bool ordered = hasReplicas(cell) ? areReplicasOrdered(event, cell)
                                   : isWriterOrdered(event, cell);
  if (ordered)
    return true;
  if (event.isSilent) {
    if (!cell.replicas)
      cell.replicas = new std::vector<ShadowCell::Reader>();
    addAccess(event, *cell.replicas);
    return false;
  }
  reportRace(event, cell.cluster, cell.writer, cell.writeClock,
             cell.writeOrigin, true);
  return true;
}

void checkReader(const Event &event, const ShadowCell::Reader &reader) {
  if (reader.mask == 0 || (event.isStrong && reader.isStrong))
    return;
  if (reader.isAgent) {
    if (reader.first == event.component && reader.clock == event.now &&
        reader.cluster == event.cluster)
      return;
    if (!isOrdered(event, reader.cluster, reader.first, reader.clock, false,
                   true))
      reportRace(event, reader.cluster, reader.first, reader.clock,
                 reader.origin, false);
    return;
  }
  for (uint32_t rest = reader.mask; rest != 0; rest &= rest - 1) {
    uint32_t component = reader.first + firstLane(rest);
    if (!isOrdered(event, reader.cluster, component, reader.clock, false,
                   false))
      return reportRace(event, reader.cluster, component, reader.clock,
                        reader.origin, false);
  }
}

void addReader(const Event &event, ShadowCell &cell) {
  ShadowCell::Reader reader = readerOf(event);
  if (merges(cell.reader, reader))
    return;
  if (!cell.more)
    cell.more = new std::vector<ShadowCell::Reader>();
  addAccess(event, *cell.more);
}

void noteCell(const Event &event, ShadowCell &cell) {
  bool isNew = checkWriter(event, cell);
  if (!event.isWrite)
    return addReader(event, cell);
  if (!isNew)
    return;
  if (!event.isSilent) {
    checkReader(event, cell.reader);
    if (cell.more)
      for (const ShadowCell::Reader &reader : *cell.more)
        checkReader(event, reader);
    cell.reader = ShadowCell::Reader();
    if (cell.more)
      cell.more->clear();
  }
  if (cell.replicas)
    cell.replicas->clear();
  cell.writer = event.component;
  cell.writeClock = event.now;
  cell.writeOrigin = event.inst.origin;
  cell.cluster = event.cluster;
  cell.isWriteStrong = event.isStrong;
  cell.isWriteAsync = event.actor.isAsyncProxy;
}

Event makeEvent(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
                const Access &access) {
  Cluster &cluster = *warp.block->cluster;
  ClusterClocks &clocks = *cluster.clocks;
  return {warp,
          inst,
          lane,
          address,
          access.isWrite,
          access.isStrong,
          access.actor,
          clocks,
          clocks.component(warp, lane, access.actor),
          clocks.now(warp, access.actor),
          uint32_t(cluster.number)};
}

/// Notes an access to the part of a cell that begins `cell` bytes into the
/// memory; the access begins at `offset`. A cell is as wide as the kernel's
/// narrowest access: only the ragged edges of a tensor's boxes cover a part, and
/// are not told apart from their neighbours there.
void notePart(Event &event, ShadowCell &cell, uint64_t cellBegin,
              uint32_t granule, uint64_t offset, uint32_t bytes,
              uint8_t *memory, const Access &access) {
  event.isSilent = false;
  if (offset > cellBegin || offset + bytes < cellBegin + granule)
    return;
  if (!access.value)
    return noteCell(event, cell);
  uint64_t begin = std::max(cellBegin, offset) - offset;
  uint64_t end = std::min(cellBegin + granule, offset + bytes) - offset;
  event.isSilent =
      cell.writer != ~0u &&
      std::memcmp(memory + begin, access.value + begin, end - begin) == 0;
  noteCell(event, cell);
  std::memcpy(memory + begin, access.value + begin, end - begin);
}

} // namespace

void SharedShadow::note(Warp &warp, const Inst &inst, unsigned lane,
                        uint64_t offset, uint64_t address, uint32_t bytes,
                        uint8_t *memory, const Access &access) {
  Event event = makeEvent(warp, inst, lane, address, access);
  for (uint64_t i = offset / granule; i <= (offset + bytes - 1) / granule; ++i)
    notePart(event, cells[i], i * granule, granule, offset, bytes, memory,
             access);
}

void SharedShadow::checkEnd(Warp &warp, const Inst &inst, unsigned lane) {
  const Block &block = *warp.block;
  const ClusterClocks &clocks = *block.cluster->clocks;
  const Clock known = clocks.knowledgeOf(block);
  auto check = [&](size_t cell, uint32_t component, uint32_t clock,
                   uint32_t origin, bool wasWrite) {
    if (!clocks.isOfOtherBlock(block, component) ||
        (component < known.size() && known[component] >= clock))
      return false;
    const Origin &other = warp.grid->kernel->origins[origin];
    warp.report(Fault::Race, inst, int(lane), sharedBase + cell * granule,
                "the block ends, and its shared memory with it, before the " +
                    std::string(wasWrite ? "write" : "read") + " at line " +
                    std::to_string(other.location.line) + " '" +
                    shortened(other.text) + "' by " +
                    clocks.describe(component) +
                    " is known to be over; put a cluster barrier between");
    return true;
  };
  auto checkReaders = [&](size_t cell, const ShadowCell::Reader &reader) {
    bool found = false;
    for (uint32_t rest = reader.mask; rest != 0 && !found; rest &= rest - 1)
      found = check(cell, reader.first + firstLane(rest), reader.clock,
                    reader.origin, false);
    return found;
  };
  for (size_t i = 0; i < cells.size(); ++i) {
    const ShadowCell &cell = cells[i];
    if ((cell.writer != ~0u &&
         check(i, cell.writer, cell.writeClock, cell.writeOrigin, true)) ||
        checkReaders(i, cell.reader))
      return;
    if (cell.more)
      for (const ShadowCell::Reader &reader : *cell.more)
        if (checkReaders(i, reader))
          return;
  }
}

GlobalShadow::GlobalShadow(uint64_t bytes, uint32_t granule)
    : granule(granule), pages(bytes / granule / cellsPerPage + 1) {}

GlobalShadow::Page &GlobalShadow::page(uint64_t number) {
  std::atomic<Page *> &slot = pages[number];
  if (Page *page = slot.load(std::memory_order_acquire))
    return *page;
  std::lock_guard<std::mutex> lock(mutex);
  if (Page *page = slot.load(std::memory_order_acquire))
    return *page;
  owned.push_back(std::make_unique<Page>());
  slot.store(owned.back().get(), std::memory_order_release);
  return *owned.back();
}

void GlobalShadow::note(Warp &warp, const Inst &inst, unsigned lane,
                        uint64_t offset, uint64_t address, uint32_t bytes,
                        uint8_t *memory, const Access &access) {
  Event event = makeEvent(warp, inst, lane, address, access);
  for (uint64_t i = offset / granule; i <= (offset + bytes - 1) / granule;
       ++i) {
    Page &cells = page(i / cellsPerPage);
    std::lock_guard<std::mutex> lock(cells.mutex);
    notePart(event, cells.cells[i % cellsPerPage], i * granule, granule, offset,
             bytes, memory, access);
  }
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
  // Agents' own writes are the async proxy's already.
  if (component >= threadCount)
    return true;
  return isBefore(warp, lane, threadCount + component, clock);
}
