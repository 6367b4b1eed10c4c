// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Emulator/TensorMap.h"

#include <cstring>
#include <string>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

/// "DTMA": no map of the driver begins so.
static constexpr uint32_t tensorMapMagic = 0x414d5444;

uint32_t deplo::emulator::tensorElementBytes(TensorElement element) {
  static constexpr uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return size_t(element) < sizeof(bytes) ? bytes[size_t(element)] : 0;
}

static Status check(const TensorMap &map) {
  auto wrong = [](const std::string &text) {
    return Status::failure("tensor map: " + text);
  };
  uint32_t bytes = tensorElementBytes(map.element);
  if (bytes == 0)
    return wrong("there is no such element type");
  if (map.rank < 1 || map.rank > 5)
    return wrong("the rank must be from 1 to 5, got " +
                 std::to_string(map.rank));
  if (map.address % 16)
    return wrong("the address must be a multiple of 16");
  if (map.swizzle > TensorSwizzle::Bytes128)
    return wrong("there is no such swizzle");
  for (unsigned i = 0; i < map.rank; ++i) {
    std::string of = " of dimension " + std::to_string(i);
    if (map.extents[i] == 0 || map.extents[i] > (uint64_t(1) << 32))
      return wrong("the extent" + of + " must be from 1 to 2^32");
    if (map.box[i] == 0 || map.box[i] > 256)
      return wrong("the box" + of + " must be from 1 to 256, got " +
                   std::to_string(map.box[i]));
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      return wrong("the element stride" + of + " must be from 1 to 8");
    if (i > 0 &&
        (map.strides[i - 1] % 16 || map.strides[i - 1] >= (uint64_t(1) << 40)))
      return wrong("the stride" + of +
                   " must be a multiple of 16 bytes below 2^40, got " +
                   std::to_string(map.strides[i - 1]));
  }
  uint32_t inner = map.box[0] * bytes;
  if (inner % 16)
    return wrong("the inner extent of the box must be a multiple of 16 bytes, "
                 "got " +
                 std::to_string(inner));
  static constexpr uint32_t limits[] = {~0u, 32, 64, 128};
  if (inner > limits[size_t(map.swizzle)])
    return wrong("the inner extent of the box is " + std::to_string(inner) +
                 " bytes, more than the swizzle's " +
                 std::to_string(limits[size_t(map.swizzle)]));
  return Status::success();
}

Status deplo::emulator::encodeTensorMap(const TensorMap &map,
                                        uint8_t (&bytes)[tensorMapBytes]) {
  Status status = check(map);
  if (!status.ok())
    return status;
  TensorMap encoded = map;
  encoded.magic = tensorMapMagic;
  std::memcpy(bytes, &encoded, sizeof(encoded));
  return Status::success();
}

Result<TensorMap> deplo::emulator::decodeTensorMap(const uint8_t *bytes) {
  TensorMap map;
  std::memcpy(&map, bytes, sizeof(map));
  if (map.magic != tensorMapMagic)
    return Status::failure("these 128 bytes are no tensor map of the emulator");
  Status status = check(map);
  if (!status.ok())
    return status;
  return map;
}

uint64_t deplo::emulator::swizzled(TensorSwizzle swizzle, uint64_t address) {
  static constexpr uint64_t masks[] = {0, 1, 3, 7};
  return address ^ (((address >> 7) & masks[size_t(swizzle)]) << 4);
}
