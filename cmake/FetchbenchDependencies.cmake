# The distribution's packages, found once; folders link the names defined here.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS url json)
find_package(OpenSSL 3 REQUIRED)
find_package(absl REQUIRED)
# Debian 12's Protobuf has no CMake config file: module mode.
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CARES REQUIRED IMPORTED_TARGET libcares)
# Debian 13's calls deprecated what is Debian 12's only way.
target_compile_definitions(PkgConfig::CARES INTERFACE CARES_NO_DEPRECATED)
pkg_check_modules(IDN2 REQUIRED IMPORTED_TARGET libidn2)
# Its CMake config file asks for libraries that only static linking needs.
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-pull)
