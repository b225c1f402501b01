#include "common/docker/owner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/docker/engine_address.h"

namespace fetchbench::docker {
namespace {

TEST(OwnerTest, ThisProcessIsAlive) {
  EXPECT_EQ(StateOf(ThisProcess().Text()), OwnerState::kAlive);
}

TEST(OwnerTest, AProcessNumberThatCameAgainIsAnotherProcess) {
  Owner owner = ThisProcess();
  owner.start_ticks -= 1;
  EXPECT_EQ(StateOf(owner.Text()), OwnerState::kGone);
}

TEST(OwnerTest, WhatIsBeforeTheLastBootIsGone) {
  Owner owner = ThisProcess();
  owner.boot_id = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(StateOf(owner.Text()), OwnerState::kGone);
}

TEST(OwnerTest, OfAnotherNamespaceNothingIsKnown) {
  Owner owner = ThisProcess();
  owner.pid_namespace += 1;
  EXPECT_EQ(StateOf(owner.Text()), OwnerState::kUnknown);
}

TEST(OwnerTest, AZombieIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  siginfo_t info{};
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  Owner owner = ThisProcess();
  owner.pid = child;
  EXPECT_EQ(StateOf(owner.Text()), OwnerState::kGone);
  waitpid(child, nullptr, 0);
}

TEST(OwnerTest, OtherTextsAreUnknown) {
  for (const char* text :
       {"", "1", "1-2", "1-2-3", "a-b-c-d", "1-2-x-4-5", "someone else's label"}) {
    EXPECT_EQ(StateOf(text), OwnerState::kUnknown) << text;
  }
}

TEST(EngineAddressTest, OnlyUnixSockets) {
  EXPECT_EQ(*SocketPath(""), "/var/run/docker.sock");
  EXPECT_EQ(*SocketPath("unix:///run/user/1/docker.sock"), "/run/user/1/docker.sock");
  EXPECT_FALSE(SocketPath("tcp://10.0.0.1:2375").ok());
  EXPECT_FALSE(SocketPath("unix://").ok());
}

}  // namespace
}  // namespace fetchbench::docker
