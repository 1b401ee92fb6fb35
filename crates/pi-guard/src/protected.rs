//! The list of protected paths: files that other programs run, trust or keep secrets in.
//!
//! The policy, the sandbox and the trust in projects all use this list. Paths are relative to the
//! working directory, absolute, or in the home directory (`~/…`); each covers everything below.

/// The ways in which a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protection {
    /// Writing needs approval, even if a rule allows the command.
    AskBeforeWriting,
    /// Commands in the sandbox cannot write it, even inside a writable directory.
    ReadOnly,
    /// Commands in the sandbox cannot read it.
    Hidden,
    /// In a run that no one watches, neither commands nor tools can write it.
    RunByOthers,
    /// A project that contains it is used only if the user trusts the project.
    NeedsTrust,
}

use Protection::{AskBeforeWriting, Hidden, NeedsTrust, ReadOnly, RunByOthers};

/// Paths that are protected in the same ways, for the same reason.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProtectedPaths {
    /// The paths.
    pub paths: &'static [&'static str],
    /// The ways in which they are protected.
    pub protections: &'static [Protection],
    /// The reason.
    pub reason: &'static str,
}

/// All protected paths.
#[rustfmt::skip]
pub const PROTECTED_PATHS: &[ProtectedPaths] = &[
    ProtectedPaths {
        paths: &[".git/hooks", ".git/config"],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "git runs them, or the programs that they name",
    },
    ProtectedPaths {
        paths: &[".git/info/attributes"],
        protections: &[AskBeforeWriting],
        reason: "git applies the filters that it names",
    },
    ProtectedPaths {
        paths: &[".pi", ".agents"],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "agents load settings, instructions and extensions from them",
    },
    ProtectedPaths {
        paths: &[
            ".claude", ".codex", ".continue", ".cursor", ".devcontainer", ".devcontainer.json",
            ".envrc", ".gemini", ".idea", ".kiro", ".mcp.json", ".opencode", ".roo", ".vscode",
            ".windsurf", ".zed", "opencode.json", "opencode.jsonc",
        ],
        protections: &[RunByOthers],
        reason: "other agents, editors and shells run the programs that they name",
    },
    ProtectedPaths {
        paths: &[
            ".pi/settings.json", ".pi/mcp.json", ".pi/extensions", ".pi/skills", ".pi/prompts",
            ".pi/themes", ".pi/rules", ".pi/SYSTEM.md", ".pi/APPEND_SYSTEM.md",
        ],
        protections: &[NeedsTrust],
        reason: "they change what the agent does in this project",
    },
    ProtectedPaths {
        paths: &[
            "~/.bash_aliases", "~/.bash_completion", "~/.bash_login", "~/.bash_logout",
            "~/.bash_profile", "~/.bashrc", "~/.cargo/bin", "~/.config/autostart",
            "~/.config/environment.d", "~/.config/fish", "~/.config/git", "~/.config/systemd",
            "~/.gitconfig", "~/.inputrc", "~/.kshrc", "~/.local/bin", "~/.login",
            "~/.pam_environment", "~/.profile", "~/.xinitrc", "~/.xprofile", "~/.xsession",
            "~/.xsessionrc", "~/.zlogin", "~/.zlogout", "~/.zprofile", "~/.zshenv", "~/.zshrc",
        ],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "shells, desktops and git run them, or find programs in them",
    },
    ProtectedPaths {
        paths: &["~/.ssh"],
        protections: &[AskBeforeWriting, ReadOnly, Hidden],
        reason: "ssh runs the commands in its configuration and keeps keys in it",
    },
    ProtectedPaths {
        paths: &[
            "~/.bazelrc", "~/.claude", "~/.codex", "~/.config", "~/.cursor", "~/.emacs",
            "~/.emacs.d", "~/.gdbinit", "~/.gemini", "~/.irbrc", "~/.lldbinit", "~/.local/lib",
            "~/.oh-my-zsh", "~/.pip", "~/.psqlrc", "~/.Rprofile", "~/.screenrc", "~/.sqliterc",
            "~/.tmux.conf", "~/.vim", "~/.vimrc", "~/.vscode", "~/bin", "~/go/bin",
        ],
        protections: &[ReadOnly],
        reason: "programs run them, or the programs that they name",
    },
    ProtectedPaths {
        paths: &["~/.cargo/config.toml", "~/.pi"],
        protections: &[AskBeforeWriting, ReadOnly],
        reason: "tools run the programs that they name",
    },
    ProtectedPaths {
        paths: &["~/.npmrc"],
        protections: &[AskBeforeWriting, ReadOnly, Hidden],
        reason: "npm runs the programs that it names and keeps tokens in it",
    },
    ProtectedPaths {
        paths: &["~/.aws", "~/.cargo/credentials.toml", "~/.gnupg"],
        protections: &[AskBeforeWriting, Hidden],
        reason: "other programs keep credentials in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.azure", "~/.boto", "~/.config/doctl", "~/.config/fly", "~/.config/gcloud",
            "~/.config/gh", "~/.config/git/credentials", "~/.config/glab-cli", "~/.config/hcloud",
            "~/.config/heroku", "~/.config/hub", "~/.config/linode-cli", "~/.config/ngrok",
            "~/.config/rclone", "~/.config/scw", "~/.config/sops", "~/.config/stripe",
            "~/.config/tea", "~/.config/vercel", "~/.config/wrangler",
            "~/.config/containers/auth.json", "~/.docker/config.json", "~/.fly",
            "~/.git-credentials", "~/.heroku", "~/.kaggle", "~/.kube",
            "~/.local/share/com.vercel.cli", "~/.netlify", "~/.netrc", "~/.ngrok2", "~/.oci",
            "~/.openstack", "~/.pulumi/credentials.json", "~/.rclone.conf", "~/.s3cfg", "~/.sops",
            "~/.terraform.d/credentials.tfrc.json", "~/.terraformrc", "~/.vault-token",
        ],
        protections: &[Hidden],
        reason: "tools for servers and repositories keep credentials in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.cargo/credentials", "~/.composer/auth.json", "~/.config/composer/auth.json",
            "~/.config/NuGet/NuGet.Config", "~/.config/pypoetry/auth.toml",
            "~/.config/uv/credentials", "~/.gem/credentials", "~/.gradle/gradle.properties",
            "~/.ivy2/.credentials", "~/.local/share/gem/credentials", "~/.m2/settings-security.xml",
            "~/.m2/settings.xml", "~/.nuget/NuGet/NuGet.Config", "~/.pypirc", "~/.sbt/.credentials",
            "~/.yarnrc.yml",
        ],
        protections: &[Hidden],
        reason: "package managers keep tokens in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.config/mysql", "~/.dbshell", "~/.influxdbv2", "~/.my.cnf", "~/.mylogin.cnf",
            "~/.pg_service.conf", "~/.pgpass", "~/.snowsql",
        ],
        protections: &[Hidden],
        reason: "clients of databases keep passwords in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.aider.conf.yml", "~/.aider.chat.history.md", "~/.aider.input.history",
            "~/.anthropic", "~/.cache/huggingface/token", "~/.claude.json",
            "~/.claude/.credentials.json", "~/.codex/auth.json",
            "~/.config/Code/User/globalStorage", "~/.config/Cursor/User/globalStorage",
            "~/.config/VSCodium/User/globalStorage", "~/.config/github-copilot", "~/.config/goose",
            "~/.config/io.datasette.llm", "~/.continue", "~/.copilot", "~/.cursor/mcp.json",
            "~/.gemini/google_accounts.json", "~/.gemini/oauth_creds.json", "~/.gemini/.env",
            "~/.huggingface", "~/.local/share/opencode/auth.json", "~/.ollama/id_ed25519",
            "~/.openai", "~/.qwen/oauth_creds.json", "~/.vscode-server/data/User/globalStorage",
        ],
        protections: &[Hidden],
        reason: "agents and editors keep keys in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.1password", "~/.bitwarden", "~/.cert", "~/.config/1Password", "~/.config/Bitwarden",
            "~/.config/Bitwarden CLI", "~/.config/keepassxc", "~/.config/op", "~/.electrum",
            "~/.local/share/gopass", "~/.local/share/keyrings", "~/.local/share/kwalletd",
            "~/.local/share/password-store", "~/.bitcoin", "~/.ethereum", "~/.password-store",
            "~/.pki", "~/.step", "~/Library/Application Support/1Password",
            "~/Library/Application Support/Bitwarden",
            "~/Library/Group Containers/2BUA8C4S2C.com.1password", "~/Library/Keychains",
        ],
        protections: &[Hidden],
        reason: "keyrings, wallets and password managers keep secrets in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.config/BraveSoftware", "~/.config/Element", "~/.config/Ferdium",
            "~/.config/Mattermost", "~/.config/Microsoft", "~/.config/Signal", "~/.config/Slack",
            "~/.config/chromium", "~/.config/discord", "~/.config/evolution",
            "~/.config/google-chrome", "~/.config/google-chrome-beta", "~/.config/microsoft-edge",
            "~/.config/opera", "~/.config/vivaldi", "~/.local/share/TelegramDesktop",
            "~/.local/share/evolution", "~/.mozilla", "~/.mutt", "~/.muttrc", "~/.thunderbird",
            "~/.var/app", "~/Library/Application Support/Arc",
            "~/Library/Application Support/BraveSoftware", "~/Library/Application Support/Chromium",
            "~/Library/Application Support/Firefox", "~/Library/Application Support/Google/Chrome",
            "~/Library/Application Support/Microsoft Edge", "~/Library/Application Support/Signal",
            "~/Library/Application Support/Slack", "~/Library/Application Support/Telegram Desktop",
            "~/Library/Application Support/Vivaldi",
            "~/Library/Application Support/com.operasoftware.Opera",
            "~/Library/Application Support/discord", "~/Library/Containers/com.apple.Safari",
            "~/Library/Cookies", "~/Library/Mail", "~/Library/Messages", "~/Library/Safari",
            "~/snap/brave", "~/snap/chromium", "~/snap/discord", "~/snap/firefox",
            "~/snap/signal-desktop", "~/snap/slack", "~/snap/telegram-desktop",
            "~/snap/thunderbird",
        ],
        protections: &[Hidden],
        reason: "browsers, mail programs and messengers keep cookies and messages in them",
    },
    ProtectedPaths {
        paths: &[
            "~/.bash_history", "~/.histfile", "~/.history",
            "~/.ipython/profile_default/history.sqlite", "~/.irb_history", "~/.lesshst",
            "~/.local/share/atuin", "~/.local/share/fish/fish_history", "~/.local/share/powershell",
            "~/.local/state/lesshst", "~/.mongosh", "~/.mysql_history", "~/.node_repl_history",
            "~/.psql_history", "~/.python_history", "~/.rediscli_history", "~/.sh_history",
            "~/.sqlite_history", "~/.viminfo", "~/.wget-hsts", "~/.zhistory", "~/.zsh_history",
            "~/.zsh_sessions",
        ],
        protections: &[Hidden],
        reason: "passwords are typed into shells and remain in their histories",
    },
    ProtectedPaths {
        paths: &[
            "/etc/NetworkManager/system-connections", "/etc/gshadow", "/etc/gshadow-",
            "/etc/krb5.keytab", "/etc/kubernetes", "/etc/letsencrypt", "/etc/mysql/debian.cnf",
            "/etc/rancher", "/etc/shadow", "/etc/shadow-", "/etc/ssh/ssh_host_dsa_key",
            "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
            "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private", "/etc/wireguard", "/run/secrets",
            "/var/backups", "/var/lib/containerd", "/var/lib/docker", "/var/lib/kubelet",
            "/var/lib/rancher", "/var/mail", "/var/spool/mail",
        ],
        protections: &[Hidden],
        reason: "the system keeps keys, passwords, mail and containers in them",
    },
    ProtectedPaths {
        paths: &[
            "/bin", "/boot", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/var/spool/cron",
        ],
        protections: &[AskBeforeWriting],
        reason: "the system runs them",
    },
];

/// Returns the paths that are protected in this way.
pub fn paths(protection: Protection) -> impl Iterator<Item = &'static str> {
    let groups =
        PROTECTED_PATHS.iter().filter(move |group| group.protections.contains(&protection));
    groups.flat_map(|group| group.paths.iter().copied())
}

/// Returns those of [`paths`] that are in the home directory, relative to it and in
/// alphabetical order.
pub fn in_home(protection: Protection) -> Vec<&'static str> {
    let all = paths(protection);
    let mut paths: Vec<&str> = all.filter_map(|path| path.strip_prefix("~/")).collect();
    paths.sort_unstable();
    paths
}

/// Returns those of [`paths`] that are relative to the working directory.
pub fn in_project(protection: Protection) -> impl Iterator<Item = &'static str> {
    paths(protection).filter(|path| !path.starts_with(['~', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_listed_once() {
        let mut paths: Vec<&str> =
            PROTECTED_PATHS.iter().flat_map(|group| group.paths).copied().collect();
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count);
        assert!(in_project(ReadOnly).eq([".git/hooks", ".git/config", ".pi", ".agents"]));
        assert!(in_home(ReadOnly).contains(&".ssh"));
        // The directories of the system can be read.
        let mut absolute = super::paths(Hidden).filter(|path| path.starts_with('/'));
        assert!(absolute.all(|path| path.matches('/').count() > 1));
    }
}
