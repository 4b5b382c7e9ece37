// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_plan.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

using Kind = PollRecord::Kind;

PollRecord make(Kind kind, std::string name, std::string_view bytes, int system_errno = 0) {
  PollRecord record;
  record.kind = kind;
  record.name = std::move(name);
  record.bytes.assign(bytes);
  record.system_errno = system_errno;
  return record;
}

class Plan : public testing::Test {
 protected:
  void add(Kind kind, const std::string& name, std::string_view bytes, int system_errno = 0) {
    records_.push_back(make(kind, name, bytes, system_errno));
  }
  PollPlan plan(const std::vector<RecordedError>& standing_errors = {}) { return plan_poll(records_, standing_errors, {}); }
  std::vector<PollRecord> records_;
};

TEST_F(Plan, LeavesOutWhatACaptureCannotHold) {
  for (const char* path : {"", "relative", "/", "/../x", "/a//b", "/a/."}) add(Kind::kFile, path, "x");
  for (const char* name : {"", ".", "..", "a/b"}) add(Kind::kSysctl, name, "x");
  for (const char* name : {"", ".", "..", "a/b"}) add(Kind::kTable, name, "x");
  add(Kind::kLink, "/out", "/etc");
  add(Kind::kLink, "/up", "../x");
  const PollPlan made = plan();
  EXPECT_TRUE(made.files.empty());
  EXPECT_TRUE(made.links.empty());
}

TEST_F(Plan, ContentGoesBehindLinksOfLinks) {
  add(Kind::kLink, "/a/one", "../b/two");
  add(Kind::kLink, "/b/two", "three/./four");
  add(Kind::kFile, "/a/one/x", "content");
  EXPECT_EQ(plan().files.at("fs/b/three/four/x"), "content");
}

TEST_F(Plan, LinksInACircleOrOutOfTheTreeTakeNothingWithThem) {
  add(Kind::kLink, "/a", "b");
  add(Kind::kLink, "/b", "a");
  add(Kind::kFile, "/a/x", "x");
  add(Kind::kLink, "/deep/in/c", "../../e/f/..");
  add(Kind::kLink, "/e", "g");
  add(Kind::kFile, "/deep/in/c/y", "y");
  const PollPlan made = plan();
  EXPECT_EQ(made.files.count("fs/a/x"), 0U);
  for (const auto& [path, content] : made.files) EXPECT_EQ(path.substr(0, 3), "fs/") << path;
}

TEST_F(Plan, ErrorsAreKeptOnlyForUnknownContent) {
  add(Kind::kFileError, "/known", "", EIO);
  add(Kind::kFile, "/known", "x");
  add(Kind::kFileError, "/listed", "", EISDIR);
  add(Kind::kListing, "/listed", "");
  add(Kind::kFileError, "/absent", "", ENOENT);
  add(Kind::kFileError, "/twice", "", EIO);
  add(Kind::kFileError, "/twice", "", EACCES);
  add(Kind::kSysctlError, "kern.x", "", EPERM);
  const PollPlan made =
      plan({{PollPlace::kFile, "/standing", 13}, {PollPlace::kFile, "/known", 13}, {PollPlace::kFile, "/twice", 5}});
  EXPECT_EQ(made.errors, "- {path: /standing, errno: 13}\n- {path: /twice, errno: 13}\n- {sysctl: kern.x, errno: 1}\n");
}

}  // namespace
}  // namespace memstat
