# SPDX-License-Identifier: BSD-2-Clause
# Part of `cmake --install`: writes the paths of the prefix into the installed files of dashboards/: links to runbooks, and
# where Grafana finds the dashboards. At install time, because only then is the prefix known (`cmake --install --prefix`).
#
# In: MEMSTAT_DATADIR (absolute or below CMAKE_INSTALL_PREFIX). DESTDIR from the environment precedes every path that is
# written to, but no path inside a file.

set(prefix ${CMAKE_INSTALL_PREFIX})
cmake_path(ABSOLUTE_PATH prefix NORMALIZE)
cmake_path(ABSOLUTE_PATH MEMSTAT_DATADIR BASE_DIRECTORY "${prefix}" NORMALIZE)
set(shipped "/usr/share/memstatd/dashboards")
set(dashboards "${MEMSTAT_DATADIR}/memstatd/dashboards")
if(NOT dashboards STREQUAL shipped)
  file(GLOB_RECURSE files "$ENV{DESTDIR}${dashboards}/*")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(FIND "${text}" "${shipped}" place)
    if(NOT place EQUAL -1)
      string(REPLACE "${shipped}" "${dashboards}" text "${text}")
      file(WRITE "${file}" "${text}")
    endif()
  endforeach()
endif()
