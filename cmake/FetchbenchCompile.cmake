# Language level, warnings, sanitizers and where programs land; the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# g++ collects its garbage from 128 MB on, again and again; a file here comes to less than 1 GB, and a job may have 2 GB
# (fb_jobs in bin/lib/common.sh). In KB.
set(garbage_option --param=ggc-min-heapsize=1048576)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(${garbage_option})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # DEPEND: what a file includes is taken from the compiler's own list, which Ninja has it write anyway; else a file that
  # is not in the cache is preprocessed once more, to look it up. SLOPPINESS: without these two, nothing that uses a
  # precompiled header is kept. They leave it to g++ to check that header and user were given the same definitions
  # (-Winvalid-pch), and to us that no file says __TIME__. IGNOREOPTIONS: what decides nothing about the object.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                  CCACHE_IGNOREOPTIONS=${garbage_option} "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Linked by every target of ours, and not by generated code.
add_library(fetchbench_warnings INTERFACE)
target_compile_options(fetchbench_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside its own libstdc++ and Boost headers (GCC bugs 105329, 105562).
  target_compile_options(fetchbench_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
                                                       -Wno-mismatched-new-delete)
endif()
if(FETCHBENCH_WERROR)
  target_compile_options(fetchbench_warnings INTERFACE -Werror)
endif()

if(FETCHBENCH_SANITIZE)
  # Without three checks that stand at every access to memory, and are a third of the time to compile what uses Asio: a null
  # pointer that is used, and an access beyond an object, are found by AddressSanitizer, and our processors read what is
  # not aligned. The fuzz targets have all checks.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size,alignment
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(FETCHBENCH_FUZZ)
  # With the check of function types beside AddressSanitizer, clang 14 compiles no coroutine ("Cannot represent a
  # difference across sections").
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
