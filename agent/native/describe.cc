#include "agent/native/describe.h"

#include <ares.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <idn2.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/version.hpp>

#include "agent/native/tls_context.h"

namespace fetchbench::native {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "C++20, " __VERSION__;  // "Clang 14.0.6"
#else
constexpr const char* kCompiler = "C++20, g++ " __VERSION__;
#endif

}  // namespace

std::string DescribeTarget() {
  namespace json = boost::json;
  json::array libraries;
  libraries.emplace_back(fmt::format("Boost {}.{}.{}", BOOST_VERSION / 100000,
                                     BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  libraries.emplace_back(fmt::format("c-ares {}", ares_version(nullptr)));
  libraries.emplace_back(fmt::format("libidn2 {}", idn2_check_version(nullptr)));
  libraries.emplace_back(TlsLibraryName());
  json::object facts;
  facts["name"] = "native";
  facts["version"] = FETCHBENCH_VERSION;
  facts["runtime"] = kCompiler;
  facts["libraries"] = std::move(libraries);
  facts["tls_library"] = TlsLibraryName();
  facts["tls_groups"] = TlsGroups();
  facts["libc"] = fmt::format("glibc {}", gnu_get_libc_version());
  return json::serialize(facts);
}

}  // namespace fetchbench::native
