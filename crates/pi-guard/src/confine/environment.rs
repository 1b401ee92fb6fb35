//! Removing secrets and addresses of services from the environment of a command.

use std::ffi::OsString;

use crate::{names, secrets};

/// Variables with addresses of services of the machine, or with credentials for them.
const SERVICES: &[&str] = &[
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "ICEAUTHORITY",
    "IDENTITY_ENDPOINT",
    "LISTEN_FDS",
    "NOTIFY_SOCKET",
    "PULSE_SERVER",
    "SESSION_MANAGER",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "TMUX",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Returns the environment without the variables that are named in `secrets`, have the name of a
/// secret, contain a credential, or lead to services of the machine.
pub fn without_secrets(
    environment: &[(OsString, OsString)],
    secrets: &[String],
) -> Vec<(OsString, OsString)> {
    let harmless = |(name, value): &&(OsString, OsString)| {
        let name = name.to_string_lossy();
        !(secrets.iter().any(|secret| *secret == *name)
            || SERVICES.contains(&name.to_uppercase().as_str())
            || names::is_secret_name(&name)
            || names::is_account_name(&name)
            || has_credential(&name, &value.to_string_lossy()))
    };
    environment.iter().filter(harmless).cloned().collect()
}

/// Returns true if the value of a variable contains a credential.
fn has_credential(name: &str, value: &str) -> bool {
    names::password_in_url(value).is_some()
        || names::has_password_part(value)
        || secrets::has_credential(value)
        // A value that may be random is a credential if the name says so.
        || secrets::has_credential(&format!("{name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LS_COLORS: &str =
        "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:*.tar=01;31:*.tgz=01;31";

    /// Variables that everyday programs need.
    const STAY: &[(&str, &str)] = &[
        ("PATH", "/home/me/.local/bin:/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("PWD", "/home/me/project"),
        ("OLDPWD", "/home/me"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("LS_COLORS", LS_COLORS),
        ("KEYBOARD", "de"),
        ("KEYTIMEOUT", "1"),
        ("CARGO_HOME", "/home/me/.cargo"),
        ("XDG_CONFIG_HOME", "/home/me/.config"),
        ("XDG_SESSION_ID", "3"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("GIT_AUTHOR_NAME", "Ada Lovelace"),
        ("GIT_AUTHOR_EMAIL", "ada@example.org"),
        ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
        ("NIX_PATH", "nixpkgs=/nix/store/0c7h1n8w5zlfjvd9g8y1m1i9p1b2y7k3-nixpkgs"),
        ("NIX_PROFILES", "/nix/var/nix/profiles/default /home/me/.nix-profile"),
        ("buildInputs", "/nix/store/5rh9cq5p0bn0mxz0yi4qpk9l5k2x7v8a-openssl-3.0.14"),
        ("GITHUB_SHA", "ffac537e6cbbf934b08745a378932722df287a53"),
        ("CI_JOB_ID", "8432901"),
        ("BUILD_ID", "6f1c2b1e-6d7f-4a55-9c1e-0d2f9f1a7b3c"),
        ("IMAGE", "alpine@sha256:21a3deaa0d32a8057914f36584b5288d2e5ecc984380bc0118285c70fa8c9300"),
        ("SSH_CONNECTION", "192.0.2.7 51234 192.0.2.1 22"),
        ("JAVA_TOOL_OPTIONS", "-Xmx2g -Dfile.encoding=UTF-8 -Djava.net.useSystemProxies=true"),
        ("RUSTFLAGS", "-C target-cpu=native --cfg tokio_unstable"),
        ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("PYTHONPATH", "/home/me/project/src:/home/me/lib"),
        ("PS1", "\\[\\e[32m\\]\\u@\\h:\\w\\$ "),
        ("MANPATH", "/usr/share/man:"),
        ("HOSTNAME", "build-7f9c4d8b6-x2x9q"),
        ("DATABASE_HOST", "db.example.org"),
        ("API_BASE_URL", "https://api.example.org/v1?page=2"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("GPG_KEYSERVER", "keys.example.org"),
    ];

    /// Variables with credentials: by their name, and by their value under any name.
    const GO: &[(&str, &str)] = &[
        ("ANTHROPIC_API_KEY", "x"),
        ("openai_api_key", "x"),
        ("GITHUB_TOKEN", "x"),
        ("AWS_PROFILE", "x"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_SESSION_TOKEN", "x"),
        ("AWS_BEARER_TOKEN_BEDROCK", "x"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "x"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/run/token"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("GOOGLE_CLOUD_API_KEY", "x"),
        ("AZURE_CLIENT_SECRET", "x"),
        ("AZURE_OPENAI_API_KEY", "x"),
        ("AZURE_FEDERATED_TOKEN_FILE", "/run/token"),
        ("IDENTITY_ENDPOINT", "http://127.0.0.1:1/token"),
        ("IDENTITY_HEADER", "x"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", "/run/token"),
        ("COPILOT_GITHUB_TOKEN", "x"),
        ("CLOUDFLARE_API_KEY", "x"),
        ("MY_CLIENT_SECRET", "x"),
        ("PGPASSWORD", "x"),
        ("MYSQL_PWD", "x"),
        ("PASS", "x"),
        ("PASSPHRASE", "x"),
        ("CREDS", "me:x"),
        ("DSN", "x"),
        ("CONNECTION_STRING", "x"),
        ("JDBC_URL", "jdbc:postgresql://db/x"),
        ("SLACK_WEBHOOK_URL", "https://example.org/x"),
        ("JWT", "x"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("DOCKER_HOST", "unix:///x"),
        ("OURS", "x"),
        ("FOO", "ghp_4Yq8sT1vXz2Wb7Nc5Rd9Ke3Lm6Pf0Gh1Jk2L"),
        ("BAR", "sk-ant-api03-Qm4Zt8Lx2Vw9Rb6Nc1Hd7Ks3Pf5Gj0Ty"),
        ("PLAIN", "AKIAQ5MZ7W2XK4NP6RTV"),
        ("ARGS", "--registry-token npm_9aB3cD7eF1gH5iJ2kL6mN0oP4qR8sT3uV7wX"),
        (
            "A",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        ),
        ("UPSTREAM", "http://me:word@proxy:3128"),
        ("SQL", "Server=db;Database=x;User Id=me;Password=hunter2;"),
        ("SPRING", "jdbc:mysql://db/x?user=me&password=hunter2"),
        ("STORE", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abc=;EndpointSuffix=y"),
        ("HOOK", "https://hooks.slack.com/services/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"),
        ("HEADERS", "Authorization: Bearer q8Zr4Kx1Vn7Tb2Wc9Md5Lp"),
        (
            "PEM",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n",
        ),
        ("SERVICE_ACCESS_KEY_2", "q8Zr4Kx1Vn7Tb2Wc9Md5Lp3Hs6"),
    ];

    #[test]
    fn credentials_are_removed_and_other_variables_stay() {
        for (expected, cases) in [(1, STAY), (0, GO)] {
            for (name, value) in cases {
                let given = [(OsString::from(name), OsString::from(value))];
                let left = without_secrets(&given, &["OURS".to_owned()]);
                assert_eq!(left.len(), expected, "{name}={value}");
            }
        }
    }
}
