# SPDX-License-Identifier: BSD-2-Clause
# Debian packages: cpack -G DEB makes memstatd, libmemstat3 and libmemstat-dev
if(TARGET memstat AND TARGET memstatd AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "the memstatd authors <maintainers@memstatd.invalid>" CACHE STRING "maintainer of the packages")
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
  set(CPACK_PACKAGE_VERSION ${MEMSTAT_VERSION})
  set(DEBIAN_VERSION ${MEMSTAT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  configure_file(daemon/package/changelog.in package/changelog @ONLY)
  set(CPACK_MEMSTAT_CHANGELOG ${CMAKE_BINARY_DIR}/package/changelog)
  set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/daemon/package/prepare_debian.cmake)

  # As an administrator would: DESTDIR=... cmake --install --prefix /usr.
  set(CPACK_SET_DESTDIR ON)
  set(CPACK_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL daemon library development dashboards)
  if(TARGET cpc)
    list(APPEND CPACK_COMPONENTS_ALL counters counters_development)
  endif()
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # else it is the first line of all three
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

  set(CPACK_DEBIAN_DAEMON_PACKAGE_NAME memstatd)
  set(CPACK_DEBIAN_DAEMON_PACKAGE_SECTION admin)
  set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS passwd)  # useradd makes the account
  # Loaded with dlopen to count CPU events and to read the journal, so dpkg-shlibdeps does not see them.
  set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS "libpfm4, libsystemd0")
  set(CPACK_DEBIAN_DAEMON_PACKAGE_SUGGESTS libcurl4)  # opened by memstatctl for https
  set(CPACK_DEBIAN_DAEMON_DESCRIPTION "kernel memory statistics for Prometheus
memstatd reads the kernel's own allocators, type by type, and serves amounts,
growth, failures and limits over HTTP. It answers where the kernel's memory
went, which allocations failed, and what is about to hit its limit.")
  file(WRITE ${CMAKE_BINARY_DIR}/package/conffiles "/etc/memstatd/memstatd.yaml\n")
  file(GLOB CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/daemon/package/memstatd/*)
  list(APPEND CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/conffiles)

  set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_NAME memstatd-dashboards)
  set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_SECTION admin)
  set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_DASHBOARDS_DESCRIPTION "kernel memory statistics, rules and dashboards
Alerts and recording rules for Prometheus, dashboards for Grafana, runbooks,
and examples of their installation, for hosts that run memstatd. They belong
on the machine that runs Prometheus, which needs nothing else of memstatd.")

  set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmemstat3)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
  file(WRITE ${CMAKE_BINARY_DIR}/package/shlibs "libmemstat 3 libmemstat3\n")
  file(WRITE ${CMAKE_BINARY_DIR}/package/triggers "activate-noawait ldconfig\n")
  file(GLOB CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/daemon/package/libmemstat3/*)
  list(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/shlibs ${CMAKE_BINARY_DIR}/package/triggers)
  set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "kernel memory statistics as a list of memory types
Source compatible with FreeBSD's libmemstat: programs written for its
<memstat.h> read FreeBSD's kernel memory statistics, live or from captures.
On Linux other calls of the library list the kernel's slab caches.")

  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmemstat-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "kernel memory statistics, header and static library
What is needed to build programs with libmemstat: <memstat.h>, the static
library, and the package files of pkg-config and CMake.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmemstat3 (= ${DEBIAN_VERSION})")
  set(static_libraries z lzo2 zstd)
  set(static_packages zlib1g-dev liblzo2-dev libzstd-dev)
  foreach(library package IN ZIP_LISTS static_libraries static_packages)
    if(library IN_LIST OPTIONAL_LIBRARY_NAMES)
      string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", ${package}")
    endif()
  endforeach()

  set(CPACK_DEBIAN_COUNTERS_PACKAGE_NAME libcpc1)
  set(CPACK_DEBIAN_COUNTERS_PACKAGE_SECTION libs)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/package/libcpc1)
  file(WRITE ${CMAKE_BINARY_DIR}/package/libcpc1/shlibs "libcpc 1 libcpc1\n")
  file(GLOB CPACK_DEBIAN_COUNTERS_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/daemon/package/libmemstat3/*)
  list(APPEND CPACK_DEBIAN_COUNTERS_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/libcpc1/shlibs
       ${CMAKE_BINARY_DIR}/package/triggers)
  set(CPACK_DEBIAN_COUNTERS_PACKAGE_RECOMMENDS libpfm4)
  set(CPACK_DEBIAN_COUNTERS_DESCRIPTION "kernel memory statistics, CPU performance counters
Source compatible with the libcpc of Solaris: programs written for its
<libcpc.h> count events of threads, processes and CPUs with Linux's perf
events.")
  set(CPACK_DEBIAN_COUNTERS_DEVELOPMENT_PACKAGE_NAME libcpc-dev)
  set(CPACK_DEBIAN_COUNTERS_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_COUNTERS_DEVELOPMENT_DESCRIPTION "kernel memory statistics, header of libcpc
What is needed to build programs with libcpc: <libcpc.h>, the manual page,
and the package file of pkg-config.")
  set(CPACK_DEBIAN_COUNTERS_DEVELOPMENT_PACKAGE_DEPENDS "libcpc1 (= ${DEBIAN_VERSION})")
  if(CMAKE_INSTALL_LIBDIR STREQUAL "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
    set(CPACK_DEBIAN_COUNTERS_PACKAGE_MULTIARCH same)
  endif()
  include(CPack)
endif()
