#pragma once

// Where fetchbench-entry and the agent's socket are in a target's container. Included by both
// sides.
inline constexpr char kEntryProgramPath[] = "/.fetchbench/entry";
inline constexpr char kEntrySocketPath[] = "/.fetchbench/streams";
// fetchbench-entry --probe ADDRESS PORT: see main.cc.
inline constexpr char kEntryProbeWord[] = "--probe";
