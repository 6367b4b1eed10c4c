// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates the time of a candidate from four things: bytes from memory, the
// multiprocessor with the most blocks, instructions issued, and the latency of
// one block from first load to last store.

#include "ScheduleModelImpl.h"

#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace deplo {

// Properties of the architecture family rather than of a product, measured on
// an H200 (docs/rationale/schedule-selection.md). Times in nanoseconds.
static constexpr double cycle = 0.6;
static constexpr double memoryLatency = memoryLatencyNanoseconds;
/// What fits in this part of L2 may be there already, and comes faster.
static constexpr double keptInL2 = 0.8;
static constexpr double l2Latency = 400;
static constexpr double shuffleLatency = 25 * cycle;
static constexpr double shuffleIssue = 2 * cycle;
static constexpr double arithmeticLatency = 7 * cycle;
static constexpr double barrierLatency = 20 * cycle;
/// What one more warp adds to an exchange between the warps of a block.
static constexpr double warpExchangeLatency = 2 * cycle;
/// An exchange between the blocks of a cluster: a barrier, and a read from
/// another multiprocessor.
static constexpr double clusterExchangeLatency = 1200 * cycle;
/// A value that a multiprocessor sends to another one.
static constexpr double remoteStore = 4.5 * cycle;
/// The device starts one block in a cycle. Where the next kernel may start
/// before this one ends (programmatic_launch), it starts one in two cycles in
/// the place of another block.
static constexpr double blockDispatch = cycle;
static constexpr double blockReplacement = 2 * cycle;
/// How much longer a kernel takes than to start its blocks.
static constexpr double dispatchMargin = 1.1;
/// Instructions of one step of a loop over chunks besides those for elements.
static constexpr int64_t stepInstructions = 10;
/// Elements of a thread in what LLVM lays out of a loop.
static constexpr int64_t elementsLaidOut = 32;
/// The part of the memory bandwidth on the data sheet that kernels reach.
static constexpr double reachedBandwidth = 0.9;
/// How much longer a copy to shared memory takes if no other block of the
/// multiprocessor uses the time until it is there.
static constexpr double aloneCost = 1.25;
/// How much longer (or shorter) transfers take for twice the accesses of a
/// thread.
static constexpr double spreadInMemory = 0.012;
static constexpr double spreadInL2 = 0.05;
/// How much longer it takes to read rows that are so far apart for each time
/// that a block takes less than such a burst.
static constexpr double scatterCost = 0.04;
static constexpr double longBurstBytes = 32768;

static constexpr double instructionBytes = 16;
/// Of a multiprocessor's caches of instructions, the larger one's (Jia et al.,
/// "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018).
static constexpr double cachedCode = 131072;
/// How much longer code takes that it doesn't hold (H200: 170 KB of a scan).
static constexpr double uncachedCost = 1.4;

/// Instructions of a thread for the parts of reductions, and of scans of
/// `chunks` chunks, that threads share.
double ScheduleModel::getExchangeInstructions(const ScheduleChoice &candidate,
                                              double chunks) const {
  Sharing sharing = getSharing(candidate);
  double lanesSharing = llvm::Log2_64(sharing.rowLanes);
  double warpsSharing = sharing.rowWarps > 1 ? sharing.rowWarps : 0;
  // Lanes fold the runs of neighbours one by one, which shows where a fold
  // takes many instructions.
  double runs =
      std::max(double(candidate.elementsPerThread) / double(vector), 1.0);
  double folds = chunks * (runs * lanesSharing + warpsSharing);
  return sharing.rowsPerThread *
         (2 * (facts.dependentReductions + facts.scans * chunks) *
              (lanesSharing + warpsSharing) +
          double(facts.foldInstructions - 1) * facts.scans * folds);
}

/// From the last load of a row to the result of its last reduction.
double ScheduleModel::estimateReduction(const ScheduleChoice &candidate) const {
  return facts.dependentReductions * estimateExchange(candidate);
}

/// From the last element of a tile to what all of it folds to.
double ScheduleModel::estimateExchange(const ScheduleChoice &candidate) const {
  Sharing sharing = getSharing(candidate);
  double steps = llvm::Log2_64(sharing.rowLanes);
  double latency = candidate.elementsPerThread * arithmeticLatency +
                   steps * shuffleLatency +
                   (sharing.rowsPerThread - 1) * steps * shuffleIssue;
  if (sharing.rowWarps > 1)
    latency += 2 * (barrierLatency + candidate.warps * warpExchangeLatency) +
               (sharing.rowsPerThread - 1) * sharing.rowWarps * shuffleIssue;
  return latency;
}

/// What runs of `run` contiguous bytes cost, compared with whole lines: the
/// rest of their sectors, and of bursts that fetch several sectors.
static double getTrafficFactor(double run) {
  if (run >= lineBytes)
    return 1;
  if (run >= 2 * sectorBytes)
    return 1.15;
  return 1.6 * std::max(sectorBytes / run, 1.0);
}

/// The part of the memory bandwidth that is used, if blocks could use `ratio`
/// times their share of it: the closer to all of it, the sharper the bend.
/// Columns spread over more of memory than rows.
static constexpr double bendOfRows = 5, bendOfColumns = 3;
static double getEfficiency(double ratio, double bend) {
  return ratio / std::pow(1 + std::pow(ratio, bend), 1 / bend);
}

/// Bytes that the kernel moves to and from memory. Rows in chunks are read
/// again by later passes, from L2 as far as the rows of all resident blocks and
/// what they write fit there.
double ScheduleModel::getTraffic(const ScheduleChoice &candidate,
                                 double resident) const {
  double again = 0;
  if (candidate.chunk && getPasses(candidate) > 1 && !isStaged(candidate)) {
    // split_sweeps keeps what it can on chip, and finds in L2 what was read
    // last.
    double rows = getRowBytes(candidate);
    double kept = keepsPart(candidate) ? target.sharedPerBlock : 0;
    double rest = std::max(rows - kept, 0.0);
    double inL2 =
        keptInL2 * target.l2Bytes / (target.multiprocessors * resident * rest);
    again = (getPasses(candidate) - 1) * std::max(1 - inL2, 0.0) * rest / rows;
  }
  double traffic = 0;
  for (const ScheduleAccess &access : facts.accesses) {
    double run = access.elementBytes;
    // What small strides leave out others read as a rule, as in windows.
    for (size_t dim = 0; dim < extents.size(); ++dim)
      if (access.strides[dim] > 0 &&
          access.strides[dim] * access.elementBytes < sectorBytes)
        run *=
            std::min<double>(extents[dim], dim < numAxes ? candidate.block[dim]
                                                         : getRow(candidate));
    traffic += getBytes(access) * getTrafficFactor(run) *
               (isKept(access) ? 1 + again : 1);
  }
  return traffic;
}

/// How long it takes to start all blocks. Those of data that stay in L2 either
/// all start in the place of blocks of the kernel before, which is as short, or
/// come in several waves, of which few are at the same time as others.
double ScheduleModel::estimateDispatch(const ScheduleChoice &candidate,
                                       bool isInL2) const {
  double places =
      double(target.multiprocessors) * candidate.blocksPerMultiprocessor;
  if (isInL2)
    return candidate.blocks *
           (candidate.blocks <= places ? blockReplacement : blockDispatch);
  double first = std::min<double>(candidate.blocks, places);
  return first * blockDispatch + (candidate.blocks - first) * blockReplacement;
}

/// What that costs, the more the less a block takes at a time.
double ScheduleModel::getScatterCost(const ScheduleChoice &candidate) const {
  if (!isScattered(candidate))
    return 1;
  double burst = candidate.unroll * getLoadBytes(candidate);
  return 1 + scatterCost * std::max(longBurstBytes / burst - 1, 0.0);
}

/// What several accesses of one thread cost: they spread over more of memory at
/// a time. Without loops and from L2, what counts is how many blocks are on
/// their way: each of the only wave is better off with few accesses, where
/// waves follow one another fewer of them are better.
double ScheduleModel::getSpread(const ScheduleChoice &candidate, bool isInL2,
                                bool hasWaves) const {
  double doublings = std::log2(double(candidate.elementsPerThread) /
                               std::min(candidate.elementsPerThread, vector));
  if (isInL2 && facts.inner.empty())
    return 1 + (hasWaves ? -spreadInL2 : spreadInL2) * doublings;
  return 1 + spreadInMemory * doublings;
}

bool ScheduleModel::isInL2() const {
  double bytes = 0;
  for (const ScheduleAccess &access : facts.accesses)
    bytes += getBytes(access);
  return bytes <= keptInL2 * target.l2Bytes;
}

void ScheduleModel::estimate(ScheduleChoice &candidate) const {
  candidate.blocksPerMultiprocessor = getResidentBlocks(candidate);
  double usable = getUsableMultiprocessors(candidate);
  if (usable == 0) {
    candidate.nanoseconds = std::numeric_limits<double>::infinity();
    return;
  }
  double busiest = std::ceil(candidate.blocks / usable);
  double resident =
      std::min<double>(candidate.blocksPerMultiprocessor, busiest);
  candidate.waves =
      double(candidate.blocks) /
      (target.multiprocessors * candidate.blocksPerMultiprocessor);

  double rowElements = 1;
  for (size_t dim = numAxes; dim < extents.size(); ++dim)
    rowElements *= extents[dim];
  if (candidate.cluster > 1)
    rowElements = getSlice(candidate);
  double chunks =
      candidate.chunk ? std::ceil(rowElements / candidate.chunk) : 1;
  double instructions =
      (double(candidate.elementsPerThread) *
           (facts.instructions + 1 + double(facts.indexInstructions) / vector) +
       (candidate.chunk ? stepInstructions : 0)) *
          chunks +
      getExchangeInstructions(candidate, chunks);
  // Few warps leave gaps, most of all in loops, where one instruction waits for
  // the other.
  double independent = candidate.chunk ? 1 : 4;
  double stall =
      std::max(arithmeticLatency / cycle * schedulersPerMultiprocessor /
                   (resident * candidate.warps * independent),
               1.0);
  bool isCached = instructions / chunks * instructionBytes <= cachedCode;
  double compute =
      instructions * stall * (isCached ? 1 : uncachedCost) *
      std::max(double(candidate.warps) / schedulersPerMultiprocessor, 1.0) *
      cycle;

  // In bytes a nanosecond.
  double share = reachedBandwidth * target.dramBytesPerSecond / 1e9 /
                 target.multiprocessors;
  double access = memoryLatency;
  bool inL2 = isInL2();
  if (inL2) {
    share *= l2Bandwidth;
    access = l2Latency;
  }
  // What an index leads to waits for the index.
  access *= double(1 + facts.indirections);
  double traffic = getTraffic(candidate, resident);
  double transfer = traffic / candidate.blocks / share;
  // Chunks of a scan come one after the other; the next one is on its way.
  double scan = facts.scans * estimateExchange(candidate);
  // Columns stream by: what is computed of one chunk is in time for the next.
  bool streams =
      isAcrossRows() && candidate.chunk && facts.passes == 1 && !facts.scans;
  double latency = access + compute / (streams ? chunks : 1) +
                   estimateReduction(candidate) + chunks * scan;
  // Rows that are on chip wait for what all rows share, a batch at a time.
  if (isStaged(candidate) && hasSharedRow())
    latency += std::ceil(chunks / candidate.unroll) * l2Latency;
  if (candidate.cluster > 1)
    latency += facts.dependentReductions * clusterExchangeLatency;
  // The blocks of several rows send values all the time; those of one row send
  // few, while others load.
  if (candidate.cluster > 1 && getRows(candidate) > 1)
    latency += facts.dependentReductions * busiest *
               double(getRows(candidate) * candidate.cluster) * remoteStore;
  // How much of its share of the bandwidth a multiprocessor can use, and how
  // long the busiest one takes: blocks that load all they need at once take
  // turns in loading, computing and storing; in loops over chunks the warps go
  // their own ways.
  double ratio, multiprocessor;
  if (candidate.chunk && !isStaged(candidate)) {
    // LLVM lays out short loops that the schedule leaves to it, if it knows
    // their end.
    int64_t chunksAhead = candidate.unroll;
    if (chunksAhead == 1 && streams && !facts.hasSymbolicRows)
      chunksAhead =
          std::max<int64_t>(elementsLaidOut / candidate.elementsPerThread, 1);
    ratio = resident * chunksAhead * getLoadBytes(candidate) /
            (share * (facts.scans ? std::max(access, scan) : access));
    latency += (getPasses(candidate) - 1) * access;
    multiprocessor = busiest * transfer / std::min(ratio, bandwidthBurst);
  } else {
    ratio = resident * transfer / (transfer / bandwidthBurst + latency);
    multiprocessor = (busiest / resident - 1) * latency +
                     busiest * transfer / bandwidthBurst;
  }
  ratio *= usable / target.multiprocessors;
  double memory = getSpread(candidate, inL2, busiest > resident) * traffic /
                  (share * target.multiprocessors);
  // The trip of a transposition through shared memory costs less if threads
  // have two accesses.
  if (hasTransposed() && candidate.elementsPerThread < 2 * vector)
    memory *= 1.08;
  if (busiest > resident || candidate.chunk)
    memory /= getEfficiency(ratio, isAcrossRows() ? bendOfColumns : bendOfRows);
  if ((isStaged(candidate) || keepsPart(candidate)) &&
      candidate.blocksPerMultiprocessor == 1)
    memory *= aloneCost;
  memory *= getScatterCost(candidate);
  double issue = busiest * candidate.warps * instructions * stall /
                 schedulersPerMultiprocessor * cycle;
  double dispatch = candidate.blocks * blockDispatch;
  // What doesn't limit still costs something.
  double limit = std::max({memory, multiprocessor, issue, dispatch});
  double others = memory + multiprocessor + issue + dispatch - limit;
  double starts = dispatchMargin * estimateDispatch(candidate, inL2);
  if (!inL2)
    limit = std::max(limit, starts);
  candidate.nanoseconds =
      target.launchNanoseconds + latency + limit + others / 40;
  // Blocks start while those of the kernel before wait for data.
  if (inL2)
    candidate.nanoseconds = std::max(candidate.nanoseconds, starts);

  candidate.bytesRead = candidate.bytesWritten = 0;
  for (const ScheduleAccess &access : facts.accesses)
    (access.isStore ? candidate.bytesWritten : candidate.bytesRead) +=
        getBytes(access);
}
} // namespace deplo
