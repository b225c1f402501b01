#pragma once

// Ends with 0 when `address` (IPv4) answers a datagram to `port` with the ICMP message "network
// administratively prohibited", as fetchbench-guard does; else with 1. Takes at most a few seconds.
int ProbeGuard(const char* address, const char* port);
