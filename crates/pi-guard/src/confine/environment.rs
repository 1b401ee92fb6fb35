//! An environment without secrets and without ways to the host's services.

use std::ffi::OsString;

use crate::names;

/// Addresses of services of the host, and what lets others into them.
const SERVICES: &[&str] = &[
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "ICEAUTHORITY",
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

/// The variables a confined command gets: all but those that are named in `secrets`, look like
/// secrets by their name, carry a password in an address, or lead to the host's services.
pub fn without_secrets(
    environment: &[(OsString, OsString)],
    secrets: &[String],
) -> Vec<(OsString, OsString)> {
    let harmless = |(name, value): &&(OsString, OsString)| {
        let name = name.to_string_lossy();
        !(secrets.iter().any(|secret| *secret == *name)
            || SERVICES.contains(&name.to_uppercase().as_str())
            || names::says_secret(&name)
            || names::is_of_an_account(&name)
            || names::password_in(&value.to_string_lossy()).is_some())
    };
    environment.iter().filter(harmless).cloned().collect()
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
