// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/CompileCache.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace deplo;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Results as bytes: a line of JSON, then the text of the IR and the package
//===----------------------------------------------------------------------===//

namespace {

/// Adds fields to a JSON object.
struct FieldWriter {
  json::Object &object;

  template <typename T> void operator()(llvm::StringRef name, const T &value) {
    object[name] = value;
  }
  template <typename T>
  void operator()(llvm::StringRef name, const std::optional<T> &value) {
    object[name] = value ? json::Value(*value) : json::Value(nullptr);
  }
};

} // namespace

json::Value deplo::toJSON(const BufferReport &buffer) {
  return json::Object{{"name", buffer.name},
                      {"bytes_read", buffer.bytesRead},
                      {"bytes_written", buffer.bytesWritten}};
}

bool deplo::fromJSON(const json::Value &value, BufferReport &buffer,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("name", buffer.name) &&
         mapper.map("bytes_read", buffer.bytesRead) &&
         mapper.map("bytes_written", buffer.bytesWritten);
}

json::Value deplo::toJSON(const FusionDecision &decision) {
  return json::Object{{"step", decision.step},
                      {"fused", decision.isFused},
                      {"text", decision.text}};
}

bool deplo::fromJSON(const json::Value &value, FusionDecision &decision,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("step", decision.step) &&
         mapper.map("fused", decision.isFused) &&
         mapper.map("text", decision.text);
}

json::Value deplo::toJSON(const ScaledRows &rows) {
  return json::Object{{"input", rows.input},     {"dim", rows.dim},
                      {"offset", rows.offset},   {"sizes", rows.sizes},
                      {"strides", rows.strides}, {"kernel", rows.kernel}};
}

bool deplo::fromJSON(const json::Value &value, ScaledRows &rows,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("input", rows.input) &&
         mapper.map("dim", rows.dim) && mapper.map("offset", rows.offset) &&
         mapper.map("sizes", rows.sizes) &&
         mapper.map("strides", rows.strides) &&
         mapper.map("kernel", rows.kernel);
}

json::Object deplo::toJson(const KernelReport &kernel) {
  json::Object object;
  forEachField(kernel, FieldWriter{object});
  return object;
}

static bool fromJson(const json::Value &value, KernelReport &kernel,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  bool isSound = static_cast<bool>(mapper);
  if (isSound)
    forEachField(kernel, [&](llvm::StringLiteral name, auto &field) {
      isSound = isSound && mapper.map(name, field);
    });
  return isSound;
}

std::string deplo::serialize(const CompileResult &result) {
  json::Array kernels;
  for (const KernelReport &kernel : result.kernels)
    kernels.push_back(toJson(kernel));
  std::string bytes;
  llvm::raw_string_ostream(bytes)
      << json::Value(json::Object{{"kernels", std::move(kernels)},
                                  {"fusion", result.fusion},
                                  {"scaled_rows", result.scaledRows},
                                  {"ir", int64_t(result.ir.size())}})
      << '\n'
      << result.ir << result.package;
  return bytes;
}

std::optional<CompileResult> deplo::deserialize(llvm::StringRef bytes) {
  auto [header, rest] = bytes.split('\n');
  llvm::Expected<json::Value> value = json::parse(header);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *kernels = object ? object->getArray("kernels") : nullptr;
  std::optional<int64_t> irBytes =
      object ? object->getInteger("ir") : std::nullopt;
  const json::Value *fusion = object ? object->get("fusion") : nullptr;
  const json::Value *rows = object ? object->get("scaled_rows") : nullptr;
  if (!kernels || !fusion || !rows || !irBytes || *irBytes < 0 ||
      uint64_t(*irBytes) > rest.size())
    return std::nullopt;
  CompileResult result;
  json::Path::Root root;
  for (const json::Value &kernel : *kernels)
    if (!fromJson(kernel, result.kernels.emplace_back(), root))
      return std::nullopt;
  if (!json::fromJSON(*fusion, result.fusion, root) ||
      !json::fromJSON(*rows, result.scaledRows, root))
    return std::nullopt;
  result.ir = rest.take_front(*irBytes).str();
  result.package = rest.drop_front(*irBytes).str();
  return result;
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

llvm::Expected<std::shared_ptr<CompileCache>> CompileCache::getShared() {
  llvm::Expected<std::optional<DiskCache>> disk = DiskCache::fromEnvironment();
  if (!disk)
    return disk.takeError();
  if (!*disk)
    return nullptr;
  static std::mutex mutex;
  static std::shared_ptr<CompileCache> shared;
  std::lock_guard<std::mutex> lock(mutex);
  if (!shared || shared->disk->getDirectory() != (*disk)->getDirectory())
    shared = std::make_shared<CompileCache>(std::move(*disk));
  return shared;
}

std::shared_ptr<CompileCache::Entry> CompileCache::find(llvm::StringRef key) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Entry> &entry = entries[key];
  if (!entry)
    entry = std::make_shared<Entry>();
  return entry;
}

void CompileCache::keep(llvm::StringRef key, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  order.emplace_back(key, bytes);
  usedBytes += bytes;
  while (usedBytes > memoryBytes) {
    usedBytes -= order.front().second;
    entries.erase(order.front().first);
    order.pop_front();
  }
}

llvm::Expected<CompileResult> CompileCache::get(llvm::StringRef key,
                                                Compile compile) {
  std::shared_ptr<Entry> entry = find(key);
  std::lock_guard<std::mutex> lock(entry->compiling);
  if (entry->result)
    return *entry->result;
  if (disk)
    if (std::optional<std::string> bytes = disk->load(key))
      entry->result = deserialize(*bytes);
  if (entry->result) {
    keep(key, entry->result->ir.size() + entry->result->package.size());
    return *entry->result;
  }
  llvm::Expected<CompileResult> result = compile();
  if (!result)
    return result.takeError();
  // Times are of this compilation, and so is a warning.
  entry->result = *result;
  entry->result->timings.clear();
  entry->result->steps.clear();
  keep(key, result->ir.size() + result->package.size());
  if (disk)
    if (llvm::Error error = disk->store(key, serialize(*result)))
      result->warnings.push_back("the result is not kept on disk: " +
                                 llvm::toString(std::move(error)) +
                                 "; set DEPLO_CACHE_DIR to another folder, or "
                                 "DEPLO_CACHE=off");
  return result;
}
