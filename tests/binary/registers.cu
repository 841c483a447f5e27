// A kernel of REGISTERS registers, 34 to 38: 28 values live across a barrier, for which the compiler would take 40.
__global__ void __maxnreg__(REGISTERS) keeps_values(float* x) {
  float values[28];
#pragma unroll
  for (int i = 0; i < 28; ++i) values[i] = x[32 * i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 28; ++i) x[32 * i + 1] = values[27 - i];
}
