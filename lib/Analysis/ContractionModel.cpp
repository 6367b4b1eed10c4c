// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ContractionModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace deplo {

static constexpr int64_t lanes = 32;
static constexpr int64_t vectorBytes = 16;
static constexpr int64_t lineBytes = 128;

// Fitted to 1700 measured schedules of 58 products (H200).
/// The part of the peak that a multiprocessor reaches with any number of warps,
/// and with how many sums of all threads of a lane's number half of that.
static constexpr double reachedPeak = 0.95;
static constexpr double halfOfSums = 20;
/// How even the warps of four partitions have to be before it shows.
static constexpr double evenEnough = 0.8;
/// Between the last multiply-add of a chunk and the first of the next one, for
/// one warp that has the multiprocessor to itself; others work meanwhile.
static constexpr double chunkNanoseconds = 400;
/// From a copy of a chunk to its arrival, mostly from L2.
static constexpr double copyNanoseconds = 200;
/// What reads along the sum cost, of one operand and of both: a thread holds so
/// many values that it reads few ahead, and their registers are of one bank.
static constexpr double alongDepthCost[] = {0, 0.07, 0.16};
/// What a copy of a single element costs, in multiply-adds.
static constexpr double transposedCost = 14;
/// What chunks of lines cost, compared with those of half as many elements,
/// where a thread reads one summed element at once.
static constexpr double longChunkCost = 0.1;
/// What totals that are kept in shared memory cost.
static constexpr double totalsCost = 0.04;
/// How much longer a block takes if there is no room for another one that works
/// while it waits at its barriers, or schedulers have one warp each.
static constexpr double aloneCost = 1.1;
/// What runs of less than a line of memory cost, compared with lines.
static constexpr double shortRunCost = 1.15;
/// How much of the lesser of computing and fetching isn't hidden.
static constexpr double notHidden = 0.375;
/// The part of the memory bandwidth on the data sheet that streams reach.
static constexpr double reachedBandwidth = 0.9;

bool sumsInTwoLevels(int64_t depth, int64_t elementBytes) {
  // An error of 1e-6 of random data: docs/rationale/contractions.md, "Sums over
  // two levels".
  constexpr int64_t mostSerialTerms = 1024;
  return elementBytes >= 4 && depth > mostSerialTerms;
}

int64_t getContractionRegisters(int64_t sums, int64_t operands) {
  constexpr int64_t forAddresses = 40;
  return llvm::alignTo(sums + operands + forAddresses, 8);
}

int64_t ContractionFacts::getTotalBytes(int64_t blockRows,
                                        int64_t blockColumns) const {
  constexpr int64_t bytesOfF32 = 4, padOfPieces = 8;
  int64_t pad = inPieces ? padOfPieces : 0;
  return inTwoLevels ? blockRows * (blockColumns + pad) * sums * bytesOfF32 : 0;
}

double ContractionFacts::getComputeNanoseconds(const TargetDescription &target,
                                               int64_t blockRows,
                                               int64_t blockColumns) const {
  // Shared memory serves as many bytes in a cycle as the pipes do operations.
  auto getCycles = [&](const OperandFacts &operands) {
    return operands.operations + operands.bytesComputedFrom +
           double(operands.computed) * elementBytes;
  };
  return (blockRows * getCycles(ofRows) + blockColumns * getCycles(ofColumns)) *
         2e9 * target.multiprocessors / target.f32FlopsPerSecond;
}

int64_t ContractionFacts::getPinnedColumns(int64_t pin) const {
  constexpr int64_t least = 16;
  if (pin != 0 || !foldsRows)
    return pin;
  return std::max<int64_t>(llvm::PowerOf2Ceil(columns), least);
}

std::optional<std::string> ContractionFacts::checkColumns() const {
  if (!foldsRows || columns <= longestTile)
    return std::nullopt;
  return llvm::formatv(
             "a block folds rows of {0} columns, and has {1} at most; "
             "run deplo-split-matmul-k first",
             columns, longestTile)
      .str();
}

/// Of a chunk, or in a block or thread: what all operands have.
static int64_t getLines(const ContractionFacts &facts, int64_t rows,
                        int64_t columns) {
  return rows * facts.ofRows.count + columns * facts.ofColumns.count;
}

/// Whether a multiprocessor can run `choice`; if so, fills in how many blocks
/// of it.
static bool fits(ContractionChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = choice.warps * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  // One summed element of an operand, or all that a thread reads at once.
  bool isAlong = !choice.isTransposed;
  int64_t ofLhs = isAlong && facts.isLhsAlongDepth ? choice.vector : 1;
  int64_t ofRhs = isAlong && facts.isRhsAlongDepth ? choice.vector : 1;
  choice.registersPerThread = getContractionRegisters(
      choice.threadRows * choice.threadColumns * facts.sums,
      getLines(facts, choice.threadRows * ofLhs, choice.threadColumns * ofRhs) +
          facts.getGatheredRegisters(choice.blockRows, choice.blockColumns,
                                     choice.chunk, threads));
  // Rows of a chunk, those along what is summed over, or transposed, padded by
  // a vector.
  auto getRows = [&](bool isAlongDepth, int64_t lines) {
    return !isAlongDepth ? 0 : isAlong ? lines : choice.chunk;
  };
  choice.sharedBytes =
      (facts.getCopiedBytes(choice.blockRows, choice.blockColumns) *
           choice.chunk +
       getLines(facts, getRows(facts.isLhsAlongDepth, choice.blockRows),
                getRows(facts.isRhsAlongDepth, choice.blockColumns)) *
           vectorBytes) *
          choice.stages +
      facts.getComputedBytes(choice.blockRows, choice.blockColumns) *
          choice.chunk +
      facts.getTotalBytes(choice.blockRows, choice.blockColumns);
  if (choice.registersPerThread > target.registersPerThread ||
      choice.sharedBytes > target.sharedPerBlock)
    return false;
  choice.blocksPerMultiprocessor = countResidentBlocks(
      target, choice.warps, choice.registersPerThread, choice.sharedBytes);
  return choice.blocksPerMultiprocessor > 0;
}

/// What multiply-adds take longer than their number says, and copies with them.
static double getReadCost(const ContractionChoice &choice,
                          const ContractionFacts &facts) {
  if (choice.isTransposed)
    return transposedCost *
           (facts.isLhsAlongDepth * double(facts.ofRows.count) /
                choice.blockColumns +
            facts.isRhsAlongDepth * double(facts.ofColumns.count) /
                choice.blockRows);
  return alongDepthCost[facts.isLhsAlongDepth + facts.isRhsAlongDepth];
}

/// What all blocks take. A chunk waits for its copies unless other blocks, or
/// chunks that are there already, have work.
static double estimate(ContractionChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks = facts.batches *
                  int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
                  int64_t(llvm::divideCeil(facts.columns, choice.blockColumns));
  double multiplyAddsPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors;
  double depth = llvm::alignTo(facts.depth, choice.chunk);
  double chunks = depth / choice.chunk;
  double arithmetic = double(choice.blockRows) * choice.blockColumns *
                      facts.sums * depth / multiplyAddsPerNanosecond;
  // A thread reads rows + columns words for rows * columns multiply-adds, and
  // shared memory serves a quarter as many words as the pipes multiply.
  double sums = choice.threadRows * choice.threadColumns * facts.sums;
  double reads =
      4.0 * getLines(facts, choice.threadRows, choice.threadColumns) / sums;
  constexpr int64_t resultBytes = 4;
  double run = choice.chunk * facts.elementBytes < lineBytes ? shortRunCost : 1;
  auto getLoaded = [&](int64_t rows, int64_t columns) {
    return facts.getCopiedBytes(rows, 0) * (facts.isLhsAlongDepth ? run : 1) +
           facts.getCopiedBytes(0, columns) * (facts.isRhsAlongDepth ? run : 1);
  };
  double bytesPerNanosecond = target.dramBytesPerSecond / 1e9;
  double fill = (getLoaded(choice.blockRows, choice.blockColumns) * depth +
                 double(choice.blockRows) * choice.blockColumns * resultBytes) /
                (bytesPerNanosecond / target.multiprocessors);
  bool readsAlong =
      !choice.isTransposed && (facts.isLhsAlongDepth || facts.isRhsAlongDepth);
  bool isLong = choice.chunk > choice.vector * choice.unroll;
  double cost = 1 + getReadCost(choice, facts) +
                (isLong && !readsAlong ? longChunkCost : 0) +
                (facts.inTwoLevels ? totalsCost : 0);
  double work = arithmetic * std::max(1.0, reads) / reachedPeak * cost +
                depth * facts.getComputeNanoseconds(target, choice.blockRows,
                                                    choice.blockColumns);
  double perBlock = choice.stages > 1 ? std::max(work, fill) +
                                            std::min(work, fill) * notHidden
                                      : work + fill;

  int64_t perWave = choice.blocksPerMultiprocessor * target.multiprocessors;
  choice.waves = double(choice.blocks) / perWave;
  // The busiest multiprocessor begins a block as soon as one has ended, so that
  // as many as it has room for are under way to the end.
  double most = llvm::divideCeil(choice.blocks, target.multiprocessors);
  double atOnce = std::min<double>(most, choice.blocksPerMultiprocessor);
  double warps = atOnce * choice.warps;
  double busiestPartition = std::ceil(warps / schedulersPerMultiprocessor);
  double occupancy = std::min(
      warps * sums / (warps * sums + halfOfSums),
      warps / (busiestPartition * schedulersPerMultiprocessor) / evenEnough);
  double covered = (choice.stages * atOnce - 1) * perBlock / chunks;
  double stall =
      std::max(0.0, copyNanoseconds - covered) + chunkNanoseconds / warps;
  bool isAlone =
      choice.blocksPerMultiprocessor == 1 ||
      (atOnce == 1 && choice.warps <= int64_t(schedulersPerMultiprocessor));
  double alone = isAlone ? aloneCost : 1;
  double nanoseconds =
      (most * perBlock / occupancy +
       most / atOnce * (memoryLatencyNanoseconds + chunks * stall)) *
      alone;
  double bytes = facts.batches * depth * getLoaded(facts.rows, facts.columns);
  double streamed = bytes / (reachedBandwidth * bytesPerNanosecond);
  choice.limit = streamed > nanoseconds               ? "memory"
                 : fill > work                        ? "L2"
                 : chunks * stall > perBlock * atOnce ? "latency of copies"
                 : reads > 1                          ? "shared memory"
                                                      : "multiply-adds";
  return std::max(nanoseconds, streamed);
}

static std::string getReason(const ContractionChoice &choice,
                             const TargetDescription &target) {
  return llvm::formatv(
             "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each "
             "of {6} threads: {7} blocks, {8} on each of {9} multiprocessors "
             "at once, limited by {10}",
             choice.blockRows, choice.blockColumns, choice.chunk, choice.stages,
             choice.threadRows, choice.threadColumns, choice.warps * lanes,
             choice.blocks, choice.blocksPerMultiprocessor,
             target.multiprocessors, choice.limit)
      .str();
}

/// Whether chunks may be transposed. An element that is copied alone should
/// take part in many multiply-adds; with two sums, threads have tiles too small
/// to gain as much by wider reads. cp.async copies 4 bytes at least.
static std::vector<bool> getTranspositions(const ContractionChoice &choice,
                                           const ContractionFacts &facts,
                                           const ContractionPins &pins) {
  constexpr int64_t leastBytes = 4, leastMultiplyAdds = 80;
  if (pins.isTransposed)
    return {*pins.isTransposed};
  if (facts.isLhsAlongDepth && facts.isRhsAlongDepth &&
      facts.ofRows.computed + facts.ofColumns.computed == 0 &&
      facts.elementBytes >= leastBytes && facts.sums == 1 &&
      2 * choice.blockRows * choice.blockColumns >=
          leastMultiplyAdds * (choice.blockRows + choice.blockColumns))
    return {false, true};
  return {false};
}

std::optional<ContractionChoice>
chooseContraction(const ContractionFacts &facts,
                  const TargetDescription &target, const ContractionPins &pins,
                  std::string &error) {
  std::optional<ContractionChoice> best;
  if (auto reason = facts.checkColumns()) {
    error = *reason;
    return std::nullopt;
  }
  auto most = [](int64_t extent) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(extent), 16, longestTile);
  };
  // A row of a chunk is a line of memory, or half of one.
  int64_t mostChunk = std::min<int64_t>(llvm::PowerOf2Ceil(facts.depth),
                                        lineBytes / facts.elementBytes);
  ContractionChoice choice{};
  choice.unroll = pins.unroll ? pins.unroll : 4;
  auto considerTiles = [&](const std::vector<int64_t> &depths) {
    int64_t leastRows = std::min<int64_t>(llvm::PowerOf2Ceil(facts.rows), 16);
    for (int64_t blockRows :
         getPowers(leastRows, most(facts.rows), pins.blockRows))
      for (int64_t blockColumns :
           getPowers(16, most(facts.columns),
                     facts.getPinnedColumns(pins.blockColumns)))
        for (int64_t threadRows : getPowers(2, 8, pins.threadRows))
          for (int64_t threadColumns : getPowers(2, 8, pins.threadColumns))
            for (int64_t stages : depths) {
              choice.blockRows = blockRows;
              choice.blockColumns = blockColumns;
              choice.threadRows = threadRows;
              choice.threadColumns = threadColumns;
              choice.stages = stages;
              int64_t threads =
                  blockRows * blockColumns / (threadRows * threadColumns);
              choice.warps = pins.warps ? pins.warps
                                        : std::max<int64_t>(threads / lanes, 1);
              bool isWhole = threads >= lanes || pins.warps || pins.blockRows;
              // Warps say how many tiles of a thread there are.
              if (pins.warps && !pins.blockRows)
                isWhole = threads == pins.warps * lanes;
              for (bool isTransposed : getTranspositions(choice, facts, pins)) {
                choice.isTransposed = isTransposed;
                if (!isWhole || !fits(choice, facts, target))
                  continue;
                choice.nanoseconds = estimate(choice, facts, target);
                if (!best || choice.nanoseconds < best->nanoseconds)
                  best = choice;
              }
            }
  };
  auto considerChunk = [&](int64_t chunk) {
    choice.chunk = chunk;
    choice.vector =
        pins.vector ? pins.vector : std::min<int64_t>(vectorBytes / 4, chunk);
    // Two chunks are copied while one is added. A ring of all chunks would
    // leave no loop: straight code of that length takes more registers.
    int64_t stages = std::clamp<int64_t>(
        int64_t(llvm::divideCeil(facts.depth, chunk)) - 1, 1, 3);
    std::vector<int64_t> depths = {stages};
    if (pins.stages)
      depths = {pins.stages};
    else if (stages > 1)
      depths = {1, 2, stages}; // as few as hide the latency
    considerTiles(depths);
  };
  int64_t leastChunk =
      mostChunk * facts.elementBytes == lineBytes ? mostChunk / 2 : mostChunk;
  for (int64_t chunk : getPowers(leastChunk, mostChunk, pins.chunk))
    considerChunk(chunk);
  if (!best) {
    error = sayNoTileFits("contraction", target,
                          "smaller blocks, or larger ones of a thread");
    return std::nullopt;
  }
  best->reason = getReason(*best, target);
  return best;
}

} // namespace deplo
