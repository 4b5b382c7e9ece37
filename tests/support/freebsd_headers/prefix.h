// SPDX-License-Identifier: BSD-2-Clause
// Read before a FreeBSD file is compiled on Linux, see CMakeLists.txt. The headers of the C++ and C libraries are this
// system's; from here on the macros, and the headers next to this one, are FreeBSD's.
#pragma once

#include <grp.h>
#include <link.h>
#include <pwd.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#undef __linux__
#undef __linux
#undef linux
#define __FreeBSD__ FREEBSD_RELEASE

extern "C" {  // of <unistd.h>
int getpeereid(int, uid_t*, gid_t*);
void setproctitle(const char*, ...);
}
