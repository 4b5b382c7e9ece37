// SPDX-License-Identifier: BSD-2-Clause
// Defines MEMSTAT_SANITIZED in sanitizer builds. The sanitizer run-time replaces malloc and needs memory, system calls and
// thread stacks that we otherwise deny.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMSTAT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MEMSTAT_SANITIZED 1
#endif
#endif
