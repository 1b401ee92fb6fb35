//! The location of a package, as settings and the command line write it. Pure: no files are read.

use std::path::{Path, PathBuf};

use super::normalize;
use crate::Environment;

/// The location from which a package is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageLocation {
    /// A package of an npm registry: `npm:NAME[@SPEC]`.
    Npm {
        /// Name, with its scope.
        name: String,
        /// Version, range or tag.
        spec: Option<String>,
    },
    /// A git repository: `git:HOST/PATH[@REF]`, `https://…`, `ssh://…`.
    Git(GitLocation),
    /// A file or directory, as it is written, without `file://`.
    Path(String),
}

/// A git repository and the commit that is used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLocation {
    /// URL for git.
    pub url: String,
    /// Host, without user and port.
    pub host: String,
    /// Path of the repository on its host, without `.git`.
    pub path: String,
    /// Branch, tag or commit; `None` follows the default branch.
    pub reference: Option<String>,
}

/// The location names no package that could be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{location}` is not a package: `{name}` is not a valid npm package name")]
pub struct InvalidLocation {
    /// The location as written.
    pub location: String,
    /// The part that is not a name.
    pub name: String,
}

impl PackageLocation {
    /// Parses a location. Everything that is neither an npm package nor a git repository is a path.
    pub fn parse(text: &str) -> Result<Self, InvalidLocation> {
        let text = text.trim();
        if let Some(package) = text.strip_prefix("npm:") {
            // `@scope/name@spec`: the spec follows an `@` that is not the first character.
            let at = package.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
            let (name, spec) = match at {
                Some(at) => (&package[..at], package.get(at + 1..)),
                None => (package, None),
            };
            if !is_npm_name(name) {
                let (location, name) = (text.to_owned(), name.to_owned());
                return Err(InvalidLocation { location, name });
            }
            let spec = spec.map(str::trim).filter(|spec| !spec.is_empty()).map(str::to_owned);
            return Ok(Self::Npm { name: name.to_owned(), spec });
        }
        if let Some(git) = GitLocation::parse(text) {
            return Ok(Self::Git(git));
        }
        let path = match text.strip_prefix("file://") {
            Some(path) => percent_decoded(path),
            None => text.to_owned(),
        };
        Ok(Self::Path(path))
    }

    /// Returns the place of the installed package. `base` is the directory of the settings file;
    /// paths are relative to it.
    pub fn directory(&self, base: &Path, environment: &Environment) -> PathBuf {
        match self {
            Self::Npm { name, .. } => base.join("npm/node_modules").join(name),
            Self::Git(git) => base.join("git").join(&git.host).join(&git.path),
            // The path is shown to the model.
            Self::Path(path) => normalize(&environment.expand(path, base)),
        }
    }

    /// Returns a text that is equal for two locations of one package: versions and refs do not
    /// count. Paths are relative to `base`.
    pub fn identity(&self, base: &Path, environment: &Environment) -> String {
        match self {
            Self::Npm { name, .. } => format!("npm:{name}"),
            Self::Git(git) => format!("git:{}/{}", git.host.to_lowercase(), git.path),
            Self::Path(_) => format!("path:{}", self.directory(base, environment).display()),
        }
    }
}

impl GitLocation {
    /// Parses `git:LOCATION`, `https://…`, `http://…` or `ssh://…`. Texts that git would read as
    /// an option or as a command are not locations.
    fn parse(text: &str) -> Option<Self> {
        let (text, is_marked) = match text.strip_prefix("git:") {
            // `git://host` has no mark.
            Some(rest) if !rest.starts_with("//") => (rest, true),
            // This can hardly be a path.
            _ => (text, text.starts_with("git@")),
        };
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\' || c == '?') {
            return None;
        }
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(fragment)),
            None => (text, None),
        };
        let Parts { prefix, host, separator, path } = Parts::of(text, is_marked)?;
        let (path, reference) = match path.split_once('@') {
            Some((path, reference)) => (path, Some(reference)),
            None => (path, None),
        };
        let path = path.trim_matches('/');
        let mut reference = reference.or(fragment).map(str::to_owned);
        let mut remote = path;
        if host == "github.com"
            && let Some((repository, branch)) = path.split_once("/tree/")
        {
            // The page of a branch.
            remote = repository;
            reference = reference.or_else(|| Some(branch.to_owned()));
        }
        let path = remote.strip_suffix(".git").unwrap_or(remote);
        let is_segment = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']);
        if !is_host(host) || !path.contains('/') || !path.split('/').all(is_segment) {
            return None;
        }
        if !reference.as_deref().is_none_or(is_reference) {
            return None;
        }
        let url = format!("{prefix}{host}{separator}{remote}");
        Some(Self { url, host: host.to_owned(), path: path.to_owned(), reference })
    }
}

/// The address of a repository, split around its host.
struct Parts<'t> {
    /// Scheme and user.
    prefix: String,
    host: &'t str,
    /// Port, and the character before the path.
    separator: String,
    path: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, is_marked: bool) -> Option<Self> {
        if let Some((scheme, rest)) = text.split_once("://") {
            match scheme {
                "https" | "http" | "ssh" => {}
                "git" if is_marked => {}
                _ => return None,
            }
            let (authority, path) = rest.split_once('/')?;
            let (user, address) = match authority.rsplit_once('@') {
                Some((user, address)) => (format!("{user}@"), address),
                None => (String::new(), authority),
            };
            if user.starts_with('-') {
                return None;
            }
            let (host, port) = address.split_once(':').unwrap_or((address, ""));
            if !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let port = if port.is_empty() { String::new() } else { format!(":{port}") };
            let (prefix, separator) = (format!("{scheme}://{user}"), format!("{port}/"));
            return Some(Self { prefix, host, separator, path });
        }
        if !is_marked {
            return None;
        }
        let slash = text.find('/')?;
        // `[user@]host:path` is the notation of ssh.
        if let Some(colon) = text.find(':').filter(|colon| *colon < slash) {
            let (address, path) = (&text[..colon], &text[colon + 1..]);
            let (user, host) = match address.split_once('@') {
                Some((user, host)) => (format!("{user}@"), host),
                None => (String::new(), address),
            };
            let first = path.split('/').next().unwrap_or_default();
            let is_port = first.bytes().all(|byte| byte.is_ascii_digit());
            if is_port || user.starts_with('-') || path.starts_with(':') {
                return None;
            }
            return Some(Self { prefix: user, host, separator: ":".to_owned(), path });
        }
        let (host, path) = (&text[..slash], &text[slash + 1..]);
        let prefix = "https://".to_owned();
        let separator = "/".to_owned();
        if host.contains('.') || host == "localhost" {
            return Some(Self { prefix, host, separator, path });
        }
        // `user/repository` is on GitHub.
        let is_short = !path.split('@').next().unwrap_or_default().contains('/');
        is_short.then_some(Self { prefix, host: "github.com", separator, path: text })
    }
}

/// Returns true for the name of an npm package that is safe as a path and as an argument.
pub fn is_npm_name(name: &str) -> bool {
    let parts = match name.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, name)) => vec![scope, name],
            None => return false,
        },
        None => vec![name],
    };
    let is_part = |part: &&str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!'()*".contains(c);
        !part.is_empty()
            && !part.starts_with(['.', '_', '-'])
            && part.chars().all(allowed)
            && !part.eq_ignore_ascii_case("node_modules")
    };
    name.len() <= 214 && parts.iter().all(is_part)
}

fn is_host(host: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !host.is_empty() && !host.starts_with(['-', '.']) && host.chars().all(allowed)
}

/// Returns true for a name that git accepts as a branch, tag or commit, and as an argument.
fn is_reference(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains(['~', '^', ':', '*', '[', '@'])
}

/// Decodes `%20` and the like. An invalid escape stays as it is.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let is_escape = *first == b'%' && tail.first().is_some_and(u8::is_ascii_hexdigit);
        match tail.split_at_checked(2) {
            Some((digits, after)) if is_escape && hex(digits).is_some() => {
                bytes.extend(hex(digits));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_directories_are_those_of_the_typescript_pi() {
        let environment = Environment::new("/proj", "/agent");
        for (source, expected) in [
            ("npm:pi-tools", "/agent/npm/node_modules/pi-tools"),
            ("npm:@scope/name@1.2.3", "/agent/npm/node_modules/@scope/name"),
            ("git:github.com/user/repo@v1", "/agent/git/github.com/user/repo"),
            ("git:git@github.com:user/repo", "/agent/git/github.com/user/repo"),
            ("https://github.com/user/repo.git", "/agent/git/github.com/user/repo"),
            ("https://gitlab.com/a/b/c", "/agent/git/gitlab.com/a/b/c"),
            ("ssh://git@host/user/repo@main", "/agent/git/host/user/repo"),
            ("ssh://git@host:2222/user/repo", "/agent/git/host/user/repo"),
            ("./local", "/agent/local"),
            ("../pk/./local/", "/pk/local"),
            ("/absolute", "/absolute"),
            ("file:///with%20space/%zz", "/with space/%zz"),
        ] {
            let found = PackageLocation::parse(source).unwrap();
            let found = found.directory(Path::new("/agent"), &environment);
            assert_eq!(found, Path::new(expected), "{source}");
        }
    }

    #[test]
    fn git_locations_have_a_url_and_a_reference() {
        for (source, url, reference) in [
            ("git:github.com/u/r", "https://github.com/u/r", None),
            ("git:github.com/u/r.git@v1", "https://github.com/u/r.git", Some("v1")),
            ("git:git@github.com:u/r.git@main", "git@github.com:u/r.git", Some("main")),
            ("git@github.com:u/r", "git@github.com:u/r", None),
            ("git:github.com:u/r", "github.com:u/r", None),
            ("git:u/r@dev", "https://github.com/u/r", Some("dev")),
            ("git:localhost/u/r", "https://localhost/u/r", None),
            ("git:git://h/u/r", "git://h/u/r", None),
            ("https://me:pw@h/u/r@feature/x", "https://me:pw@h/u/r", Some("feature/x")),
            ("ssh://git@h:22/u/r", "ssh://git@h:22/u/r", None),
            ("http://h/u/r#v2", "http://h/u/r", Some("v2")),
            ("https://github.com/u/r/", "https://github.com/u/r", None),
            ("https://github.com/u/r/tree/main", "https://github.com/u/r", Some("main")),
        ] {
            match PackageLocation::parse(source).unwrap() {
                PackageLocation::Git(git) => {
                    assert_eq!((git.url.as_str(), git.reference.as_deref()), (url, reference));
                }
                other => panic!("{source}: {other:?}"),
            }
        }
    }

    #[test]
    fn texts_that_git_would_misread_are_paths() {
        for source in [
            "git:-x/u/r",
            "git:--upload-pack=x/u/r",
            "git:ext::sh/x/y",
            "ext::sh -c x",
            "git:file:///tmp/x",
            "git:/tmp/x",
            "git:host:22/u/r",
            "git:github.com/u/../../x",
            "git:github.com/u/.git",
            "git:github.com/u/r@-x",
            "git:github.com/u/r@--upload-pack=x",
            "git:github.com/u/r@a..b",
            "git:-oProxyCommand=x@h:u/r",
            "ssh://-oProxyCommand=x/u/r",
            "ssh://-x@h/u/r",
            "https://github.com/one",
            "https://h/u/r\u{a}x/y",
            "github.com/u/r",
            "git://h/u/r",
            "git:",
        ] {
            let found = PackageLocation::parse(source).unwrap();
            assert!(matches!(found, PackageLocation::Path(_)), "{source}: {found:?}");
        }
    }

    #[test]
    fn npm_names_are_checked() {
        let npm = |name: &str, spec: Option<&str>| PackageLocation::Npm {
            name: name.to_owned(),
            spec: spec.map(str::to_owned),
        };
        for (source, expected) in [
            ("npm:plain", npm("plain", None)),
            ("npm:plain@", npm("plain", None)),
            ("npm:@me/pk@^1.2", npm("@me/pk", Some("^1.2"))),
            ("npm:JSONStream@>=1 <2", npm("JSONStream", Some(">=1 <2"))),
        ] {
            assert_eq!(PackageLocation::parse(source), Ok(expected));
        }
        for name in ["", "@x", "@x/", "../x", "..", "a/b", "--prefix=/", "@a/../b", ".bin", "a b"] {
            assert!(PackageLocation::parse(&format!("npm:{name}")).is_err(), "{name}");
        }
        assert!(!is_npm_name("node_modules") && !is_npm_name(&"x".repeat(215)));
    }

    #[test]
    fn the_identity_ignores_versions() {
        let environment = Environment::new("/proj", "/agent");
        let identity = |source: &str| {
            let location = PackageLocation::parse(source).unwrap();
            location.identity(Path::new("/agent"), &environment)
        };
        for (a, b) in [
            ("npm:a@1", "npm:a"),
            ("git:github.com/u/r@v1", "https://GitHub.com/u/r.git"),
            ("git:git@github.com:u/r", "ssh://git@github.com/u/r"),
            ("./x", "/agent/y/../x"),
        ] {
            assert_eq!(identity(a), identity(b));
        }
        assert_ne!(identity("npm:a"), identity("npm:b"));
    }
}
