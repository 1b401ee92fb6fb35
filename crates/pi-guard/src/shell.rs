//! The analysis of shell scripts.
//!
//! A script is reduced to its simple commands, wherever they are nested, with words as the shell
//! would pass them on. Everything that the analysis does not understand is reported as an
//! [`Uncertainty`] and never left out; the policy distrusts a script that has any.

mod builtins;
mod evaluate;
mod languages;
mod launch;
mod nodes;
mod text;
mod tree;
mod uncertainty;
mod variables;
mod word;

use serde::Serialize;

pub(crate) use launch::FOUND;
pub use uncertainty::Uncertainty;

use crate::programs;
use crate::word::base_name;

pub use crate::word::Word;

/// The maximum length of a script in bytes. Longer scripts are not analyzed.
pub const MAX_LENGTH: usize = 64 * 1024;
/// The maximum depth of the syntax tree of a script.
const MAX_DEPTH: usize = 200;
/// The maximum number of nested scripts, as in `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;
/// The maximum number of commands in a script.
const MAX_COMMANDS: usize = 2000;

/// The commands of a script, as far as its text determines them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The commands in the order of the text. A command that starts another one (`sudo rm x`) is
    /// followed by it.
    pub commands: Vec<Command>,
    /// Reasons why the commands may be incomplete or different. Empty if the analysis is certain.
    pub uncertainties: Vec<Uncertainty>,
    /// The names of the functions that the script defines.
    pub functions: Vec<String>,
    /// The values that the variables of `for` loops take.
    #[serde(skip)]
    pub(crate) loops: Vec<Assignment>,
    #[serde(skip)]
    evaluation: evaluate::Evaluation,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Command {
    /// The program and its arguments. Empty for assignments and redirections without a command.
    pub words: Vec<Word>,
    /// Variables that are set for the command or by it.
    pub assignments: Vec<Assignment>,
    /// Files that the shell opens for the command.
    pub redirects: Vec<Redirect>,
    /// The relation of the command to other commands.
    pub role: Role,
    /// The commands that start this command, outermost first: `["sudo", "sh"]`.
    pub through: Vec<String>,
}

/// The relation of a command to other commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Role {
    /// The command does its work itself.
    #[default]
    Plain,
    /// The command only starts the command that follows it in the list.
    Starts,
    /// The command runs something that the script does not show, for this reason.
    Opaque(String),
}

/// `name=value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Assignment {
    /// The name of the variable.
    pub name: String,
    /// The value that the variable is set to.
    pub value: Word,
}

/// A redirection to or from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Redirect {
    /// The kind of access.
    pub access: RedirectAccess,
    /// The path of the file.
    pub target: Word,
}

/// The access of a redirection to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RedirectAccess {
    /// Reads the file.
    Read,
    /// Replaces the content of the file.
    Write,
    /// Appends to the file.
    Append,
}

impl Analysis {
    /// Returns true if the script runs the listed commands and no others.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.uncertainties.is_empty()
    }

    fn note(&mut self, uncertainty: Uncertainty) {
        if !self.uncertainties.contains(&uncertainty) {
            self.uncertainties.push(uncertainty);
        }
    }
}

impl Analysis {
    /// Returns true if a command of the script raises its privileges (`sudo`).
    #[must_use]
    pub fn raises_privileges(&self) -> bool {
        let raises = |command: &Command| command.base().is_some_and(programs::raises_privileges);
        self.commands.iter().any(raises)
    }
}

impl Command {
    /// Returns the program as it is written, if it is literal.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// Returns the name of the program without its directory.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.program().map(base_name)
    }

    /// Returns the command as one line for display.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts: Vec<String> =
            self.assignments.iter().map(|a| format!("{}={}", a.name, a.value.raw())).collect();
        parts.extend(self.words.iter().map(|word| word.raw().to_owned()));
        for redirect in &self.redirects {
            let sign = match redirect.access {
                RedirectAccess::Read => "<",
                RedirectAccess::Write => ">",
                RedirectAccess::Append => ">>",
            };
            parts.push(format!("{sign}{}", redirect.target.raw()));
        }
        parts.join(" ")
    }
}

/// Quotes a word for a shell, if necessary.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Analyzes a script in the language of bash and similar shells.
#[must_use]
pub fn analyze(script: &str) -> Analysis {
    let mut analysis = Analysis::default();
    script_into(script, &mut analysis, &[]);
    if analysis.evaluation.is_dangerous() {
        analysis.note(Uncertainty::Hidden);
    }
    // The body of a function is listed itself.
    let Analysis { commands, functions, .. } = &mut analysis;
    for command in commands {
        let is_function = command.program().is_some_and(|name| functions.iter().any(|f| f == name));
        if is_function && matches!(command.role, Role::Opaque(_)) {
            command.role = Role::Plain;
        }
    }
    analysis
}

/// Analyzes a script that the commands in `through` run.
fn script_into(script: &str, analysis: &mut Analysis, through: &[String]) {
    if script.len() > MAX_LENGTH {
        return analysis.note(Uncertainty::TooLong);
    }
    if through.len() >= MAX_SCRIPTS {
        return analysis.note(Uncertainty::TooDeep);
    }
    // The grammar reads `ca\⏎t` as two words, the shell as one, so both readings are analyzed.
    for script in
        [Some(script), text::without_continuations(script).as_deref()].into_iter().flatten()
    {
        for uncertainty in text::uncertainties(script) {
            analysis.note(uncertainty);
        }
        tree::read(script, analysis, through);
    }
}

#[cfg(test)]
mod tests;
