// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace memstat {
namespace {

constexpr std::size_t kStep = 64 * 1024;  // sizes are multiples of this, a whole number of pages everywhere
constexpr std::string_view kName = "shared memory";

}  // namespace

SharedMemory::~SharedMemory() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

#if defined(MFD_ALLOW_SEALING)  // Linux, and FreeBSD since 13

namespace {

bool is_sealed_memory(int descriptor, int seals, std::size_t bytes) {
  struct stat file {};
  const int has = ::fcntl(descriptor, F_GET_SEALS);
  return bytes != 0 && has >= 0 && (has & seals) == seals && ::fstat(descriptor, &file) == 0 && file.st_size >= 0 &&
         static_cast<std::size_t>(file.st_size) >= bytes;
}

Error unsound_memory() { return data_error(kName, 0, "is too small, or is not sealed and could shrink or change"); }

}  // namespace

Result<SharedMemory> SharedMemory::make_with(std::size_t bytes, int seals) {
  SharedMemory made;
  const std::size_t size = (bytes / kStep + 1) * kStep;
  made.descriptor_ = UniqueFd(::memfd_create("memstatd", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.descriptor_ || ::ftruncate(made.descriptor_.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(made.descriptor_.get(), F_ADD_SEALS, seals) != 0) {
    return system_error(kName, errno);
  }
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, made.descriptor_.get(), 0);
  if (memory == MAP_FAILED) return system_error(kName, errno);
  made.memory_ = static_cast<char*>(memory);
  made.size_ = size;
  return made;
}

Result<SharedMemory> SharedMemory::make(std::size_t bytes) {
  return make_with(bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}
Result<SharedMemory> SharedMemory::make_for_one(std::size_t bytes) { return make_with(bytes, F_SEAL_SHRINK | F_SEAL_GROW); }

Result<void> SharedMemory::seal_content() {
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0) return {};
  return system_error(kName, errno);
}

Result<char*> SharedMemory::map_sealed(const UniqueFd& descriptor, std::size_t bytes) {
  if (!is_sealed_memory(descriptor.get(), F_SEAL_SHRINK | F_SEAL_WRITE, bytes)) return unsound_memory();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor.get(), 0);
  if (memory == MAP_FAILED) return system_error(kName, errno);
  return static_cast<char*>(memory);
}

Result<SharedMemory> SharedMemory::take(UniqueFd descriptor, std::size_t bytes) {
  if (!is_sealed_memory(descriptor.get(), F_SEAL_SHRINK, bytes)) return unsound_memory();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (memory == MAP_FAILED) return system_error(kName, errno);
  SharedMemory taken;
  taken.memory_ = static_cast<char*>(memory);
  taken.size_ = bytes;
  return taken;
}

#else

namespace {

Error no_sealing() { return system_error(kName, ENOSYS, "this system has no memory whose size can be sealed"); }

}  // namespace

Result<SharedMemory> SharedMemory::make(std::size_t /*bytes*/) { return no_sealing(); }
Result<SharedMemory> SharedMemory::make_for_one(std::size_t /*bytes*/) { return no_sealing(); }
Result<SharedMemory> SharedMemory::take(UniqueFd /*descriptor*/, std::size_t /*bytes*/) { return no_sealing(); }
Result<void> SharedMemory::seal_content() { return no_sealing(); }
Result<char*> SharedMemory::map_sealed(const UniqueFd& /*descriptor*/, std::size_t /*bytes*/) { return no_sealing(); }

#endif

}  // namespace memstat
