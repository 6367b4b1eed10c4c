// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of a kernel and the functions that it calls to instructions
// that can be interpreted.

#include "ControlFlow.h"
#include "Definition.h"
#include "Float.h"

#include <algorithm>
#include <set>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

namespace {

struct SpecialRegister {
  std::string_view name;
  Ambient::Kind kind;
  uint8_t bytes = 4;
  uint64_t value = 0;
};

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

/// What a name stands for.
struct Entity {
  enum class Kind { None, Register, Predicate, Variable, Special, Function };
  Kind kind = Kind::None;
  Type type = Type::None;
  /// The scope that declares a register.
  uint32_t scope = 0;
  const Variable *variable = nullptr;
  const SpecialRegister *special = nullptr;
  const Function *function = nullptr;
};

class KernelDecoder : public Decoder {
public:
  KernelDecoder(const Module &module, const GlobalImage &image)
      : module(module), image(image) {}

  Result<Kernel> decode(const Function &function);

  void fail(Location at, const std::string &message) override {
    if (!error)
      error = std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              message;
  }
  void addResult(const Operand &operand, Type type, bool mayBeWider) override;
  void addSource(const Operand &operand, Type type, bool mayBeWider) override;
  void addAddress(const Operand &operand) override;
  void addPredicate(const Operand &operand, bool isResult) override;
  std::optional<int64_t> constant(const Operand &operand) override;
  void setTarget(const Operand &label) override;
  uint32_t table(const Operand &name) override;
  uint32_t registerBytes(const Operand &operand) override;
  Features &features() override { return kernel.features; }
  void noteAccess(Space space, uint32_t bytes) override;

private:
  /// A function's code and names while it is decoded.
  struct Frame {
    const Function *function = nullptr;
    uint32_t begin = 0, end = 0;
    /// Of each AST instruction.
    std::vector<uint32_t> pcs;
    std::map<std::pair<uint32_t, std::string_view>, Ref> registers;
  };
  struct Fixup {
    uint32_t pc;
    const Instruction *ast;
    std::string_view label;
    Location location;
  };

  void collect(const Function &function, std::vector<const Function *> &path);
  void placeVariables();
  void decodeFunction(Frame &frame);
  void decodeInstruction(const Instruction &ast);
  void decodeOperands(const Definition &definition, Form &form);
  void decodeCall(const Instruction &ast);
  void emitCopy(const Instruction &ast, const Operand &argument,
                const Variable &formal, const Function &callee, bool isIn);
  void emit(Inst inst, const Instruction &ast);
  void resolveBranches(Frame &frame);

  const Function *findFunction(std::string_view name) const;
  Entity lookUp(std::string_view name, uint32_t scope) const;
  Ref registerRef(const Entity &entity, std::string_view name,
                  Location location);
  Ref ambientRef(Ambient::Kind kind, uint8_t bytes, uint64_t value);
  Ref constantRef(uint32_t bytes, uint64_t bits);
  Ref variableRef(const Variable &variable, uint32_t bytes, uint64_t offset);
  uint64_t immediateBits(const Operand &operand, Type type) const;
  uint32_t localOffset(const Variable &variable) const;

  const Module &module;
  const GlobalImage &image;
  Kernel kernel;
  std::optional<std::string> error;

  std::vector<const Function *> functions;
  std::map<const Function *, Frame> frames;
  std::map<const Variable *, uint64_t> sharedOffsets, localOffsets,
      parameterOffsets;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> constants;
  std::map<std::tuple<Ambient::Kind, uint8_t, uint64_t>, Ref> ambients;

  // Of the instruction being decoded.
  Frame *current = nullptr;
  const Instruction *instruction = nullptr;
  std::vector<Ref> results, sources;
  std::optional<std::string_view> target;
  Location targetLocation;
  bool addressIsLocal = false;
  std::vector<Fixup> fixups;
  /// Calls, whose targets are known once all functions are decoded.
  std::vector<std::pair<uint32_t, const Function *>> calls;
  std::vector<std::pair<uint32_t, const Instruction *>> tableUses;
  std::map<uint32_t, std::vector<uint32_t>> branchTargets;
  std::vector<std::pair<uint32_t, std::string_view>> tableNames;
  std::vector<uint32_t> returnBranches;
  uint32_t originBase = 0;
};

//===----------------------------------------------------------------------===//
// Functions and variables
//===----------------------------------------------------------------------===//

const Function *KernelDecoder::findFunction(std::string_view name) const {
  const Function *found = nullptr;
  for (const Function &function : module.functions)
    if (function.name == name && (!found || function.hasBody))
      found = &function;
  return found;
}

template <typename Visit>
void forNames(const std::vector<Operand> &operands, Visit &&visit) {
  for (const Operand &operand : operands) {
    if (operand.kind == Operand::Kind::Name)
      visit(operand);
    forNames(operand.elements, visit);
  }
}

void KernelDecoder::collect(const Function &function,
                            std::vector<const Function *> &path) {
  if (std::find(path.begin(), path.end(), &function) != path.end())
    return fail(function.location, "'" + std::string(function.name) +
                                       "' calls itself, which can't be "
                                       "emulated");
  if (frames.count(&function) || !function.hasBody)
    return;
  path.push_back(&function);
  for (const Instruction &ast : function.instructions)
    forNames(ast.operands, [&](const Operand &operand) {
      if (error || (operand.name[0] == '%' && ast.opcode != "call"))
        return;
      bool isCall = ast.opcode == "call";
      if (const Function *callee = findFunction(operand.name))
        if (isCall || !callee->isKernel)
          collect(*callee, path);
    });
  path.pop_back();
  frames[&function].function = &function;
  functions.push_back(&function);
}

/// Puts `variable` at or after `end`, and moves that past it.
uint64_t placeAt(std::vector<Placement> &places, uint64_t &end,
                 const Variable &variable) {
  uint64_t alignment = std::max<uint64_t>(variable.alignment, 1);
  uint64_t begin = (end + alignment - 1) / alignment * alignment;
  places.push_back({std::string(variable.name), begin, begin + variable.bytes});
  end = begin + variable.bytes;
  return begin;
}

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
  sharedEnd = (sharedEnd + alignment - 1) / alignment * alignment;
  for (const Variable *variable : unsized)
    sharedOffsets[variable] = sharedEnd;
  kernel.staticSharedBytes = sharedEnd;
  kernel.namesDynamicShared = !unsized.empty();

  // Local variables, and the parameters of calls.
  for (const Function *function : functions)
    for (const Variable &variable : function->variables) {
      bool isKernelParameter = function->isKernel &&
                               variable.space == Space::Param &&
                               parameterOffsets.count(&variable);
      if (isKernelParameter ||
          (variable.space != Space::Local && variable.space != Space::Param))
        continue;
      localEnd += localEnd ? 16 : 0; // Apart, so that an overrun is seen.
      localOffsets[&variable] = placeAt(kernel.local, localEnd, variable);
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
  constexpr uint32_t maxBytes = 64u << 20;
  ref.bank = Ref::Registers;
  ref.bytes = uint8_t(typeSize(entity.type));
  ref.offset = kernel.registerBytes;
  kernel.registerBytes += lanesPerWarp * ref.bytes;
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
    return constantRef(bytes, found->second + offset);
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

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void KernelDecoder::addResult(const Operand &operand, Type type,
                              bool mayBeWider) {
  Ref ref;
  if (operand.kind == Operand::Kind::Sink) {
    ref.bytes = uint8_t(typeSize(type));
    results.push_back(ref);
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a register for the result");
  Entity entity = lookUp(operand.name, instruction->scope);
  if (entity.kind != Entity::Kind::Register)
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not a register");
  uint32_t bytes = typeSize(entity.type), wanted = typeSize(type);
  if (mayBeWider ? bytes < wanted : bytes != wanted)
    return fail(operand.location, "'" + std::string(operand.name) + "' has " +
                                      std::to_string(8 * bytes) +
                                      " bits, expected " +
                                      std::to_string(8 * wanted) + " for '." +
                                      std::string(typeName(type)) + "'");
  results.push_back(registerRef(entity, operand.name, operand.location));
}

void KernelDecoder::addSource(const Operand &operand, Type type,
                              bool mayBeWider) {
  uint32_t wanted = typeSize(type);
  if (operand.kind == Operand::Kind::Integer ||
      operand.kind == Operand::Kind::Float) {
    sources.push_back(constantRef(wanted, immediateBits(operand, type)));
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a register or a constant");
  Entity entity = lookUp(operand.name, instruction->scope);
  switch (entity.kind) {
  case Entity::Kind::Register: {
    uint32_t bytes = typeSize(entity.type);
    if (mayBeWider ? bytes < wanted : bytes != wanted)
      return fail(operand.location, "'" + std::string(operand.name) + "' has " +
                                        std::to_string(8 * bytes) +
                                        " bits, expected " +
                                        std::to_string(8 * wanted) + " for '." +
                                        std::string(typeName(type)) + "'");
    sources.push_back(registerRef(entity, operand.name, operand.location));
    return;
  }
  case Entity::Kind::Special:
    sources.push_back(
        ambientRef(entity.special->kind,
                   uint8_t(mayBeWider ? entity.special->bytes : wanted),
                   entity.special->value));
    return;
  case Entity::Kind::Variable:
    if (wanted != 4 && wanted != 8)
      return fail(operand.location, "an address has 32 or 64 bits");
    sources.push_back(variableRef(*entity.variable, wanted, operand.bits));
    return;
  case Entity::Kind::Function:
    return fail(operand.location,
                "the address of a function can't be emulated");
  default:
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not known here");
  }
}

void KernelDecoder::addAddress(const Operand &operand) {
  if (operand.kind != Operand::Kind::Address || operand.elements.empty())
    return fail(operand.location, "expected an address as '[register+4]'");
  const Operand &base = operand.elements[0];
  Ref ref;
  if (base.kind == Operand::Kind::Integer) {
    ref = constantRef(8, base.bits);
  } else if (base.kind != Operand::Kind::Name) {
    return fail(base.location, "expected a register or a variable");
  } else {
    Entity entity = lookUp(base.name, instruction->scope);
    uint32_t bytes =
        entity.kind == Entity::Kind::Register ? typeSize(entity.type) : 8;
    if (entity.kind == Entity::Kind::Register && (bytes == 4 || bytes == 8))
      ref = registerRef(entity, base.name, base.location);
    else if (entity.kind == Entity::Kind::Variable)
      ref = variableRef(*entity.variable, 8, 0);
    else
      return fail(base.location,
                  "'" + std::string(base.name) + "' is not an address");
    if (entity.variable)
      addressIsLocal = entity.variable->space == Space::Param &&
                       localOffsets.count(entity.variable);
  }
  ref.displacement = int64_t(operand.bits);
  sources.push_back(ref);
}

void KernelDecoder::addPredicate(const Operand &operand, bool isResult) {
  Ref ref;
  if (operand.kind == Operand::Kind::Sink && isResult) {
    results.push_back(ref);
    return;
  }
  if (operand.kind == Operand::Kind::Integer && !isResult) {
    // A constant: predicates past the last are set up by the decoder.
    ref.bank = Ref::Predicate;
    ref.offset = 1; // Always true.
    ref.isNegated = operand.bits == 0;
    sources.push_back(ref);
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a predicate");
  Entity entity = lookUp(operand.name, instruction->scope);
  if (entity.kind != Entity::Kind::Predicate)
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not a predicate");
  ref = registerRef(entity, operand.name, operand.location);
  ref.isNegated = operand.isNegated;
  if (isResult && operand.isNegated)
    return fail(operand.location, "a result can't be negated");
  (isResult ? results : sources).push_back(ref);
}

std::optional<int64_t> KernelDecoder::constant(const Operand &operand) {
  if (operand.kind == Operand::Kind::Integer)
    return int64_t(operand.bits);
  return std::nullopt;
}

void KernelDecoder::setTarget(const Operand &label) {
  if (label.kind != Operand::Kind::Name)
    return fail(label.location, "expected a label");
  target = label.name;
  targetLocation = label.location;
}

uint32_t KernelDecoder::table(const Operand &name) {
  const Function &function = *current->function;
  for (std::optional<uint32_t> at = instruction->scope; at;
       at = function.scopes[*at].parent) {
    auto found = function.scopes[*at].tables.find(name.name);
    if (found == function.scopes[*at].tables.end())
      continue;
    kernel.tables.emplace_back();
    tableUses.push_back({uint32_t(kernel.tables.size() - 1), instruction});
    tableNames.push_back({*at, found->first});
    return uint32_t(kernel.tables.size() - 1);
  }
  fail(name.location, "expected a table of labels");
  return 0;
}

void KernelDecoder::noteAccess(Space space, uint32_t bytes) {
  bytes = std::clamp(bytes, 1u, 16u);
  bytes &= -bytes;
  if (space == Space::Shared || space == Space::Generic)
    kernel.sharedGranule = std::min(kernel.sharedGranule, bytes);
  if (space == Space::Global || space == Space::Generic)
    kernel.globalGranule = std::min(kernel.globalGranule, bytes);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

void KernelDecoder::decodeOperands(const Definition &definition, Form &form) {
  const std::vector<Operand> &operands = form.ast.operands;
  std::string_view spec = definition.operands;
  size_t next = 0;
  while (!spec.empty() && !error) {
    size_t end = spec.find(' ');
    std::string_view word = spec.substr(0, end);
    spec = end == std::string_view::npos ? std::string_view()
                                         : spec.substr(end + 1);
    if (word.substr(0, 3) == "...") {
      size_t least = size_t(word[3] - '0');
      if (operands.size() - std::min(next, operands.size()) < least)
        fail(form.ast.location,
             "expected at least " + std::to_string(least) + " operands");
      return;
    }
    bool isOptional = word.back() == '?';
    if (isOptional)
      word.remove_suffix(1);
    if (next >= operands.size()) {
      if (isOptional)
        continue;
      return fail(form.ast.location, "too few operands for '" +
                                         std::string(form.ast.opcode) + "'");
    }
    const Operand *operand = &operands[next++];
    bool isLoose = word[0] == '~';
    if (isLoose)
      word.remove_prefix(1);
    bool isResult = word[0] == '=';
    if (isResult)
      word.remove_prefix(1);
    if (word == "@")
      continue;
    if (word == "[]") {
      addAddress(*operand);
      continue;
    }
    if (size_t bar = word.find('|'); bar != std::string_view::npos) {
      word = word.substr(0, bar);
      const Operand *second = nullptr;
      if (operand->kind == Operand::Kind::Pair) {
        second = &operand->elements[1];
        operand = &operand->elements[0];
      }
      if (word == "p")
        addPredicate(*operand, true);
      else
        addResult(*operand, word == "T" ? form.type() : *parseType(word),
                  false);
      if (second)
        addPredicate(*second, true);
      continue;
    }
    if (word == "p") {
      addPredicate(*operand, isResult);
      continue;
    }
    Type type = word == "T"   ? form.type(0)
                : word == "U" ? form.type(1)
                : word == "V" ? form.type(2)
                : word == "W" ? widened(form.type(0))
                              : *parseType(word);
    isResult ? addResult(*operand, type, isLoose)
             : addSource(*operand, type, isLoose);
  }
  if (!error && next < operands.size())
    fail(operands[next].location,
         "too many operands for '" + std::string(form.ast.opcode) + "'");
}

void KernelDecoder::emit(Inst inst, const Instruction &ast) {
  inst.results = uint16_t(results.size());
  inst.sources = uint16_t(sources.size());
  // An index for now: the vector moves as it grows.
  inst.op = reinterpret_cast<const Ref *>(kernel.refs.size());
  kernel.refs.insert(kernel.refs.end(), results.begin(), results.end());
  kernel.refs.insert(kernel.refs.end(), sources.begin(), sources.end());
  results.clear();
  sources.clear();
  if (!ast.guard.empty()) {
    Operand guard;
    guard.kind = Operand::Kind::Name;
    guard.name = ast.guard;
    guard.location = ast.location;
    guard.isNegated = ast.isGuardNegated;
    addPredicate(guard, false);
    if (error)
      return;
    inst.guard = sources.back();
    inst.hasGuard = true;
    sources.clear();
  }
  inst.origin =
      uint32_t(&ast - current->function->instructions.data()) + originBase;
  kernel.code.push_back(inst);
}

void KernelDecoder::decodeInstruction(const Instruction &ast) {
  instruction = &ast;
  target.reset();
  addressIsLocal = false;
  if (ast.opcode == "call")
    return decodeCall(ast);
  Form form = {*this, ast, {}, {}};
  std::string message;
  const Definition *definition = findDefinition(ast, form, message);
  if (!definition)
    return fail(ast.location, message + " in '" + std::string(ast.text) + "'");
  Inst inst;
  decodeOperands(*definition, form);
  if (error)
    return;
  inst.run = definition->select(form, inst);
  if (error)
    return;
  if (!inst.run)
    return fail(ast.location, "this form of '" + std::string(ast.opcode) +
                                  "' can't be emulated");
  if (addressIsLocal)
    inst.space = Space::Local;
  uint32_t pc = uint32_t(kernel.code.size());
  if (ast.opcode == "ret" && !current->function->isKernel) {
    // To the one return at the end.
    inst = Inst();
    inst.isBranch = true;
    inst.run = branchHandler();
    returnBranches.push_back(pc);
  }
  emit(inst, ast);
  if (target)
    fixups.push_back({pc, &ast, *target, targetLocation});
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// An argument into a callee's parameter, or a result out of it.
void KernelDecoder::emitCopy(const Instruction &ast, const Operand &argument,
                             const Variable &formal, const Function &callee,
                             bool isIn) {
  Frame *caller = current;
  Inst inst;
  if (formal.space == Space::Register) {
    Frame &frame = frames[&callee];
    current = &frame;
    Entity entity;
    entity.type = formal.type;
    Ref ref = registerRef(entity, formal.name, argument.location);
    current = caller;
    (isIn ? results : sources).push_back(ref);
    isIn ? addSource(argument, formal.type, false)
         : addResult(argument, formal.type, false);
    inst.run = moveHandler(typeSize(formal.type));
    return emit(inst, ast);
  }
  const Variable *inner = nullptr;
  for (const Variable &variable : callee.variables)
    if (variable.name == formal.name)
      inner = &variable;
  Entity entity = argument.kind == Operand::Kind::Name
                      ? lookUp(argument.name, ast.scope)
                      : Entity();
  if (!inner || entity.kind != Entity::Kind::Variable ||
      localOffset(*entity.variable) == ~0u)
    return fail(argument.location, "expected a '.param' variable");
  if (entity.variable->bytes < formal.bytes)
    return fail(argument.location, "the argument is smaller than the "
                                   "parameter");
  inst.run = copyParameterHandler();
  inst.a = localOffset(*entity.variable);
  inst.b = localOffset(*inner);
  if (!isIn)
    std::swap(inst.a, inst.b);
  inst.c = uint32_t(formal.bytes);
  emit(inst, ast);
}

void KernelDecoder::decodeCall(const Instruction &ast) {
  const std::vector<Operand> &operands = ast.operands;
  size_t next = 0;
  const Operand *resultList = nullptr, *argumentList = nullptr;
  if (next < operands.size() && operands[next].kind == Operand::Kind::List)
    resultList = &operands[next++];
  if (next >= operands.size() || operands[next].kind != Operand::Kind::Name)
    return fail(ast.location, "expected a function to call");
  const Operand &name = operands[next++];
  if (next < operands.size() && operands[next].kind == Operand::Kind::List)
    argumentList = &operands[next++];
  Entity entity = lookUp(name.name, ast.scope);
  if (entity.kind == Entity::Kind::Register)
    return fail(name.location, "calls through registers can't be emulated");
  const Function *callee = entity.function;
  if (!callee || callee->isKernel)
    return fail(name.location,
                "there is no function '" + std::string(name.name) + "'");
  size_t results = resultList ? resultList->elements.size() : 0;
  size_t arguments = argumentList ? argumentList->elements.size() : 0;
  if (results != callee->results.size() ||
      arguments != callee->parameters.size())
    return fail(ast.location, "'" + std::string(callee->name) + "' takes " +
                                  std::to_string(callee->parameters.size()) +
                                  " arguments and gives " +
                                  std::to_string(callee->results.size()) +
                                  " results, got " + std::to_string(arguments) +
                                  " and " + std::to_string(results));
  Inst inst;
  if (!callee->hasBody) {
    inst.run = unknownCallHandler();
    return emit(inst, ast);
  }
  for (size_t i = 0; i < arguments && !error; ++i)
    emitCopy(ast, argumentList->elements[i], callee->parameters[i], *callee,
             true);
  if (error)
    return;
  inst.run = callHandler();
  calls.push_back({uint32_t(kernel.code.size()), callee});
  emit(inst, ast);
  for (size_t i = 0; i < results && !error; ++i)
    emitCopy(ast, resultList->elements[i], callee->results[i], *callee, false);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void KernelDecoder::decodeFunction(Frame &frame) {
  current = &frame;
  const Function &function = *frame.function;
  frame.begin = uint32_t(kernel.code.size());
  originBase = uint32_t(kernel.origins.size());
  for (const Instruction &ast : function.instructions)
    kernel.origins.push_back({ast.location, ast.text, ast.opcode});
  fixups.clear();
  returnBranches.clear();
  tableUses.clear();
  tableNames.clear();
  branchTargets.clear();
  for (const Instruction &ast : function.instructions) {
    frame.pcs.push_back(uint32_t(kernel.code.size()));
    decodeInstruction(ast);
    if (error)
      return;
  }
  frame.pcs.push_back(uint32_t(kernel.code.size()));
  // What runs off the end returns.
  Inst last;
  last.run = returnHandler();
  last.isEnd = true;
  last.origin =
      kernel.origins.empty() ? 0 : uint32_t(kernel.origins.size() - 1);
  if (function.instructions.empty()) {
    kernel.origins.push_back({function.location, "ret", "ret"});
    last.origin = uint32_t(kernel.origins.size() - 1);
  }
  last.op = reinterpret_cast<const Ref *>(kernel.refs.size());
  kernel.code.push_back(last);
  frame.end = uint32_t(kernel.code.size());
  for (uint32_t pc : returnBranches) {
    kernel.code[pc].target = frame.end - 1;
    branchTargets[pc] = {frame.end - 1};
  }
  resolveBranches(frame);
  if (!error)
    analyzeControlFlow(kernel, frame.begin, frame.end, branchTargets);
}

void KernelDecoder::resolveBranches(Frame &frame) {
  const Function &function = *frame.function;
  auto find = [&](std::string_view label, uint32_t scope,
                  Location location) -> uint32_t {
    for (std::optional<uint32_t> at = scope; at;
         at = function.scopes[*at].parent) {
      auto found = function.scopes[*at].labels.find(label);
      if (found != function.scopes[*at].labels.end())
        return frame.pcs[found->second];
    }
    fail(location, "there is no label '" + std::string(label) + "'");
    return frame.begin;
  };
  for (const Fixup &fixup : fixups) {
    uint32_t pc = find(fixup.label, fixup.ast->scope, fixup.location);
    kernel.code[fixup.pc].target = pc;
    branchTargets[fixup.pc] = {pc};
  }
  for (size_t i = 0; i < tableUses.size(); ++i) {
    auto [number, ast] = tableUses[i];
    auto [scope, name] = tableNames[i];
    for (std::string_view label :
         function.scopes[scope].tables.find(name)->second)
      kernel.tables[number].push_back(find(label, scope, ast->location));
    uint32_t pc = frame.pcs[size_t(ast - function.instructions.data())];
    branchTargets[pc] = kernel.tables[number];
  }
}

Result<Kernel> KernelDecoder::decode(const Function &function) {
  kernel.name = std::string(function.name);
  kernel.function = &function;
  kernel.predicates = 2; // The carry flag and one that is always true.
  std::vector<const Function *> path;
  collect(function, path);
  if (error)
    return Status::failure(*error);
  for (const Variable &parameter : function.parameters) {
    uint64_t alignment = std::max<uint64_t>(parameter.alignment, 1);
    uint64_t offset =
        (kernel.parameterBytes + alignment - 1) / alignment * alignment;
    for (const Variable &variable : function.variables)
      if (variable.name == parameter.name && variable.space == Space::Param) {
        parameterOffsets[&variable] = offset;
        break;
      }
    kernel.parameterOffsets.push_back(uint32_t(offset));
    kernel.parameterBytes = offset + parameter.bytes;
  }
  placeVariables();
  // The kernel first: it is entered at 0.
  std::rotate(functions.rbegin(), functions.rbegin() + 1, functions.rend());
  for (const Function *each : functions) {
    decodeFunction(frames[each]);
    if (error)
      return Status::failure(*error);
  }
  for (auto [pc, callee] : calls)
    kernel.code[pc].target = frames[callee].begin;
  for (Inst &inst : kernel.code)
    inst.op = kernel.refs.data() + reinterpret_cast<uintptr_t>(inst.op);
  return std::move(kernel);
}

} // namespace

Result<Kernel> deplo::emulator::decodeKernel(const Module &module,
                                             const Function &function,
                                             const GlobalImage &image) {
  return KernelDecoder(module, image).decode(function);
}
