//! Removing secrets and addresses of services from the environment of a command.

use std::ffi::OsString;

use crate::names;

/// Variables with addresses of services of the machine, or with credentials for them.
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

/// Returns the environment without the variables that are named in `secrets`, have the name of a
/// secret, contain a URL with a password, or lead to services of the machine.
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
            || names::password_in_url(&value.to_string_lossy()).is_some())
    };
    environment.iter().filter(harmless).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed_and_other_variables_stay() {
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
