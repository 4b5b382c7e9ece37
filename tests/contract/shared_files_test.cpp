// SPDX-License-Identifier: BSD-2-Clause
// A file or sysctl that several sources read is read from the kernel once a poll.
#include "core/kernel/forwarding_view.h"
#include "core/kernel/once_per_poll.h"
#include "core/query.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Logs who reads which file, and passes everything on.
class ReadersOfFiles final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  std::string_view reader;  ///< The source whose reads are logged; "": none.
  std::map<std::string, std::set<std::string_view>, std::less<>> readers;

  Result<void> read_file(std::string_view path, Buffer& out) override {
    if (!reader.empty()) readers[std::string(path)].insert(reader);
    return inner_.read_file(path, out);
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    if (!reader.empty()) readers[std::string(name)].insert(reader);
    return inner_.read_sysctl(name, out, size_hint);
  }
};

class SharedFiles : public testing::TestWithParam<std::string> {};

TEST_P(SharedFiles, OfTheSourcesAreInTheListOfThoseReadOnceAPoll) {
  const auto capture = open_fixture(GetParam());
  ReadersOfFiles view(*capture);
  MemoryTypeList list;
  for (const SourceDescriptor* source : all_sources()) {
    if (source->os != view.os()) continue;
    SourceReader reader(*source);
    if (!open_source(reader, view) || !refresh(reader, view, list, 1)) continue;
    view.reader = source->name;  // a steady read
    EXPECT_TRUE(refresh(reader, view, list, 2)) << source->name;
    view.reader = {};
  }
  EXPECT_FALSE(view.readers.empty());
  for (const auto& [path, readers] : view.readers) {
    if (readers.size() > 1) {
      EXPECT_TRUE(path.starts_with('/') ? is_shared_file(path) : is_shared_sysctl(path))
          << path << " is read by " << *readers.begin() << " and " << *readers.rbegin()
          << ": add it to core/kernel/once_per_poll.cpp";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, SharedFiles, testing::ValuesIn(all_captures()), name_of_capture);

}  // namespace
}  // namespace memstat
