//! Skills: instructions that the system prompt lists and the model reads when it needs them.
//!
//! Discovery reads only the front matter of each file.

use std::path::{Path, PathBuf};

use super::discover::Candidate;
use super::front_matter::{self, Fields};
use super::scan::Scan;
use super::source::SourceInfo;
use crate::Diagnostic;

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

/// A skill without its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// Name for `/skill:name`.
    pub name: String,
    /// Purpose of the skill, by which the model decides when to use it.
    pub description: String,
    /// File with the instructions.
    pub path: PathBuf,
    /// The skill is not listed in the system prompt, only used by name.
    pub disable_model_invocation: bool,
    /// Origin of the file.
    pub source: SourceInfo,
}

impl Skill {
    /// Returns the directory that paths in the instructions are relative to.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Reads the front matter of a file. Plain Markdown without a description is silently skipped,
    /// unless a setting or flag names the file.
    pub(super) fn load(candidate: Candidate, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let Candidate { source, named } = candidate;
        let path = source.path.clone();
        let declared = named || is_skill_file(&path);
        let mut warn = |message: String| {
            if declared {
                diagnostics.push(Diagnostic::warning(path.clone(), message));
            }
        };
        let head = match front_matter::read_head(&path) {
            Ok(head) => head,
            Err(error) => {
                warn(format!("this skill cannot be read: {error}"));
                return None;
            }
        };
        let fields = match Fields::parse(front_matter::split(&head).0.unwrap_or_default()) {
            Ok(fields) => fields,
            Err(error) => {
                warn(format!("this skill is ignored: {error}"));
                return None;
            }
        };
        let Some(description) = fields.text("description").filter(|text| !text.trim().is_empty())
        else {
            warn(
                "this skill is ignored: it has no description; add `description: …` to the \
                 front matter between `---` lines at its top"
                    .to_owned(),
            );
            return None;
        };
        let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
        let name = match fields.text("name").filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => parent.to_string_lossy().into_owned(),
        };
        name_problems(&name).for_each(&mut warn);
        let length = description.chars().count();
        if length > LONGEST_DESCRIPTION {
            warn(format!(
                "the description has {length} characters; keep it within {LONGEST_DESCRIPTION}"
            ));
        }
        Some(Self {
            name,
            description: description.to_owned(),
            disable_model_invocation: fields.is_true("disable-model-invocation"),
            path: source.path.clone(),
            source,
        })
    }
}

/// Returns the problems that a name has in other programs that share the skill. This program
/// accepts any name.
fn name_problems(name: &str) -> impl Iterator<Item = String> {
    let length = name.chars().count();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    [
        (length > LONGEST_NAME, format!("has {length} characters, more than {LONGEST_NAME}")),
        (!name.chars().all(allowed), "may only have a-z, 0-9 and hyphens".to_owned()),
        (name.starts_with('-') || name.ends_with('-'), "starts or ends with a hyphen".to_owned()),
        (name.contains("--"), "has two hyphens in a row".to_owned()),
    ]
    .into_iter()
    .filter(|(wrong, _)| *wrong)
    .map(|(_, problem)| format!("the name {problem}; rename the skill"))
}

/// The layout of a directory of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Layout of pi: Markdown files at the top level are skills too.
    Pi,
    /// Layout of `.agents/skills`: Markdown files are skills only below the top level.
    Agents,
}

/// Returns the skill files in a directory. A directory with a `SKILL.md` is one skill.
pub(super) fn skill_files(root: &Path, layout: Layout) -> Vec<PathBuf> {
    fn collect(
        scan: &mut Scan,
        directory: &Path,
        (layout, top): (Layout, bool),
        files: &mut Vec<PathBuf>,
    ) {
        let (entries, mark) = scan.enter(directory);
        if let Some(skill) = entries.iter().find(|e| !e.is_directory && is_skill_file(&e.path)) {
            files.push(skill.path.clone());
        } else {
            for entry in entries {
                if entry.is_directory {
                    collect(scan, &entry.path, (layout, false), files);
                } else if entry.name.ends_with(".md") && (top == (layout == Layout::Pi)) {
                    files.push(entry.path);
                }
            }
        }
        scan.leave(mark);
    }
    let mut files = Vec::new();
    collect(&mut Scan::default(), root, (layout, true), &mut files);
    files
}

fn is_skill_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "SKILL.md")
}
