// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates block shapes, warps and chunks, drops those that the hardware
// can't run, and estimates the time of each from four things: bytes from
// memory, the multiprocessor with the most blocks, instructions issued, and the
// latency of one block from first load to last store.

#include "deplo/Analysis/ScheduleModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using llvm::divideCeil;
using llvm::PowerOf2Ceil;

namespace deplo {

// Properties of the architecture family rather than of a product; choices
// depend on their ratios only. Latencies in nanoseconds are those of a GPU at
// 1.7 GHz.
static constexpr double cycle = 0.6;
static constexpr double memoryLatency = 700;
static constexpr double shuffleLatency = 25 * cycle;
static constexpr double arithmeticLatency = 4 * cycle;
static constexpr double barrierLatency = 20 * cycle;
/// What one more warp adds to an exchange between the warps of a block.
static constexpr double warpExchangeLatency = 2 * cycle;
static constexpr double blockDispatch = 5;
static constexpr int64_t schedulersPerMultiprocessor = 4;
/// A multiprocessor can draw several times its share of the memory bandwidth
/// when the others are idle.
static constexpr double bandwidthBurst = 3;
static constexpr int64_t maxAccessBytes = 16;
static constexpr int64_t sectorBytes = 32;
static constexpr int64_t lanes = 32;
static constexpr int64_t maxElementsPerThread = 32;
/// Addresses, loop counters and temporaries of one thread.
static constexpr int64_t baseRegisters = 24;

namespace {

class Model {
public:
  Model(const ScheduleFacts &facts, const TargetDescription &target,
        const SchedulePins &pins)
      : facts(facts), target(target), pins(pins), numAxes(facts.axes.size()) {
    for (int64_t extent : facts.axes)
      extents.push_back(std::max<int64_t>(extent, 1));
    for (const ScheduleInnerDim &dim : facts.inner)
      extents.push_back(std::max<int64_t>(dim.extent, 1));
    contiguous = findContiguousDim();
    vector = pins.vector ? *pins.vector : chooseVector();
  }

  std::optional<ScheduleChoice> choose(std::string &error);

private:
  size_t findContiguousDim() const;
  int64_t chooseVector() const;
  int64_t getBytes(const ScheduleAccess &access) const;
  int64_t getPaddedRow() const;
  std::vector<int64_t> shapeBlock(int64_t elements) const;
  void consider(ScheduleChoice candidate, std::optional<ScheduleChoice> &best,
                std::string &error) const;
  bool fits(ScheduleChoice &candidate, std::string &error) const;
  void estimate(ScheduleChoice &candidate) const;
  double estimateReduction(const ScheduleChoice &candidate) const;
  std::string explain(const ScheduleChoice &choice) const;

  bool isSpread(const ScheduleAccess &access) const {
    return access.strides[contiguous] != 0;
  }

  const ScheduleFacts &facts;
  const TargetDescription &target;
  const SchedulePins &pins;
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
  int64_t bytes = access.elementBytes;
  for (auto [stride, extent] : llvm::zip(access.strides, extents))
    if (stride != 0)
      bytes *= extent;
  return bytes;
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
                                  access.alignment,
                                  int64_t(1) << llvm::countr_zero(uint64_t(
                                      extents[contiguous]))});
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

/// Shapes a block of `elements` iterations of the axes: first a sector's worth
/// of every axis along which some access is contiguous, then the rest along the
/// contiguous axis and from the innermost axis outwards.
std::vector<int64_t> Model::shapeBlock(int64_t elements) const {
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
      if (access.strides[axis] == 1 && axis != contiguous)
        widest = std::max(widest, sectorBytes / access.elementBytes);
    if (widest)
      grow(axis, widest);
  }
  if (contiguous < numAxes)
    grow(contiguous, elements);
  for (size_t axis = numAxes; axis-- > 0;)
    grow(axis, elements);
  return block;
}

bool Model::fits(ScheduleChoice &candidate, std::string &error) const {
  int64_t threads = candidate.warps * lanes;
  int64_t row = candidate.chunk ? candidate.chunk : getPaddedRow();
  int64_t tile = row;
  for (int64_t size : candidate.block)
    tile *= size;
  candidate.elementsPerThread = std::max<int64_t>(divideCeil(tile, threads), 1);

  int64_t elementRegisters = 1;
  for (const ScheduleAccess &access : facts.accesses)
    elementRegisters = std::max(elementRegisters, access.elementBytes / 4);
  // Chunked reductions carry one more tile, the running one.
  int64_t tiles = facts.liveTiles + (candidate.chunk ? 1 : 0);
  candidate.registersPerThread =
      baseRegisters + 2 * int64_t(facts.accesses.size()) +
      tiles * candidate.elementsPerThread * elementRegisters;

  if (threads > target.threadsPerBlock) {
    error = llvm::formatv("{0} warps are {1} threads, and {2} runs at most {3} "
                          "in a block; use fewer warps",
                          candidate.warps, threads, target.chip,
                          target.threadsPerBlock);
    return false;
  }
  if (candidate.registersPerThread > target.registersPerThread ||
      candidate.registersPerThread * threads >
          target.registersPerMultiprocessor) {
    error = llvm::formatv(
        "a thread would hold {0} elements in about {1} registers; use more "
        "warps, a smaller block or a smaller chunk",
        candidate.elementsPerThread, candidate.registersPerThread);
    return false;
  }
  return true;
}

/// From the last load of a row to the result of its last reduction.
double Model::estimateReduction(const ScheduleChoice &candidate) const {
  if (facts.dependentReductions == 0)
    return 0;
  // Threads that share a row: along the inner dimensions, what the contiguous
  // axis leaves over.
  int64_t threads = candidate.warps * lanes;
  int64_t row = candidate.chunk ? candidate.chunk : getPaddedRow();
  int64_t rows = 1;
  for (int64_t size : candidate.block)
    rows *= size;
  int64_t rowThreads =
      contiguous < numAxes
          ? std::max<int64_t>(threads / std::max<int64_t>(rows / vector, 1), 1)
          : std::min(threads, std::max<int64_t>(row / vector, 1));
  int64_t rowsPerThread = std::max<int64_t>(rows * rowThreads / threads, 1);
  double inThread = candidate.elementsPerThread * arithmeticLatency;
  int64_t rowLanes = std::min(rowThreads, lanes);
  if (contiguous < numAxes)
    rowLanes = std::max<int64_t>(
        lanes / std::max<int64_t>(rows / vector, 1), 1);
  double shuffles = llvm::Log2_64(rowLanes) * shuffleLatency;
  double exchange = rowThreads > rowLanes
                        ? 2 * (barrierLatency +
                               candidate.warps * warpExchangeLatency)
                        : 0;
  return facts.dependentReductions *
         (inThread + rowsPerThread * (shuffles + exchange) / 2 +
          (shuffles + exchange) / 2);
}

void Model::estimate(ScheduleChoice &candidate) const {
  int64_t threads = candidate.warps * lanes;
  int64_t row = candidate.chunk ? candidate.chunk : getPaddedRow();
  double rowElements = 1;
  for (size_t dim = numAxes; dim < extents.size(); ++dim)
    rowElements *= extents[dim];
  double chunks = candidate.chunk ? std::ceil(rowElements / row) : 1;

  candidate.blocks = 1;
  for (auto [extent, size] : llvm::zip(extents, candidate.block))
    candidate.blocks *= divideCeil(extent, size);

  // Registers are handed out to a warp in units of 256.
  int64_t registers = llvm::alignTo(candidate.registersPerThread, 8) * threads;
  int64_t resident = std::min({target.blocksPerMultiprocessor,
                               target.warpsPerMultiprocessor / candidate.warps,
                               target.registersPerMultiprocessor / registers});
  candidate.blocksPerMultiprocessor = std::max<int64_t>(resident, 1);
  double busiest = divideCeil(candidate.blocks, target.multiprocessors);
  resident = std::min<int64_t>(candidate.blocksPerMultiprocessor, busiest);
  candidate.waves =
      double(candidate.blocks) /
      (target.multiprocessors * candidate.blocksPerMultiprocessor);

  // Traffic. A row in chunks is read once more by every later pass over it,
  // mostly from L2; runs shorter than a sector waste the rest of it.
  double passes = candidate.chunk ? 1 + 0.5 * facts.dependentReductions : 1;
  double traffic = 0, loadedPerElement = 0;
  for (const ScheduleAccess &access : facts.accesses) {
    double bytes = getBytes(access);
    double run = access.elementBytes;
    for (size_t dim = 0; dim < extents.size(); ++dim)
      if (access.strides[dim] == 1)
        run *= std::min<double>(extents[dim], dim < numAxes
                                                  ? candidate.block[dim]
                                                  : row);
    double waste = run < sectorBytes ? sectorBytes / run : 1;
    traffic += bytes * waste * (access.isStore ? 1 : passes);
    if (!access.isStore && isSpread(access))
      loadedPerElement += access.elementBytes;
  }
  double blockTraffic = traffic / candidate.blocks;

  double share = double(target.dramBytesPerSecond) / 1e9 /
                 target.multiprocessors; // bytes a nanosecond
  double inFlight = double(resident) * threads * candidate.unroll *
                    candidate.elementsPerThread * loadedPerElement;
  double need = share * memoryLatency;
  double memory = traffic / (share * target.multiprocessors);
  if (candidate.waves > 1 || chunks > 1)
    memory /= 1 - std::exp(-inFlight / need) + 1e-9;

  double reduction = estimateReduction(candidate);
  double loads = facts.inner.empty() ? 1 : (1 + facts.dependentReductions);
  double latency = memoryLatency + reduction;
  if (chunks > 1)
    latency += loads * (chunks / candidate.unroll) * memoryLatency / 2;
  double instructions = double(candidate.elementsPerThread) *
                        (facts.instructions + 1) * chunks;
  double issue = busiest * candidate.warps * instructions /
                 schedulersPerMultiprocessor * cycle;
  latency += instructions * std::max<double>(candidate.warps / 4.0, 1) * cycle;

  double rounds = std::max(busiest / resident - 1, 0.0);
  double multiprocessor =
      rounds * latency + busiest * blockTraffic / (share * bandwidthBurst);
  candidate.nanoseconds = target.launchNanoseconds + latency +
                          std::max({memory, multiprocessor, issue}) +
                          busiest * blockDispatch;

  candidate.bytesRead = candidate.bytesWritten = 0;
  for (const ScheduleAccess &access : facts.accesses)
    (access.isStore ? candidate.bytesWritten : candidate.bytesRead) +=
        getBytes(access);
}

void Model::consider(ScheduleChoice candidate,
                     std::optional<ScheduleChoice> &best,
                     std::string &error) const {
  candidate.vector = vector;
  if (!fits(candidate, error))
    return;
  int64_t accesses = std::max<int64_t>(candidate.elementsPerThread / vector, 1);
  candidate.unroll = pins.unroll      ? *pins.unroll
                     : candidate.chunk ? std::max<int64_t>(4 / accesses, 1)
                                       : 1;
  estimate(candidate);
  // A tie goes to fewer threads, which leave room for other work.
  if (!best || candidate.nanoseconds < best->nanoseconds * (1 - 1e-6))
    best = candidate;
}

std::optional<ScheduleChoice> Model::choose(std::string &error) {
  std::optional<ScheduleChoice> best;
  int64_t paddedRow = getPaddedRow();
  int64_t maxWarps = target.threadsPerBlock / lanes;
  int64_t iterations = 1;
  for (size_t axis = 0; axis < numAxes; ++axis)
    iterations *= PowerOf2Ceil(extents[axis]);

  std::vector<int64_t> chunks;
  if (pins.chunk) {
    chunks.push_back(*pins.chunk >= paddedRow ? 0 : *pins.chunk);
  } else {
    chunks.push_back(0);
    for (int64_t chunk = paddedRow / 2; chunk >= 1; chunk /= 2)
      chunks.push_back(chunk);
  }

  for (int64_t warps = 1; warps <= std::max(maxWarps, pins.warps.value_or(1));
       warps *= 2) {
    if (pins.warps && warps != *pins.warps)
      continue;
    for (int64_t chunk : chunks) {
      int64_t row = chunk ? chunk : paddedRow;
      for (int64_t rows = 1; rows <= iterations; rows *= 2) {
        ScheduleChoice candidate;
        candidate.warps = warps;
        candidate.chunk = chunk;
        if (pins.block) {
          candidate.block = *pins.block;
          consider(candidate, best, error);
          break;
        }
        int64_t elements = rows * row;
        bool isSmallest = rows == 1 && chunk == chunks.back();
        bool isLargest = rows == iterations && chunk == 0;
        // Idle threads, unless nothing is left to give them.
        if (elements < warps * lanes * vector && !isLargest)
          continue;
        if (elements > warps * lanes * maxElementsPerThread && !isSmallest)
          break;
        candidate.block = shapeBlock(rows);
        consider(candidate, best, error);
      }
    }
  }
  if (best)
    best->reason = explain(*best);
  return best;
}

static std::string plural(int64_t count, llvm::StringRef noun) {
  return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : "s");
}

std::string Model::explain(const ScheduleChoice &choice) const {
  std::string shape = llvm::join(
      llvm::map_range(choice.block, [](int64_t n) { return std::to_string(n); }),
      "x");
  std::string text;
  int64_t rows = 1;
  for (int64_t size : choice.block)
    rows *= size;
  if (facts.inner.empty()) {
    text = llvm::formatv("pointwise: {0} elements a block", shape);
  } else {
    int64_t row = 1;
    for (size_t dim = numAxes; dim < extents.size(); ++dim)
      row *= extents[dim];
    text = llvm::formatv("{0} of {1} a block", plural(rows, "row"), row);
    if (choice.chunk)
      text += llvm::formatv(" in chunks of {0}, as a row doesn't fit in "
                            "registers",
                            choice.chunk);
  }
  text += llvm::formatv(
      ", {0} with {1} a thread, {2} side by side; {3} on {4} multiprocessors",
      plural(choice.warps, "warp"),
      plural(choice.elementsPerThread, "element"), choice.vector,
      plural(choice.blocks, "block"), target.multiprocessors);
  return text;
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
  return Model(facts, target, pins).choose(error);
}

} // namespace deplo
