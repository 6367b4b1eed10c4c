// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs: a grid of clusters of blocks of warps. One host thread runs one
// cluster; a warp's lanes are divided into splits that meet again where their
// paths do.

#ifndef DEPLO_LIB_EMULATOR_STATE_H
#define DEPLO_LIB_EMULATOR_STATE_H

#include "Program.h"

#include "deplo/Emulator/Emulator.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace deplo::emulator {

struct Grid;
struct Cluster;
struct Block;
class ClusterClocks;
class GlobalShadow;
class SharedShadow;
class SyncTable;
struct SyncPoint;
struct SavedRegisters;

constexpr uint32_t noPc = ~0u;

/// Why a warp stopped running.
enum class Stop : uint8_t { None, Quantum, Blocked, Yield, Error };

/// A call of a stacked function that has not returned.
struct Activation {
  /// Index into Kernel::stacked.
  uint32_t function = 0;
  /// Of its frame in local memory.
  uint64_t base = 0;
  /// The caller's; null if that is not stacked.
  std::shared_ptr<const SavedRegisters> saved;
};

/// Lanes of a warp that run together.
struct Split {
  enum class State : uint8_t {
    Free,
    Ready,
    /// Waits for its children, the paths of a branch, to come to `pc`.
    Joining,
    /// At an aligned barrier, until all lanes of the warp are.
    Aligning,
    /// In a barrier, until it opens.
    Parked
  };
  State state = State::Free;
  uint32_t pc = 0, mask = 0;
  /// Where it joins its parent, in so many calls.
  uint32_t reconverge = noPc;
  size_t depth = 0;
  int32_t parent = -1;
  uint32_t children = 0;
  /// Lanes that have come to `pc` already.
  uint32_t pending = 0;
  /// The barrier that it waits at.
  const Inst *parkedAt = nullptr;
  /// Of bar.warp.sync: who is waited for.
  uint32_t syncMask = 0;
  /// Waits for the cluster.
  bool isInCluster = false;
  /// Where the calls that it is in go on.
  std::vector<uint32_t> returns;
  std::vector<Activation> activations;
};

struct Warp {
  Grid *grid = nullptr;
  Block *block = nullptr;
  /// Of the block.
  uint32_t index = 0;

  //===--- The running split ----------------------------------------------===//
  uint32_t pc = 0;
  uint32_t mask = 0;
  Stop stop = Stop::None;
  int32_t current = -1;
  /// Which one ran last.
  size_t lastSplit = 0;

  //===--- Registers ------------------------------------------------------===//
  /// By Ref::Bank.
  uint8_t *bank[2] = {nullptr, nullptr};
  std::vector<uint32_t> predicates;
  /// Lanes in which a register has a value, by Ref::id.
  std::vector<uint32_t> defined;
  /// Where it has none, lanes in which its lower or upper half has one; empty
  /// if that was nowhere.
  std::vector<uint32_t> definedHalf[2];
  std::vector<uint8_t> registerStorage;
  /// Takes note that a register has no value in `lanes`.
  void undefine(uint32_t id, uint32_t lanes) {
    defined[id] &= ~lanes;
    for (std::vector<uint32_t> &halves : definedHalf)
      if (!halves.empty())
        halves[id] &= ~lanes;
  }

  //===--- Lanes ----------------------------------------------------------===//
  std::vector<Split> splits;
  uint32_t live = 0;
  /// Local memory, and one bit for each byte that was written; so many bytes
  /// of each lane.
  uint64_t localStride = 0;
  std::vector<uint8_t> local;
  std::vector<bool> localWritten;

  uint64_t instructions = 0;
  /// The region that was accessed last.
  uint32_t region = 0;
  /// Strong accesses since lanes last met: many mean that some are spinning.
  uint32_t strongAccesses = 0;

  //===--- Asynchronous copies --------------------------------------------===//
  /// Groups that were committed and that are complete, per lane.
  std::array<uint32_t, lanesPerWarp> copyGroups = {}, copyGroupsDone = {};
  std::array<uint32_t, lanesPerWarp> bulkGroups = {}, bulkGroupsRead = {},
                                     bulkGroupsDone = {};
  /// The last groups that have copies in them.
  std::array<uint32_t, lanesPerWarp> lastCopyGroup = {}, lastBulkGroup = {};
  /// The instruction with which lanes end.
  const Inst *ending = nullptr;
  uint32_t wgmmaGroups = 0, wgmmaGroupsDone = 0;
  bool hasLooseWgmma = false, isWgmmaFenced = false;
  /// The group that a register of a wgmma in flight belongs to, by Ref::id;
  /// empty where there is none.
  std::map<uint32_t, uint32_t> wgmmaRegisters;
  uint32_t registerBudget = 0;
  bool hasSetRegisters = false;
  /// Lanes that may use global memory: where the kernel has a
  /// griddepcontrol.wait, those that have executed it.
  uint32_t mayUseGlobal = allLanes;

  //===--- Cluster barrier ------------------------------------------------===//
  /// Lanes that have arrived in this phase, and that have yet to wait.
  uint32_t clusterArrived = 0, hasClusterArrival = 0;
  std::array<uint32_t, lanesPerWarp> clusterPhase = {};

  template <typename T> T *row(const Ref &ref) {
    return reinterpret_cast<T *>(bank[ref.bank] + ref.offset);
  }
  uint32_t predicate(const Ref &ref) const {
    uint32_t value = predicates[ref.offset];
    return ref.isNegated ? ~value : value;
  }

  //===--- Control --------------------------------------------------------===//
  /// Sends the lanes of the running split to several places.
  struct Path {
    uint32_t pc, mask;
  };
  void divide(const Inst &inst, const Path *paths, size_t count);
  /// The running split has come to where it joins its parent.
  void join();
  /// Lets lanes that wait for others, which spin, go on by themselves.
  void releaseJoined();
  /// The running split's lanes `mask` are gone.
  void endLanes(uint32_t mask);
  /// Makes another split the running one; false if none is ready.
  bool selectReady();
  void saveCurrent();
  void finish(int32_t split);

  //===--- Faults ---------------------------------------------------------===//
  void fail(Fault fault, const Inst &inst, int lane,
            const std::string &message);
  void failAt(Fault fault, const Inst &inst, int lane, uint64_t address,
              const std::string &message);
  /// Reports, and goes on.
  void report(Fault fault, const Inst &inst, int lane,
              std::optional<uint64_t> address, const std::string &message);
};

/// A barrier of bar.sync, or of a cluster.
struct Barrier {
  struct Arrival {
    Warp *warp;
    uint32_t mask;
    const Inst *inst;
    /// False of bar.arrive.
    bool waits;
  };
  /// Threads that it was told to wait for; 0 for all of the block.
  uint32_t expected = 0;
  uint32_t arrived = 0;
  uint32_t population = 0, participants = 0;
  std::vector<Arrival> arrivals;
};

constexpr unsigned barriersPerBlock = 16;

/// A shared-memory barrier object.
struct MBarrier {
  uint32_t expected = 0;
  /// Arrivals that this phase still waits for.
  uint32_t pending = 0;
  int64_t bytes = 0;
  uint32_t phase = 0;
  /// Its number for the race detector.
  uint32_t clock = 0;
  /// What the arrivals of this phase, and of those that are over, did before.
  std::shared_ptr<SyncPoint> arriving, done;
};

struct Block {
  Grid *grid = nullptr;
  Cluster *cluster = nullptr;
  Extent index = {};
  uint64_t number = 0;
  /// In its cluster.
  uint32_t rank = 0;
  std::vector<uint8_t> shared;
  std::vector<uint64_t> sharedWritten;
  std::array<Barrier, barriersPerBlock> barriers;
  std::map<uint32_t, MBarrier> mbarriers;
  std::deque<Warp> warps;
  uint32_t liveThreads = 0;
  /// Registers that setmaxnreg gave back.
  int64_t freeRegisters = 0;
  std::unique_ptr<SharedShadow> shadow;

  bool isDone() const { return liveThreads == 0; }
};

/// Counts of one worker, by instruction.
struct InstCounters {
  uint64_t warps = 0, threads = 0, divergent = 0, requests = 0, bytes = 0,
           sectors = 0, wavefronts = 0, idealWavefronts = 0,
           tensorOperations = 0;
  uint32_t maxWavefronts = 0;
};

struct Worker {
  Grid *grid = nullptr;
  std::vector<InstCounters> counters;
  uint64_t instructions = 0;
  /// Of which the grid knows.
  uint64_t charged = 0;
};

/// Blocks that run together.
struct Cluster {
  Grid *grid = nullptr;
  Worker *worker = nullptr;
  uint64_t number = 0;
  std::deque<Block> blocks;
  Barrier barrier;
  uint32_t barrierPhase = 0;
  /// What those did before who arrived at the barrier in this phase, and in
  /// those that are over.
  std::shared_ptr<SyncPoint> arriving, done;
  /// Counts what could end another warp's wait.
  uint64_t events = 0;
  /// Rounds over the warps in which there was none.
  unsigned idleRounds = 0;
  std::unique_ptr<ClusterClocks> clocks;
  std::unique_ptr<SyncTable> syncPoints;

  bool isDone() const;
};

/// Memory of the device that the kernel may touch.
struct GlobalRegion {
  uint64_t begin = 0, end = 0;
  std::string name;
  bool isWritable = true;
  /// A variable in `.const`.
  bool isConstant = false;
  /// No grid can write it: a variable in `.const`, or parameters.
  bool isFixed = false;
  /// A bit for each byte that was written; null if all have values.
  std::shared_ptr<std::vector<std::atomic<uint64_t>>> written;
  std::shared_ptr<GlobalShadow> shadow;
};

struct Grid {
  const Kernel *kernel = nullptr;
  const Launch *launch = nullptr;
  Extent grid = {}, block = {}, cluster = {1, 1, 1};
  uint32_t threadsPerBlock = 0, warpsPerBlock = 0;
  uint64_t blocks = 0;
  uint64_t sharedBytes = 0;
  /// The kernel's shared variables, with the size that the launch gives.
  std::vector<Placement> sharedPlaces;
  /// By address; they don't overlap.
  std::vector<GlobalRegion> regions;
  /// A copy that the kernel reads.
  std::vector<uint8_t> parameters;
  uint64_t parameterAddress = 0;
  uint32_t entryRegisters = 0;
  bool checksRaces = false, checksUninitialized = false;
  /// The kernel has a griddepcontrol.wait, and races are checked.
  bool checksDependencies = false;

  std::atomic<uint64_t> instructions{0};
  std::atomic<bool> isStopped{false};
  std::unique_ptr<SyncTable> syncPoints;
  std::mutex mutex;
  std::vector<Diagnostic> diagnostics;

  void addDiagnostic(Diagnostic diagnostic, bool isFatal);
};

/// Runs `warp` until it has to wait, or for about `quantum` instructions.
Stop runWarp(Warp &warp, Worker &worker, uint64_t quantum);

inline uint32_t popcount(uint32_t mask) {
  return uint32_t(__builtin_popcount(mask));
}
inline unsigned firstLane(uint32_t mask) {
  return unsigned(__builtin_ctz(mask));
}

/// Calls `function(lane)` for each lane of `mask`.
template <typename Function> void forLanes(uint32_t mask, Function &&function) {
  for (; mask != 0; mask &= mask - 1)
    function(firstLane(mask));
}

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_STATE_H
