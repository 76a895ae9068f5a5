// SPDX-License-Identifier: Apache-2.0
// Graphs that are made ready on threads of a reader's.
#include "ocr/prepare.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

namespace spirkiln::ocr {
namespace {

class Slow final : public Net {
 public:
  Result<TensorF32> run(const Pictures&) override {
    return Error{ErrorCode::kUnsupported, "not run here"};
  }
  Status prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    shape = n * 1000000 + h * 10000 + w;
    caller = std::this_thread::get_id();
    return Error{ErrorCode::kUnsupported, "what goes wrong is left to the run"};
  }
  std::atomic<std::uint32_t> shape = 0;
  std::atomic<std::thread::id> caller;
};

}  // namespace

TEST_CASE("what follows detection is prepared on threads of its own", "[prepare]") {
  const auto orient = std::make_shared<Slow>(), recognise = std::make_shared<Slow>();
  {
    Preparation preparation(orient, recognise);
    Preparation moved = std::move(preparation);
  }
  // Its end waits for them.
  CHECK(orient->shape == 1480192);
  CHECK(recognise->shape == 1480320);
  CHECK(orient->caller.load() != std::this_thread::get_id());
  CHECK(recognise->caller.load() != std::this_thread::get_id());
}

TEST_CASE("a reader without an orientation graph prepares the other one", "[prepare]") {
  const auto recognise = std::make_shared<Slow>();
  {
    Preparation preparation(nullptr, recognise);
  }
  CHECK(recognise->shape == 1480320);
}

TEST_CASE("a net prepares nothing where it does not say how", "[prepare]") {
  class Plain final : public Net {
    Result<TensorF32> run(const Pictures&) override {
      return Error{ErrorCode::kUnsupported, "not run here"};
    }
  };
  CHECK(static_cast<Net&&>(Plain()).prepare(1, 48, 320).ok());
}

}  // namespace spirkiln::ocr
