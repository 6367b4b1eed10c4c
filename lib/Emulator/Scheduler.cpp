// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a grid: clusters in turns on each host thread, warps in turns within a
// cluster. A cluster that takes long lets the next ones start, so that blocks
// that wait for others do not wait for ever.

#include "Scheduler.h"
#include "Barriers.h"
#include "Memory.h"
#include "Text.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace deplo::emulator;

namespace {

/// Instructions that a warp runs before another gets its turn, and rounds over
/// a cluster's warps before another cluster does.
constexpr uint64_t warpQuantum = 256;
constexpr unsigned clusterRounds = 4096;
/// Rounds in which warps only polled before it is a deadlock.
constexpr unsigned pollingRounds = 64;

Extent unflatten(uint64_t number, const Extent &extent) {
  return {uint32_t(number % extent[0]),
          uint32_t(number / extent[0] % extent[1]),
          uint32_t(number / extent[0] / extent[1])};
}

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

uint64_t ambientValue(const Grid &grid, const Block &block, const Warp &warp,
                      const Ambient &ambient, unsigned lane) {
  using Kind = Ambient::Kind;
  Extent thread = threadIndex(grid.block, warp.index * lanesPerWarp + lane);
  const Extent &cluster = grid.cluster;
  auto axis = [&](Kind first) {
    return unsigned(ambient.kind) - unsigned(first);
  };
  switch (ambient.kind) {
  case Kind::ThreadX:
  case Kind::ThreadY:
  case Kind::ThreadZ:
    return thread[axis(Kind::ThreadX)];
  case Kind::BlockX:
  case Kind::BlockY:
  case Kind::BlockZ:
    return block.index[axis(Kind::BlockX)];
  case Kind::ThreadsX:
  case Kind::ThreadsY:
  case Kind::ThreadsZ:
    return grid.block[axis(Kind::ThreadsX)];
  case Kind::BlocksX:
  case Kind::BlocksY:
  case Kind::BlocksZ:
    return grid.grid[axis(Kind::BlocksX)];
  case Kind::Lane:
    return lane;
  case Kind::Warp:
    return warp.index;
  case Kind::Warps:
    return grid.launch->machine.warpsPerMultiprocessor;
  case Kind::LaneMaskEq:
    return uint32_t(1) << lane;
  case Kind::LaneMaskLt:
    return (uint32_t(1) << lane) - 1;
  case Kind::LaneMaskLe:
    return uint32_t((uint64_t(2) << lane) - 1);
  case Kind::LaneMaskGt:
    return ~uint32_t((uint64_t(2) << lane) - 1);
  case Kind::LaneMaskGe:
    return ~((uint32_t(1) << lane) - 1);
  case Kind::ClusterX:
  case Kind::ClusterY:
  case Kind::ClusterZ:
    return block.index[axis(Kind::ClusterX)] / cluster[axis(Kind::ClusterX)];
  case Kind::ClustersX:
  case Kind::ClustersY:
  case Kind::ClustersZ:
    return grid.grid[axis(Kind::ClustersX)] / cluster[axis(Kind::ClustersX)];
  case Kind::ClusterBlockX:
  case Kind::ClusterBlockY:
  case Kind::ClusterBlockZ:
    return block.index[axis(Kind::ClusterBlockX)] %
           cluster[axis(Kind::ClusterBlockX)];
  case Kind::ClusterBlocksX:
  case Kind::ClusterBlocksY:
  case Kind::ClusterBlocksZ:
    return cluster[axis(Kind::ClusterBlocksX)];
  case Kind::ClusterRank:
    return block.rank;
  case Kind::ClusterSize:
    return block.cluster->blocks.size();
  case Kind::IsCluster:
    return block.cluster->blocks.size() > 1;
  case Kind::Multiprocessor:
    return block.number % grid.launch->machine.multiprocessors;
  case Kind::Multiprocessors:
    return grid.launch->machine.multiprocessors;
  case Kind::GridId:
    return 0;
  case Kind::SharedTotal:
    return grid.sharedBytes;
  case Kind::SharedDynamic:
    return grid.launch->dynamicSharedBytes;
  case Kind::WarpSize:
    return lanesPerWarp;
  case Kind::Fixed:
    return ambient.value;
  case Kind::SharedAddress:
    return ambient.value + (uint64_t(block.rank) << sharedRankShift);
  case Kind::ParameterAddress:
    return grid.parameterAddress + ambient.value;
  }
  return 0;
}

void setUpWarp(Grid &grid, Block &block, uint32_t index) {
  const Kernel &kernel = *grid.kernel;
  Warp &warp = block.warps.emplace_back();
  warp.grid = &grid;
  warp.block = &block;
  warp.index = index;
  uint32_t left = grid.threadsPerBlock - index * lanesPerWarp;
  warp.mayUseGlobal = grid.checksDependencies ? 0 : allLanes;
  warp.live = left >= lanesPerWarp ? allLanes : (uint32_t(1) << left) - 1;
  // Rows begin at multiples of a cache line.
  warp.registerStorage.resize(kernel.registerBytes + 64);
  auto start = reinterpret_cast<uintptr_t>(warp.registerStorage.data());
  warp.bank[Ref::Registers] =
      warp.registerStorage.data() + ((start + 63) / 64 * 64 - start);
  warp.bank[Ref::Constants] = const_cast<uint8_t *>(kernel.constants.data());
  warp.predicates.assign(kernel.predicates, 0);
  warp.predicates[1] = allLanes;
  warp.defined.assign(kernel.ids, 0);
  warp.defined[0] = allLanes;
  warp.registerBudget = grid.entryRegisters;
  for (const Ambient &ambient : kernel.ambients)
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
      uint64_t value = ambientValue(grid, block, warp, ambient, lane);
      std::memcpy(warp.bank[0] + ambient.offset + lane * ambient.bytes, &value,
                  ambient.bytes);
    }
  warp.localStride = kernel.localBytes;
  warp.local.resize(warp.localStride * lanesPerWarp);
  warp.localWritten.assign(warp.localStride * lanesPerWarp, false);
  Split root;
  root.state = Split::State::Ready;
  root.mask = warp.live;
  warp.splits.push_back(root);
}

std::unique_ptr<Cluster> setUpCluster(Grid &grid, Worker &worker,
                                      uint64_t number) {
  auto cluster = std::make_unique<Cluster>();
  cluster->grid = &grid;
  cluster->worker = &worker;
  cluster->number = number;
  const Extent &size = grid.cluster;
  Extent clusters;
  for (unsigned i = 0; i < 3; ++i)
    clusters[i] = grid.grid[i] / size[i];
  Extent at = unflatten(number, clusters);
  uint32_t blocks = size[0] * size[1] * size[2];
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    Block &block = cluster->blocks.emplace_back();
    block.grid = &grid;
    block.cluster = cluster.get();
    block.rank = rank;
    Extent inside = unflatten(rank, size);
    for (unsigned i = 0; i < 3; ++i)
      block.index[i] = at[i] * size[i] + inside[i];
    block.number =
        block.index[0] +
        uint64_t(grid.grid[0]) *
            (block.index[1] + uint64_t(grid.grid[1]) * block.index[2]);
    block.shared.resize(grid.sharedBytes);
    block.sharedWritten.assign(grid.sharedBytes / 64 + 2, 0);
    block.liveThreads = grid.threadsPerBlock;
    if (grid.checksRaces && grid.sharedBytes)
      block.shadow = std::make_unique<SharedShadow>(grid.sharedBytes,
                                                    grid.kernel->sharedGranule);
  }
  for (Block &block : cluster->blocks)
    for (uint32_t i = 0; i < grid.warpsPerBlock; ++i)
      setUpWarp(grid, block, i);
  if (grid.checksRaces) {
    cluster->clocks = std::make_unique<ClusterClocks>(*cluster, *grid.kernel);
    cluster->syncPoints = std::make_unique<SyncTable>();
  }
  return cluster;
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

const Inst *whereIs(const Warp &warp) {
  for (const Split &split : warp.splits) {
    if (split.state == Split::State::Parked ||
        split.state == Split::State::Aligning)
      return split.parkedAt;
    if (split.state == Split::State::Ready)
      return &warp.grid->kernel->code[split.pc ? split.pc - 1 : 0];
  }
  return nullptr;
}

void reportDeadlock(Cluster &cluster) {
  Grid &grid = *cluster.grid;
  Warp *first = nullptr;
  const Inst *at = nullptr;
  // "warps 0-3 wait at line 12".
  std::string where;
  for (Block &block : cluster.blocks) {
    std::string inBlock = cluster.blocks.size() > 1
                              ? " of block " + triple(block.index)
                              : std::string();
    for (size_t i = 0; i < block.warps.size();) {
      Warp &warp = block.warps[i];
      const Inst *inst = warp.live ? whereIs(warp) : nullptr;
      size_t last = i;
      while (last + 1 < block.warps.size() &&
             (block.warps[last + 1].live ? whereIs(block.warps[last + 1])
                                         : nullptr) == inst)
        ++last;
      std::string warps = i == last ? "warp " + std::to_string(i)
                                    : "warps " + std::to_string(i) + " to " +
                                          std::to_string(last);
      if (inst) {
        const Origin &origin = grid.kernel->origins[inst->origin];
        where += (where.empty() ? "" : "; ") + warps + inBlock +
                 (i == last ? " waits" : " wait") + " at line " +
                 std::to_string(origin.location.line) + " '" +
                 std::string(origin.text) + "'";
        if (!first) {
          first = &warp;
          at = inst;
        }
      } else {
        where += (where.empty() ? "" : "; ") + warps + inBlock +
                 (i == last ? " has ended" : " have ended");
      }
      i = last + 1;
    }
  }
  if (first)
    first->fail(Fault::Deadlock, *at, int(firstLane(first->live)),
                "no warp can go on: " + where);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// False if the grid has to stop.
bool charge(Grid &grid, Worker &worker, Warp &warp) {
  constexpr uint64_t chunk = 1 << 14;
  if (worker.instructions - worker.charged < chunk)
    return true;
  uint64_t total = grid.instructions += worker.instructions - worker.charged;
  worker.charged = worker.instructions;
  uint64_t budget = grid.launch->instructionBudget;
  if (budget != 0 && total > budget) {
    const Inst *inst = whereIs(warp);
    if (inst)
      warp.fail(Fault::Budget, *inst, int(firstLane(warp.live)),
                "the grid ran more than " + std::to_string(budget) +
                    " warp instructions and has not ended");
    return false;
  }
  return !grid.isStopped;
}

/// Runs for some rounds; false if the grid has to stop.
bool runCluster(Cluster &cluster, Worker &worker) {
  Grid &grid = *cluster.grid;
  for (unsigned round = 0; round < clusterRounds; ++round) {
    uint64_t before = cluster.events;
    bool isRunning = false, isComputing = false;
    for (Block &block : cluster.blocks)
      for (Warp &warp : block.warps) {
        if (warp.live == 0)
          continue;
        Stop stop = runWarp(warp, worker, warpQuantum);
        if (stop == Stop::Error || !charge(grid, worker, warp))
          return false;
        if (stop == Stop::Blocked && warp.live != 0 &&
            reportBarrierDivergence(warp))
          return false;
        isRunning |= warp.live != 0;
        isComputing |= stop == Stop::Quantum;
      }
    if (!isRunning)
      return true;
    bool isStuck = !isComputing && cluster.events == before;
    cluster.idleRounds = isStuck ? cluster.idleRounds + 1 : 0;
    if (cluster.idleRounds > pollingRounds) {
      reportDeadlock(cluster);
      return false;
    }
  }
  return true;
}

} // namespace

bool Cluster::isDone() const {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const Block &block) { return block.isDone(); });
}

void deplo::emulator::runGrid(Grid &grid, unsigned workerCount,
                              std::vector<Worker> &workers) {
  const uint64_t blocksPerCluster =
      uint64_t(grid.cluster[0]) * grid.cluster[1] * grid.cluster[2];
  const uint64_t clusters = grid.blocks / blocksPerCluster;
  workerCount = unsigned(std::min<uint64_t>(workerCount, clusters));
  workers.resize(std::max(workerCount, 1u));
  std::atomic<uint64_t> next{0};
  // Blocks that can be on the GPU at once.
  const uint64_t resident = std::max<uint64_t>(
      grid.launch->machine.multiprocessors / blocksPerCluster / workers.size(),
      1);
  auto work = [&](Worker &worker) {
    worker.grid = &grid;
    worker.counters.resize(grid.kernel->code.size());
    std::deque<std::unique_ptr<Cluster>> active;
    while (!grid.isStopped) {
      if (active.empty() || active.size() < resident) {
        uint64_t number = next++;
        if (number < clusters)
          active.push_front(setUpCluster(grid, worker, number));
      }
      if (active.empty())
        break;
      std::unique_ptr<Cluster> cluster = std::move(active.front());
      active.pop_front();
      if (!runCluster(*cluster, worker)) {
        grid.isStopped = true;
        break;
      }
      if (!cluster->isDone())
        active.push_back(std::move(cluster));
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.size(); ++i)
    threads.emplace_back(work, std::ref(workers[i]));
  work(workers[0]);
  for (std::thread &thread : threads)
    thread.join();
}
