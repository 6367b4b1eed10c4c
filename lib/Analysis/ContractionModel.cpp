// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ContractionModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

namespace deplo {

static constexpr int64_t lanes = 32;

/// The powers of two from `least` to `most`, or `pin` alone.
static std::vector<int64_t> getPowers(int64_t least, int64_t most,
                                      int64_t pin) {
  std::vector<int64_t> powers;
  for (int64_t power = least; power <= most; power *= 2)
    powers.push_back(power);
  return pin ? std::vector<int64_t>{pin} : powers;
}

/// Accumulators, one step of both operands, and what addresses and loops take.
static int64_t getRegisters(const ContractionChoice &choice) {
  constexpr int64_t forAddresses = 40;
  return choice.threadRows * choice.threadColumns +
         (choice.threadRows + choice.threadColumns) * choice.vector +
         forAddresses;
}

/// Whether a multiprocessor can run `choice`; if so, fills in how many blocks
/// of it.
static bool fits(ContractionChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = choice.warps * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  choice.registersPerThread = getRegisters(choice);
  choice.sharedBytes = (choice.blockRows + choice.blockColumns) * choice.chunk *
                       choice.stages * facts.elementBytes;
  if (choice.registersPerThread > target.registersPerThread ||
      choice.sharedBytes > target.sharedPerBlock)
    return false;
  choice.blocksPerMultiprocessor =
      std::min({target.blocksPerMultiprocessor,
                target.warpsPerMultiprocessor / choice.warps,
                target.registersPerMultiprocessor /
                    (choice.registersPerThread * threads),
                target.sharedPerMultiprocessor /
                    std::max<int64_t>(choice.sharedBytes, 1)});
  return choice.blocksPerMultiprocessor > 0;
}

/// What all blocks take, one wave after the other. A chunk waits for memory
/// unless other blocks, or chunks that are there already, have work.
static double estimate(ContractionChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks = facts.batches *
                  int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
                  int64_t(llvm::divideCeil(facts.columns, choice.blockColumns));
  double multiplyAddsPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors;
  double depth = llvm::alignTo(facts.depth, choice.chunk);
  double chunks = depth / choice.chunk;
  double arithmetic = double(choice.blockRows) * choice.blockColumns * depth /
                      multiplyAddsPerNanosecond;
  // A thread reads rows + columns words for rows * columns multiply-adds, and
  // shared memory serves a quarter as many words as the pipes multiply.
  double reads = 4.0 * (choice.threadRows + choice.threadColumns) /
                 (choice.threadRows * choice.threadColumns);
  // A multiprocessor fetches from L2 half a byte for each multiply-add.
  double fill = double(choice.blockRows + choice.blockColumns) * depth *
                facts.elementBytes / (multiplyAddsPerNanosecond / 2);
  double work = arithmetic * std::max(1.0, reads);
  double perBlock = choice.stages > 1 ? std::max(work, fill) : work + fill;
  constexpr double latency = 800;

  int64_t perWave = choice.blocksPerMultiprocessor * target.multiprocessors;
  choice.waves = double(choice.blocks) / perWave;
  double nanoseconds = 0;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t busiest = llvm::divideCeil(wave, target.multiprocessors);
    // Too few warps leave the pipes idle.
    double occupancy = std::min(1.0, busiest * choice.warps / 8.0);
    double covered = (choice.stages * busiest - 1) * perBlock / chunks;
    double stall = std::max(0.0, latency - covered);
    int64_t waves = std::max<int64_t>(rest / perWave, 1);
    nanoseconds +=
        waves * (busiest * perBlock / occupancy + latency + chunks * stall);
    rest -= waves * wave;
  }
  double bytes = double(facts.batches) * depth * facts.elementBytes *
                 (facts.rows + facts.columns);
  return std::max(nanoseconds, bytes / target.dramBytesPerSecond * 1e9);
}

static std::string getReason(const ContractionChoice &choice,
                             const TargetDescription &target) {
  return llvm::formatv(
             "blocks of {0}x{1} in chunks of {2}, {3}x{4} in each of {5} "
             "threads: {6} blocks, {7} on each of {8} multiprocessors at once",
             choice.blockRows, choice.blockColumns, choice.chunk,
             choice.threadRows, choice.threadColumns, choice.warps * lanes,
             choice.blocks, choice.blocksPerMultiprocessor,
             target.multiprocessors)
      .str();
}

std::optional<ContractionChoice>
chooseContraction(const ContractionFacts &facts,
                  const TargetDescription &target, const ContractionPins &pins,
                  std::string &error) {
  std::optional<ContractionChoice> best;
  auto most = [](int64_t extent) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(extent), 16, 128);
  };
  constexpr int64_t chunkBytes = 64, vectorBytes = 16;
  for (int64_t blockRows : getPowers(16, most(facts.rows), pins.blockRows))
    for (int64_t blockColumns :
         getPowers(16, most(facts.columns), pins.blockColumns))
      for (int64_t threadRows : getPowers(2, 8, pins.threadRows))
        for (int64_t threadColumns : getPowers(2, 8, pins.threadColumns)) {
          ContractionChoice choice{};
          choice.blockRows = blockRows;
          choice.blockColumns = blockColumns;
          choice.threadRows = threadRows;
          choice.threadColumns = threadColumns;
          int64_t threads =
              blockRows * blockColumns / (threadRows * threadColumns);
          choice.warps =
              pins.warps ? pins.warps : std::max<int64_t>(threads / lanes, 1);
          choice.chunk =
              pins.chunk
                  ? pins.chunk
                  : std::min<int64_t>(llvm::PowerOf2Ceil(facts.depth),
                                      2 * chunkBytes / facts.elementBytes);
          choice.vector =
              pins.vector ? pins.vector
                          : std::min<int64_t>(vectorBytes / 4, choice.chunk);
          choice.unroll = pins.unroll ? pins.unroll : 4;
          choice.stages = pins.stages ? pins.stages : 1;
          bool isWhole = threads >= lanes || pins.warps || pins.blockRows;
          if (!isWhole || !fits(choice, facts, target))
            continue;
          choice.nanoseconds = estimate(choice, facts, target);
          if (!best || choice.nanoseconds < best->nanoseconds)
            best = choice;
        }
  if (!best) {
    error = "no tile of a contraction that agrees with what is pinned fits " +
            target.chip + "; use smaller blocks, or larger ones of a thread";
    return std::nullopt;
  }
  best->reason = getReason(*best, target);
  return best;
}

} // namespace deplo
