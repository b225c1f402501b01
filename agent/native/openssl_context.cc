#include "agent/native/openssl_context.h"

#include <openssl/crypto.h>

#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR >= 3 && !defined(OPENSSL_IS_AWSLC) && \
    !defined(OPENSSL_IS_BORINGSSL)
#define FETCHBENCH_FEW_DECODERS 1
#endif

#ifdef FETCHBENCH_FEW_DECODERS
#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>
#endif

namespace fetchbench::native {

#ifdef FETCHBENCH_FEW_DECODERS
namespace {

constexpr const char* kProviderName = "fetchbench-few-decoders";

// The public keys that a server's certificate can hold.
constexpr std::array<std::string_view, 5> kKeyTypes = {"EC", "RSA", "RSA-PSS", "ED25519", "ED448"};

// The default provider, and those of its decoders that are passed on.
struct Underlying {
  OSSL_PROVIDER* provider = nullptr;
  std::vector<OSSL_ALGORITHM> decoders;  // ends in an entry without a name
};

bool IsWanted(const OSSL_ALGORITHM& algorithm) {
  const std::string_view names = algorithm.algorithm_names;  // "EC:id-ecPublicKey:1.2.840..."
  const std::string_view name = names.substr(0, names.find(':'));
  const std::string_view properties = algorithm.property_definition;
  return std::ranges::find(kKeyTypes, name) != kKeyTypes.end() &&
         properties.find("input=der") != std::string_view::npos &&
         properties.find("structure=SubjectPublicKeyInfo") != std::string_view::npos;
}

// Lives as long as the process: OpenSSL calls into it until its own clean-up at exit.
Underlying* LoadUnderlying() {
  auto* underlying = new Underlying();
  underlying->provider = OSSL_PROVIDER_load(nullptr, "default");
  if (underlying->provider == nullptr) return underlying;
  int no_cache = 0;
  const OSSL_ALGORITHM* algorithm =
      OSSL_PROVIDER_query_operation(underlying->provider, OSSL_OP_DECODER, &no_cache);
  for (; algorithm != nullptr && algorithm->algorithm_names != nullptr; ++algorithm) {
    if (IsWanted(*algorithm)) underlying->decoders.push_back(*algorithm);
  }
  underlying->decoders.push_back({});
  return underlying;
}

const Underlying& DefaultProvider() {
  static const Underlying* const underlying = LoadUnderlying();
  return *underlying;
}

const OSSL_ALGORITHM* Query(void* /*provider*/, int operation, int* no_cache) {
  const Underlying& underlying = DefaultProvider();
  if (operation != OSSL_OP_DECODER) {
    return OSSL_PROVIDER_query_operation(underlying.provider, operation, no_cache);
  }
  *no_cache = 0;
  return underlying.decoders.data();
}

int GetCapabilities(void* /*provider*/, const char* capability, OSSL_CALLBACK* callback,
                    void* argument) {
  return OSSL_PROVIDER_get_capabilities(DefaultProvider().provider, capability, callback, argument);
}

int InitProvider(const OSSL_CORE_HANDLE* /*core*/, const OSSL_DISPATCH* /*from_core*/,
                 const OSSL_DISPATCH** to_core, void** provider) {
  static const std::array<OSSL_DISPATCH, 3> dispatch = {
      {{OSSL_FUNC_PROVIDER_QUERY_OPERATION, reinterpret_cast<void (*)(void)>(&Query)},
       {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, reinterpret_cast<void (*)(void)>(&GetCapabilities)},
       {0, nullptr}}};
  *to_core = dispatch.data();
  *provider = OSSL_PROVIDER_get0_provider_ctx(DefaultProvider().provider);
  return 1;
}

// Null when the ordinary context is to be used.
OSSL_LIB_CTX* LoadLibraryContext() {
  if (EVP_default_properties_is_fips_enabled(nullptr) == 1 ||
      OSSL_PROVIDER_available(nullptr, "fips") == 1 || DefaultProvider().provider == nullptr) {
    return nullptr;
  }
  OSSL_LIB_CTX* context = OSSL_LIB_CTX_new();
  if (context != nullptr && OSSL_PROVIDER_add_builtin(context, kProviderName, &InitProvider) == 1 &&
      OSSL_PROVIDER_load(context, kProviderName) != nullptr) {
    return context;
  }
  OSSL_LIB_CTX_free(context);
  ERR_clear_error();
  return nullptr;
}

}  // namespace

SSL_CTX* NewClientContext() {
  static OSSL_LIB_CTX* const library = LoadLibraryContext();
  return SSL_CTX_new_ex(library, nullptr, TLS_client_method());
}

#else

SSL_CTX* NewClientContext() { return SSL_CTX_new(TLS_client_method()); }

#endif

}  // namespace fetchbench::native
