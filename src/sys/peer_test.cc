#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "sys/listener.h"
#include "sys/message.h"
#include "sys/process.h"

namespace cloche::sys {
namespace {

Fd ConnectTo(const std::string& path, const std::string& from = "") {
  const auto address_of = [](const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, name.c_str(), name.size() + 1);
    return address;
  };
  Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = address_of(path), own = address_of(from);
  if (!from.empty()) {
    EXPECT_EQ(bind(client.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  }
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return client;
}

class AcceptedAtFileOfRoot : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may ask what a socket is bound to";
    char name[] = "/tmp/cloche-peer-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    ASSERT_EQ(ListenAt(Path("l").c_str(), 0600, listener_), 0);
  }
  void TearDown() override {
    if (directory_.empty()) return;
    for (const char* name : {"l", "c"}) unlink(Path(name).c_str());
    rmdir(directory_.c_str());
  }
  std::string Path(const char* name) const { return directory_ + "/" + name; }
  Fd Accept() { return Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

  std::string directory_;
  Fd listener_;
};

TEST_F(AcceptedAtFileOfRoot, AClientIsAccepted) {
  Fd client = ConnectTo(Path("l"));
  Fd accepted = Accept();
  EXPECT_EQ(cloche::sys::AcceptedAtFileOfRoot(accepted.get()), 0);
}

// An attack by a compromised cloched: the kernel names the listener as the peer of such a socket.
TEST_F(AcceptedAtFileOfRoot, TheConnectingSideOfASocketToRootIsRefused) {
  Fd client = ConnectTo(Path("l"));
  PeerIdentity peer;
  peer.uid = 1;
  ASSERT_EQ(PeerOf(client.get(), peer), 0);
  ASSERT_EQ(peer.uid, 0u);
  EXPECT_EQ(cloche::sys::AcceptedAtFileOfRoot(client.get()), -ENOENT);
}

TEST_F(AcceptedAtFileOfRoot, ASocketBoundToItsOwnFileIsRefused) {
  Fd client = ConnectTo(Path("l"), Path("c"));
  ASSERT_EQ(chown(Path("c").c_str(), 1000, 1000), 0);
  EXPECT_EQ(cloche::sys::AcceptedAtFileOfRoot(client.get()), -EPERM);
}

TEST_F(AcceptedAtFileOfRoot, ASocketAcceptedAtSomebodyElsesFileIsRefused) {
  ASSERT_EQ(chown(Path("l").c_str(), 1000, 1000), 0);
  Fd client = ConnectTo(Path("l"));
  Fd accepted = Accept();
  EXPECT_EQ(cloche::sys::AcceptedAtFileOfRoot(accepted.get()), -EPERM);
}

TEST_F(AcceptedAtFileOfRoot, ASocketPairIsRefused) {
  Fd ours, theirs;
  ASSERT_EQ(MakeSocketPair(ours, theirs), 0);
  EXPECT_EQ(cloche::sys::AcceptedAtFileOfRoot(ours.get()), -ENOENT);
}

}  // namespace
}  // namespace cloche::sys
