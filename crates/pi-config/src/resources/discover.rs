//! Finding extensions, skills and templates, in order of precedence: settings and directories of the
//! project, those of the user, packages (those of the project first). Files of this run come last;
//! extensions of this run first.

use std::path::{Path, PathBuf};

use super::context_files::repository_root;
use super::extensions::{extension_files, named_extensions};
use super::patterns::Entries;
use super::scan::{Depth, markdown_files, theme_files};
use super::skills::{Layout, skill_files};
use super::source::{ResourceScope, SourceInfo};
use super::{ResourceFlags, ResourceOptions, ResourceSettings};
use crate::{Diagnostic, Environment};

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Extensions,
    Skills,
    Prompts,
    /// Only in packages: the screen finds the others.
    Themes,
}

impl Kind {
    /// Returns the name of the standard directory, which is also the key in settings and manifests.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Extensions => "extensions",
            Self::Skills => "skills",
            Self::Prompts => "prompts",
            Self::Themes => "themes",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Extensions => "extension",
            Self::Skills => "skill",
            Self::Prompts => "prompt template",
            Self::Themes => "theme",
        }
    }

    fn settings(self, settings: &ResourceSettings) -> &[String] {
        match self {
            Self::Extensions => &settings.extensions,
            Self::Skills => &settings.skills,
            Self::Prompts => &settings.prompts,
            Self::Themes => &[],
        }
    }
}

/// A file that may be a resource.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) source: SourceInfo,
    /// A setting or flag names the file itself, so it must not be skipped silently.
    pub(super) named: bool,
}

/// Returns the files of a kind in a configured directory, templates also in its subdirectories.
pub(super) fn files_of(kind: Kind, directory: &Path) -> Vec<PathBuf> {
    match kind {
        Kind::Extensions => extension_files(directory),
        Kind::Skills => skill_files(directory, Layout::Pi),
        Kind::Prompts => markdown_files(directory, Depth::Tree),
        Kind::Themes => theme_files(directory),
    }
}

/// Returns all candidates in order of precedence.
pub(super) fn candidates(
    kind: Kind,
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Candidate> {
    let environment = &options.environment;
    let off = match kind {
        Kind::Extensions => options.flags.no_extensions,
        Kind::Skills => options.flags.no_skills,
        Kind::Prompts => options.flags.no_prompts,
        Kind::Themes => false,
    };
    let mut found = Vec::new();
    if kind == Kind::Extensions {
        found.extend(from_flags(kind, options, diagnostics));
    }
    if !off {
        let home = environment.home.as_ref().map(|home| home.join(".agents"));
        if options.trusted {
            let mut agents = Vec::new();
            let top = repository_root(&environment.cwd);
            for directory in environment.cwd.ancestors() {
                agents.push(directory.join(".agents"));
                if Some(directory) == top {
                    break;
                }
            }
            agents.retain(|directory| Some(directory) != home.as_ref());
            let base = environment.project_directory();
            let source = Source { kind, scope: ResourceScope::Project, base, agents };
            found.extend(source.candidates(&options.project, options, diagnostics));
        }
        let base = environment.agent_directory.clone();
        let agents = home.into_iter().collect();
        let source = Source { kind, scope: ResourceScope::User, base, agents };
        found.extend(source.candidates(&options.user, options, diagnostics));
        for scope in [ResourceScope::Project, ResourceScope::User, ResourceScope::Temporary] {
            let usable = scope != ResourceScope::Project || options.trusted;
            for package in options.packages.iter().filter(|p| usable && p.scope == scope) {
                for path in package.files(kind, environment, diagnostics) {
                    let source = SourceInfo::package(&path, package);
                    found.push(Candidate { source, named: false });
                }
            }
        }
    }
    if kind != Kind::Extensions {
        found.extend(from_flags(kind, options, diagnostics));
    }
    found
}

/// The directories and settings of the user or of the project.
struct Source {
    kind: Kind,
    scope: ResourceScope,
    base: PathBuf,
    /// Directories named `.agents`, which have skills.
    agents: Vec<PathBuf>,
}

impl Source {
    fn candidates(
        &self,
        settings: &ResourceSettings,
        options: &ResourceOptions,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Candidate> {
        let environment = &options.environment;
        let entries = Entries::parse(self.kind.settings(settings), environment, diagnostics);
        let mut found = Vec::new();
        for plain in &entries.plain {
            let path = normalize(&environment.expand(plain, &self.base));
            let (files, named) = match named_files(self.kind, &path, Depth::Tree) {
                Ok(files) => files,
                Err(problem) => {
                    let kind = self.kind.noun();
                    let message = format!(
                        "the {kind} `{plain}` of the settings is ignored: {problem}; correct or \
                         remove the entry"
                    );
                    diagnostics.push(Diagnostic::warning(path, message));
                    continue;
                }
            };
            for file in files.iter().filter(|file| entries.keep_named(file, &self.base)) {
                found.push(Candidate { source: SourceInfo::configured(file, self.scope), named });
            }
        }
        let mut discovered = |directory: &Path, files: Vec<PathBuf>| {
            for file in files.iter().filter(|file| entries.keep_discovered(file, directory)) {
                let source = SourceInfo::discovered(file, self.scope, directory);
                found.push(Candidate { source, named: false });
            }
        };
        let directory = self.base.join(self.kind.directory());
        match self.kind {
            Kind::Extensions => discovered(&self.base, extension_files(&directory)),
            Kind::Prompts => discovered(&self.base, markdown_files(&directory, Depth::Top)),
            Kind::Themes => {}
            Kind::Skills => {
                discovered(&self.base, skill_files(&directory, Layout::Pi));
                for agents in &self.agents {
                    discovered(agents, skill_files(&agents.join("skills"), Layout::Agents));
                }
            }
        }
        found
    }
}

/// Returns the skills and templates of a run that cannot be loaded.
pub fn invalid_flags(environment: &Environment, flags: &ResourceFlags) -> Vec<Diagnostic> {
    let options = ResourceOptions {
        environment: environment.clone(),
        trusted: false,
        user: ResourceSettings::default(),
        project: ResourceSettings::default(),
        packages: Vec::new(),
        flags: flags.clone(),
    };
    let mut invalid = Vec::new();
    for kind in [Kind::Skills, Kind::Prompts] {
        from_flags(kind, &options, &mut invalid);
    }
    invalid
}

fn from_flags(
    kind: Kind,
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Candidate> {
    let flags = match kind {
        Kind::Extensions => &options.flags.extensions,
        Kind::Themes => return Vec::new(),
        Kind::Skills => &options.flags.skills,
        Kind::Prompts => &options.flags.prompts,
    };
    let mut found = Vec::new();
    for flag in flags {
        let path = normalize(&options.environment.expand(flag, &options.environment.cwd));
        match named_files(kind, &path, Depth::Top) {
            Ok((files, named)) => {
                let sources = files.iter().map(|file| match kind {
                    Kind::Extensions => SourceInfo::extension_flag(file),
                    _ => SourceInfo::flag(file),
                });
                found.extend(sources.map(|source| Candidate { source, named }));
            }
            Err(_) if kind == Kind::Extensions => {
                let path = path.display();
                let message = format!(
                    "Failed to load extension \"{path}\": Extension path does not exist: {path}"
                );
                diagnostics.push(Diagnostic::error(None, message));
            }
            Err(problem) => {
                let message = format!("the {} `{flag}` cannot be loaded: {problem}", kind.noun());
                diagnostics.push(Diagnostic::error(path, message));
            }
        }
    }
    found
}

/// Returns the files of a configured path, and true if the path is that of one file.
fn named_files(
    kind: Kind,
    path: &Path,
    depth: Depth,
) -> Result<(Vec<PathBuf>, bool), &'static str> {
    if path.is_dir() {
        let files = match kind {
            Kind::Extensions => named_extensions(path),
            Kind::Prompts => markdown_files(path, depth),
            Kind::Skills => skill_files(path, Layout::Pi),
            Kind::Themes => theme_files(path),
        };
        return Ok((files, false));
    }
    if !path.exists() {
        return Err("no such file or directory");
    }
    if kind == Kind::Extensions {
        return Ok((vec![path.to_path_buf()], true));
    }
    let markdown = path.is_file() && path.extension().is_some_and(|extension| extension == "md");
    if markdown { Ok((vec![path.to_path_buf()], true)) } else { Err("not a Markdown file (`.md`)") }
}

/// Removes `.` and `..` from a path, as clients see it.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}
