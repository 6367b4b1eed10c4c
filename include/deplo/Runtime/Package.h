// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is what the compiler hands to the runtime: one run of bytes with a
// JSON header (the manifest) and aligned blobs (PTX, cubin, ELF objects).
// docs/runtime.md gives the format; writePackage and readPackage are the only
// code that knows it.

#ifndef DEPLO_RUNTIME_PACKAGE_H
#define DEPLO_RUNTIME_PACKAGE_H

#include "deplo/Runtime/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deplo::runtime {

/// The format version that this runtime writes and reads.
constexpr uint32_t packageFormat = 1;

/// Blobs begin at multiples of this, counted from the start of the package.
constexpr size_t blobAlignment = 64;

/// The most arguments of one kernel: 4 KiB of pointers, what every GPU takes.
constexpr size_t maxKernelArguments = 512;

/// An input or output tensor as the caller must lay it out.
struct TensorInfo {
  std::string name;
  /// One of f64, f32, f16, bf16, f8e4m3fn, f8e5m2, i64, i32, i16, i8, u8, bool.
  std::string dtype;
  std::vector<int64_t> shape;
  /// In elements, one per dimension, none negative.
  std::vector<int64_t> strides;
  /// In bytes, a power of two: what the pointer must be a multiple of.
  int64_t alignment = 16;
};

/// Bytes of one element, or nullopt if there is no such dtype.
std::optional<int64_t> dtypeBytes(std::string_view dtype);

/// Bytes from the first to the last element; 0 for an empty tensor; nullopt if
/// the dtype is unknown, the shape is malformed or the size overflows.
std::optional<int64_t> tensorBytes(const TensorInfo &tensor);

/// A size that each run gives. In the package its `generic` number stands for
/// it, and every multiple of that for the multiple of the size.
struct SizeInfo {
  std::string name;
  int64_t generic = 0;
  /// The range that the package is compiled for.
  int64_t min = 0, max = 0;
};

/// What `number` is for these values of `sizes`.
int64_t evaluateNumber(int64_t number, const std::vector<SizeInfo> &sizes,
                       const int64_t *values);

/// One axis of a grid: ceil(extent / step) blocks.
struct GridAxis {
  int64_t extent = 1, step = 1;
};

/// A tensor map (CUDA driver interface, cuTensorMapEncodeTiled) that a launch
/// makes of one of the kernel's pointers.
struct TensorMapInfo {
  /// Of the kernel's arguments, and the bytes behind it where the tensor
  /// starts.
  uint32_t argument = 0;
  uint64_t offset = 0;
  /// 1, 2, 4 or 8: elements are moved as they are.
  uint32_t elementBytes = 1;
  /// From the innermost dimension; strides are in bytes, from the second.
  std::vector<int64_t> extents, strides, box;
  /// 0, 32, 64 or 128 bytes.
  uint32_t swizzle = 0;
};

/// The most dimensions of a tensor map, and the bytes of one.
constexpr size_t maxTensorMapRank = 5, tensorMapSize = 128;
/// The most tensor maps of a kernel: they share its 4 KiB of arguments.
constexpr size_t maxTensorMaps = 8;

struct KernelInfo {
  /// The symbol in the blob.
  std::string name;
  /// Blocks per grid and threads per block; device "cuda" only.
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  /// If there are any, the product of their blocks is grid[0], as far as it is
  /// no more than mostBlocks; if it is, blocks of the code do more than one of
  /// those that there would be.
  std::vector<GridAxis> axes;
  std::optional<uint32_t> mostBlocks;
  /// Dynamic shared memory given at launch; static shared memory is known to
  /// the kernel itself and not counted here.
  uint32_t sharedBytes = 0;
  /// Blocks in a row that the code groups in a thread-block cluster.
  uint32_t clusterBlocks = 1;
  /// Whether the kernel waits itself for those that it depends on
  /// (griddepcontrol.wait), so that it may be launched before they are
  /// complete.
  bool programmatic = false;
  /// By value, before the other arguments.
  std::vector<TensorMapInfo> maps;
  /// Indices into Package::blobs. "cuda" needs PTX, a cubin or both; "host"
  /// needs a relocatable object. Kernels of one module name the same blob.
  std::optional<uint32_t> ptx, cubin, object;
};

/// One kernel argument: a pointer, or a size as a 64-bit integer.
struct LaunchArgument {
  enum class Kind { Input, Output, Temp, Size };
  Kind kind = Kind::Input;
  uint32_t index = 0;

  bool operator==(const LaunchArgument &other) const {
    return kind == other.kind && index == other.index;
  }
};

struct LaunchInfo {
  uint32_t kernel = 0;
  std::vector<LaunchArgument> args;
  /// Whether it depends on inputs that are weights alone, so that one execution
  /// serves all calls with the same weights. It writes the end of the arena.
  bool isPrepared = false;
};

/// A temporary buffer: a part of the arena. Lifetimes may overlap in space.
struct TempInfo {
  /// A multiple of 16.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Everything in the header but the blob table.
struct Manifest {
  std::string compiler;
  std::string name = "main";
  /// "cuda" or "host", or another device that was registered by name.
  std::string device = "cuda";
  /// For "cuda", the architecture that the blobs are made for, as "sm_90a".
  std::string target;
  uint64_t arenaBytes = 0;
  /// The last bytes of the arena, which prepared launches write, and others
  /// only read.
  uint64_t preparedBytes = 0;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<SizeInfo> sizes;
  /// How many of the outputs, the last ones, are temporaries that the caller
  /// provides.
  uint32_t scratch = 0;
  std::vector<KernelInfo> kernels;
  /// In the order of execution.
  std::vector<LaunchInfo> launches;
  std::vector<TempInfo> temps;
};

/// Whether prepared launches write it: it belongs to no call.
bool isPrepared(const Manifest &manifest, const TempInfo &temp);

/// The blobs are views: of the compiler's memory when writing, of the bytes
/// that were read when reading. They own nothing.
struct Package {
  Manifest manifest;
  std::vector<std::string_view> blobs;
};

/// Lays `package` out as bytes. Fails on a package that readPackage would
/// reject, so that a compiler's mistake shows where it is made.
Result<std::string> writePackage(const Package &package);

/// Checks `bytes` (magic, version, sizes, checksum, schema, every index and
/// range) and parses them. The blobs of the result point into `bytes`.
Result<Package> readPackage(std::string_view bytes);

/// The manifest as JSON text, on one line, as in the header of a package but
/// without the blob table.
std::string manifestJson(const Manifest &manifest);

} // namespace deplo::runtime

#endif // DEPLO_RUNTIME_PACKAGE_H
