//! The options of `pi run` that `pi -p` has as well: system prompt, skills, extensions, MCP servers.
//! A run that is resumed has them again, so nothing in them depends on the working directory.

use std::fs;

use pi_coding_agent::Environment;
use pi_config::resources::PackageLocation;

use crate::arguments::Arguments;
use crate::flags::options::{Set, all};
use crate::flags::parse::CommandArgs;
use crate::flags::run::AGENT;

/// Returns the arguments of the agent.
pub(super) fn arguments(
    args: &CommandArgs,
    environment: &Environment,
) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    for (name, value) in args.given() {
        if !AGENT.iter().any(|flag| flag.long == name) {
            continue;
        }
        let Some(setting) = all().find(|setting| setting.flag.long == name) else { continue };
        let value = value.map(str::to_owned);
        match setting.set {
            Set::Switch(set) => set(&mut arguments),
            Set::Value(set) => set(&mut arguments, value.unwrap_or_default()),
            Set::Checked(set) => set(&mut arguments, value.unwrap_or_default())?,
            Set::Maybe(set) => set(&mut arguments, value),
        }
    }
    let resources = &mut arguments.resources;
    for path in &mut resources.extensions {
        let location = PackageLocation::parse(path).map_err(|error| error.to_string())?;
        let PackageLocation::Path(file) = location else {
            return Err(format!(
                "--extension: {path} is a package; install it with `pi install`, which `pi run` \
                 does not do"
            ));
        };
        *path = absolute(&file, environment);
    }
    resources.skills.iter_mut().for_each(|path| *path = absolute(path, environment));
    if let Some(text) = &mut resources.system_prompt {
        *text = content("--system-prompt", text, environment)?;
    }
    for text in resources.append_system_prompt.iter_mut().flatten() {
        *text = content("--append-system-prompt", text, environment)?;
    }
    Ok(arguments)
}

fn absolute(path: &str, environment: &Environment) -> String {
    environment.expand(path, &environment.cwd).to_string_lossy().into_owned()
}

/// Returns the content of a file, or the text itself if it is the name of none.
fn content(option: &str, text: &str, environment: &Environment) -> Result<String, String> {
    let path = environment.cwd.join(text);
    if text.is_empty() || !path.is_file() {
        return Ok(text.to_owned());
    }
    fs::read_to_string(&path).map_err(|error| format!("{option}: cannot read {text}: {error}"))
}
