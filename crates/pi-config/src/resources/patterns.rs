//! Settings entries for resources: plain paths, and patterns that filter files.
//!
//! `!glob` excludes files, `+path` includes a file again, `-path` excludes it finally, and a glob
//! without a prefix selects among the files of the plain entries in the same list.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::{Diagnostic, Environment};

/// The parsed entries of one list.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Files and directories to load.
    pub(super) plain: Vec<String>,
    include: Vec<GlobMatcher>,
    exclude: Vec<GlobMatcher>,
    force_in: Vec<PathBuf>,
    force_out: Vec<PathBuf>,
}

impl Entries {
    /// Parses a list. An invalid glob is reported and left out.
    pub(super) fn parse(
        list: &[String],
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut entries = Self::default();
        for entry in list {
            let exact = |path: &str| PathBuf::from(home(path, environment));
            let mut pattern = |text: &str| match glob(&home(text, environment)) {
                Ok(pattern) => Some(pattern),
                Err(error) => {
                    let message =
                        format!("invalid pattern `{entry}` in the settings: {error}; correct it");
                    diagnostics.push(Diagnostic::warning(None, message));
                    None
                }
            };
            match (entry.chars().next(), entry.get(1..).unwrap_or_default()) {
                (Some('!'), text) => entries.exclude.extend(pattern(text)),
                (Some('+'), path) => entries.force_in.push(exact(path)),
                (Some('-'), path) => entries.force_out.push(exact(path)),
                _ if entry.contains(['*', '?']) => entries.include.extend(pattern(entry)),
                _ => entries.plain.push(entry.clone()),
            }
        }
        entries
    }

    /// Parses the filter of a package, in which a plain entry selects files of the package.
    pub(super) fn parse_filter(
        list: &[String],
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut entries = Self::parse(list, environment, diagnostics);
        for plain in std::mem::take(&mut entries.plain) {
            entries.include.extend(glob(&globset::escape(&plain)));
        }
        entries
    }

    /// Returns true if a file of the plain entries is used.
    pub(super) fn keep_named(&self, file: &Path, base: &Path) -> bool {
        let names = Names::of(file, base);
        let included = self.include.is_empty() || names.any(&self.include);
        self.decide(&names, included)
    }

    /// Returns true if a discovered file is used. Globs without a prefix do not apply to it.
    pub(super) fn keep_discovered(&self, file: &Path, base: &Path) -> bool {
        self.decide(&Names::of(file, base), true)
    }

    /// Returns true if a glob without a prefix matches the file.
    pub(super) fn includes(&self, file: &Path, base: &Path) -> bool {
        Names::of(file, base).any(&self.include)
    }

    /// Returns true if the list has globs without a prefix.
    pub(super) fn has_includes(&self) -> bool {
        !self.include.is_empty()
    }

    fn decide(&self, names: &Names, included: bool) -> bool {
        let kept = included && !names.any(&self.exclude);
        (kept || names.is(&self.force_in)) && !names.is(&self.force_out)
    }
}

/// Compiles a glob in which `*` does not match `/`.
fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

/// The names of a file that patterns match. The file of a skill also has the name of its directory.
struct Names {
    /// Paths relative to the base, and absolute.
    exact: Vec<PathBuf>,
    /// File names, for globs only.
    last: Vec<PathBuf>,
}

impl Names {
    fn of(file: &Path, base: &Path) -> Self {
        let mut names = Self { exact: Vec::new(), last: Vec::new() };
        let mut paths = vec![file];
        if file.file_name().is_some_and(|name| name == "SKILL.md") {
            paths.extend(file.parent());
        }
        for path in paths {
            names.exact.push(path.to_path_buf());
            names.exact.extend(path.strip_prefix(base).map(Path::to_path_buf));
            names.last.extend(path.file_name().map(PathBuf::from));
        }
        names
    }

    fn any(&self, patterns: &[GlobMatcher]) -> bool {
        let mut all = self.exact.iter().chain(&self.last);
        all.any(|name| patterns.iter().any(|pattern| pattern.is_match(name)))
    }

    fn is(&self, paths: &[PathBuf]) -> bool {
        paths.iter().any(|path| self.exact.iter().any(|name| same(name, path)))
    }
}

/// Returns true if two paths are equal except for `./`.
fn same(a: &Path, b: &Path) -> bool {
    a.components()
        .filter(|part| *part != Component::CurDir)
        .eq(b.components().filter(|part| *part != Component::CurDir))
}

/// Expands `~/` at the beginning of a path or pattern.
fn home(text: &str, environment: &Environment) -> String {
    match (text.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => text.to_owned(),
    }
}
