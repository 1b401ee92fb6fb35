//! What users put beside the program to make it theirs: context files, skills, prompt templates,
//! and their own words for the system prompt.
//!
//! [`Resources::load`] finds everything once, reading only what is needed to list it; bodies are
//! read when they are used ([`Resources::expand`]). Whatever is wrong with a file is a
//! [`Diagnostic`], and the rest still loads. [`system_prompt`] makes the prompt of it.

mod context_files;
mod discover;
mod front_matter;
mod packages;
mod patterns;
mod prompt_options;
mod prompts;
mod scan;
mod skills;
mod source;
mod system_files;
pub mod system_prompt;
pub mod template;
mod text;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

pub use context_files::ContextFile;
pub use packages::PackageRoot;
pub use prompt_options::SystemPromptOptions;
pub use prompts::PromptTemplate;
pub use skills::Skill;
pub use source::{Origin, ResourceScope, SourceInfo};
pub use system_files::SystemText;

use crate::{Diagnostic, Environment};
use discover::{Candidate, Kind, candidates};

/// The lists of one settings file that name resources.
#[derive(Debug, Clone, Default)]
pub struct ResourceSettings {
    /// `skills`.
    pub skills: Vec<String>,
    /// `prompts`.
    pub prompts: Vec<String>,
}

/// What the command line says about resources.
#[derive(Debug, Clone, Default)]
pub struct ResourceFlags {
    /// More skills: files or directories.
    pub skills: Vec<String>,
    /// More templates: files or directories.
    pub prompts: Vec<String>,
    /// No skills but those named by flags.
    pub no_skills: bool,
    /// No templates but those named by flags.
    pub no_prompts: bool,
    /// No context files.
    pub no_context_files: bool,
    /// Instead of the default prompt: a text or the name of a file.
    pub system_prompt: Option<String>,
    /// Added to the prompt: texts or names of files. `None` leaves it to `APPEND_SYSTEM.md`.
    pub append_system_prompt: Option<Vec<String>>,
}

/// What to load, and from where.
#[derive(Debug, Clone)]
pub struct ResourceOptions {
    /// Places.
    pub environment: Environment,
    /// Whether the project's own resources may be used. Context files always are.
    pub trusted: bool,
    /// The user's settings.
    pub user: ResourceSettings,
    /// The project's settings.
    pub project: ResourceSettings,
    /// Installed packages.
    pub packages: Vec<PackageRoot>,
    /// The command line.
    pub flags: ResourceFlags,
}

/// Everything that was found.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Instructions, the most general first.
    pub context_files: Vec<ContextFile>,
    /// Skills, each name once.
    pub skills: Vec<Skill>,
    /// Templates, each name once.
    pub prompts: Vec<PromptTemplate>,
    /// What replaces the default system prompt.
    pub system_prompt: Option<SystemText>,
    /// What is added to the system prompt.
    pub append_system_prompt: Vec<SystemText>,
    /// What is wrong with any of it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A resource that is a command, as the RPC command `get_commands` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// What is typed after the slash.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// `prompt` or `skill`.
    pub source: &'static str,
    /// Where it comes from.
    pub source_info: SourceInfo,
}

/// A command line that was a skill or a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// What the model gets instead.
    pub text: String,
    /// The file it is from.
    pub path: PathBuf,
}

/// A skill or template that is there but cannot be used now.
#[derive(Debug, thiserror::Error)]
#[error("/{command} cannot be used: {path}: {error}; restore the file or reload", path = path.display())]
pub struct ExpandError {
    command: String,
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl Resources {
    /// Finds everything.
    pub fn load(options: &ResourceOptions) -> Self {
        let mut resources = Self::default();
        let diagnostics = &mut resources.diagnostics;
        if !options.flags.no_context_files {
            resources.context_files = context_files::load(&options.environment, diagnostics);
        }
        let loaded = load_unique(Kind::Skills, options, Skill::load, diagnostics);
        resources.skills = first_of_each_name(loaded, diagnostics, |s| (&s.name, &s.path));
        let loaded = load_unique(Kind::Prompts, options, PromptTemplate::load, diagnostics);
        resources.prompts = first_of_each_name(loaded, diagnostics, |p| (&p.name, &p.path));
        resources.system_prompt = system_files::system_prompt(options, diagnostics);
        resources.append_system_prompt = system_files::append_system_prompt(options, diagnostics);
        resources
    }

    /// Templates and skills as commands.
    pub fn commands(&self) -> Vec<Command> {
        let prompts = self.prompts.iter().map(|prompt| Command {
            name: prompt.name.clone(),
            description: prompt.description.clone(),
            source: "prompt",
            source_info: prompt.source.clone(),
        });
        let skills = self.skills.iter().map(|skill| Command {
            name: format!("skill:{}", skill.name),
            description: skill.description.clone(),
            source: "skill",
            source_info: skill.source.clone(),
        });
        prompts.chain(skills).collect()
    }

    /// What `/skill:name …` or `/template …` stands for. Anything else is `None`, also the names
    /// of skills and templates that do not exist.
    ///
    /// # Errors
    ///
    /// When the file was there at the start and cannot be read now.
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

/// The message that hands a skill's instructions to the model.
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

/// A file without its front matter.
fn read_body(command: &str, path: &Path) -> Result<String, ExpandError> {
    let failed =
        |error| ExpandError { command: command.to_owned(), path: path.to_path_buf(), error };
    let bytes = fs::read(path).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(front_matter::split(&front_matter::normalise(&text)).1.to_owned())
}

/// Loads every candidate whose file was not loaded under another path.
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

/// Where a name is taken twice, the first keeps it and the other is reported.
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
                "the name \"{name}\" is taken by {}, so this one is not used; rename one of them",
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
