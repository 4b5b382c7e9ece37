# SPDX-License-Identifier: BSD-2-Clause
# Builds for FreeBSD on another system, with clang and lld:
#   cmake -S . -B build/freebsd -DCMAKE_TOOLCHAIN_FILE=daemon/package/freebsd/toolchain.cmake -DFREEBSD_SYSROOT=DIRECTORY
# FREEBSD_SYSROOT has a release's base.txz, or what `make installworld DESTDIR=` wrote. FREEBSD_PREFIX has the packages that memstatd needs
# (/usr/local of that machine), FREEBSD_LLVM the directory of clang and of ld.lld; by default usr/local of the first, and the PATH.
set(FREEBSD_SYSROOT "$ENV{FREEBSD_SYSROOT}" CACHE PATH "FreeBSD's base system")
set(FREEBSD_PREFIX "${FREEBSD_SYSROOT}/usr/local" CACHE PATH "packages of FreeBSD")
set(FREEBSD_LLVM "" CACHE PATH "directory of clang and ld.lld; empty: the PATH")
# CMake reads this file again for each of its checks, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FREEBSD_SYSROOT FREEBSD_PREFIX FREEBSD_LLVM)

if(NOT EXISTS "${FREEBSD_SYSROOT}/usr/include/sys/param.h")
  message(FATAL_ERROR "FREEBSD_SYSROOT=\"${FREEBSD_SYSROOT}\" has no usr/include/sys/param.h: unpack base.txz of a release there")
endif()
file(STRINGS "${FREEBSD_SYSROOT}/usr/include/sys/param.h" version REGEX "^#define[ \t]+__FreeBSD_version[ \t]+[0-9]+")
string(REGEX REPLACE "^#define[ \t]+__FreeBSD_version[ \t]+([0-9]+)([0-9][0-9])[0-9][0-9][0-9].*" "\\1;\\2" version "${version}")
list(GET version 0 FREEBSD_MAJOR)
list(GET version 1 FREEBSD_MINOR)
math(EXPR FREEBSD_MINOR "${FREEBSD_MINOR}")
set(CMAKE_SYSTEM_NAME FreeBSD)
set(CMAKE_SYSTEM_VERSION ${FREEBSD_MAJOR}.${FREEBSD_MINOR})
set(CMAKE_SYSTEM_PROCESSOR amd64)

find_program(FREEBSD_CLANG clang HINTS "${FREEBSD_LLVM}" REQUIRED)
find_program(FREEBSD_CLANGXX clang++ HINTS "${FREEBSD_LLVM}" REQUIRED)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET x86_64-unknown-freebsd${CMAKE_SYSTEM_VERSION})
endforeach()
set(CMAKE_C_COMPILER ${FREEBSD_CLANG})
set(CMAKE_CXX_COMPILER ${FREEBSD_CLANGXX})
set(CMAKE_SYSROOT ${FREEBSD_SYSROOT})
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)

set(CMAKE_FIND_ROOT_PATH ${FREEBSD_SYSROOT} ${FREEBSD_PREFIX})
set(CMAKE_PREFIX_PATH ${FREEBSD_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
