//! Programs that run something which their arguments do not show.

use super::word::Word;

/// Interpreters of other languages, and programs with a language of their own that runs commands.
const INTERPRETERS: &str = "python pythonw pypy perl ruby jruby node nodejs deno bun php lua luajit \
    tclsh wish osascript Rscript R ghci runghc runhaskell irb ipython expect gdb lldb vim vi view \
    nvim ex ed red emacs emacsclient nano pico micro helix hx kak joe m4 dc pwsh powershell guile \
    racket scheme sbcl clisp elixir iex erl escript julia octave scala kotlin groovy jshell java \
    swift ocaml nim crystal raku perl6 tcl sqlite3 sqlite psql mysql mariadb mongo mongosh redis-cli \
    ftp lftp telnet mutt mail mailx less more most pg man info w3m lynx elinks links fzf pry ts-node \
    tsx esbuild  jimsh qjs gnuplot maxima latex pdflatex xelatex \
    lualatex tex gs cscript wscript mshta rundll32 cmd";

/// Programs that run what a file, another machine or an argument in a form of its own says.
const BY_OTHER_WORD: &str = "make gmake bmake ninja samu just task rake ant mvn mvnw gradle gradlew \
    bazel buck buck2 meson scons waf tup cmake ctest ssh mosh rsh rlogin slogin autossh sshpass npx \
    bunx pnpx uvx pipx docker podman nerdctl buildah kubectl oc lxc lxc-attach machinectl vagrant \
    systemd-run systemd-inhibit systemd-nspawn systemctl service launchctl at batch crontab anacron \
    fcron tmux screen zellij dtach abduco script su runuser sg newgrp unshare nsenter bwrap firejail \
    setpriv capsh parallel sem entr watchexec watchman inotifywait fswatch nodemon reflex socat nc \
    ncat netcat ngrok nix-shell nix guix poetry pipenv uv hatch pdm rye tox nox conda mamba rlwrap \
    start-stop-daemon daemonize daemon run-parts dbus-send busctl gdbus dbus-run-session dbus-launch \
    ansible ansible-playbook terraform pulumi scp sftp rsync rclone tar bsdtar gtar star cpio pax \
    setarch linux32 linux64 i386 x86_64 uname26 numactl prlimit choom runcon chpst softlimit \
    setuidgid envuidgid envdir setlock s6-setuidgid eatmydata fakeroot fakechroot proot pseudo \
    valgrind perf bpftrace ftrace heaptrack uftrace rr cpulimit cgexec xvfb-run startx xinit xterm \
    uxterm rxvt urxvt kitty alacritty wezterm foot konsole gnome-terminal x-terminal-emulator open \
    xdg-open sensible-pager sensible-editor pager editor ssh-agent keychain gpg-agent direnv dotenv \
    mise asdf rtx hyperfine gosu su-exec tini dumb-init openvt chvt chronic ifne pee vipe lckdo \
    mispipe zrun combine bundle rbenv pyenv nodenv goenv jenv nvm fnm volta corepack lerna nx turbo \
    rush concurrently cross-env env-cmd npm-run-all wireit rpm rpmbuild dpkg-deb debuild alien \
    apt-key update-alternatives logrotate visudo vipw sudoedit git-shell cvs svn hg fossil darcs bzr \
    tcpdump nmap wireshark tshark msfconsole qemu-system-x86_64 qemu-user wine box64 flatpak snap \
    toolbox distrobox act earthly dagger skaffold tilt pre-commit husky lint-staged overmind foreman \
    honcho supervisord pm2 forever xdotool pdsh clush dsh mpirun mpiexec srun sbatch \
    qsub condor_run gcore reptyr schroot debootstrap pbuilder";

/// Options with which a program runs another. A `=` at the end: also with the value attached.
const RUNNING_OPTIONS: &[(&str, &str)] = &[
    ("sort", "--compress-program"),
    ("split", "--filter"),
    ("gsplit", "--filter"),
    ("zip", "-TT --unzip-command"),
    ("rg", "--pre --hostname-bin"),
    ("dpkg", "--pre-invoke --post-invoke --status-logger --force-script-chrootless -i --install"),
    ("apt", "-o --option -c --config-file"),
    ("apt-get", "-o --option -c --config-file"),
    ("cargo", "--config -Z"),
    ("go", "-exec -toolexec -vettool -modfile -overlay"),
    ("rustc", "-Clinker --codegen -Zcodegen-backend"),
    ("gcc", "-wrapper -fplugin -B -specs"),
    ("g++", "-wrapper -fplugin -B -specs"),
    ("cc", "-wrapper -fplugin -B -specs"),
    ("clang", "-fplugin -B -load -Xclang"),
    ("wget", "--use-askpass -e --execute --config"),
    ("curl", "-K --config --engine"),
    ("openssl", "-engine -provider-path engine"),
    ("jobs", "-x"),
    ("journalctl", "--pager"),
    ("column", "--pager"),
    ("bat", "--pager"),
    ("delta", "--pager"),
    ("pip", "install wheel download --global-option --config-settings"),
    ("pip3", "install wheel download --global-option --config-settings"),
    ("npm", "i install ci add rebuild update link pack --script-shell --ignore-scripts=false"),
    ("pnpm", "i install add rebuild update link --script-shell"),
    ("yarn", "install add --script-shell"),
    ("gem", "install"),
    ("nm", "--plugin"),
    ("ar", "--plugin"),
    ("ranlib", "--plugin"),
    ("objdump", "--plugin"),
    ("size", "--plugin"),
    ("ld", "--plugin -plugin"),
    ("composer", "install update run-script exec"),
];

pub(super) fn is_interpreter(base: &str) -> bool {
    // `python3.12` is python.
    let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    has(INTERPRETERS, base) || has(INTERPRETERS, name)
}

pub(super) fn runs_by_other_word(base: &str, words: &[Word]) -> bool {
    has(BY_OTHER_WORD, base) && !only_itself(base, &words[1..])
}

/// Whether a program that can run others does not, as it is called.
fn only_itself(base: &str, arguments: &[Word]) -> bool {
    let first = arguments.first().and_then(Word::literal).unwrap_or_default();
    let literals: Option<Vec<&str>> = arguments.iter().map(Word::literal).collect();
    let listed = |subs: &str| has(subs, first);
    match base {
        "tar" | "gtar" => archives(arguments),
        // Another machine is `host:path`.
        "rsync" => arguments.iter().all(|word| match word.literal() {
            Some(text) if text.starts_with("--") => {
                !["--rsh", "--rsync-path", "--daemon", "--config", "--early-input"]
                    .iter()
                    .any(|o| o.starts_with(text.split('=').next().unwrap_or_default()))
            }
            Some(text) if text.starts_with('-') => !text.contains('e') && !text.contains('M'),
            Some(text) => !text.contains(':'),
            None => !word.may_be_option() && !word.raw().contains(':'),
        }),
        "nc" | "ncat" | "netcat" => literals.is_some_and(|words| {
            let options = || words.iter().filter_map(|word| word.strip_prefix('-'));
            options().any(|o| o.contains('z')) && !options().any(|o| o.contains(['e', 'c', '-']))
        }),
        "docker" | "podman" => {
            listed("ps images logs inspect version info stats top port diff history search")
                || first == "compose"
                    && arguments
                        .get(1)
                        .and_then(Word::literal)
                        .is_some_and(|sub| has("ps logs ls images version top port", sub))
        }
        "kubectl" => {
            let elsewhere = |w: &Word| {
                w.literal().is_none_or(|t| {
                    ["--kubeconfig", "--server", "-s", "--exec", "--context"]
                        .iter()
                        .any(|o| t.starts_with(o))
                })
            };
            listed("get describe logs top explain api-resources version")
                && !arguments.iter().any(elsewhere)
        }
        "systemctl" => {
            listed("status is-active is-enabled is-failed list-units list-timers show cat")
        }
        "crontab" => first == "-l" && arguments.len() == 1,
        _ => false,
    }
}

/// Whether `tar` does not run another program: to compress, to name volumes, or elsewhere.
fn archives(arguments: &[Word]) -> bool {
    let mut first = true;
    arguments.iter().all(|word| {
        let bundle = std::mem::take(&mut first);
        let Some(text) = word.literal() else { return !word.may_be_option() };
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            return has(
                "create extract list file gzip gunzip xz bzip2 zstd verbose directory exclude \
                 strip-components transform no-same-owner keep-old-files append update \
                 exclude-vcs wildcards auto-compress",
                name,
            ) && !long.contains(':');
        }
        let letters = if bundle || text.starts_with('-') { text } else { "" };
        !letters.contains(['I', 'F']) && (!text.contains(':') || text.starts_with("./"))
    })
}

/// The option of `words` with which the program runs another.
pub(super) fn running_option<'a>(base: &str, words: &[&'a str]) -> Option<&'a str> {
    let (_, options) = RUNNING_OPTIONS.iter().find(|(name, _)| *name == base)?;
    words.iter().copied().find(|word| {
        options.split_ascii_whitespace().any(|option| {
            let name = word.split('=').next().unwrap_or_default();
            name == option
                || option.len() == 2 && option.starts_with('-') && word.starts_with(option)
                || option.starts_with("--") && name.len() > 4 && option.starts_with(name)
                || option.starts_with('-')
                    && option.len() > 3
                    && !option.starts_with("--")
                    && word.starts_with(option)
        })
    })
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
