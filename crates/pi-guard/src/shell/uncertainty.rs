//! Why an analysis may not be the whole truth.

use std::fmt;

use serde::Serialize;

/// Something in a script that its text does not decide.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Uncertainty {
    /// The script is longer than what is analysed.
    TooLong,
    /// It nests deeper than what is analysed.
    TooDeep,
    /// It holds more commands than are looked at, or takes too long to read.
    TooMuch,
    /// The grammar does not understand it.
    Syntax,
    /// The grammar knows this but the analysis does not.
    Construct(String),
    /// A character that does not look like what it is.
    Character(String),
    /// The program to run is not written out.
    Program(String),
    /// Runs text as a script: `eval`, `source`, `trap` and others.
    RunsText(String),
    /// Gives a command another meaning: an alias, or a function with the name of a program.
    Renames(String),
    /// Sets a variable that changes what commands do.
    Variable(String),
    /// A command that starts others, in a form that is not known.
    Starter(String),
    /// A substitution inside text that the shell may look into again.
    Hidden,
}

impl fmt::Display for Uncertainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the script is too long to analyze"),
            Self::TooDeep => write!(f, "the script nests too deeply to analyze"),
            Self::TooMuch => write!(f, "the script is too large to analyze"),
            Self::Syntax => write!(f, "the script is not understood (syntax)"),
            Self::Construct(what) => write!(f, "the script uses {what}, which is not analysed"),
            Self::Character(what) => write!(f, "the script contains {what}"),
            Self::Program(word) => write!(f, "the program to run is not written out: {word}"),
            Self::RunsText(what) => write!(f, "`{what}` runs text as a script"),
            Self::Renames(name) => write!(f, "`{name}` is given another meaning"),
            Self::Variable(name) => write!(f, "the variable {name} changes what commands do"),
            Self::Starter(what) => write!(f, "cannot tell which command `{what}` starts"),
            Self::Hidden => write!(f, "text contains a substitution that may be run later"),
        }
    }
}
