//! Variables of system prompts: `${NAME}`.
//!
//! Names are checked when a spec is loaded, so that a prompt never reaches a model with a variable
//! left in it. `$${` stands for `${`. Other dollar signs mean nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use pi_coding_agent::SystemPromptOptions;

use super::spec::PromptTemplate;

/// Variables that the program sets. Those that begin with `KIMI_` are the names of kimi-cli.
const BUILT_IN: &[(&str, Variable)] = &[
    ("CWD", Variable::WorkingDirectory),
    ("NOW", Variable::Now),
    ("DATE", Variable::Date),
    ("OS", Variable::OperatingSystem),
    ("SHELL", Variable::Shell),
    ("CONTEXT_FILES", Variable::ContextFiles),
    ("SKILLS", Variable::Skills),
    ("TOOLS", Variable::Tools),
    ("LISTING", Variable::Listing),
    ("KIMI_NOW", Variable::Now),
    ("KIMI_WORK_DIR", Variable::WorkingDirectory),
    ("KIMI_WORK_DIR_LS", Variable::Listing),
    ("KIMI_AGENTS_MD", Variable::ContextFiles),
    ("KIMI_SKILLS", Variable::Skills),
    ("KIMI_OS", Variable::OperatingSystem),
    ("KIMI_SHELL", Variable::Shell),
    ("KIMI_ADDITIONAL_DIRS_INFO", Variable::Nothing),
];

/// Most names in the listing of the working directory.
const LONGEST_LISTING: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variable {
    WorkingDirectory,
    Now,
    Date,
    OperatingSystem,
    Shell,
    ContextFiles,
    Skills,
    Tools,
    Listing,
    Nothing,
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Variable { name: &'t str, at: usize },
}

/// Splits a template at its variables.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("${")) {
        let at = from + found;
        let name_start = at + 2;
        let rest = text.get(name_start..).unwrap_or_default();
        let length = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(0);
        let is_name = length > 0
            && rest.as_bytes().get(length) == Some(&b'}')
            && !rest.starts_with(|c: char| c.is_ascii_digit());
        if at > start && text.as_bytes().get(at - 1) == Some(&b'$') {
            // The first dollar sign makes the second one literal.
            pieces.push(Piece::Text(text.get(start..at - 1).unwrap_or_default()));
            start = at;
            from = name_start;
        } else if is_name {
            pieces.push(Piece::Text(text.get(start..at).unwrap_or_default()));
            let name = rest.get(..length).unwrap_or_default();
            pieces.push(Piece::Variable { name, at });
            start = name_start + length + 1;
            from = start;
        } else {
            from = name_start;
        }
    }
    pieces.push(Piece::Text(text.get(start..).unwrap_or_default()));
    pieces
}

fn built_in(name: &str) -> Option<Variable> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, variable)| *variable)
}

/// Returns the names of the variables that the program sets.
pub fn built_in_variables() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// An unknown variable of a template: its name, and its line from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownVariable {
    pub(super) name: String,
    pub(super) line: usize,
}

/// Returns the variables of a template that have no value.
pub(super) fn unknown_variables(template: &PromptTemplate) -> Vec<UnknownVariable> {
    let unknown = |piece: Piece<'_>| match piece {
        Piece::Variable { name, at }
            if !template.variables.contains_key(name) && built_in(name).is_none() =>
        {
            let before = template.text.get(..at).unwrap_or_default();
            Some(UnknownVariable { name: name.to_owned(), line: before.matches('\n').count() + 1 })
        }
        _ => None,
    };
    pieces(&template.text).into_iter().filter_map(unknown).collect()
}

/// Values that do not change during a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// Start of the session, in ISO 8601.
    pub(super) started: String,
    /// Names in the working directory, at the start of the session.
    pub(super) listing: String,
    /// Path of the shell of commands.
    pub(super) shell: String,
}

impl PromptTemplate {
    /// Puts this prompt in the place of the program's. Context files and skills that the template
    /// names are not added a second time.
    pub(super) fn apply(&self, surroundings: &Surroundings, options: &mut SystemPromptOptions) {
        let mut text = String::new();
        let (mut has_files, mut has_skills) = (false, false);
        for piece in pieces(&self.text) {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Variable { name, .. } => match self.variables.get(name) {
                    Some(value) => text.push_str(value),
                    None => {
                        let variable = built_in(name).unwrap_or(Variable::Nothing);
                        has_files |= variable == Variable::ContextFiles;
                        has_skills |= variable == Variable::Skills;
                        text.push_str(&value_of(variable, surroundings, options));
                    }
                },
            }
        }
        options.custom_prompt = Some(text);
        if has_files {
            options.context_files = [].into();
        }
        if has_skills {
            options.skills = [].into();
        }
    }
}

fn value_of<'s>(
    variable: Variable,
    surroundings: &'s Surroundings,
    options: &SystemPromptOptions,
) -> Cow<'s, str> {
    match variable {
        Variable::WorkingDirectory => options.cwd.display().to_string().into(),
        Variable::Now => surroundings.started.as_str().into(),
        Variable::Date => surroundings.started.get(..10).unwrap_or_default().into(),
        Variable::OperatingSystem => std::env::consts::OS.into(),
        Variable::Shell => surroundings.shell.as_str().into(),
        Variable::Listing => surroundings.listing.as_str().into(),
        Variable::Nothing => "".into(),
        Variable::ContextFiles => {
            let mut text = String::new();
            for file in options.context_files.iter().filter(|file| !file.content.trim().is_empty())
            {
                let _ = write!(text, "\n\n# {}\n\n{}", file.path.display(), file.content.trim());
            }
            text.trim_start().to_owned().into()
        }
        Variable::Skills => {
            let mut text = String::new();
            for skill in options.skills.iter().filter(|skill| !skill.disable_model_invocation) {
                let (name, path) = (&skill.name, skill.path.display());
                let _ = writeln!(text, "- {name}: {} ({path})", skill.description);
            }
            text.trim_end().to_owned().into()
        }
        Variable::Tools => {
            let names: Vec<&str> = options.tools.iter().map(|tool| tool.name.as_str()).collect();
            names.join(", ").into()
        }
    }
}

/// Returns the names in a directory, one in a line, directories with a slash.
pub(super) fn listing(directory: &std::path::Path) -> String {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| {
            let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    let more = names.len().saturating_sub(LONGEST_LISTING);
    names.truncate(LONGEST_LISTING);
    if more > 0 {
        names.push(format!("… and {more} more"));
    }
    names.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_and_dollar_signs_are_kept() {
        let cases: &[(&str, &[&str])] = &[
            ("${CWD}", &["CWD"]),
            ("a ${X_1} b ${Y}", &["X_1", "Y"]),
            ("$HOME ${1} ${} ${a-b} ${open", &[]),
            ("$${CWD} $$${CWD}", &[]),
            ("${é}", &[]),
        ];
        for (text, names) in cases {
            let found: Vec<&str> = pieces(text)
                .into_iter()
                .filter_map(|piece| match piece {
                    Piece::Variable { name, .. } => Some(name),
                    Piece::Text(_) => None,
                })
                .collect();
            assert_eq!(found, *names, "{text}");
        }
    }

    #[test]
    fn a_prompt_is_rendered_with_its_variables() {
        let mut options =
            SystemPromptOptions { cwd: "/work".into(), ..SystemPromptOptions::default() };
        let template = PromptTemplate {
            text: "In ${CWD} on ${DATE} for ${TEAM}: $${CWD} costs $5.".to_owned(),
            variables: [("TEAM".to_owned(), "core ${CWD}".to_owned())].into(),
        };
        let started = "2026-11-16T10:00:00Z".to_owned();
        template.apply(&Surroundings { started, ..Surroundings::default() }, &mut options);
        assert_eq!(
            options.custom_prompt.as_deref(),
            Some("In /work on 2026-11-16 for core ${CWD}: ${CWD} costs $5.")
        );
    }

    proptest::proptest! {
        #[test]
        fn text_without_variables_is_not_changed(text in "[^$]*") {
            let template = PromptTemplate { text: text.clone(), ..PromptTemplate::default() };
            let mut options = SystemPromptOptions::default();
            template.apply(&Surroundings::default(), &mut options);
            proptest::prop_assert_eq!(options.custom_prompt, Some(text));
        }

        #[test]
        fn no_text_panics(text in "([$]|[{]|[}]|A|é)*") {
            let _ = pieces(&text);
        }
    }
}
