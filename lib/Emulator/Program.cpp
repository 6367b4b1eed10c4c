// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads modules and launches their kernels.

#include "Definition.h"
#include "IndirectCalls.h"
#include "Memory.h"
#include "Scheduler.h"
#include "Text.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <tuple>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

namespace {

/// Of global variables, so that an overrun of one is not the next.
constexpr uint64_t globalGap = 256;

struct GlobalVariable {
  const Variable *variable;
  uint64_t offset;
};

class LoadedProgram : public Program {
public:
  Status open(std::string_view text);

  std::vector<KernelSummary> kernels() const override;
  Outcome run(const Launch &launch) override;
  Region variable(std::string_view name) override;

private:
  Status placeGlobals();
  void initialize(const GlobalVariable &global);
  std::optional<Diagnostic> checkLaunch(const Launch &launch,
                                        const Kernel &kernel, Grid &grid);
  void addRegions(const Launch &launch, Grid &grid);

  Module module;
  /// What expandIndirectCalls has named.
  std::deque<std::string> names;
  std::vector<uint8_t> globals;
  std::vector<GlobalVariable> globalVariables;
  GlobalImage image;
  std::map<std::string, Kernel> decoded;
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Status LoadedProgram::placeGlobals() {
  uint64_t end = 0;
  for (const Variable &variable : module.variables) {
    if (variable.space != Space::Global && variable.space != Space::Const)
      continue;
    if (variable.isExternal)
      continue;
    uint64_t alignment = std::max<uint64_t>(variable.alignment, globalGap);
    uint64_t begin = (end + alignment - 1) / alignment * alignment;
    globalVariables.push_back({&variable, begin});
    end = begin + variable.bytes + globalGap;
  }
  constexpr uint64_t most = uint64_t(2) << 30;
  if (end > most)
    return Status::failure("the module's variables need " +
                           std::to_string(end) + " bytes, more than 2 GiB");
  globals.resize(end + 4096);
  auto base = reinterpret_cast<uint64_t>(globals.data());
  image.base = (base + 4095) / 4096 * 4096;
  for (const GlobalVariable &global : globalVariables)
    image.variables[global.variable->name] = {
        std::string(global.variable->name), global.offset,
        global.offset + global.variable->bytes};
  for (const GlobalVariable &global : globalVariables)
    initialize(global);
  return Status::success();
}

void LoadedProgram::initialize(const GlobalVariable &global) {
  uint32_t bytes = typeSize(global.variable->type);
  auto *memory = reinterpret_cast<uint8_t *>(image.base + global.offset);
  for (const InitialValue &value : global.variable->initial) {
    uint64_t bits = value.bits;
    if (!value.symbol.empty()) {
      auto found = image.variables.find(value.symbol);
      bits += found == image.variables.end()
                  ? functionAddress(module, value.symbol)
                  : image.base + found->second.begin;
    } else if (value.isDouble && bytes == 4) {
      double exact;
      std::memcpy(&exact, &bits, 8);
      float single = float(exact);
      bits = 0;
      std::memcpy(&bits, &single, 4);
    }
    std::memcpy(memory, &bits, std::min(bytes, 8u));
    memory += bytes;
  }
}

Status LoadedProgram::open(std::string_view text) {
  Result<Module> parsed = parsePtx(text);
  if (!parsed.ok())
    return parsed.status();
  module = std::move(*parsed);
  expandIndirectCalls(module, names);
  Status placed = placeGlobals();
  if (!placed.ok())
    return placed;
  for (const Function &function : module.functions) {
    if (!function.isKernel || !function.hasBody)
      continue;
    Result<Kernel> kernel = decodeKernel(module, function, image);
    if (!kernel.ok())
      return kernel.status();
    decoded[std::string(function.name)] = std::move(*kernel);
  }
  return Status::success();
}

std::vector<KernelSummary> LoadedProgram::kernels() const {
  std::vector<KernelSummary> result;
  for (const Function &function : module.functions) {
    auto found = decoded.find(std::string(function.name));
    if (!function.isKernel || found == decoded.end())
      continue;
    const Kernel &kernel = found->second;
    KernelSummary summary;
    summary.name = kernel.name;
    for (size_t i = 0; i < function.parameters.size(); ++i)
      summary.parameters.push_back({std::string(function.parameters[i].name),
                                    kernel.parameterOffsets[i],
                                    uint32_t(function.parameters[i].bytes)});
    summary.parameterBytes = uint32_t(kernel.parameterBytes);
    summary.staticSharedBytes = uint32_t(kernel.staticSharedBytes);
    summary.localBytes = uint32_t(kernel.localBytes);
    summary.requiredThreads = function.requiredThreads.value_or(Extent{});
    summary.maxThreads = function.maxThreads.value_or(Extent{});
    summary.cluster = function.clusterBlocks.value_or(Extent{});
    result.push_back(std::move(summary));
  }
  return result;
}

Region LoadedProgram::variable(std::string_view name) {
  auto found = image.variables.find(name);
  if (found == image.variables.end())
    return {};
  return {std::string(name),
          reinterpret_cast<void *>(image.base + found->second.begin),
          found->second.end - found->second.begin, true, true};
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

uint64_t volume(const Extent &extent) {
  return uint64_t(extent[0]) * extent[1] * extent[2];
}

std::optional<Diagnostic> LoadedProgram::checkLaunch(const Launch &launch,
                                                     const Kernel &kernel,
                                                     Grid &grid) {
  const Function &function = *kernel.function;
  const Machine &machine = launch.machine;
  auto wrong = [&](Fault fault, std::string message) {
    Diagnostic diagnostic;
    diagnostic.fault = fault;
    diagnostic.line = function.location.line;
    diagnostic.column = function.location.column;
    diagnostic.message = "kernel '" + kernel.name + "' " + message;
    return diagnostic;
  };
  if (volume(launch.grid) == 0 || volume(launch.block) == 0)
    return wrong(Fault::Launch, "is launched with no threads: grid " +
                                    triple(launch.grid) + ", block " +
                                    triple(launch.block));
  if (volume(launch.block) > machine.maxThreadsPerBlock)
    return wrong(Fault::Resources,
                 "is launched with " + std::to_string(volume(launch.block)) +
                     " threads in a block; at most " +
                     std::to_string(machine.maxThreadsPerBlock) +
                     " are possible");
  if (function.requiredThreads && *function.requiredThreads != launch.block)
    return wrong(Fault::Launch, "needs blocks of " +
                                    triple(*function.requiredThreads) +
                                    " threads, got " + triple(launch.block));
  if (function.maxThreads &&
      volume(*function.maxThreads) < volume(launch.block))
    return wrong(Fault::Launch,
                 "takes blocks of at most " +
                     std::to_string(volume(*function.maxThreads)) +
                     " threads, got " + std::to_string(volume(launch.block)));
  if (launch.parameters.size() != kernel.parameterBytes)
    return wrong(Fault::Launch, "takes " +
                                    std::to_string(kernel.parameterBytes) +
                                    " bytes of parameters, got " +
                                    std::to_string(launch.parameters.size()));
  uint64_t shared = kernel.staticSharedBytes + launch.dynamicSharedBytes;
  if (shared > machine.maxSharedBytesPerBlock)
    return wrong(Fault::Resources,
                 "needs " + std::to_string(shared) +
                     " bytes of shared memory; a block can have " +
                     std::to_string(machine.maxSharedBytesPerBlock));
  grid.cluster = launch.cluster[0]
                     ? launch.cluster
                     : function.clusterBlocks.value_or(Extent{1, 1, 1});
  if (volume(grid.cluster) > machine.maxClusterBlocks ||
      volume(grid.cluster) == 0)
    return wrong(Fault::Resources,
                 "has clusters of " + std::to_string(volume(grid.cluster)) +
                     " blocks; at most " +
                     std::to_string(machine.maxClusterBlocks) +
                     " are possible");
  for (unsigned i = 0; i < 3; ++i)
    if (launch.grid[i] % grid.cluster[i])
      return wrong(Fault::Launch, "has a grid of " + triple(launch.grid) +
                                      " blocks, which clusters of " +
                                      triple(grid.cluster) + " don't divide");
  grid.grid = launch.grid;
  grid.block = launch.block;
  grid.blocks = volume(launch.grid);
  grid.threadsPerBlock = uint32_t(volume(launch.block));
  grid.warpsPerBlock = (grid.threadsPerBlock + lanesPerWarp - 1) / lanesPerWarp;
  grid.sharedBytes = shared;
  grid.sharedPlaces = kernel.shared;
  if (launch.dynamicSharedBytes)
    grid.sharedPlaces.push_back(
        {"dynamic shared memory", kernel.staticSharedBytes, shared});
  uint32_t blocks = function.minBlocksPerMultiprocessor.value_or(1);
  uint32_t registers =
      machine.registersPerBlock /
      std::max(grid.threadsPerBlock * std::max(blocks, 1u), 1u);
  registers = std::min(registers, function.maxRegisters.value_or(255));
  grid.entryRegisters = std::min(registers / 8 * 8, 248u);
  return std::nullopt;
}

void LoadedProgram::addRegions(const Launch &launch, Grid &grid) {
  auto add = [&](std::string name, uint64_t begin, uint64_t bytes,
                 bool isWritable, bool isInitialized) -> GlobalRegion & {
    GlobalRegion region;
    region.begin = begin;
    region.end = begin + bytes;
    region.name = std::move(name);
    region.isWritable = isWritable;
    if (!isInitialized && grid.checksUninitialized)
      region.written =
          std::make_shared<std::vector<std::atomic<uint64_t>>>(bytes / 64 + 1);
    grid.regions.push_back(std::move(region));
    return grid.regions.back();
  };
  for (const Region &region : launch.regions)
    if (region.bytes)
      add(region.name, reinterpret_cast<uint64_t>(region.memory), region.bytes,
          region.isWritable, region.isInitialized);
  for (const GlobalVariable &global : globalVariables) {
    bool isConstant = global.variable->space == Space::Const;
    if (!global.variable->bytes)
      continue;
    GlobalRegion &region =
        add(std::string(global.variable->name), image.base + global.offset,
            global.variable->bytes, !isConstant, true);
    region.isConstant = region.isFixed = isConstant;
  }
  if (!grid.parameters.empty())
    add("the kernel's parameters", grid.parameterAddress,
        grid.kernel->parameterBytes, false, true)
        .isFixed = true;
  std::sort(grid.regions.begin(), grid.regions.end(),
            [](const GlobalRegion &a, const GlobalRegion &b) {
              return std::tie(a.begin, a.name) < std::tie(b.begin, b.name);
            });
  // Views of the same memory are one region.
  std::vector<GlobalRegion> disjoint;
  for (GlobalRegion &region : grid.regions) {
    if (disjoint.empty() || region.begin >= disjoint.back().end) {
      disjoint.push_back(std::move(region));
      continue;
    }
    GlobalRegion &last = disjoint.back();
    if (last.name.find(region.name) == std::string::npos)
      last.name += "/" + region.name;
    last.isWritable |= region.isWritable;
    last.end = std::max(last.end, region.end);
    last.written = nullptr;
  }
  grid.regions = std::move(disjoint);
  if (grid.checksRaces)
    for (GlobalRegion &region : grid.regions)
      if (region.isWritable)
        region.shadow = std::make_shared<GlobalShadow>(
            region.begin % maxGranule + region.end - region.begin,
            grid.kernel->globalGranule);
}

bool touches(std::string_view opcode, const char *prefix) {
  return opcode.substr(0, std::string_view(prefix).size()) == prefix;
}

/// Whether what an instruction moves comes from global memory, rather than goes
/// there.
bool isGlobalLoad(const Origin &origin) {
  if (origin.opcode == "cp")
    return origin.text.find(".global.shared") == std::string_view::npos;
  return touches(origin.opcode, "ld");
}

Counters collectCounters(const Kernel &kernel,
                         const std::vector<Worker> &workers) {
  Counters total;
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    InstCounters sum;
    for (const Worker &worker : workers) {
      if (worker.counters.empty())
        continue;
      const InstCounters &part = worker.counters[pc];
      sum.warps += part.warps;
      sum.threads += part.threads;
      sum.divergent += part.divergent;
      sum.requests += part.requests;
      sum.bytes += part.bytes;
      sum.sectors += part.sectors;
      sum.wavefronts += part.wavefronts;
      sum.idealWavefronts += part.idealWavefronts;
      sum.tensorOperations += part.tensorOperations;
      sum.maxWavefronts = std::max(sum.maxWavefronts, part.maxWavefronts);
    }
    const Origin &origin = kernel.origins[kernel.code[pc].origin];
    InstructionCounters entry;
    entry.line = origin.location.line;
    entry.text = std::string(origin.text);
    entry.opcode = std::string(origin.opcode);
    entry.warps = sum.warps;
    entry.threads = sum.threads;
    entry.divergent = sum.divergent;
    entry.requests = sum.requests;
    entry.bytes = sum.bytes;
    entry.sectors = sum.sectors;
    entry.wavefronts = sum.wavefronts;
    entry.idealWavefronts = sum.idealWavefronts;
    entry.maxWavefronts = sum.maxWavefronts;
    entry.tensorOperations = sum.tensorOperations;
    if (sum.requests && sum.threads)
      entry.accessBytes = uint32_t(sum.bytes / sum.threads);
    total.warpInstructions += sum.warps;
    total.threadInstructions += sum.threads;
    total.divergentBranches += sum.divergent;
    total.tensorOperations += sum.tensorOperations;
    if (touches(origin.opcode, "bar"))
      total.barriers += sum.requests;
    total.sharedWavefronts += sum.wavefronts;
    total.sharedIdealWavefronts += sum.idealWavefronts;
    if (sum.sectors) {
      (isGlobalLoad(origin) ? total.globalLoadBytes : total.globalStoreBytes) +=
          sum.bytes;
      total.globalSectors += sum.sectors;
      total.globalRequests += sum.requests;
    } else if (sum.wavefronts) {
      total.sharedBytes += sum.bytes;
      total.sharedRequests += sum.requests;
    } else if (kernel.code[pc].space == Space::Local) {
      total.localBytes += sum.bytes;
    }
    if (entry.warps)
      total.instructions.push_back(std::move(entry));
  }
  return total;
}

Outcome LoadedProgram::run(const Launch &launch) {
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  auto found = decoded.find(launch.kernel);
  if (found == decoded.end()) {
    Diagnostic diagnostic;
    diagnostic.message = "there is no kernel '" + launch.kernel + "'";
    outcome.diagnostics.push_back(diagnostic);
    return outcome;
  }
  Grid grid;
  grid.kernel = &found->second;
  grid.launch = &launch;
  grid.checksRaces = launch.checks.races;
  grid.checksDependencies =
      grid.checksRaces &&
      std::any_of(
          grid.kernel->code.begin(), grid.kernel->code.end(),
          [](const Inst &inst) { return inst.run == gridWaitHandler(); });
  grid.checksUninitialized = launch.checks.uninitialized;
  if (std::optional<Diagnostic> wrong =
          checkLaunch(launch, *grid.kernel, grid)) {
    outcome.diagnostics.push_back(std::move(*wrong));
    return outcome;
  }
  // Tensor maps among the parameters are aligned to 64 bytes.
  constexpr uint64_t parameterAlignment = 128;
  grid.parameters.resize(launch.parameters.size() + parameterAlignment);
  auto base = reinterpret_cast<uint64_t>(grid.parameters.data());
  grid.parameterAddress =
      (base + parameterAlignment - 1) / parameterAlignment * parameterAlignment;
  if (!launch.parameters.empty())
    std::memcpy(reinterpret_cast<void *>(grid.parameterAddress),
                launch.parameters.data(), launch.parameters.size());
  addRegions(launch, grid);
  if (grid.checksRaces)
    grid.syncPoints = std::make_unique<SyncTable>();
  unsigned workerCount =
      launch.workers ? launch.workers : std::thread::hardware_concurrency();
  std::vector<Worker> workers;
  runGrid(grid, std::max(workerCount, 1u), workers);
  outcome.diagnostics = std::move(grid.diagnostics);
  outcome.counters = collectCounters(*grid.kernel, workers);
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return outcome;
}

} // namespace

void Grid::addDiagnostic(Diagnostic diagnostic, bool isFatal) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isFatal)
    isStopped = true;
  // One finding for each instruction.
  for (const Diagnostic &known : diagnostics)
    if (known.fault == diagnostic.fault && known.line == diagnostic.line &&
        known.column == diagnostic.column)
      return;
  diagnostics.push_back(std::move(diagnostic));
  if (diagnostics.size() >= launch->maxDiagnostics)
    isStopped = true;
}

Result<std::shared_ptr<Program>> Program::load(std::string_view ptx) {
  auto program = std::make_shared<LoadedProgram>();
  Status status = program->open(ptx);
  if (!status.ok())
    return status;
  return std::shared_ptr<Program>(program);
}
