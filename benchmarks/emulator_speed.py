# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the PTX emulator is, on one core.

python benchmarks/emulator_speed.py
"""

import ctypes
from pathlib import Path

import torch

import deplo
from deplo.emulator import Emulation, TensorMap, Uninitialized

PTX = Path(__file__).parents[1] / "python" / "tests" / "ptx"

LOOP = """.version 8.0
.target sm_90
.address_size 64
.visible .entry loop(.param .u64 out, .param .u32 count)
{
  .reg .pred %p1;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.u32 %r1, [count];
  ld.param.u64 %rd1, [out];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
  mov.f32 %f1, 0f3F800000;
NEXT:
  mad.lo.u32 %r2, %r2, 5, 1;
  xor.b32 %r4, %r2, %r3;
  shr.u32 %r5, %r4, 3;
  add.u32 %r2, %r5, %r4;
  fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F000000;
  add.f32 %f2, %f1, %f1;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra NEXT;
  st.global.u32 [%rd1], 1;
  ret;
}
"""


def main() -> None:
    out = torch.zeros(1, dtype=torch.int32)
    for checks in (True, False):
        outcome = Emulation(LOOP).run(
            "loop", grid=8, block=128, arguments=[out, ctypes.c_uint32(20000)], workers=1,
            races=checks, uninitialized=checks,
        )  # fmt: skip
        rate = outcome.counters["thread_instructions"] / outcome.seconds / 1e6
        print(f"simple instructions, checks {'on' if checks else 'off'}: {rate:.0f} M threads/s")

    x = torch.randn(1, 32, 2048)
    norm = deplo.compile(torch.nn.RMSNorm(2048), (x,), device="emu")
    ptx = norm.ir("ptx")
    name = Emulation(ptx).kernels()[0]["name"]
    y, weight = torch.empty_like(x), torch.ones(2048)
    outcome = Emulation(ptx).run(
        name, grid=32, block=256, shared=4096, arguments=[x, weight, Uninitialized(y)], workers=1
    )
    print(f"RMSNorm 1x32x2048, all checks: {outcome.seconds:.3f} s {outcome.findings}")

    m, n, k = 512, 512, 256
    a, b = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    c = torch.empty(m, n, dtype=torch.bfloat16)
    for checks in (True, False):
        outcome = Emulation((PTX / "gemm_tma.ptx").read_text()).run(
            "gemm", grid=8, block=384, shared=229440, workers=1, races=checks, uninitialized=checks,
            arguments=[TensorMap(a, (128, 64), 128), TensorMap(b, (256, 64), 128),
                       TensorMap(c, (64, 64), 128), *map(ctypes.c_int32, (4, 2, k // 64, 4))],
        )  # fmt: skip
        print(
            f"GEMM {m}x{n}x{k} bf16 by wgmma, checks {'on' if checks else 'off'}: "
            f"{outcome.seconds:.2f} s {outcome.findings}"
        )


if __name__ == "__main__":
    main()
