// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of tensors.

#include "BulkCopies.h"
#include "Lanes.h"

#include "deplo/Emulator/TensorMap.h"

#include <algorithm>

using namespace deplo::emulator;
using deplo::runtime::Result;

namespace {

struct Box {
  TensorMap map;
  std::array<int64_t, 5> origin = {};
  uint32_t elementBytes = 0;
};

/// Positions of the box along a dimension: the innermost has no steps.
uint32_t boxExtent(const TensorMap &map, unsigned axis) {
  if (axis == 0)
    return map.box[0];
  uint32_t step = map.elementStrides[axis];
  return (map.box[axis] + step - 1) / step;
}

/// Where row `index` of the box is; nullopt outside the tensor.
std::optional<uint64_t> rowAddress(const Box &box,
                                   const std::array<uint32_t, 5> &index) {
  uint64_t address = box.map.address;
  for (unsigned i = 1; i < box.map.rank; ++i) {
    int64_t at = box.origin[i] + int64_t(index[i]) * box.map.elementStrides[i];
    if (at < 0 || uint64_t(at) >= box.map.extents[i])
      return std::nullopt;
    address += uint64_t(at) * box.map.strides[i - 1];
  }
  return address;
}

/// What lies outside the tensor: the GPU's NaN is the same 16 bits for all.
uint64_t fillOf(const TensorMap &map) {
  return map.fillsNan ? 0x7ff77ff77ff77ff7 : 0;
}

Type typeOf(TensorElement element) {
  static constexpr Type types[] = {Type::U8,  Type::U16,  Type::U32, Type::S32,
                                   Type::U64, Type::S64,  Type::F16, Type::F32,
                                   Type::F64, Type::BF16, Type::F32, Type::F32,
                                   Type::F32};
  return types[size_t(element)];
}

/// As a load into shared memory leaves an element of a map of tf32: rounded to
/// the nearest, of two that are as near to the even one, NaNs all alike.
uint32_t roundToTF32(uint32_t bits) {
  constexpr uint32_t magnitude = 0x7fffffff, infinity = 0x7f800000;
  constexpr uint32_t nan = 0x7fffe000, dropped = 13;
  if ((bits & magnitude) > infinity)
    return nan;
  const uint32_t half = (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return (bits + half) >> dropped << dropped;
}

/// Loads 16 bytes of a box, of which those from `begin` to `end` are inside the
/// tensor, at `source`; the rest is `fill`.
bool loadUnit(Warp &warp, const Inst &inst, unsigned lane, const Box &box,
              const Actor &globalActor, const Actor &sharedActor,
              uint64_t source, uint32_t begin, uint32_t end, uint64_t target) {
  uint8_t buffer[bulkUnit];
  const uint64_t fill = fillOf(box.map);
  for (uint32_t i = 0; i < bulkUnit; i += box.elementBytes)
    std::memcpy(buffer + i, &fill, box.elementBytes);
  Access read, write;
  read.actor = globalActor;
  write.actor = sharedActor;
  write.isWrite = true;
  if (begin < end) {
    const uint8_t *origin = accessMemory(warp, inst, lane, Space::Global,
                                         source, end - begin, read, 1);
    if (!origin)
      return false;
    std::memcpy(buffer + begin, origin, end - begin);
    if (box.map.element == TensorElement::TF32 ||
        box.map.element == TensorElement::TF32Ftz)
      for (uint32_t i = begin; i < end; i += sizeof(uint32_t)) {
        uint32_t bits;
        std::memcpy(&bits, buffer + i, sizeof(bits));
        bits = roundToTF32(bits);
        std::memcpy(buffer + i, &bits, sizeof(bits));
      }
  }
  uint8_t *place = accessMemory(warp, inst, lane, Space::Shared, target,
                                bulkUnit, write, bulkUnit);
  if (!place)
    return false;
  std::memcpy(place, buffer, bulkUnit);
  return true;
}

/// Moves a box between global memory and the shared memory at `shared`.
bool moveBox(Warp &warp, const Inst &inst, unsigned lane, const Box &box,
             uint64_t shared, bool isLoad, const Actor &globalActor,
             const Actor &sharedActor) {
  const int64_t perUnit = bulkUnit / box.elementBytes;
  const Type type = typeOf(box.map.element);
  End global = {Space::Global, globalActor, type};
  End place = {Space::Shared, sharedActor, type};
  std::array<uint32_t, 5> index = {};
  uint64_t position = 0;
  for (;;) {
    std::optional<uint64_t> row = rowAddress(box, index);
    for (int64_t x = 0; x < box.map.box[0];
         x += perUnit, position += bulkUnit) {
      uint64_t at = swizzled(box.map.swizzle, shared + position);
      // The elements of the unit that are inside.
      int64_t first = box.origin[0] + x;
      int64_t begin = std::max<int64_t>(0, -first);
      int64_t end =
          std::min<int64_t>(perUnit, int64_t(box.map.extents[0]) - first);
      if (!row || begin >= end)
        begin = end = 0;
      uint64_t address =
          row.value_or(0) + uint64_t(first + begin) * box.elementBytes;
      uint32_t from = uint32_t(begin) * box.elementBytes;
      uint32_t to = uint32_t(end) * box.elementBytes;
      if (isLoad) {
        if (!loadUnit(warp, inst, lane, box, globalActor, sharedActor, address,
                      from, to, at))
          return false;
      } else if (from < to && !moveBytes(warp, inst, lane, place, at + from,
                                         global, address, to - from)) {
        return false;
      }
    }
    unsigned axis = 1;
    while (axis < box.map.rank && ++index[axis] == boxExtent(box.map, axis))
      index[axis++] = 0;
    if (axis >= box.map.rank)
      return true;
  }
}

/// The map and coordinates, which begin at the second source of a load, else at
/// the first.
bool readBox(Warp &warp, const Inst &inst, unsigned lane, Box &box) {
  const bool isLoad = Route(inst.a) == Route::Load;
  const unsigned first = isLoad ? 1 : 0;
  uint64_t address = addressOf(warp, inst.source(first), lane);
  const uint8_t *bytes = accessMemory(warp, inst, lane, Space::Generic, address,
                                      tensorMapBytes, Access(), 64);
  if (!bytes)
    return false;
  Result<TensorMap> map = decodeTensorMap(bytes);
  if (!map.ok()) {
    warp.failAt(Fault::AsyncCopy, inst, int(lane), address, map.message());
    return false;
  }
  box.map = *map;
  box.elementBytes = tensorElementBytes(map->element);
  if (map->rank != inst.wide) {
    warp.failAt(Fault::AsyncCopy, inst, int(lane), address,
                "the tensor map has " + std::to_string(map->rank) +
                    " dimensions, the instruction " +
                    std::to_string(inst.wide));
    return false;
  }
  for (unsigned i = 0; i < map->rank; ++i) {
    box.origin[i] = warp.row<int32_t>(inst.source(first + 1 + i))[lane];
    if (!isLoad && box.origin[i] < 0) {
      warp.failAt(Fault::OutOfBounds, inst, int(lane), address,
                  "the box begins " + std::to_string(-box.origin[i]) +
                      " before the tensor along dimension " +
                      std::to_string(i) +
                      ": an H200 stops a store there with an illegal "
                      "instruction");
      return false;
    }
  }
  if (box.origin[0] * box.elementBytes % bulkUnit) {
    warp.failAt(Fault::Misaligned, inst, int(lane), address,
                "the box begins " +
                    std::to_string(box.origin[0] * box.elementBytes) +
                    " bytes into its rows, no multiple of 16: a GPU stops "
                    "with an illegal instruction");
    return false;
  }
  return true;
}

uint64_t boxBytes(const Box &box) {
  uint64_t bytes = box.elementBytes;
  for (unsigned i = 0; i < box.map.rank; ++i)
    bytes *= boxExtent(box.map, i);
  return bytes;
}

bool checkShared(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
                 uint32_t alignment) {
  if (address % alignment == 0)
    return true;
  warp.failAt(Fault::Misaligned, inst, int(lane), address,
              "the shared memory of a bulk copy must be aligned to " +
                  std::to_string(alignment));
  return false;
}

/// Sources of a load: target, map, coordinates, barrier, [mask]; of a store:
/// map, coordinates, origin. wide: the number of coordinates.
void copyTensor(Warp &warp, const Inst &inst, uint32_t mask) {
  Route route = Route(inst.a);
  const unsigned rank = unsigned(inst.wide);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    Box box;
    if (!readBox(warp, inst, lane, box))
      return;
    uint64_t shared =
        addressOf(warp, inst.source(route == Route::Load ? 0 : rank + 1), lane);
    if (!checkShared(warp, inst, lane, shared, 128))
      return;
    uint64_t bytes = boxBytes(box);
    if (route == Route::Store) {
      warp.lastBulkGroup[lane] = warp.bulkGroups[lane] + 1;
      if (!moveBox(warp, inst, lane, box, shared, false,
                   groupActor(warp, lane, Agent::BulkWrite),
                   groupActor(warp, lane, Agent::BulkRead)))
        return;
    } else {
      uint32_t blocks = targetsOf(warp, inst, lane, shared, rank + 3);
      for (; blocks != 0; blocks &= blocks - 1) {
        uint64_t place = shared;
        uint64_t at = addressOf(warp, inst.source(rank + 2), lane);
        if (inst.c & 1) {
          place = inBlock(shared, firstLane(blocks));
          at = inBlock(at, firstLane(blocks));
        }
        MBarrierRef barrier = findMBarrier(warp, inst, lane, Space::Shared, at,
                                           /*isOfCopy=*/true);
        if (!barrier.barrier)
          return;
        Actor actor = barrierActor(barrier);
        if (!moveBox(warp, inst, lane, box, place, true, actor, actor))
          return;
        completeBytes(warp, inst, lane, barrier, int64_t(bytes));
      }
    }
    countCopy(warp, inst, bytes);
  }
  ++warp.block->cluster->events;
}

Handler selectTensor(Form &form, Inst &inst) {
  const std::vector<Operand> &operands = form.ast.operands;
  bool isStore = form.has("bulk_group");
  decodeCopy(form, inst, isStore ? Route::Store : Route::Load);
  inst.wide = uint64_t(form.which({"1d", "2d", "3d", "4d", "5d"}) + 1);
  size_t wanted = (isStore ? 2u : 3u) + inst.c;
  const Operand &tensor = operands[isStore ? 0 : 1];
  if (operands.size() < wanted || tensor.elements.size() != 2 ||
      tensor.elements[1].elements.size() != inst.wide) {
    form.decoder.fail(tensor.location, "expected '[map, {coordinates}]' with " +
                                           std::to_string(inst.wide) +
                                           " coordinates");
    return nullptr;
  }
  if (!isStore)
    form.decoder.addAddress(operands[0]);
  form.decoder.addAddress(tensor);
  for (const Operand &coordinate : tensor.elements[1].elements)
    form.decoder.addSource(coordinate, Type::S32);
  form.decoder.addAddress(operands[isStore ? 1 : 2]);
  if (inst.c)
    form.decoder.addSource(operands[3], Type::U16);
  return copyTensor;
}

#define CACHE "L2::cache_hint?"
#define RANK "1d|2d|3d|4d|5d"
#define REDUCE "add|min|max|inc|dec|and|or|xor"
#define BARRIER "mbarrier::complete_tx::bytes"

const Definition table[] = {
    {"cp",
     "async bulk tensor " RANK
     " shared::cluster|shared::cta global tile? " BARRIER
     " multicast::cluster? cta_group::1? " CACHE,
     "...3", selectTensor},
    {"cp",
     "async bulk tensor " RANK " global shared::cta tile? bulk_group " CACHE,
     "...2", selectTensor},
    {"cp",
     "reduce async bulk tensor " RANK " global shared::cta " REDUCE
     " tile? bulk_group " CACHE,
     "...2", selectTensor},
    {"cp", "async bulk prefetch tensor " RANK " L2 global tile? " CACHE, "...1",
     selectPrefetch},
};

} // namespace

DefinitionList deplo::emulator::tensorCopyDefinitions() {
  return listOf(table);
}
