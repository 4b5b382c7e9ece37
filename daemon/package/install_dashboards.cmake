# SPDX-License-Identifier: BSD-2-Clause
# Part of `cmake --install`: the paths of the prefix go into what is installed of dashboards/: links to runbooks, and where Grafana finds the
# dashboards. At install time, because only then is the prefix known (`cmake --install --prefix`).
#
# In: MEMSTAT_DATADIR (absolute or below CMAKE_INSTALL_PREFIX). The environment's DESTDIR stands before every path that is written, and in
# none that a file names.

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
