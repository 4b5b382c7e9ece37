// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/forwarding_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Has only what a view must have.
class Bare final : public KernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kOther; }
  [[nodiscard]] std::uint64_t page_size() const override { return 16384; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 3; }
};

/// Answers each call with the name of the function and its argument.
class Answering final : public KernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 8192; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 7; }
  Result<void> read_file(std::string_view path, Buffer& out) override { return answer("file", path, out); }
  [[nodiscard]] bool may_read(std::string_view path) override { return path == "/a"; }
  Result<std::string> read_link(std::string_view path) override { return "link " + std::string(path); }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    names = {"directory " + std::string(path)};
    return {};
  }
  Result<void> list_directories(std::string_view path, Buffer& names) override { return answer("directories", path, names); }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    return answer("sysctl " + std::to_string(size_hint), name, out);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    names = {"sysctls " + std::string(prefix)};
    return {};
  }
  Result<void> keep_open(std::string_view path) override { return system_error(path, EACCES); }

 private:
  static Result<void> answer(const std::string& what, std::string_view name, Buffer& out) {
    out.assign(what + " " + std::string(name));
    return {};
  }
};

TEST(KernelView, HasNothingThatItDoesNotOverride) {
  Bare view;
  EXPECT_TRUE(view.may_read("/a")) << "reading it returns the reason";
  Buffer out;
  std::vector<std::string> names;
  const std::vector<std::function<Result<void>()>> reads = {[&] { return view.read_file("/a", out); },
                                                            [&] { return view.list_directory("/a", names); },
                                                            [&] { return view.list_directories("/a", out); },
                                                            [&] { return view.read_sysctl("/a", out, 1); },
                                                            [&] { return view.list_sysctls("/a", names); },
                                                            [&] { return view.keep_open("/a"); },
                                                            [&]() -> Result<void> {
                                                              auto link = view.read_link("/a");
                                                              return link ? Result<void>() : Result<void>(link.error());
                                                            }};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    EXPECT_TRUE(fails(reads[i](), {.code = ErrorCode::kNotPresent, .path = "/a"})) << i;
  }
}

TEST(ForwardingKernelView, PassesEveryCallOn) {
  Answering inner;
  ForwardingKernelView view(inner);
  EXPECT_EQ(view.os(), OperatingSystem::kFreeBsd);
  EXPECT_EQ(view.page_size(), 8192U);
  EXPECT_EQ(view.cpu_count(), 7U);
  Buffer out;
  std::vector<std::string> names;
  ASSERT_TRUE(view.read_file("/a", out));
  EXPECT_EQ(out.view(), "file /a");
  EXPECT_TRUE(view.may_read("/a"));
  EXPECT_FALSE(view.may_read("/b"));
  EXPECT_EQ(*view.read_link("/a"), "link /a");
  ASSERT_TRUE(view.list_directory("/a", names));
  EXPECT_EQ(names, std::vector<std::string>{"directory /a"});
  ASSERT_TRUE(view.list_directories("/a", out));
  EXPECT_EQ(out.view(), "directories /a");
  ASSERT_TRUE(view.read_sysctl("a.b", out, 12));
  EXPECT_EQ(out.view(), "sysctl 12 a.b");
  ASSERT_TRUE(view.list_sysctls("a", names));
  EXPECT_EQ(names, std::vector<std::string>{"sysctls a"});
  EXPECT_EQ(view.keep_open("/a").error().code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace memstat
