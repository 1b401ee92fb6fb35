//! What a shell script would run.
//!
//! A script is reduced to every simple command anywhere in it, with its words as the shell would
//! pass them on, and to the reasons why that list may not be all. The policy decides on the
//! first and distrusts a script that has any of the second: whatever is not understood here is
//! reported as a [`Doubt`], never left out.

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

pub use uncertainty::Uncertainty;
pub use word::Word;

/// Longer scripts are not analysed.
pub const MAX_LENGTH: usize = 64 * 1024;
/// How deep a script may nest, in nodes of its syntax tree.
const MAX_DEPTH: usize = 200;
/// How many scripts may be inside one another, as in `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;
/// How many commands are kept.
const MAX_COMMANDS: usize = 2000;

/// What a script would run, as far as its text says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Analysis {
    /// Every command, in the order of the text. A command that starts another (`sudo rm x`) is
    /// followed by the one it starts.
    pub commands: Vec<Command>,
    /// Why this may not be all, or not what happens. Empty if the analysis is certain.
    pub uncertainties: Vec<Uncertainty>,
    /// Functions that the script defines.
    pub functions: Vec<String>,
    /// The words that the variable of a `for` takes one after the other.
    #[serde(skip)]
    pub(crate) loops: Vec<Assignment>,
    #[serde(skip)]
    evaluation: evaluate::Evaluation,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Command {
    /// The program and its arguments. Empty for bare assignments and redirections.
    pub words: Vec<Word>,
    /// Variables set for it, or by it.
    pub assignments: Vec<Assignment>,
    /// Files it reads or writes through the shell.
    pub redirects: Vec<Redirect>,
    /// What it is to the others.
    pub role: Role,
    /// The commands that start it, outermost first: `["sudo", "sh"]`.
    pub through: Vec<String>,
}

/// What a command is to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// It does something itself.
    #[default]
    Plain,
    /// It only starts the command that follows it in the list.
    Starts,
    /// It runs something that the script does not show, for this reason.
    Opaque(String),
}

/// `name=value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What it is set to.
    pub value: Word,
}

/// A redirection to or from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// What is done with the file.
    pub access: Access,
    /// The file.
    pub target: Word,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// It is read.
    Read,
    /// It is replaced.
    Write,
    /// It is added to.
    Append,
}

impl Analysis {
    /// Whether the list of commands is all that the script can run.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.uncertainties.is_empty()
    }

    fn note(&mut self, doubt: Uncertainty) {
        if !self.uncertainties.contains(&doubt) {
            self.uncertainties.push(doubt);
        }
    }
}

impl Command {
    /// The program as it is written, if that is known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// The program without its folder.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.program().map(base_name)
    }

    /// The command as one line, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts: Vec<String> =
            self.assignments.iter().map(|a| format!("{}={}", a.name, a.value.raw())).collect();
        parts.extend(self.words.iter().map(|word| word.raw().to_owned()));
        for redirect in &self.redirects {
            let sign = match redirect.access {
                Access::Read => "<",
                Access::Write => ">",
                Access::Append => ">>",
            };
            parts.push(format!("{sign}{}", redirect.target.raw()));
        }
        parts.join(" ")
    }
}

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Analyses a script for bash (and the shells that resemble it).
#[must_use]
pub fn analyze(script: &str) -> Analysis {
    let mut analysis = Analysis::default();
    script_into(script, &mut analysis, &[]);
    if analysis.evaluation.is_dangerous() {
        analysis.note(Uncertainty::Hidden);
    }
    analysis
}

/// Analyses a script that is run by the commands in `through`.
fn script_into(script: &str, analysis: &mut Analysis, through: &[String]) {
    if script.len() > MAX_LENGTH {
        return analysis.note(Uncertainty::TooLong);
    }
    if through.len() >= MAX_SCRIPTS {
        return analysis.note(Uncertainty::TooDeep);
    }
    for doubt in text::doubts(script) {
        analysis.note(doubt);
    }
    tree::read(script, analysis, through);
    // The grammar takes `ca\⏎t` for two words where the shell takes it for one, so both
    // readings are judged.
    if let Some(joined) = text::without_continuations(script) {
        tree::read(&joined, analysis, through);
    }
}

#[cfg(test)]
mod tests;
