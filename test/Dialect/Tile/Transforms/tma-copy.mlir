// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy{mode=always}))' --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy{mode=always}))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-tma-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-tma-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy{mode=never}))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-tma-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-copy{mode=always alignment=8}))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-tma-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=POINTER
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_89},tile.kernel(deplo-tma-copy{mode=always}))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-tma-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLD

// One barrier for each slot. What reads fragments doesn't ask for tensor maps.

// CHECK-LABEL: tile.kernel @ring
// CHECK-NOT:     tile.tma_copy
// ALWAYS-LABEL: tile.kernel @ring
// ALWAYS:         %[[RING:.+]] = tile.alloc : !tile.buffer<2x64x64xbf16, #tile.shared<>>
// ALWAYS:         %[[FULL:.+]] = tile.mbarriers arrivals 1 : !tile.mbarriers<2>
// ALWAYS:         scf.for %[[K:.+]] = %c0 to %c512 step %c64
// ALWAYS:           %[[PHASE:.+]] = arith.divui %{{.+}}, %c2
// ALWAYS:           %[[SLOT:.+]] = arith.remui %{{.+}}, %c2
// ALWAYS:           %[[S:.+]] = tile.slot %[[RING]][%[[SLOT]]]
// ALWAYS-NEXT:      tile.tma_copy %x[%i, %[[K]]] to %[[S]] on %[[FULL]][%[[SLOT]]]
// ALWAYS-NEXT:      tile.mbarrier_wait %[[FULL]][%[[SLOT]]] phase %[[PHASE]]
// ALWAYS-NEXT:      tile.barrier
// REMARK:  [Passed] TmaCopy | Category:deplo-tma-copy | Function=ring | Remark="%x is copied by a tensor map, on 2 barriers"
// AUTO:    [Missed] TmaCopy | Category:deplo-tma-copy | Function=ring | Remark="%x: is read into fragments, which cp.async serves as well"
// NEVER:   [Missed] TmaCopy | Category:deplo-tma-copy | Function=ring | Remark="the schedule says never"
// POINTER: [Missed] TmaCopy | Category:deplo-tma-copy | Function=ring | Remark="%x: pointers are aligned to 8 bytes, tensor maps take those aligned to 16"
// OLD:     [Missed] TmaCopy | Category:deplo-tma-copy | Function=ring | Remark="sm_89 has no tensor maps, sm_90 and later do"
tile.kernel @ring(%x: memref<64x512xbf16>, %y: memref<64x512xbf16>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %r = tile.alloc : !tile.buffer<2x64x64xbf16, #tile.shared<>>
  scf.for %k = %c0 to %c512 step %c64 {
    %n = arith.divui %k, %c64 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !tile.buffer<2x64x64xbf16, #tile.shared<>> -> !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.copy %x[%i, %k] to %s : memref<64x512xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x64xbf16, #tile.shared<>> -> tensor<64x64xbf16>
    tile.store %a, %y[%i, %k] : tensor<64x64xbf16>, memref<64x512xbf16>
  }
}

// -----

// Copy by copy: one of two operands has rows that no tensor map describes, and
// stays a copy of all threads before the same barrier.

// ALWAYS-LABEL: tile.kernel @one_of_two
// ALWAYS:         %[[FULL:.+]] = tile.mbarriers arrivals 1 : !tile.mbarriers<1>
// ALWAYS:         tile.tma_copy %x[%i, %{{.+}}] to %{{.+}} on %[[FULL]]
// ALWAYS-NEXT:    tile.copy %z
// ALWAYS-NEXT:    tile.mbarrier_wait %[[FULL]]
// ALWAYS-NEXT:    tile.barrier
// REMARK: [Passed] {{.*}} Function=one_of_two | Remark="%x is copied by a tensor map, on 1 barriers"
// REMARK: [Missed] {{.*}} Function=one_of_two | Remark="%z: would have a tensor map with a stride of 1018 bytes, expected a multiple of 16 below 2^40"
tile.kernel @one_of_two(%x: memref<64x512xbf16>, %z: memref<64x509xbf16>, %y: memref<64x512xbf16>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %s = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  scf.for %k = %c0 to %c512 step %c64 {
    tile.copy %x[%i, %k] to %s : memref<64x512xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.copy %z[%i, %k] to %t bounds [64, 509] : memref<64x509xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x64xbf16, #tile.shared<>> -> tensor<64x64xbf16>
    %b = tile.read %t[%c0, %c0] : !tile.buffer<64x64xbf16, #tile.shared<>> -> tensor<64x64xbf16>
    %c = arith.addf %a, %b : tensor<64x64xbf16>
    tile.store %c, %y[%i, %k] : tensor<64x64xbf16>, memref<64x512xbf16>
    tile.barrier
  }
}

// -----

// Boxes that begin anywhere in a row, elements that are no neighbours, and
// buffers whose rows have a pad.

// ALWAYS-LABEL: tile.kernel @no_boxes
// ALWAYS-NOT:     tile.tma_copy
// REMARK: Function=no_boxes | Remark="%x: boxes may begin within 16 bytes of a row"
// REMARK: Function=no_boxes | Remark="%z: copies elements that are not neighbours"
// REMARK: Function=no_boxes | Remark="%w: copies to a buffer with a pad"
tile.kernel @no_boxes(%x: memref<64x512xbf16>, %z: memref<64x512xbf16>, %w: memref<64x512xbf16>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  %s = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %u = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<pad = 8>>
  scf.for %k = %c0 to %c256 step %c4 {
    tile.copy %x[%i, %k] to %s : memref<64x512xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.copy %z[%i, %c0] to %t steps [1, 2] : memref<64x512xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
    tile.copy %w[%i, %c0] to %u : memref<64x512xbf16>, !tile.buffer<64x64xbf16, #tile.shared<pad = 8>>
    tile.barrier
  }
}

// -----

// REMARK: [Missed] TmaCopy | Category:deplo-tma-copy | Function=no_loop | Remark="no loop that runs once copies to shared memory"
tile.kernel @no_loop(%x: memref<64x64xbf16>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %s = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %s : memref<64x64xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
  tile.barrier
}
