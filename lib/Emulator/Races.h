// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data races by happens-before. Time is counted by each warp: its clock moves
// on with every release. A vector clock says, for each thread and each thing
// that acts on its own (groups of asynchronous copies, memory barriers'
// transactions, wgmma groups), up to when its accesses are known to be done.
// Threads share vector clocks where they know the same, which is what a
// barrier makes of them.
//
// The async proxy sees a thread's writes, and those of its cp.async, only past
// a proxy fence: components `Proxied` and `ProxiedCopy` of a thread are the
// times of what a fence has passed on.

#ifndef DEPLO_LIB_EMULATOR_RACES_H
#define DEPLO_LIB_EMULATOR_RACES_H

#include "State.h"

#include <unordered_map>

namespace deplo::emulator {

enum class Agent : uint8_t {
  Thread,
  Proxied,
  /// cp.async of a thread, by groups.
  Copy,
  ProxiedCopy,
  /// Reads, and writes, of a thread's bulk copies in groups.
  BulkRead,
  BulkWrite,
  /// wgmma of a warp, by groups.
  Wgmma,
  /// What completes on a memory barrier, by phases.
  MBarrier
};

/// Who accesses memory, other than the thread itself.
struct Actor {
  Agent agent = Agent::Thread;
  /// The group or phase.
  uint32_t clock = 0;
  /// The number of the memory barrier.
  uint32_t barrier = 0;
  /// Reads and writes through the async proxy.
  bool isAsyncProxy = false;
};

struct Access;

using Clock = std::vector<uint32_t>;
using SharedClock = std::shared_ptr<const Clock>;
/// What is known of other clusters, by number.
using Foreign = std::map<uint64_t, SharedClock>;
using SharedForeign = std::shared_ptr<const Foreign>;

/// Something that orders threads: a location that is accessed atomically, a
/// memory barrier.
struct SyncPoint {
  SharedClock clock;
  SharedForeign foreign;
};

/// The clocks of the threads of one cluster.
class ClusterClocks {
public:
  ClusterClocks(Cluster &cluster, const Kernel &kernel);

  /// Of a thread or agent, and its present time.
  uint32_t component(const Warp &warp, unsigned lane, const Actor &actor) const;
  uint32_t now(const Warp &warp, const Actor &actor) const;

  /// Whether what `component` did at `clock` is known to be done to the
  /// thread.
  bool isBefore(const Warp &warp, unsigned lane, uint32_t component,
                uint32_t clock) const;
  /// The same for a whole cluster's work that a thread has learnt of.
  bool isForeignBefore(const Warp &warp, unsigned lane, uint64_t cluster,
                       uint32_t component, uint32_t clock) const;

  /// All lanes of all learn what all did.
  struct Party {
    const Warp *warp;
    uint32_t mask;
    /// It learns from the others too.
    bool waits = true;
  };
  void synchronize(const std::vector<Party> &parties);
  /// What the lane did and knows becomes known to who acquires `point`.
  void release(const Warp &warp, unsigned lane, SyncPoint &point);
  /// The same for the lanes of `mask` at once.
  void releaseAll(const Warp &warp, uint32_t mask, SyncPoint &point);
  void acquire(const Warp &warp, uint32_t mask, const SyncPoint &point);
  /// The thread's earlier writes reach memory before its later ones.
  void fence(const Warp &warp, uint32_t mask);
  /// Releases what the last fence saw, if there was one.
  void releaseFenced(const Warp &warp, unsigned lane, SyncPoint &point);
  void proxyFence(const Warp &warp, uint32_t mask);
  /// The agent's work up to `clock` is done, to this thread's knowledge.
  void complete(const Warp &warp, unsigned lane, Agent agent, uint32_t clock);
  /// An agent's work at `clock` is known to who acquires `point`.
  void releaseAgent(SyncPoint &point, uint32_t component, uint32_t clock);
  /// Whether a write is known to have passed a proxy fence, where it isn't the
  /// async proxy's own.
  bool isProxied(const Warp &warp, unsigned lane, uint32_t component,
                 uint32_t clock) const;
  /// What any thread of the block knows of the others.
  Clock knowledgeOf(const Block &block) const;
  /// Whether the component is a thread of another block, or its agent.
  bool isOfOtherBlock(const Block &block, uint32_t component) const;
  SharedClock merged(const SharedClock &a, const SharedClock &b);
  uint32_t newMBarrier() { return mbarriers++; }

  /// "thread (1, 0, 0)" or "an asynchronous copy of ...".
  std::string describe(uint32_t component) const;

private:
  struct Thread {
    SharedClock base;
    SharedForeign foreign;
    SharedClock fenced;
    SharedForeign fencedForeign;
    uint32_t fencedNow = 0;
    /// Own components, from Proxied to Wgmma.
    std::array<uint32_t, 7> own = {};
  };

  struct Fenced {
    SharedClock clock;
    SharedForeign foreign;
  };

  Fenced joinedFences(const std::vector<Party> &parties);
  uint32_t warpNumber(const Warp &warp) const;
  uint32_t threadNumber(const Warp &warp, unsigned lane) const;
  SharedClock joined(const SharedClock &a, const SharedClock &b);
  SharedForeign joined(const SharedForeign &a, const SharedForeign &b) const;
  void addOwn(Clock &clock, uint32_t thread, uint32_t now) const;

  Cluster &cluster;
  uint32_t threadCount, kinds;
  uint32_t mbarriers = 0;
  std::vector<Thread> threads;
  std::vector<uint32_t> clocks;
};

/// Strong accesses of a location order the threads that make them.
class SyncTable {
public:
  SyncPoint &at(uint64_t key) { return points[key]; }
  std::mutex mutex;

private:
  std::unordered_map<uint64_t, SyncPoint> points;
};

/// After a strong read: what was released there is known.
void acquireAt(Warp &warp, unsigned lane, Space space, uint64_t address);
/// Before a strong write. A relaxed one releases what a fence has passed on.
void releaseAt(Warp &warp, unsigned lane, Space space, uint64_t address,
               bool isRelease);

/// Who accessed a piece of memory last.
struct ShadowCell {
  uint32_t writer = ~0u, writeClock = 0, writeOrigin = 0;
  uint32_t cluster = 0;
  bool isWriteStrong = false, isWriteAsync = false;
  /// Readers since: lanes of a warp, or one agent.
  struct Reader {
    uint32_t first = 0, mask = 0, clock = 0, origin = 0, cluster = 0;
    bool isAgent = false, isStrong = false;
  };
  Reader reader;
  std::vector<Reader> *more = nullptr;
  /// Others that wrote the same value, in no order with the writer.
  std::vector<Reader> *replicas = nullptr;

  ShadowCell() = default;
  ShadowCell(const ShadowCell &) = delete;
  ~ShadowCell() {
    delete more;
    delete replicas;
  }
};

/// The shadow of one block's shared memory.
class SharedShadow {
public:
  SharedShadow(uint64_t bytes, uint32_t granule)
      : granule(granule), cells(bytes / granule + 1) {}

  void note(Warp &warp, const Inst &inst, unsigned lane, uint64_t offset,
            uint64_t address, uint32_t bytes, uint8_t *memory,
            const Access &access);
  /// The block's last thread ends: other blocks must be done with the memory,
  /// to the knowledge of one of its threads.
  void checkEnd(Warp &warp, const Inst &inst, unsigned lane);

private:
  uint32_t granule;
  std::vector<ShadowCell> cells;
};

/// The shadow of a region of global memory; pages are made when touched.
class GlobalShadow {
public:
  GlobalShadow(uint64_t bytes, uint32_t granule);

  void note(Warp &warp, const Inst &inst, unsigned lane, uint64_t offset,
            uint64_t address, uint32_t bytes, uint8_t *memory,
            const Access &access);

private:
  static constexpr uint64_t cellsPerPage = 1024;
  struct Page {
    std::mutex mutex;
    std::array<ShadowCell, cellsPerPage> cells;
  };
  Page &page(uint64_t number);

  uint32_t granule;
  std::mutex mutex;
  std::vector<std::atomic<Page *>> pages;
  std::vector<std::unique_ptr<Page>> owned;
};

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_RACES_H
