//! Resources: context files, skills, prompt templates, and texts for the system prompt.
//!
//! [`Resources::load`] finds everything once and reads only what is needed to list it; bodies are
//! read when they are used ([`Resources::expand`]). A problem with a file is a [`Diagnostic`], and
//! the rest still loads. [`SystemPromptOptions`] builds the system prompt from them.

mod configured;
mod context_files;
mod discover;
mod extensions;
mod front_matter;
mod location;
mod of_project;
mod packages;
mod patterns;
mod prompt_options;
mod prompts;
mod scan;
mod skills;
mod source;
mod system_files;
mod system_prompt;
mod template;
mod text;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

pub use configured::{ConfiguredPackage, configured_packages, package_themes};
pub use context_files::ContextFile;
pub use extensions::named_extensions;
pub use location::{GitLocation, InvalidLocation, PackageLocation, is_npm_name};
pub use of_project::BUILTIN;
pub use packages::{PackageContents, PackageRoot};
pub use prompt_options::SystemPromptOptions;
pub use prompts::PromptTemplate;
pub use skills::Skill;
pub use source::{PackageLimits, ResourceOrigin, ResourceScope, SourceInfo};
pub use system_files::SystemText;
pub use system_prompt::{Section, SectionNameError, ToolPrompt};

use crate::{Diagnostic, Environment};
pub use discover::invalid_flags;
pub use discover::normalize;
use discover::{Candidate, Kind, candidates};

/// The resources that a settings file names.
#[derive(Debug, Clone, Default)]
pub struct ResourceSettings {
    /// Entries of the setting `extensions`.
    pub extensions: Vec<String>,
    /// Entries of the setting `skills`.
    pub skills: Vec<String>,
    /// Entries of the setting `prompts`.
    pub prompts: Vec<String>,
}

/// The resources of one run, for example from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFlags {
    /// Additional skills: files or directories.
    pub skills: Vec<String>,
    /// Additional templates: files or directories.
    pub prompts: Vec<String>,
    /// Extensions: files or directories.
    pub extensions: Vec<String>,
    /// Loads no extensions but those in `extensions`.
    pub no_extensions: bool,
    /// Looks for no MCP servers.
    pub no_mcp: bool,
    /// Loads no skills but those in `skills`.
    pub no_skills: bool,
    /// Loads no templates but those in `prompts`.
    pub no_prompts: bool,
    /// Loads no context files.
    pub no_context_files: bool,
    /// Replaces the default prompt: a text or the path of a file.
    pub system_prompt: Option<String>,
    /// Additions to the prompt: texts or paths of files. `None` uses `APPEND_SYSTEM.md`.
    pub append_system_prompt: Option<Vec<String>>,
}

/// The sources of [`Resources`].
#[derive(Debug, Clone)]
pub struct ResourceOptions {
    /// Directories and variables.
    pub environment: Environment,
    /// The project is trusted. Its context files are loaded in any case.
    pub trusted: bool,
    /// Settings of the user.
    pub user: ResourceSettings,
    /// Settings of the project.
    pub project: ResourceSettings,
    /// Packages that are installed.
    pub packages: Vec<PackageRoot>,
    /// Resources of this run.
    pub flags: ResourceFlags,
}

/// The loaded resources.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Resources {
    /// Extension files of this run, the trusted project, the user and packages, in load order.
    pub extensions: Vec<SourceInfo>,
    /// Context files, from general to specific.
    pub context_files: Vec<ContextFile>,
    /// Skills with unique names.
    pub skills: Vec<Skill>,
    /// Templates with unique names.
    pub prompts: Vec<PromptTemplate>,
    /// Replacement of the default system prompt.
    pub system_prompt: Option<SystemText>,
    /// Additions to the system prompt.
    pub append_system_prompt: Vec<SystemText>,
    /// Problems with the files.
    pub diagnostics: Vec<Diagnostic>,
}

/// A resource that is a command, as the RPC command `get_commands` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceCommand {
    /// Name after the slash.
    pub name: String,
    /// Description for the user.
    pub description: String,
    /// Description of the arguments, for menus.
    #[serde(skip)]
    pub argument_hint: Option<String>,
    /// Kind of the resource: `prompt` or `skill`.
    pub source: &'static str,
    /// Origin of the file.
    pub source_info: SourceInfo,
}

/// The expansion of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expanded {
    /// Text that the model gets instead of the command.
    pub text: String,
    /// File of the skill or template.
    pub path: PathBuf,
}

/// A skill or template was found at the start but cannot be read any more.
#[derive(Debug, thiserror::Error)]
#[error("/{command} cannot be used: {path}: {error}; restore the file or reload", path = path.display())]
pub struct ExpandError {
    command: String,
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl Resources {
    /// Loads the resources of all sources.
    pub fn load(options: &ResourceOptions) -> Self {
        let mut resources = Self::default();
        let diagnostics = &mut resources.diagnostics;
        if !options.flags.no_context_files {
            resources.context_files = context_files::load(&options.environment, diagnostics);
        }
        let source = |candidate: Candidate, _: &mut Vec<Diagnostic>| Some(candidate.source);
        resources.extensions = load_unique(Kind::Extensions, options, source, diagnostics);
        let loaded = load_unique(Kind::Skills, options, Skill::load, diagnostics);
        resources.skills = first_of_each_name(loaded, diagnostics, |s| (&s.name, &s.path));
        let loaded = load_unique(Kind::Prompts, options, PromptTemplate::load, diagnostics);
        resources.prompts = first_of_each_name(loaded, diagnostics, |p| (&p.name, &p.path));
        resources.system_prompt = system_files::system_prompt(options, diagnostics);
        resources.append_system_prompt = system_files::append_system_prompt(options, diagnostics);
        resources
    }

    /// Finds the extension files, and nothing else.
    pub fn find_extensions(options: &ResourceOptions) -> Vec<SourceInfo> {
        let source = |candidate: Candidate, _: &mut Vec<Diagnostic>| Some(candidate.source);
        load_unique(Kind::Extensions, options, source, &mut Vec::new())
    }

    /// Returns the templates and skills as commands.
    pub fn commands(&self) -> Vec<ResourceCommand> {
        let prompts = self.prompts.iter().map(|prompt| ResourceCommand {
            name: prompt.name.clone(),
            description: prompt.description.clone(),
            argument_hint: prompt.argument_hint.clone(),
            source: "prompt",
            source_info: prompt.source.clone(),
        });
        let skills = self.skills.iter().map(|skill| ResourceCommand {
            name: format!("skill:{}", skill.name),
            description: skill.description.clone(),
            argument_hint: None,
            source: "skill",
            source_info: skill.source.clone(),
        });
        prompts.chain(skills).collect()
    }

    /// Expands `/skill:name …` or `/template …`. Returns `None` for any other text, and for unknown
    /// skills and templates.
    ///
    /// # Errors
    ///
    /// Fails if the file was found at the start but cannot be read any more.
    pub fn expand(&self, text: &str) -> Result<Option<Expanded>, ExpandError> {
        let Some(line) = text.strip_prefix('/') else { return Ok(None) };
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let skill = name.strip_prefix("skill:");
        if let Some(skill) = skill.and_then(|name| self.skills.iter().find(|s| s.name == name)) {
            let body = read_body(name, &skill.path)?;
            let text = invoke_skill(skill, &body, arguments.trim());
            return Ok(Some(Expanded { text, path: skill.path.clone() }));
        }
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.name == name) else {
            return Ok(None);
        };
        let body = read_body(name, &prompt.path)?;
        let text = template::substitute(&body, &template::split_arguments(arguments));
        Ok(Some(Expanded { text, path: prompt.path.clone() }))
    }
}

/// Returns the message with the instructions of a skill.
fn invoke_skill(skill: &Skill, body: &str, arguments: &str) -> String {
    let mut text = format!(
        "<skill name=\"{}\" location=\"{}\">\nReferences are relative to {}.\n\n{}\n</skill>",
        skill.name,
        skill.path.display(),
        skill.directory().display(),
        body.trim(),
    );
    if !arguments.is_empty() {
        text.push_str("\n\n");
        text.push_str(arguments);
    }
    text
}

/// Reads a file without its front matter.
fn read_body(command: &str, path: &Path) -> Result<String, ExpandError> {
    let failed =
        |error| ExpandError { command: command.to_owned(), path: path.to_path_buf(), error };
    let bytes = fs::read(path).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(front_matter::split(&front_matter::normalize(&text)).1.to_owned())
}

/// Loads the candidates, each file once even if it has several paths.
fn load_unique<T>(
    kind: Kind,
    options: &ResourceOptions,
    load: fn(Candidate, &mut Vec<Diagnostic>) -> Option<T>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<T> {
    let mut candidates = candidates(kind, options, diagnostics);
    let mut seen = HashSet::new();
    candidates.retain(|candidate| {
        scan::identity(&candidate.source.path).is_none_or(|file| seen.insert(file))
    });
    candidates.into_iter().filter_map(|candidate| load(candidate, diagnostics)).collect()
}

/// Keeps the first item of each name and reports the others.
fn first_of_each_name<T>(
    items: Vec<T>,
    diagnostics: &mut Vec<Diagnostic>,
    key: impl Fn(&T) -> (&String, &PathBuf),
) -> Vec<T> {
    let mut taken: HashMap<String, PathBuf> = HashMap::new();
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let (name, path) = key(&item);
        if let Some(winner) = taken.get(name) {
            let message = format!(
                "the name \"{name}\" is already used by {}, so this one is ignored; rename one of \
                 them",
                winner.display()
            );
            diagnostics.push(Diagnostic::warning(path.clone(), message));
        } else {
            taken.insert(name.clone(), path.clone());
            kept.push(item);
        }
    }
    kept
}
