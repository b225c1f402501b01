#pragma once

#include <array>
#include <string_view>

#include "origin/behaviours/behaviour.h"

// Redirects of several hops or with bodies of their own: those that are more than one line of data.
namespace fetchbench::origin {

// The number in "/3"; 0 for "/" and whatever is no number.
int HopOf(std::string_view target);

// A 404 that tells a client that it asked for something that the redirect did not say.
Task<> ServeWrongPage(Exchange exchange);

Task<> ServeChainOf2(Exchange exchange);
Task<> ServeChainOf10(Exchange exchange);
Task<> ServeChainOf11(Exchange exchange);
Task<> ServeLoopOfTwoHosts(Exchange exchange);
Task<> ServeHttpsAndBack(Exchange exchange);
Task<> ServeLongLocation(Exchange exchange);
Task<> ServeRedirectWithBody(Exchange exchange);
Task<> ServeRedirectWithEndlessBody(Exchange exchange);

inline constexpr std::array kRedirectHops = {
    ConformanceHost{.name = "redirect-keep-alive", .serve = ServeChainOf2},
    ConformanceHost{.name = "redirect-chain-of-10", .serve = ServeChainOf10},
    ConformanceHost{.name = "redirect-chain-of-11", .serve = ServeChainOf11},
    ConformanceHost{.name = "redirect-loop-two-hosts", .serve = ServeLoopOfTwoHosts},
    ConformanceHost{.name = "redirect-https-and-back", .serve = ServeHttpsAndBack},
    ConformanceHost{.name = "redirect-location-long", .serve = ServeLongLocation},
    ConformanceHost{.name = "redirect-with-body", .serve = ServeRedirectWithBody},
    ConformanceHost{.name = "redirect-with-endless-body", .serve = ServeRedirectWithEndlessBody},
};

}  // namespace fetchbench::origin
