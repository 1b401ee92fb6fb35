//! Addresses of git remotes and of APIs. Pure.
//!
//! An address comes from a file of the repository, so only plain forms are accepted: no transport
//! helpers, no options, nothing that a shell or a URL parser could read in two ways.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The address of a git remote, without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteUrl {
    pub(super) scheme: Scheme,
    /// User of an SSH server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    pub(super) host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// Path without the leading slash.
    path: String,
}

/// The transport of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scheme {
    Https,
    Http,
    Ssh,
    /// `user@host:path`, with a path that starts at the home directory of the user.
    Scp,
}

impl RemoteUrl {
    /// Parses an address; `None` for local paths, other transports and unusual characters. A
    /// password in the address is dropped.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((scheme, rest)) = text.split_once("://") else { return Self::parse_scp(text) };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
            _ => return None,
        };
        let (authority, path) = rest.split_once('/')?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = host_and_port(host)?;
        let user = user.filter(|_| scheme == Scheme::Ssh);
        let user = user.map(|user| user.split(':').next().unwrap_or(user));
        Self { scheme, user: user.map(str::to_owned), host, port, path: path.to_owned() }.checked()
    }

    fn parse_scp(text: &str) -> Option<Self> {
        let (authority, path) = text.split_once(':')?;
        let (user, host) = match authority.split_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let host = host.to_ascii_lowercase();
        let path = path.trim_start_matches('/').to_owned();
        Self { scheme: Scheme::Scp, user, host, port: None, path }.checked()
    }

    fn checked(self) -> Option<Self> {
        let is_name = |text: &str, more: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
        };
        let path = self.path.trim_end_matches('/');
        let is_segment =
            |part: &str| is_name(part, "-._~+") && !part.bytes().all(|byte| byte == b'.');
        let is_valid = is_name(&self.host, "-.")
            && self.user.as_deref().is_none_or(|user| is_name(user, "-._"))
            && path.split('/').all(is_segment);
        is_valid.then_some(Self { path: path.to_owned(), ..self })
    }

    /// Returns the address for git.
    pub(super) fn to_git(&self) -> String {
        let Self { scheme, user, host, path, .. } = self;
        let user = user.as_deref().map(|user| format!("{user}@")).unwrap_or_default();
        match scheme {
            Scheme::Https => format!("{}{path}", self.origin("https")),
            Scheme::Http => format!("{}{path}", self.origin("http")),
            Scheme::Ssh => format!("ssh://{user}{host}{}/{path}", self.shown_port()),
            Scheme::Scp => format!("{user}{host}:{path}"),
        }
    }

    /// Returns the beginning of all addresses of an HTTP server, which limits where a token goes.
    /// `None` for SSH.
    pub(super) fn http_origin(&self) -> Option<String> {
        match self.scheme {
            Scheme::Https => Some(self.origin("https")),
            Scheme::Http => Some(self.origin("http")),
            Scheme::Ssh | Scheme::Scp => None,
        }
    }

    fn origin(&self, scheme: &str) -> String {
        format!("{scheme}://{}{}/", self.host, self.shown_port())
    }

    fn shown_port(&self) -> String {
        self.port.map(|port| format!(":{port}")).unwrap_or_default()
    }

    /// Returns true if the transport neither encrypts nor stays on this machine.
    pub(super) fn is_plain(&self) -> bool {
        self.scheme == Scheme::Http && !is_loopback(&self.host)
    }

    /// Returns the name of the server. Two large ones have another name for SSH over port 443.
    pub(super) fn server(&self) -> &str {
        match self.host.as_str() {
            "ssh.github.com" => "github.com",
            "altssh.gitlab.com" => "gitlab.com",
            host => host,
        }
    }

    /// Returns the path of the project, such as `owner/name`, below the path of its server.
    pub(super) fn project(&self, below: &str) -> &str {
        let path = self.path.strip_suffix(".git").unwrap_or(&self.path);
        let inner = path.strip_prefix(below.trim_matches('/'));
        match inner.and_then(|inner| inner.strip_prefix('/')) {
            Some(inner) if self.http_origin().is_some() => inner,
            _ => path,
        }
    }
}

impl std::fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_git())
    }
}

/// The address of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiUrl {
    /// The address without a slash at its end.
    pub(super) base: String,
    pub(super) host: String,
    /// Path, with a leading slash unless it is empty.
    pub(super) path: String,
}

impl ApiUrl {
    /// Parses an address. HTTP without encryption is accepted for this machine only.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let base = text.trim().trim_end_matches('/');
        let (scheme, rest) = base.split_once("://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, _) = host_and_port(authority)?;
        let is_secure = match scheme {
            "https" => true,
            "http" => is_loopback(&host),
            _ => false,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let is_valid = is_secure
            && !host.is_empty()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
            && path.chars().all(is_plain);
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        is_valid.then(|| Self { base: base.to_owned(), host, path })
    }

    /// Returns true if the API belongs to the server of a remote: the same host, or its `api`.
    pub(super) fn serves(&self, server: &str) -> bool {
        self.host == server || self.host.strip_prefix("api.") == Some(server)
    }
}

fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    match text.split_once(':') {
        Some((host, port)) => Some((host.to_ascii_lowercase(), Some(port.parse().ok()?))),
        None => Some((text.to_ascii_lowercase(), None)),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_without_credentials() {
        let cases = [
            (
                "https://github.com/acme/widget.git",
                "https://github.com/acme/widget.git",
                "acme/widget",
            ),
            (
                "https://me:secret@GitHub.com/acme/widget",
                "https://github.com/acme/widget",
                "acme/widget",
            ),
            (
                "https://git.example.com:8443/a/b/c.git/",
                "https://git.example.com:8443/a/b/c.git",
                "a/b/c",
            ),
            ("http://127.0.0.1:80/a/b", "http://127.0.0.1:80/a/b", "a/b"),
            ("git@github.com:acme/widget.git", "git@github.com:acme/widget.git", "acme/widget"),
            ("git@github.com:/acme/widget.git", "git@github.com:acme/widget.git", "acme/widget"),
            (
                "ssh://git@ssh.github.com:443/acme/w.git",
                "ssh://git@ssh.github.com:443/acme/w.git",
                "acme/w",
            ),
            ("ssh://git:pw@host/acme/w", "ssh://git@host/acme/w", "acme/w"),
        ];
        for (text, git, project) in cases {
            let url = RemoteUrl::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((url.to_git().as_str(), url.project("")), (git, project), "{text}");
        }
    }

    #[test]
    fn unusual_addresses_are_refused() {
        for text in [
            "/srv/repository.git",
            "../repository",
            "file:///srv/repository.git",
            "ext::sh -c touch% /tmp/x",
            "git://github.com/acme/widget",
            "ssh://-oProxyCommand=x/acme/widget",
            "-oProxyCommand=x:acme/widget",
            "git@github.com:acme/../widget",
            "git@github.com:-x/widget",
            "https://github.com/acme/wid get",
            "https://github.com/acme/w?x=1",
            "https://github.com:443@evil.example:x/acme/w",
            "https:///acme/w",
            "https://github.com/",
            "https://github.com",
            "",
        ] {
            assert_eq!(RemoteUrl::parse(text), None, "{text}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        let cases = [
            ("http://localhost:1/a/b", false),
            ("http://127.0.0.1/a/b", false),
            ("http://127.0.0.1.example.com/a/b", true),
            ("http://git.example.com/a/b", true),
            ("https://git.example.com/a/b", false),
        ];
        for (text, expected) in cases {
            assert_eq!(RemoteUrl::parse(text).unwrap().is_plain(), expected, "{text}");
        }
        for text in [
            "http://api.example.com",
            "https://u@api.example.com",
            "ftp://localhost/x",
            "https://h/x?y",
        ] {
            assert_eq!(ApiUrl::parse(text), None, "{text}");
        }
        let api = ApiUrl::parse("https://git.example.com/gitlab/api/v4/").unwrap();
        assert_eq!(api.base, "https://git.example.com/gitlab/api/v4");
        assert_eq!(api.path, "/gitlab/api/v4");
    }

    #[test]
    fn an_api_serves_its_own_host() {
        let api = |text: &str| ApiUrl::parse(text).unwrap();
        assert!(api("https://api.github.com").serves("github.com"));
        assert!(api("https://git.example.com/api/v3").serves("git.example.com"));
        assert!(!api("https://evil.example/api/v4").serves("gitlab.com"));
        let url = RemoteUrl::parse("https://host/gitlab/group/project.git").unwrap();
        assert_eq!(url.project("/gitlab"), "group/project");
        assert_eq!(url.project("/git"), "gitlab/group/project");
    }
}
