// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Memory.h"
#include "Stack.h"
#include "Text.h"

#include <algorithm>
#include <cstring>

using namespace deplo::emulator;

std::pair<Space, uint64_t> deplo::emulator::resolveGeneric(uint64_t address) {
  uint64_t tag = address >> spaceTagShift;
  uint64_t rest = address & ((uint64_t(1) << spaceTagShift) - 1);
  if (tag == sharedTag)
    return {Space::Shared, rest};
  if (tag == localTag)
    return {Space::Local, rest};
  return {Space::Global, address};
}

Block *deplo::emulator::sharedBlock(Warp &warp, uint64_t address) {
  uint64_t rank = address >> sharedRankShift;
  std::deque<Block> &blocks = warp.block->cluster->blocks;
  return rank < blocks.size() ? &blocks[rank] : nullptr;
}

//===----------------------------------------------------------------------===//
// Which bytes were written
//===----------------------------------------------------------------------===//

static uint64_t load(uint64_t word) { return word; }
static uint64_t load(const std::atomic<uint64_t> &word) {
  return word.load(std::memory_order_relaxed);
}

static void set(uint64_t &word, uint64_t ones) { word |= ones; }
static void set(std::atomic<uint64_t> &word, uint64_t ones) {
  word.fetch_or(ones, std::memory_order_relaxed);
}

template <typename Word>
static bool allSet(const std::vector<Word> &bits, uint64_t begin,
                   uint32_t count) {
  for (uint64_t i = begin; i < begin + count; ++i)
    if (!((load(bits[i / 64]) >> (i % 64)) & 1))
      return false;
  return true;
}

/// A run of up to 16 bytes is within two words.
template <typename Word>
static void setBits(std::vector<Word> &bits, uint64_t begin, uint32_t count) {
  for (uint64_t i = begin; i < begin + count;) {
    uint64_t inWord = std::min<uint64_t>(64 - i % 64, begin + count - i);
    uint64_t ones = inWord == 64 ? ~uint64_t(0) : (uint64_t(1) << inWord) - 1;
    set(bits[i / 64], ones << (i % 64));
    i += inWord;
  }
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

static const char *verb(const Access &access) {
  return access.isWrite ? "write" : "read";
}

/// Within one variable, or the dynamic part.
static bool isPlaced(const std::vector<Placement> &places, uint64_t begin,
                     uint32_t bytes) {
  for (const Placement &place : places)
    if (begin >= place.begin && begin + bytes <= place.end)
      return true;
  return false;
}

static std::string describePlaces(const std::vector<Placement> &places,
                                  const char *space) {
  if (places.empty())
    return std::string("the kernel has no ") + space + " memory";
  std::string text = "there ";
  text += places.size() == 1 ? "is " : "are ";
  for (size_t i = 0; i < places.size(); ++i)
    text += (i ? ", " : "") + ("'" + places[i].name + "'") + " of " +
            std::to_string(places[i].end - places[i].begin) + " bytes";
  return text;
}

static uint8_t *accessShared(Warp &warp, const Inst &inst, unsigned lane,
                             uint64_t address, uint32_t bytes,
                             const Access &access) {
  constexpr uint64_t offsetMask = (uint64_t(1) << sharedRankShift) - 1;
  Block *block = sharedBlock(warp, address);
  uint64_t position = address & offsetMask;
  uint64_t offset = position - sharedBase;
  bool isInside = block && position >= sharedBase &&
                  offset + bytes <= block->shared.size() &&
                  isPlaced(warp.grid->sharedPlaces, offset, bytes);
  if (!isInside) {
    warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                std::string(verb(access)) + " of " + std::to_string(bytes) +
                    " bytes of shared memory; " +
                    (block ? describePlaces(warp.grid->sharedPlaces, "shared")
                           : "there is no such block in the cluster"));
    return nullptr;
  }
  if (block->isDone() && block != warp.block) {
    warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                "the shared memory is of a block that has ended; keep it "
                "alive with a cluster barrier");
    return nullptr;
  }
  if (warp.grid->checksUninitialized) {
    if (!access.isWrite && !access.mayBeUndefined &&
        !allSet(block->sharedWritten, offset, bytes)) {
      warp.failAt(Fault::Uninitialized, inst, int(lane), address,
                  "read of " + std::to_string(bytes) +
                      " bytes of shared memory that nothing wrote");
      return nullptr;
    }
    if (access.isWrite)
      setBits(block->sharedWritten, offset, bytes);
  }
  if (block->shadow)
    block->shadow->note(warp, inst, lane, offset, address, bytes,
                        block->shared.data() + offset, access);
  return block->shared.data() + offset;
}

static uint8_t *accessLocal(Warp &warp, const Inst &inst, unsigned lane,
                            uint64_t address, uint32_t bytes,
                            const Access &access) {
  auto [places, begin] = localPlaces(warp, address);
  if (!isPlaced(*places, address - begin, bytes)) {
    warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                std::string(verb(access)) + " of " + std::to_string(bytes) +
                    " bytes of local memory; " +
                    describePlaces(*places, "local"));
    return nullptr;
  }
  uint64_t offset = lane * warp.localStride + address;
  // What is read without having been written makes undefined registers: copies
  // of structures with padding do that.
  if (access.isWrite && warp.grid->checksUninitialized)
    for (uint64_t i = offset; i < offset + bytes; ++i)
      warp.localWritten[i] = true;
  return warp.local.data() + offset;
}

bool deplo::emulator::isLocalWritten(Warp &warp, unsigned lane,
                                     uint64_t address, uint32_t bytes) {
  uint64_t offset = lane * warp.localStride + address;
  for (uint64_t i = offset; i < offset + bytes; ++i)
    if (!warp.localWritten[i])
      return false;
  return true;
}

void deplo::emulator::forgetLocal(Warp &warp, unsigned lane, uint64_t address,
                                  uint32_t bytes) {
  uint64_t offset = lane * warp.localStride + address;
  for (uint64_t i = offset; i < offset + bytes; ++i)
    warp.localWritten[i] = false;
}

static const GlobalRegion *findRegion(Warp &warp, uint64_t address) {
  const std::vector<GlobalRegion> &regions = warp.grid->regions;
  if (warp.region < regions.size()) {
    const GlobalRegion &last = regions[warp.region];
    if (address >= last.begin && address < last.end)
      return &last;
  }
  auto next = std::upper_bound(regions.begin(), regions.end(), address,
                               [](uint64_t value, const GlobalRegion &region) {
                                 return value < region.begin;
                               });
  if (next == regions.begin())
    return nullptr;
  --next;
  if (address >= next->end)
    return nullptr;
  warp.region = uint32_t(next - regions.begin());
  return &*next;
}

/// "12 bytes after 'x' (256 bytes)".
static std::string describeNearest(Warp &warp, uint64_t address) {
  const GlobalRegion *nearest = nullptr;
  uint64_t best = ~uint64_t(0);
  std::string where;
  for (const GlobalRegion &region : warp.grid->regions) {
    uint64_t distance =
        address < region.begin ? region.begin - address : address - region.end;
    if (address >= region.begin && address < region.end)
      distance = 0;
    if (distance >= best)
      continue;
    best = distance;
    nearest = &region;
  }
  if (!nearest)
    return "the kernel was given no memory";
  if (best > (uint64_t(1) << 40))
    return "no memory is near it";
  std::string of = "'" + nearest->name + "' (" +
                   std::to_string(nearest->end - nearest->begin) + " bytes)";
  if (best == 0 && address >= nearest->begin && address < nearest->end)
    return "it begins " + std::to_string(address - nearest->begin) +
           " bytes into " + of + " and ends past it";
  return "it is " + std::to_string(best) + " bytes " +
         (address < nearest->begin ? "before " : "past the end of ") + of;
}

static uint8_t *accessGlobal(Warp &warp, const Inst &inst, unsigned lane,
                             uint64_t address, uint32_t bytes,
                             const Access &access) {
  const GlobalRegion *region = findRegion(warp, address);
  if (!region || address + bytes > region->end) {
    warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                std::string(verb(access)) + " of " + std::to_string(bytes) +
                    " bytes of global memory; " +
                    describeNearest(warp, address));
    return nullptr;
  }
  if (!((warp.mayUseGlobal >> lane) & 1) && !region->isFixed)
    warp.report(Fault::Race, inst, int(lane), address,
                std::string(verb(access)) + " of '" + region->name +
                    "' before griddepcontrol.wait: grids that this one "
                    "depends on may still run");
  if (access.isWrite && !region->isWritable) {
    warp.failAt(Fault::ReadOnly, inst, int(lane), address,
                "write to '" + region->name + "', which can only be read");
    return nullptr;
  }
  uint64_t offset = address - region->begin;
  if (region->written) {
    if (access.isWrite) {
      setBits(*region->written, offset, bytes);
    } else if (!access.mayBeUndefined &&
               !allSet(*region->written, offset, bytes)) {
      warp.failAt(Fault::Uninitialized, inst, int(lane), address,
                  "read of " + std::to_string(bytes) + " bytes of '" +
                      region->name + "' that nothing wrote, " +
                      std::to_string(offset) + " bytes into it");
      return nullptr;
    }
  }
  if (region->shadow)
    region->shadow->note(warp, inst, lane, offset + region->begin % maxGranule,
                         address, bytes, reinterpret_cast<uint8_t *>(address),
                         access);
  return reinterpret_cast<uint8_t *>(address);
}

uint8_t *deplo::emulator::accessMemory(Warp &warp, const Inst &inst,
                                       unsigned lane, Space space,
                                       uint64_t address, uint32_t bytes,
                                       const Access &access,
                                       uint32_t alignment) {
  if (space == Space::Generic)
    std::tie(space, address) = resolveGeneric(address);
  if (address & (alignment - 1)) {
    warp.failAt(Fault::Misaligned, inst, int(lane), address,
                std::string(verb(access)) + " of " + std::to_string(bytes) +
                    " bytes must be aligned to " + std::to_string(alignment));
    return nullptr;
  }
  switch (space) {
  case Space::Shared:
    return accessShared(warp, inst, lane, address, bytes, access);
  case Space::Local:
    return accessLocal(warp, inst, lane, address, bytes, access);
  default:
    return accessGlobal(warp, inst, lane, address, bytes, access);
  }
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

InstCounters &deplo::emulator::countersOf(Warp &warp, const Inst &inst) {
  const Inst *first = warp.grid->kernel->code.data();
  return warp.block->cluster->worker->counters[size_t(&inst - first)];
}

/// Wide accesses are served by halves or quarters of a warp: so many lanes
/// that 128 bytes can be moved at once.
uint32_t deplo::emulator::sharedWavefronts(uint32_t mask,
                                           const uint64_t *addresses,
                                           uint32_t bytes) {
  constexpr unsigned banks = 32;
  uint32_t words = std::max(bytes / 4, 1u);
  unsigned lanesAtOnce = lanesPerWarp / std::min(words, 4u);
  uint32_t total = 0;
  for (unsigned first = 0; first < lanesPerWarp; first += lanesAtOnce) {
    uint64_t seen[banks][lanesPerWarp];
    uint32_t counts[banks] = {};
    uint32_t most = 0;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane) {
      if (!((mask >> lane) & 1))
        continue;
      for (uint32_t w = 0; w < words; ++w) {
        uint64_t word = addresses[lane] / 4 + w;
        uint32_t bank = uint32_t(word % banks);
        bool isNew = true;
        for (uint32_t i = 0; i < counts[bank]; ++i)
          isNew &= seen[bank][i] != word;
        if (!isNew || counts[bank] >= lanesPerWarp)
          continue;
        seen[bank][counts[bank]++] = word;
        most = std::max(most, counts[bank]);
      }
    }
    total += most;
  }
  return total;
}

static uint32_t countSectors(uint32_t mask, const uint64_t *addresses,
                             uint32_t bytes) {
  constexpr uint64_t sectorBytes = 32;
  uint64_t sectors[lanesPerWarp * 2];
  unsigned count = 0;
  forLanes(mask, [&](unsigned lane) {
    uint64_t first = addresses[lane] / sectorBytes;
    uint64_t last = (addresses[lane] + bytes - 1) / sectorBytes;
    for (uint64_t sector = first; sector <= last; ++sector)
      if (count == 0 || sectors[count - 1] != sector)
        if (count < lanesPerWarp * 2)
          sectors[count++] = sector;
  });
  std::sort(sectors, sectors + count);
  return uint32_t(std::unique(sectors, sectors + count) - sectors);
}

void deplo::emulator::countWavefronts(Warp &warp, const Inst &inst,
                                      uint32_t mask, const uint64_t *addresses,
                                      uint32_t bytes) {
  InstCounters &counters = countersOf(warp, inst);
  uint32_t wavefronts = sharedWavefronts(mask, addresses, bytes);
  counters.wavefronts += wavefronts;
  counters.maxWavefronts = std::max(counters.maxWavefronts, wavefronts);
  uint32_t lanesAtOnce = lanesPerWarp / std::clamp(bytes / 4, 1u, 4u);
  for (unsigned first = 0; first < lanesPerWarp; first += lanesAtOnce) {
    uint32_t part =
        lanesAtOnce == 32 ? allLanes : ((1u << lanesAtOnce) - 1) << first;
    counters.idealWavefronts += (mask & part) != 0;
  }
}

void deplo::emulator::countAccess(Warp &warp, const Inst &inst, Space space,
                                  uint32_t mask, const uint64_t *addresses,
                                  uint32_t bytes) {
  if (mask == 0)
    return;
  InstCounters &counters = countersOf(warp, inst);
  ++counters.requests;
  counters.bytes += uint64_t(popcount(mask)) * bytes;
  uint64_t generic[lanesPerWarp];
  if (space == Space::Generic) {
    space = resolveGeneric(addresses[firstLane(mask)]).first;
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
      generic[lane] = resolveGeneric(addresses[lane]).second;
    addresses = generic;
  }
  if (space == Space::Shared) {
    countWavefronts(warp, inst, mask, addresses, bytes);
  } else if (space == Space::Global || space == Space::Const) {
    counters.sectors += countSectors(mask, addresses, bytes);
  }
}
