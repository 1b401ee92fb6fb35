//! `pi mcp add` and `remove`: change `mcp.json`.

use pi_config::mcp::{self, EditError, McpFile, Scope, ServerConfig, Transport};
use serde_json::{Map, Value, json};

use super::{CommandResult, Failure, project};
use crate::environment;
use crate::exit::{hint, note, print};
use crate::flags::parse::CommandArgs;

/// Options of servers at a URL, and of programs.
const HTTP_ONLY: [&str; 7] = [
    "header",
    "bearer-token-env-var",
    "oauth-client-id",
    "oauth-client-secret",
    "oauth-callback-port",
    "oauth-client-name",
    "oauth-client-registration",
];
const STDIO_ONLY: [&str; 2] = ["env", "cwd"];

pub(in crate::commands) fn add(args: &CommandArgs) -> CommandResult {
    let environment = environment::read().map_err(Failure::failed)?;
    let name = args.word(0).unwrap_or_default();
    let entry = entry(args)?;
    let scope = scope(args);
    let file = McpFile::new(&environment, scope);
    let parsed = ServerConfig::parse(name, &Value::Object(entry.clone()));
    let replaced = file.add(name, entry).map_err(failure)?;
    let (done, path) = (if replaced { "replaced" } else { "added" }, file.path().display());
    let exit = print(&format!("{done} the {} MCP server {name} in {path}\n", scope.as_str()));
    // With its first server, the project needs trust.
    if scope == Scope::Project && !project::open(args)?.is_trusted() {
        note("the project is not trusted, so the server is not used yet");
        hint("trust the project with `pi trust add`");
    }
    let may_sign_in = parsed.is_ok_and(|config| match config.transport {
        Transport::Http(http) => http.uses_oauth(),
        Transport::Stdio(_) => false,
    });
    hint(&match may_sign_in {
        true => format!("check it with `pi mcp check {name}`; sign in with `pi mcp login {name}`"),
        false => format!("check it with `pi mcp check {name}`"),
    });
    Ok(exit)
}

pub(in crate::commands) fn remove(args: &CommandArgs) -> CommandResult {
    let environment = environment::read().map_err(Failure::failed)?;
    let name = args.word(0).unwrap_or_default();
    let scope = scope(args);
    let file = McpFile::new(&environment, scope);
    let path = file.path().display();
    if file.remove(name).map_err(failure)? {
        let text = format!("removed the {} MCP server {name} from {path}\n", scope.as_str());
        return Ok(print(&text));
    }
    let failure = Failure::failed(format!("{path} has no MCP server \"{name}\""));
    let other = mcp::load(&environment, true);
    Err(match other.find(name) {
        Some(entry) if entry.scope == Scope::Project => {
            failure.hint("the project defines it: use --local")
        }
        Some(entry) => failure.hint(format!("it is in {}", entry.source.display())),
        None => failure.hint("list the servers with `pi mcp list`"),
    })
}

fn scope(args: &CommandArgs) -> Scope {
    if args.has("local") { Scope::Project } else { Scope::User }
}

fn failure(error: EditError) -> Failure {
    match error {
        EditError::Invalid(problem) => Failure::usage(problem),
        error => Failure::configuration(error.to_string()),
    }
}

/// Returns the entry that the command line describes.
fn entry(args: &CommandArgs) -> Result<Map<String, Value>, Failure> {
    let command = args.words.get(1..).unwrap_or_default();
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    match (args.value("url"), command.split_first()) {
        (Some(url), None) => {
            refuse(args, &STDIO_ONLY, "a program")?;
            set("url", url.into());
            let mut headers = pairs(args, "header")?;
            if let Some(name) = args.value("bearer-token-env-var") {
                headers.insert("Authorization".to_owned(), format!("Bearer ${{{name}}}").into());
            }
            if !headers.is_empty() {
                set("headers", headers.into());
            }
            let oauth = oauth(args)?;
            if !oauth.is_empty() {
                set("oauth", oauth.into());
            }
        }
        (None, Some((program, arguments))) => {
            refuse(args, &HTTP_ONLY, "a URL")?;
            set("command", program.as_str().into());
            if !arguments.is_empty() {
                set("args", json!(arguments));
            }
            let variables = pairs(args, "env")?;
            if !variables.is_empty() {
                set("env", variables.into());
            }
            if let Some(cwd) = args.value("cwd") {
                set("cwd", cwd.into());
            }
        }
        _ => {
            let problem = "expected either --url URL or -- COMMAND... after the name of the server";
            return Err(Failure::usage(problem));
        }
    }
    for name in ["exposure", "approval", "description"] {
        if let Some(value) = args.value(name) {
            set(name, value.into());
        }
    }
    Ok(entry)
}

fn refuse(args: &CommandArgs, options: &[&str], needed: &str) -> Result<(), Failure> {
    match options.iter().find(|name| args.has(name)) {
        Some(name) => Err(Failure::usage(format!("--{name} is for servers that are {needed}"))),
        None => Ok(()),
    }
}

fn oauth(args: &CommandArgs) -> Result<Map<String, Value>, Failure> {
    let mut oauth = Map::new();
    for (option, field) in [
        ("oauth-client-id", "clientId"),
        ("oauth-client-secret", "clientSecret"),
        ("oauth-client-name", "clientName"),
        ("oauth-client-registration", "clientRegistration"),
    ] {
        if let Some(value) = args.value(option) {
            oauth.insert(field.to_owned(), value.into());
        }
    }
    if let Some(port) = args.value("oauth-callback-port") {
        let port: u16 = port.parse().map_err(|_| {
            Failure::usage(format!("--oauth-callback-port: \"{port}\" is not a port number"))
        })?;
        oauth.insert("callbackPort".to_owned(), port.into());
    }
    Ok(oauth)
}

fn pairs(args: &CommandArgs, option: &str) -> Result<Map<String, Value>, Failure> {
    let mut pairs = Map::new();
    for pair in args.values(option) {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(format!("--{option}: expected NAME=VALUE, not \"{pair}\"")));
        };
        pairs.insert(name.to_owned(), value.into());
    }
    Ok(pairs)
}
