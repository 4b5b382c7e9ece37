// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/packed_file.h"

#ifdef MEMSTAT_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef MEMSTAT_HAVE_ZSTD
#include <zstd.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/postmortem/container/temporary_file.h"

namespace memstat::postmortem {
namespace {

[[maybe_unused]] constexpr std::string_view kGzipMagic = "\x1f\x8b";
[[maybe_unused]] constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr std::size_t kMagicRoom = 4;
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kInputBytes = 64U << 10U;
constexpr std::size_t kOutputBytes = 256U << 10U;
constexpr std::size_t kHoleBytes = 4096;
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 46U;  // no dump is larger than 64 TiB

/// How far a step came.
struct Step {
  std::size_t taken = 0;   // B of the input
  std::size_t made = 0;    // B of the output
  bool is_end = false;     // of a stream; another may follow
  bool is_broken = false;  // nothing can be made of the input
};

class Unpacker {
 public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;
  virtual Step step(std::string_view input, std::span<char> output) = 0;
};

#ifdef MEMSTAT_HAVE_ZLIB
class GzipUnpacker final : public Unpacker {
 public:
  GzipUnpacker() { is_ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }  // 16: with gzip's header
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  Step step(std::string_view input, std::span<char> output) override {
    if (!is_ready_) return {.is_broken = true};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));  // zlib's interface knows no const
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = static_cast<uInt>(output.size());
    const int done = inflate(&stream_, Z_NO_FLUSH);
    const Step made{.taken = input.size() - stream_.avail_in,
                    .made = output.size() - stream_.avail_out,
                    .is_end = done == Z_STREAM_END,
                    .is_broken = done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR};
    if (made.is_end) inflateReset(&stream_);
    return made;
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
};
#endif

#ifdef MEMSTAT_HAVE_ZSTD
class ZstdUnpacker final : public Unpacker {
 public:
  Step step(std::string_view input, std::span<char> output) override {
    if (stream_ == nullptr) return {.is_broken = true};
    ZSTD_inBuffer in{.src = input.data(), .size = input.size(), .pos = 0};
    ZSTD_outBuffer out{.dst = output.data(), .size = output.size(), .pos = 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
    return {.taken = in.pos, .made = out.pos, .is_end = left == 0, .is_broken = ZSTD_isError(left) != 0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
};
#endif

/// Nothing when the file is not packed, or in a way that this build does not know.
std::unique_ptr<Unpacker> unpacker_of(BlockFile& file) {
  std::string magic(kMagicRoom, '\0');
  if (!file.read(0, magic.data(), magic.size())) return nullptr;
#ifdef MEMSTAT_HAVE_ZLIB
  if (magic.starts_with(kGzipMagic)) return std::make_unique<GzipUnpacker>();
#endif
#ifdef MEMSTAT_HAVE_ZSTD
  if (magic.starts_with(kZstdMagic)) return std::make_unique<ZstdUnpacker>();
#endif
  return nullptr;
}

/// Hands the unpacked bytes to `take(bytes)`, which says whether it wants more. What is wrong with the packed ones, "" as a
/// rule. Errors: those of `take` and of reading.
template <typename Take>
Result<std::string> unpack_all(BlockFile& from, Unpacker& unpacker, Take take) {
  std::vector<char> input(kInputBytes);
  std::vector<char> output(kOutputBytes);
  bool is_whole = false;
  for (std::uint64_t at = 0; at < from.size();) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), from.size() - at));
    if (auto read = from.read(at, input.data(), size); !read) return read.error();
    for (std::string_view rest(input.data(), size); !rest.empty();) {
      const Step step = unpacker.step(rest, output);
      if (step.made > 0) {
        const auto wants_more = take(std::string_view(output.data(), step.made));
        if (!wants_more) return wants_more.error();
        if (!*wants_more) return std::string();
      }
      if (step.is_broken || (step.taken == 0 && step.made == 0)) {
        return "cannot be unpacked from byte " + std::to_string(at + (size - rest.size())) + " on";
      }
      is_whole = step.is_end;
      rest.remove_prefix(step.taken);
    }
    at += size;
  }
  return is_whole ? std::string() : "is cut short: what is packed in it goes on behind its end";
}

bool is_zeros(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

/// Writes what comes, one piece after the other, and leaves out blocks of zeros.
class HoleWriter {
 public:
  HoleWriter(int fd, const std::string& directory) : fd_(fd), directory_(directory) {}

  Result<void> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kHoleBytes - size_ % kHoleBytes);
      if (!is_zeros(piece)) {
        if (auto written = write_all(fd_, directory_, piece, size_); !written) return written;
      }
      size_ += piece.size();
      bytes.remove_prefix(piece.size());
    }
    return {};
  }
  Result<void> finish() {
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return system_error(directory_, errno);
    return {};
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int fd_;
  const std::string& directory_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string head_of_packed(BlockFile& file) {
  const auto unpacker = unpacker_of(file);
  std::string head;
  if (unpacker == nullptr) return head;
  const auto unpacked = unpack_all(file, *unpacker, [&head](std::string_view bytes) -> Result<bool> {
    head += bytes.substr(0, kHeadBytes - head.size());
    return head.size() < kHeadBytes;
  });
  return unpacked ? head : std::string();
}

Result<UnpackedFile> unpack_file(BlockFile& from) {
  const auto unpacker = unpacker_of(from);
  if (unpacker == nullptr) return data_error(from.name(), 0, "is not packed in a way that this build can unpack");
  const std::string directory = temporary_directory();
  auto file = nameless_file(directory);
  if (!file) return std::move(file.error());
  UnpackedFile unpacked{.file = *std::move(file), .damage = {}};
  HoleWriter writer(unpacked.file.get(), directory);
  const auto done = unpack_all(from, *unpacker, [&](std::string_view bytes) -> Result<bool> {
    if (bytes.size() > kMostUnpacked - writer.size()) return data_error(from.name(), 0, "unpacks to more than 64 TiB");
    if (auto written = writer.write(bytes); !written) return written.error();
    return true;
  });
  if (!done) return done.error();
  if (auto finished = writer.finish(); !finished) return finished.error();
  if (writer.size() == 0) return data_error(from.name(), 0, done->empty() ? "unpacks to nothing" : *done);
  if (!done->empty()) unpacked.damage = *done + ", so figures may be too low or missing";
  return unpacked;
}

}  // namespace memstat::postmortem
