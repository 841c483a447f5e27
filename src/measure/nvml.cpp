#include "measure/nvml.hpp"

#include <array>
#include <dlfcn.h>
#include <memory>

namespace occbench {
namespace {

// NVML comes with the driver, not with the toolkit, and its interface is stable: it is loaded at run time,
// and a machine without it loses nothing but what NVML says. Names and signatures: NVML API reference.
struct CloseLibrary {
  void operator()(void* library) const {
    static_cast<void>(dlclose(library));
  }
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    const auto initialize = function<int()>("nvmlInit_v2");
    initialized_ = initialize != nullptr && initialize() == kSuccess;
  }
  ~Nvml() {
    const auto shut_down = function<int()>("nvmlShutdown");
    if (initialized_ && shut_down != nullptr) static_cast<void>(shut_down());
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool initialized() const {
    return initialized_;
  }

  template <typename Signature>
  Signature* function(const char* name) const {
    return library_ ? reinterpret_cast<Signature*>(dlsym(library_.get(), name)) : nullptr;
  }

  static constexpr int kSuccess = 0;

 private:
  std::unique_ptr<void, CloseLibrary> library_;
  bool initialized_ = false;
};

}  // namespace

std::string driver_version() {
  const Nvml nvml;
  const auto read = nvml.function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 80> text{};
  if (!nvml.initialized() || read == nullptr || read(text.data(), text.size() - 1) != Nvml::kSuccess)
    return "";
  return text.data();
}

}  // namespace occbench
