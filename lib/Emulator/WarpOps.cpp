// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a warp do together: shfl, vote, match, redux, elect.

#include "Lanes.h"
#include "Races.h"
#include "Text.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

/// What the running lanes can do about members that are not with them.
enum class Gathering { Complete, Waiting, Failed };

/// Lanes that were divided and meet at the instruction again, before the place
/// where their paths do, go on together.
bool mergeWithSiblings(Warp &warp, uint32_t missing) {
  Split &self = warp.splits[size_t(warp.current)];
  const uint32_t pc = warp.pc - 1;
  uint32_t found = 0;
  auto isHere = [&](const Split &split) {
    return &split != &self && split.state == Split::State::Ready &&
           split.pc == pc && split.parent == self.parent &&
           split.reconverge == self.reconverge &&
           split.returns == self.returns && (split.mask & missing);
  };
  for (const Split &split : warp.splits)
    if (isHere(split))
      found |= split.mask;
  if (missing & ~found)
    return false;
  for (Split &split : warp.splits) {
    if (!isHere(split))
      continue;
    warp.mask |= split.mask;
    split.state = Split::State::Free;
    if (split.parent >= 0)
      --warp.splits[size_t(split.parent)].children;
  }
  return true;
}

/// Lanes that can still come here.
uint32_t lanesUnderway(const Warp &warp) {
  uint32_t lanes = 0;
  for (size_t i = 0; i < warp.splits.size(); ++i)
    if (warp.splits[i].state == Split::State::Ready &&
        i != size_t(warp.current))
      lanes |= warp.splits[i].mask;
  return lanes;
}

/// Inst::c: the source with the member mask.
Gathering gather(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *masks = warp.row<uint32_t>(inst.source(inst.c));
  while (mask != 0) {
    uint32_t members = masks[firstLane(mask)], group = 0;
    forLanes(mask, [&](unsigned lane) {
      group |= uint32_t(masks[lane] == members) << lane;
    });
    mask &= ~group;
    if (uint32_t stranger = group & ~members) {
      warp.fail(Fault::BarrierDivergence, inst, int(firstLane(stranger)),
                "the thread is not in its own member mask " + hex(members));
      return Gathering::Failed;
    }
    uint32_t missing = members & warp.live & ~group;
    if (missing == 0)
      continue;
    if (!(missing & warp.mask)) {
      if (mergeWithSiblings(warp, missing))
        return Gathering::Waiting; // Once more, with them.
      if (!(missing & ~lanesUnderway(warp)))
        return Gathering::Waiting;
    }
    warp.fail(Fault::BarrierDivergence, inst, int(firstLane(missing)),
              "the thread is in the member mask " + hex(members) +
                  " but does not take part");
    return Gathering::Failed;
  }
  return Gathering::Complete;
}

/// Calls `operation` for each group of lanes with the same member mask, once
/// all its members are here.
template <Handler operation>
void byMembers(Warp &warp, const Inst &inst, uint32_t mask) {
  Gathering gathering = gather(warp, inst, mask);
  if (gathering == Gathering::Waiting) {
    --warp.pc;
    warp.stop = Stop::Yield;
  }
  if (gathering != Gathering::Complete)
    return;
  const uint32_t *masks = warp.row<uint32_t>(inst.source(inst.c));
  while (mask != 0 && warp.stop != Stop::Error) {
    uint32_t members = masks[firstLane(mask)], group = 0;
    forLanes(mask, [&](unsigned lane) {
      group |= uint32_t(masks[lane] == members) << lane;
    });
    operation(warp, inst, group);
    mask &= ~group;
  }
}

//===----------------------------------------------------------------------===//
// shfl
//===----------------------------------------------------------------------===//

enum class Shuffle : uint32_t { Up, Down, Butterfly, Index };

/// The lane that `lane` reads, and whether it is within its segment.
std::pair<unsigned, bool> shuffleSource(Shuffle mode, unsigned lane, uint32_t b,
                                        uint32_t c) {
  uint32_t clamp = c & 31, segment = (c >> 8) & 31;
  int maxLane = int((lane & segment) | (clamp & ~segment));
  int minLane = int(lane & segment);
  int j = int(lane);
  b &= 31;
  bool isInside = false;
  switch (mode) {
  case Shuffle::Up:
    j = int(lane) - int(b);
    isInside = j >= maxLane;
    break;
  case Shuffle::Down:
    j = int(lane) + int(b);
    isInside = j <= maxLane;
    break;
  case Shuffle::Butterfly:
    j = int(lane ^ b);
    isInside = j <= maxLane;
    break;
  case Shuffle::Index:
    j = minLane | int(b & ~segment);
    isInside = j <= maxLane;
    break;
  }
  return {isInside ? unsigned(j) : lane, isInside};
}

/// a: the mode.
void shfl(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1)),
                 *c = warp.row<uint32_t>(inst.source(2));
  uint32_t inside = 0, values[lanesPerWarp] = {};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    auto [from, isInside] =
        shuffleSource(Shuffle(inst.a), lane, b[lane], c[lane]);
    if (!((mask >> from) & 1))
      return warp.fail(Fault::UndefinedRegister, inst, int(lane),
                       "lane " + std::to_string(from) +
                           " is read, which does not take part");
    values[lane] = a[from];
    inside |= uint32_t(isInside) << lane;
  }
  writeResult(warp, inst.result(0), mask, values);
  if (inst.results > 1)
    writePredicate(warp, inst.result(1), mask, inside);
}

Handler selectShfl(Form &form, Inst &inst) {
  inst.a = uint32_t(form.which({"up", "down", "bfly", "idx"}));
  inst.c = 3;
  return form.has("sync") ? byMembers<shfl> : shfl;
}

//===----------------------------------------------------------------------===//
// vote, match, redux, elect
//===----------------------------------------------------------------------===//

enum class Vote : uint32_t { All, Any, Uniform, Ballot };

void vote(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t value = warp.predicate(inst.source(0)) & mask;
  bool result = false;
  switch (Vote(inst.a)) {
  case Vote::All:
    result = value == mask;
    break;
  case Vote::Any:
    result = value != 0;
    break;
  case Vote::Uniform:
    result = value == mask || value == 0;
    break;
  case Vote::Ballot:
    return writeLanes(warp.row<uint32_t>(inst.result(0)), mask,
                      [=](unsigned) { return value; });
  }
  writePredicate(warp, inst.result(0), mask, result ? ~0u : 0);
}

Handler selectVote(Form &form, Inst &inst) {
  inst.a = uint32_t(form.which({"all", "any", "uni", "ballot"}));
  inst.c = 1;
  return form.has("sync") ? byMembers<vote> : vote;
}

void activemask(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t active = warp.mask;
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask,
             [=](unsigned) { return active; });
}

/// a: whether all must match.
void match(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t equal[lanesPerWarp] = {};
  uint32_t all = ~0u;
  forLanes(mask, [&](unsigned lane) {
    uint64_t value = readLane(warp, inst.source(0), lane);
    forLanes(mask, [&](unsigned other) {
      equal[lane] |= uint32_t(readLane(warp, inst.source(0), other) == value)
                     << other;
    });
    if (equal[lane] != mask)
      all = 0;
  });
  if (inst.a)
    for (uint32_t &value : equal)
      value = all ? mask : 0;
  writeResult(warp, inst.result(0), mask, equal);
  if (inst.results > 1)
    writePredicate(warp, inst.result(1), mask, all);
}

Handler selectMatch(Form &form, Inst &inst) {
  inst.a = form.has("all");
  inst.c = 1;
  return byMembers<match>;
}

enum class Redux : uint32_t { Add, Min, Max, And, Or, Xor };

void redux(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0));
  uint32_t value = a[firstLane(mask)];
  bool isSignedType = isSigned(inst.type);
  forLanes(mask & (mask - 1), [&](unsigned lane) {
    uint32_t x = a[lane];
    bool isLess = isSignedType ? int32_t(x) < int32_t(value) : x < value;
    switch (Redux(inst.a)) {
    case Redux::Add:
      value += x;
      break;
    case Redux::Min:
      value = isLess ? x : value;
      break;
    case Redux::Max:
      value = isLess ? value : x;
      break;
    case Redux::And:
      value &= x;
      break;
    case Redux::Or:
      value |= x;
      break;
    case Redux::Xor:
      value ^= x;
      break;
    }
  });
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask,
             [=](unsigned) { return value; });
}

Handler selectRedux(Form &form, Inst &inst) {
  inst.a = uint32_t(form.which({"add", "min", "max", "and", "or", "xor"}));
  inst.type = form.type();
  inst.c = 1;
  return byMembers<redux>;
}

/// The leader is the lowest member.
void elect(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t leader = firstLane(mask);
  if (inst.results > 1) {
    if (inst.result(1).bank == Ref::Registers)
      writeLanes(warp.row<uint32_t>(inst.result(1)), mask,
                 [=](unsigned) { return leader; });
  }
  writePredicate(warp, inst.result(0), mask, 1u << leader);
}

/// `d|p`: the predicate is the first result.
Handler selectElect(Form &form, Inst &inst) {
  const Operand &pair = form.ast.operands[0];
  if (pair.kind != Operand::Kind::Pair) {
    form.decoder.fail(pair.location, "expected 'register|predicate'");
    return nullptr;
  }
  form.decoder.addPredicate(pair.elements[1], true);
  form.decoder.addResult(pair.elements[0], Type::B32);
  form.decoder.addSource(form.ast.operands[1], Type::B32);
  inst.c = 0;
  return byMembers<elect>;
}

const Definition table[] = {
    {"shfl", "sync up|down|bfly|idx b32", "=T|p T b32 b32 b32", selectShfl},
    {"shfl", "up|down|bfly|idx b32", "=T|p T b32 b32", selectShfl},
    {"vote", "sync all|any|uni pred", "=p p b32", selectVote},
    {"vote", "sync ballot b32", "=T p b32", selectVote},
    {"vote", "all|any|uni pred", "=p p", selectVote},
    {"vote", "ballot b32", "=T p", selectVote},
    {"activemask", "b32", "=T",
     [](Form &, Inst &) -> Handler { return activemask; }},
    {"match", "any sync b32|b64", "=b32 T b32", selectMatch},
    {"match", "all sync b32|b64", "=b32|p T b32", selectMatch},
    {"redux", "sync add|min|max u32|s32", "=T T b32", selectRedux},
    {"redux", "sync and|or|xor b32", "=T T b32", selectRedux},
    {"elect", "sync", "...2", selectElect},
};

} // namespace

DefinitionList deplo::emulator::warpDefinitions() { return listOf(table); }
