#pragma once

#include <string>
#include <string_view>

#include "common/net.h"
#include "origin/connection.h"
#include "origin/exchange.h"
#include "origin/host_plan.h"

namespace fetchbench::origin {

// What a host of the profile answers to one request. Pure.
struct Answer {
  int status = 200;
  std::string location;  // empty: not a redirect
  bool is_final = true;  // false: the hop before; never broken, without a body
  bool has_body = true;  // false: HEAD, 204, 304 and redirects
};
Answer ChooseAnswer(const HttpPlan& plan, const Request& request, bool tls);

// The response's head, with the empty line.
std::string MakeHead(const HttpPlan& plan, const Answer& answer, Framing framing, bool keep_alive);

// Carries out `plan` for one request: first-byte delay, head, paced body, and what breaks. Sets
// connection.keep_alive. `client_keeps_alive`: the request did not ask to close. `http10`: no
// chunked coding.
Task<> Respond(Connection& connection, const HttpPlan& plan, const Request& request,
               bool client_keeps_alive, bool http10);

}  // namespace fetchbench::origin
