// SPDX-License-Identifier: BSD-2-Clause
// Whether this is a sanitizer's build: MEMSTAT_SANITIZED is defined there. Its run-time needs memory, system calls and
// thread stacks that we otherwise refuse, and has malloc to itself.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMSTAT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MEMSTAT_SANITIZED 1
#endif
#endif
