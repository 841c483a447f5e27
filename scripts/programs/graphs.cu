// CUDA graphs that traces find hard. `graphs conditional N`: N launches of a graph with a `while` node that runs 64 rounds of three
// kernels. `graphs recaptured N`: a graph of 16 kernels is captured, updated and launched N times. `graphs child N`: a graph whose nodes
// are two graphs of two kernels. Prints a value of the result.
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr int kValues = 1 << 19;
constexpr int kRounds = 64;
/// Launches between two waits of the host.
constexpr int kQueued = 8;

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
  std::exit(1);
}
#define CHECK(CALL) check(CALL, #CALL)

__global__ void shrink(float* values, float by, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = values[i] + by;
  for (int step = 0; step < steps; ++step) value = value * 1.0001f + 0.5f;
  values[i] = value * 1e-3f;
}

__global__ void end_round(int* left, cudaGraphConditionalHandle goes_on) {
  if (threadIdx.x == 0) cudaGraphSetConditional(goes_on, --*left > 0);
}

void launch_both(float* values, float by, cudaStream_t stream) {
  shrink<<<kValues / 256, 256, 0, stream>>>(values, 0, 300);
  shrink<<<kValues / 128, 128, 0, stream>>>(values, by, 200);
}

void launch_and_wait_now_and_then(cudaGraphExec_t graph, int launch, cudaStream_t stream) {
  CHECK(cudaGraphLaunch(graph, stream));
  if (launch % kQueued == 0) CHECK(cudaStreamSynchronize(stream));
}

void launch_conditional(float* values, int launches, cudaStream_t stream) {
  int* left = nullptr;
  CHECK(cudaMalloc(&left, sizeof(int)));
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams loop = {};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  CHECK(cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));
  CHECK(cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeRelaxed));
  launch_both(values, 0.5f, stream);
  end_round<<<1, 32, 0, stream>>>(left, loop.conditional.handle);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 0; launch < launches; ++launch) {
    CHECK(cudaMemcpyAsync(left, &kRounds, sizeof(int), cudaMemcpyHostToDevice, stream));
    launch_and_wait_now_and_then(executable, launch, stream);
  }
}

void launch_child(float* values, int launches, cudaStream_t stream) {
  cudaGraph_t child = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  launch_both(values, 0.5f, stream);
  CHECK(cudaStreamEndCapture(stream, &child));
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
  CHECK(cudaGraphAddChildGraphNode(&first, graph, nullptr, 0, child));
  CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 0; launch < launches; ++launch) launch_and_wait_now_and_then(executable, launch, stream);
}

void launch_recaptured(float* values, int launches, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  for (int launch = 0; launch < launches; ++launch) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int pair = 0; pair < 8; ++pair) launch_both(values, 0.01f * static_cast<float>(launch), stream);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph));
    if (executable == nullptr) {
      CHECK(cudaGraphInstantiate(&executable, graph, 0));
    } else {
      cudaGraphExecUpdateResultInfo result;
      CHECK(cudaGraphExecUpdate(executable, graph, &result));
    }
    CHECK(cudaGraphDestroy(graph));
    launch_and_wait_now_and_then(executable, launch, stream);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view form = argc == 3 ? argv[1] : "";
  const int launches = argc == 3 ? std::atoi(argv[2]) : 0;
  const auto launch = form == "conditional"  ? launch_conditional
                      : form == "recaptured" ? launch_recaptured
                      : form == "child"      ? launch_child
                                             : nullptr;
  if (launch == nullptr || launches < 1) {
    std::fprintf(stderr, "usage: graphs conditional|recaptured|child LAUNCHES\n");
    return 64;
  }
  float* values = nullptr;
  CHECK(cudaMalloc(&values, kValues * sizeof(float)));
  CHECK(cudaMemset(values, 0, kValues * sizeof(float)));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  launch(values, launches, stream);
  CHECK(cudaStreamSynchronize(stream));
  float first = 0;
  CHECK(cudaMemcpy(&first, values, sizeof(first), cudaMemcpyDeviceToHost));
  std::printf("%s %d: %g\n", argv[1], launches, first);
}
