//! Slash commands of extensions, and the names by which the user calls them.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_agent::BoxFuture;

use super::super::{ExtensionContext, ExtensionError};
use super::{Completion, Owned, Registry, RegistryError};

/// Runs a command with the text after its name.
pub type CommandHandler = Arc<
    dyn Fn(String, ExtensionContext) -> BoxFuture<'static, Result<(), ExtensionError>>
        + Send
        + Sync,
>;

/// Completes the arguments of a command.
pub type ArgumentCompleter =
    Arc<dyn Fn(String) -> BoxFuture<'static, Vec<Completion>> + Send + Sync>;

/// A slash command of an extension.
#[derive(Clone)]
#[non_exhaustive]
pub struct Command {
    /// Name without the slash.
    pub name: String,
    /// Description for the user, in one line.
    pub description: Option<String>,
    /// Runs the command.
    pub handler: CommandHandler,
    /// Completes the arguments.
    pub completer: Option<ArgumentCompleter>,
}

/// A slash command under the name by which the user calls it.
#[derive(Clone)]
#[non_exhaustive]
pub struct NamedCommand {
    /// Name without the slash, unique among all commands of extensions.
    pub name: String,
    /// Path of the extension.
    pub owner: String,
    /// The command.
    pub command: Command,
}

/// Makes a command handler from an asynchronous function.
pub fn command_handler<F, Fut>(function: F) -> CommandHandler
where
    F: Fn(String, ExtensionContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), ExtensionError>> + Send + 'static,
{
    Arc::new(move |arguments, context| Box::pin(function(arguments, context)))
}

impl Command {
    /// Creates a command from an asynchronous function that takes the text after the name.
    pub fn new<F, Fut>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        F: Fn(String, ExtensionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ExtensionError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: Some(description.into()),
            handler: command_handler(function),
            completer: None,
        }
    }

    /// Sets the function that completes the arguments.
    #[must_use]
    pub fn completer(mut self, completer: ArgumentCompleter) -> Self {
        self.completer = Some(completer);
        self
    }
}

impl Registry {
    /// Registers a slash command. Several extensions may register the same name.
    pub fn register_command(&self, owner: &str, command: Command) -> Result<(), RegistryError> {
        if command.name.is_empty() {
            return Err(RegistryError::UnnamedCommand);
        }
        let mut contents = self.contents();
        let same =
            |other: &Owned<Command>| *other.owner == *owner && other.item.name == command.name;
        match contents.commands.iter().position(same) {
            Some(at) => contents.commands[at].item = command,
            None => contents.commands.push(Owned::new(owner, command)),
        }
        contents.changed();
        Ok(())
    }

    /// Returns the slash commands under unique names: a name that occurs once stays, of several
    /// equal ones each gets its number.
    pub fn commands(&self) -> Vec<NamedCommand> {
        let contents = self.contents();
        let all = &contents.commands;
        let count = |name: &str| all.iter().filter(|other| other.item.name == name).count();
        let mut taken: BTreeSet<String> = all
            .iter()
            .filter(|command| count(&command.item.name) == 1)
            .map(|command| command.item.name.clone())
            .collect();
        let mut named = Vec::new();
        for (at, command) in all.iter().enumerate() {
            let own = &command.item.name;
            let mut name = own.clone();
            if count(own) > 1 {
                let before = all[..at].iter().filter(|other| other.item.name == *own).count();
                name = format!("{own}:{}", before + 1);
                let mut next = 2;
                while taken.contains(&name) {
                    name = format!("{own}:{}:{next}", before + 1);
                    next += 1;
                }
                taken.insert(name.clone());
            }
            let owner = command.owner.to_string();
            named.push(NamedCommand { name, owner, command: command.item.clone() });
        }
        named
    }

    /// Returns the slash command that the user calls by this name.
    pub fn find_command(&self, name: &str) -> Option<NamedCommand> {
        self.commands().into_iter().find(|command| command.name == name)
    }
}

pi_protocol::debug_fields!(Command, name);

pi_protocol::debug_fields!(NamedCommand, name);
