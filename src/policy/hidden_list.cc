#include "policy/hidden_list.h"

#include <array>

namespace cloche {
namespace {

using namespace std::string_view_literals;

constexpr auto kKeys = "private keys"sv;
constexpr auto kCloud = "cloud credentials"sv;
constexpr auto kForge = "source forge credentials"sv;
constexpr auto kCluster = "cluster and container credentials"sv;
constexpr auto kRegistry = "package registry credentials"sv;
constexpr auto kDatabase = "database passwords"sv;
constexpr auto kService = "service tokens"sv;
constexpr auto kAgent = "tokens of AI tools"sv;
constexpr auto kKeyring = "keyring or password store"sv;
constexpr auto kBrowser = "browser or mail profile"sv;
constexpr auto kHistory = "history of what was typed"sv;
constexpr auto kDesktop = "keys of the desktop session"sv;
constexpr auto kReplaced = "what promotions replaced"sv;
constexpr auto kSnapshots = "snapshots of files, hidden ones among them"sv;
constexpr auto kPipelines = "what pipelines wait for and have logged"sv;

constexpr std::array kHomeSecrets = {
    HomeSecret{".local/state/cloche/promotions", kReplaced},
    HomeSecret{".local/state/cloche/pipelines", kPipelines},

    HomeSecret{".snapshots", kSnapshots},
    HomeSecret{".zfs", kSnapshots},

    HomeSecret{".ssh", kKeys},
    HomeSecret{".gnupg", kKeys},
    HomeSecret{".pki", kKeys},
    HomeSecret{".config/age", kKeys},
    HomeSecret{".config/sops", kKeys},
    HomeSecret{".ethereum/keystore", kKeys},
    HomeSecret{".config/solana", kKeys},
    HomeSecret{".bitcoin", kKeys},
    HomeSecret{".electrum", kKeys},
    HomeSecret{".config/syncthing", kKeys},
    HomeSecret{".local/state/syncthing", kKeys},

    HomeSecret{".aws", kCloud},
    HomeSecret{".azure", kCloud},
    HomeSecret{".config/gcloud", kCloud},
    HomeSecret{".boto", kCloud},
    HomeSecret{".gsutil", kCloud},
    HomeSecret{".s3cfg", kCloud},
    HomeSecret{".oci", kCloud},
    HomeSecret{".aliyun", kCloud},
    HomeSecret{".bluemix", kCloud},
    HomeSecret{".config/doctl", kCloud},
    HomeSecret{".config/hcloud", kCloud},
    HomeSecret{".config/linode-cli", kCloud},
    HomeSecret{".config/scw", kCloud},
    HomeSecret{".config/rclone", kCloud},
    HomeSecret{".fly", kCloud},
    HomeSecret{".wrangler", kCloud},
    HomeSecret{".config/.wrangler", kCloud},
    HomeSecret{".config/netlify", kCloud},
    HomeSecret{".local/share/com.vercel.cli", kCloud},
    HomeSecret{".config/configstore", kCloud},
    HomeSecret{".terraformrc", kCloud},
    HomeSecret{".terraform.d/credentials.tfrc.json", kCloud},
    HomeSecret{".pulumi", kCloud},

    HomeSecret{".netrc", kForge},
    HomeSecret{"_netrc", kForge},
    HomeSecret{".authinfo", kForge},
    HomeSecret{".authinfo.gpg", kForge},
    HomeSecret{".git-credentials", kForge},
    HomeSecret{".config/git/credentials", kForge},
    HomeSecret{".git-credential-cache", kForge},
    HomeSecret{".cache/git/credential", kForge},
    HomeSecret{".config/gh", kForge},
    HomeSecret{".config/glab-cli", kForge},
    HomeSecret{".config/hub", kForge},
    HomeSecret{".config/tea", kForge},
    HomeSecret{".subversion/auth", kForge},
    HomeSecret{".cvspass", kForge},

    HomeSecret{".kube", kCluster},
    HomeSecret{".docker", kCluster},
    HomeSecret{".dockercfg", kCluster},
    HomeSecret{".config/containers/auth.json", kCluster},
    HomeSecret{".config/helm", kCluster},
    HomeSecret{".minikube", kCluster},
    HomeSecret{".local/share/containers", kCluster},
    HomeSecret{".config/argocd", kCluster},
    HomeSecret{".talos", kCluster},

    HomeSecret{".npmrc", kRegistry},
    HomeSecret{".yarnrc.yml", kRegistry},
    HomeSecret{".config/pnpm/rc", kRegistry},
    HomeSecret{".pypirc", kRegistry},
    HomeSecret{".config/pypoetry/auth.toml", kRegistry},
    HomeSecret{".local/share/uv/credentials", kRegistry},
    HomeSecret{".cargo/credentials", kRegistry},
    HomeSecret{".cargo/credentials.toml", kRegistry},
    HomeSecret{".gem/credentials", kRegistry},
    HomeSecret{".local/share/gem/credentials", kRegistry},
    HomeSecret{".bundle/config", kRegistry},
    HomeSecret{".composer/auth.json", kRegistry},
    HomeSecret{".config/composer/auth.json", kRegistry},
    HomeSecret{".m2/settings.xml", kRegistry},
    HomeSecret{".m2/settings-security.xml", kRegistry},
    HomeSecret{".gradle/gradle.properties", kRegistry},
    HomeSecret{".nuget/NuGet/NuGet.Config", kRegistry},
    HomeSecret{".config/NuGet/NuGet.Config", kRegistry},
    HomeSecret{".hex/hex.config", kRegistry},
    HomeSecret{".condarc", kRegistry},

    HomeSecret{".pgpass", kDatabase},
    HomeSecret{".my.cnf", kDatabase},
    HomeSecret{".mylogin.cnf", kDatabase},
    HomeSecret{".mongorc.js", kDatabase},
    HomeSecret{".dbeaver4", kDatabase},
    HomeSecret{".local/share/DBeaverData", kDatabase},

    HomeSecret{".vault-token", kService},
    HomeSecret{".config/stripe", kService},
    HomeSecret{".config/op", kService},
    HomeSecret{".op", kService},
    HomeSecret{".kaggle", kService},
    HomeSecret{".huggingface", kService},
    HomeSecret{".cache/huggingface/token", kService},
    HomeSecret{".cache/huggingface/stored_tokens", kService},
    HomeSecret{".msmtprc", kService},
    HomeSecret{".fetchmailrc", kService},
    HomeSecret{".smbcredentials", kService},
    HomeSecret{".vnc/passwd", kService},
    HomeSecret{".config/filezilla", kService},
    HomeSecret{".config/remmina", kService},
    HomeSecret{".local/share/remmina", kService},
    HomeSecret{".config/sentry", kService},
    HomeSecret{".sentryclirc", kService},

    HomeSecret{".claude/.credentials.json", kAgent},
    HomeSecret{".codex/auth.json", kAgent},
    HomeSecret{".gemini/oauth_creds.json", kAgent},
    HomeSecret{".config/github-copilot", kAgent},
    HomeSecret{".copilot", kAgent},
    HomeSecret{".local/share/opencode/auth.json", kAgent},
    HomeSecret{".config/io.datasette.llm/keys.json", kAgent},

    HomeSecret{".password-store", kKeyring},
    HomeSecret{".local/share/keyrings", kKeyring},
    HomeSecret{".gnome2/keyrings", kKeyring},
    HomeSecret{".local/share/kwalletd", kKeyring},
    HomeSecret{".kde/share/apps/kwallet", kKeyring},
    HomeSecret{".config/keepassxc", kKeyring},
    HomeSecret{".config/Bitwarden", kKeyring},
    HomeSecret{".config/Bitwarden CLI", kKeyring},
    HomeSecret{".config/1Password", kKeyring},

    HomeSecret{".mozilla", kBrowser},
    HomeSecret{".config/mozilla", kBrowser},
    HomeSecret{".cache/mozilla", kBrowser},
    HomeSecret{".config/google-chrome", kBrowser},
    HomeSecret{".cache/google-chrome", kBrowser},
    HomeSecret{".config/chromium", kBrowser},
    HomeSecret{".cache/chromium", kBrowser},
    HomeSecret{".config/BraveSoftware", kBrowser},
    HomeSecret{".config/microsoft-edge", kBrowser},
    HomeSecret{".config/vivaldi", kBrowser},
    HomeSecret{".config/opera", kBrowser},
    HomeSecret{".librewolf", kBrowser},
    HomeSecret{".var/app", kBrowser},
    HomeSecret{"snap/firefox", kBrowser},
    HomeSecret{"snap/chromium", kBrowser},
    HomeSecret{".thunderbird", kBrowser},
    HomeSecret{".config/evolution", kBrowser},
    HomeSecret{".local/share/evolution", kBrowser},
    HomeSecret{".config/Slack", kBrowser},
    HomeSecret{".config/discord", kBrowser},
    HomeSecret{".config/Signal", kBrowser},

    HomeSecret{".bash_history", kHistory},
    HomeSecret{".zsh_history", kHistory},
    HomeSecret{".zsh_sessions", kHistory},
    HomeSecret{".zhistory", kHistory},
    HomeSecret{".histfile", kHistory},
    HomeSecret{".history", kHistory},
    HomeSecret{".ash_history", kHistory},
    HomeSecret{".sh_history", kHistory},
    HomeSecret{".ksh_history", kHistory},
    HomeSecret{".local/share/fish/fish_history", kHistory},
    HomeSecret{".local/share/atuin", kHistory},
    HomeSecret{".local/share/mcfly", kHistory},
    HomeSecret{".python_history", kHistory},
    HomeSecret{".local/state/python_history", kHistory},
    HomeSecret{".ipython/profile_default/history.sqlite", kHistory},
    HomeSecret{".node_repl_history", kHistory},
    HomeSecret{".psql_history", kHistory},
    HomeSecret{".mysql_history", kHistory},
    HomeSecret{".mariadb_history", kHistory},
    HomeSecret{".sqlite_history", kHistory},
    HomeSecret{".rediscli_history", kHistory},
    HomeSecret{".dbshell", kHistory},
    HomeSecret{".mongodb", kHistory},
    HomeSecret{".irb_history", kHistory},
    HomeSecret{".Rhistory", kHistory},
    HomeSecret{".lesshst", kHistory},
    HomeSecret{".viminfo", kHistory},
    HomeSecret{".local/state/nvim/shada", kHistory},

    HomeSecret{".Xauthority", kDesktop},
    HomeSecret{".ICEauthority", kDesktop},
};

constexpr auto kMachineKey = "keys of this machine"sv;
constexpr auto kNetworkKey = "network passwords and keys"sv;
constexpr auto kOldHashes = "password hashes"sv;
constexpr auto kContainers = "other containers and their images"sv;
constexpr auto kSocket = "socket of a container runtime"sv;

constexpr std::array kSystemSecrets = {
    SystemSecret{"/etc/ssh/ssh_host_rsa_key", kMachineKey, true},
    SystemSecret{"/etc/ssh/ssh_host_dsa_key", kMachineKey, true},
    SystemSecret{"/etc/ssh/ssh_host_ecdsa_key", kMachineKey, true},
    SystemSecret{"/etc/ssh/ssh_host_ed25519_key", kMachineKey, true},
    SystemSecret{"/etc/ssl/private", kMachineKey, true},
    SystemSecret{"/etc/pki/tls/private", kMachineKey, true},
    SystemSecret{"/etc/letsencrypt", kMachineKey, true},
    SystemSecret{"/etc/krb5.keytab", kMachineKey, true},
    SystemSecret{"/etc/cryptsetup-keys.d", kMachineKey, true},
    SystemSecret{"/etc/credstore", kMachineKey, true},
    SystemSecret{"/etc/credstore.encrypted", kMachineKey, true},
    SystemSecret{"/var/lib/systemd/credential.secret", kMachineKey, true},
    SystemSecret{"/var/lib/sss", kMachineKey, true},
    SystemSecret{"/var/lib/samba/private", kMachineKey, true},
    SystemSecret{"/var/lib/cloud", kMachineKey, false},
    SystemSecret{"/etc/apt/auth.conf", kRegistry, true},
    SystemSecret{"/etc/apt/auth.conf.d", kRegistry, true},
    SystemSecret{"/etc/mysql/debian.cnf", kDatabase, true},
    SystemSecret{"/etc/postfix/sasl_passwd", kService, true},
    SystemSecret{"/etc/postfix/sasl_passwd.db", kService, true},
    SystemSecret{"/etc/exim4/passwd.client", kService, true},
    SystemSecret{"/etc/vault.d", kService, true},

    SystemSecret{"/etc/shadow-", kOldHashes, true},
    SystemSecret{"/etc/gshadow-", kOldHashes, true},
    SystemSecret{"/etc/security/opasswd", kOldHashes, true},
    SystemSecret{"/var/backups/shadow.bak", kOldHashes, true},
    SystemSecret{"/var/backups/gshadow.bak", kOldHashes, true},

    SystemSecret{"/etc/NetworkManager/system-connections", kNetworkKey, true},
    SystemSecret{"/etc/netplan", kNetworkKey, true},
    SystemSecret{"/etc/wpa_supplicant", kNetworkKey, true},
    SystemSecret{"/etc/wireguard", kNetworkKey, true},
    SystemSecret{"/etc/openvpn", kNetworkKey, false},
    SystemSecret{"/etc/ipsec.secrets", kNetworkKey, true},
    SystemSecret{"/etc/swanctl", kNetworkKey, true},
    SystemSecret{"/etc/ppp/chap-secrets", kNetworkKey, true},
    SystemSecret{"/etc/ppp/pap-secrets", kNetworkKey, true},
    SystemSecret{"/var/lib/NetworkManager", kNetworkKey, true},
    SystemSecret{"/var/lib/bluetooth", kNetworkKey, true},
    SystemSecret{"/var/lib/iwd", kNetworkKey, true},
    SystemSecret{"/var/lib/tailscale", kNetworkKey, true},

    SystemSecret{"/etc/kubernetes", kCluster, true},
    SystemSecret{"/etc/rancher", kCluster, false},
    SystemSecret{"/var/lib/kubelet", kCluster, true},
    SystemSecret{"/var/lib/rancher", kContainers, true},
    SystemSecret{"/var/lib/docker", kContainers, true},
    SystemSecret{"/var/lib/containerd", kContainers, true},
    SystemSecret{"/var/lib/containers", kContainers, true},
    SystemSecret{"/var/lib/lxc", kContainers, true},
    SystemSecret{"/var/lib/machines", kContainers, true},
    SystemSecret{"/var/lib/libvirt", kContainers, false},
    SystemSecret{"/var/lib/lxd", kSocket, false},
    SystemSecret{"/var/lib/incus", kSocket, false},
    SystemSecret{"/var/snap/lxd", kSocket, false},
    SystemSecret{"/.snapshots", kSnapshots, false},
    SystemSecret{"/home/.snapshots", kSnapshots, false},
    SystemSecret{"/timeshift", kSnapshots, false},
    SystemSecret{"/var/cache/rsnapshot", kSnapshots, true},
    SystemSecret{"/tmp/.X11-unix", kDesktop, false},
    SystemSecret{"/tmp/.ICE-unix", kDesktop, false},
};

// In the top directory of a file system: snapper, timeshift, ZFS, btrbk.
constexpr std::array kSnapshotTrees = {
    HomeSecret{".snapshots", kSnapshots},      HomeSecret{"timeshift", kSnapshots},
    HomeSecret{"timeshift-btrfs", kSnapshots}, HomeSecret{".zfs", kSnapshots},
    HomeSecret{"btrbk_snapshots", kSnapshots}, HomeSecret{"_btrbk_snap", kSnapshots},
    HomeSecret{"@snapshots", kSnapshots},
};

}  // namespace

std::span<const HomeSecret> HomeSecrets() { return kHomeSecrets; }
std::span<const SystemSecret> SystemSecrets() { return kSystemSecrets; }
std::span<const HomeSecret> SnapshotTrees() { return kSnapshotTrees; }

}  // namespace cloche
