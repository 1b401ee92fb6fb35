//! The options that say what an agent may do. Each becomes a setting of the group `guard` that
//! counts for this run. Some commands have them too.

use pi_coding_agent::config::settings::{ApprovalPolicy, Profile, SandboxMode};
use serde_json::{Map, Value as Json, json};

use super::options::{Set, Setting, list, option};
use super::parse::Given;
use super::{Flag, Group::Safety};
use crate::arguments::Arguments;

pub(super) const PROFILE: Flag =
    Flag::new("profile", Safety, "How much is asked and held: explore, careful or unattended")
        .takes_word("NAME")
        .choices(Profile::VALUES)
        .details(
            "explore asks nothing but what rules say. careful asks for what is not known to be \
             safe; without somebody to ask, that does not happen. unattended is for runs that \
             nobody watches: commands are confined and have no network, and nothing is asked; \
             it refuses to start where commands cannot be confined.",
        );

pub(super) const SANDBOX: Flag =
    Flag::new("sandbox", Safety, "What commands can write: off, read-only or workspace-write")
        .takes_word("MODE")
        .choices(SandboxMode::VALUES)
        .details(
            "With off, all that you can. With workspace-write, the working directory, \
             temporary files of their own and what --add-dir names.",
        );

pub(super) const NETWORK: Flag =
    Flag::new("network", Safety, "Who commands can reach: off, on, or hosts separated by commas")
        .takes_word("WHO")
        .details("A host is a name, perhaps with *. before it. Needs a sandbox, unless it is on.");

pub(super) const APPROVAL: Flag =
    Flag::new("approval", Safety, "Who says yes to what needs it: ask, never or review")
        .takes_word("WHO")
        .choices(ApprovalPolicy::VALUES)
        .details(
            "ask is you, where there is a way to ask you. With never, what would need a yes \
             does not happen. With review, a model decides (guard.reviewer in the settings).",
        );

pub(super) const ADD_DIR: Flag =
    Flag::new("add-dir", Safety, "A directory that confined commands can write besides")
        .takes("DIR")
        .directories()
        .repeats();

pub(super) const RULES: Flag = Flag::new("rules", Safety, "A file of rules for this run")
    .takes("FILE")
    .files()
    .repeats()
    .details(
        "They count besides those of the machine, of you and of the project; the strictest \
         wins. The format is in docs/guard.md.",
    );

pub(super) const OPTIONS: &[Setting] = &[
    option(
        PROFILE,
        Set::Checked(|a, name| {
            name.parse::<Profile>().map_err(|error| format!("--profile: {error}"))?;
            a.guard("profile", name.into());
            Ok(())
        }),
    ),
    option(
        SANDBOX,
        Set::Checked(|a, mode| {
            mode.parse::<SandboxMode>().map_err(|error| format!("--sandbox: {error}"))?;
            a.guard("sandbox", mode.into());
            Ok(())
        }),
    ),
    option(
        NETWORK,
        Set::Value(|a, who| {
            let value: Json = match who.as_str() {
                "off" | "on" => who.into(),
                hosts => list(hosts).into(),
            };
            a.guard("network", value);
        }),
    ),
    option(
        APPROVAL,
        Set::Checked(|a, who| {
            who.parse::<ApprovalPolicy>().map_err(|error| format!("--approval: {error}"))?;
            a.guard("approval", who.into());
            Ok(())
        }),
    ),
    option(ADD_DIR, Set::Value(|a, directory| a.guard_list("writableRoots", directory))),
    option(RULES, Set::Value(|a, file| a.guard_list("rules", file))),
];

/// The settings that these options of a command make.
pub(crate) fn settings(given: &Given) -> Result<Map<String, Json>, String> {
    let mut arguments = Arguments::default();
    for option in OPTIONS {
        for value in given.values(option.flag.long) {
            match option.set {
                Set::Value(set) => set(&mut arguments, value.to_owned()),
                Set::Checked(set) => set(&mut arguments, value.to_owned())?,
                Set::Switch(_) | Set::Maybe(_) => {}
            }
        }
    }
    Ok(arguments.settings)
}

impl Arguments {
    fn guard(&mut self, name: &str, value: Json) {
        let guard = self.settings.entry("guard").or_insert_with(|| json!({}));
        if let Json::Object(guard) = guard {
            guard.insert(name.to_owned(), value);
        }
    }

    fn guard_list(&mut self, name: &str, value: String) {
        let guard = self.settings.entry("guard").or_insert_with(|| json!({}));
        if let Json::Object(guard) = guard
            && let Json::Array(values) = guard.entry(name).or_insert_with(|| json!([]))
        {
            values.push(value.into());
        }
    }
}
