//! The secrets of this program, in its files and variables.

use std::fs::Metadata;
use std::path::Path;

use pi_config::Environment;
use pi_config::{AuthStore, StoredCredential};
use pi_guard::secrets::{environment_secrets, looks_random};
use serde_json::Value;

use crate::file::ModelsFile;

/// Names of files with variables in a working directory.
const VARIABLE_FILES: [&str; 5] =
    [".env", ".env.local", ".env.development", ".env.production", ".env.test"];
/// Directories with files of others, which are not searched for variables.
const LIBRARIES: [&str; 6] = [".git", ".venv", "node_modules", "target", "vendor", "venv"];
/// Largest file with variables that is read.
const MOST_VARIABLES: u64 = 64 * 1024;

/// Most directories that are searched for files with variables, and the depth below the working
/// directory.
const MOST_DIRECTORIES: usize = 256;
const DEEPEST: usize = 3;

/// Largest file of MCP servers that is read.
const MOST_SERVERS: u64 = 1 << 20;

/// Collects the secrets of the environment, of `auth.json`, of `models.json`, of the MCP servers, and
/// of `.env` files in and below the working directory. Runs no commands; a file that cannot be read
/// has no secrets.
pub fn configured_secrets(environment: &Environment) -> Vec<String> {
    let mut found = Collector::default();
    for (name, value) in environment.variables.iter() {
        found.named(name, value);
    }
    let auth = AuthStore::new(&environment.agent_directory);
    for provider in auth.list().unwrap_or_default() {
        match auth.get(&provider) {
            Ok(Some(StoredCredential::ApiKey { key, env, extra })) => {
                found.values.extend(key);
                env.iter().for_each(|(name, value)| found.named(name, value));
                found.long_strings(extra.values());
            }
            Ok(Some(StoredCredential::Oauth { access, refresh, extra, .. })) => {
                found.values.extend([access, refresh]);
                found.long_strings(extra.values());
            }
            _ => {}
        }
    }
    let (models, _) = ModelsFile::load(&environment.agent_directory.join("models.json"));
    for (_, provider) in models.providers {
        found.values.extend(provider.api_key);
        let addresses = provider.models.iter().filter_map(|model| model.base_url.as_ref());
        addresses.chain(&provider.base_url).for_each(|address| found.named("", address));
        let models = provider.models.iter().map(|model| &model.facts);
        let changed = models.chain(provider.model_overrides.values()).map(|facts| &facts.headers);
        for headers in changed.chain([&provider.headers]) {
            headers.iter().for_each(|(name, value)| found.header(name, value));
        }
    }
    let project = environment.project_directory().join("mcp.json");
    let servers = [environment.agent_directory.join("mcp.json"), project];
    servers.iter().for_each(|path| found.server_file(path));
    found.server_file(&environment.agent_directory.join("mcp-auth.json"));
    found.server_file(&environment.cwd.join(".mcp.json"));
    found.variable_files(&environment.cwd);
    let mut values = found.values;
    // A command that returns a key is not a secret.
    values.retain(|value| !value.starts_with('!'));
    values
}

/// Returns the commands that files of the agent directory name instead of keys: `!COMMAND`.
pub fn key_commands(environment: &Environment) -> Vec<String> {
    let mut commands = Vec::new();
    for name in ["auth.json", "models.json", "mcp.json"] {
        let path = environment.agent_directory.join(name);
        let text = std::fs::read(path).unwrap_or_default();
        if let Ok(value) = serde_json::from_slice::<Value>(&text) {
            add_commands(&value, &mut commands);
        }
    }
    commands
}

fn add_commands(value: &Value, commands: &mut Vec<String>) {
    match value {
        Value::String(text) => commands.extend(text.strip_prefix('!').map(str::to_owned)),
        Value::Array(values) => values.iter().for_each(|value| add_commands(value, commands)),
        Value::Object(fields) => fields.values().for_each(|value| add_commands(value, commands)),
        _ => {}
    }
}

/// Returns the secrets among the headers of a request.
pub fn header_secrets<'a>(
    headers: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Vec<String> {
    let mut found = Collector::default();
    headers.into_iter().for_each(|(name, value)| found.header(name, value));
    found.values
}

/// Returns the secrets among the variables or headers of an MCP server. Their values are configured
/// one by one, so a value that looks like a secret is one under any name.
pub fn server_secrets(values: &[(String, String)]) -> Vec<String> {
    let mut found = Collector::default();
    for (name, value) in values {
        found.header(name, value);
        if is_secret(value) {
            found.values.push(value.clone());
        }
    }
    found.values
}

/// Returns true if a file of MCP servers contains secrets, and not only references to them.
pub(crate) fn has_server_secrets(path: &Path) -> bool {
    let mut found = Collector::default();
    found.server_file(path);
    !found.values.is_empty()
}

/// Returns true for a value that looks like a secret. The name of a temporary directory does, too, and
/// is none.
fn is_secret(value: &str) -> bool {
    looks_random(value) && !(value.starts_with('/') && Path::new(value).exists())
}

/// Collects secrets from named values.
#[derive(Default)]
struct Collector {
    values: Vec<String>,
}

impl Collector {
    fn named(&mut self, name: &str, value: &str) {
        self.values.extend(environment_secrets(&[(name.to_owned(), value.to_owned())]));
    }

    /// Adds the values of a file with variables that have the name of a secret or look like one.
    fn variable_file(&mut self, path: &Path) {
        let is_small = |file: &Metadata| file.is_file() && file.len() <= MOST_VARIABLES;
        if !std::fs::metadata(path).is_ok_and(|file| is_small(&file)) {
            return;
        }
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let line = line.trim();
            let Some((name, value)) = line.strip_prefix("export ").unwrap_or(line).split_once('=')
            else {
                continue;
            };
            let value = value.trim().trim_matches(['"', '\'']);
            if is_secret(value) {
                self.values.push(value.to_owned());
            } else {
                self.named(name.trim(), value);
            }
        }
    }

    /// Adds the values of all files with variables in a directory and below it, those of the
    /// directory itself first.
    fn variable_files(&mut self, directory: &Path) {
        let mut level = vec![directory.to_owned()];
        let mut searched = 0;
        for _ in 0..=DEEPEST {
            let mut next = Vec::new();
            for directory in level {
                searched += 1;
                if searched > MOST_DIRECTORIES {
                    return;
                }
                for name in VARIABLE_FILES {
                    self.variable_file(&directory.join(name));
                }
                for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                    // Links may lead anywhere, and libraries have no secrets of the user.
                    let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    if is_directory && !LIBRARIES.iter().any(|name| entry.file_name() == *name) {
                        next.push(entry.path());
                    }
                }
            }
            next.sort();
            level = next;
        }
    }

    /// Adds the secrets of a file about MCP servers: `mcp.json` or `mcp-auth.json`.
    fn server_file(&mut self, path: &Path) {
        let is_small = |file: &Metadata| file.is_file() && file.len() <= MOST_SERVERS;
        if !std::fs::metadata(path).is_ok_and(|file| is_small(&file)) {
            return;
        }
        let text = std::fs::read(path).unwrap_or_default();
        if let Ok(value) = serde_json::from_slice::<Value>(&text) {
            self.server_value("", &value);
        }
    }

    /// Adds the strings of a JSON value that have the name of a secret or look like one.
    fn server_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if text.contains("${") || text.starts_with(['!', '$']) => {}
            Value::String(text) => {
                self.header(name, text);
                // Arguments such as `--key=…`.
                let text = text.rsplit_once('=').map_or(text.as_str(), |(_, value)| value);
                if is_secret(text) {
                    self.values.push(text.to_owned());
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.server_value(name, value)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.server_value(name, value));
            }
            _ => {}
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        if name.to_ascii_lowercase().ends_with("authorization") {
            // The key follows the scheme.
            self.values.push(value.split_once(' ').map_or(value, |(_, key)| key).to_owned());
        } else {
            self.named(&name.replace('-', "_"), value);
        }
    }

    /// Adds long strings: a login may store other tokens too, but short strings are none.
    fn long_strings<'a>(&mut self, values: impl Iterator<Item = &'a Value>) {
        let strings = values.filter_map(Value::as_str).filter(|text| text.len() >= 24);
        self.values.extend(strings.map(str::to_owned));
    }
}
