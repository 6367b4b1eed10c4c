// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// membar and fence. Memory is always in order here; what matters is what the
// race detector learns.

#include "Lanes.h"
#include "Races.h"

using namespace deplo::emulator;

namespace {

void fence(Warp &warp, const Inst &, uint32_t mask) {
  if (ClusterClocks *clocks = warp.block->cluster->clocks.get())
    clocks->fence(warp, mask);
}

void proxyFence(Warp &warp, const Inst &, uint32_t mask) {
  if (ClusterClocks *clocks = warp.block->cluster->clocks.get())
    clocks->proxyFence(warp, mask);
}

template <Handler handler> Handler select(Form &, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return handler;
}

#define SCOPE "cta|cluster|gpu|sys"
const Definition table[] = {
    {"membar", "cta|gl|sys", "", select<fence>},
    {"membar", "proxy async|alias global|shared::cta|shared::cluster?", "",
     select<proxyFence>},
    {"fence", "sc|acq_rel? " SCOPE, "", select<fence>},
    {"fence", "acquire|release " SCOPE, "", select<fence>},
    {"fence",
     "acquire|release sync_restrict::shared::cta|sync_restrict::shared::"
     "cluster cluster",
     "", select<fence>},
    {"fence", "mbarrier_init release cluster", "", select<fence>},
    {"fence", "proxy async|alias global|shared::cta|shared::cluster?", "",
     select<proxyFence>},
    {"fence", "proxy async::generic acquire|release sync_restrict::*? cluster",
     "", select<proxyFence>},
    {"fence", "proxy tensormap::generic release " SCOPE, "", select<fence>},
    {"fence", "proxy tensormap::generic acquire " SCOPE, "...2", select<fence>},
};

} // namespace

DefinitionList deplo::emulator::fenceDefinitions() { return listOf(table); }
