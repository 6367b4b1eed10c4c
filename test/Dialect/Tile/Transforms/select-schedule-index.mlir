// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-select-schedule | FileCheck %s

// An index computed from a loaded one, each part of which is used twice: there
// are 2^64 ways to the load, and what it varies over is found once a value.

// CHECK: loop.kernel @far_index
// CHECK-SAME: schedule = #tile.schedule<block = [64]
loop.kernel @far_index(%n: memref<64xi64>, %x: memref<4096xf32>, %y: memref<64xf32>) {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  loop.for %i = 0 to 64 {
    %v0 = loop.load %n[%i] : memref<64xi64>
    %v1 = arith.addi %v0, %v0 : i64
    %v2 = arith.addi %v1, %v1 : i64
    %v3 = arith.addi %v2, %v2 : i64
    %v4 = arith.addi %v3, %v3 : i64
    %v5 = arith.addi %v4, %v4 : i64
    %v6 = arith.addi %v5, %v5 : i64
    %v7 = arith.addi %v6, %v6 : i64
    %v8 = arith.addi %v7, %v7 : i64
    %v9 = arith.addi %v8, %v8 : i64
    %v10 = arith.addi %v9, %v9 : i64
    %v11 = arith.addi %v10, %v10 : i64
    %v12 = arith.addi %v11, %v11 : i64
    %v13 = arith.addi %v12, %v12 : i64
    %v14 = arith.addi %v13, %v13 : i64
    %v15 = arith.addi %v14, %v14 : i64
    %v16 = arith.addi %v15, %v15 : i64
    %v17 = arith.addi %v16, %v16 : i64
    %v18 = arith.addi %v17, %v17 : i64
    %v19 = arith.addi %v18, %v18 : i64
    %v20 = arith.addi %v19, %v19 : i64
    %v21 = arith.addi %v20, %v20 : i64
    %v22 = arith.addi %v21, %v21 : i64
    %v23 = arith.addi %v22, %v22 : i64
    %v24 = arith.addi %v23, %v23 : i64
    %v25 = arith.addi %v24, %v24 : i64
    %v26 = arith.addi %v25, %v25 : i64
    %v27 = arith.addi %v26, %v26 : i64
    %v28 = arith.addi %v27, %v27 : i64
    %v29 = arith.addi %v28, %v28 : i64
    %v30 = arith.addi %v29, %v29 : i64
    %v31 = arith.addi %v30, %v30 : i64
    %v32 = arith.addi %v31, %v31 : i64
    %v33 = arith.addi %v32, %v32 : i64
    %v34 = arith.addi %v33, %v33 : i64
    %v35 = arith.addi %v34, %v34 : i64
    %v36 = arith.addi %v35, %v35 : i64
    %v37 = arith.addi %v36, %v36 : i64
    %v38 = arith.addi %v37, %v37 : i64
    %v39 = arith.addi %v38, %v38 : i64
    %v40 = arith.addi %v39, %v39 : i64
    %v41 = arith.addi %v40, %v40 : i64
    %v42 = arith.addi %v41, %v41 : i64
    %v43 = arith.addi %v42, %v42 : i64
    %v44 = arith.addi %v43, %v43 : i64
    %v45 = arith.addi %v44, %v44 : i64
    %v46 = arith.addi %v45, %v45 : i64
    %v47 = arith.addi %v46, %v46 : i64
    %v48 = arith.addi %v47, %v47 : i64
    %v49 = arith.addi %v48, %v48 : i64
    %v50 = arith.addi %v49, %v49 : i64
    %v51 = arith.addi %v50, %v50 : i64
    %v52 = arith.addi %v51, %v51 : i64
    %v53 = arith.addi %v52, %v52 : i64
    %v54 = arith.addi %v53, %v53 : i64
    %v55 = arith.addi %v54, %v54 : i64
    %v56 = arith.addi %v55, %v55 : i64
    %v57 = arith.addi %v56, %v56 : i64
    %v58 = arith.addi %v57, %v57 : i64
    %v59 = arith.addi %v58, %v58 : i64
    %v60 = arith.addi %v59, %v59 : i64
    %v61 = arith.addi %v60, %v60 : i64
    %v62 = arith.addi %v61, %v61 : i64
    %v63 = arith.addi %v62, %v62 : i64
    %v64 = arith.addi %v63, %v63 : i64
    %c = arith.index_cast %v64 : i64 to index
    %a = loop.load %x[%c] if %true else %zero : memref<4096xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
}
