// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo-c/Emulator.h"
#include "CAPISupport.h"
#include "deplo/Emulator/Device.h"
#include "deplo/Emulator/TensorMap.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace deplo;
using namespace deplo::emulator;
using Json = nlohmann::ordered_json;

struct DeploEmulation {
  std::shared_ptr<Program> program;
};

void deploRegisterEmulatedDevice(void) { registerEmulatedDevice(); }

int deploEmulationLoad(const char *ptx, size_t size,
                       DeploEmulation **emulation) {
  if (!ptx || !emulation)
    return failCall("deploEmulationLoad was given a null pointer");
  runtime::Result<std::shared_ptr<Program>> program =
      Program::load(std::string_view(ptx, size));
  if (!program.ok())
    return failCall(program.message());
  *emulation = new DeploEmulation{std::move(*program)};
  return 0;
}

void deploEmulationDestroy(DeploEmulation *emulation) { delete emulation; }

const char *deploEmulationKernels(DeploEmulation *emulation) {
  static thread_local std::string text;
  if (!emulation) {
    failCall("deploEmulationKernels was given a null pointer");
    return nullptr;
  }
  Json list = Json::array();
  for (const KernelSummary &kernel : emulation->program->kernels()) {
    Json parameters = Json::array();
    for (const ParameterInfo &parameter : kernel.parameters)
      parameters.push_back({{"name", parameter.name},
                            {"offset", parameter.offset},
                            {"bytes", parameter.bytes}});
    list.push_back({{"name", kernel.name},
                    {"parameters", parameters},
                    {"parameter_bytes", kernel.parameterBytes},
                    {"shared_bytes", kernel.staticSharedBytes},
                    {"local_bytes", kernel.localBytes},
                    {"required_threads", kernel.requiredThreads},
                    {"cluster", kernel.cluster}});
  }
  text = toText(list);
  return text.c_str();
}

int deploEmulationTensorMap(const DeploTensorMap *from, void *bytes) {
  if (!from || !bytes)
    return failCall("deploEmulationTensorMap was given a null pointer");
  if (from->element < 0 || from->element > 255 || from->rank > 5 ||
      from->swizzle < 0 || from->swizzle > 3)
    return failCall(
        "tensor map: element type, rank or swizzle is out of range");
  TensorMap map;
  map.element = TensorElement(from->element);
  map.rank = uint8_t(from->rank);
  map.swizzle = TensorSwizzle(from->swizzle);
  map.fillsNan = from->fillsNan != 0;
  map.address = reinterpret_cast<uint64_t>(from->address);
  for (unsigned i = 0; i < map.rank; ++i) {
    map.extents[i] = from->extents[i];
    map.box[i] = from->box[i];
    map.elementStrides[i] = from->elementStrides[i];
    if (i > 0)
      map.strides[i - 1] = from->strides[i - 1];
  }
  uint8_t encoded[tensorMapBytes];
  runtime::Status status = encodeTensorMap(map, encoded);
  if (!status.ok())
    return failCall(status.message());
  std::copy_n(encoded, tensorMapBytes, static_cast<uint8_t *>(bytes));
  return 0;
}

const char *deploEmulationRun(DeploEmulation *emulation,
                              const DeploEmulationLaunch *from) {
  static thread_local std::string text;
  if (!emulation || !from || !from->kernel ||
      (from->regionCount && !from->regions) ||
      (from->parameterBytes && !from->parameters)) {
    failCall("deploEmulationRun was given a null pointer");
    return nullptr;
  }
  Launch launch;
  launch.kernel = from->kernel;
  std::copy_n(from->grid, 3, launch.grid.begin());
  std::copy_n(from->block, 3, launch.block.begin());
  std::copy_n(from->cluster, 3, launch.cluster.begin());
  launch.dynamicSharedBytes = from->dynamicSharedBytes;
  const auto *bytes = static_cast<const uint8_t *>(from->parameters);
  launch.parameters.assign(bytes, bytes + from->parameterBytes);
  for (size_t i = 0; i < from->regionCount; ++i) {
    const DeploEmulationRegion &region = from->regions[i];
    launch.regions.push_back(
        {region.name ? region.name : "memory", region.memory, region.bytes,
         region.isWritable != 0, region.isInitialized != 0});
  }
  launch.checks.races = from->checksRaces;
  launch.checks.uninitialized = from->checksUninitialized;
  launch.instructionBudget = from->instructionBudget;
  launch.workers = from->workers;
  Outcome outcome = emulation->program->run(launch);
  Json findings = Json::array();
  for (const Diagnostic &diagnostic : outcome.diagnostics)
    findings.push_back(diagnostic.text());
  text = "{\"seconds\":" + std::to_string(outcome.seconds) +
         ",\"findings\":" + toText(findings) +
         ",\"counters\":" + countersJson(outcome.counters) + "}";
  return text.c_str();
}
