//! Reasons why an analysis may be incomplete.

use std::fmt;

use serde::Serialize;

/// A property of a script that its text does not determine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Uncertainty {
    /// The script exceeds the maximum length.
    TooLong,
    /// The script exceeds the maximum depth.
    TooDeep,
    /// The script has too many commands, or takes too long to parse.
    TooMuch,
    /// The grammar does not understand the script.
    Syntax,
    /// The grammar understands this construct, but the analysis does not.
    Construct(String),
    /// A character looks like another one, or is invisible.
    Character(String),
    /// The program to run is not literal.
    Program(String),
    /// The command runs text as a script, as `eval`, `source` and `trap` do.
    RunsText(String),
    /// A command gets another meaning: by an alias, or by a function with the name of a program.
    Renames(String),
    /// A variable is set that changes what commands do.
    Variable(String),
    /// A command starts others in a form that is not known.
    Starter(String),
    /// Text contains a substitution that the shell may evaluate later.
    Hidden,
}

impl fmt::Display for Uncertainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the script is too long to analyze"),
            Self::TooDeep => write!(f, "the script is nested too deeply to analyze"),
            Self::TooMuch => write!(f, "the script is too large to analyze"),
            Self::Syntax => write!(f, "the syntax of the script is not understood"),
            Self::Construct(what) => write!(f, "the script uses {what}, which is not analyzed"),
            Self::Character(what) => write!(f, "the script contains {what}"),
            Self::Program(word) => write!(f, "the program to run is computed: {word}"),
            Self::RunsText(what) => write!(f, "`{what}` runs text as a script"),
            Self::Renames(name) => write!(f, "`{name}` is given another meaning"),
            Self::Variable(name) => write!(f, "the variable {name} changes what commands do"),
            Self::Starter(what) => write!(f, "the command that `{what}` starts is unknown"),
            Self::Hidden => write!(f, "text contains a substitution that may be evaluated later"),
        }
    }
}
