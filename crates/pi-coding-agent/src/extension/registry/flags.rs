//! Command-line flags of extensions and their values.

use super::{Owned, Registry, RegistryError};

/// A command-line flag of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Name without the dashes.
    pub name: String,
    /// Type of the value.
    pub kind: FlagKind,
    /// Value of a flag that is not given.
    pub default: Option<FlagValue>,
    /// Description for the help text, in one line.
    pub description: Option<String>,
}

/// Type of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum FlagKind {
    Boolean,
    String,
}

/// Value of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum FlagValue {
    Boolean(bool),
    String(String),
}

impl FlagKind {
    fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::String => "string",
        }
    }
}

impl FlagValue {
    fn kind(&self) -> FlagKind {
        match self {
            Self::Boolean(_) => FlagKind::Boolean,
            Self::String(_) => FlagKind::String,
        }
    }
}

impl Registry {
    /// Registers a command-line flag.
    pub fn register_flag(&self, owner: &str, flag: Flag) -> Result<(), RegistryError> {
        if let Some(default) = &flag.default
            && default.kind() != flag.kind
        {
            return Err(RegistryError::FlagDefault {
                name: flag.name,
                expected: flag.kind.name(),
                found: default.kind().name(),
            });
        }
        let mut contents = self.contents();
        let same = |other: &&Owned<Flag>| other.item.name == flag.name;
        if let Some(other) = contents.flags.iter().find(same) {
            let owner = other.owner.to_string();
            return Err(RegistryError::FlagConflict { name: flag.name, owner });
        }
        contents.flags.push(Owned::new(owner, flag));
        contents.changed();
        Ok(())
    }

    /// Returns the flags with the paths of their extensions.
    pub fn flags(&self) -> Vec<(Flag, String)> {
        let contents = self.contents();
        contents.flags.iter().map(|flag| (flag.item.clone(), flag.owner.to_string())).collect()
    }

    /// Sets the value that the command line gives to a flag.
    pub fn set_flag(&self, name: &str, value: FlagValue) {
        let mut contents = self.contents();
        contents.flag_values.retain(|(other, _)| other != name);
        contents.flag_values.push((name.to_owned(), value));
        contents.changed();
    }

    /// Returns the value of a flag that this owner registered: as given, or the default.
    pub fn flag(&self, owner: &str, name: &str) -> Option<FlagValue> {
        let contents = self.contents();
        let own = |flag: &&Owned<Flag>| *flag.owner == *owner && flag.item.name == name;
        let flag = contents.flags.iter().find(own)?;
        let given = contents.flag_values.iter().find(|(other, _)| other == name);
        given.map(|(_, value)| value.clone()).or_else(|| flag.item.default.clone())
    }
}
