#include "origin/known_rsa_key.h"

#include <openssl/x509.h>

#include <array>
#include <string_view>

namespace fetchbench::origin {
namespace {

constexpr std::string_view kDerInBase64 =
    "MIIEogIBAAKCAQEAns1vpT3SGbXKH7Br7UGTEq3rQZIKviKDo/CBG9Bkk9K3y92rp73bpolfIYyHm6M/Mq8L6ZBBQsIb"
    "N5VtBDceE81NUOyLGfoWMD3g0wPUCHr6vxe8XUloSYe4bmpkvrZr22kaNk3om1u6hOJLBxq8OmcB1W3SHUU7mErj9lr0"
    "uDrb3nzrfY41Lm04QlLFYO+W5aEx1hDxqpu6d1bGLq2tRuvJpFX6nftH7Ows8+17zz/tuxfzjkIFl003PcMkKOEKUKRJ"
    "YyQNnxa1IafwIOUH5cYrL1Xh7YN2SCrFz+EZTSZ+ihxqAm4U/tN04m3pGT/zxWn88pD1dr69w75I+3qHNwIDAQABAoIB"
    "AAxnsOqAF0sB2+24yt2IS1RguKlxHpy2toDWd0d0cn7nrYrj4JZkauWqAn/s6eT7DiNH8E7JAYgVAKpJZnA3XAag+YKy"
    "T7VyR0xycP8a4/Pbo33M/V5uLxLbYslhT0hkmK1VmwIV+O817a6WvNSrvntzc324K/s0XtDpPMCQX2CKvNijdGaJDoX9"
    "CHN2fzpqAoY/PlKEtup8U/UBHZcWpIbAmWyuWRLAXRyY/klOqJTkhATxf9C3v0buYMD8LgAGW+hVKsfHkahvcwPHp1QT"
    "Vh/TYQpZK2IJUhfazWHghaRUenu6dPApTBWKjjTMQK6odADwe2aPvHkjJmW14dDqoUkCgYEA3+TFoL5a5p6sEEnP6sMt"
    "7rq+AYsZWdVYSXBrz/N+ZvD72ru0IQA3tDivKcaAL1f131kHUNpA9vlpl4Sxo0CdJEcqBwrfkU68qDlXyDAtF3DJTlWP"
    "qzmWimg+iG98xzOwfaoSYqnJIFUOF12XM3159cCS2TStHz2aJeXlqguj60kCgYEAtZMkE13xbCmERzlYVxubWzJ5jMOG"
    "73TkT2HStGogquaYV0FAk+3zMD8L8DxOYFC7C+9T7d/nwUASfobKsobjRHyVx/xKg6oUhWhkZw9c/tNFk5UINWR1INIz"
    "oocGgrYrlJqvdiaz5Rg/8J2X2rELMOEWbcWVejh2MxBP5/qkXn8CgYBJiSUTz5Ghj1nqG6QrciGi+Dix3xLbe4P80uzG"
    "Jy5L9zhxNhdKg3zIN5noeabeZeB+lAogFx8hPvfcaRvDB9TU9n6qQ3r8icTS58qaGKCmw0eK7/U5ArgcC3MGcr+j2alN"
    "DM/vEd7aPLVdHUMtCThGbBKPPorh6OS5L9IH0Lzs6QKBgFQhj0+h8aDqQ640tef2lK9W3dcJKdZ91OOrMdQCcIx/OAsF"
    "4wQn9sxeCgwQBUi/X0uSYtMPMfTq2SbjEbxSn682Aric/3GuNr/xtMPD7JTuE4jkPt9uYo8IloAyDCQ4gEzkt3QJTsVR"
    "zR6SBrB/4+2L/bZzHGV7D9ltL3kPO2XFAoGABQM1m9oqHeAv3Kl1pPgkolsND2kPOupQkBv4+9L3BGTj9lpJCF+gmJJv"
    "z+KXy78qgz0hVezp1fVFSN+vGD0VzzLsO6MOr8+f53tjQUtilO73uF4Yxk8WcL2VdMll8SKT7N9CWm8oj9i/dOrxsYnW"
    "139EmWY6W3gY35InxBvSiH4=";

}  // namespace

EVP_PKEY* LoadKnownRsaKey() {
  std::array<unsigned char, kDerInBase64.size() / 4 * 3> der{};
  const int size =
      EVP_DecodeBlock(der.data(), reinterpret_cast<const unsigned char*>(kDerInBase64.data()),
                      static_cast<int>(kDerInBase64.size()));
  if (size <= 0) return nullptr;
  const unsigned char* at = der.data();
  return d2i_PrivateKey(EVP_PKEY_RSA, nullptr, &at, size);  // the padding behind it is not read
}

}  // namespace fetchbench::origin
