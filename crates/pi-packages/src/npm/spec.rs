//! The version that a dependency asks for, as `package.json` writes it.

use pi_config::resources::is_npm_name;

use super::range::Range;
use super::version::Version;

/// The wanted version of a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spec {
    /// Versions of the registry.
    Range(Range),
    /// A tag of the registry, such as `latest`.
    Tag(String),
    /// A package under another name: `npm:NAME@SPEC`.
    Alias { name: String, spec: Box<Spec> },
    /// An address, a directory, a repository or a workspace, which only npm installs.
    Unsupported(String),
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(range) = Range::parse(text) {
            return Self::Range(range);
        }
        if let Some(alias) = text.strip_prefix("npm:") {
            let at = alias.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
            let (name, spec) = match at {
                Some(at) => (&alias[..at], &alias[at + 1..]),
                None => (alias, ""),
            };
            return match (is_npm_name(name), Self::parse(spec)) {
                (true, spec @ (Self::Range(_) | Self::Tag(_))) => {
                    Self::Alias { name: name.to_owned(), spec: Box::new(spec) }
                }
                _ => Self::Unsupported(text.to_owned()),
            };
        }
        let is_tag = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if text.chars().all(is_tag) && !text.starts_with('.') {
            return Self::Tag(text.to_owned());
        }
        Self::Unsupported(text.to_owned())
    }

    /// Returns true if a version that is already there fits. A tag fits only the version that the
    /// lock file has for it.
    pub(crate) fn accepts(&self, name: &str, package: &str, version: &Version) -> bool {
        match self {
            Self::Range(range) => package == name && range.contains(version),
            Self::Tag(_) => package == name,
            Self::Alias { name, spec } => spec.accepts(name, package, version),
            Self::Unsupported(_) => false,
        }
    }

    /// Returns true if the spec names one version, which an update does not change.
    pub(crate) fn is_pinned(&self) -> bool {
        match self {
            Self::Range(range) => range.exact().is_some(),
            Self::Alias { spec, .. } => spec.is_pinned(),
            Self::Tag(_) | Self::Unsupported(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_classified() {
        let kind = |text: &str| match Spec::parse(text) {
            Spec::Range(_) => "range",
            Spec::Tag(_) => "tag",
            Spec::Alias { .. } => "alias",
            Spec::Unsupported(_) => "unsupported",
        };
        for (text, expected) in [
            ("", "range"),
            ("^1.2", "range"),
            ("latest", "tag"),
            ("next-1", "tag"),
            ("npm:other@^2", "alias"),
            ("npm:@me/other", "alias"),
            ("npm:../x@1", "unsupported"),
            ("npm:a@npm:b@1", "unsupported"),
            ("https://h/x.tgz", "unsupported"),
            ("https://github.com/u/r.git#v1", "unsupported"),
            ("git+ssh://git@h/u/r", "unsupported"),
            ("github:u/r", "unsupported"),
            ("u/r", "unsupported"),
            ("file:../x", "unsupported"),
            ("workspace:*", "unsupported"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
