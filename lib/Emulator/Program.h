// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel ready to be interpreted. Each register of a warp is a row of 32
// lanes in the warp's register file; a predicate is a word with a bit for each
// lane; constants are rows too, shared by all warps. Calls are static: every
// function has its own rows, so that the lanes of a warp may be in different
// calls of it at once. Those of functions that call themselves are saved while
// they do, and their variables are on a stack.

#ifndef DEPLO_LIB_EMULATOR_PROGRAM_H
#define DEPLO_LIB_EMULATOR_PROGRAM_H

#include "deplo/Emulator/Ptx.h"

namespace deplo::emulator {

struct Warp;
struct Inst;

constexpr unsigned lanesPerWarp = 32;
constexpr uint32_t allLanes = ~0u;

/// Executes an instruction for the lanes in `mask`, which is not empty.
using Handler = void (*)(Warp &warp, const Inst &inst, uint32_t mask);

/// Where an operand is.
struct Ref {
  enum Bank : uint8_t { Registers, Constants, Predicate, None };
  Bank bank = None;
  /// A predicate that is read inverted.
  bool isNegated = false;
  /// Bytes of a lane.
  uint8_t bytes = 0;
  /// Of the row in its bank; the number of a predicate.
  uint32_t offset = 0;
  /// For Warp::defined; 0 is always defined.
  uint32_t id = 0;
  /// Of an address.
  int64_t displacement = 0;
};

/// What happens when an operand was never written.
enum class Undefined : uint8_t {
  /// The result is undefined as well.
  Propagate,
  /// It is an error: the operand is an address, or is stored.
  Reject,
  /// Nothing: the operation does not depend on it as a whole.
  Ignore,
  /// That half of each result is undefined as well: arithmetic of pairs, and
  /// their unpacking.
  PropagateHalves,
  /// The lower half of the result is the first source, the upper the second.
  Pack,
  /// As Pack, from the second source and the first.
  PackReversed,
  /// The lower half of the source moves to the upper half of the result, or
  /// the other way round, if it is shifted that far.
  ShiftUp,
  ShiftDown
};

struct Inst {
  Handler run = nullptr;
  /// Results, then sources.
  const Ref *op = nullptr;
  uint16_t results = 0, sources = 0;
  bool hasGuard = false;
  Ref guard;
  Undefined undefined = Undefined::Propagate;
  /// The first of its basic block.
  bool isLeader = false;
  bool isBranch = false;
  /// Ends the path of its lanes: ret, exit, trap.
  bool isEnd = false;
  /// Of wgmma: may use registers that are in flight.
  bool isMatrix = false;
  Type type = Type::None;
  Space space = Space::Generic;
  /// Of a branch or call.
  uint32_t target = 0;
  /// Where the lanes that a branch divides meet again.
  uint32_t reconverge = 0;
  /// Meanings are up to the handler.
  uint32_t a = 0, b = 0, c = 0;
  uint64_t wide = 0;
  /// Index into Kernel::origins.
  uint32_t origin = 0;

  const Ref &result(unsigned n) const { return op[n]; }
  const Ref &source(unsigned n) const { return op[results + n]; }
};

/// Where an instruction was written.
struct Origin {
  Location location;
  std::string_view text;
  std::string_view opcode;
};

/// Values that the warp's rows hold from the start.
struct Ambient {
  enum class Kind : uint8_t {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockX,
    BlockY,
    BlockZ,
    ThreadsX,
    ThreadsY,
    ThreadsZ,
    BlocksX,
    BlocksY,
    BlocksZ,
    Lane,
    Warp,
    Warps,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    ClusterX,
    ClusterY,
    ClusterZ,
    ClustersX,
    ClustersY,
    ClustersZ,
    ClusterBlockX,
    ClusterBlockY,
    ClusterBlockZ,
    ClusterBlocksX,
    ClusterBlocksY,
    ClusterBlocksZ,
    ClusterRank,
    ClusterSize,
    IsCluster,
    Multiprocessor,
    Multiprocessors,
    GridId,
    SharedTotal,
    SharedDynamic,
    WarpSize,
    /// `value` itself.
    Fixed,
    /// The address of the shared or parameter byte at `value`.
    SharedAddress,
    ParameterAddress
  };
  Kind kind;
  uint8_t bytes = 4;
  uint32_t offset = 0;
  uint64_t value = 0;
};

/// A variable's place in shared or local memory.
struct Placement {
  std::string name;
  uint64_t begin = 0, end = 0;
};

/// The widest access, which is aligned to it.
constexpr uint32_t maxGranule = 16;

/// A function that may be entered again before it returns.
struct StackedFunction {
  std::string name;
  /// What its caller saves, if that is stacked too.
  std::vector<Ref> registers;
  /// Rows that hold the address of the byte so far into the frame.
  std::vector<std::pair<Ref, uint64_t>> addresses;
  /// Variables in its frame.
  std::vector<Placement> local;
  /// Of a frame: variables and room for the registers.
  uint64_t bytes = 0, alignment = 16;
};

/// Which machinery a kernel needs at run time.
struct Features {
  bool asyncCopies = false, bulkCopies = false, wgmma = false,
       mbarriers = false;
};

struct Kernel {
  std::string name;
  const Function *function = nullptr;
  std::vector<Inst> code;
  std::vector<Ref> refs;
  std::vector<Origin> origins;
  std::vector<uint8_t> constants;
  std::vector<Ambient> ambients;
  /// Branch and call tables: entries are pcs.
  std::vector<std::vector<uint32_t>> tables;
  uint32_t registerBytes = 0, predicates = 0, ids = 1;
  std::vector<uint32_t> parameterOffsets;
  /// It has variables without a size in shared memory.
  bool namesDynamicShared = false;
  std::vector<Placement> shared, local;
  std::vector<StackedFunction> stacked;
  /// The dynamic shared memory begins here if the kernel names it.
  uint64_t staticSharedBytes = 0, parameterBytes = 0;
  /// Without the stack, which begins there.
  uint64_t localBytes = 0;
  uint32_t sharedAlignment = 16;
  /// The narrowest access to each space, in bytes.
  uint32_t sharedGranule = maxGranule, globalGranule = maxGranule;
  Features features;
};

/// Shared addresses begin here: the first kilobyte is the system's, as on
/// sm_90.
constexpr uint32_t sharedBase = 1024;
/// Bits of a shared address that are the offset; the block's rank in its
/// cluster is above.
constexpr unsigned sharedRankShift = 24;
/// Generic addresses of shared and local memory have a tag above a pointer.
constexpr unsigned spaceTagShift = 56;
constexpr uint64_t sharedTag = 1, localTag = 2;
/// Between variables, so that an overrun is seen. A multiple of all banks.
constexpr uint64_t redZone = 128;

/// Variables of the module in memory.
struct GlobalImage {
  std::map<std::string_view, Placement> variables;
  /// The host's memory that holds them.
  uint64_t base = 0;
};

/// Decodes kernel `function` of `module`. `image` has the module's variables.
runtime::Result<Kernel> decodeKernel(const Module &module,
                                     const Function &function,
                                     const GlobalImage &image);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_PROGRAM_H
