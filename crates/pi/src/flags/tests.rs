//! Consistency of the tables, and comparison of the parser with pi 1.5.0.

use std::collections::BTreeSet;

use pi_coding_agent::{ToolChange, ToolChoice};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value as Json, json};

use super::commands::COMMANDS;
use super::options::{Set, all};
use super::parse::{Request, parse, parse_arguments};
use super::{Command, Flag, Group, Value};
use crate::arguments::{Arguments, Mode, UnknownOption};
use crate::topics::{GROUPS, NAMES_OF_COMMANDS, TOPICS};

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

fn all_commands(commands: &'static [Command]) -> Vec<&'static Command> {
    commands.iter().flat_map(|one| [vec![one], all_commands(one.commands)].concat()).collect()
}

/// Returns the flags of `pi` itself and of every command.
fn flag_tables() -> Vec<Vec<Flag>> {
    let commands = all_commands(COMMANDS).into_iter().map(|command| command.flags.to_vec());
    std::iter::once(all().map(|option| option.flag).collect()).chain(commands).collect()
}

#[test]
fn names_are_unique() {
    for table in flag_tables() {
        let mut seen = BTreeSet::new();
        for flag in &table {
            assert!(seen.insert(format!("--{}", flag.long)), "--{}", flag.long);
            let short = flag.short.map(|short| format!("-{short}"));
            assert!(short.iter().all(|short| seen.insert(short.clone())), "{short:?}");
        }
    }
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

#[test]
fn every_topic_is_in_one_group() {
    let mut grouped: Vec<&str> =
        GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    grouped.sort_unstable();
    topics.sort_unstable();
    assert_eq!(grouped, topics);
    topics.retain(|name| COMMANDS.iter().any(|command| command.name == *name));
    assert_eq!(topics, NAMES_OF_COMMANDS);
}

#[test]
fn help_texts_are_well_formed() {
    let helps = flag_tables().concat().into_iter().map(|flag| (flag.help, flag.long));
    let commands = all_commands(COMMANDS).into_iter().map(|command| (command.help, command.name));
    for (help, name) in helps.chain(commands) {
        assert!(help.starts_with(char::is_uppercase), "{name}: {help}");
        assert!(!help.ends_with('.') && !help.contains('\n'), "{name}: {help}");
    }
    for flag in flag_tables().concat() {
        let details = flag.details;
        assert!(details.is_empty() || details.ends_with('.'), "{}: {details}", flag.long);
    }
}

#[test]
fn the_effect_of_an_option_fits_its_value() {
    for option in all() {
        let fits = match (option.set, option.flag.value) {
            (Set::Switch(_), value) => value == Value::None,
            (Set::Maybe(_), value) => matches!(value, Value::Optional(_)),
            (_, value) => matches!(value, Value::Required(_) | Value::Word(_)),
        };
        assert!(fits, "--{}", option.flag.long);
    }
}

/// Converts our result to the format of pi.
fn as_observed(a: &Arguments, errors: usize) -> Json {
    let mut found = Map::new();
    let mut put = |name: &str, value: Json| {
        let nothing = matches!(&value, Json::Null | Json::Bool(false))
            || value.as_array().is_some_and(Vec::is_empty);
        if !nothing {
            found.insert(name.to_owned(), value);
        }
    };
    let texts = [
        ("provider", &a.model.provider),
        ("model", &a.model.requested),
        ("systemPrompt", &a.resources.system_prompt),
        ("session", &a.session),
        ("sessionId", &a.session_id),
        ("fork", &a.fork),
        ("sessionDir", &a.session_dir),
        ("name", &a.name),
        ("export", &a.export),
        ("listModels", &a.list_models),
        ("tuiMode", &a.screen.mode),
        ("useTheme", &a.screen.theme),
    ];
    texts.into_iter().for_each(|(name, text)| put(name, json!(text)));
    let switches = [
        ("help", a.help),
        ("version", a.version),
        ("print", a.print),
        ("continue", a.continue_latest),
        ("resume", a.resume),
        ("noSession", a.no_session),
        ("noTools", a.tools.none),
        ("noBuiltinTools", a.tools.no_builtin),
        ("noContextFiles", a.resources.no_context_files),
        ("noMcp", a.resources.no_mcp),
        ("offline", a.offline),
        ("verbose", a.verbose),
    ];
    switches.into_iter().for_each(|(name, on)| put(name, json!(on)));
    let (given, themes) = (&a.resources, &a.screen.themes);
    let resources = [
        ("extensions", "noExtensions", &given.extensions, given.no_extensions),
        ("skills", "noSkills", &given.skills, given.no_skills),
        ("promptTemplates", "noPromptTemplates", &given.prompts, given.no_prompts),
        ("themes", "noThemes", &themes.paths, themes.no_discovery),
    ];
    for (name, none, paths, no_discovery) in resources {
        put(name, json!(paths));
        put(none, json!(no_discovery));
    }
    let tools = a.tools.choice.as_ref().map(|choice| match choice {
        ToolChoice::Only(names) => names.clone(),
        ToolChoice::Change(changes) => changes
            .iter()
            .map(|change| match change {
                ToolChange::Add(name) => format!("+{name}"),
                ToolChange::Remove(name) => format!("-{name}"),
            })
            .collect(),
    });
    put("tools", json!(tools));
    put("excludeTools", json!(a.tools.exclude));
    put("models", json!(a.model.scope));
    put("appendSystemPrompt", json!(a.resources.append_system_prompt.clone().unwrap_or_default()));
    put("apiKey", json!(a.model.api_key.as_ref().map(|key| key.expose_secret())));
    put("thinking", json!(a.model.thinking_level.map(|level| level.to_string())));
    let mode = |mode| match mode {
        Mode::Text => "text",
        Mode::Json => "json",
        Mode::Rpc => "rpc",
    };
    put("mode", json!(a.mode.map(mode)));
    put("messages", json!(a.messages));
    put("fileArgs", json!(a.files));
    put("warnings", json!(a.warnings));
    // pi represents a flag without a value as `true`.
    let unknown = a.unknown.iter().map(|UnknownOption { name, value, .. }| {
        (name.clone(), value.as_ref().map_or(Json::Bool(true), |value| json!(value)))
    });
    let unknown: Map<String, Json> = unknown.collect();
    found.insert("unknownFlags".to_owned(), Json::Object(unknown));
    found.insert("errors".to_owned(), json!(errors));
    // The only flag of pi that may be false.
    if let Some(approve) = a.approve {
        found.insert("projectTrustOverride".to_owned(), json!(approve));
    }
    Json::Object(found)
}

/// Normalizes the recorded arguments of pi.
fn normalized(mut args: Map<String, Json>) -> Json {
    let diagnostics = args.remove("diagnostics").unwrap_or_default();
    let of = |kind: &str| -> Vec<Json> {
        let all = diagnostics.as_array().unwrap().iter();
        all.filter(|one| one["type"] == kind).map(|one| one["message"].clone()).collect()
    };
    args.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    if args.get("listModels") == Some(&Json::Bool(true)) {
        args.insert("listModels".to_owned(), json!(""));
    }
    if !of("warning").is_empty() {
        args.insert("warnings".to_owned(), json!(of("warning")));
    }
    args.insert("errors".to_owned(), json!(of("error").len()));
    Json::Object(args)
}

#[test]
fn arguments_are_parsed_as_by_pi() {
    let observed = include_str!("../../tests/fixtures/arguments.jsonl");
    let mut differences = Vec::new();
    for line in observed.lines() {
        let mut case: Json = serde_json::from_str(line).unwrap();
        let argv: Vec<String> = serde_json::from_value(case["argv"].take()).unwrap();
        let Json::Object(args) = case["args"].take() else { panic!("{line}") };
        let (arguments, errors) = parse_arguments(argv.clone());
        let (ours, theirs) = (as_observed(&arguments, errors.len()), normalized(args));
        if ours == theirs {
            continue;
        }
        // pi treats options without their value, and with an equals sign, as unknown.
        let unknown = theirs["unknownFlags"].as_object().unwrap();
        let is_known = |name: &String| all().any(|option| option.flag.long == name);
        // An invalid thinking level, which pi reports and ignores, is an error.
        let warned = !theirs["warnings"].is_null() && errors.len() == 1;
        assert!(
            warned || unknown.len() == 1 && unknown.keys().all(is_known),
            "{argv:?}: {ours} and {theirs}"
        );
        differences.push(format!("{}: {ours}", argv.join(" ")));
    }
    insta::assert_snapshot!(differences.join("\n"));
    assert!(observed.lines().count() > 190);
}

#[test]
fn an_equals_sign_is_equivalent_to_a_space() {
    for option in all() {
        let flag = option.flag;
        let long = format!("--{}", flag.long);
        let usual = match (flag.long, flag.group) {
            ("executor", _) => "docker:a=b",
            ("account", _) => "openai@work",
            ("max-calls", _) => "bash=30",
            (_, Group::Limits) => "30",
            _ => "a=b",
        };
        let value = flag.choices.first().copied().unwrap_or(usual);
        let (with_sign, errors) = parse_arguments(vec![format!("{long}={value}")]);
        if flag.value == Value::None {
            assert_eq!(errors, [format!("{long} takes no value")]);
            continue;
        }
        let (with_space, _) = parse_arguments(vec![long.clone(), value.to_owned()]);
        assert_eq!(as_observed(&with_sign, 0), as_observed(&with_space, 0), "{long}");
        assert_eq!(errors, [] as [&str; 0], "{long}");
    }
}

#[test]
fn a_backslash_begins_a_message_with_an_at_sign() {
    for line in [&["-p", "\\@someone hi"][..], &["-p", "--", "\\@someone hi"]] {
        let (arguments, errors) = parse_arguments(words(line));
        assert_eq!((arguments.messages, errors.len()), (words(&["@someone hi"]), 0), "{line:?}");
        assert_eq!(arguments.files, [] as [&str; 0]);
    }
}

#[test]
fn debug_output_hides_the_api_key() {
    let (arguments, _) = parse_arguments(words(&["--api-key", "hunter2"]));
    assert!(!format!("{arguments:?}").contains("hunter2"));
}

#[test]
fn only_the_first_argument_can_be_a_command() {
    let messages = [vec!["-p", "list"], vec!["--", "list"], vec!["say", "list"], vec!["Sessions"]];
    for line in messages {
        let request = parse(words(&line));
        assert!(matches!(request, Ok(Request::Run(_))), "{line:?}: {request:?}");
    }
    let request = parse(words(&["sessions", "list", "--limit=3", "-a"])).unwrap();
    let Request::Command(args) = request else { panic!("{request:?}") };
    assert_eq!(args.path, ["sessions", "list"]);
    assert_eq!((args.value("limit"), args.has("all"), args.has("json")), (Some("3"), true, false));
}
