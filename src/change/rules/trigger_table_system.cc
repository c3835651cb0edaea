#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "cron",
        "Runs at set times.",
        "crontab(5); anacrontab(5); at(1); incrontab(5)",
        "/etc/cron* /etc/cron*/** /var/spool/cron/** /etc/anacrontab /var/spool/at/** "
        "/var/spool/anacron/** /etc/incron.d/** /etc/incron.* /var/spool/incron/** /etc/at.allow "
        "/etc/at.deny /etc/fcron* /etc/periodic/**",
        kScript},
    TriggerClass{
        "systemd",
        "A service, a timer or a socket: started by the system or the session.",
        "systemd.exec(5), systemd.service(5), systemd.unit(5); podman-systemd.unit(5)",
        "/etc/systemd/** /usr/lib/systemd/** /lib/systemd/** /usr/local/lib/systemd/** "
        "/run/systemd/** ~/.config/systemd/** ~/.local/share/systemd/** /etc/xdg/systemd/** "
        "/usr/local/share/systemd/** /etc/containers/systemd/**",
        kKeys, kIni,
        "timer.* socket.* path.* install.* unit.on* unit.requires unit.wants unit.bindsto "
        "unit.upholds *.unit mount.* automount.* swap.* manager.* container.* pod.* exec.* "
        "quadlet.* build.* image.* kube.* service.exec* service.environment* service.user "
        "service.group service.root* service.type service.capab* service.ambient* service.bind* "
        "service.file* service.passenv* service.load* service.extension* service.pam* "
        "service.usbfunction* service.bus*"},
    TriggerClass{
        "systemd-programs",
        "systemd starts these programs themselves, at boot, for every unit it generates, or "
        "before sleep.",
        "systemd.generator(7); systemd-sleep(8); systemd-shutdown(8); tmpfiles.d(5); "
        "binfmt.d(5); sysusers.d(5)",
        "/etc/systemd/system-generators/** /etc/systemd/user-generators/** "
        "/etc/systemd/system-environment-generators/** "
        "/etc/systemd/user-environment-generators/** /etc/systemd/system-sleep/** "
        "/etc/systemd/system-shutdown/** /usr/lib/systemd/*-generators/** "
        "/usr/lib/systemd/system-sleep/** /usr/lib/systemd/system-shutdown/** "
        "/lib/systemd/*-generators/** /lib/systemd/system-sleep/** "
        "/lib/systemd/system-shutdown/** /usr/local/lib/systemd/*-generators/** "
        "/run/systemd/*-generators/** /usr/lib/kernel/** /usr/lib/binfmt.d/** "
        "/usr/lib/tmpfiles.d/** /usr/lib/sysctl.d/** /usr/lib/modprobe.d/** "
        "/usr/lib/modules-load.d/** /usr/lib/environment.d/** /usr/lib/sysusers.d/** "
        "/etc/sysusers.d/** /etc/repart.d/**",
        kScript},
    TriggerClass{
        "boot-scripts",
        "Run when the machine starts or a device, a network or a login appears.",
        "init(8), OpenRC, runit(8), s6, dinit; udev(7); NetworkManager-dispatcher(8); "
        "interfaces(5); pppd(8); dhclient-script(8); wg-quick(8), PostUp; openvpn(8); "
        "logrotate(8); modprobe.d(5); initramfs-tools(7); mkinitcpio(8); dracut.conf(5); "
        "crypttab(5), keyscript; smartd.conf(5); mdadm.conf(5), PROGRAM; certbot, renewal hooks; "
        "rsyslog.conf(5), omprog; smb.conf(5), root preexec; libvirt.org/hooks.html; "
        "needrestart(1); cloud-init",
        "/etc/init.d/** /etc/rc.local /etc/rc*.d/** /etc/init/** /etc/xinetd.d/** "
        "/etc/inetd.conf /etc/inittab /etc/udev/** /lib/udev/** /usr/lib/udev/** /etc/network/** "
        "/etc/ppp/** /etc/dhcp/** /etc/update-motd.d/** /etc/modprobe.d/** /etc/modules "
        "/etc/modules-load.d/** /etc/binfmt.d/** /etc/tmpfiles.d/** /etc/sysctl.conf "
        "/etc/sysctl.d/** /boot/** /etc/default/** /etc/grub.d/** /etc/initramfs-tools/** "
        "/etc/kernel/** /etc/acpi/** /etc/logrotate.d/** /etc/logrotate.conf /lib/modules/** "
        "/usr/lib/modules/** /etc/rc /etc/rc.d/** /etc/rc.conf /etc/rc.conf.d/** /etc/conf.d/** "
        "/etc/local.d/** /etc/runit/** /etc/sv/** /etc/service/** /etc/s6/** /etc/s6-rc/** "
        "/etc/dinit.d/** /etc/supervisor/** /etc/supervisord.conf /etc/supervisord.d/** "
        "/etc/monit/** /etc/monitrc /etc/sysconfig/** /etc/NetworkManager/** "
        "/etc/networkd-dispatcher/** /etc/wpa_supplicant/** /etc/wireguard/** /etc/openvpn/** "
        "/etc/ipsec.* /etc/ipsec.d/** /etc/strongswan.* /etc/swanctl/** /etc/resolvconf/** "
        "/etc/resolvconf.conf /etc/dhcpcd.* /etc/dhcpcd.d/** /etc/dnsmasq.* /etc/hostapd/** "
        "/etc/iptables/** /etc/nftables.conf /etc/nftables/** /etc/firewalld/** /etc/ufw/** "
        "/etc/fail2ban/** /etc/udisks2/** /etc/usb_modeswitch.* /etc/smartd.conf "
        "/etc/smartmontools/** /etc/mdadm/** /etc/mdadm.conf /etc/lvm/** /etc/multipath* "
        "/etc/crypttab /etc/fstab /etc/auto.* /etc/auto.master.d/** /etc/cloud/** /etc/pm/** "
        "/etc/apcupsd/** /etc/nut/** /etc/needrestart/** /etc/etckeeper/** "
        "/etc/ca-certificates/** /etc/letsencrypt/** /etc/audit/** /etc/audisp/** /etc/rsyslog.* "
        "/etc/rsyslog.d/** /etc/syslog-ng/** /etc/snmp/** /etc/zabbix/** /etc/munin/** "
        "/etc/nagios/** /etc/icinga*/** /etc/collectd/** /etc/consul.d/** /etc/samba/** "
        "/etc/exports /etc/exports.d/** /etc/cups/** /etc/libvirt/** /etc/qemu/** "
        "/etc/qemu-ga/** /etc/lxc/** /etc/containers/** /etc/containerd/** /etc/crio/** "
        "/etc/cni/** /etc/kubernetes/** /etc/rancher/** /etc/nginx/** /etc/apache2/** "
        "/etc/httpd/** /etc/lighttpd/** /etc/caddy/** /etc/haproxy/** /etc/mkinitcpio* "
        "/etc/mkinitcpio.d/** /etc/initcpio/** /etc/dracut.conf /etc/dracut.conf.d/** "
        "/usr/lib/dracut/** /usr/share/initramfs-tools/** /etc/dkms/** /etc/depmod.d/** "
        "/etc/lilo.conf /etc/bluetooth/** /etc/sane.d/** /etc/laptop-mode/** /etc/tlp.* "
        "/etc/vim/** /etc/vimrc /etc/xdg/nvim/** /etc/emacs/** /etc/screenrc /etc/tmux.conf "
        "/etc/wgetrc /etc/lesskey /etc/popularity-contest.conf",
        kScript},
    TriggerClass{
        "access",
        "Says who may log in or become somebody else, and what every program loads.",
        "sudoers(5), sudo.conf(5); pam.conf(5); passwd(5); sshd_config(5), sshrc; polkit(8); "
        "ld.so(8); nsswitch.conf(5); krb5.conf(5); gpg(1); apparmor.d(5)",
        "/etc/sudoers /etc/sudoers.d/** /etc/doas.conf /etc/pam.d/** /etc/security/** "
        "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid /etc/ssh/** "
        "~/.ssh/** /etc/polkit-1/** /usr/share/polkit-1/** /etc/ld.so.preload /etc/ld.so.conf "
        "/etc/ld.so.conf.d/** /etc/nsswitch.conf /etc/hosts /etc/resolv.conf /etc/hosts.equiv "
        "/etc/apparmor.d/** /etc/selinux/** /etc/shells /etc/alternatives/** ~/.rhosts ~/.netrc "
        "~/.gnupg/** /etc/ssl/** /usr/local/share/ca-certificates/** /etc/docker/** "
        "/etc/cloche/** ~/.config/cloche/** /etc/sudo.conf /etc/sudo_logsrvd.conf /etc/pam.conf "
        "/usr/lib/pam.d/** /etc/login.defs /etc/securetty /etc/krb5.conf /etc/krb5.conf.d/** "
        "/etc/sssd/** /etc/nslcd.conf /etc/ldap/** /etc/ldap.conf /etc/sasl2/** /etc/gss/** "
        "/etc/pkcs11/** /etc/crypto-policies/** /etc/pki/** /etc/ca-certificates.conf "
        "/etc/gai.conf /etc/host.conf /etc/hosts.allow /etc/hosts.deny /etc/proxychains* "
        "/etc/ld-*.path /etc/subversion/** ~/.k5login ~/.k5users ~/.shosts ~/.pki/** "
        "~/.config/pkcs11/** ~/.ldaprc ~/.config/gnupg/** ~/.authinfo ~/.pgpass "
        "~/.google_authenticator ~/.yubico/** ~/.subversion/** ~/.local/share/keyrings/** "
        "~/.password-store/** ~/.config/sops/** ~/.config/age/**",
        kScript},
    TriggerClass{
        "package-manager",
        "Hooks and sources of the system's package manager, which runs as root, and what builds "
        "packages for it.",
        "apt.conf(5), Invoke hooks; dpkg.cfg(5); dnf.conf(5); alpm-hooks(5); apk(8); "
        "zypp.conf(5); portage(5); debhelper(7); PKGBUILD(5); ebuild(5)",
        "/etc/apt/** /etc/dpkg/** /var/lib/dpkg/info/* /etc/yum.repos.d/** /etc/yum/** "
        "/etc/dnf/** /etc/pacman.conf /etc/pacman.d/** /etc/apk/** /etc/zypp/** "
        "/usr/share/libalpm/** /etc/zypper/** /etc/tdnf/** /etc/pkg/** /etc/portage/** "
        "/etc/eopkg/** /etc/xbps.d/** /etc/opkg/** /etc/flatpak/** /etc/snapd/** "
        "/var/lib/snapd/** /etc/PackageKit/** /etc/debconf.conf /usr/lib/rpm/** /etc/rpm/** "
        "~/.rpmmacros ~/.config/paru/** ~/.config/yay/** ~/.config/flatpak/** "
        "~/.local/share/flatpak/overrides/** ~/.makepkg.conf /etc/makepkg.conf "
        "/etc/devscripts.conf ~/.devscripts ~/.dput.cf ~/.sbuildrc ~/.pbuilderrc "
        "/etc/pbuilder/** /etc/sbuild/** /etc/schroot/** **/debian/rules **/debian/*.postinst "
        "**/debian/*.preinst **/debian/postinst **/debian/preinst **/debian/prerm "
        "**/debian/postrm **/PKGBUILD **/*.ebuild **/APKBUILD",
        kScript},
    TriggerClass{
        "autostart",
        "Started with the desktop session, or by a click on its name.",
        "specifications.freedesktop.org, Autostart, Desktop Entry and D-Bus service activation; "
        "dbus-daemon(1)",
        "~/.config/autostart/** /etc/xdg/autostart/** ~/.local/share/applications/** "
        "/usr/share/applications/** /usr/local/share/applications/** ~/.local/share/dbus-1/** "
        "/usr/share/dbus-1/** /etc/dbus-1/** ~/.config/mimeapps.list /usr/local/share/dbus-1/** "
        "/usr/share/xsessions/** /usr/share/wayland-sessions/** /usr/local/share/xsessions/** "
        "~/.local/share/xsessions/** /usr/share/thumbnailers/** ~/.config/xdg-desktop-portal/**",
        kKeys, kIni,
        "*exec *tryexec *hidden *autostart* *systemdservice *.user *.*/*"},
    TriggerClass{
        "bin-directory",
        "Commands are looked for here: the file may run under a name that is typed every day.",
        "environ(7), PATH; the installation guide of each tool",
        "~/bin/** ~/.local/bin/** ~/.cargo/bin/** ~/go/bin/** ~/.npm-global/bin/** ~/.bun/bin/** "
        "~/.deno/bin/** ~/.pyenv/shims/** ~/.pyenv/bin/** ~/.rbenv/shims/** ~/.asdf/shims/** "
        "~/.local/share/mise/shims/** ~/.nvm/versions/*/*/bin/** ~/.volta/bin/** "
        "~/.local/share/pnpm/* ~/.dotnet/tools/** ~/.krew/bin/** ~/.composer/vendor/bin/** "
        "/usr/local/bin/** /usr/local/sbin/** /usr/bin/** /usr/sbin/** /bin/** /sbin/** "
        "/opt/*/bin/** /usr/games/** /snap/bin/** /usr/libexec/** **/node_modules/.bin/** "
        "**/venv/bin/** **/.venv/bin/** **/env/bin/** **/.tox/*/bin/** **/.bin/** "
        "**/vendor/bin/** **/venv/Scripts/** **/.venv/Scripts/** ~/.local/sbin/** "
        "~/.local/libexec/** ~/.poetry/bin/** ~/.rye/shims/** ~/.pixi/bin/** ~/.rbenv/bin/** "
        "~/.rvm/bin/** ~/.gem/ruby/*/bin/** ~/.local/share/gem/ruby/*/bin/** ~/.ghcup/bin/** "
        "~/.cabal/bin/** ~/.nimble/bin/** ~/.opam/*/bin/** ~/.mix/escripts/** ~/.foundry/bin/** "
        "~/.yarn/bin/** ~/.config/yarn/global/node_modules/.bin/** "
        "~/.config/composer/vendor/bin/** ~/.nix-profile/bin/** ~/.proto/shims/** "
        "~/.proto/bin/** ~/.asdf/bin/** ~/.sdkman/candidates/*/*/bin/** ~/.jenv/shims/** "
        "~/.fly/bin/** ~/.local/share/coursier/bin/** ~/perl5/bin/** ~/.arkade/bin/** "
        "~/.tiup/bin/** ~/.kube/plugins/** /usr/local/libexec/** /usr/local/games/** /opt/bin/** "
        "/home/linuxbrew/.linuxbrew/bin/** /var/lib/flatpak/exports/bin/** "
        "~/.local/share/flatpak/exports/bin/** **/.direnv/*/bin/** **/.nox/*/bin/** "
        "**/.hatch/*/bin/** **/.pixi/envs/*/bin/** **/.devbox/**/bin/** **/virtualenv/bin/** "
        "**/.virtualenv/bin/**",
        kBinDirectory},
    TriggerClass{
        "venv-activate",
        "A shell sources it to enter the environment.",
        "docs.python.org/3/library/venv.html; docs.conda.io, activate.d",
        "**/bin/activate **/bin/activate.* **/Scripts/activate **/Scripts/activate.bat "
        "**/Scripts/Activate.ps1 **/bin/activate_this.py **/etc/conda/activate.d/** "
        "**/conda-meta/state",
        kScript},
    TriggerClass{
        "python-environment",
        "Says which interpreter an environment runs.",
        "docs.python.org/3/library/site.html, pyvenv.cfg",
        "**/pyvenv.cfg",
        kKeys, kIni,
        "home executable command include-system-site-packages base-*"},
    TriggerClass{
        "python-path-file",
        "Lines that Python executes at every start.",
        "docs.python.org/3/library/site.html",
        "**/*.pth",
        kPathFile},
    TriggerClass{
        "python-shadow",
        "`python -m` in this folder runs it in place of the tool of this name.",
        "docs.python.org/3/using/cmdline.html, -m",
        "**/pip.py **/pip/__init__.py **/pip/__main__.py **/venv.py **/ensurepip.py "
        "**/setuptools.py **/setuptools/__init__.py **/pytest.py **/virtualenv.py **/pipx.py "
        "**/black.py **/mypy.py **/flake8.py **/tox.py **/nox.py **/pdb.py **/unittest.py "
        "**/timeit.py **/compileall.py **/zipapp.py **/wheel.py **/twine.py **/poetry.py "
        "!**/site-packages/** !**/dist-packages/**",
        kScript},
    TriggerClass{
        "python-startup",
        "Python imports it at every start.",
        "docs.python.org/3/library/site.html",
        "**/sitecustomize.py **/usercustomize.py **/site.py **/usercustomize/__init__.py "
        "**/sitecustomize/__init__.py",
        kScript},
    TriggerClass{
        "executable",
        "The kernel runs this file when its name is given.",
        "execve(2)",
        "**",
        kExecutable},
    TriggerClass{
        "unseen",
        "Characters that reorder or hide what people read.",
        "unicode.org/reports/tr36 and tr39; trojansource.codes",
        "**",
        kUnseen},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> SystemTriggers() { return kTable; }

}  // namespace cloche::rules
