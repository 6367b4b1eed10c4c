// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates block shapes, warps and chunks, drops those that the hardware
// can't run, and takes the one with the least estimated time.

#include "ScheduleModelImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using llvm::divideCeil;
using llvm::PowerOf2Ceil;

namespace deplo {

/// Rows in registers give way to rows in shared memory for less than this part
/// of their time.
static constexpr double worthStaging = 0.9;
/// Rows of one block give way to rows of several for less than this part.
static constexpr double worthCluster = 0.9;
/// The same for twice the blocks.
static constexpr double worthLargerCluster = 0.97;
/// How much longer a kernel takes whose accesses move single elements.
static constexpr double unalignedCost = 1.5;
/// Wide accesses give way to narrower ones, of which a thread needs more, for
/// less than this part.
static constexpr double worthNarrower = 0.97;
static constexpr int64_t maxElementsPerThread = 32;

void ScheduleModel::consider(ScheduleChoice candidate,
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
    constexpr double tie = 1e-6, tieOfScattered = 2e-3;
    bool isBetter =
        !best || candidate.nanoseconds < best->nanoseconds * (1 - tie);
    if (best && isScattered(candidate) && candidate.warps == best->warps &&
        std::abs(candidate.nanoseconds - best->nanoseconds) <
            tieOfScattered * best->nanoseconds)
      isBetter = candidate.registersPerThread < best->registersPerThread;
    if (isBetter)
      best = candidate;
  }
}

/// All blocks and warps for rows of which `chunk` elements (0: all) are on
/// chip, shared by up to `cluster` blocks.
void ScheduleModel::considerChunk(int64_t chunk, int64_t cluster,
                                  bool isSmallest,
                                  std::optional<ScheduleChoice> &best,
                                  std::string &error) const {
  int64_t iterations = 1;
  for (size_t axis = 0; axis < numAxes; ++axis)
    if (axis != facts.partAxis)
      iterations *= PowerOf2Ceil(extents[axis]);
  int64_t most = std::max(maxElementsPerThread, vector);
  int64_t maxWarps = target.threadsPerBlock / lanes;
  for (int64_t warps = pins.warps.value_or(1);
       warps <= pins.warps.value_or(maxWarps); warps *= 2) {
    // A row that needs several blocks is enough for them, if its elements are
    // neighbours.
    int64_t mostRows = cluster > 1 && !isAcrossRows() ? 1 : iterations;
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

std::optional<ScheduleChoice> ScheduleModel::choose(std::string &error) {
  return chooseShared(mayShareRows() ? pins.cluster.value_or(1) : 1, error);
}

std::optional<ScheduleChoice>
ScheduleModel::share(std::optional<ScheduleChoice> best) {
  if (!pins.cluster && mayShareRows())
    for (int64_t cluster = 2; cluster <= target.blocksPerCluster;
         cluster *= 2) {
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
  return best;
}

/// The best choice in which up to `cluster` blocks share a row.
std::optional<ScheduleChoice> ScheduleModel::chooseShared(int64_t cluster,
                                                          std::string &error) {
  if (cluster > target.blocksPerCluster) {
    error = llvm::formatv("{0} blocks are more than a cluster of {1} has, {2}; "
                          "use a smaller cluster",
                          cluster, target.chip, target.blocksPerCluster);
    return std::nullopt;
  }
  int64_t paddedRow = cluster == 1
                          ? getPaddedRow()
                          : getClusterSlice(extents.back(), cluster, 0);
  // Of a part, only the program that runs knows where it ends.
  std::vector<int64_t> chunks = {facts.partAxis ? paddedRow : 0};
  if (pins.chunk)
    chunks = {*pins.chunk >= paddedRow || *pins.chunk == 0 ? chunks.front()
                                                           : *pins.chunk};
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

std::string ScheduleModel::explain(const ScheduleChoice &choice) const {
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

/// A thread that has fewer rows side by side exchanges fewer values, so more
/// warps can share them and load from memory. The lanes of a warp still fill a
/// line.
static std::optional<ScheduleChoice>
chooseNarrower(const ScheduleFacts &facts, const TargetDescription &target,
               const SchedulePins &pins, std::optional<ScheduleChoice> best) {
  int64_t widest = 1;
  for (const ScheduleAccess &access : facts.accesses)
    widest = std::max(widest, access.elementBytes);
  SchedulePins narrower = pins;
  for (int64_t vector = best->vector / 2;
       vector >= 1 && vector * widest * lanes >= lineBytes; vector /= 2) {
    narrower.vector = vector;
    std::string ignored;
    std::optional<ScheduleChoice> next =
        ScheduleModel(facts, target, narrower, /*shift=*/0).choose(ignored);
    if (next && next->nanoseconds < worthNarrower * best->nanoseconds)
      best = next;
  }
  return best;
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
  if (pins.block && facts.partAxis && (*pins.block)[*facts.partAxis] != 1) {
    error = llvm::formatv("block has {0} parts of a reduction, and a block "
                          "folds one; give 1 for that axis",
                          (*pins.block)[*facts.partAxis]);
    return std::nullopt;
  }
  ScheduleModel model(facts, target, pins, /*shift=*/0);
  std::optional<ScheduleChoice> best = model.choose(error);
  if (best && !pins.vector && model.isAcrossRows() &&
      model.getExchangedValues(*best) != 0 && !model.isInL2())
    best = chooseNarrower(facts, target, pins, std::move(best));
  best = model.share(std::move(best));
  // Where registers don't hold all that is computed for one wide access,
  // narrower ones do.
  SchedulePins narrower = pins;
  for (int64_t vector = maxAccessBytes / 2;
       !best && !pins.vector && vector >= 1; vector /= 2) {
    narrower.vector = vector;
    ScheduleModel model(facts, target, narrower, /*shift=*/0);
    best = model.share(model.choose(error));
  }
  int64_t shift = pins.vector ? 0 : getShift(facts);
  if (shift != 0) {
    std::string ignored;
    std::optional<ScheduleChoice> shifted =
        ScheduleModel(facts, target, pins, shift).choose(ignored);
    if (shifted &&
        (!best || shifted->nanoseconds < unalignedCost * best->nanoseconds))
      best = shifted;
  }
  if (best)
    best->reason = model.explain(*best);
  return best;
}

} // namespace deplo
