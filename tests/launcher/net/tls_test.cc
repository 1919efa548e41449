#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/files.h"
#include "launcher/net/tls_session.h"
#include "tests/launcher/net/raw_client.h"
#include "tests/launcher/net/shell_server.h"
#include "tests/launcher/net/swarm.h"

namespace drydock::launcher {
namespace {

constexpr const char* kCiphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";

/// Of a handshake that says 512 bytes will follow.
constexpr std::string_view kBeginOfHello("\x16\x03\x01\x02\x00\x01", 6);

// Makes an authority, certificates of both sides, an expired one, one of another authority and a
// revocation list that names the client "revoked".
constexpr const char* kMakeFiles = R"sh(
set -e
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
authority() {
  key "$1"
  openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 300 -out "$1.pem" \
    -addext basicConstraints=critical,CA:true -addext subjectKeyIdentifier=hash
}
member() {  # NAME AUTHORITY DAYS
  key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
  printf 'authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n' > ext
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" \
    -extfile ext -out "$1.pem"
  openssl pkcs12 -export -inkey "$1.key" -in "$1.pem" -passout pass:secret -out "$1.p12"
}
authority ca; authority other
member server ca 200; member client ca 200; member stranger other 200; member revoked ca 200
member expired ca -1; member soon ca 30
touch index.txt; echo 01 > number
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=number\ndefault_md=sha256\n' > ca.cnf
openssl ca -config ca.cnf -keyfile ca.key -cert ca.pem -revoke revoked.pem
openssl ca -config ca.cnf -keyfile ca.key -cert ca.pem -gencrl -crldays 100 -out crl.pem
)sh";

/// Certificates for all tests of this file.
class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = testing::TempDir() + "tlsXXXXXX";
    folder = new std::string(::mkdtemp(name.data()));
    std::ofstream(*folder + "/make.sh") << kMakeFiles;
    const std::string command = "cd '" + *folder + "' && bash make.sh >log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << "see " << *folder << "/log";
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(*folder);
    delete folder;
  }
  static TlsFiles Files(const std::string& server = "server",
                        const std::string& client = "client") {
    return {.server_certificate = *folder + "/" + server + ".p12",
            .client_certificate = *folder + "/" + client + ".p12",
            .ca_certificate = *folder + "/ca.pem",
            .ciphers = kCiphers,
            .server_password = "secret",
            .client_password = "secret"};
  }
  static std::string ReasonOf(const TlsFiles& files) {
    const auto context = TlsContext::Load(files, TlsSide::kServer);
    EXPECT_FALSE(context);
    return context ? "" : context.error().reason + " " + context.error().message;
  }

  static std::string* folder;
};
std::string* Tls::folder = nullptr;

using testing::HasSubstr;

TEST_F(Tls, WorkersJoinAndLeaveWhilePlainPeersAreClosed_R42) {
  const std::string log = *folder + "/scheduler.log";
  const auto server = Serve({.job = {.worker_num = 4}, .tls = Files(), .log_path = log});
  RawClient plain(server->endpoint());
  plain.SendFrame("2", "\x0a\x01\x30");
  EXPECT_TRUE(plain.IsClosed());
  const auto context = TlsContext::Load(Files(), TlsSide::kClient);
  ASSERT_TRUE(context);
  Swarm swarm(server->endpoint(), 4, context->get());
  EXPECT_EQ(swarm.Run(), 4U) << swarm.failure();
  server->Stop();
  EXPECT_THAT(ReadFile(log, 1 << 20).value(),
              HasSubstr("is closed: TLS_MISMATCH: a worker without TLS, but"));
}

TEST_F(Tls, StalledHandshakesDoNotDelayOthers_R46) {
  const auto server = Serve({.job = {.worker_num = 4}, .tls = Files()});
  std::vector<std::unique_ptr<RawClient>> stalled;
  for (int i = 0; i < 64; ++i) {
    stalled.push_back(std::make_unique<RawClient>(server->endpoint()));
    EXPECT_TRUE(stalled.back()->Send(kBeginOfHello));
  }
  const auto context = TlsContext::Load(Files(), TlsSide::kClient);
  ASSERT_TRUE(context);
  // A worker gives a connection and its handshake 1.5 s and then tries again: all join at once.
  Swarm swarm(server->endpoint(), 4, context->get());
  EXPECT_EQ(swarm.Run(), 4U) << swarm.failure();
}

TEST_F(Tls, HandshakesHaveALimitOfTime_R46) {
  const auto server_side = TlsContext::Load(Files(), TlsSide::kServer);
  ASSERT_TRUE(server_side);
  ShellLimits limits = LimitsFor(1);
  limits.handshake_time = std::chrono::milliseconds(50);
  const ShellServer server(limits, server_side->get());
  RawClient silent(server.endpoint());
  RawClient stalled(server.endpoint());
  EXPECT_TRUE(stalled.Send(kBeginOfHello));
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(stalled.IsClosed());
}

// More than may be in progress at once (64), all in the same instant: each has its turn.
TEST_F(Tls, ACrowdOfWorkersJoins_R46) {
  const auto server = Serve({.job = {.worker_num = 100}, .tls = Files()});
  const auto context = TlsContext::Load(Files(), TlsSide::kClient);
  ASSERT_TRUE(context);
  Swarm swarm(server->endpoint(), 100, context->get());
  EXPECT_EQ(swarm.Run(), 100U) << swarm.failure();
}

TEST_F(Tls, StrangersAndRevokedPeersAreRefusedWhileOthersJoin_R45) {
  TlsFiles server_files = Files();
  server_files.revocation_list = *folder + "/crl.pem";
  const auto server = Serve({.job = {.worker_num = 1}, .tls = server_files});
  for (const char* name : {"revoked", "stranger"}) {
    TlsFiles files = Files("server", name);
    if (std::string(name) == "stranger") {
      files.ca_certificate = *folder + "/other.pem";
    }
    const auto context = TlsContext::Load(files, TlsSide::kClient);
    ASSERT_TRUE(context) << context.error().message;
    Swarm refused(server->endpoint(), 1, context->get());
    EXPECT_EQ(refused.Run(std::chrono::milliseconds(400)), 0U) << name;
  }
  const auto context = TlsContext::Load(Files(), TlsSide::kClient);
  Swarm good(server->endpoint(), 1, context->get());
  EXPECT_EQ(good.Run(), 1U) << good.failure();
}

TEST_F(Tls, UnusableMaterialIsNamedBeforeAnythingStarts_R43) {
  TlsFiles files = Files();
  files.server_password = "wrong";
  EXPECT_THAT(ReasonOf(files), HasSubstr("server.p12: wrong password"));
  files.server_password.clear();
  EXPECT_THAT(ReasonOf(files), HasSubstr("password is empty"));
  EXPECT_THAT(ReasonOf(Files("missing")), HasSubstr("missing.p12: No such file"));
  EXPECT_THAT(ReasonOf(Files("stranger")), HasSubstr("issued by 'other', the authority is 'ca'"));
  files = Files();
  files.server_certificate = *folder + "/ca.pem";
  EXPECT_THAT(ReasonOf(files), HasSubstr("TLS_MATERIAL"));
  files = Files();
  files.ca_certificate = *folder + "/server.p12";
  EXPECT_THAT(ReasonOf(files), HasSubstr("no certificate"));
  files = Files();
  files.ciphers = "DHE-RSA-AES128-GCM-SHA256";
  EXPECT_THAT(ReasonOf(files), HasSubstr("'DHE-RSA-AES128-GCM-SHA256' is not allowed"));
  files.ciphers.clear();
  EXPECT_THAT(ReasonOf(files), HasSubstr("cipher_list: is empty"));
}

TEST_F(Tls, AnExpiredCertificateIsRefusedAndAnOldOneWarnedOf_R44) {
  EXPECT_THAT(ReasonOf(Files("expired")), HasSubstr("expired.p12: valid from 20"));
  const auto soon = TlsContext::Load(Files("soon"), TlsSide::kServer);
  ASSERT_TRUE(soon);
  ASSERT_EQ((*soon)->warnings().size(), 1U);
  EXPECT_THAT((*soon)->warnings().front(), HasSubstr("will expire in 29 days"));
}

TEST_F(Tls, TheConfigurationFileIsReadAsMindSporeWritesIt) {
  const std::string path = *folder + "/config.json";
  std::ofstream(path) << R"({"server_cert_path":"s","client_cert_path":"c","ca_cert_path":"a",
      "crl_path":"","cipher_list":"x:y","cert_expire_warning_time_in_day":7})";
  const auto files = ReadTlsConfig(path);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->server_certificate, "s");
  EXPECT_EQ(files->ciphers, "x:y");
  EXPECT_EQ(files->warn_days, 7);
  for (const char* text : {"[]", "{}", R"({"server_cert_path":7})"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(ReadTlsConfig(path).error().reason, "TLS_MATERIAL") << text;
  }
}

TEST_F(Tls, OnePasswordIsForBothSidesAndASecondOneForTheClient) {
  const std::string config = *folder + "/tls.json";
  std::ofstream(config) << R"({"server_cert_path":"s","client_cert_path":"c",
      "ca_cert_path":"a","cipher_list":"x"})";
  const auto passwords = [&config](const std::string& text) {
    const std::string path = *folder + "/passwords";
    std::ofstream(path) << text;
    const auto files = ReadTlsFiles(config, path).value().value();
    return std::pair(files.server_password, files.client_password);
  };
  EXPECT_EQ(passwords("one"), std::pair(std::string("one"), std::string("one")));
  EXPECT_EQ(passwords("one\n"), std::pair(std::string("one"), std::string("one")));
  EXPECT_EQ(passwords("one\ntwo\nthree"), std::pair(std::string("one"), std::string("two")));
  EXPECT_FALSE(ReadTlsFiles("", "").value().has_value());
  EXPECT_EQ(ReadTlsFiles("", config).error().reason, "USAGE");
  EXPECT_EQ(ReadTlsFiles(config, "").error().reason, "TLS_MATERIAL");
}

TEST(OpenSecretsTest, FilesThatOthersCanReadAreNamedWithWhatToDo_Jobs14) {
  std::string name = testing::TempDir() + "secretsXXXXXX";
  const std::string folder = ::mkdtemp(name.data());
  const auto file = [&folder](const std::string& file_name, mode_t mode) {
    const std::string path = folder + "/" + file_name;
    std::ofstream(path) << "x";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  };
  TlsFiles files;
  files.server_certificate = file("server.p12", 0666);
  files.client_certificate = file("client.p12", 0600);
  const std::string password = file("password", 0640);
  EXPECT_THAT(OpenSecrets(files, password),
              testing::ElementsAre(password + " is open to others (0640): chmod 600 " + password,
                                   folder + "/server.p12 is open to others (0666): chmod 600 " +
                                       folder + "/server.p12"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drydock::launcher
