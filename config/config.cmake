# SPDX-License-Identifier: BSD-2-Clause
# The configuration: the only part that reads YAML.
find_package(yaml-cpp REQUIRED)
find_path(RE2_INCLUDE_DIRECTORY re2/re2.h REQUIRED)
find_library(RE2_LIBRARY_FILE re2 REQUIRED)
file(GLOB CONFIG_FILES CONFIGURE_DEPENDS config/*.cpp)
memstat_library(memstat_config ${CONFIG_FILES})
memstat_quick(memstat_config)
target_link_libraries(memstat_config PUBLIC memstat_core PRIVATE yaml-cpp ${RE2_LIBRARY_FILE})
target_include_directories(memstat_config SYSTEM PRIVATE ${RE2_INCLUDE_DIRECTORY})
