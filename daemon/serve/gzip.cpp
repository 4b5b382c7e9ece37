// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/gzip.h"

#include <algorithm>
#include <array>
#include <utility>

#ifdef MEMSTAT_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#endif

namespace memstat {

#ifdef MEMSTAT_HAVE_ISAL

namespace {

/// ISA-L counts input and output space in 32 bits.
constexpr std::size_t kMaxStep = std::size_t{1} << 30;
/// Pages shrink to a tenth or less, so the buffer rarely grows.
constexpr std::size_t kExpectedRatio = 8;
constexpr std::size_t kMinRoom = 4096;

}  // namespace

struct GzipCompressor::State {
  isal_zstream stream;                                         // set up by each call
  std::array<std::uint8_t, ISAL_DEF_LVL1_DEFAULT> level_room;  // not zeroed; ISA-L initializes what it needs

  void begin() {
    isal_deflate_init(&stream);
    stream.level = 1;
    stream.level_buf = level_room.data();
    stream.level_buf_size = static_cast<std::uint32_t>(level_room.size());
    stream.gzip_flag = IGZIP_DEFLATE;
    stream.flush = FULL_FLUSH;
  }

  /// Appends `bytes`, compressed.
  void add(std::string_view bytes, Buffer& out) {
    // ISA-L takes a pointer to non-const but only reads.
    stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<std::uint32_t>(bytes.size());
    for (;;) {
      if (out.capacity() - out.size() < kMinRoom) out.reserve(out.capacity() * 2 + kMinRoom);
      const std::size_t used = out.size();
      const std::size_t room = std::min(out.capacity() - used, kMaxStep);
      stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + used);
      stream.avail_out = static_cast<std::uint32_t>(room);
      isal_deflate(&stream);  // fails only on invalid settings
      out.resize(used + room - stream.avail_out);
      // Room left over means that no output is pending.
      if (stream.avail_out != 0) return;
    }
  }
};

/// Borrows an idle state, or a new one, and returns it on destruction. Returning cannot fail, because its place is reserved.
class GzipCompressor::Borrowed : NotCopyable {
 public:
  explicit Borrowed(GzipCompressor& owner) : owner_(owner) {
    const MutexLock lock(owner_.mutex_);
    if (owner_.idle_.empty()) {
      state_.reset(new State);  // make_unique would zero 365 KB
      owner_.idle_.reserve(++owner_.states_);
    } else {
      state_ = std::move(owner_.idle_.back());
      owner_.idle_.pop_back();
    }
  }
  ~Borrowed() {
    const MutexLock lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(state_));
  }
  State& operator*() { return *state_; }

 private:
  GzipCompressor& owner_;
  std::unique_ptr<State> state_;
};

bool can_gzip() { return true; }

void GzipCompressor::deflate(std::string_view plain, Buffer& out) {
  out.reserve(out.size() + plain.size() / kExpectedRatio + kMinRoom);
  Borrowed state(*this);
  (*state).begin();
  while (!plain.empty()) {
    const std::string_view step = plain.substr(0, kMaxStep);
    plain.remove_prefix(step.size());
    (*state).add(step, out);
  }
}

bool GzipCompressor::compress(std::string_view plain, Buffer& out) {
  out.clear();
  out.append(gzip_header());
  deflate(plain, out);
  std::string end;
  append_gzip_end(end, {}, gzip_crc(0, plain), plain.size());
  out.append(end);
  return true;
}

bool GzipCompressor::compress_part(std::string_view plain, GzipPart& part) {
  part.crc = gzip_crc(0, plain);
  part.size = plain.size();
  part.bytes.clear();
  deflate(plain, part.bytes);
  return true;
}

std::uint32_t gzip_crc(std::uint32_t before, std::string_view bytes) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

#else

struct GzipCompressor::State {};

bool GzipCompressor::compress_part(std::string_view, GzipPart& part) {
  part.bytes.clear();
  return false;
}

std::uint32_t gzip_crc(std::uint32_t, std::string_view) { return 0; }

bool can_gzip() { return false; }

bool GzipCompressor::compress(std::string_view /*plain*/, Buffer& out) {
  out.clear();
  return false;
}

#endif

std::string_view gzip_header() {
  using namespace std::string_view_literals;
  // Deflate, no flags, no time, unknown level and system (RFC 1952).
  return "\x1f\x8b\x08\0\0\0\0\0\0\xff"sv;
}

void append_gzip_end(std::string& out, std::string_view last, std::uint32_t crc, std::uint64_t size) {
  const auto put = [&out](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
  };
  out.reserve(out.size() + 1 + 4 + last.size() + 8);
  put(1, 1);  // last block, stored
  put(last.size(), 2);
  put(~last.size() & 0xFFFFU, 2);
  out += last;
  put(gzip_crc(crc, last), 4);
  put((size + last.size()) & 0xFFFFFFFFU, 4);
}

GzipCompressor::GzipCompressor() = default;
GzipCompressor::~GzipCompressor() = default;

}  // namespace memstat
