//! The settings of a session that a client can change: the profile, the model, the thinking level.

use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::session::Persistence;
use pi_jsonrpc::Error;
use pi_protocol::{Model, ThinkingLevel};
use serde_json::{Value, json};

use crate::update::{Choice, Command, ConfigOption};

pub(crate) const PROFILE: &str = "profile";
pub(crate) const MODEL: &str = "model";
pub(crate) const THINKING: &str = "thinking";

/// Most models that are offered.
const MODELS: usize = 500;

/// The profiles, from the one that restricts least.
pub(crate) const PROFILES: [(&str, &str, &str); 3] = [
    ("explore", "Explore", "Asks only where a rule requires it"),
    ("careful", "Careful", "Asks before every action that is not known to be safe"),
    ("unattended", "Unattended", "Runs commands in a sandbox, and refuses what needs approval"),
];

/// Returns the profiles that restrict at least as much as the given one.
pub(crate) fn at_least(profile: Option<&str>) -> Vec<&'static str> {
    let all = PROFILES.map(|(id, ..)| id);
    let first = profile.and_then(|profile| all.iter().position(|id| *id == profile));
    all[first.unwrap_or(0)..].to_vec()
}

/// Returns the modes of version 1.
pub(crate) fn modes(current: &str, profiles: &[&'static str]) -> Value {
    let offered = PROFILES.iter().filter(|(id, ..)| profiles.contains(id));
    let modes: Vec<Value> = offered
        .map(|(id, name, text)| json!({ "id": id, "name": name, "description": text }))
        .collect();
    json!({ "currentModeId": current, "availableModes": modes })
}

/// Returns the profile in force.
pub(crate) fn profile(session: &AgentSession) -> &'static str {
    session.guard().map_or(PROFILES[0].0, |guard| guard.plan().profile.as_str())
}

/// Returns the options of a session.
pub(crate) fn options(session: &AgentSession, profiles: &[&'static str]) -> Vec<ConfigOption> {
    let offered = PROFILES.iter().filter(|(id, ..)| profiles.contains(id));
    let mut options = vec![ConfigOption {
        id: PROFILE,
        name: "Profile",
        category: "mode",
        description: "What the agent may do without asking",
        current: profile(session).to_owned(),
        choices: offered
            .map(|(id, name, text)| Choice {
                value: (*id).to_owned(),
                name: (*name).to_owned(),
                description: Some((*text).to_owned()),
            })
            .collect(),
    }];
    options.extend(model_option(session));
    let levels = session.thinking_levels();
    if levels.len() > 1 {
        let level = |level: &ThinkingLevel| Choice {
            value: level.as_str().to_owned(),
            name: level.as_str().to_owned(),
            description: None,
        };
        options.push(ConfigOption {
            id: THINKING,
            name: "Thinking",
            category: "thought_level",
            description: "How much the model thinks before it answers",
            current: session.thinking_level().as_str().to_owned(),
            choices: levels.iter().map(level).collect(),
        });
    }
    options
}

fn model_option(session: &AgentSession) -> Option<ConfigOption> {
    let current = session.model()?;
    let scoped = session.scoped_models();
    let mut models: Vec<Arc<Model>> = match scoped.is_empty() {
        true => session.available_models(),
        false => scoped.into_iter().map(|one| one.model).collect(),
    };
    if !models.iter().any(|model| key(model) == key(&current)) {
        models.insert(0, Arc::clone(&current));
    }
    models.truncate(MODELS);
    if !models.iter().any(|model| key(model) == key(&current)) {
        models.push(Arc::clone(&current));
    }
    let choice = |model: &Arc<Model>| Choice {
        value: key(model),
        name: if model.name.is_empty() { model.id.clone() } else { model.name.clone() },
        description: Some(model.provider.clone()),
    };
    Some(ConfigOption {
        id: MODEL,
        name: "Model",
        category: "model",
        description: "The model that answers",
        current: key(&current),
        choices: models.iter().map(choice).collect(),
    })
}

/// Returns the value that stands for a model.
fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Selects a model or a thinking level.
pub(crate) async fn set(session: &AgentSession, id: &str, value: &str) -> Result<(), Error> {
    match id {
        MODEL => {
            let (provider, model) = value.split_once('/').ok_or_else(|| unknown(id, value))?;
            let model = session.look_up_model(provider, model).await;
            let model = model.map_err(Error::invalid_params)?;
            session.set_model(model, Persistence::Session).await.map_err(Error::internal)
        }
        THINKING => {
            let level: ThinkingLevel = value.parse().map_err(|_| unknown(id, value))?;
            if !session.thinking_levels().contains(&level) {
                return Err(unknown(id, value));
            }
            let set = session.set_thinking_level(level, Persistence::Session).await;
            set.map_err(Error::internal)
        }
        _ => Err(Error::invalid_params(format!("there is no option {id:?}"))),
    }
}

/// The error of a value that an option does not have.
pub(crate) fn unknown(id: &str, value: &str) -> Error {
    Error::invalid_params(format!("{value:?} is not a value of the option {id:?}"))
}

/// Returns the slash commands of a session.
pub(crate) fn commands(session: &AgentSession) -> Vec<Command> {
    let compact = Command {
        name: "compact".to_owned(),
        description: "Replace older messages by a summary".to_owned(),
        hint: Some("what the summary must keep".to_owned()),
    };
    let others = session.commands().into_iter().map(|command| Command {
        description: command.description.unwrap_or_else(|| command.name.clone()),
        name: command.name,
        hint: command.argument_hint,
    });
    std::iter::once(compact).chain(others).collect()
}
