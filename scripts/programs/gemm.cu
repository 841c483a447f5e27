// Products by cuBLAS: several sizes and types. `gemm N` makes each N times.
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <vector>

#include <cuda_fp16.h>

namespace {

void require(bool good, int line) {
  if (good) return;
  std::fprintf(stderr, "line %d failed\n", line);
  std::exit(1);
}
#define REQUIRE(condition) require(condition, __LINE__)

constexpr int kMost = 2048;

}  // namespace

int main(int arguments, char** words) {
  const int rounds = arguments > 1 ? std::atoi(words[1]) : 1;
  cublasHandle_t handle;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  std::vector<float> numbers(kMost * kMost);
  std::vector<__half> halves(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    halves[i] = numbers[i] = (i % 1009 * 7919 % 1009) / 1009.0f;
  float *a, *c;
  __half *h, *d;
  REQUIRE(cudaMalloc(&a, 4 * numbers.size()) == cudaSuccess &&
          cudaMalloc(&c, 4 * numbers.size()) == cudaSuccess);
  REQUIRE(cudaMalloc(&h, 2 * numbers.size()) == cudaSuccess &&
          cudaMalloc(&d, 2 * numbers.size()) == cudaSuccess);
  REQUIRE(cudaMemcpy(a, numbers.data(), 4 * numbers.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy(h, halves.data(), 2 * numbers.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  const float one = 1, zero = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const int size : {128, 256, 768, 1024, 2048}) {
      REQUIRE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, size, size, size, &one, a, size, a, size, &zero,
                          c, size) == CUBLAS_STATUS_SUCCESS);
      REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, h, CUDA_R_16F, size, h,
                           CUDA_R_16F, size, &zero, d, CUDA_R_16F, size, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
      REQUIRE(cublasSgemv(handle, CUBLAS_OP_T, size, size, &one, a, size, a, 1, &zero, c + size * size / 2,
                          1) == CUBLAS_STATUS_SUCCESS);
    }
  }
  std::vector<float> result(numbers.size());
  REQUIRE(cudaMemcpy(result.data(), c, 4 * result.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  double sum = 0;
  for (const float value : result) sum += value;
  std::printf("gemm %.9g\n", sum);
}
