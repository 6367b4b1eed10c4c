// RUN: deplo-opt %s --deplo-loop-to-llvm --split-input-file --verify-diagnostics

// expected-error @below {{argument 0 has elements of type 'f8E4M3FN', expected f16, bf16, f32, f64 or an integer of 8, 16, 32 or 64 bits on the host}}
loop.kernel @elements(%x: memref<8xf8E4M3FN>) {
}

// -----

// expected-error @below {{argument 1 of type 'memref<8x?xf32>' has no static strides, which the host needs}}
loop.kernel @dynamic(%x: memref<8xf32>, %y: memref<8x?xf32>) {
}

// -----

// What no conversion knows is an error at its place.
loop.kernel @unknown(%y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{'gpu.thread_id' op can't be compiled for the host}}
    %n = gpu.thread_id x
    %m = arith.index_cast %n : index to i32
    %f = arith.sitofp %m : i32 to f32
    loop.store %f, %y[%i] : memref<8xf32>
  }
}
