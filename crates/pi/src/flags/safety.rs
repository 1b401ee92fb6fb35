//! The safety options. Each sets a key of the settings group `guard` for this run. Some commands
//! accept them as well.

use pi_config::settings::{ApprovalPolicy, Profile, SandboxMode};
use serde_json::{Map, Value as Json, json};

use super::options::{Set, Setting, list, option};
use super::parse::{CommandArgs, invalid_choice};
use super::{Flag, Group::Safety};
use crate::arguments::Arguments;

pub(super) const PROFILE: Flag =
    Flag::new("profile", Safety, "Safety profile: explore, careful or unattended")
        .takes_word("NAME")
        .choices(Profile::VALUES)
        .details(
            "explore asks only where a rule requires it. careful asks before every action that is \
             not known to be safe, and refuses it if no one can be asked; commands that were not \
             approved run in a sandbox without network access. unattended is for runs \
             without supervision: commands run in a sandbox without network access, and actions \
             that need approval are refused; pi does not start if the sandbox is unavailable.",
        );

pub(super) const SANDBOX: Flag =
    Flag::new("sandbox", Safety, "Sandbox mode of commands: off, read-only or workspace-write")
        .takes_word("MODE")
        .choices(SandboxMode::VALUES)
        .details(
            "With off, commands can write everything that you can write. With workspace-write, \
             they can write the working directory, private temporary files and the directories \
             of --add-dir.",
        );

pub(super) const NETWORK: Flag =
    Flag::new("network", Safety, "Network access of commands: off, on, or hosts separated by commas")
        .takes_word("ACCESS")
        .details("A host is a name, optionally with a leading *. (any subdomain). Values other than on require a sandbox.");

pub(super) const APPROVAL: Flag =
    Flag::new("approval", Safety, "How actions that need approval are decided: ask, never, review")
        .takes_word("MODE")
        .choices(ApprovalPolicy::VALUES)
        .details(
            "With ask, you decide, if the mode can ask you. With never, such actions are refused. \
             With review, a model decides (guard.reviewer in the settings).",
        );

/// The decision on actions in `pi run`, in which no one can be asked.
pub(super) const APPROVAL_OF_RUN: Flag = Flag::new(
    "approval",
    Safety,
    "How actions that need approval are decided: never, defer, review",
)
.takes_word("MODE")
.choices(&["never", "defer", "review"])
.details(
    "With never, such actions are refused. With defer, the run ends with the outcome \
             needs-approval and can be resumed. With review, a model decides.",
);

pub(super) const ADD_DIR: Flag =
    Flag::new("add-dir", Safety, "Additional directory that sandboxed commands can write")
        .takes("DIR")
        .directories()
        .repeats();

pub(super) const RULES: Flag = Flag::new("rules", Safety, "Additional rule file for this run")
    .takes("FILE")
    .files()
    .repeats()
    .details(
        "Rules of the machine, the user and the project still apply; the strictest decision \
         wins. `pi help guard` describes the format.",
    );

pub(super) const OPTIONS: &[Setting] = &[
    option(
        PROFILE,
        Set::Checked(|a, name| {
            name.parse::<Profile>().map_err(|_| invalid_choice(&PROFILE, &name))?;
            a.guard("profile", name.into());
            Ok(())
        }),
    ),
    option(
        SANDBOX,
        Set::Checked(|a, mode| {
            mode.parse::<SandboxMode>().map_err(|_| invalid_choice(&SANDBOX, &mode))?;
            a.guard("sandbox", mode.into());
            Ok(())
        }),
    ),
    option(
        NETWORK,
        Set::Value(|a, access| {
            let value: Json = match access.as_str() {
                "off" | "on" => access.into(),
                hosts => list(hosts).into(),
            };
            a.guard("network", value);
        }),
    ),
    option(
        APPROVAL,
        Set::Checked(|a, mode| {
            mode.parse::<ApprovalPolicy>().map_err(|_| invalid_choice(&APPROVAL, &mode))?;
            a.guard("approval", mode.into());
            Ok(())
        }),
    ),
    option(ADD_DIR, Set::Value(|a, directory| a.guard_list("writableRoots", directory))),
    option(RULES, Set::Value(|a, file| a.guard_list("rules", file))),
];

/// Returns the settings that result from the safety options of a command.
pub(crate) fn settings(args: &CommandArgs) -> Result<Map<String, Json>, String> {
    let mut arguments = Arguments::default();
    for option in OPTIONS {
        for value in args.values(option.flag.long) {
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
