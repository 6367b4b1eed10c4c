// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates block shapes, warps and chunks, drops those that the hardware
// can't run, and estimates the time of each from four things: bytes from
// memory, the multiprocessor with the most blocks, instructions issued, and the
// latency of one block from first load to last store.

#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Analysis/MemoryFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using llvm::divideCeil;
using llvm::PowerOf2Ceil;

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
/// A size that a launch gives has 64 bits.
constexpr int64_t registersPerSize = 2;

/// An exchange between the blocks of a cluster: a barrier, and a read from
/// another multiprocessor.
static constexpr double clusterExchangeLatency = 1200 * cycle;
/// The device starts one block in a cycle. Where the next kernel may start
/// before this one ends (programmatic_launch; not if the data stay in L2), it
/// starts one in two cycles in the place of another block.
static constexpr double blockDispatch = cycle;
static constexpr double blockReplacement = 2 * cycle;
/// How much longer a kernel takes than to start its blocks.
static constexpr double dispatchMargin = 1.1;
static constexpr int64_t schedulersPerMultiprocessor = 4;
/// Instructions of one step of a loop over chunks besides those for elements.
static constexpr int64_t stepInstructions = 10;
/// The part of the memory bandwidth on the data sheet that kernels reach.
static constexpr double reachedBandwidth = 0.9;
static constexpr int64_t maxAccessBytes = 16;
/// Rows in registers give way to rows in shared memory for less than this part
/// of their time.
static constexpr double worthStaging = 0.9;
/// How much longer a copy to shared memory takes if no other block of the
/// multiprocessor uses the time until it is there.
static constexpr double aloneCost = 1.25;
/// Rows of one block give way to rows of several for less than this part.
static constexpr double worthCluster = 0.9;
/// The same for twice the blocks.
static constexpr double worthLargerCluster = 0.97;
/// How much longer a kernel takes whose accesses move single elements.
static constexpr double unalignedCost = 1.5;
static constexpr int64_t sectorBytes = 32;
static constexpr int64_t lineBytes = 128;
static constexpr int64_t lanes = 32;
static constexpr int64_t registerBytes = 4;
static constexpr int64_t maxElementsPerThread = 32;
/// Loads that a thread has in flight in a loop over chunks, and in one over
/// rows that are far apart.
static constexpr int64_t loadsAhead = 4;
static constexpr int64_t mostLoadsAhead = 8;
/// How much longer it takes to read rows that are so far apart for each time
/// that a block takes less than such a burst.
static constexpr double scatterCost = 0.04;
static constexpr double longBurstBytes = 32768;
static constexpr double farApartBytes = 1 << 16;
/// Of a scan, for each run of neighbours in a thread.
static constexpr int64_t registersPerRun = 4;
/// Addresses, loop counters and temporaries of one thread.
static constexpr int64_t baseRegisters = 18;
/// The same for exchanges between blocks.
static constexpr int64_t clusterRegisters = 8;

namespace {

class Model {
public:
  /// `shift`: the elements of one access, if rows are to be shifted to aligned
  /// addresses (align_rows); else 0.
  Model(const ScheduleFacts &facts, const TargetDescription &target,
        const SchedulePins &pins, int64_t shift)
      : facts(facts), target(target), pins(pins), shift(shift),
        numAxes(facts.axes.size()) {
    for (int64_t extent : facts.axes)
      extents.push_back(std::max<int64_t>(extent, 1));
    for (const ScheduleInnerDim &dim : facts.inner)
      extents.push_back(std::max<int64_t>(dim.extent, 1));
    contiguous = findContiguousDim();
    vector = pins.vector ? *pins.vector : shift ? shift : chooseVector();
  }

  std::optional<ScheduleChoice> choose(std::string &error);

private:
  std::optional<ScheduleChoice> chooseShared(int64_t cluster,
                                             std::string &error);
  void considerChunk(int64_t chunk, int64_t cluster, bool isSmallest,
                     std::optional<ScheduleChoice> &best,
                     std::string &error) const;
  size_t findContiguousDim() const;
  int64_t chooseVector() const;
  int64_t getBytes(const ScheduleAccess &access) const;
  int64_t getPaddedRow() const;
  std::vector<int64_t> shapeBlock(int64_t elements, int64_t runBytes,
                                  int64_t width) const;
  bool isTransposed(const ScheduleAccess &access, size_t axis) const;
  bool hasTransposed() const;
  bool canShift(const ScheduleChoice &candidate) const;
  void consider(ScheduleChoice candidate, std::optional<ScheduleChoice> &best,
                std::string &error) const;
  bool fits(ScheduleChoice &candidate, std::string &error) const;
  /// Elements of a row that a block has.
  int64_t getSlice(const ScheduleChoice &candidate) const {
    return candidate.cluster == 1
               ? getPaddedRow()
               : getClusterSlice(extents.back(), candidate.cluster,
                                 candidate.chunk);
  }
  /// Elements of a row that are on chip at once.
  int64_t getRow(const ScheduleChoice &candidate) const {
    return candidate.chunk ? candidate.chunk : getSlice(candidate);
  }
  /// Sweeps over a row, each of which loads it.
  int64_t getPasses(const ScheduleChoice &candidate) const {
    return candidate.chunk && candidate.cluster == 1
               ? facts.passes - facts.joinedPasses
               : facts.passes;
  }
  static int64_t getRows(const ScheduleChoice &candidate) {
    int64_t rows = 1;
    for (int64_t size : candidate.block)
      rows *= size;
    return rows;
  }
  /// Whether the access has a row of its own for each iteration of the axes:
  /// others are shared by all blocks and stay in L2.
  bool isKept(const ScheduleAccess &access) const {
    auto varies = [](int64_t stride) { return stride != 0; };
    return !access.isStore &&
           std::any_of(access.strides.begin(), access.strides.begin() + numAxes,
                       varies);
  }
  /// Whether there is a row that all iterations of the axes share.
  bool hasSharedRow() const {
    return std::any_of(facts.accesses.begin(), facts.accesses.end(),
                       [&](const ScheduleAccess &access) {
                         return !access.isStore && !isKept(access) &&
                                access.strides.back() != 0;
                       });
  }
  bool isStaged(const ScheduleChoice &candidate) const;
  bool keepsPart(const ScheduleChoice &candidate) const;
  double getRowBytes(const ScheduleChoice &candidate) const;
  double getLoadBytes(const ScheduleChoice &candidate) const;
  int64_t getResidentBlocks(const ScheduleChoice &candidate) const;
  double getUsableMultiprocessors(const ScheduleChoice &candidate) const;
  double getTraffic(const ScheduleChoice &candidate, double resident) const;
  double estimateDispatch(const ScheduleChoice &candidate) const;
  bool isScattered(const ScheduleChoice &candidate) const;
  double getScatterCost(const ScheduleChoice &candidate) const;
  void estimate(ScheduleChoice &candidate) const;
  struct Sharing {
    /// Lanes and warps that hold parts of one row.
    int64_t rowLanes, rowWarps;
    int64_t rowsPerThread;
  };
  Sharing getSharing(const ScheduleChoice &candidate) const;
  double getExchangeInstructions(const ScheduleChoice &candidate) const;
  double estimateReduction(const ScheduleChoice &candidate) const;
  double estimateExchange(const ScheduleChoice &candidate) const;
  std::string explain(const ScheduleChoice &choice) const;

  const ScheduleFacts &facts;
  const TargetDescription &target;
  const SchedulePins &pins;
  int64_t shift;
  size_t numAxes;
  /// Of the axes, then of the inner dimensions; at least 1.
  std::vector<int64_t> extents;
  /// The dimension along which most bytes are contiguous in memory.
  size_t contiguous;
  int64_t vector;
};

} // namespace

/// Bytes that the access touches, each element once.
int64_t Model::getBytes(const ScheduleAccess &access) const {
  int64_t elements = 1;
  for (auto [stride, extent] : llvm::zip(access.strides, extents))
    if (stride != 0)
      elements *= extent;
  return std::min(elements, access.elements) * access.elementBytes;
}

size_t Model::findContiguousDim() const {
  size_t best = extents.size() - 1;
  int64_t bestBytes = 0;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    int64_t bytes = 0;
    for (const ScheduleAccess &access : facts.accesses)
      if (access.strides[dim] == 1)
        bytes += getBytes(access);
    if (bytes > 0 && bytes >= bestBytes) {
      best = dim;
      bestBytes = bytes;
    }
  }
  return best;
}

/// The elements that each thread should hold side by side: as wide as the
/// accesses go, unless odd strides force narrower accesses, which coalesce only
/// if threads hold as few elements side by side as one access moves.
int64_t Model::chooseVector() const {
  int64_t best = 1;
  double bestCost = 0;
  for (int64_t width = 1; width <= maxAccessBytes; width *= 2) {
    double cost = 0;
    for (const ScheduleAccess &access : facts.accesses) {
      if (access.strides[contiguous] != 1)
        continue;
      int64_t reached = std::min({width, maxAccessBytes / access.elementBytes,
                                  access.alignment, extents[contiguous]});
      reached = int64_t(llvm::bit_floor(uint64_t(reached)));
      reached = std::max<int64_t>(reached, 1);
      // Narrow accesses cost instructions, gaps between them sectors.
      double instructions =
          std::log2(double(maxAccessBytes) / (reached * access.elementBytes));
      double gaps = std::log2(double(width) / reached);
      cost += getBytes(access) * (1 + 0.1 * instructions + 0.3 * gaps);
    }
    if (width == 1 || cost < bestCost) {
      best = width;
      bestCost = cost;
    }
  }
  return best;
}

/// Elements of a row in registers, each inner dimension padded.
int64_t Model::getPaddedRow() const {
  int64_t row = 1;
  for (size_t dim = numAxes; dim < extents.size(); ++dim)
    row *= PowerOf2Ceil(extents[dim]);
  return row;
}

/// Whether the access is contiguous along `axis`, another one than most are,
/// and crosses those. What is the same along the contiguous dimension, as the
/// row numbers of a gather, a block reads once.
bool Model::isTransposed(const ScheduleAccess &access, size_t axis) const {
  return axis != contiguous && access.strides[axis] == 1 &&
         access.strides[contiguous] != 0;
}

bool Model::hasTransposed() const {
  for (const ScheduleAccess &access : facts.accesses)
    for (size_t axis = 0; axis < numAxes; ++axis)
      if (isTransposed(access, axis))
        return true;
  return false;
}

/// Shapes a block of `elements` iterations of the axes: first `runBytes` of
/// every axis along which some access is contiguous, then up to `width` along
/// the contiguous axis, and the rest from the innermost axis outwards.
std::vector<int64_t> Model::shapeBlock(int64_t elements, int64_t runBytes,
                                       int64_t width) const {
  std::vector<int64_t> block(numAxes, 1);
  auto grow = [&](size_t axis, int64_t limit) {
    limit = std::min<int64_t>(limit, PowerOf2Ceil(extents[axis]));
    while (elements > 1 && block[axis] < limit) {
      block[axis] *= 2;
      elements /= 2;
    }
  };
  for (size_t axis = numAxes; axis-- > 0;) {
    int64_t widest = 0;
    for (const ScheduleAccess &access : facts.accesses)
      if (isTransposed(access, axis))
        widest =
            std::max(widest, std::min(runBytes / access.elementBytes, lanes));
    if (widest)
      grow(axis, widest);
  }
  if (contiguous < numAxes)
    grow(contiguous, width);
  for (size_t axis = numAxes; axis-- > 0;)
    grow(axis, elements);
  return block;
}

bool Model::fits(ScheduleChoice &candidate, std::string &error) const {
  int64_t threads = candidate.warps * lanes;
  int64_t tile = getRow(candidate);
  for (int64_t size : candidate.block)
    tile *= size;
  candidate.elementsPerThread =
      std::max<int64_t>(divideCeil(tile, threads), std::min(tile, vector));
  int64_t elementRegisters = 1;
  for (const ScheduleAccess &access : facts.accesses)
    elementRegisters = std::max(elementRegisters, access.elementBytes / 4);
  int64_t most = std::min(target.registersPerThread,
                          target.registersPerMultiprocessor / threads);
  // Loops over chunks carry a running tile for each value and load ahead;
  // accesses of single elements, and those of shifted rows, have addresses and
  // masks for each.
  int64_t tiles = facts.liveTiles;
  int64_t running = std::max(1 + facts.joinedPasses, facts.reducedValues);
  // So do scans, and the next chunk while this one is scanned.
  tiles += facts.scans;
  // All elements of a row of any length have masks of their own.
  if (!candidate.chunk && vector == 1 && facts.hasSymbolicRows)
    ++tiles;
  if (candidate.chunk)
    tiles += running + (getPasses(candidate) > 2 ? 1 : 0) +
             (vector == 1 || shift != 0 ? 1 : 0);
  candidate.registersPerThread =
      baseRegisters + 2 * int64_t(facts.accesses.size()) +
      tiles * candidate.elementsPerThread * elementRegisters +
      (candidate.cluster > 1 ? clusterRegisters : 0) +
      registersPerSize * facts.symbolicSizes;
  // Without loops in the way, what all rows share is loaded ahead of the
  // reductions too.
  if (!candidate.chunk && candidate.cluster == 1 &&
      facts.dependentReductions > 1)
    for (const ScheduleAccess &access : facts.accesses)
      if (!access.isStore && !isKept(access) && access.strides.back() != 0)
        candidate.registersPerThread +=
            divideCeil(candidate.elementsPerThread * access.elementBytes, 4);
  // Values of several rows from all warps that share them arrive together.
  Sharing sharing = getSharing(candidate);
  if (facts.dependentReductions + facts.scans && sharing.rowWarps > 1 &&
      sharing.rowsPerThread > 1)
    candidate.registersPerThread += sharing.rowsPerThread * sharing.rowWarps;
  // So do several values of one row.
  if (facts.reducedValues > 1 && sharing.rowWarps > 1)
    candidate.registersPerThread = std::max(
        candidate.registersPerThread,
        baseRegisters + 2 * int64_t(facts.accesses.size()) +
            tiles * candidate.elementsPerThread * elementRegisters +
            facts.reducedValues * sharing.rowsPerThread * sharing.rowWarps);
  int64_t accesses = std::max<int64_t>(candidate.elementsPerThread / vector, 1);
  // What each run of a scan folds to, and what is before it, as it is found.
  candidate.registersPerThread += facts.scans * registersPerRun * accesses;
  candidate.unroll = pins.unroll ? *pins.unroll
                     : candidate.chunk && !facts.scans
                         ? std::max(candidate.loadsAhead / accesses, int64_t(1))
                         : 1;
  // Loads in flight besides the running tile, where rows come from memory.
  if (candidate.chunk && !facts.scans && !isStaged(candidate))
    candidate.registersPerThread =
        std::max(candidate.registersPerThread,
                 baseRegisters + 2 * int64_t(facts.accesses.size()) +
                     running * candidate.elementsPerThread * elementRegisters +
                     int64_t(candidate.unroll * getLoadBytes(candidate) /
                             (threads * registerBytes)));

  candidate.blocks = candidate.cluster > 1
                         ? divideCeil(extents.back(), getSlice(candidate))
                         : 1;
  for (auto [extent, size] : llvm::zip(extents, candidate.block)) {
    int64_t along = divideCeil(extent, size);
    if (along > maxBlocksPerLaunch / candidate.blocks) {
      error = llvm::formatv("blocks of {0} elements are more than the {1} of a "
                            "launch; use a larger block",
                            tile, maxBlocksPerLaunch);
      return false;
    }
    candidate.blocks *= std::max<int64_t>(along, 1);
  }
  if (threads > target.threadsPerBlock) {
    error = llvm::formatv("{0} warps are {1} threads, and {2} runs at most {3} "
                          "in a block; use fewer warps",
                          candidate.warps, threads, target.chip,
                          target.threadsPerBlock);
    return false;
  }
  int64_t peakRegisters = std::max(
      candidate.registersPerThread,
      baseRegisters + 2 * int64_t(facts.accesses.size()) +
          facts.peakTiles * candidate.elementsPerThread * elementRegisters);
  bool isOne = candidate.elementsPerThread == 1;
  if (candidate.registersPerThread > most || (peakRegisters > most && !isOne)) {
    error = llvm::formatv(
        "a thread would hold {0} elements in about {1} registers; use more "
        "warps, a smaller block or a smaller chunk",
        candidate.elementsPerThread, peakRegisters);
    return false;
  }
  return true;
}

/// How a block's threads are laid out over rows and along them: neighbours in
/// memory go to a thread and then to lanes, warps to different rows first.
Model::Sharing Model::getSharing(const ScheduleChoice &candidate) const {
  int64_t row = getRow(candidate);
  int64_t rows = getRows(candidate);
  Sharing sharing;
  int64_t across = 1;
  if (contiguous < numAxes) {
    across = std::min(candidate.block[contiguous], vector);
    sharing.rowLanes =
        lanes / std::min(lanes, candidate.block[contiguous] / across);
    rows /= across;
  } else {
    sharing.rowLanes = std::min(lanes, std::max<int64_t>(row / vector, 1));
  }
  int64_t lanesOnRows = lanes / sharing.rowLanes;
  rows = std::max<int64_t>(rows / lanesOnRows, 1);
  int64_t warpsOnRows = std::min(candidate.warps, rows);
  sharing.rowWarps = candidate.warps / warpsOnRows;
  sharing.rowsPerThread = rows / warpsOnRows * across;
  return sharing;
}

/// Instructions of a thread for the part of a reduction that threads share.
double Model::getExchangeInstructions(const ScheduleChoice &candidate) const {
  Sharing sharing = getSharing(candidate);
  double shuffles = 2 * llvm::Log2_64(sharing.rowLanes);
  double warps = sharing.rowWarps > 1 ? 2 * sharing.rowWarps : 0;
  return sharing.rowsPerThread * (shuffles + warps);
}

/// From the last load of a row to the result of its last reduction.
double Model::estimateReduction(const ScheduleChoice &candidate) const {
  return facts.dependentReductions * estimateExchange(candidate);
}

/// From the last element of a tile to what all of it folds to.
double Model::estimateExchange(const ScheduleChoice &candidate) const {
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
/// times their share of it.
static double getEfficiency(double ratio) {
  return ratio / std::pow(1 + std::pow(ratio, 5), 0.2);
}

int64_t Model::getResidentBlocks(const ScheduleChoice &candidate) const {
  // Registers are handed out to a warp in units of 256.
  int64_t registers =
      llvm::alignTo(candidate.registersPerThread, 8) * candidate.warps * lanes;
  int64_t resident = std::min({target.blocksPerMultiprocessor,
                               target.warpsPerMultiprocessor / candidate.warps,
                               target.registersPerMultiprocessor / registers});
  if (isStaged(candidate))
    resident = std::min<int64_t>(resident, target.sharedPerMultiprocessor /
                                               getRowBytes(candidate));
  else if (keepsPart(candidate))
    resident = 1;
  return std::max<int64_t>(resident, 1);
}

/// Whether rows in chunks are kept in shared memory for later passes over them,
/// as stage_inputs does where they fit.
bool Model::isStaged(const ScheduleChoice &candidate) const {
  return pins.stages.value_or(true) && candidate.chunk &&
         getPasses(candidate) > 1 &&
         getRowBytes(candidate) <= target.sharedPerBlock;
}

/// Whether a part of rows in chunks is kept in shared memory, all of it, as
/// split_sweeps does where they don't fit.
bool Model::keepsPart(const ScheduleChoice &candidate) const {
  return pins.stages.value_or(true) && candidate.chunk &&
         getPasses(candidate) > 1 &&
         getRowBytes(candidate) > target.sharedPerBlock;
}

/// The multiprocessors that can be busy: those of a group which are too few for
/// one more cluster stay idle.
double Model::getUsableMultiprocessors(const ScheduleChoice &candidate) const {
  if (candidate.cluster == 1)
    return target.multiprocessors;
  int64_t places =
      target.multiprocessorsPerGroup * getResidentBlocks(candidate);
  int64_t blocks = divideCeil(extents.back(), getSlice(candidate));
  return double(places / blocks * blocks) / places * target.multiprocessors;
}

/// Bytes of a block's rows that later passes read again.
double Model::getRowBytes(const ScheduleChoice &candidate) const {
  double bytes = 0;
  for (const ScheduleAccess &access : facts.accesses) {
    if (access.isStore || !isKept(access))
      continue;
    double row = access.elementBytes;
    for (size_t dim = numAxes; dim < extents.size(); ++dim)
      if (access.strides[dim] != 0)
        row *= extents[dim];
    bytes += row;
  }
  if (candidate.cluster > 1)
    bytes *= double(getSlice(candidate)) / extents.back();
  return bytes * getRows(candidate);
}

/// Bytes that a block has in flight when it loads a tile.
double Model::getLoadBytes(const ScheduleChoice &candidate) const {
  double bytes = 0;
  for (const ScheduleAccess &access : facts.accesses)
    if (!access.isStore && access.strides[contiguous] != 0)
      bytes += access.elementBytes;
  return bytes * candidate.elementsPerThread * candidate.warps * lanes;
}

/// Bytes that the kernel moves to and from memory. Rows in chunks are read
/// again by later passes, from L2 as far as the rows of all resident blocks and
/// what they write fit there.
double Model::getTraffic(const ScheduleChoice &candidate,
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

/// How long it takes to start all blocks of data that come from memory.
double Model::estimateDispatch(const ScheduleChoice &candidate) const {
  double places =
      double(target.multiprocessors) * candidate.blocksPerMultiprocessor;
  double first = std::min<double>(candidate.blocks, places);
  return first * blockDispatch + (candidate.blocks - first) * blockReplacement;
}

/// Whether blocks stream through long rows that are read once: all go through
/// theirs in step, far from one another, and meet in the same pages of memory.
bool Model::isScattered(const ScheduleChoice &candidate) const {
  return candidate.chunk && facts.passes == 1 && facts.scans == 0 &&
         contiguous >= numAxes &&
         getRowBytes(candidate) / getRows(candidate) >= farApartBytes;
}

/// What that costs, the more the less a block takes at a time.
double Model::getScatterCost(const ScheduleChoice &candidate) const {
  if (!isScattered(candidate))
    return 1;
  double burst = candidate.unroll * getLoadBytes(candidate);
  return 1 + scatterCost * std::max(longBurstBytes / burst - 1, 0.0);
}

void Model::estimate(ScheduleChoice &candidate) const {
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

  double rowElements = 1, bytes = 0;
  for (size_t dim = numAxes; dim < extents.size(); ++dim)
    rowElements *= extents[dim];
  if (candidate.cluster > 1)
    rowElements = getSlice(candidate);
  for (const ScheduleAccess &access : facts.accesses)
    bytes += getBytes(access);
  double chunks =
      candidate.chunk ? std::ceil(rowElements / candidate.chunk) : 1;
  double instructions =
      (double(candidate.elementsPerThread) *
           (facts.instructions + 1 + double(facts.indexInstructions) / vector) +
       (candidate.chunk ? stepInstructions : 0)) *
          chunks +
      (facts.dependentReductions + facts.scans * chunks) *
          getExchangeInstructions(candidate);
  // Few warps leave gaps, most of all in loops, where one instruction waits for
  // the other.
  double independent = candidate.chunk ? 1 : 4;
  double stall =
      std::max(arithmeticLatency / cycle * schedulersPerMultiprocessor /
                   (resident * candidate.warps * independent),
               1.0);
  double compute =
      instructions * stall *
      std::max(double(candidate.warps) / schedulersPerMultiprocessor, 1.0) *
      cycle;

  // In bytes a nanosecond.
  double share = reachedBandwidth * target.dramBytesPerSecond / 1e9 /
                 target.multiprocessors;
  double access = memoryLatency;
  if (bytes <= keptInL2 * target.l2Bytes) {
    share *= l2Bandwidth;
    access = l2Latency;
  }
  double traffic = getTraffic(candidate, resident);
  double transfer = traffic / candidate.blocks / share;
  // Chunks of a scan come one after the other; the next one is on its way.
  double scan = facts.scans * estimateExchange(candidate);
  double latency =
      access + compute + estimateReduction(candidate) + chunks * scan;
  // Rows that are on chip wait for what all rows share, a batch at a time.
  if (isStaged(candidate) && hasSharedRow())
    latency += std::ceil(chunks / candidate.unroll) * l2Latency;
  if (candidate.cluster > 1)
    latency += facts.dependentReductions * clusterExchangeLatency;
  // How much of its share of the bandwidth a multiprocessor can use, and how
  // long the busiest one takes: blocks that load all they need at once take
  // turns in loading, computing and storing; in loops over chunks the warps go
  // their own ways.
  double ratio, multiprocessor;
  if (candidate.chunk && !isStaged(candidate)) {
    ratio = resident * candidate.unroll * getLoadBytes(candidate) /
            (share * (facts.scans ? std::max(access, scan) : access));
    latency += (getPasses(candidate) - 1) * access;
    multiprocessor = busiest * transfer / std::min(ratio, bandwidthBurst);
  } else {
    ratio = resident * transfer / (transfer / bandwidthBurst + latency);
    multiprocessor = (busiest / resident - 1) * latency +
                     busiest * transfer / bandwidthBurst;
  }
  ratio *= usable / target.multiprocessors;
  // Many accesses of one thread spread over more of memory at a time.
  double spread =
      1 + 0.012 * std::log2(double(candidate.elementsPerThread) /
                            std::min(candidate.elementsPerThread, vector));
  double memory = spread * traffic / (share * target.multiprocessors);
  // The trip of a transposition through shared memory costs less if threads
  // have two accesses.
  if (hasTransposed() && candidate.elementsPerThread < 2 * vector)
    memory *= 1.08;
  if (busiest > resident || candidate.chunk)
    memory /= getEfficiency(ratio);
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
  if (bytes > keptInL2 * target.l2Bytes)
    limit = std::max(limit, dispatchMargin * estimateDispatch(candidate));
  candidate.nanoseconds =
      target.launchNanoseconds + latency + limit + others / 40;

  candidate.bytesRead = candidate.bytesWritten = 0;
  for (const ScheduleAccess &access : facts.accesses)
    (access.isStore ? candidate.bytesWritten : candidate.bytesRead) +=
        getBytes(access);
}

/// Whether align_rows can shift the rows: a block has one, and its tiles go
/// past the end.
bool Model::canShift(const ScheduleChoice &candidate) const {
  int64_t row = candidate.chunk ? candidate.chunk : getSlice(candidate);
  int64_t extent = extents.back();
  return shift == 0 ||
         (getRows(candidate) == 1 &&
          int64_t(llvm::alignTo(extent, row)) >= extent + shift - 1);
}

void Model::consider(ScheduleChoice candidate,
                     std::optional<ScheduleChoice> &best,
                     std::string &error) const {
  candidate.vector = vector;
  int64_t most = isScattered(candidate) ? mostLoadsAhead : loadsAhead;
  for (int64_t ahead = loadsAhead; ahead <= most; ahead *= 2) {
    candidate.loadsAhead = ahead;
    if (!fits(candidate, error) || !canShift(candidate))
      return;
    estimate(candidate);
    // A tie goes to fewer threads, which leave room for other work, or to fewer
    // registers.
    constexpr double tie = 1e-6;
    bool isBetter =
        !best || candidate.nanoseconds < best->nanoseconds * (1 - tie);
    bool isTied = best && isScattered(candidate) &&
                  candidate.nanoseconds < best->nanoseconds * (1 + tie) &&
                  candidate.warps == best->warps &&
                  candidate.registersPerThread < best->registersPerThread;
    if (isBetter || isTied)
      best = candidate;
  }
}

/// All blocks and warps for rows of which `chunk` elements (0: all) are on
/// chip, shared by up to `cluster` blocks.
void Model::considerChunk(int64_t chunk, int64_t cluster, bool isSmallest,
                          std::optional<ScheduleChoice> &best,
                          std::string &error) const {
  int64_t iterations = 1;
  for (size_t axis = 0; axis < numAxes; ++axis)
    iterations *= PowerOf2Ceil(extents[axis]);
  int64_t most = std::max(maxElementsPerThread, vector);
  int64_t maxWarps = target.threadsPerBlock / lanes;
  for (int64_t warps = pins.warps.value_or(1);
       warps <= pins.warps.value_or(maxWarps); warps *= 2) {
    // A row that needs several blocks is enough for them.
    int64_t mostRows = cluster > 1 ? 1 : iterations;
    for (int64_t rows = 1; rows <= mostRows; rows *= 2) {
      ScheduleChoice candidate;
      candidate.warps = warps;
      candidate.cluster = cluster;
      candidate.chunk = chunk;
      if (pins.block) {
        candidate.block = *pins.block;
        consider(candidate, best, error);
        break;
      }
      // Neither idle threads nor too much for a thread, if there is a choice.
      int64_t elements = rows * getRow(candidate);
      bool isLeast =
          rows == iterations && elements > warps / 2 * lanes * vector;
      if (elements < warps * lanes * vector && !isLeast && !pins.warps)
        continue;
      if (elements > warps * lanes * most && !(rows == 1 && isSmallest))
        break;
      if (hasTransposed()) {
        for (int64_t run = sectorBytes; run <= lineBytes; run *= 2) {
          candidate.block = shapeBlock(rows, run, rows);
          consider(candidate, best, error);
        }
        continue;
      }
      // Wide blocks may go far past the end of the contiguous axis; those as
      // wide as the accesses of a warp are as good for memory.
      for (int64_t width = rows; width == rows || width >= lanes * vector;
           width /= 2) {
        candidate.block = shapeBlock(rows, sectorBytes, width);
        consider(candidate, best, error);
      }
    }
  }
}

std::optional<ScheduleChoice> Model::choose(std::string &error) {
  // Accesses of single elements, and masks of shifted ones, need many
  // registers.
  bool mayShareRows = facts.mayShareRows && vector > 1 && shift == 0;
  int64_t cluster = mayShareRows ? pins.cluster.value_or(1) : 1;
  std::optional<ScheduleChoice> best = chooseShared(cluster, error);
  if (!pins.cluster && mayShareRows)
    for (cluster = 2; cluster <= target.blocksPerCluster; cluster *= 2) {
      std::string ignored;
      std::optional<ScheduleChoice> next = chooseShared(cluster, ignored);
      // A block alone on its multiprocessor would leave it idle while it waits
      // for the others.
      if (next && next->blocksPerMultiprocessor == 1)
        continue;
      double part =
          best && best->cluster == 1 ? worthCluster : worthLargerCluster;
      if (next && (!best || next->nanoseconds < part * best->nanoseconds))
        best = next;
    }
  if (best)
    best->reason = explain(*best);
  return best;
}

/// The best choice in which up to `cluster` blocks share a row.
std::optional<ScheduleChoice> Model::chooseShared(int64_t cluster,
                                                  std::string &error) {
  if (cluster > target.blocksPerCluster) {
    error = llvm::formatv("{0} blocks are more than a cluster of {1} has, {2}; "
                          "use a smaller cluster",
                          cluster, target.chip, target.blocksPerCluster);
    return std::nullopt;
  }
  std::vector<int64_t> chunks = {0};
  int64_t paddedRow = cluster == 1
                          ? getPaddedRow()
                          : getClusterSlice(extents.back(), cluster, 0);
  if (pins.chunk)
    chunks = {*pins.chunk >= paddedRow ? 0 : *pins.chunk};
  else
    for (int64_t chunk = paddedRow / 2; chunk >= 1; chunk /= 2)
      chunks.push_back(chunk);
  std::optional<ScheduleChoice> best;
  for (int64_t chunk : chunks) {
    std::optional<ScheduleChoice> next = best;
    considerChunk(chunk, cluster, /*isSmallest=*/chunk == chunks.back(), next,
                  error);
    // Rows that fit in registers are read once, and so are those that fit in
    // shared memory, which costs another trip but leaves registers for more
    // blocks. A single pass may as well read a chunk at a time.
    bool fitsOnce = best && best->chunk == 0 && facts.passes > 1;
    if (!fitsOnce || (next && isStaged(*next) &&
                      next->nanoseconds < worthStaging * best->nanoseconds))
      best = next;
  }
  return best;
}

static std::string plural(int64_t count, llvm::StringRef noun) {
  return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : "s");
}

std::string Model::explain(const ScheduleChoice &choice) const {
  std::string text;
  if (facts.inner.empty()) {
    text = llvm::join(llvm::map_range(
                          choice.block,
                          [](int64_t size) { return std::to_string(size); }),
                      "x") +
           " elements a block";
  } else {
    int64_t rows = getRows(choice), row = 1;
    for (size_t dim = numAxes; dim < extents.size(); ++dim)
      row *= extents[dim];
    text = llvm::formatv("{0} of {1} a block", plural(rows, "row"), row);
    if (choice.cluster > 1)
      text = llvm::formatv("a row of {0} in {1} blocks of a cluster, {2} each",
                           row, divideCeil(row, getSlice(choice)),
                           getSlice(choice));
    if (choice.chunk)
      text += llvm::formatv(" in chunks of {0}", choice.chunk);
  }
  return llvm::formatv("{0}, {1} with {2} a thread, {3} side by side; {4} on "
                       "{5} multiprocessors",
                       text, plural(choice.warps, "warp"),
                       plural(choice.elementsPerThread, "element"),
                       choice.vector, plural(choice.blocks, "block"),
                       target.multiprocessors);
}

/// The elements of the widest access to rows that are accessed one element at a
/// time because they start at any address; 0 if there are none, rows of
/// different kinds, or a row that all blocks share: that would be read one
/// element at a time, by threads that are far apart.
static int64_t getShift(const ScheduleFacts &facts) {
  if (facts.inner.size() != 1)
    return 0;
  const ScheduleAccess *row = nullptr;
  int64_t widest = 0;
  for (const ScheduleAccess &access : facts.accesses) {
    bool varies = std::any_of(access.strides.begin(), access.strides.end() - 1,
                              [](int64_t stride) { return stride != 0; });
    if (access.strides.back() == 0)
      continue;
    if (!varies || access.strides.back() != 1 || access.alignment != 1 ||
        (row && row->strides != access.strides))
      return 0;
    row = &access;
    widest = std::max(widest, maxAccessBytes / access.elementBytes);
  }
  return row ? widest : 0;
}

int64_t getClusterSlice(int64_t extent, int64_t cluster, int64_t chunk) {
  int64_t least = divideCeil(extent, cluster);
  int64_t slice = PowerOf2Ceil(least);
  if (chunk == 0 || chunk >= slice || llvm::isPowerOf2_64(extent))
    return slice;
  return llvm::alignTo(least, chunk);
}

std::optional<ScheduleChoice> chooseSchedule(const ScheduleFacts &facts,
                                             const TargetDescription &target,
                                             const SchedulePins &pins,
                                             std::string &error) {
  if (pins.block && pins.block->size() != facts.axes.size()) {
    error = llvm::formatv("block has {0}, and the kernel has {1}",
                          plural(pins.block->size(), "size"),
                          facts.axes.size() == 1
                              ? std::string("1 parallel axis")
                              : std::to_string(facts.axes.size()) +
                                    " parallel axes");
    return std::nullopt;
  }
  std::optional<ScheduleChoice> best =
      Model(facts, target, pins, /*shift=*/0).choose(error);
  // Where registers don't hold all that is computed for one wide access,
  // narrower ones do.
  SchedulePins narrower = pins;
  for (int64_t vector = maxAccessBytes / 2;
       !best && !pins.vector && vector >= 1; vector /= 2) {
    narrower.vector = vector;
    best = Model(facts, target, narrower, /*shift=*/0).choose(error);
  }
  int64_t shift = pins.vector ? 0 : getShift(facts);
  if (shift == 0)
    return best;
  std::string ignored;
  std::optional<ScheduleChoice> shifted =
      Model(facts, target, pins, shift).choose(ignored);
  bool isBetter = shifted && (!best || shifted->nanoseconds <
                                           unalignedCost * best->nanoseconds);
  return isBetter ? shifted : best;
}

} // namespace deplo
