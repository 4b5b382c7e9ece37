# SPDX-License-Identifier: BSD-2-Clause
# The contents of memstatd as SPDX 2.3 in JSON: the programs, the libraries that they load (with their Debian packages, if
# dpkg knows them), and what is built in. Part of the build. Its time is SOURCE_DATE_EPOCH, if that is set.
#
# In: PROGRAMS (paths, with commas between), VERSION, SOURCE (the tree), OUTPUT.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" PROGRAMS "${PROGRAMS}")
string(TIMESTAMP now "%Y-%m-%dT%H:%M:%SZ" UTC)

set(packages "")
set(relationships "")
set(digests "")

# add_package(ID NAME VERSION LICENSE PURL RELATION [CHECKSUM])
function(add_package id name version license purl relation)
  string(JSON package SET "{}" SPDXID "\"SPDXRef-${id}\"")
  string(JSON package SET "${package}" name "\"${name}\"")
  string(JSON package SET "${package}" versionInfo "\"${version}\"")
  string(JSON package SET "${package}" downloadLocation "\"NOASSERTION\"")
  string(JSON package SET "${package}" filesAnalyzed "false")
  string(JSON package SET "${package}" licenseConcluded "\"${license}\"")
  string(JSON package SET "${package}" licenseDeclared "\"${license}\"")
  string(JSON package SET "${package}" copyrightText "\"NOASSERTION\"")
  if(purl)
    string(JSON package SET "${package}" externalRefs "[{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": \"${purl}\"}]")
  endif()
  if(ARGN)
    string(JSON package SET "${package}" checksums "[{\"algorithm\": \"SHA256\", \"checksumValue\": \"${ARGN}\"}]")
  endif()
  set(packages "${packages}${package},\n" PARENT_SCOPE)
  set(from "SPDXRef-memstatd")
  if(relation STREQUAL "DESCRIBES")
    set(from "SPDXRef-DOCUMENT")
  endif()
  set(relationships "${relationships}{\"spdxElementId\": \"${from}\", \"relationshipType\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-${id}\"},\n" PARENT_SCOPE)
endfunction()

add_package(memstatd memstatd "${VERSION}" BSD-2-Clause "" DESCRIBES)
foreach(program IN LISTS PROGRAMS)
  cmake_path(GET program FILENAME name)
  file(SHA256 "${program}" digest)
  string(APPEND digests ${digest})
  add_package(program-${name} ${name} "${VERSION}" BSD-2-Clause "" CONTAINS ${digest})
endforeach()
file(READ "${SOURCE}/daemon/README.md" map)
string(REGEX MATCH "uPlot ([0-9.]+[0-9]) from npm" found "${map}")
if(NOT found)
  message(FATAL_ERROR "daemon/README.md does not name uPlot's version: write \"uPlot VERSION from npm\"")
endif()
add_package(uPlot uplot "${CMAKE_MATCH_1}" MIT "pkg:npm/uplot@${CMAKE_MATCH_1}" CONTAINS)

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
     CONFLICTING_DEPENDENCIES_PREFIX conflicts)
list(SORT libraries)
find_program(DPKG_QUERY dpkg-query)
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" real)
  set(version NOASSERTION)
  set(purl "")
  if(DPKG_QUERY)
    # dpkg knows a file by one of its names where /lib leads to /usr/lib.
    foreach(path "${real}" "/usr${real}")
      string(REGEX REPLACE "^/usr/usr/" "/" path "${path}")
      execute_process(COMMAND ${DPKG_QUERY} -S "${path}" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE status)
      if(status EQUAL 0)
        break()
      endif()
    endforeach()
    if(status EQUAL 0 AND owner MATCHES "^([^:]+)(:[^:]+)?: ")
      set(package ${CMAKE_MATCH_1})
      execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}\n" "${package}" OUTPUT_VARIABLE versions ERROR_QUIET)
      string(REGEX MATCH "^[^\n]+" version "${versions}")
      set(purl "pkg:deb/debian/${package}@${version}")
    endif()
  endif()
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id "${name}")
  add_package(library-${id} ${name} "${version}" NOASSERTION "${purl}" DYNAMIC_LINK)
endforeach()

string(SHA256 digest "${digests}")
string(REGEX REPLACE ",\n$" "" packages "${packages}")
string(REGEX REPLACE ",\n$" "" relationships "${relationships}")
file(WRITE "${OUTPUT}" "{
\"spdxVersion\": \"SPDX-2.3\",
\"dataLicense\": \"CC0-1.0\",
\"SPDXID\": \"SPDXRef-DOCUMENT\",
\"name\": \"memstatd-${VERSION}\",
\"documentNamespace\": \"https://memstatd.invalid/spdx/memstatd-${VERSION}-${digest}\",
\"creationInfo\": {\"created\": \"${now}\", \"creators\": [\"Tool: memstatd-build-${VERSION}\"]},
\"packages\": [
${packages}
],
\"relationships\": [
${relationships}
]
}
")
