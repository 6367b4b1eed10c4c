// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

namespace deplo {

static constexpr int64_t lanes = 32, warpsPerGroup = 4;
static constexpr int64_t instructionRows = 64, leastColumns = 16,
                         mostColumns = 256;
/// Blocks of a cluster, of which larger ones wait longer for room.
static constexpr int64_t mostCluster = 4;
/// The longest swizzled row of an operand.
static constexpr int64_t rowBytes = 128;
/// Of shared memory, which a multiprocessor reads in a cycle.
static constexpr double lineBytes = 128;

/// Of a block's barriers, and what alignment takes.
static constexpr int64_t barrierBytes = 2048;

// Fitted to 1049 schedules of 46 bf16 products of 16 to 4096 rows, whose
// weights were not in L2, measured on an H200 (docs/rationale/contractions.md).

/// The part of the rate on the data sheet that short kernels reach.
static constexpr double reachedRate = 0.95;
/// From a copy's start to its bytes, if few are under way, and how much later
/// these come the longer L2 takes for a chunk of all blocks, at most.
static constexpr double copyNanoseconds = 716, laterShare = 2.16,
                        laterNanoseconds = 390;
/// What doesn't limit a chunk, and what doesn't limit a wave, count so much.
static constexpr double shareOfChunk = 0.1, shareOfWave = 0.29;
/// The first blocks start when those of the kernel before have left room for
/// them: this long if they take all of a multiprocessor.
static constexpr double startNanoseconds = 1290;
/// A block's start, its first copies and its last stores.
static constexpr double blockNanoseconds = 290;
/// What L2 gives all multiprocessors together, in times the bandwidth of
/// memory, and the part of that which streams reach.
static constexpr double fillBandwidth = 3.96, reachedBandwidth = 0.91;
/// Blocks of a cluster start together, and exchange results: what that takes
/// for each, and how many bytes a multiprocessor gets in a nanosecond.
static constexpr double exchangeNanoseconds = 77, exchangedBytes = 21.4;
/// What each further warpgroup adds to a chunk's time: a slot is free when the
/// last of them has read it.
static constexpr double shareOfGroup = 0.005;
/// Cycles until an instruction's sums can be added to, which narrow ones don't
/// fill, and the columns that tensor cores multiply in one.
static constexpr double cyclesOfChain = 40, columnsOfCycle = 2;
/// Copies are as early as they need to be if a ring is refilled in this part of
/// the time that it takes to read.
static constexpr double shareOfRefill = 0.74;
/// What copies to shared memory take of its time, in times that of reading as
/// many bytes.
static constexpr double costOfCopies = 0.55;
/// Blocks of a cluster are at different places of the sum, and clusters of one
/// column of tiles not at the same one for long: what doesn't stay in L2 is
/// read from memory by each further one, this part of it.
static constexpr double readAgain = 0.4, partOfL2 = 0.9;

/// Whether the instruction's M are columns of the result.
static bool isTransposed(const MmaChoice &choice) {
  return choice.blockRows / choice.warpRows % warpsPerGroup != 0;
}

/// Tiles that a block's columns are.
static int64_t countTiles(const MmaChoice &choice) {
  return llvm::popcount(uint64_t(choice.blockColumns));
}

/// Columns that a warp has of all of them.
static int64_t getColumnsOfWarp(const MmaChoice &choice) {
  return countTiles(choice) == 1 ? choice.warpColumns : choice.blockColumns;
}

static int64_t getCopiedBytes(const MmaChoice &choice,
                              const ContractionFacts &facts) {
  return facts.getCopiedBytes(choice.blockRows, choice.blockColumns) *
         choice.chunk;
}

/// What blocks of a cluster send each other: the f32 sums of a tile.
static int64_t getExchangedBytes(const MmaChoice &choice,
                                 const ContractionFacts &facts) {
  constexpr int64_t sumBytes = 4;
  return choice.cluster == 1
             ? 0
             : facts.sums * choice.blockRows * choice.blockColumns * sumBytes;
}

static bool fits(MmaChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = (choice.warps + warpsPerGroup) * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  choice.registersPerThread =
      facts.sums * choice.warpRows * getColumnsOfWarp(choice) / lanes +
      registersBesideSums;
  choice.sharedBytes = getCopiedBytes(choice, facts) * choice.stages +
                       barrierBytes + getExchangedBytes(choice, facts);
  choice.blocksPerMultiprocessor = countResidentRoles(
      target, choice.warps, choice.registersPerThread, choice.sharedBytes);
  return choice.sharedBytes <= target.sharedPerBlock &&
         choice.blocksPerMultiprocessor > 0;
}

/// What a warpgroup waits for in each step along the sum that has nothing to do
/// besides: for the sums of its narrow tiles.
static double getCyclesOfChains(int64_t columns) {
  double cycles = 0;
  for (int64_t tile : getTilesAlong(columns))
    cycles += std::max(0.0, cyclesOfChain - tile / columnsOfCycle);
  return cycles;
}

namespace {
struct ChunkTime {
  double nanoseconds;
  /// Which term says so.
  const char *limit;
  /// Whether copies are early.
  bool isEarly;
};
} // namespace

/// What a multiprocessor takes for a chunk of each of its `busiest` blocks
/// while `blocks` run: the slowest of instructions, what these read of shared
/// memory, and copies; each ring is refilled once in a latency.
static ChunkTime estimateChunk(const MmaChoice &choice,
                               const ContractionFacts &facts,
                               const TargetDescription &target, int64_t blocks,
                               int64_t busiest) {
  double multiplyAddsPerNanosecond = reachedRate * target.wgmmaFlopsPerSecond /
                                     2e9 / target.multiprocessors * 2 /
                                     facts.elementBytes;
  double cyclesPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors / lineBytes;
  double bandwidth = target.dramBytesPerSecond / 1e9;

  // Rows of the instruction are those that whole warpgroups share.
  double groups = double(choice.warps) / warpsPerGroup;
  double groupRows = choice.warpRows, groupColumns = getColumnsOfWarp(choice);
  if (isTransposed(choice))
    std::swap(groupRows, groupColumns);
  groupRows *= warpsPerGroup;
  double arithmetic = double(facts.sums) * busiest * choice.blockRows *
                      choice.blockColumns * choice.chunk /
                      multiplyAddsPerNanosecond;
  // Tiles of columns along the sum are one operand of an instruction.
  double instructions = facts.isRhsAlongDepth ? 1 : countTiles(choice);
  double readBytes =
      double(facts.sums) * groups *
      (groupRows * instructions + groupColumns * groupRows / instructionRows) *
      choice.chunk * facts.elementBytes;
  double reads = busiest *
                 (readBytes + costOfCopies * getCopiedBytes(choice, facts)) /
                 lineBytes / cyclesPerNanosecond;
  double fill =
      blocks * getCopiedBytes(choice, facts) / (fillBandwidth * bandwidth);
  double slowest = std::max({arithmetic, reads, fill});
  const char *limit = slowest == arithmetic ? "instructions"
                      : slowest == reads    ? "shared memory"
                                            : "L2";
  double work = slowest + (arithmetic + reads + fill - slowest) * shareOfChunk;
  work *= 1 + (groups - 1) * shareOfGroup;
  if (busiest * groups * groupRows == instructionRows && !facts.isRhsAlongDepth)
    work += getCyclesOfChains(choice.blockColumns) * choice.chunk /
            getMmaK(8 * facts.elementBytes) / cyclesPerNanosecond;
  double latency =
      copyNanoseconds + std::min(laterShare * fill, laterNanoseconds);
  double refill = latency / std::max<int64_t>(choice.stages - 1, 1);
  if (refill > work)
    return {refill, "latency of copies", /*isEarly=*/false};
  return {work, limit, refill <= shareOfRefill * work};
}

/// Multiprocessors that have blocks of clusters: those of a group, of which
/// there may be some too few for one more. On an H200 128 blocks in clusters of
/// four don't start together, 112 do: a group counts less.
static int64_t getUsable(const MmaChoice &choice,
                         const TargetDescription &target) {
  if (choice.cluster <= 2)
    return target.multiprocessors;
  int64_t ofGroup =
      llvm::alignDown(target.multiprocessorsPerGroup, choice.cluster);
  int64_t groups = target.multiprocessors / target.multiprocessorsPerGroup;
  return std::max<int64_t>(groups - 1, 1) * ofGroup;
}

/// Bytes that come from memory: of both operands, each of which several tiles
/// read.
static double getStreamedBytes(const MmaChoice &choice,
                               const ContractionFacts &facts,
                               const TargetDescription &target) {
  auto getBytes = [&](int64_t rows, int64_t columns, int64_t readers) {
    double bytes = double(facts.batches) * facts.depth *
                   facts.getCopiedBytes(rows, columns);
    bool isReadAgain = choice.cluster > 1 && bytes > partOfL2 * target.l2Bytes;
    return isReadAgain ? bytes * (1 + readAgain * (readers - 1)) : bytes;
  };
  return getBytes(facts.rows, 0,
                  llvm::divideCeil(facts.columns, choice.blockColumns)) +
         getBytes(0, facts.columns,
                  llvm::divideCeil(facts.rows, choice.blockRows));
}

/// Whether blocks stay for several tiles (persist_blocks): the copies of a tile
/// start while the one before it is stored. That takes shared memory for what
/// is stored, in pieces of 16 rows of a warp.
static bool keepsBlocks(const MmaChoice &choice, const ContractionFacts &facts,
                        const TargetDescription &target) {
  constexpr int64_t pieceBytes = 16 * rowBytes, mostSlots = 2;
  int64_t slots = 0;
  for (int64_t tile : getTilesAlong(getColumnsOfWarp(choice)))
    slots +=
        std::clamp<int64_t>(tile * facts.elementBytes / rowBytes, 1, mostSlots);
  int64_t bytes =
      choice.sharedBytes + facts.sums * choice.warps * slots * pieceBytes;
  return choice.waves > 1 && choice.cluster == 1 && !isTransposed(choice) &&
         llvm::isPowerOf2_64(choice.stages) && bytes <= target.sharedPerBlock &&
         countResidentRoles(target, choice.warps, choice.registersPerThread,
                            bytes) == choice.blocksPerMultiprocessor;
}

/// What all blocks take, wave after wave: chunks, or the bytes of the operands
/// from memory.
static double estimate(MmaChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks =
      facts.batches * int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
      int64_t(llvm::divideCeil(facts.columns, choice.blockColumns)) *
      choice.cluster;
  double chunks = llvm::divideCeil(facts.depth, choice.chunk) / choice.cluster;
  double bytes = getStreamedBytes(choice, facts, target);
  int64_t usable = getUsable(choice, target);
  int64_t perWave = choice.blocksPerMultiprocessor * usable;
  choice.waves = double(choice.blocks) / perWave;
  int64_t first = llvm::divideCeil(std::min(choice.blocks, perWave), usable);
  double nanoseconds =
      startNanoseconds * first / choice.blocksPerMultiprocessor;
  double exchange = choice.cluster == 1
                        ? 0
                        : exchangeNanoseconds * choice.cluster +
                              getExchangedBytes(choice, facts) / exchangedBytes;
  bool areKept = keepsBlocks(choice, facts, target);
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t waves = rest / wave;
    int64_t busiest = llvm::divideCeil(wave, usable);
    auto [ofChunk, limit, isEarly] =
        estimateChunk(choice, facts, target, wave, busiest);
    double computed = chunks * ofChunk;
    double streamed = bytes * wave / choice.blocks /
                      (reachedBandwidth * target.dramBytesPerSecond / 1e9);
    if (rest == choice.blocks) {
      choice.limit = streamed > computed ? "memory" : limit;
      choice.copiesEarly = isEarly;
    }
    int64_t starts = !areKept ? waves : rest == choice.blocks ? 1 : 0;
    nanoseconds +=
        waves * (std::max(computed, streamed) +
                 std::min(computed, streamed) * shareOfWave + exchange) +
        starts * blockNanoseconds;
    rest -= waves * wave;
  }
  return nanoseconds;
}

/// Whether blocks of a cluster can share chunks, and then the sums, of which a
/// thread has a part of each.
static bool canShare(const MmaChoice &choice, const ContractionFacts &facts) {
  constexpr int64_t leastSlice = 8;
  if (choice.cluster == 1)
    return true;
  bool transposed = isTransposed(choice);
  int64_t columns = transposed ? choice.blockRows : choice.blockColumns;
  int64_t ofWarp = transposed ? choice.warpRows : choice.warpColumns;
  int64_t slice = columns / choice.cluster;
  return facts.sums == 1 && ofWarp == columns && slice >= leastSlice &&
         facts.depth % (choice.chunk * choice.cluster) == 0 &&
         facts.depth / choice.cluster % slice == 0;
}

std::vector<int64_t> getTilesAlong(int64_t size) {
  std::vector<int64_t> tiles;
  for (; size > 0; size -= tiles.back())
    tiles.push_back(llvm::bit_floor<uint64_t>(size));
  return tiles;
}

/// Whether operands are read from memory again if blocks are at different
/// places of the sum. Slots that save no time let them run ahead of one
/// another.
static bool exceedL2(const ContractionFacts &facts,
                     const TargetDescription &target) {
  return double(facts.batches) * facts.depth *
             facts.getCopiedBytes(facts.rows, facts.columns) >
         partOfL2 * target.l2Bytes;
}

/// Whether they differ in what is under way at once alone.
static bool isSameTile(const MmaChoice &a, const MmaChoice &b) {
  auto getTile = [](const MmaChoice &choice) {
    return std::tuple(choice.blockRows, choice.blockColumns, choice.warpRows,
                      choice.warpColumns, choice.cluster);
  };
  return getTile(a) == getTile(b);
}

std::optional<MmaChoice> chooseWgmma(const ContractionFacts &facts,
                                     const TargetDescription &target,
                                     const MmaPins &pins, std::string &error) {
  if (auto reason = facts.checkColumns()) {
    error = *reason;
    return std::nullopt;
  }
  int64_t depth = getMmaK(8 * facts.elementBytes);
  int64_t chunk =
      pins.chunk ? pins.chunk
                 : std::clamp<int64_t>(llvm::PowerOf2Ceil(facts.depth), depth,
                                       rowBytes / facts.elementBytes);
  int64_t widest = std::clamp<int64_t>(llvm::PowerOf2Ceil(facts.columns),
                                       leastColumns, mostColumns);
  int64_t chunks = std::max<int64_t>(llvm::divideCeil(facts.depth, chunk), 1);
  std::optional<MmaChoice> best;
  MmaChoice choice{};
  choice.chunk = chunk;
  auto consider = [&] {
    int64_t rowWarps = choice.blockRows / choice.warpRows;
    choice.warps = rowWarps * (choice.blockColumns / choice.warpColumns);
    // Warpgroups begin at whole swizzles of what lies along rows.
    int64_t ofGroup = isTransposed(choice) ? warpsPerGroup : 1;
    auto isAligned = [&](bool isAlongDepth, int64_t size, int64_t all) {
      return isAlongDepth || size == all ||
             size * facts.elementBytes % rowBytes == 0;
    };
    int64_t widest =
        isTransposed(choice) ? choice.warpRows : choice.warpColumns;
    bool isWhole =
        choice.warps > 0 && llvm::isPowerOf2_64(choice.warps) &&
        llvm::isPowerOf2_64(choice.blockRows) &&
        (countTiles(choice) == 1 ||
         (!isTransposed(choice) &&
          choice.warpColumns ==
              int64_t(llvm::bit_floor<uint64_t>(choice.blockColumns)))) &&
        isAligned(facts.isRhsAlongDepth, choice.warpColumns * ofGroup,
                  choice.blockColumns) &&
        isAligned(facts.isLhsAlongDepth,
                  choice.warpRows * warpsPerGroup / ofGroup,
                  choice.blockRows) &&
        choice.warps % warpsPerGroup == 0 && canShare(choice, facts) &&
        chunk % depth == 0 && chunk * facts.elementBytes <= rowBytes &&
        (pins.warps == 0 || choice.warps == pins.warps) &&
        widest <= mostColumns;
    if (isTransposed(choice))
      isWhole &= choice.blockColumns / choice.warpColumns % warpsPerGroup == 0;
    if (!isWhole || !fits(choice, facts, target))
      return;
    choice.nanoseconds =
        estimateRange(facts, [&](const ContractionFacts &ofCall) {
          return estimate(choice, ofCall, target);
        });
    bool isQuicker = !best || choice.nanoseconds < best->nanoseconds;
    if (isQuicker ||
        (choice.nanoseconds == best->nanoseconds && choice.copiesEarly &&
         isSameTile(choice, *best) && exceedL2(facts, target)))
      best = choice;
  };
  auto considerTile = [&](int64_t blockRows, int64_t blockColumns,
                          int64_t warpRows, int64_t warpColumns) {
    choice.blockRows = blockRows;
    choice.blockColumns = blockColumns;
    choice.warpRows = warpRows;
    choice.warpColumns = warpColumns;
    for (int64_t stages : getNumbers({8, 7, 6, 5, 4, 3, 2}, pins.stages)) {
      choice.stages = stages;
      for (int64_t cluster : getPowers(1, mostCluster, pins.cluster)) {
        choice.cluster = cluster;
        if (pins.stages || stages <= std::max<int64_t>(chunks / cluster, 2))
          consider();
      }
    }
  };
  int64_t pinnedColumns = facts.getPinnedColumns(pins.blockColumns);
  std::vector<int64_t> widths = getPowers(leastColumns, widest, pinnedColumns);
  // Others are tiles of powers of two. What threads store in rows of odd
  // lengths takes addresses and masks, for which several tiles leave no
  // registers; and the tiles' chunks become one in a loop over several.
  constexpr int64_t unit = 16;
  if (!pinnedColumns && chunks > 1 &&
      facts.columns * facts.elementBytes % unit == 0)
    for (int64_t width = leastColumns; width < widest; width += leastColumns)
      if (!llvm::isPowerOf2_64(width))
        widths.push_back(width);
  for (int64_t blockRows : getPowers(instructionRows, 256, pins.blockRows))
    for (int64_t blockColumns : widths) {
      int64_t tile = llvm::bit_floor<uint64_t>(blockColumns);
      for (int64_t warpRows : getPowers(16, 32, pins.warpRows))
        for (int64_t warpColumns : getPowers(tile / 2, tile, pins.warpColumns))
          considerTile(blockRows, blockColumns, warpRows, warpColumns);
    }
  // Few rows are the instruction's N, of which there may be few.
  int64_t fewRows = std::max<int64_t>(
      llvm::PowerOf2Ceil(facts.mostRows ? facts.mostRows : facts.rows),
      leastColumns);
  if (fewRows < instructionRows)
    for (int64_t blockRows : getPowers(fewRows, fewRows, pins.blockRows))
      for (int64_t blockColumns :
           getPowers(instructionRows, 256, pins.blockColumns))
        for (int64_t warpRows : getPowers(blockRows, blockRows, pins.warpRows))
          for (int64_t warpColumns : getPowers(16, 32, pins.warpColumns))
            considerTile(blockRows, blockColumns, warpRows, warpColumns);
  if (!best) {
    error = sayNoTileFits("contraction by wgmma", target,
                          "smaller blocks or fewer stages");
    return std::nullopt;
  }
  best->reason =
      llvm::formatv(
          "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each of "
          "{6} warps by wgmma: {7} blocks{8} on {9} multiprocessors, limited "
          "by {10}",
          best->blockRows, best->blockColumns, best->chunk, best->stages,
          best->warpRows, best->warpColumns, best->warps, best->blocks,
          best->cluster == 1
              ? std::string()
              : " in clusters of " + std::to_string(best->cluster) +
                    ", which share sums,",
          target.multiprocessors, best->limit)
          .str();
  return best;
}

} // namespace deplo
