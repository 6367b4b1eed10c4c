// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What names stand for, and where variables are.

#include "Float.h"
#include "KernelDecoder.h"

#include <algorithm>
#include <set>

using namespace deplo::emulator;

namespace {

const SpecialRegister specialRegisters[] = {
    {"%tid.x", Ambient::Kind::ThreadX},
    {"%tid.y", Ambient::Kind::ThreadY},
    {"%tid.z", Ambient::Kind::ThreadZ},
    {"%ctaid.x", Ambient::Kind::BlockX},
    {"%ctaid.y", Ambient::Kind::BlockY},
    {"%ctaid.z", Ambient::Kind::BlockZ},
    {"%ntid.x", Ambient::Kind::ThreadsX},
    {"%ntid.y", Ambient::Kind::ThreadsY},
    {"%ntid.z", Ambient::Kind::ThreadsZ},
    {"%nctaid.x", Ambient::Kind::BlocksX},
    {"%nctaid.y", Ambient::Kind::BlocksY},
    {"%nctaid.z", Ambient::Kind::BlocksZ},
    {"%laneid", Ambient::Kind::Lane},
    {"%warpid", Ambient::Kind::Warp},
    {"%nwarpid", Ambient::Kind::Warps},
    {"%lanemask_eq", Ambient::Kind::LaneMaskEq},
    {"%lanemask_lt", Ambient::Kind::LaneMaskLt},
    {"%lanemask_le", Ambient::Kind::LaneMaskLe},
    {"%lanemask_gt", Ambient::Kind::LaneMaskGt},
    {"%lanemask_ge", Ambient::Kind::LaneMaskGe},
    {"%clusterid.x", Ambient::Kind::ClusterX},
    {"%clusterid.y", Ambient::Kind::ClusterY},
    {"%clusterid.z", Ambient::Kind::ClusterZ},
    {"%nclusterid.x", Ambient::Kind::ClustersX},
    {"%nclusterid.y", Ambient::Kind::ClustersY},
    {"%nclusterid.z", Ambient::Kind::ClustersZ},
    {"%cluster_ctaid.x", Ambient::Kind::ClusterBlockX},
    {"%cluster_ctaid.y", Ambient::Kind::ClusterBlockY},
    {"%cluster_ctaid.z", Ambient::Kind::ClusterBlockZ},
    {"%cluster_nctaid.x", Ambient::Kind::ClusterBlocksX},
    {"%cluster_nctaid.y", Ambient::Kind::ClusterBlocksY},
    {"%cluster_nctaid.z", Ambient::Kind::ClusterBlocksZ},
    {"%cluster_ctarank", Ambient::Kind::ClusterRank},
    {"%cluster_nctarank", Ambient::Kind::ClusterSize},
    {"%smid", Ambient::Kind::Multiprocessor},
    {"%nsmid", Ambient::Kind::Multiprocessors},
    {"%gridid", Ambient::Kind::GridId, 8},
    {"%total_smem_size", Ambient::Kind::SharedTotal},
    {"%aggr_smem_size", Ambient::Kind::SharedTotal},
    {"%dynamic_smem_size", Ambient::Kind::SharedDynamic},
    {"WARP_SZ", Ambient::Kind::WarpSize},
    {"%is_explicit_cluster", Ambient::Kind::IsCluster},
    {"%reserved_smem_offset_begin", Ambient::Kind::Fixed, 4, 0},
    {"%reserved_smem_offset_end", Ambient::Kind::Fixed, 4, sharedBase},
    {"%reserved_smem_offset_cap", Ambient::Kind::Fixed, 4, sharedBase},
    {"%reserved_smem_offset_0", Ambient::Kind::Fixed, 4, 0},
    {"%reserved_smem_offset_1", Ambient::Kind::Fixed, 4, 0},
};

/// Puts `variable` at or after `end`, and moves that past it.
uint64_t placeAt(std::vector<Placement> &places, uint64_t &end,
                 const Variable &variable) {
  uint64_t alignment = std::max<uint64_t>(variable.alignment, 1);
  uint64_t begin = (end + alignment - 1) / alignment * alignment;
  places.push_back({std::string(variable.name), begin, begin + variable.bytes});
  end = begin + variable.bytes;
  return begin;
}

} // namespace

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void KernelDecoder::placeVariables() {
  // Shared variables: those that the kernel's functions name.
  uint64_t sharedEnd = 0, localEnd = 0;
  std::set<const Variable *> named;
  std::vector<const Variable *> shared, unsized;
  auto addShared = [&](const Variable &variable) {
    if (variable.space != Space::Shared || !named.insert(&variable).second)
      return;
    (variable.isUnsized ? unsized : shared).push_back(&variable);
  };
  for (const Function *function : functions) {
    for (const Variable &variable : function->variables)
      addShared(variable);
    std::set<std::string_view> names;
    for (const Instruction &ast : function->instructions)
      forNames(ast.operands,
               [&](const Operand &operand) { names.insert(operand.name); });
    for (const Variable &variable : module.variables)
      if (names.count(variable.name))
        addShared(variable);
  }
  for (const Variable *variable : shared) {
    kernel.sharedAlignment =
        std::max(kernel.sharedAlignment, variable->alignment);
    sharedOffsets[variable] = placeAt(kernel.shared, sharedEnd, *variable);
  }
  uint32_t alignment = 16;
  for (const Variable *variable : unsized)
    alignment = std::max(alignment, variable->alignment);
  // The hardware takes that many bytes of each block's shared memory, and the
  // rest begins behind them.
  constexpr uint32_t reservedBytes = 1024;
  if (alignment > reservedBytes)
    fail(unsized.front()->location,
         "shared memory that is given at launch begins at a multiple of " +
             std::to_string(reservedBytes) + " bytes, not of " +
             std::to_string(alignment));
  sharedEnd = (sharedEnd + alignment - 1) / alignment * alignment;
  for (const Variable *variable : unsized)
    sharedOffsets[variable] = sharedEnd;
  kernel.staticSharedBytes = sharedEnd;
  kernel.namesDynamicShared = !unsized.empty();

  // Local variables, and the parameters of calls.
  for (const Function *function : functions) {
    StackedFunction *stack = stackedFunction(*function);
    uint64_t frameEnd = 0;
    uint64_t &end = stack ? frameEnd : localEnd;
    std::vector<Placement> &places = stack ? stack->local : kernel.local;
    for (const Variable &variable : function->variables) {
      bool isKernelParameter = function->isKernel &&
                               variable.space == Space::Param &&
                               parameterOffsets.count(&variable);
      if (isKernelParameter ||
          (variable.space != Space::Local && variable.space != Space::Param))
        continue;
      end += end ? 16 : 0; // Apart, so that an overrun is seen.
      localOffsets[&variable] = placeAt(places, end, variable);
      if (stack)
        stack->alignment =
            std::max<uint64_t>(stack->alignment, variable.alignment);
    }
    if (stack)
      stack->bytes = frameEnd;
  }
  kernel.localBytes = (localEnd + 15) / 16 * 16;
}

uint32_t KernelDecoder::localOffset(const Variable &variable) const {
  auto found = localOffsets.find(&variable);
  return found == localOffsets.end() ? ~0u : uint32_t(found->second);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Entity KernelDecoder::lookUp(std::string_view name, uint32_t scope) const {
  Entity entity;
  const Function &function = *current->function;
  std::string_view prefix = name;
  while (!prefix.empty() && prefix.back() >= '0' && prefix.back() <= '9')
    prefix.remove_suffix(1);
  std::string_view digits = name.substr(prefix.size());
  for (std::optional<uint32_t> at = scope; at;
       at = function.scopes[*at].parent) {
    const Scope &names = function.scopes[*at];
    auto single = names.registers.find(name);
    Type type = Type::None;
    if (single != names.registers.end())
      type = single->second;
    // The prefix of a family may end with digits itself.
    for (size_t length = prefix.size();
         type == Type::None && length < name.size(); ++length) {
      auto family = names.families.find(name.substr(0, length));
      if (family == names.families.end())
        continue;
      digits = name.substr(length);
      uint64_t number = 0;
      for (char digit : digits)
        number = std::min<uint64_t>(number * 10 + uint64_t(digit - '0'), ~0u);
      if (number < family->second.count &&
          (digits.size() == 1 || digits[0] != '0'))
        type = family->second.type;
    }
    if (type != Type::None) {
      entity.kind =
          type == Type::Pred ? Entity::Kind::Predicate : Entity::Kind::Register;
      entity.type = type;
      entity.scope = *at;
      return entity;
    }
    auto variable = names.variables.find(name);
    if (variable != names.variables.end()) {
      entity.kind = Entity::Kind::Variable;
      entity.variable = &function.variables[variable->second];
      return entity;
    }
  }
  for (const SpecialRegister &special : specialRegisters)
    if (special.name == name) {
      entity.kind = Entity::Kind::Special;
      entity.special = &special;
      return entity;
    }
  for (const Variable &variable : module.variables)
    if (variable.name == name) {
      entity.kind = Entity::Kind::Variable;
      entity.variable = &variable;
      if (!variable.isExternal || variable.space == Space::Shared)
        return entity;
    }
  if (entity.kind == Entity::Kind::None)
    if (const Function *found = findFunction(name)) {
      entity.kind = Entity::Kind::Function;
      entity.function = found;
    }
  return entity;
}

uint32_t KernelDecoder::registerBytes(const Operand &operand) {
  if (operand.kind != Operand::Kind::Name)
    return 0;
  Entity entity = lookUp(operand.name, instruction->scope);
  if (entity.kind == Entity::Kind::Special)
    return entity.special->bytes;
  return entity.kind == Entity::Kind::Register ? typeSize(entity.type) : 0;
}

Ref KernelDecoder::registerRef(const Entity &entity, std::string_view name,
                               Location location) {
  Ref &ref = current->registers[{entity.scope, name}];
  if (ref.bank != Ref::None)
    return ref;
  ref.id = kernel.ids++;
  if (entity.type == Type::Pred) {
    ref.bank = Ref::Predicate;
    ref.offset = kernel.predicates++;
    return ref;
  }
  uint32_t id = ref.id;
  ref = newRow(uint8_t(typeSize(entity.type)), location);
  ref.id = id;
  return ref;
}

Ref KernelDecoder::newRow(uint8_t bytes, Location location) {
  constexpr uint32_t maxBytes = 64u << 20;
  Ref ref;
  ref.bank = Ref::Registers;
  ref.bytes = bytes;
  ref.offset = kernel.registerBytes;
  kernel.registerBytes += lanesPerWarp * bytes;
  if (kernel.registerBytes > maxBytes)
    fail(location, "the kernel has too many registers");
  return ref;
}

Ref KernelDecoder::ambientRef(Ambient::Kind kind, uint8_t bytes,
                              uint64_t value) {
  Ref &ref = ambients[{kind, bytes, value}];
  if (ref.bank == Ref::Registers)
    return ref;
  ref.bank = Ref::Registers;
  ref.bytes = bytes;
  ref.offset = kernel.registerBytes;
  kernel.registerBytes += lanesPerWarp * bytes;
  kernel.ambients.push_back({kind, bytes, ref.offset, value});
  return ref;
}

Ref KernelDecoder::constantRef(uint32_t bytes, uint64_t bits) {
  if (bytes < 8)
    bits &= (uint64_t(1) << (8 * bytes)) - 1;
  auto [found, isNew] = constants.emplace(std::pair(bytes, bits),
                                          uint32_t(kernel.constants.size()));
  if (isNew) {
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
      for (unsigned byte = 0; byte < bytes; ++byte)
        kernel.constants.push_back(byte < 8 ? uint8_t(bits >> (8 * byte))
                                            : uint8_t(0));
    }
  }
  Ref ref;
  ref.bank = Ref::Constants;
  ref.bytes = uint8_t(bytes);
  ref.offset = found->second;
  return ref;
}

/// The address of a variable in its space.
Ref KernelDecoder::variableRef(const Variable &variable, uint32_t bytes,
                               uint64_t offset) {
  if (auto found = sharedOffsets.find(&variable); found != sharedOffsets.end())
    return ambientRef(Ambient::Kind::SharedAddress, uint8_t(bytes),
                      found->second + sharedBase + offset);
  if (auto found = parameterOffsets.find(&variable);
      found != parameterOffsets.end())
    return ambientRef(Ambient::Kind::ParameterAddress, uint8_t(bytes),
                      found->second + offset);
  if (auto found = localOffsets.find(&variable); found != localOffsets.end())
    return stackedFunction(*current->function)
               ? frameRef(uint8_t(bytes), found->second + offset)
               : constantRef(bytes, found->second + offset);
  auto global = image.variables.find(variable.name);
  uint64_t address =
      global == image.variables.end() ? 0 : image.base + global->second.begin;
  return constantRef(bytes, address + offset);
}

uint64_t KernelDecoder::immediateBits(const Operand &operand, Type type) const {
  if (operand.kind == Operand::Kind::Integer) {
    if (type == Type::F32)
      return asBits(float(int64_t(operand.bits)));
    if (type == Type::F64)
      return asBits(double(int64_t(operand.bits)));
    return operand.bits;
  }
  double value = operand.isSingle ? double(asFloat(uint32_t(operand.bits)))
                                  : asDouble(operand.bits);
  switch (typeSize(type)) {
  case 2:
    return encode(type == Type::BF16 ? bf16Format : f16Format, value,
                  Rounding::NearestEven);
  case 4:
    return operand.isSingle ? operand.bits : asBits(float(value));
  default:
    return operand.isSingle ? asBits(value) : operand.bits;
  }
}
