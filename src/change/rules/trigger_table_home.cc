#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "direnv",
        "A tool runs it, or obeys it, when a shell enters the folder or the project is started.",
        "direnv(1); github.com/hyperupcall/autoenv; shopify.github.io/shadowenv; flox.dev/docs, "
        "hook; "
        "kamal-deploy.org, Hooks and Secrets; docs.ddev.com, Custom commands; docs.lando.dev, "
        "Events; "
        "aquaproj.github.io",
        "**/.envrc ~/.config/direnv/** ~/.direnvrc **/.envrc.* **/.direnv/** **/.autoenv.zsh "
        "**/.autoenv **/.smartcd/** **/.shadowenv.d/** **/.flox/** **/.kamal/** "
        "**/.ddev/**/*.sh **/.ddev/commands/** **/.lando.yml **/.lando.*.yml **/.rtx.toml "
        "**/aqua.yaml **/.aqua.yaml",
        kScript},
    TriggerClass{
        "cloche-settings",
        "Gives sandboxes their rights where XDG_CONFIG_HOME leads to it.",
        "docs/settings.md; XDG Base Directory Specification",
        "**/cloche/config.toml **/cloche/production-hosts",
        kScript},
    TriggerClass{
        "env-file",
        "Becomes part of the environment of programs that are started here.",
        "docs.docker.com/compose/environment-variables; github.com/motdotla/dotenv; ld.so(8), "
        "environ(7), and the variables of the interpreters",
        "**/.env **/.env.* **/.flaskenv",
        kKeys, kIni,
        "*PATH LD_* *.LD_* DYLD_* NODE_OPTIONS PYTHON* BASH_ENV ENV PERL5* RUBYOPT RUBYLIB "
        "JAVA_* _JAVA_* *_PROXY GIT_* EDITOR PAGER SHELL PROMPT_COMMAND RUSTC* *_WRAPPER "
        "COMPOSE_FILE DOCKER_HOST KUBECONFIG MAKEFLAGS CC CXX npm_config_* PIP_* UV_* *_EDITOR "
        "*_COMMAND *_CMD *_OPTIONS *_OPTS NODE_* DENO_* BUN_* GEM_* BUNDLE_* CARGO_* GOFLAGS "
        "GOPROXY GONOSUM* GOTOOLCHAIN CMAKE_* LDFLAGS CFLAGS CXXFLAGS MAVEN_* GRADLE_* DOTNET_* "
        "COMPlus_* SSL_* *_CA_BUNDLE REQUESTS_* CURL_* ANSIBLE_* TF_* DJANGO_SETTINGS_MODULE "
        "FLASK_APP OPENSSL_* PSQL* LESS* MANPAGER BROWSER VISUAL IFS PS4 BASHOPTS SHELLOPTS "
        "ZDOTDIR XDG_* HOME SSH_* SUDO_* WATCHFILES_* UVICORN_* GUNICORN_* *=*$(* *=*`* "
        "*=*${shell* *=*${eval* *=*${call* *=*${file* *=*${guile* *=*<(*"},
    TriggerClass{
        "tool-versions",
        "Says which version of a tool runs here, or which file it is.",
        "asdf-vm.com/manage/configuration.html; mise.jdx.dev; github.com/nvm-sh/nvm; "
        "github.com/pyenv/pyenv; sdkman.io/usage",
        "**/.tool-versions **/.nvmrc **/.node-version **/.python-version **/.ruby-version "
        "**/.java-version **/.go-version **/.terraform-version **/rust-toolchain **/.asdfrc "
        "**/.sdkmanrc **/.php-version **/.perl-version **/.elixir-version **/.opentofu-version "
        "**/.terragrunt-version **/.bun-version **/.deno-version **/.swift-version "
        "**/.crystal-version **/.zig-version **/.dvmrc **/.jabbarc **/.ocaml-version "
        "**/.yarn-version",
        kKeys, kWords,
        "*=*path:* *=*ref:* *=*/* *=*system* *hook*"},
    TriggerClass{
        "mise",
        "Tasks, hooks and sources that mise runs when a shell enters the folder.",
        "mise.jdx.dev/configuration.html; mise.jdx.dev/hooks.html",
        "**/.mise.toml **/mise.toml **/.mise.*.toml **/mise.*.toml **/devbox.toml "
        "**/.config/mise.toml **/.mise/**/*.toml **/.config/mise/**/*.toml **/mise/config.toml",
        kKeys, kToml,
        "hooks* tasks.* *.run *.source *.path *.file alias.* plugins.* *=*path:* *=*exec(* "
        "settings.* tools.*=*path* tools.*=*:* *postinstall *task_config* bootstrap* *shell "
        "env._* env.*PATH* env.LD_* env.*=*{{*"},
    TriggerClass{
        "mise-tasks",
        "Scripts that mise runs by the name of the file.",
        "mise.jdx.dev/tasks/file-tasks.html; moonrepo.dev/docs",
        "**/.mise/tasks/** **/mise-tasks/** **/.mise-tasks/** **/mise/tasks/** "
        "**/.config/mise/tasks/** **/.moon/**",
        kScript},
    TriggerClass{
        "shell-startup",
        "Every new shell or session runs it.",
        "bash(1), zsh(1), fish(1), csh(1), ksh(1), nu, pwsh, elvish and xonsh, Startup files; "
        "pam_env(8); environment.d(5); readline(3); sensible-editor(1)",
        "~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.bash.d/** "
        "~/.bashrc.d/** ~/.profile ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout "
        "~/.oh-my-zsh/** ~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.config/fish/** ~/.xprofile "
        "~/.xinitrc ~/.xsession ~/.xsessionrc ~/.pam_environment ~/.config/environment.d/** "
        "~/.config/zsh/** ~/.config/bash/** ~/.inputrc ~/.config/starship.toml /etc/profile "
        "/etc/profile.d/** /etc/bash.bashrc /etc/bashrc /etc/bash_completion.d/** /etc/zsh/** "
        "/etc/zshenv /etc/zshrc /etc/fish/** /etc/environment /etc/environment.d/** /etc/skel/** "
        "~/.local/share/bash-completion/** ~/.bash_completion ~/.bash_completion.d/** "
        "~/.config/bash_completion ~/.zshrc.local ~/.zsh/** ~/.zsh.d/** ~/.zshrc.d/** "
        "~/.zfunc/** ~/.zinit/** ~/.zplug/** ~/.antigen/** ~/.antigenrc ~/.p10k.zsh ~/.zpreztorc "
        "~/.zprezto/** ~/.config/sheldon/** ~/.config/nushell/** ~/.config/powershell/** "
        "~/.config/elvish/** ~/.elvish/** ~/.xonshrc ~/.config/xonsh/** ~/.config/oils/** "
        "~/.oshrc ~/.mkshrc ~/.yashrc ~/.yash_profile ~/.shrc ~/.shinit ~/.logout ~/.aliases "
        "~/.exports ~/.functions ~/.extra ~/.path ~/.local/share/zsh/** "
        "~/.local/share/fish/vendor_conf.d/** ~/.fzf.bash ~/.fzf.zsh ~/.selected_editor "
        "~/.config/user-dirs.dirs ~/.zcompdump* /etc/bash_completion /etc/bash.bash_logout "
        "/etc/inputrc /etc/csh* /etc/csh/** /etc/ksh* /etc/mkshrc /etc/zprofile /etc/zlogin "
        "/etc/zlogout /etc/xonshrc /etc/powershell/** /usr/share/fish/vendor_conf.d/** "
        "/usr/share/bash-completion/completions/** /usr/local/share/zsh/**",
        kScript},
    TriggerClass{
        "program-startup",
        "A program that is used every day runs it when it starts.",
        "vim(1), nvim(1), emacs(1), tmux(1), screen(1), less(1), lesskey(1), tig(1), gh(1), "
        "taskwarrior, hooks; mpv(1), lf(1), ranger(1), newsboat(1), weechat(1), irssi(1), "
        "qutebrowser(1), curl(1), wget(1)",
        "~/.vimrc ~/.vim/** ~/.gvimrc ~/.config/nvim/** ~/.emacs ~/.emacs.d/** "
        "~/.config/emacs/** ~/.tmux.conf ~/.config/tmux/** ~/.screenrc ~/.lessfilter ~/.curlrc "
        "~/.wgetrc ~/.vimrc.* ~/.vim_runtime/** ~/.ideavimrc ~/.config/ideavim/** "
        "~/.config/vim/** ~/.config/doom/** ~/.doom.d/** ~/.spacemacs ~/.spacemacs.d/** "
        "~/.config/micro/** ~/.config/kak/** ~/.kakrc ~/.nanorc ~/.config/nano/** ~/.joerc "
        "~/.jedrc ~/.tmux/** ~/.tmux.conf.local ~/.byobu/** ~/.config/byobu/** "
        "~/.config/zellij/** ~/.lesskey ~/.less ~/.config/lesskey ~/.config/less/** ~/.ackrc "
        "~/.config/bat/** ~/.ripgreprc ~/.config/ripgrep/** ~/.config/fd/** ~/.config/ranger/** "
        "~/.config/lf/** ~/.config/nnn/** ~/.config/yazi/** ~/.config/vifm/** ~/.vifm/** "
        "~/.config/mc/** ~/.config/broot/** ~/.config/lazygit/** ~/.config/lazydocker/** "
        "~/.config/gitui/** ~/.tigrc ~/.config/tig/** ~/.config/gh/** ~/.config/glab-cli/** "
        "~/.config/k9s/** ~/.local/share/k9s/** ~/.config/atuin/** ~/.config/navi/** "
        "~/.config/task/** ~/.taskrc ~/.task/hooks/** ~/.timewarrior/** ~/.config/mpv/** "
        "~/.mplayer/** ~/.ncmpcpp/** ~/.config/ncmpcpp/** ~/.config/cmus/** ~/.newsboat/** "
        "~/.config/newsboat/** ~/.weechat/** ~/.config/weechat/** ~/.irssi/** "
        "~/.config/hexchat/** ~/.config/profanity/** ~/.lftprc ~/.lftp/** ~/.config/lftp/** "
        "~/.w3m/** ~/.lynxrc ~/.config/qutebrowser/** ~/.config/zathura/** ~/.xpdfrc "
        "~/.config/sioyek/** ~/.gnuplot ~/.config/gnuplot/** ~/.latexmkrc ~/.config/latexmk/** "
        "~/texmf/** ~/.config/wget/** ~/.config/curlrc ~/.config/aria2/** "
        "~/.config/youtube-dl/** ~/.config/yt-dlp/** ~/.config/yt-dlp.conf ~/.yt-dlp/**",
        kScript},
    TriggerClass{
        "language-startup",
        "An interpreter, a debugger or a build tool runs it, or obeys it, in every project.",
        "python(1), PYTHONSTARTUP; ipython.readthedocs.io; irb(1); R, Startup; julia(1); gdb(1), "
        "lldb(1), perf-config(1); ghci; cabal; ocaml(1); clojure.org/reference/deps_and_cli; "
        "leiningen.org; sbcl(1); go help env; maven.apache.org/configure.html; ant.apache.org; "
        "ccache(1); rvm.io; github.com/rbenv/rbenv and pyenv, hooks; asdf-vm.com; nix.conf(5); "
        "nix-community.github.io/home-manager",
        "~/.ipython/** ~/.jupyter/** ~/.pythonrc ~/.pythonrc.py ~/.pythonstartup.py ~/.pdbrc "
        "~/.pdbrc.py ~/.local/lib/python*/site-packages/** ~/.config/ptpython/** ~/.irbrc "
        "~/.pryrc ~/.config/irb/** ~/.rdbgrc ~/.railsrc ~/.rspec ~/.config/rspec/** ~/.Rprofile "
        "~/.Renviron ~/.R/** ~/.config/R/** ~/.julia/config/** ~/.octaverc ~/.config/octave/** "
        "~/.gdbinit ~/.gdbearlyinit ~/.config/gdb/** ~/.lldbinit ~/.lldbinit-* ~/.config/lldb/** "
        "~/.radare2rc ~/.config/radare2/** ~/.valgrindrc ~/.perfconfig ~/.cgdb/** ~/.ghci "
        "~/.ghc/** ~/.config/ghc/** ~/.cabal/config ~/.config/cabal/config ~/.stack/*.yaml "
        "~/.ghcup/env ~/.ocamlinit ~/.utoprc ~/.config/utop/** ~/.opam/opam-init/** "
        "~/.opam/config ~/.iex.exs ~/.erlang ~/.clojure/** ~/.lein/** ~/.config/clojure/** "
        "~/.config/clj-kondo/** ~/.sbclrc ~/.clisprc ~/.eclrc ~/.guile ~/.racketrc "
        "~/.config/racket/** ~/.swiplrc ~/.config/swi-prolog/** ~/.config/nim/** ~/.luarocks/** "
        "~/.config/luarocks/** ~/.perldb ~/.cpan/CPAN/MyConfig.pm ~/.cpanplus/** ~/.perlcriticrc "
        "~/.proverc ~/.config/go/env ~/.config/psysh/** ~/.composer/config.json "
        "~/.config/composer/** ~/.mavenrc ~/.m2/extensions.xml ~/.ant/** ~/.antrc "
        "~/.gradle/gradle.properties ~/.sbt/** ~/.sbtrc ~/.bazelrc ~/.config/bazel/** "
        "~/.buckconfig ~/.config/ccache/** ~/.config/sccache/** ~/.distcc/** ~/.conan/** "
        "~/.conan2/** ~/.config/vcpkg/** ~/.config/yarn/** ~/.config/pnpm/** ~/.nvm/*.sh "
        "~/.nvm/alias/** ~/.node_repl.js ~/.sdkman/bin/** ~/.sdkman/etc/** ~/.rvm/scripts/** "
        "~/.rvmrc ~/.rbenv/rbenv.d/** ~/.pyenv/pyenv.d/** ~/.asdf/*.sh ~/.asdf/plugins/** "
        "~/.asdfrc ~/.volta/hooks.json ~/.config/nixpkgs/** ~/.config/nix/** "
        "~/.local/share/jupyter/** ~/.local/share/nvim/** ~/.local/share/chezmoi/** "
        "~/.config/chezmoi/** ~/.config/home-manager/** ~/.nix-defexpr/** ~/.config/guix/** "
        "/etc/nix/** /etc/nixos/** "
        "/etc/python*/** /etc/perl/** /etc/ruby*/** /etc/java*/** /etc/maven/** /etc/ghc/** "
        "/etc/R/** /etc/julia/** /etc/gdb/** /usr/local/lib/python*/** "
        "/usr/lib/python*/sitecustomize.py",
        kScript},
    TriggerClass{
        "database-startup",
        "A client of a database runs it when it connects.",
        "psql(1), .psqlrc; sqlite3(1); duckdb.org/docs; my_print_defaults(1), option files; "
        "mongodb.com/docs, .mongoshrc.js; redis-cli; cqlsh; SQL*Plus, login.sql; "
        "postgresql.conf, archive_command",
        "~/.psqlrc ~/.psqlrc-* ~/.sqliterc ~/.config/sqlite3/** ~/.duckdbrc ~/.my.cnf "
        "~/.mylogin.cnf ~/.mongorc.js ~/.mongoshrc.js ~/.redisclirc ~/.clickhouse-client/** "
        "~/.usqlrc ~/.config/usql/** ~/.config/pgcli/** ~/.config/mycli/** ~/.myclirc "
        "~/.config/litecli/** ~/.cassandra/cqlshrc ~/.cqlshrc ~/login.sql /etc/mysql/** "
        "/etc/my.cnf /etc/postgresql/** /etc/postgresql-common/** /etc/redis/** /etc/mongod.conf "
        "/etc/mongorc.js",
        kScript},
    TriggerClass{
        "cloud-startup",
        "A client of a service starts the helpers it names, or talks to the hosts it names.",
        "docs.docker.com/reference/cli/docker, credHelpers and cli-plugins; kubernetes.io/docs, "
        "client-go credential plugins; docs.aws.amazon.com/cli, credential_process; helm.sh, "
        "plugins; developer.hashicorp.com/terraform/cli/config; docs.ansible.com; rclone.org; "
        "containers.conf(5)",
        "~/.docker/config.json ~/.docker/cli-plugins/** ~/.docker/daemon.json "
        "~/.config/docker/** ~/.kube/config ~/.kube/kuberc **/kubeconfig **/kubeconfig.y*ml "
        "~/.aws/config ~/.aws/cli/** ~/.config/gcloud/** ~/.azure/** ~/.config/helm/** "
        "~/.local/share/helm/plugins/** ~/.terraformrc ~/.tofurc ~/.terraform.d/** "
        "~/.pulumi/*.json ~/.ansible/** ~/.vagrant.d/Vagrantfile ~/.config/containers/** "
        "~/.local/share/containers/storage.conf ~/.config/buildkit/** ~/.config/nerdctl/** "
        "~/.boto ~/.s3cfg ~/.config/rclone/** ~/.config/doctl/** ~/.vault ~/.vault-token-helper",
        kScript},
    TriggerClass{
        "mail-startup",
        "A mail program pipes messages to what it names, or asks it for passwords.",
        "aliases(5), .forward; procmailrc(5); mailcap(5); muttrc(5); msmtp(1), passwordeval; "
        "mbsync(1), PassCmd; offlineimap(1); aerc-config(5); pipe(8)",
        "~/.forward ~/.forward+* ~/.procmailrc ~/.maildroprc ~/.mailfilter ~/.mailrc ~/.mailcap "
        "~/.muttrc ~/.mutt/** ~/.config/mutt/** ~/.neomuttrc ~/.neomutt/** ~/.config/neomutt/** "
        "~/.config/aerc/** ~/.alpinerc ~/.pinerc ~/.fetchmailrc ~/.getmail/** "
        "~/.config/getmail/** ~/.offlineimaprc ~/.config/offlineimap/** ~/.mbsyncrc "
        "~/.config/isyncrc ~/.msmtprc ~/.config/msmtp/** ~/.notmuch-config ~/.config/notmuch/** "
        "~/.config/himalaya/** ~/.gnus ~/.gnus.el ~/.sieve ~/.qmail* ~/.config/imapnotify/** "
        "/etc/aliases /etc/mailcap /etc/procmailrc /etc/procmailrcs/** /etc/Muttrc "
        "/etc/Muttrc.d/** /etc/mail/** /etc/mail.rc /etc/postfix/** /etc/exim*/** "
        "/etc/dovecot/** /etc/msmtprc",
        kScript},
    TriggerClass{
        "desktop-startup",
        "Started, or obeyed, by the desktop session, a terminal or a window manager.",
        "i3(1), sway(5), hyprland.org, awesomewm.org, xmonad.org, sxhkd(1), openbox(1), "
        "waybar(5), rofi(1), kitty, alacritty(5), wezterm.org, ghostty.org; X(7), xinit(1), "
        "xrdb(1); gnome.org and kde.org, Extensions and Scripts; pipewire.conf(5), context.exec; "
        "developer.mozilla.org, Native messaging; vulkan.lunarg.com, Layers",
        "~/.config/i3/** ~/.i3/** ~/.config/i3status/** ~/.config/i3blocks/** ~/.config/sway/** "
        "~/.config/swaylock/** ~/.config/swayidle/** ~/.config/hypr/** ~/.config/river/** "
        "~/.config/niri/** ~/.config/labwc/** ~/.config/wayfire.ini ~/.config/awesome/** "
        "~/.config/bspwm/** ~/.config/sxhkd/** ~/.config/openbox/** ~/.fluxbox/** ~/.icewm/** "
        "~/.fvwm/** ~/.xmonad/** ~/.config/xmonad/** ~/.xmobarrc ~/.config/xmobar/** "
        "~/.config/qtile/** ~/.config/herbstluftwm/** ~/.config/spectrwm/** ~/.config/dwm/** "
        "~/.dwm/** ~/.config/leftwm/** ~/.config/polybar/** ~/.config/waybar/** ~/.config/eww/** "
        "~/.config/rofi/** ~/.config/wofi/** ~/.config/dunst/** ~/.config/mako/** "
        "~/.config/fusuma/** ~/.config/libinput-gestures.conf ~/.xbindkeysrc "
        "~/.config/xbindkeys/** ~/.config/kitty/** ~/.config/alacritty/** ~/.alacritty.* "
        "~/.config/wezterm/** ~/.wezterm.lua ~/.config/ghostty/** ~/.config/foot/** "
        "~/.config/terminator/** ~/.config/tilix/** ~/.config/xfce4/** ~/.config/lxsession/** "
        "~/.config/lxqt/** ~/.config/kdeglobals ~/.config/kglobalshortcutsrc "
        "~/.config/khotkeysrc ~/.config/kwinrc ~/.config/plasma-workspace/** "
        "~/.local/share/kwin/** ~/.local/share/plasma/** ~/.local/share/kservices5/** "
        "~/.local/share/kio/** ~/.config/dconf/** ~/.local/share/gnome-shell/** "
        "~/.local/share/cinnamon/** ~/.local/share/nautilus/** ~/.local/share/nautilus-python/** "
        "~/.local/share/nemo/** ~/.local/share/thumbnailers/** ~/.config/caja/** "
        "~/.config/Thunar/** ~/.config/pcmanfm/** ~/.config/gtk-*/** ~/.gtkrc* ~/.Xresources "
        "~/.Xdefaults ~/.Xclients ~/.Xsession ~/.xserverrc ~/.xscreensaver ~/.fehbg ~/.dmrc "
        "~/.xbindkeysrc.scm ~/.config/picom/** ~/.config/conky/** ~/.conkyrc "
        "~/.config/pipewire/** ~/.config/wireplumber/** ~/.config/pulse/** ~/.asoundrc "
        "~/.mozilla/native-messaging-hosts/** ~/.config/*/NativeMessagingHosts/** "
        "~/.mozilla/firefox/*/user.js ~/.mozilla/firefox/*/chrome/** ~/.vscode/extensions/** "
        "~/.vscode-server/** ~/.cursor/extensions/** ~/.local/share/JetBrains/** "
        "~/.config/JetBrains/** ~/.config/sublime-text*/** ~/.config/autokey/** "
        "~/.config/espanso/** ~/.config/obs-studio/** ~/.config/libreoffice/** "
        "~/.config/inkscape/** ~/.config/GIMP/** ~/.config/blender/** ~/.local/share/vulkan/** "
        "~/.config/vulkan/** ~/.local/share/OpenCL/** ~/.config/OpenCL/** /etc/X11/** "
        "/etc/gdm*/** /etc/lightdm/** /etc/sddm* /etc/sddm*/** /etc/xrdp/** /etc/vulkan/** "
        "/etc/OpenCL/** /usr/share/vulkan/implicit_layer.d/** /etc/dconf/** /etc/gtk-*/** "
        "/etc/pulse/** /etc/pipewire/**",
        kScript},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> HomeTriggers() { return kTable; }

}  // namespace cloche::rules
