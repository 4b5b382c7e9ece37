// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/http_answer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace memstat::ctl {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The whole of `text` as a number below kMaxHttpBody * 2, or nothing.
std::optional<std::size_t> parse_size(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size()) return {};
  const bool is_huge = error == std::errc::result_out_of_range || value > kMaxHttpBody;
  return is_huge ? kMaxHttpBody + 1 : static_cast<std::size_t>(value);
}

/// %41 is 'A'; what is no escape stays.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr == &text[i + 1] + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

ParsedUrl parse_url(std::string_view text) {
  constexpr std::string_view kHttp = "http://";
  const auto refuse = [](std::string why) { return ParsedUrl{.url = {}, .problem = std::move(why)}; };
  if (lower(text.substr(0, 8)) == "https://") {
    return refuse(
        "memstatctl speaks plain HTTP, as memstatd does: give http://HOST:PORT, through an SSH tunnel where the network is "
        "not yours");
  }
  if (constexpr std::string_view kUnix = "unix:"; text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (!path.starts_with('/') || path.size() > 103) {
      return refuse("is not the path of a socket: give unix:/run/memstatd/memstatd.sock");
    }
    return {.url = {.socket = std::string(path),
                    .host = "localhost",
                    .port = "80",
                    .prefix = {},
                    .user = {},
                    .for_logs = std::string(text)},
            .problem = {}};
  }
  if (lower(text.substr(0, kHttp.size())) != kHttp) return refuse("is no URL of a memstatd: give http://HOST:PORT");
  const bool has_bad_byte = std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == '\x7f'; });
  if (has_bad_byte || text.find_first_of("?#") != std::string_view::npos) {
    return refuse("is no URL of a memstatd: give http://HOST:PORT, without blanks, '?' and '#'");
  }
  text.remove_prefix(kHttp.size());
  HttpUrl url;
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.prefix = text.substr(slash);
  url.prefix.erase(url.prefix.find_last_not_of('/') + 1);
  text = text.substr(0, slash);
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    url.user = unescaped(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  url.for_logs = std::string(kHttp).append(text).append(url.prefix);
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refuse("has an IPv6 address without its ']': give http://[::1]:8947");
    url.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text[0] != ':') return refuse("is no URL of a memstatd: give http://[::1]:8947");
  } else {
    url.host = text.substr(0, text.find(':'));
    text.remove_prefix(url.host.size());
  }
  if (url.host.empty()) return refuse("names no host: give http://HOST:PORT");
  url.port = text.empty() ? "80" : std::string(text.substr(1));
  const bool is_port =
      is_digits(url.port) && url.port.size() <= 5 && std::stoi(url.port) <= 65535 && std::stoi(url.port) > 0;
  if (!is_port) return refuse("has no possible port: give http://HOST:PORT, such as http://127.0.0.1:8947");
  return {.url = std::move(url), .problem = {}};
}

bool HttpAnswerReader::fail(const char* why) {
  problem_ = why;
  return false;
}

bool HttpAnswerReader::add(std::string_view bytes) {
  bytes_ += bytes;
  if (!has_head_ && !read_head()) return problem_.empty();
  return has_head_ ? read_body() : true;
}

bool HttpAnswerReader::finish() {
  if (is_whole_) return true;
  if (!problem_.empty()) return false;
  if (has_head_ && body_ == Body::kUntilEnd) return is_whole_ = true;
  return fail(has_head_ || !bytes_.empty() ? "the connection ended in the middle of the answer"
                                           : "the connection was closed without an answer");
}

/// Takes the status and the header lines once they are all there. False: not yet, or never.
bool HttpAnswerReader::read_head() {
  constexpr std::string_view kVersion = "HTTP/1.";
  const std::string_view start = std::string_view(bytes_).substr(0, kVersion.size());
  if (start != kVersion.substr(0, start.size())) return fail("the answer is not HTTP");
  const std::size_t end = bytes_.find("\r\n\r\n");
  if (end == std::string::npos ? bytes_.size() > kMaxHttpHead : end > kMaxHttpHead) {
    return fail("the answer's header is larger than 64 KiB");
  }
  if (end == std::string::npos) return false;
  const std::string head = bytes_.substr(0, end);
  bytes_.erase(0, end + 4);
  const std::string_view status = std::string_view(head).substr(0, head.find("\r\n"));
  if (status.size() < 12 || status[8] != ' ' || !is_digits(status.substr(9, 3))) return fail("the answer has no status");
  answer_.status = std::stoi(std::string(status.substr(9, 3)));
  for (std::string_view left = std::string_view(head).substr(status.size()); left.size() > 2;) {
    left.remove_prefix(2);  // the end of the line before
    const std::string_view line = left.substr(0, left.find("\r\n"));
    left.remove_prefix(line.size());
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return fail("the answer has a header line without a colon");
    const std::string name = lower(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "etag") answer_.etag = value;
    if (name == "transfer-encoding") {
      if (lower(value) != "chunked") return fail("the answer has a transfer coding that was not asked for");
      body_ = Body::kChunked;
    }
    if (name == "content-encoding" && lower(value) != "identity")
      return fail("the answer is compressed, which was not asked for");
    if (name == "content-length" && body_ != Body::kChunked) {
      const auto size = parse_size(value, 10);
      if (!size) return fail("the answer has no possible size");
      size_ = *size;
      body_ = Body::kSized;
    }
  }
  if (answer_.status == 304 || answer_.status == 204) {
    body_ = Body::kSized;
    size_ = 0;
  }
  if (body_ == Body::kSized && size_ > kMaxHttpBody) return fail("the answer is larger than 64 MiB");
  has_head_ = true;
  return true;
}

/// False when the answer is whole, or never will be.
bool HttpAnswerReader::read_body() {
  if (body_ == Body::kChunked) return read_chunks();
  answer_.body += bytes_;
  bytes_.clear();
  if (body_ == Body::kSized && answer_.body.size() >= size_) {
    answer_.body.resize(size_);
    is_whole_ = true;
    return false;
  }
  return answer_.body.size() <= kMaxHttpBody || fail("the answer is larger than 64 MiB");
}

bool HttpAnswerReader::read_chunks() {
  constexpr std::size_t kMaxLine = 1024;
  std::size_t taken = 0;
  const auto keep_rest = [&] {
    bytes_.erase(0, taken);
    return true;
  };
  while (true) {
    std::string_view left = std::string_view(bytes_).substr(taken);
    if (is_in_chunk_) {
      const std::size_t part = std::min(size_, left.size());
      answer_.body += left.substr(0, part);
      taken += part;
      size_ -= part;
      left.remove_prefix(part);
      if (size_ != 0 || left.size() < 2) return keep_rest();
      if (!left.starts_with("\r\n")) return fail("the answer has a broken chunk");
      taken += 2;
      is_in_chunk_ = false;
      continue;
    }
    const std::size_t end = left.find("\r\n");
    if (end == std::string_view::npos) return left.size() <= kMaxLine ? keep_rest() : fail("the answer has a broken chunk");
    const auto size = parse_size(trimmed(left.substr(0, std::min(end, left.find(';')))), 16);
    if (!size) return fail("the answer has a chunk without a size");
    if (*size > kMaxHttpBody - answer_.body.size()) return fail("the answer is larger than 64 MiB");
    taken += end + 2;
    if (*size == 0) {  // what trails, which is not needed, is not waited for
      is_whole_ = true;
      return false;
    }
    size_ = *size;
    is_in_chunk_ = true;
  }
}

}  // namespace memstat::ctl
