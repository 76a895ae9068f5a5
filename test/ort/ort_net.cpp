// SPDX-License-Identifier: Apache-2.0
#include "ort_net.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

namespace spirkiln::test {
namespace {

class Server {
 public:
  Server(int to, int from, pid_t pid) : to_(to), from_(from), pid_(pid) {}
  ~Server() {
    close(to_);
    close(from_);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;

  Result<TensorF32> run(std::uint32_t model, const std::vector<std::uint32_t>& dims,
                        const std::vector<float>& values) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> head = {model, static_cast<std::uint32_t>(dims.size())};
    head.insert(head.end(), dims.begin(), dims.end());
    if (!put("SPRQ", 4) || !put(head.data(), head.size() * 4) ||
        !put(values.data(), values.size() * 4)) {
      return lost();
    }
    return answer();
  }

  // The first answer, which says that all is loaded.
  bool ready() {
    const std::lock_guard lock(mutex_);
    char magic[4];
    std::array<std::uint32_t, 2> words{};
    return get(magic, 4) && get(words.data(), 8) && std::memcmp(magic, "SPRS", 4) == 0;
  }

 private:
  Result<TensorF32> answer() {
    char magic[4];
    std::uint32_t status = 0;
    if (!get(magic, 4) || !get(&status, 4) || std::memcmp(magic, "SPRS", 4) != 0) return lost();
    if (status != 0) {
      std::string message(status, ' ');
      if (!get(message.data(), message.size())) return lost();
      return Error{ErrorCode::kInvalidArgument, "ONNX Runtime: " + message};
    }
    std::uint32_t outputs = 0;
    if (!get(&outputs, 4)) return lost();
    TensorF32 first;
    for (std::uint32_t i = 0; i < outputs; ++i) {
      std::uint32_t rank = 0;
      if (!get(&rank, 4) || rank > 8) return lost();
      std::vector<std::uint32_t> dims(rank);
      if (!get(dims.data(), rank * 4)) return lost();
      std::size_t size = 1;
      for (const std::uint32_t d : dims) size *= d;
      std::vector<float> values(size);
      if (!get(values.data(), size * 4)) return lost();
      if (i > 0) continue;
      first.values = std::move(values);
      first.n = rank > 0 ? dims[0] : 1;
      if (rank == 4 && dims[1] == 1) {  // N x 1 x H x W: channels outermost, of which there is one
        first.h = dims[2], first.w = dims[3], first.c = 1;
      } else if (rank == 3) {
        first.h = 1, first.w = dims[1], first.c = dims[2];
      } else if (rank == 2) {
        first.h = 1, first.w = 1, first.c = dims[1];
      } else {
        return Error{ErrorCode::kUnsupported, "ONNX Runtime: an output of this rank is not read"};
      }
    }
    return first;
  }

  static Error lost() { return {ErrorCode::kIo, "the ONNX Runtime process has ended"}; }

  bool put(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t done = write(to_, at, size);
      if (done <= 0) return false;
      at += done, size -= static_cast<std::size_t>(done);
    }
    return true;
  }
  bool get(void* data, std::size_t size) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
      const ssize_t done = read(from_, at, size);
      if (done <= 0) return false;
      at += done, size -= static_cast<std::size_t>(done);
    }
    return true;
  }

  std::mutex mutex_;
  int to_, from_;
  pid_t pid_;
};

// How bytes become floats, as the models were trained (B G R).
struct Normalisation {
  std::array<float, 3> mean, deviation;
};
constexpr Normalisation kImageNet = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
constexpr Normalisation kHalf = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};

class OrtNet final : public Net {
 public:
  OrtNet(std::shared_ptr<Server> server, std::uint32_t model, const Normalisation& normalisation)
      : server_(std::move(server)), model_(model), normalisation_(normalisation) {}

  Result<TensorF32> run(const Pictures& p) override {
    const std::size_t pixels = std::size_t{p.h} * p.w;
    std::vector<float> values(p.n * pixels * 3);
    for (std::size_t n = 0; n < p.n; ++n) {
      for (std::size_t i = 0; i < pixels; ++i) {
        const std::uint8_t* pixel = p.bytes.data() + (n * pixels + i) * 4;
        if (pixel[3] == 0) continue;
        for (std::size_t c = 0; c < 3; ++c) {
          values[(n * 3 + c) * pixels + i] =
              (static_cast<float>(pixel[c]) / 255.0f - normalisation_.mean[c]) /
              normalisation_.deviation[c];
        }
      }
    }
    return server_->run(model_, {p.n, 3, p.h, p.w}, values);
  }

 private:
  std::shared_ptr<Server> server_;
  std::uint32_t model_;
  Normalisation normalisation_;
};

}  // namespace

OrtNets start_ort(const std::string& serve, const std::string& models, int threads) {
  namespace fs = std::filesystem;
  OrtNets out;
  if (!fs::exists(fs::path(serve).parent_path() / "node_modules" / "onnxruntime-node")) {
    out.skipped = "onnxruntime-node is not installed beside " + serve;
    return out;
  }
  std::vector<std::string> args = {"node", serve};
  if (threads > 0) args.insert(args.end(), {"--threads", std::to_string(threads)});
  for (const char* file : {"ch_PP-OCRv4_det_infer.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                           "ch_PP-OCRv4_rec_infer.onnx"}) {
    args.push_back((fs::path(models) / file).string());
    if (!fs::exists(args.back())) {
      out.skipped = "no " + args.back() + " (scripts/fetch-models.sh fetches it)";
      return out;
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    out.skipped = "no pipe";
    return out;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    execvp("node", argv.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  auto server = std::make_shared<Server>(to[1], from[0], pid);
  if (pid < 0 || !server->ready()) {
    out.skipped = "node cannot run " + serve;
    return out;
  }
  out.nets = {std::make_shared<OrtNet>(server, 0, kImageNet),
              std::make_shared<OrtNet>(server, 1, kHalf),
              std::make_shared<OrtNet>(server, 2, kHalf)};
  return out;
}

}  // namespace spirkiln::test
