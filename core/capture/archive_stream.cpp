// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/archive_stream.h"

#include <unistd.h>

#if defined(MEMSTAT_HAVE_ZSTD)
#include <zstd.h>
#endif

#include <array>
#include <cerrno>
#include <new>
#include <vector>

#include "core/capture/archive_error.h"
#include "core/capture/file_pieces.h"

namespace memstat {
namespace {

class FileSink final : public ArchiveSink {
 public:
  FileSink(const std::string& name, int fd) : name_(name), fd_(fd) { buffer_.reserve(kPieceBytes); }

  Result<void> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPieceBytes - buffer_.size());
      buffer_ += piece;
      bytes.remove_prefix(piece.size());
      if (buffer_.size() < kPieceBytes) break;
      if (auto written = finish(); !written) return written;
    }
    return {};
  }
  Result<void> finish() override {
    for (std::string_view rest = buffer_; !rest.empty();) {
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(name_, errno, "cannot write the archive");
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
    return {};
  }

 private:
  const std::string name_;
  const int fd_;
  std::string buffer_;
};

#if defined(MEMSTAT_HAVE_ZSTD)

class ZstdSource final : public PieceSource {
 public:
  ZstdSource(const std::string& name, int fd) : file_(name, fd) {
    if (!stream_) throw std::bad_alloc();
  }

  Result<std::string_view> next() override {
    while (true) {
      if (in_.pos == in_.size && !has_more_) {
        const auto piece = file_.next();
        if (!piece) return piece.error();
        if (piece->empty() && !is_at_end_of_frame_)
          return refused({}, "is cut short: truncated at byte " + std::to_string(file_.offset()) + ", within a zstd frame");
        if (piece->empty()) return std::string_view();
        in_ = {.src = piece->data(), .size = piece->size(), .pos = 0};
      }
      ZSTD_outBuffer out{.dst = buffer_.data(), .size = buffer_.size(), .pos = 0};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(left) != 0) {
        return refused({}, "cannot be unpacked by zstd from byte " + std::to_string(file_.offset() - in_.size + in_.pos) +
                               " on (" + ZSTD_getErrorName(left) + ")");
      }
      is_at_end_of_frame_ = left == 0;
      has_more_ = left != 0 && out.pos == out.size;
      if (out.pos > 0) return std::string_view(buffer_.data(), out.pos);
    }
  }

 private:
  FilePieces file_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_{ZSTD_createDStream(), &ZSTD_freeDStream};
  ZSTD_inBuffer in_{.src = nullptr, .size = 0, .pos = 0};
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
  bool has_more_ = false;  // output left that needs no more input
  bool is_at_end_of_frame_ = false;
};

class ZstdSink final : public ArchiveSink {
 public:
  ZstdSink(const std::string& name, int fd) : name_(name), file_(name, fd) {
    if (!stream_) throw std::bad_alloc();
  }

  Result<void> write(std::string_view bytes) override { return pack(bytes, ZSTD_e_continue); }
  Result<void> finish() override {
    auto packed = pack({}, ZSTD_e_end);
    return packed ? file_.finish() : packed;
  }

 private:
  Result<void> pack(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer out{.dst = buffer_.data(), .size = buffer_.size(), .pos = 0};
      left = ZSTD_compressStream2(stream_.get(), &out, &in, how);
      if (ZSTD_isError(left) != 0) return no_memory_error(name_, std::string("zstd: ") + ZSTD_getErrorName(left));
      if (auto written = file_.write({buffer_.data(), out.pos}); !written) return written;
    } while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
    return {};
  }

  const std::string name_;
  FileSink file_;
  std::unique_ptr<ZSTD_CStream, decltype(&ZSTD_freeCStream)> stream_{ZSTD_createCStream(), &ZSTD_freeCStream};
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
};

#else

Error no_zstd(const std::string& name, std::string_view what_to_do) {
  const std::string advice(what_to_do);
  return make_error(ErrorCode::kNotPresent, name,
                    "this build has no zstd; " + advice + ", or install libzstd-dev and build memstatd again");
}

#endif

/// Whether a file begins with a zstd frame or a skippable one.
bool is_zstd(std::string_view head) {
  return head == "\x28\xb5\x2f\xfd" ||
         (head.ends_with("\x2a\x4d\x18") && (static_cast<unsigned char>(head[0]) & 0xF0U) == 0x50U);
}

}  // namespace

Result<std::unique_ptr<PieceSource>> open_archive_stream(const std::string& name, int fd) {
  std::array<char, 4> head{};
  if (::pread(fd, head.data(), head.size(), 0) < 0) return system_error(name, errno);
  std::unique_ptr<PieceSource> source;
  if (!is_zstd({head.data(), head.size()})) {
    source = std::make_unique<FilePieces>(name, fd);
  } else {
#if defined(MEMSTAT_HAVE_ZSTD)
    source = std::make_unique<ZstdSource>(name, fd);
#else
    return no_zstd(name, "unpack it first: zstd -d");
#endif
  }
  return source;
}

bool packs_zstd() {
#if defined(MEMSTAT_HAVE_ZSTD)
  return true;
#else
  return false;
#endif
}

Result<std::unique_ptr<ArchiveSink>> open_archive_sink(const std::string& name, int fd, bool with_zstd) {
  std::unique_ptr<ArchiveSink> sink;
  if (!with_zstd) {
    sink = std::make_unique<FileSink>(name, fd);
  } else {
#if defined(MEMSTAT_HAVE_ZSTD)
    sink = std::make_unique<ZstdSink>(name, fd);
#else
    return no_zstd(name, "use the ending .tar");
#endif
  }
  return sink;
}

}  // namespace memstat
