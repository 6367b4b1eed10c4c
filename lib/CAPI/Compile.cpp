// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo-c/Compile.h"

#include "deplo/Compiler/CompileCache.h"
#include "deplo/Execution/HostDevice.h"
#include "deplo/Target/TargetDescription.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

#include <mutex>

using namespace deplo;
namespace json = llvm::json;

struct DeploCompilation {
  std::optional<std::string> error;
  CompileResult result;
  std::string report;
};

/// Reads the options; the error says which is wrong.
static llvm::Expected<CompileOptions> parseOptions(llvm::StringRef text,
                                                   bool &useCache) {
  CompileOptions options;
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError("options are not JSON: " +
                                   llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("options are not a JSON object");
  for (auto &[key, field] : *object) {
    llvm::StringRef name = key;
    auto wrongType = [&](llvm::StringRef expected) {
      return llvm::createStringError("option " + name + " is not " + expected);
    };
    std::string *text = llvm::StringSwitch<std::string *>(name)
                            .Case("target", &options.target)
                            .Case("device", &options.device)
                            .Case("schedule", &options.schedule)
                            .Case("precision", &options.precision)
                            .Case("passes", &options.passes)
                            .Case("name", &options.name)
                            .Default(nullptr);
    bool *flag = llvm::StringSwitch<bool *>(name)
                     .Case("trace", &options.trace)
                     .Case("prepare_weights", &options.prepareWeights)
                     .Case("cache", &useCache)
                     .Case("ptxas", &options.ptxas)
                     .Default(nullptr);
    if (text) {
      if (!field.getAsString())
        return wrongType("text");
      *text = field.getAsString()->str();
    } else if (flag) {
      if (!field.getAsBoolean())
        return wrongType("true or false");
      *flag = *field.getAsBoolean();
    } else if (name == "alignment") {
      if (!field.getAsInteger())
        return wrongType("a whole number");
      options.alignment = *field.getAsInteger();
    } else if (name == "level") {
      std::optional<Level> level = parseLevel(field.getAsString().value_or(""));
      if (!level)
        return wrongType("a level: graph, tensor, loop, tile, kernel, llvm, "
                         "ptx, sass or package");
      options.level = *level;
    } else {
      return llvm::createStringError("there is no option " + name);
    }
  }
  return options;
}

static json::Object toJson(const Step &step) {
  json::Array remarks;
  for (const StepRemark &remark : step.remarks)
    remarks.push_back(json::Object{{"kind", remark.kind},
                                   {"name", remark.name},
                                   {"kernel", remark.kernel},
                                   {"text", remark.text},
                                   {"loc", remark.location}});
  return json::Object{{"step", step.name},
                      {"pass", step.pass},
                      {"changed", step.before != step.after},
                      {"before", step.before},
                      {"after", step.after},
                      {"remarks", std::move(remarks)},
                      {"ms", step.milliseconds}};
}

static json::Object describe(const KernelReport &kernel) {
  json::Object object = toJson(kernel);
  for (auto [name, axis] :
       {std::pair("blocks", "grid"), {"threads", "block"}}) {
    json::Value extent = std::move(object[name]);
    object.erase(name);
    object[axis] = json::Array{std::move(extent), 1, 1};
  }
  return object;
}

static std::string toText(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

DeploCompilation *deploCompile(const char *ir, size_t size,
                               const char *options) {
  auto compilation = std::make_unique<DeploCompilation>();
  bool useCache = true;
  llvm::Expected<CompileOptions> parsed =
      parseOptions(options ? options : "{}", useCache);
  if (!parsed) {
    compilation->error = llvm::toString(parsed.takeError());
    return compilation.release();
  }
  std::shared_ptr<CompileCache> cache;
  if (useCache) {
    llvm::Expected<std::shared_ptr<CompileCache>> shared =
        CompileCache::getShared();
    if (!shared) {
      compilation->error = llvm::toString(shared.takeError());
      return compilation.release();
    }
    cache = std::move(*shared);
  }
  llvm::Expected<CompileResult> result =
      compile(llvm::StringRef(ir, size), *parsed, cache.get());
  if (result)
    compilation->result = std::move(*result);
  else
    compilation->error = llvm::toString(llvm::handleErrors(
        result.takeError(), [&](CompileFailure &failure) -> llvm::Error {
          compilation->result.steps = std::move(failure.steps);
          return llvm::createStringError(failure.message);
        }));
  return compilation.release();
}

const char *deploCompilationError(const DeploCompilation *compilation) {
  return compilation->error ? compilation->error->c_str() : nullptr;
}

const char *deploCompilationReport(DeploCompilation *compilation) {
  if (compilation->report.empty()) {
    const CompileResult &result = compilation->result;
    json::Array steps, kernels;
    for (const Step &step : result.steps)
      steps.push_back(toJson(step));
    for (const KernelReport &kernel : result.kernels)
      kernels.push_back(describe(kernel));
    json::Object timings;
    for (const auto &[stage, milliseconds] : result.timings)
      timings[stage] = milliseconds;
    compilation->report =
        toText(json::Object{{"ir", result.ir},
                            {"steps", std::move(steps)},
                            {"kernels", std::move(kernels)},
                            {"fusion", result.fusion},
                            {"scaled_rows", result.scaledRows},
                            {"timings_ms", std::move(timings)},
                            {"warnings", json::Array(result.warnings)}});
  }
  return compilation->report.c_str();
}

const void *deploCompilationPackage(const DeploCompilation *compilation,
                                    size_t *size) {
  const std::string &package = compilation->result.package;
  *size = package.size();
  return package.empty() ? nullptr : package.data();
}

void deploCompilationDestroy(DeploCompilation *compilation) {
  delete compilation;
}

/// The cache on disk as the environment says; none if it is off.
static std::optional<DiskCache> openDiskCache(std::string &error) {
  llvm::Expected<std::optional<DiskCache>> disk = DiskCache::fromEnvironment();
  if (disk)
    return std::move(*disk);
  error = llvm::toString(disk.takeError());
  return std::nullopt;
}

const char *deploCacheInfo(void) {
  static thread_local std::string text;
  std::string error;
  std::optional<DiskCache> disk = openDiskCache(error);
  json::Object info{{"directory", nullptr}, {"entries", 0}, {"bytes", 0}};
  if (disk) {
    DiskCache::Usage usage = disk->getUsage();
    info["directory"] = disk->getDirectory();
    info["entries"] = usage.entries;
    info["bytes"] = usage.bytes;
  }
  if (!error.empty())
    info["error"] = error;
  text = toText(std::move(info));
  return text.c_str();
}

const char *deploCacheClear(void) {
  static thread_local std::string error;
  error.clear();
  if (std::optional<DiskCache> disk = openDiskCache(error))
    if (llvm::Error failed = disk->clear())
      error = llvm::toString(std::move(failed));
  return error.empty() ? nullptr : error.c_str();
}

void deploRegisterHostDevice(void) {
  static std::once_flag registered;
  std::call_once(registered, registerHostDevice);
}

const char *deploTargets(void) {
  static const std::string text = [] {
    json::Array targets;
    for (const TargetDescription &target : getTargets())
      targets.push_back(json::Object{
          {"chip", target.chip},
          {"product", target.product},
          {"multiprocessors", target.multiprocessors},
          {"warps_per_multiprocessor", target.warpsPerMultiprocessor},
          {"blocks_per_multiprocessor", target.blocksPerMultiprocessor},
          {"registers_per_multiprocessor", target.registersPerMultiprocessor},
          {"registers_per_thread", target.registersPerThread},
          {"threads_per_block", target.threadsPerBlock},
          {"shared_per_multiprocessor", target.sharedPerMultiprocessor},
          {"shared_per_block", target.sharedPerBlock},
          {"l2_bytes", target.l2Bytes},
          {"dram_bytes_per_second", target.dramBytesPerSecond},
          {"f32_flops_per_second", target.f32FlopsPerSecond},
          {"mma_flops_per_second", target.mmaFlopsPerSecond},
          {"wgmma_flops_per_second", target.wgmmaFlopsPerSecond},
          {"launch_nanoseconds", target.launchNanoseconds},
          {"blocks_per_cluster", target.blocksPerCluster},
          {"multiprocessors_per_group", target.multiprocessorsPerGroup}});
    return toText(std::move(targets));
  }();
  return text.c_str();
}

const char *deploVersion(void) { return DEPLO_VERSION; }
