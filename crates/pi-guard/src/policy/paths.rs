//! Rules on files, and how their patterns match paths.

use std::path::{Component, Path, PathBuf};

use crate::Decision;

/// The kind of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathAccess {
    /// The file is read.
    Read,
    /// The file is changed, created or removed.
    Write,
    /// Both kinds of access.
    Any,
}

/// A rule on files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathRule {
    /// Patterns: `~/x`, `/x`, `x` in the working directory, `**/x` anywhere. Each also covers
    /// everything below.
    pub patterns: Vec<String>,
    /// The kind of access.
    pub access: PathAccess,
    /// The decision about a file that matches.
    pub decision: Decision,
    /// The reason that the author of the rule gave.
    pub justification: Option<String>,
    /// File and line of the rule.
    pub origin: String,
}

/// The directories that patterns and paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directories<'a> {
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
}

impl PathRule {
    pub(super) fn covers(
        &self,
        path: &Path,
        access: PathAccess,
        directories: Directories<'_>,
    ) -> bool {
        (self.access == PathAccess::Any || self.access == access)
            && self.patterns.iter().any(|pattern| covers(pattern, path, directories))
    }
}

impl Directories<'_> {
    /// Returns the absolute path of a text, without access to the disk.
    pub(super) fn absolute(&self, text: &str, cwd: &Path) -> PathBuf {
        self.absolute_through(text, cwd, &Path::to_owned)
    }

    /// Returns the absolute path of a text whose `..` are above the real directories.
    pub(super) fn absolute_through(
        &self,
        text: &str,
        cwd: &Path,
        real: &dyn Fn(&Path) -> PathBuf,
    ) -> PathBuf {
        let path = match (text.strip_prefix('~'), self.home) {
            (Some(rest), Some(home)) => {
                let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
                match user {
                    "" => home.join(rest),
                    "+" => cwd.join(rest),
                    "root" => Path::new("/root").join(rest),
                    // Home directories are usually siblings.
                    _ => home.parent().unwrap_or(home).join(user).join(rest),
                }
            }
            _ => cwd.join(text),
        };
        let mut resolved = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    resolved = real(&resolved);
                    resolved.pop();
                }
                other => resolved.push(other),
            }
        }
        real(&self.through_proc(resolved, cwd))
    }

    /// Resolves `/proc/self/root/x` to `/x` and `/proc/self/cwd/x` to `x`.
    fn through_proc(&self, path: PathBuf, cwd: &Path) -> PathBuf {
        let Ok(inside) = path.strip_prefix("/proc") else { return path };
        let mut parts = inside.components();
        let process = parts.next();
        match parts.next().and_then(|part| part.as_os_str().to_str()) {
            Some("root") if process.is_some() => Path::new("/").join(parts.as_path()),
            Some("cwd") if process.is_some() => cwd.join(parts.as_path()),
            _ => path,
        }
    }
}

/// Returns true if the pattern covers the absolute path.
pub(super) fn covers(pattern: &str, path: &Path, directories: Directories<'_>) -> bool {
    let pattern = if pattern.starts_with("**") {
        Path::new("/").join(pattern)
    } else {
        directories.absolute(pattern, directories.cwd)
    };
    let pattern = components(&pattern);
    matches(&pattern, &components(path))
}

/// Returns true if a path without wildcards covers the absolute path. Allocates nothing, because
/// every written file is compared with every protected path.
pub(super) fn covers_plain(covering: &str, path: &Path, directories: Directories<'_>) -> bool {
    let (base, rest) = match (covering.strip_prefix("~/"), directories.home) {
        (Some(rest), Some(home)) => (home, rest),
        _ if covering.starts_with('/') => (Path::new(""), covering),
        _ => (directories.cwd, covering),
    };
    let mut parts = path.components();
    base.components().chain(Path::new(rest).components()).all(|expected| {
        parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(expected.as_os_str()))
    })
}

/// Returns true if the pattern of a rule may cover a path that is a pattern itself. Without `dots`,
/// only a dot matches a leading dot.
pub(super) fn may_cover(
    pattern: &str,
    spelled: &str,
    dots: bool,
    directories: Directories<'_>,
) -> bool {
    let spelled = components(&directories.absolute(spelled, directories.cwd));
    let fits = |name: &str, spelled: &str| {
        glob(&sets_as_any(spelled), name)
            && (dots || !name.starts_with('.') || spelled.starts_with('.'))
    };
    if let Some(rest) = pattern.strip_prefix("**/") {
        let names: Vec<String> = components(Path::new(rest));
        return spelled.windows(names.len().max(1)).any(|part| {
            part.iter()
                .zip(&names)
                .all(|(spelled, name)| fits(name, spelled) || glob(name, spelled))
        });
    }
    let names = components(&directories.absolute(pattern, directories.cwd));
    names.len() <= spelled.len()
        && names.iter().zip(&spelled).all(|(name, spelled)| fits(name, spelled) || name == spelled)
}

/// Replaces sets such as `[a-z]` by any character.
fn sets_as_any(pattern: &str) -> String {
    let mut plain = String::new();
    let mut rest = pattern;
    while let Some((before, set)) = rest.split_once('[') {
        let Some((_, after)) = set.split_once(']') else { break };
        plain.push_str(before);
        plain.push('?');
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Returns true if removing the path would remove the path that the pattern names.
pub(super) fn is_above(pattern: &str, path: &Path, directories: Directories<'_>) -> bool {
    let pattern = directories.absolute(pattern, directories.cwd);
    pattern != path && pattern.starts_with(path)
}

fn components(path: &Path) -> Vec<String> {
    path.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect()
}

fn matches(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first == "**" => {
            (0..=path.len()).any(|skip| matches(rest, &path[skip..]))
        }
        (Some((first, rest)), Some((part, below))) => glob(first, part) && matches(rest, below),
        (Some(_), None) => false,
    }
}

/// Matches `*` and `?` within a name. Not recursive, because patterns may come from a project.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            t = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Returns the host of a URL.
pub(super) fn host_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or(host),
        |six| six.split(']').next().unwrap_or(six),
    );
    (!host.is_empty()).then(|| host.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_paths() {
        let directories = Directories { cwd: Path::new("/w"), home: Some(Path::new("/home/u")) };
        for (pattern, text, expected) in [
            (".git/hooks", ".git/hooks/pre-commit", true),
            (".git/hooks", "x/../.git/./hooks", true),
            (".git/hooks", ".GIT/Hooks/x", true),
            (".git/hooks", ".git/hooksx", false),
            ("~/.ssh", "/home/u/.ssh/id", true),
            ("~/.ssh", "~/.ssh", true),
            ("**/.env", "a/b/.env", true),
            ("**/.env", "a/b/.envrc", false),
            ("**/*.pem", "/etc/x.pem", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("/etc", "../etc/passwd", true),
            ("~/.ssh", "~u/.ssh/id", true),
            ("~/.ssh", "/proc/self/root/home/u/.ssh/id", true),
            (".git/hooks", "/proc/12/cwd/.git/hooks", true),
        ] {
            let path = directories.absolute(text, directories.cwd);
            assert_eq!(covers(pattern, &path, directories), expected, "{pattern} {text}");
            if !pattern.contains('*') {
                assert_eq!(covers_plain(pattern, &path, directories), expected, "{pattern} {text}");
            }
        }
    }

    #[test]
    fn patterns_may_become_paths() {
        let directories = Directories { cwd: Path::new("/w"), home: Some(Path::new("/home/u")) };
        for (pattern, text, expected) in [
            ("**/.env", ".e?v", true),
            ("**/.env", "a/.e[mn]v", true),
            ("**/.env", "*", false),
            ("**/.env", ".*", true),
            ("**/*.pem", "a/*.p*", true),
            ("~/.ssh", "/home/*/.ssh/id", true),
            ("~/.ssh", "~/.s*", true),
            ("~/.ssh", "~/*", false),
            ("locked", "l*ked/x", true),
            ("locked", "src/*", false),
        ] {
            assert_eq!(may_cover(pattern, text, false, directories), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn hosts_are_found_in_urls() {
        for (text, host) in [
            ("https://User:pw@Example.com.:8080/x", Some("example.com")),
            ("ssh://[::1]:22/x", Some("::1")),
            ("https://a.com\\@b.com/", Some("a.com")),
            ("a/b", None),
        ] {
            assert_eq!(host_in(text).as_deref(), host, "{text}");
        }
    }
}
