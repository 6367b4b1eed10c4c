// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps, as kernels take them for cp.async.bulk.tensor. The GPU's own
// 128 bytes are not documented; these are the emulator's. The fields and their
// rules are those of the driver's cuTensorMapEncodeTiled.

#ifndef DEPLO_EMULATOR_TENSORMAP_H
#define DEPLO_EMULATOR_TENSORMAP_H

#include "deplo/Runtime/Status.h"

#include <array>
#include <cstdint>

namespace deplo::emulator {

constexpr uint32_t tensorMapBytes = 128;

/// In the order of the driver's enumerations.
enum class TensorElement : uint8_t {
  U8,
  U16,
  U32,
  I32,
  U64,
  I64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz
};
enum class TensorSwizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };

struct TensorMap {
  uint32_t magic = 0;
  TensorElement element = TensorElement::F32;
  uint8_t rank = 1;
  TensorSwizzle swizzle = TensorSwizzle::None;
  /// What lies outside the tensor reads as NaN in place of zero.
  uint8_t fillsNan = 0;
  uint64_t address = 0;
  /// From the innermost dimension; strides are in bytes, from the second.
  std::array<uint64_t, 5> extents = {1, 1, 1, 1, 1};
  std::array<uint64_t, 4> strides = {};
  std::array<uint32_t, 5> box = {1, 1, 1, 1, 1};
  std::array<uint32_t, 5> elementStrides = {1, 1, 1, 1, 1};
};
static_assert(sizeof(TensorMap) == tensorMapBytes);

uint32_t tensorElementBytes(TensorElement element);

/// Checks the fields and writes the map, ready to be passed to a kernel.
runtime::Status encodeTensorMap(const TensorMap &map,
                                uint8_t (&bytes)[tensorMapBytes]);
/// Fails if the bytes are not what encodeTensorMap wrote.
runtime::Result<TensorMap> decodeTensorMap(const uint8_t *bytes);

/// Where the swizzle puts the byte of shared memory at `address`.
uint64_t swizzled(TensorSwizzle swizzle, uint64_t address);

} // namespace deplo::emulator

#endif // DEPLO_EMULATOR_TENSORMAP_H
