// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs PTX kernels on the CPU and checks what they do:
//
//   Result<std::shared_ptr<Program>> program = Program::load(text);
//   Launch launch;
//   launch.kernel = "add";
//   launch.grid = {4, 1, 1};
//   launch.block = {128, 1, 1};
//   launch.parameters = ...;               // the bytes of the parameters
//   launch.regions = {{"x", x, bytes}};    // memory the kernel may touch
//   Outcome outcome = (*program)->run(launch);

#ifndef DEPLO_EMULATOR_EMULATOR_H
#define DEPLO_EMULATOR_EMULATOR_H

#include "deplo/Runtime/Status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deplo::emulator {

using Extent = std::array<uint32_t, 3>;

/// Memory that a kernel may touch.
struct Region {
  std::string name;
  void *memory = nullptr;
  uint64_t bytes = 0;
  bool isWritable = true;
  /// Its bytes have values before the launch.
  bool isInitialized = true;
};

/// What can be found wrong with a launch.
enum class Fault : uint8_t {
  Launch,
  Unsupported,
  OutOfBounds,
  Misaligned,
  ReadOnly,
  Uninitialized,
  UndefinedRegister,
  Race,
  BarrierDivergence,
  Deadlock,
  AsyncCopy,
  Matrix,
  Resources,
  Budget,
  Trap
};

/// As in "out-of-bounds access".
std::string_view faultName(Fault fault);

struct Diagnostic {
  Fault fault = Fault::Launch;
  /// Of the PTX text; 0 where no instruction is to blame.
  uint32_t line = 0, column = 0;
  std::string instruction;
  Extent block = {}, thread = {};
  bool hasThread = false;
  uint64_t address = 0;
  bool hasAddress = false;
  std::string message;

  /// "12:3: out-of-bounds access: ... in `ld.global.f32 ...` (block ...)".
  std::string text() const;
};

/// The facts of the GPU that is emulated.
struct Machine {
  std::string target = "sm_90a";
  uint32_t multiprocessors = 132;
  uint32_t maxSharedBytesPerBlock = 227 * 1024;
  uint32_t sharedBytesPerMultiprocessor = 228 * 1024;
  uint32_t registersPerBlock = 64 * 1024;
  uint32_t maxThreadsPerBlock = 1024;
  uint32_t warpsPerMultiprocessor = 64;
  uint32_t maxClusterBlocks = 16;
};

struct Checks {
  bool races = true;
  /// Reads of memory and registers that nothing wrote.
  bool uninitialized = true;
};

struct Launch {
  std::string kernel;
  Extent grid = {1, 1, 1}, block = {1, 1, 1};
  /// Zero: as the kernel says, else one block.
  Extent cluster = {0, 0, 0};
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
  std::vector<Region> regions;
  Machine machine;
  Checks checks;
  /// Warp instructions of the whole grid; 0 for no bound.
  uint64_t instructionBudget = uint64_t(1) << 34;
  /// Of each thread, for functions that call themselves.
  uint64_t stackBytes = 64 * 1024;
  /// Host threads; 0 for one for each core.
  unsigned workers = 0;
  /// Different findings that end the launch.
  unsigned maxDiagnostics = 16;
};

/// Of one PTX instruction, over the whole grid.
struct InstructionCounters {
  uint32_t line = 0;
  std::string text;
  std::string opcode;
  /// Times a warp executed it, and the sum of active lanes.
  uint64_t warps = 0, threads = 0;
  /// Branches whose lanes went both ways.
  uint64_t divergent = 0;
  /// Memory: requests of warps; bytes the lanes asked for; 32-byte sectors of
  /// global memory; cycles of the shared-memory banks, and the least that so
  /// many bytes need.
  uint64_t requests = 0, bytes = 0, sectors = 0, wavefronts = 0,
           idealWavefronts = 0;
  /// The most wavefronts that one request took.
  uint32_t maxWavefronts = 0;
  /// Bytes of one lane's access.
  uint32_t accessBytes = 0;
  /// Multiply-adds of the tensor cores.
  uint64_t tensorOperations = 0;
};

struct Counters {
  uint64_t warpInstructions = 0, threadInstructions = 0;
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0, globalSectors = 0,
           globalRequests = 0;
  uint64_t sharedBytes = 0, sharedWavefronts = 0, sharedIdealWavefronts = 0,
           sharedRequests = 0;
  uint64_t localBytes = 0;
  uint64_t barriers = 0, divergentBranches = 0, tensorOperations = 0;
  std::vector<InstructionCounters> instructions;

  /// 32-byte sectors that were needed for what was moved; 1 is ideal.
  double coalescing() const;
  /// Wavefronts for each that was needed; 1 is free of conflicts.
  double conflictDegree() const;
};

std::string countersJson(const Counters &counters);
std::string countersTable(const Counters &counters);

struct Outcome {
  std::vector<Diagnostic> diagnostics;
  Counters counters;
  double seconds = 0;

  bool ok() const { return diagnostics.empty(); }
};

struct ParameterInfo {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

struct KernelSummary {
  std::string name;
  std::vector<ParameterInfo> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0, localBytes = 0;
  /// All zero where the kernel does not say.
  Extent requiredThreads = {}, maxThreads = {}, cluster = {};
};

/// A PTX module: its kernels, decoded, and its variables, which keep their
/// values from launch to launch. One launch at a time.
class Program {
public:
  /// The error names the line and column.
  static runtime::Result<std::shared_ptr<Program>> load(std::string_view ptx);

  virtual ~Program() = default;
  virtual std::vector<KernelSummary> kernels() const = 0;
  virtual Outcome run(const Launch &launch) = 0;
  /// The memory of a module's variable; null if there is none.
  virtual Region variable(std::string_view name) = 0;
};

} // namespace deplo::emulator

#endif // DEPLO_EMULATOR_EMULATOR_H
