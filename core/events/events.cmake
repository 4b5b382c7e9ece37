# SPDX-License-Identifier: BSD-2-Clause
# Allocation events.
# The sources are always built, so that captures replay everywhere. With libbpf and clang they can also attach to this
# kernel: clang compiles bpf/*.bpf.c to programs that run on any kernel with BTF, whatever the build machine runs.
file(GLOB_RECURSE EVENT_FILES CONFIGURE_DEPENDS core/events/*.cpp)
list(FILTER EVENT_FILES EXCLUDE REGEX "core/events/sources/")
memstat_library(memstat_events ${EVENT_FILES})
memstat_add_sources(memstat_events core/events/sources)
target_link_libraries(memstat_events PUBLIC memstat_core memstat_archive)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(GET CLANG_VERSIONS -1 newest)
  foreach(version RANGE ${OLDEST_Clang} ${newest})
    list(PREPEND versioned_clang clang-${version})
  endforeach()
  memstat_use_library(memstat_events ${MEMSTAT_EVENTS} LIBBPF bpf/libbpf.h bpf "libbpf-dev and clang"
                      "memstatd counts no allocation events" clang ${versioned_clang})
  if(LIBBPF_LIBRARY)
    file(GLOB BPF_HEADERS CONFIGURE_DEPENDS core/events/bpf/*.h)
    # memstat_bpf_programs(TARGET FUNCTION FILE FLAGS...): compiles FILE, a BPF program, to the bytes that FUNCTION returns.
    function(memstat_bpf_programs target function file)
      set(object ${GENERATED}/${function}.bpf.o)
      set(embedded ${GENERATED}/${function}.cpp)
      set(embed ${CMAKE_SOURCE_DIR}/core/events/attach/embed.cmake)
      add_custom_command(OUTPUT ${object} VERBATIM
                         DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${BPF_HEADERS}
                         COMMAND ${LIBBPF_PROGRAM} -target bpf -mcpu=v3 -g -O2 -Wall -Werror -I${CMAKE_SOURCE_DIR} -I${LIBBPF_INCLUDE_DIRECTORY} ${ARGN}
                                 -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -fdebug-compilation-dir=.  # the same bytes wherever it is built
                                 -c ${CMAKE_SOURCE_DIR}/${file} -o ${object})
      add_custom_command(OUTPUT ${embedded} DEPENDS ${object} ${embed} VERBATIM
                         COMMAND ${CMAKE_COMMAND} -DOBJECT=${object} -DFUNCTION=${function} -DOUTPUT=${embedded} -P ${embed})
      target_sources(${target} PRIVATE ${embedded})
    endfunction()
    memstat_bpf_programs(memstat_events slab_events_by_size core/events/bpf/slab_events.bpf.c)
    memstat_bpf_programs(memstat_events slab_events_with_owner core/events/bpf/slab_events.bpf.c -DMEMSTAT_OWNER_OF_OBJECT)
    memstat_bpf_programs(memstat_events slab_caches core/events/bpf/slab_caches.bpf.c)
    memstat_bpf_programs(memstat_events call_sites core/events/bpf/call_sites.bpf.c)
    memstat_bpf_programs(memstat_events vm_events core/events/bpf/vm_events.bpf.c)
    memstat_bpf_programs(memstat_events memuse_by_size core/events/bpf/memuse.bpf.c)
    memstat_bpf_programs(memstat_events memuse_with_owner core/events/bpf/memuse.bpf.c -DMEMSTAT_OWNER_OF_OBJECT)
  endif()
elseif(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
  set(DTRACE_INCLUDES "")
  foreach(directory cddl/contrib/opensolaris/lib/libdtrace/common cddl/compat/opensolaris/include cddl/contrib/opensolaris/lib/libctf/common
          sys/cddl/compat/opensolaris sys/cddl/contrib/opensolaris/uts/common)
    if(EXISTS ${MEMSTAT_FREEBSD_SOURCES}/${directory})
      list(APPEND DTRACE_INCLUDES ${MEMSTAT_FREEBSD_SOURCES}/${directory})
    endif()
  endforeach()
  find_path(LIBDTRACE_INCLUDE_DIRECTORY dtrace.h PATHS ${DTRACE_INCLUDES})
  memstat_use_library(memstat_events ${MEMSTAT_EVENTS} LIBDTRACE dtrace.h dtrace "FreeBSD's sources"
                      "memstatd counts no events of malloc(9)" LOADED_WHEN_NEEDED)
  if(LIBDTRACE_LIBRARY)
    target_include_directories(memstat_events SYSTEM PRIVATE ${DTRACE_INCLUDES})  # what dtrace.h includes
  endif()
endif()
