// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout, all little-endian:
//
//    0  "DEPLOPKG"
//    8  u32 format version        12  u32 zero
//   16  u64 bytes of the header   24  u64 bytes of the package
//   32  u64 FNV-1a of all bytes from 40 on
//   40  the JSON header, then zeros up to a multiple of 64, then the blobs
//
// The first 40 bytes are outside the checksum; each of their fields is checked
// against something else, so that no byte of a package can change unnoticed.
// Each step of FNV-1a is a bijection, which makes that certain for one byte.

#include "deplo/Runtime/Package.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace deplo::runtime;
using Json = nlohmann::ordered_json;

constexpr char magic[] = {'D', 'E', 'P', 'L', 'O', 'P', 'K', 'G'};
constexpr size_t prefixBytes = 40;

template <typename T> static T readInteger(const char *bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= T(uint8_t(bytes[i])) << (8 * i);
  return value;
}

template <typename T> static void appendInteger(std::string &bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(char(uint8_t(value >> (8 * i))));
}

static uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : bytes)
    hash = (hash ^ uint8_t(byte)) * 0x100000001b3;
  return hash;
}

static uint64_t alignToBlob(uint64_t offset) {
  return (offset + blobAlignment - 1) / blobAlignment * blobAlignment;
}

static Status malformed(const std::string &what) {
  return Status::failure("malformed package: " + what +
                         "; compile the program again");
}

static std::string at(const char *list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

//===----------------------------------------------------------------------===//
// What a package must satisfy, whoever made it
//===----------------------------------------------------------------------===//

static bool isSymbol(std::string_view name) {
  auto isSymbolCharacter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.';
  };
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), isSymbolCharacter);
}

static bool holdsZero(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

static Status validateTensor(const TensorInfo &tensor,
                             const std::string &where) {
  if (holdsZero(tensor.name))
    return malformed(where + ".name holds a zero byte");
  if (!dtypeBytes(tensor.dtype))
    return malformed(where + ".dtype '" + tensor.dtype + "' is unknown");
  if (tensor.strides.size() != tensor.shape.size())
    return malformed(where + " has " + std::to_string(tensor.shape.size()) +
                     " dimensions and " +
                     std::to_string(tensor.strides.size()) + " strides");
  if (!tensorBytes(tensor))
    return malformed(where + " has a negative extent or stride, or is too big");
  if (tensor.alignment <= 0 || (tensor.alignment & (tensor.alignment - 1)))
    return malformed(where + ".alignment must be a power of two, got " +
                     std::to_string(tensor.alignment));
  return Status::success();
}

static Status validateExtents(const std::array<uint32_t, 3> &extents,
                              const std::array<uint32_t, 3> &limits,
                              const std::string &where) {
  for (size_t i = 0; i < 3; ++i)
    if (extents[i] == 0 || extents[i] > limits[i])
      return malformed(where + "[" + std::to_string(i) + "] must be in 1.." +
                       std::to_string(limits[i]) + ", got " +
                       std::to_string(extents[i]));
  return Status::success();
}

static Status validateMap(const TensorMapInfo &map, const std::string &where) {
  size_t rank = map.extents.size();
  if (rank < 1 || rank > maxTensorMapRank || map.box.size() != rank ||
      map.strides.size() + 1 != rank)
    return malformed(where + " has " + std::to_string(rank) + " extents, " +
                     std::to_string(map.strides.size()) + " strides and " +
                     std::to_string(map.box.size()) + " sizes of a box");
  uint32_t bytes = map.elementBytes, swizzle = map.swizzle;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return malformed(where + ".element_bytes must be 1, 2, 4 or 8, got " +
                     std::to_string(bytes));
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return malformed(where + ".swizzle must be 0, 32, 64 or 128, got " +
                     std::to_string(swizzle));
  constexpr int64_t mostExtent = int64_t(1) << 32, mostOfBox = 256, unit = 16;
  for (int64_t extent : map.extents)
    if (extent < 1 || extent > mostExtent)
      return malformed(where + ".extents must be from 1 to 2^32, got " +
                       std::to_string(extent));
  for (int64_t size : map.box)
    if (size < 1 || size > mostOfBox)
      return malformed(where + ".box must be from 1 to 256, got " +
                       std::to_string(size));
  for (int64_t stride : map.strides)
    if (stride < unit || stride % unit != 0 || stride >= int64_t(1) << 40)
      return malformed(where +
                       ".strides must be multiples of 16 below 2^40, "
                       "got " +
                       std::to_string(stride));
  if (map.offset % unit != 0)
    return malformed(where + ".offset must be a multiple of 16, got " +
                     std::to_string(map.offset));
  return Status::success();
}

static Status validateKernel(const KernelInfo &kernel, const Package &package,
                             const std::string &where) {
  if (!isSymbol(kernel.name))
    return malformed(where + ".name is not a symbol");
  auto blobExists = [&](std::optional<uint32_t> blob) {
    return !blob || *blob < package.blobs.size();
  };
  if (!blobExists(kernel.ptx) || !blobExists(kernel.cubin) ||
      !blobExists(kernel.object))
    return malformed(where + " names a blob that does not exist");

  const std::string &device = package.manifest.device;
  if (device == "host" && !kernel.object)
    return malformed(where + " has no object file for device 'host'");
  if (device != "cuda")
    return Status::success();

  if (!kernel.ptx && !kernel.cubin)
    return malformed(where + " has neither PTX nor a cubin for device 'cuda'");
  Status status =
      validateExtents(kernel.grid, {0x7fffffff, 65535, 65535}, where + ".grid");
  if (!status.ok())
    return status;
  status = validateExtents(kernel.block, {1024, 1024, 64}, where + ".block");
  if (!status.ok())
    return status;
  if (kernel.maps.size() > maxTensorMaps)
    return malformed(where + " has " + std::to_string(kernel.maps.size()) +
                     " tensor maps, at most " + std::to_string(maxTensorMaps) +
                     " are possible");
  for (size_t i = 0; i < kernel.maps.size(); ++i) {
    status =
        validateMap(kernel.maps[i], where + ".maps[" + std::to_string(i) + "]");
    if (!status.ok())
      return status;
  }
  uint32_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  if (threads > 1024)
    return malformed(where + ".block has " + std::to_string(threads) +
                     " threads, at most 1024 are possible");
  return Status::success();
}

bool deplo::runtime::isPrepared(const Manifest &manifest,
                                const TempInfo &temp) {
  return temp.offset >= manifest.arenaBytes - manifest.preparedBytes &&
         manifest.preparedBytes != 0;
}

static Status validateLaunch(const LaunchInfo &launch, const Manifest &manifest,
                             const std::string &where) {
  if (launch.kernel >= manifest.kernels.size())
    return malformed(where + " names a kernel that does not exist");
  for (const TensorMapInfo &map : manifest.kernels[launch.kernel].maps)
    if (map.argument >= launch.args.size() ||
        launch.args[map.argument].kind == LaunchArgument::Kind::Size)
      return malformed(where + " has no pointer for a tensor map of argument " +
                       std::to_string(map.argument));
  if (launch.args.size() > maxKernelArguments)
    return malformed(where + " has " + std::to_string(launch.args.size()) +
                     " arguments, at most " +
                     std::to_string(maxKernelArguments) + " are possible");
  for (size_t i = 0; i < launch.args.size(); ++i) {
    const LaunchArgument &arg = launch.args[i];
    size_t count = 0;
    switch (arg.kind) {
    case LaunchArgument::Kind::Input:
      count = manifest.inputs.size();
      break;
    case LaunchArgument::Kind::Output:
      count = manifest.outputs.size();
      break;
    case LaunchArgument::Kind::Temp:
      count = manifest.temps.size();
      break;
    case LaunchArgument::Kind::Size:
      count = manifest.sizes.size();
      break;
    }
    if (arg.index >= count)
      return malformed(where + ".args[" + std::to_string(i) +
                       "] names a buffer that does not exist");
    if (launch.isPrepared && arg.kind != LaunchArgument::Kind::Input &&
        (arg.kind != LaunchArgument::Kind::Temp ||
         !isPrepared(manifest, manifest.temps[arg.index])))
      return malformed(where + " is prepared, but .args[" + std::to_string(i) +
                       "] belongs to a call");
  }
  return Status::success();
}

static Status validate(const Package &package) {
  const Manifest &manifest = package.manifest;
  if (manifest.device.empty() || holdsZero(manifest.device))
    return malformed("device must be a name");
  if (holdsZero(manifest.name) || holdsZero(manifest.target) ||
      holdsZero(manifest.compiler))
    return malformed("name, target and compiler must not hold a zero byte");

  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    Status status = validateTensor(manifest.inputs[i], at("inputs", i));
    if (!status.ok())
      return status;
  }
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    Status status = validateTensor(manifest.outputs[i], at("outputs", i));
    if (!status.ok())
      return status;
  }
  for (size_t i = 0; i < manifest.sizes.size(); ++i) {
    const SizeInfo &size = manifest.sizes[i];
    if (size.name.empty() || holdsZero(size.name))
      return malformed(at("sizes", i) + ".name must be a name");
    if (size.min < 0 || size.max < size.min || size.generic <= size.max ||
        size.generic < 2)
      return malformed(
          at("sizes", i) +
          " must have 0 <= min <= max < generic, and 2 <= generic");
  }
  if (manifest.scratch > manifest.outputs.size())
    return malformed("scratch is more than there are outputs");
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    for (const GridAxis &axis : manifest.kernels[i].axes)
      if (axis.extent < 0 || axis.step < 1)
        return malformed(at("kernels", i) +
                         ".axes must have extents of 0 or more and steps of 1 "
                         "or more");
    if (manifest.kernels[i].mostBlocks == 0)
      return malformed(at("kernels", i) + ".most_blocks must be 1 or more");
    Status status =
        validateKernel(manifest.kernels[i], package, at("kernels", i));
    if (!status.ok())
      return status;
  }
  if (manifest.arenaBytes > uint64_t(INT64_MAX))
    return malformed("arena_bytes is too big");
  if (manifest.preparedBytes > manifest.arenaBytes ||
      manifest.preparedBytes % 16 != 0)
    return malformed("prepared_bytes must be a multiple of 16 and at most "
                     "arena_bytes");
  for (size_t i = 0; i < manifest.temps.size(); ++i) {
    const TempInfo &temp = manifest.temps[i];
    if (temp.offset % 16 != 0)
      return malformed(at("temps", i) + ".offset must be a multiple of 16");
    if (temp.offset > manifest.arenaBytes ||
        temp.bytes > manifest.arenaBytes - temp.offset)
      return malformed(at("temps", i) + " reaches beyond the arena of " +
                       std::to_string(manifest.arenaBytes) + " bytes");
    const uint64_t ofCall = manifest.arenaBytes - manifest.preparedBytes;
    if (temp.offset < ofCall && temp.bytes > ofCall - temp.offset)
      return malformed(at("temps", i) + " reaches into what is prepared");
  }
  for (size_t i = 0; i < manifest.launches.size(); ++i) {
    Status status =
        validateLaunch(manifest.launches[i], manifest, at("launches", i));
    if (!status.ok())
      return status;
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Manifest to JSON
//===----------------------------------------------------------------------===//

static Json tensorsToJson(const std::vector<TensorInfo> &tensors) {
  Json list = Json::array();
  for (const TensorInfo &tensor : tensors)
    list.push_back({{"name", tensor.name},
                    {"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"strides", tensor.strides},
                    {"alignment", tensor.alignment}});
  return list;
}

static Json blobToJson(std::optional<uint32_t> blob) {
  Json json;
  if (blob)
    json["blob"] = *blob;
  return json;
}

static Json kernelToJson(const KernelInfo &kernel) {
  Json json;
  json["name"] = kernel.name;
  if (kernel.object) {
    json["object"] = blobToJson(kernel.object);
    return json;
  }
  json["grid"] = kernel.grid;
  if (!kernel.axes.empty()) {
    Json &axes = json["axes"] = Json::array();
    for (const GridAxis &axis : kernel.axes)
      axes.push_back({{"extent", axis.extent}, {"step", axis.step}});
    if (kernel.mostBlocks)
      json["most_blocks"] = *kernel.mostBlocks;
  }
  json["block"] = kernel.block;
  json["shared_bytes"] = kernel.sharedBytes;
  if (kernel.programmatic)
    json["programmatic"] = true;
  if (kernel.clusterBlocks != 1)
    json["cluster"] = kernel.clusterBlocks;
  if (!kernel.maps.empty()) {
    Json &maps = json["maps"] = Json::array();
    for (const TensorMapInfo &map : kernel.maps)
      maps.push_back({{"argument", map.argument},
                      {"offset", map.offset},
                      {"element_bytes", map.elementBytes},
                      {"extents", map.extents},
                      {"strides", map.strides},
                      {"box", map.box},
                      {"swizzle", map.swizzle}});
  }
  json["ptx"] = blobToJson(kernel.ptx);
  json["cubin"] = blobToJson(kernel.cubin);
  return json;
}

constexpr const char *argumentKeys[] = {"input", "output", "temp", "size"};

static Json launchToJson(const LaunchInfo &launch) {
  Json json;
  json["kernel"] = launch.kernel;
  Json &args = json["args"] = Json::array();
  for (const LaunchArgument &arg : launch.args)
    args.emplace_back()[argumentKeys[size_t(arg.kind)]] = arg.index;
  if (launch.isPrepared)
    json["prepared"] = true;
  return json;
}

static Json manifestToJson(const Manifest &manifest) {
  Json kernels = Json::array(), launches = Json::array(), temps = Json::array();
  for (const KernelInfo &kernel : manifest.kernels)
    kernels.push_back(kernelToJson(kernel));
  for (const LaunchInfo &launch : manifest.launches)
    launches.push_back(launchToJson(launch));
  for (const TempInfo &temp : manifest.temps)
    temps.push_back({{"offset", temp.offset}, {"bytes", temp.bytes}});
  Json json = {{"format", packageFormat},
               {"compiler", manifest.compiler},
               {"name", manifest.name},
               {"device", manifest.device},
               {"target", manifest.target},
               {"arena_bytes", manifest.arenaBytes},
               {"inputs", tensorsToJson(manifest.inputs)},
               {"outputs", tensorsToJson(manifest.outputs)},
               {"kernels", std::move(kernels)},
               {"launches", std::move(launches)},
               {"temps", std::move(temps)}};
  if (manifest.preparedBytes != 0)
    json["prepared_bytes"] = manifest.preparedBytes;
  // Where all sizes are fixed there is nothing to say.
  if (!manifest.sizes.empty()) {
    Json &sizes = json["sizes"] = Json::array();
    for (const SizeInfo &size : manifest.sizes)
      sizes.push_back({{"name", size.name},
                       {"generic", size.generic},
                       {"min", size.min},
                       {"max", size.max}});
    json["scratch"] = manifest.scratch;
  }
  return json;
}

/// Text that is not UTF-8 is replaced, never an error.
static std::string printJson(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

//===----------------------------------------------------------------------===//
// JSON to manifest
//===----------------------------------------------------------------------===//

namespace {

/// Reads typed values out of JSON and remembers the first thing that is wrong.
/// After a failure every further read is harmless and yields a default value.
class HeaderReader {
public:
  Status status() const {
    return problem.empty() ? Status::success() : malformed(problem);
  }
  bool failed() const { return !problem.empty(); }

  void fail(const std::string &where, const char *expected) {
    if (problem.empty())
      problem = "the header's " + where + " must be " + expected;
  }

  /// A member of an object, or null if there is none.
  const Json &member(const Json &object, const char *key) {
    static const Json null;
    if (!object.is_object())
      return null;
    auto found = object.find(key);
    return found == object.end() ? null : *found;
  }

  std::string string(const Json &value, const std::string &where) {
    if (const auto *text = value.get_ptr<const Json::string_t *>())
      return *text;
    fail(where, "a string");
    return {};
  }

  bool boolean(const Json &value, const std::string &where) {
    if (const auto *truth = value.get_ptr<const Json::boolean_t *>())
      return *truth;
    fail(where, "true or false");
    return false;
  }

  uint64_t unsignedInteger(const Json &value, const std::string &where,
                           uint64_t limit = UINT64_MAX) {
    const auto *number = value.get_ptr<const Json::number_unsigned_t *>();
    if (number && *number <= limit)
      return *number;
    fail(where, limit == UINT64_MAX ? "a non-negative integer"
                                    : "a non-negative integer in range");
    return 0;
  }

  uint32_t index(const Json &value, const std::string &where) {
    return uint32_t(unsignedInteger(value, where, UINT32_MAX));
  }

  const Json::array_t &array(const Json &value, const std::string &where) {
    static const Json::array_t empty;
    if (const auto *elements = value.get_ptr<const Json::array_t *>())
      return *elements;
    fail(where, "an array");
    return empty;
  }

  std::vector<int64_t> extents(const Json &value, const std::string &where) {
    std::vector<int64_t> result;
    for (const Json &element : array(value, where))
      result.push_back(int64_t(unsignedInteger(element, where, INT64_MAX)));
    return result;
  }

  std::array<uint32_t, 3> triple(const Json &value, const std::string &where) {
    std::array<uint32_t, 3> result = {1, 1, 1};
    const Json::array_t &elements = array(value, where);
    if (elements.size() != 3) {
      fail(where, "an array of three integers");
      return result;
    }
    for (size_t i = 0; i < 3; ++i)
      result[i] = index(elements[i], where);
    return result;
  }

  std::vector<TensorInfo> tensors(const Json &value, const char *list) {
    std::vector<TensorInfo> result;
    for (const Json &element : array(value, list)) {
      std::string where = at(list, result.size());
      TensorInfo tensor;
      tensor.name = string(member(element, "name"), where + ".name");
      tensor.dtype = string(member(element, "dtype"), where + ".dtype");
      tensor.shape = extents(member(element, "shape"), where + ".shape");
      tensor.strides = extents(member(element, "strides"), where + ".strides");
      tensor.alignment = int64_t(unsignedInteger(
          member(element, "alignment"), where + ".alignment", INT64_MAX));
      result.push_back(std::move(tensor));
    }
    return result;
  }

  std::optional<uint32_t> blob(const Json &value, const std::string &where) {
    if (value.is_null())
      return std::nullopt;
    return index(member(value, "blob"), where + ".blob");
  }

  KernelInfo kernel(const Json &value, const std::string &where) {
    KernelInfo result;
    result.name = string(member(value, "name"), where + ".name");
    result.object = blob(member(value, "object"), where + ".object");
    result.ptx = blob(member(value, "ptx"), where + ".ptx");
    result.cubin = blob(member(value, "cubin"), where + ".cubin");
    if (result.object)
      return result;
    result.grid = triple(member(value, "grid"), where + ".grid");
    result.block = triple(member(value, "block"), where + ".block");
    if (const Json &axes = member(value, "axes"); !axes.is_null())
      for (const Json &element : array(axes, where + ".axes"))
        result.axes.push_back({size(element, "extent", where + ".axes"),
                               size(element, "step", where + ".axes")});
    if (const Json &most = member(value, "most_blocks"); !most.is_null())
      result.mostBlocks = index(most, where + ".most_blocks");
    result.sharedBytes =
        index(member(value, "shared_bytes"), where + ".shared_bytes");
    if (const Json &programmatic = member(value, "programmatic");
        !programmatic.is_null())
      result.programmatic = boolean(programmatic, where + ".programmatic");
    if (const Json &cluster = member(value, "cluster"); !cluster.is_null())
      result.clusterBlocks = index(cluster, where + ".cluster");
    if (const Json &maps = member(value, "maps"); !maps.is_null())
      for (const Json &element : array(maps, where + ".maps"))
        result.maps.push_back(tensorMap(element, where + ".maps"));
    return result;
  }

  TensorMapInfo tensorMap(const Json &value, const std::string &where) {
    TensorMapInfo result;
    result.argument = index(member(value, "argument"), where + ".argument");
    result.offset =
        unsignedInteger(member(value, "offset"), where + ".offset", INT64_MAX);
    result.elementBytes =
        index(member(value, "element_bytes"), where + ".element_bytes");
    result.extents = extents(member(value, "extents"), where + ".extents");
    result.strides = extents(member(value, "strides"), where + ".strides");
    result.box = extents(member(value, "box"), where + ".box");
    result.swizzle = index(member(value, "swizzle"), where + ".swizzle");
    return result;
  }

  int64_t size(const Json &value, const char *key, const std::string &where) {
    return int64_t(unsignedInteger(member(value, key), where, INT64_MAX));
  }

  LaunchArgument argument(const Json &value, const std::string &where) {
    LaunchArgument result;
    const auto *object = value.get_ptr<const Json::object_t *>();
    if (object && object->size() == 1)
      for (size_t kind = 0; kind < std::size(argumentKeys); ++kind)
        if (object->begin()->first == argumentKeys[kind]) {
          result.kind = LaunchArgument::Kind(kind);
          result.index = index(object->begin()->second, where);
          return result;
        }
    fail(where, "one of {\"input\": i}, {\"output\": i}, {\"temp\": i}, "
                "{\"size\": i}");
    return result;
  }

  LaunchInfo launch(const Json &value, const std::string &where) {
    LaunchInfo result;
    result.kernel = index(member(value, "kernel"), where + ".kernel");
    for (const Json &arg : array(member(value, "args"), where + ".args"))
      result.args.push_back(argument(arg, where + ".args"));
    if (const Json &prepared = member(value, "prepared"); !prepared.is_null())
      result.isPrepared = boolean(prepared, where + ".prepared");
    return result;
  }

  Manifest manifest(const Json &json) {
    Manifest result;
    if (unsignedInteger(member(json, "format"), "format") != packageFormat)
      fail("format", "1");
    result.compiler = string(member(json, "compiler"), "compiler");
    result.name = string(member(json, "name"), "name");
    result.device = string(member(json, "device"), "device");
    result.target = string(member(json, "target"), "target");
    result.arenaBytes =
        unsignedInteger(member(json, "arena_bytes"), "arena_bytes");
    if (const Json &prepared = member(json, "prepared_bytes");
        !prepared.is_null())
      result.preparedBytes = unsignedInteger(prepared, "prepared_bytes");
    result.inputs = tensors(member(json, "inputs"), "inputs");
    result.outputs = tensors(member(json, "outputs"), "outputs");
    if (const Json &sizes = member(json, "sizes"); !sizes.is_null())
      for (const Json &element : array(sizes, "sizes")) {
        std::string where = at("sizes", result.sizes.size());
        result.sizes.push_back(
            {string(member(element, "name"), where + ".name"),
             size(element, "generic", where), size(element, "min", where),
             size(element, "max", where)});
      }
    if (const Json &scratch = member(json, "scratch"); !scratch.is_null())
      result.scratch = index(scratch, "scratch");
    for (const Json &element : array(member(json, "kernels"), "kernels"))
      result.kernels.push_back(
          kernel(element, at("kernels", result.kernels.size())));
    for (const Json &element : array(member(json, "launches"), "launches"))
      result.launches.push_back(
          launch(element, at("launches", result.launches.size())));
    for (const Json &element : array(member(json, "temps"), "temps")) {
      std::string where = at("temps", result.temps.size());
      TempInfo temp;
      temp.offset =
          unsignedInteger(member(element, "offset"), where + ".offset");
      temp.bytes = unsignedInteger(member(element, "bytes"), where + ".bytes");
      result.temps.push_back(temp);
    }
    return result;
  }

  std::vector<std::string_view> blobs(const Json &value,
                                      std::string_view area) {
    std::vector<std::string_view> result;
    for (const Json &element : array(value, "blobs")) {
      std::string where = at("blobs", result.size());
      uint64_t offset =
          unsignedInteger(member(element, "offset"), where + ".offset");
      uint64_t bytes =
          unsignedInteger(member(element, "bytes"), where + ".bytes");
      if (offset % blobAlignment != 0 || offset > area.size() ||
          bytes > area.size() - offset) {
        fail(where, "aligned and inside the package");
        return {};
      }
      result.push_back(area.substr(offset, bytes));
    }
    return result;
  }

private:
  std::string problem;
};

} // namespace

//===----------------------------------------------------------------------===//
// Public functions
//===----------------------------------------------------------------------===//

std::optional<int64_t> deplo::runtime::dtypeBytes(std::string_view dtype) {
  static constexpr struct {
    std::string_view name;
    int64_t bytes;
  } dtypes[] = {{"f64", 8}, {"f32", 4},  {"f16", 2},    {"bf16", 2},
                {"i64", 8}, {"i32", 4},  {"i16", 2},    {"i8", 1},
                {"u8", 1},  {"bool", 1}, {"f8e5m2", 1}, {"f8e4m3fn", 1}};
  for (const auto &entry : dtypes)
    if (entry.name == dtype)
      return entry.bytes;
  return std::nullopt;
}

int64_t deplo::runtime::evaluateNumber(int64_t number,
                                       const std::vector<SizeInfo> &sizes,
                                       const int64_t *values) {
  int64_t product = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (; number != 0 && number % sizes[i].generic == 0;
         number /= sizes[i].generic)
      product *= values[i];
  return number * product;
}

std::optional<int64_t> deplo::runtime::tensorBytes(const TensorInfo &tensor) {
  std::optional<int64_t> elementBytes = dtypeBytes(tensor.dtype);
  if (!elementBytes || tensor.shape.size() != tensor.strides.size())
    return std::nullopt;
  int64_t lastElement = 0;
  bool empty = false;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t distance;
    if (tensor.shape[i] < 0 || tensor.strides[i] < 0)
      return std::nullopt;
    if (tensor.shape[i] == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i],
                               &distance) ||
        __builtin_add_overflow(lastElement, distance, &lastElement))
      return std::nullopt;
  }
  int64_t elements, bytes;
  if (__builtin_add_overflow(lastElement, 1, &elements) ||
      __builtin_mul_overflow(elements, *elementBytes, &bytes))
    return std::nullopt;
  return empty ? 0 : bytes;
}

std::string deplo::runtime::manifestJson(const Manifest &manifest) {
  return printJson(manifestToJson(manifest));
}

Result<std::string> deplo::runtime::writePackage(const Package &package) {
  Status status = validate(package);
  if (!status.ok())
    return status;

  Json json = manifestToJson(package.manifest);
  Json table = Json::array();
  uint64_t areaBytes = 0;
  for (std::string_view blob : package.blobs) {
    uint64_t offset = alignToBlob(areaBytes);
    table.push_back({{"offset", offset}, {"bytes", blob.size()}});
    areaBytes = offset + blob.size();
  }
  json["blobs"] = std::move(table);
  std::string header = printJson(json);

  uint64_t area = alignToBlob(prefixBytes + header.size());
  uint64_t totalBytes = area + areaBytes;
  std::string body = std::move(header);
  uint64_t headerBytes = body.size();
  body.reserve(totalBytes - prefixBytes);
  body.resize(area - prefixBytes, '\0');
  for (std::string_view blob : package.blobs) {
    body.resize(alignToBlob(prefixBytes + body.size()) - prefixBytes, '\0');
    body.append(blob);
  }

  std::string bytes(magic, sizeof(magic));
  bytes.reserve(totalBytes);
  appendInteger<uint32_t>(bytes, packageFormat);
  appendInteger<uint32_t>(bytes, 0);
  appendInteger<uint64_t>(bytes, headerBytes);
  appendInteger<uint64_t>(bytes, totalBytes);
  appendInteger<uint64_t>(bytes, checksum(body));
  return bytes += body;
}

Result<Package> deplo::runtime::readPackage(std::string_view bytes) {
  if (bytes.size() < prefixBytes)
    return malformed("it ends after " + std::to_string(bytes.size()) +
                     " bytes, inside its first fields");
  if (std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
    return Status::failure(
        "not a deplo package: it does not begin with 'DEPLOPKG'");
  auto version = readInteger<uint32_t>(bytes.data() + 8);
  if (version != packageFormat)
    return Status::failure(
        "the package has format version " + std::to_string(version) +
        " and this runtime reads version " + std::to_string(packageFormat) +
        "; compile the program with a matching compiler");
  if (readInteger<uint32_t>(bytes.data() + 12) != 0)
    return malformed("its reserved field is not zero");
  auto headerBytes = readInteger<uint64_t>(bytes.data() + 16);
  auto totalBytes = readInteger<uint64_t>(bytes.data() + 24);
  if (totalBytes != bytes.size())
    return malformed("it says that it has " + std::to_string(totalBytes) +
                     " bytes, but there are " + std::to_string(bytes.size()));
  if (headerBytes > bytes.size() - prefixBytes)
    return malformed("its header reaches beyond its end");
  if (readInteger<uint64_t>(bytes.data() + 32) !=
      checksum(bytes.substr(prefixBytes)))
    return malformed("its checksum does not match its contents");

  // The parser takes a zero byte for the end of the text; none may be there.
  std::string_view header = bytes.substr(prefixBytes, headerBytes);
  if (header.empty() || header.back() != '}' || holdsZero(header))
    return malformed("its header is not a JSON object");
  Json json = Json::parse(header.begin(), header.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!json.is_object())
    return malformed("its header is not a JSON object");

  uint64_t area = alignToBlob(prefixBytes + headerBytes);
  std::string_view blobArea =
      area <= bytes.size() ? bytes.substr(area) : std::string_view();
  HeaderReader reader;
  Package package;
  package.manifest = reader.manifest(json);
  package.blobs = reader.blobs(reader.member(json, "blobs"), blobArea);
  if (reader.failed())
    return reader.status();
  Status status = validate(package);
  if (!status.ok())
    return status;
  return package;
}
