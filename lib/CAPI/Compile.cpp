// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo-c/Compile.h"

#include "deplo/Compiler/Compiler.h"
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
static llvm::Expected<CompileOptions> parseOptions(llvm::StringRef text) {
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
                            .Case("passes", &options.passes)
                            .Case("name", &options.name)
                            .Default(nullptr);
    bool *flag = llvm::StringSwitch<bool *>(name)
                     .Case("trace", &options.trace)
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

template <typename T> static json::Value orNull(const std::optional<T> &value) {
  return value ? json::Value(*value) : json::Value(nullptr);
}

static json::Object toJson(const KernelReport &kernel) {
  json::Array traffic;
  for (const BufferReport &buffer : kernel.traffic)
    traffic.push_back(json::Object{{"name", buffer.name},
                                   {"bytes_read", buffer.bytesRead},
                                   {"bytes_written", buffer.bytesWritten}});
  return json::Object{
      {"name", kernel.name},
      {"bytes_read", kernel.bytesRead},
      {"bytes_written", kernel.bytesWritten},
      {"flops", kernel.flops},
      {"intensity", kernel.intensity},
      {"bound", kernel.bound},
      {"roofline_us", kernel.rooflineMicroseconds},
      {"schedule", kernel.schedule},
      {"schedule_reason", kernel.scheduleReason},
      {"traffic", std::move(traffic)},
      {"grid", json::Array{orNull(kernel.blocks), 1, 1}},
      {"block", json::Array{orNull(kernel.threads), 1, 1}},
      {"shared_bytes", orNull(kernel.sharedBytes)},
      {"registers", orNull(kernel.registers)},
      {"spill_bytes", orNull(kernel.spillBytes)},
      {"occupancy", orNull(kernel.occupancy)},
      {"blocks_per_sm", orNull(kernel.blocksPerMultiprocessor)}};
}

static std::string toText(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

DeploCompilation *deploCompile(const char *ir, size_t size,
                               const char *options) {
  auto compilation = std::make_unique<DeploCompilation>();
  llvm::Expected<CompileOptions> parsed =
      parseOptions(options ? options : "{}");
  if (!parsed) {
    compilation->error = llvm::toString(parsed.takeError());
    return compilation.release();
  }
  llvm::Expected<CompileResult> result =
      compile(llvm::StringRef(ir, size), *parsed);
  if (result)
    compilation->result = std::move(*result);
  else
    compilation->error = llvm::toString(result.takeError());
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
      kernels.push_back(toJson(kernel));
    json::Object timings;
    for (const auto &[stage, milliseconds] : result.timings)
      timings[stage] = milliseconds;
    compilation->report =
        toText(json::Object{{"ir", result.ir},
                            {"steps", std::move(steps)},
                            {"kernels", std::move(kernels)},
                            {"timings_ms", std::move(timings)}});
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
          {"launch_nanoseconds", target.launchNanoseconds}});
    return toText(std::move(targets));
  }();
  return text.c_str();
}

const char *deploVersion(void) { return DEPLO_VERSION; }
