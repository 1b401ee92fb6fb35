//! An environment without secrets and without ways to the host's services.

use std::ffi::OsString;

/// Ends of names that say "secret".
const ENDS: &[&str] = &[
    "_KEY",
    "_KEYS",
    "_TOKEN",
    "_TOKENS",
    "_SECRET",
    "_SECRETS",
    "_PASSWORD",
    "_PASSWD",
    "_PASS",
    "_PASSPHRASE",
    "_CREDENTIAL",
    "_CREDENTIALS",
    "_PAT",
    "_DSN",
    "_AUTH",
    "_COOKIE",
    "_KEY_ID",
    "_CONNECTION_STRING",
    "_API_KEY_FILE",
    "APIKEY",
    "PASSWORD",
];

/// Families in which everything is about accounts.
const BEGINNINGS: &[&str] = &["AWS_", "AZURE_", "ARM_CLIENT", "BW_SESSION", "OP_SESSION", "VAULT_"];

/// Whole names: secrets, and addresses of services of the host.
const NAMES: &[&str] = &[
    "CONTAINER_HOST",
    "DATABASE_URL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_AUTH_CONFIG",
    "DOCKER_HOST",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "ICEAUTHORITY",
    "KUBECONFIG",
    "LISTEN_FDS",
    "MONGODB_URI",
    "NETRC",
    "NOTIFY_SOCKET",
    "PASSWORD",
    "PGPASSFILE",
    "PULSE_SERVER",
    "REDIS_URL",
    "SECRET",
    "SESSION_MANAGER",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "TMUX",
    "TOKEN",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// The variables a confined command gets: all but those that are named in `secrets`, look like
/// secrets by their name, carry a password in an address, or lead to the host's services.
pub fn without_secrets(
    environment: &[(OsString, OsString)],
    secrets: &[String],
) -> Vec<(OsString, OsString)> {
    let harmless = |(name, value): &&(OsString, OsString)| {
        let name = name.to_string_lossy();
        let upper = name.to_uppercase();
        !(secrets.iter().any(|secret| *secret == *name)
            || NAMES.contains(&upper.as_str())
            || ENDS.iter().any(|end| upper.ends_with(end))
            || BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning))
            || has_password(&value.to_string_lossy()))
    };
    environment.iter().filter(harmless).cloned().collect()
}

/// Whether this is an address with a name and a password in it.
fn has_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let cases = [
            ("PATH", "/bin", true),
            ("HOME", "/home/me", true),
            ("LANG", "C.UTF-8", true),
            ("TERM", "xterm", true),
            ("KEYBOARD", "de", true),
            ("CARGO_HOME", "/home/me/.cargo", true),
            ("XDG_CONFIG_HOME", "/home/me/.config", true),
            ("HTTP_PROXY", "http://proxy:3128", true),
            ("ANTHROPIC_API_KEY", "x", false),
            ("openai_api_key", "x", false),
            ("GITHUB_TOKEN", "x", false),
            ("AWS_PROFILE", "x", false),
            ("MY_CLIENT_SECRET", "x", false),
            ("PGPASSWORD", "x", false),
            ("SSH_AUTH_SOCK", "/tmp/agent", false),
            ("DOCKER_HOST", "unix:///x", false),
            ("HTTPS_PROXY", "http://me:word@proxy:3128", false),
            ("OURS", "x", false),
        ];
        for (name, value, stays) in cases {
            let given = [(OsString::from(name), OsString::from(value))];
            let left = without_secrets(&given, &["OURS".to_owned()]);
            assert_eq!(left.len() == 1, stays, "{name}");
        }
    }
}
