//! Settings entries that name resources: plain paths, and patterns that choose among what is found.
//!
//! `!glob` leaves out, `+path` brings back, `-path` leaves out for good, and a glob without a mark
//! chooses among the files that the plain entries of the same list name.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::{Diagnostic, Environment};

/// The entries of one list, taken apart.
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
    /// Takes a list apart. A glob that is none is reported and left out.
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
                    let message = format!(
                        "the settings entry `{entry}` is not a usable pattern: {error}; correct it"
                    );
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

    /// The filter of a package, where a plain entry chooses among the package's files.
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

    /// Whether a file named by this list's plain entries is used.
    pub(super) fn keep_named(&self, file: &Path, base: &Path) -> bool {
        let names = Names::of(file, base);
        let included = self.include.is_empty() || names.any(&self.include);
        self.decide(&names, included)
    }

    /// Whether a discovered file is used. Globs without a mark say nothing about those.
    pub(super) fn keep_discovered(&self, file: &Path, base: &Path) -> bool {
        self.decide(&Names::of(file, base), true)
    }

    /// Whether one of the globs without a mark names the file.
    pub(super) fn includes(&self, file: &Path, base: &Path) -> bool {
        Names::of(file, base).any(&self.include)
    }

    /// Whether there are globs without a mark.
    pub(super) fn has_includes(&self) -> bool {
        !self.include.is_empty()
    }

    fn decide(&self, names: &Names, included: bool) -> bool {
        let kept = included && !names.any(&self.exclude);
        (kept || names.is(&self.force_in)) && !names.is(&self.force_out)
    }
}

/// `*` stays within a directory, `**` does not.
fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

/// The names that a pattern may know a file by: a skill's file also goes by its directory.
struct Names {
    /// From the base, and absolute.
    exact: Vec<PathBuf>,
    /// The last part alone; only globs may use it.
    last: Vec<PathBuf>,
}

impl Names {
    fn of(file: &Path, base: &Path) -> Self {
        let mut names = Self { exact: Vec::new(), last: Vec::new() };
        let skill = file.file_name().is_some_and(|name| name == "SKILL.md");
        for path in [Some(file), file.parent().filter(|_| skill)].into_iter().flatten() {
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

/// Whether two paths are written alike, `./` apart.
fn same(a: &Path, b: &Path) -> bool {
    a.components()
        .filter(|part| *part != Component::CurDir)
        .eq(b.components().filter(|part| *part != Component::CurDir))
}

/// `~` is the home, also inside a pattern.
fn home(text: &str, environment: &Environment) -> String {
    match (text.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => text.to_owned(),
    }
}
