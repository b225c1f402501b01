# Precompiled headers, included when all targets are known. Most of a compilation here is reading the headers of gRPC,
# Boost and GoogleTest again.
#
# FETCHBENCH_PRECOMPILED_HEADERS: tests: the tests alone; all: libraries and programs too; none. The Release build keeps
# its libraries and programs without, so that a header that does not include what it needs is still found, and bin/lint
# reads the tests without theirs. The sanitized build compiles the same files again, and has them everywhere.
set(FETCHBENCH_PRECOMPILED_HEADERS tests CACHE STRING "What is built with precompiled headers: none, tests or all")
set_property(CACHE FETCHBENCH_PRECOMPILED_HEADERS PROPERTY STRINGS none tests all)
if(NOT FETCHBENCH_PRECOMPILED_HEADERS MATCHES "^(none|tests|all)$")
  message(FATAL_ERROR "FETCHBENCH_PRECOMPILED_HEADERS is ${FETCHBENCH_PRECOMPILED_HEADERS}; it can be none, tests or all")
endif()

# What is in one: third parties' headers only, so that no change of ours builds everything again.
set(base_headers
    <algorithm> <array> <charconv> <chrono> <deque> <filesystem> <fstream> <functional> <map> <memory> <optional> <set>
    <string> <string_view> <thread> <utility> <vector>
    <absl/status/statusor.h> <boost/json.hpp> <fmt/format.h> <fmt/ranges.h>)
set(net_headers
    ${base_headers}
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
    <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/local/stream_protocol.hpp>
    <boost/asio/posix/stream_descriptor.hpp> <boost/asio/post.hpp> <boost/asio/redirect_error.hpp>
    <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp> <boost/asio/write.hpp>)
set(rpc_headers ${net_headers} <grpcpp/grpcpp.h> <spdlog/spdlog.h>)

# Who gets which, from the heaviest on: who links these, or is one of these.
set(rpc_users_link fetchbench_common)
set(net_users_link fetchbench_base fetchbench_asio)
set(base_users_link fetchbench_base)

# A precompiled header fits only who is compiled with the same options and, of the macros that its headers know, the
# same definitions. So there is one for each weight of libraries, and for tests, whose own code is not optimised, another.
function(fetchbench_precompiled_header name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS;OPTIONS" ${ARGN})
  # An empty source: what is wanted is the header beside it.
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/precompiled/${name}.cc" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/precompiled/${name}.cc")
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} fetchbench_warnings)
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  if(NOT name MATCHES "base")
    # Not by linking it, as it uses the header itself.
    target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:fetchbench_asio,INTERFACE_COMPILE_DEFINITIONS>)
  endif()
endfunction()

# fetchbench_reaches(TARGET WANTED RESULT): whether what WANTED asks of its users is asked of TARGET.
function(fetchbench_reaches target wanted property result)
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(libs ${target} ${property})
  foreach(lib IN LISTS libs)
    if(lib STREQUAL wanted)
      set(${result} TRUE PARENT_SCOPE)
      return()
    elseif(TARGET ${lib} AND lib MATCHES "^fetchbench_")
      fetchbench_reaches(${lib} ${wanted} INTERFACE_LINK_LIBRARIES found)
      if(found)
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

function(fetchbench_use_precompiled_header target)
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(libs ${target} LINK_LIBRARIES)
  # Of ours, and compiled like the rest.
  if(NOT fetchbench_warnings IN_LIST libs OR "-fno-sanitize=all" IN_LIST options)
    return()
  endif()
  set(kind)
  if("-O0" IN_LIST options)
    set(kind test_)
  elseif(NOT FETCHBENCH_PRECOMPILED_HEADERS STREQUAL "all")
    return()
  endif()
  foreach(group rpc net base)
    set(fits TRUE)
    foreach(wanted IN LISTS ${group}_users_link)
      fetchbench_reaches(${target} ${wanted} LINK_LIBRARIES found)
      if(NOT found AND NOT target STREQUAL wanted)
        set(fits FALSE)
      endif()
    endforeach()
    if(fits)
      target_precompile_headers(${target} REUSE_FROM fetchbench_pch_${kind}${group})
      return()
    endif()
  endforeach()
endfunction()

function(fetchbench_use_precompiled_headers folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$")
      fetchbench_use_precompiled_header(${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(sub IN LISTS folders)
    fetchbench_use_precompiled_headers(${sub})
  endforeach()
endfunction()

if(NOT FETCHBENCH_PRECOMPILED_HEADERS STREQUAL "none")
  set(base_libs absl::statusor fmt::fmt Boost::json)
  set(net_libs ${base_libs} absl::flat_hash_map absl::flat_hash_set Boost::headers)
  set(rpc_libs ${net_libs} gRPC::grpc++ spdlog::spdlog Threads::Threads)
  foreach(group base net rpc)
    fetchbench_precompiled_header(fetchbench_pch_${group} HEADERS ${${group}_headers} LIBS ${${group}_libs})
    fetchbench_precompiled_header(fetchbench_pch_test_${group} HEADERS ${${group}_headers} <gmock/gmock.h> <gtest/gtest.h>
                                  LIBS ${${group}_libs} GTest::gmock OPTIONS -O0)
  endforeach()
  fetchbench_use_precompiled_headers(${CMAKE_SOURCE_DIR})
endif()
